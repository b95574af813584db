// Loops over the elements of tensors: what they read, and in which steps.
#ifndef SBC_CODEGEN_EMIT_NEST_H
#define SBC_CODEGEN_EMIT_NEST_H

#include "codegen/emit_row.h"

// Which element of a node goes with a place of the loop.
typedef struct View {
    int32_t  dim[TENSOR_RANK_MAX];   // By own dimension: the loop's. -1: the place is always one.
    uint32_t from[TENSOR_RANK_MAX];  // The place where the loop begins.
} View;

// What a loop reads.
typedef struct Leaf {
    Value       value;
    const Type *type;  // A tensor, or a number that goes with each element.
    View        view;
} Leaf;

// A loop over elements, which becomes a function: an elementwise one, or the tree of a reduction.
struct TensorLoop {
    TensorLoop *next;
    const Type *type;   // Of what it goes over, with the elements that it makes.
    Leaf       *leaves;
    size_t      leaf_count, leaf_cap;
    ExprId      root;   // Over columns, which are the leaves' elements.
    StepId      step;
    Span        span;
    Val         function;
    uint64_t    out_step[TENSOR_RANK_MAX];  // By dimension: elements of the result.
    const Expr *reduction;  // The node that reduces the elements. Null: they are the result.
    uint32_t    axis;       // Of the reduction.
};

// The parameters of its function, and after these the leaves.
enum { PARAM_TASK, PARAM_OUT, PARAM_ROOM, PARAM_LEAVES };
enum { SHORT_MAX = 16 };  // Turns of an inner loop that may go away.

// The dimensions that a loop goes over, the innermost first. Those that all leaves go through alike
// are one.
typedef struct Nest {
    uint32_t  rank;
    uint64_t  size[TENSOR_RANK_MAX];
    uint64_t *step[TENSOR_RANK_MAX];  // By leaf, and of the result at the end: in elements.
} Nest;

// A counted loop under construction.
typedef struct Count {
    Val   slot, at, end;
    Block head, done;
} Count;

// The builder goes on in the loop, whose turn is `at`. `end`: i64.
Count emit_count(Emit *e, Val end);
// The builder goes on after the loop. `rolled`: it is kept from being unrolled, for the vectoriser.
void  emit_count_end(Emit *e, const Count *count, bool rolled);

// Of the loop's dimensions, without `skip` (TENSOR_RANK_MAX: none).
Nest     nest_of(Emit *e, const TensorLoop *loop, uint32_t skip);
uint64_t leaf_step(const Leaf *leaf, uint32_t dimension);  // Elements from place to place.
// The value of the loop's root where each leaf is `at[i]` elements from its beginning.
Value    emit_element_at(Emit *e, const TensorLoop *loop, const Val *at);

// The body of a loop's function that reduces (emit_reduce.c), and the elements that it needs in
// PARAM_ROOM, in bytes.
void     emit_reduction(Emit *e, TensorLoop *loop);
uint64_t reduction_room(Emit *e, const TensorLoop *loop);

#endif
