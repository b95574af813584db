// Expr: the scalar work of an operator, a DAG of nodes in SSA form over the columns of its inputs.
//
// Nodes are pure. Evaluation is by demand: `and`, `or`, `??`, `if` and `else` judge only the
// arguments that they need, left to right. A fault in an argument that is not needed does not
// exist.
#ifndef SBC_IR_EXPR_H
#define SBC_IR_EXPR_H

#include "ir/type.h"

typedef struct ExprId { uint32_t i; } ExprId;  // Index into Graph.exprs; EXPR_NONE.

#define EXPR_NONE ((ExprId){UINT32_MAX})
static inline bool expr_is_none(ExprId id) { return id.i == UINT32_MAX; }
static inline bool expr_same(ExprId a, ExprId b) { return a.i == b.i; }

typedef enum ExprOp {
#define EXPR(name, text, arity, faults, doc) EXPR_##name,
#include "ir/ops.def"
} ExprOp;

// What a constant holds; which member counts follows from the node's base type.
typedef struct Const {
    bool     is_null;
    int64_t  i;         // bool, signed integers, date, timestamp, duration.
    uint64_t u;         // Unsigned integers.
    double   f;         // f32 (exactly representable there), f64.
    __int128 decimal;   // Unscaled.
    Text     text;      // str, bytes, json.
    struct Const *items;  // list elements, struct fields.
    uint32_t item_count;
    const uint32_t *sizes;  // Of the interpreter: all dimensions of a tensor that has open ones.
} Const;

typedef enum ElseKind { ELSE_VALUE, ELSE_REJECT, ELSE_FAIL } ElseKind;

typedef enum PlaceKind {
    PLACE_SOURCE,  // str: path as given after globbing
    PLACE_LINE,    // i64, from 1: the line of the row's first byte
    PLACE_OFFSET,  // i64, from 0: byte offset of the row, after decompression
} PlaceKind;

// Traits of a function; they also fix how C and generated code call it (stdlib/README.md):
//   [SbCall *call,] [const SbType *type,] arguments in order [, R *out]  ->  R, or int32_t status
typedef enum FnTrait : uint32_t {
    FN_FALLIBLE = 1u << 0,  // Returns a status; the result through `out`.
    FN_MAYBE    = 1u << 1,  // The result is T? : returns a status (SB_NULL), result through `out`.
    FN_CALL     = 1u << 2,  // Takes SbCall * first: it allocates or needs the job.
    FN_TYPED    = 1u << 3,  // Takes the SbType of its first argument; values of type T by pointer.
    FN_IMPURE   = 1u << 4,  // An effect: not folded, not shared, not dropped when used.
    FN_EXTERN   = 1u << 5,  // Comes from a user's C file.
    FN_RANDOM   = 1u << 6,  // Takes the row's identity (u64) before its own arguments.
    FN_COSTLY   = 1u << 7,  // Not worth computing twice.
    FN_OUT      = 1u << 8,  // The result is of type T: returned through `out` with SB_OK.
    FN_COLUMNS  = 1u << 9,  // So little code without a branch that column loops take it in.
    FN_EACH     = 1u << 10, // SYMBOL_each computes the function for all rows that wait.
    FN_CUTS     = 1u << 11, // SYMBOL_take goes from piece to piece (cut.h).
    FN_BATCH    = 1u << 12, // An extern function over batches of rows. It may always fault.
    FN_STATE    = 1u << 13, // It takes what SYMBOL_init made and SYMBOL_close ends.
    FN_ALONE    = 1u << 14, // One call at a time.
    FN_PYTHON   = 1u << 15, // A batch function in Python: the symbol is "module:function".
    FN_ROWS     = 1u << 16, // Python: it is called with the values of one row.
    FN_KERNELS  = 1u << 17, // Kernels for GPUs have it (codegen/cuda/device.cuh), as FN_COLUMNS.
} FnTrait;

