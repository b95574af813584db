// How large and how small floats can be. Those that are made of short integers and constants need
// no care: they never overflow, are never NaN, and are divided the short way.
//
//   f32(img) / 255.0 - 0.485    img: u8    ─▶  0, or 2^-32 to 1
//
// The least size of a sum is a unit in the last place of the smallest number that goes into it:
// both are multiples of it.
#include "codegen/cuda/render.h"

#include <math.h>

static const CudaRange unknown = {0, INFINITY, true, true};

// The unit in the last place of the least f32 of the range.
static double unit(CudaRange of) { return ldexp(1, ilogb(of.least) - 23); }

// What it is after it has been rounded once; unknown where it leaves the normal numbers.
static CudaRange rounded(CudaRange of) {
    if (!(of.least * 0.5 >= 0x1p-100 && of.most * 2 <= 0x1p100)) return unknown;
    return (CudaRange){of.least * (1 - 0x1p-20), of.most * (1 + 0x1p-20), of.minus, of.below};
}

static CudaRange of_constant(const Const *value) {
    double size = fabs(value->f);
    if (value->is_null || !(size <= 0x1p90) || (size != 0 && size < 0x1p-90)) return unknown;
    bool sign = signbit(value->f);
    return (CudaRange){size == 0 ? 1 : size, size, size == 0 && sign, sign};
}

static CudaRange of_constants(const CudaEmit *e, const Expr *x) {
    CudaRange all = {INFINITY, 0, false, false};
    for (uint32_t i = 0; i < cuda_item_count(x); i++) {
        CudaRange one = of_constant(cuda_item_at(e->plan->graph, x, i));
        all.least = fmin(all.least, one.least);
        all.most = fmax(all.most, one.most);
        all.minus |= one.minus;
        all.below |= one.below;
    }
    return all.most < INFINITY ? all : unknown;
}

static CudaRange of_integer(const Type *from) {
    if (!type_is_integer(from) || type_bits(from) > 16) return unknown;
    return (CudaRange){1, ldexp(1, (int)type_bits(from)), false, type_is_signed(from)};
}

static CudaRange of_sum(CudaRange a, CudaRange b, bool minus, bool below) {
    return rounded((CudaRange){fmin(unit(a), unit(b)), a.most + b.most, minus, below});
}

static CudaRange of_operator(const CudaEmit *e, const Expr *x, CudaRange a, CudaRange b) {
    if (!(a.most < INFINITY && b.most < INFINITY)) return unknown;
    bool below = a.below || b.below;
    switch ((int)x->op) {
    case EXPR_ADD: return of_sum(a, b, a.minus && b.minus, below);
    case EXPR_SUB: return of_sum(a, b, a.minus, true);
    case EXPR_MUL: return rounded((CudaRange){a.least * b.least, a.most * b.most, below, below});
    case EXPR_DIV:  // No constant is zero then.
        if (!cuda_divides_by_constants(e->plan->graph, x)) return unknown;
        return rounded((CudaRange){a.least / b.most, a.most / b.least, below, below});
    default: return unknown;
    }
}

static CudaRange of_column(const CudaEmit *e, uint32_t member, uint32_t column) {
    KernelItem item = plan_kernel_item(e->plan, e->stage, member - 1, column);
    if (!item.member) return unknown;
    const Op *op = graph_op_at(e->plan->graph, e->stage->ops[item.member]);
    return cuda_range(e, item.member, op->project.items[item.column].expr);
}

CudaRange cuda_range(const CudaEmit *e, uint32_t member, ExprId id) {
    const Graph *graph = e->plan->graph;
    const Expr *x = graph_at(graph, id);
    if (type_base(type_element(x->type))->kind != TYPE_F32 || x->type->nullable) return unknown;
    if (cuda_is_table(e->plan->graph, x)) return of_constants(e, x);
    switch ((int)x->op) {
    case EXPR_CONST: return of_constant(&x->value);
    case EXPR_COLUMN: return of_column(e, member, x->index);
    case EXPR_CAST: case EXPR_WIDEN:
        return of_integer(type_base(type_element(graph_at(graph, x->args[0])->type)));
    case EXPR_EXPAND: case EXPR_RESHAPE: case EXPR_PERMUTE: case EXPR_SLICE:
        return cuda_range(e, member, x->args[0]);
    default: break;
    }
    if (x->arg_count != 2) return unknown;
    return of_operator(e, x, cuda_range(e, member, x->args[0]),
                       cuda_range(e, member, x->args[1]));
}
