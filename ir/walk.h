// Walk: over the expressions of operators, each node once, and which columns somebody reads.
#ifndef SBC_IR_WALK_H
#define SBC_IR_WALK_H

#include "ir/graph.h"

// What the columns in an operator's expression are.
typedef enum ColumnScope {
    SCOPE_PARAMS,  // None: parameters and constants only.
    SCOPE_OWN,     // Input 0: the operator's own output columns (filters of a source).
    SCOPE_INPUT,   // Input 0: those of the operator's first input.
    SCOPE_RIGHT,   // Input 1: those of its second input (right keys of a join).
    SCOPE_PAIR,    // Inputs 0 and 1: those of both (the condition of a join).
} ColumnScope;

// Calls `see` with every expression of `op`, EXPR_NONE left out, in the order of its text form.
// `see` may replace *slot. `wanted` is the type that the place asks for, where it is one of the
// few fixed ones, else TYPE_ERROR.
typedef void ExprSee(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted);
void op_each_expr(Op *op, void *self, ExprSee *see);

// The same for what belongs to the graph: parameters' defaults and the rejects statement.
void graph_each_expr(Graph *graph, void *self, ExprSee *see);

// Visits each node below some roots once:
//     walk_start(&walk); walk_add(&walk, root); while (walk_next(&walk, &id)) ...
typedef struct Walk {
    const Graph *graph;
    uint32_t    *stamps;  // By node: the walk that saw it last.
    size_t       stamp_count;
    uint32_t     stamp;
    uint32_t    *stack;
    size_t       count, cap;
} Walk;

Walk walk_make(const Graph *graph);
void walk_start(Walk *walk);
void walk_add(Walk *walk, ExprId root);   // EXPR_NONE adds nothing.
bool walk_next(Walk *walk, ExprId *id);   // Parents before what only they have.

// Does an expression of the operators do more than compute its value?
bool ops_have_effects(const Graph *graph, const OpId *ops, uint32_t count);
// The call of a function over batches among those items of a project that are `used` (null: all);
// null: there is none. Its arguments are columns (frontend/check_batches.c).
const Expr *op_batch_call(const Graph *graph, const Op *op, const bool *used);
// Conditions of a source with keys, in whose order rows are judged, up to the first that needs more
// of a row than the path of its file. Sides of `and` count one by one.
enum { PATH_CONDITIONS_MAX = 32 };
typedef struct PathConditions {
    ExprId   items[PATH_CONDITIONS_MAX];
    uint32_t count;
} PathConditions;

PathConditions source_path_conditions(const Graph *graph, const SourceOp *source);
// Does `op` reject rows that it takes?
bool op_rejects(const Graph *graph, const Op *op);
// Does it call functions of the user's C files?
bool op_is_foreign(const Graph *graph, const Op *op);
// Does it call impure functions?
bool op_has_effects(const Graph *graph, const Op *op);

// By operator and output column: can the value reach a sink, a predicate or a key, or stand in a
// reject? False for all columns of operators that no sink needs. An item of a project or an
// aggregate that nobody reads is not computed and cannot fault. One that counts as read is judged,
// also where a pass has found that its value does not matter.
typedef struct Usage {
    bool **columns;  // columns[op][column]
    bool  *ops;      // Does a sink need the operator?
    bool  *shown;    // May a step after the operator reject a row of it?
} Usage;

Usage graph_usage(const Graph *graph);

// Marks in `usage` what `op` alone reads of its inputs, by what is marked of its own columns.
void usage_mark(const Graph *graph, Usage usage, OpId op);

#endif
