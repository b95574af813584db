// Eval: expressions over rows, by demand, each node once a row.
#ifndef SBC_CODEGEN_REFERENCE_EVAL_H
#define SBC_CODEGEN_REFERENCE_EVAL_H

#include "codegen/reference/row.h"
#include "runtime/abi.h"

typedef struct Memo {
    uint64_t round;    // The evaluation it belongs to.
    uint64_t element;  // Where the node is open: what the locals were.
    int32_t  status;
    Value    value;
} Memo;

typedef struct Eval {
    const Graph *graph;
    Arena       *arena;
    const Value *params;   // By parameter; null: there are none.
    bool  wants_defaults;  // Nobody gives parameters: their defaults are wanted.
    const Param *lacked;   // The parameter that was asked for and has no default; null: none.
    const Row   *rows[2];  // The rows of the inputs; null outside of rows.
    Memo        *memo;     // By expression.
    size_t       memo_count;
    uint64_t     round;
    Value       *locals;   // By number: parameters of the lambdas that are being judged.
    uint64_t     element;  // Grows with each value that a local takes.
    // Reads a column of a source's row when it is asked for; null: the row's values stand.
    int32_t (*judge)(void *self, uint32_t column, Value *out);
    void    *judge_self;
    bool  elements;        // Tensors that are asked for stand for one element (eval_tensor.c).
    // What a fault says.
    Text  detail;          // The offending text; at null: none.
    bool  settled;         // An `else reject` or `else fail` decided: no outer handler counts.
    bool  fails;           // `else fail`.
    SbCall call;           // Scratch of library functions.
    void  *library;        // Built constants: patterns and zones (eval_call.c).
} Eval;

bool eval_open(Eval *eval, const Graph *graph, Arena *arena);
void eval_close(Eval *eval);

// Begins the evaluation of expressions over these rows (null where there is none).
void eval_row(Eval *eval, const Row *left, const Row *right);

// The value of `id`. A status: SB_OK or a fault, with eval's detail, settled and fails set.
int32_t eval_expr(Eval *eval, ExprId id, Value *out);

// The base type of the argument, or of its element: see Eval.elements.
const Type *eval_type(const Eval *eval, ExprId id);
// A node whose value is not known yet.
int32_t eval_node(Eval *eval, const Expr *expr, Value *out);

// ---- parts, each in a file of its own ---------------------------------------------------------

// arithmetic.c: NEG to MOD, comparisons of values that are not null.
int32_t eval_arithmetic(Eval *eval, const Expr *expr, const Value *args, Value *out);
bool    eval_comparison(ExprOp op, const Type *type, const Value *a, const Value *b);
double  integer_to_f64(__int128 integer);
double  decimal_to_f64(__int128 decimal, unsigned scale);

// python.c: what the processes know as the function.
const SbPythonFn *reference_python_fn(const FnRef *fn);

// cast.c: CAST, WIDEN and TO_F64 of a value that is not null.
int32_t eval_cast(Eval *eval, const Type *from, const Type *to, const Value *value, Value *out);

// eval_call.c: CALL.
int32_t eval_call(Eval *eval, const Expr *expr, Value *out);
void    eval_call_close(Eval *eval);

// eval_tensor.c: a node for which graph_is_elementwise.
int32_t eval_elements(Eval *eval, const Expr *expr, Value *out);
// From RESHAPE to the last reduction.
int32_t eval_whole(Eval *eval, const Expr *expr, Value *out);

// eval_lambda.c: a node for which expr_has_lambda.
int32_t eval_lambda(Eval *eval, const Expr *expr, Value *out);

// Keeps `text` as the offending text and returns `status`.
int32_t eval_fault(Eval *eval, int32_t status, Text text);

// The canonical text of a value, in the arena.
Text eval_text(Arena *arena, const Type *type, const Value *value);

#endif
