#include "codegen/cuda/table.h"

const Dialect cuda_dialect = {
    .include = "#include \"codegen/cuda/device.cuh\"\n",
    .include_groups = "#include \"codegen/cuda/group.cuh\"\n",
    .include_reductions = "#include \"codegen/cuda/reduce.cuh\"\n",
    .include_keepers = "#include \"codegen/cuda/keep.cuh\"\n",
    .kernel = "extern \"C\" __global__ void",
    .arguments = "const __grid_constant__",
    .function = "static __device__ __forceinline__",
    .table = "static __device__ const",
    .barrier = "__syncthreads();",
    .lane = "threadIdx.x", .lanes = "blockDim.x", .block = "blockIdx.x", .blocks = "gridDim.x",
    .first = "blockIdx.x * blockDim.x + threadIdx.x",
    .step = "gridDim.x * blockDim.x",
    .unroll = "#pragma unroll",
};

static const char *const type_names[] = {
    [TYPE_BOOL] = "u8",  [TYPE_I8] = "i8",    [TYPE_I16] = "i16",  [TYPE_I32] = "i32",
    [TYPE_I64] = "i64",  [TYPE_U8] = "u8",    [TYPE_U16] = "u16",  [TYPE_U32] = "u32",
    [TYPE_U64] = "u64",  [TYPE_F16] = "f16",  [TYPE_BF16] = "bf16", [TYPE_F32] = "f32",
    [TYPE_F64] = "f64",  [TYPE_DATE] = "i32", [TYPE_TIMESTAMP] = "i64", [TYPE_DURATION] = "i64",
};

const char *cuda_type(const Type *type) { return type_names[type_base(type)->kind]; }

const char *cuda_value_type(const Type *type) {
    return type_is_half(type_base(type)) ? "f32" : cuda_type(type);
}

// What the arguments of a template are.
typedef enum Operands { ANY, WHOLE, FLOAT } Operands;

static const struct {
    ExprOp   op;
    Operands of;
    Template is;
} templates[] = {
    {EXPR_NEG, FLOAT, {"-$0", nullptr}},
    {EXPR_NEG, WHOLE, {"sb_sub_$T(0, $0)", "sb_sub_over_$T(0, $0)"}},
    {EXPR_ADD, FLOAT, {"$0 + $1", nullptr}},
    {EXPR_ADD, WHOLE, {"sb_add_$T($0, $1)", "sb_add_over_$T($0, $1)"}},
    {EXPR_SUB, FLOAT, {"$0 - $1", nullptr}},
    {EXPR_SUB, WHOLE, {"sb_sub_$T($0, $1)", "sb_sub_over_$T($0, $1)"}},
    {EXPR_MUL, FLOAT, {"$0 * $1", nullptr}},
    {EXPR_MUL, WHOLE, {"sb_mul_$T($0, $1)", "sb_mul_over_$T($0, $1)"}},
    {EXPR_DIV, FLOAT, {"$0 / $1", nullptr}},
    {EXPR_IDIV, WHOLE, {"sb_div_$T($0, $1)", "sb_div_fault_$T($0, $1)"}},
    // The remainder of the least number by -1 is 0, without a fault.
    {EXPR_MOD, WHOLE, {"sb_mod_$T($0, $1)", "$1 == 0"}},
    {EXPR_MOD, FLOAT, {"($T)fmod((f64)$0, (f64)$1)", nullptr}},
    {EXPR_EQ, ANY, {"$n & ($0 == $1)", nullptr}},
    {EXPR_NE, ANY, {"!($n & ($0 == $1))", nullptr}},
    {EXPR_LT, ANY, {"$n & ($0 < $1)", nullptr}},
    {EXPR_LE, ANY, {"$n & ($0 <= $1)", nullptr}},
    {EXPR_GT, ANY, {"$n & ($0 > $1)", nullptr}},
    {EXPR_GE, ANY, {"$n & ($0 >= $1)", nullptr}},
    {EXPR_IS_NULL, ANY, {"!$n", nullptr}},
    {EXPR_NOT, ANY, {"!$0", nullptr}},
    {EXPR_SOME, ANY, {"$0", nullptr}},
};

// Casts go by what they come from and what they become.
static const struct {
    Operands from, to;
    Template is;
} casts[] = {
    {WHOLE, WHOLE, {"($T)$0", "(i128)$0 != (i128)($T)$0"}},
    {FLOAT, WHOLE, {"sb_whole_$T($0)", "!sb_fits_$T($0)"}},
    {FLOAT, FLOAT, {"($T)$0", "sb_too_large($0, (f32)$0)"}},
};

// To f16 or bf16. Of whole numbers only f16 has some that are too large.
static Template cast_to_half(const Type *from, const Type *to) {
    static const Template of_float[] = {
        {"sb_round_f16($0)", "sb_too_large($0, sb_round_f16($0))"},
        {"sb_round_bf16($0)", "sb_too_large($0, sb_round_bf16($0))"},
    };
    static const Template of_whole[] = {
        {"sb_round_f16((f64)$0)",
         "(sb_inexact($0, 11) | sb_too_large((f64)$0, sb_round_f16((f64)$0)))"},
        {"sb_round_bf16((f64)$0)", "sb_inexact($0, 8)"},
    };
    return (type_is_float(from) ? of_float : of_whole)[to->kind == TYPE_BF16];
}

static Operands operands(const Type *type) { return type_is_float(type) ? FLOAT : WHOLE; }

// Bits of a significand.
static unsigned float_digits(const Type *type) {
    static const uint8_t digits[] = {
        [TYPE_F16] = 11, [TYPE_BF16] = 8, [TYPE_F32] = 24, [TYPE_F64] = 53,
    };
    return digits[type->kind];
}

// Does every whole number of `from` fit?
static bool holds(const Type *from, const Type *to) {
    if (from->kind == TYPE_BOOL) return true;
    if (!type_is_integer(from)) return false;
    if (type_is_float(to)) return type_bits(from) <= float_digits(to);
    if (!type_is_integer(to) || (type_is_signed(from) && !type_is_signed(to))) return false;
    return type_bits(from) + (type_is_signed(to) && !type_is_signed(from)) <= type_bits(to);
}

static Template cast(const Expr *x, const Type *from) {
    const Type *to = type_base(type_element(x->type));
    Template is = {"$0", nullptr};
    if (from == to) return is;
    for (size_t i = 0; i < countof(casts); i++)
        if (casts[i].from == operands(from) && casts[i].to == operands(to)) is = casts[i].is;
    if (operands(from) == WHOLE && operands(to) == FLOAT)
        is = (Template){"($T)$0", to->kind == TYPE_F32 ? "sb_inexact($0, 24)"
                                                       : "sb_inexact($0, 53)"};
    if (type_is_half(to)) is = cast_to_half(from, to);
    if (to->kind == TYPE_F64 && operands(from) == FLOAT) is.fault = nullptr;
    if (x->op != EXPR_CAST || holds(from, to)) is.fault = nullptr;
    return is;
}

Template cuda_template(const Expr *x, const Type *from) {
    from = type_base(type_element(from));
    if (x->op == EXPR_CAST || x->op == EXPR_WIDEN || x->op == EXPR_TO_F64 ||
        x->op == EXPR_ROUND)
        return cast(x, from);
    for (size_t i = 0; i < countof(templates); i++)
        if (templates[i].op == x->op &&
            (templates[i].of == ANY || templates[i].of == operands(from)))
            return templates[i].is;
    return (Template){0};
}
