// Loops over the elements of tensors: what they read, and in which steps.
#ifndef SBC_CODEGEN_EMIT_NEST_H
#define SBC_CODEGEN_EMIT_NEST_H

#include "codegen/emit_row.h"

// Which element of a node goes with a place of the loop.
typedef struct View {
    int32_t  dim[TENSOR_RANK_MAX];   // By own dimension: the loop's. -1: the place is always one.
    uint32_t from[TENSOR_RANK_MAX];  // The place where the loop begins.
} View;

// A product of sizes: a number, and sizes that a row has.
typedef struct Extent {
    uint64_t known;
    uint32_t count;
    Val      open[TENSOR_RANK_MAX];  // i64.
} Extent;

// What a loop reads.
typedef struct Leaf {
    Value       value;
    const Type *type;  // A tensor, or a number that goes with each element.
    View        view;
    Val         size[TENSOR_RANK_MAX];  // Of open dimensions.
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
    Val         size[TENSOR_RANK_MAX];      // Of open dimensions of `type`.
    Extent      out_step[TENSOR_RANK_MAX];  // By dimension: elements of the result.
    Val        *sizes;  // Sizes that its function takes after the leaves, each once.
    uint32_t    size_count;
    size_t      size_cap;
    Val         first;      // i64. Of an append: where its parts begin in the dimension.
    const Expr *reduction;  // The node that reduces the elements. Null: they are the result.
    uint32_t    axis;       // Of the reduction.
};

// The parameters of its function, and after these the leaves.
enum { PARAM_TASK, PARAM_OUT, PARAM_ROOM, PARAM_LEAVES };
enum { SHORT_MAX = 16 };  // Turns of an inner loop that may go away.

// The dimensions that a loop goes over, the innermost first. Those that all leaves go through alike
// are one.
typedef struct Nest {
    uint32_t rank;
    Extent   size[TENSOR_RANK_MAX];
    Extent  *step[TENSOR_RANK_MAX];  // By leaf, and of the result at the end: in elements.
} Nest;

static inline Extent extent_of(uint64_t known) { return (Extent){.known = known}; }
static inline bool   extent_is(const Extent *extent, uint64_t known) {
    return !extent->count && extent->known == known;
}
// Dimension `i` of the shape; `size`: of its open dimensions.
Extent extent_of_dimension(const Type *type, const Val *size, uint32_t i);
Extent extent_times(Extent a, const Extent *b);
bool   extent_same(const Extent *a, const Extent *b);
Val    emit_extent(Emit *e, const Extent *extent);  // i64

// ---- sizes that rows have (emit_shape.c) --------------------------------------------------------

// Of the open dimensions of a tensor: size[i] of dimension i, i64. Others are not set.
void  emit_sizes(Emit *e, const Type *type, Value tensor, Val *size);
// Scratch memory of a tensor with these sizes, which are written where its type keeps them. A
// tensor over the limit leaves the row.
Value emit_room(Emit *e, Frame *frame, Span span, const Type *type, const Val *size);
// A function of stdlib/value/shape.h, after its context.
Value emit_shape_call(Emit *e, Frame *frame, const Expr *x, const char *symbol, const Type *result,
                      const Arg *args, unsigned count);
Value emit_size(Emit *e, Frame *frame, const Expr *x);     // SIZE
Value emit_agree(Emit *e, Frame *frame, const Expr *x);    // AGREE
Value emit_reshape(Emit *e, Frame *frame, const Expr *x);  // RESHAPE
// The sizes that the loop's function takes, and then these parameters in their place.
void  loop_sizes(Emit *e, TensorLoop *loop);
void  loop_sizes_are_params(Emit *e, TensorLoop *loop);

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
Extent   leaf_step(const TensorLoop *loop, const Leaf *leaf,
                   uint32_t dimension);  // Elements from place to place.
// The value of the loop's root where each leaf is `at[i]` elements from its beginning.
Value    emit_element_at(Emit *e, const TensorLoop *loop, const Val *at);

// The body of a loop's function that reduces (emit_reduce.c), and the elements that it needs in
// PARAM_ROOM, in bytes.
void     emit_reduction(Emit *e, TensorLoop *loop);
Val      reduction_room(Emit *e, const TensorLoop *loop);  // i64

#endif