// What values an integer result may have.
typedef enum RangeOf : uint8_t {
    RANGE_OF_TYPE,    // Any of its type.
    RANGE_OF_BOUNDS,  // min to max; INT64_MAX: as far as the type goes.
    RANGE_OF_FIRST,   // The values of the first argument.
    RANGE_OF_ARGS,    // Values between the least and the greatest of all arguments.
} RangeOf;

typedef struct ResultRange {
    RangeOf of;
    int64_t min, max;
} ResultRange;

typedef struct FnRef {
    Text     name;    // As users write it, for messages.
    Text     symbol;  // The C function: sb_...
    uint32_t traits;  // FnTrait bits.
    uint32_t pointers;  // Bit i: argument i goes by pointer to memory: type T, T? or a struct.
    uint32_t zones;     // Bit i: argument i, an i64, is the number of a time zone (sb_zone_at).
    Text     file;    // extern: the C file, as the driver resolved it. Python: the folder of the
                      // program, "lib/" or empty.
    Text    *params;  // Of a batch function: the names of its parameters.
    uint32_t param_count;
    Text     domain;  // "'y' of 'pow' is from 0 on": for messages; empty: takes all values.
    Text     blames;  // The C function that words its faults, of status, first and second argument
                      // (str); empty: none.
    ResultRange range;
} FnRef;

// Is it code of a user that runs in the process of its task? It may end that process.
static inline bool fn_is_foreign(const FnRef *fn) {
    return (fn->traits & (FN_EXTERN | FN_PYTHON)) == FN_EXTERN;
}

// Does code of a user give text, which may be no UTF-8? Batches are judged where they are taken.
static inline bool fn_gives_text(const FnRef *fn, const Type *type) {
    return fn_is_foreign(fn) && !(fn->traits & FN_BATCH) && type_base(type)->kind == TYPE_STR;
}

typedef struct Expr {
    ExprOp      op;
    const Type *type;
    Span        span;
    uint32_t    arg_count;
    ExprId     *args;
    // Payload, by op.
    Const        value;    // CONST; REGEX and ZONE: value.text. PRESENT: value.text names
                           // what is null.
    uint32_t     index;    // PARAM, COLUMN, RAW, FIELD; PLACE: PlaceKind. LOCAL, LIST_MAP to
                           // LIST_REDUCE: the number of a local.
    uint32_t     input;    // COLUMN, RAW: 0 or 1 (the right side of a join).
    ElseKind     handler;  // ELSE.
    const FnRef *fn;       // CALL.
    bool         proven;   // A pass proved that the node itself cannot fault: no check is needed.
    bool         fits;     // The shapes of its operands are known to broadcast: no check is needed.
    // Filled by graph_expr: see graph_faults; may an `else reject` or `else fail` in it settle the
    // row, whatever handler is around? And see graph_has_effects.
    bool         faults, leaves, effects;
    bool         batch;    // Is there a call of a function over batches in it?
    bool         foreign;  // See graph_is_foreign.
    uint32_t     outermost;  // The least number of a local in it that no lambda in it binds;
                             // LOCAL_NONE: there is none.
} Expr;

// A lambda is the last argument of its node: a region that is judged once for each element. Its
// locals have the numbers from `index` on. Lambdas inside of it have greater numbers.
enum : uint32_t { LOCAL_NONE = UINT32_MAX, LOCALS_MAX = 1u << 20 };

static inline bool expr_has_lambda(const Expr *node) {
    return node->op >= EXPR_LIST_MAP && node->op <= EXPR_LIST_REDUCE;
}
static inline uint32_t expr_local_count(const Expr *node) {
    return node->op == EXPR_LIST_REDUCE ? 2 : 1;
}
static inline ExprId expr_lambda(const Expr *node) { return node->args[node->arg_count - 1]; }
// Does the value depend on an element of a lambda around the node?
static inline bool expr_is_open(const Expr *node) { return node->outermost != LOCAL_NONE; }

const char *expr_op_name(ExprOp op);
int         expr_op_arity(ExprOp op);  // -1: any.
bool        expr_op_faults(ExprOp op); // Of some type, some function.
bool        expr_op_find(Text name, ExprOp *op);

#endif
