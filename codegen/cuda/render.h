// Private to codegen/cuda: one kernel while it is rendered.
#ifndef SBC_CODEGEN_CUDA_RENDER_H
#define SBC_CODEGEN_CUDA_RENDER_H

#include "codegen/cuda/cuda.h"
#include "codegen/cuda/table.h"

// Stands for the kernel's name, until its text is known.
#define CUDA_NAME "\x01"

// Of a value: words of the text. `valid` is empty where the value is never null, `raise` where
// judging it never faults. Bits of `raise`: 1 for a fault, 2 for one that settles the row whatever
// handler is around.
typedef struct CudaValue {
    Text value, valid, raise;
} CudaValue;

enum { CUDA_RANK_MAX = 8 };

// At which element of which tensor an expression is computed, as a place in each dimension. The
// first one of a kernel is the lane's own; layouts such as `permute` lead to others. Of the lanes
// of a pack only the last place differs, if the dimension has whole packs: what depends on the
// others is computed once.
typedef struct CudaPlace {
    const Type *shape;                  // Null: of a kernel over rows.
    Text        at[CUDA_RANK_MAX];      // Names, or numbers.
    Text        element;                // The number of the element; empty: not known yet.
    unsigned    number;                 // 0: the lane's own.
} CudaPlace;

typedef struct CudaNode {
    uint32_t  member;  // Over whose input the node stands.
    ExprId    id;
    unsigned  place;
    CudaValue is;
} CudaNode;

// A unit that is being made.
typedef struct CudaMaker {
    Arena      *arena;
    const Plan *plan;
    const Stage *stage;
    CudaSources sources;
    CudaUnit   *unit;
    TextBuf     text;     // Of the kernels that are there.
    bool        reduces;  // Some go over segments.
} CudaMaker;

typedef struct CudaSegment CudaSegment;  // reduce.c

typedef struct CudaEmit {
    Arena          *arena;
    const Plan     *plan;
    const Stage    *stage;
    CudaSources     sources;
    const Dialect  *dialect;
    CudaMaker      *maker;
    CudaKernel     *kernel;
    CudaSegment    *segment;     // Of a kernel over segments.
    bool            has_far;     // Some divisions may have to go the long way.
    bool            reads;       // Some values are loaded one by one.
    bool            tiles;       // Lists are put together in shared memory.
    const CudaColumn *only;      // The temporary column that the kernel gives; null: items.
    bool            after_rows;  // A kernel over rows has run before and knows bad ones.
    bool            tensors_fault;  // Some kernel but the one over rows may fault.
    TextBuf         tables;  // Constant tensors.
    TextBuf         body;    // Statements for one row, or one element.
    CudaNode       *nodes;
    size_t          node_count, node_cap;
    CudaPlace       place;
    unsigned        places;  // How many places there have been.
    unsigned        names;   // How many numbers names have taken.
    uint32_t        file, line;  // Of the statement before; line 0: none.
} CudaEmit;

// Appends the statements that compute an expression of the member, as far as they are not there.
CudaValue cuda_value(CudaEmit *e, uint32_t member, ExprId id);

// `one` where `which` is 1, else `other`.
CudaValue cuda_choose(CudaEmit *e, Text which, const CudaValue *one, const CudaValue *other);
// Does one of two fault? Either may be empty, which is no fault.
Text cuda_either(const CudaEmit *e, Text a, Text b);

// The place of the kernel's input, which is added if it is new.
size_t cuda_input(CudaEmit *e, uint32_t column, const Type *type);
// Does each lane take one value of the input for each that it gives, in the same order?
bool cuda_is_whole(const CudaKernel *kernel, const Type *type);

// The number of the element, of a tensor that broadcasts to the shape of the place, which is
// computed there.
Text cuda_element(Arena *arena, const Type *type, const CudaPlace *place);
// Its place in dimension `i`, by a name or a number.
Text cuda_at_dimension(const Type *type, const CudaPlace *place, uint32_t i);
// The lane's own place, by names that cuda_print_own declares.
CudaPlace cuda_own_place(Arena *arena, const Type *shape);
void cuda_print_own(TextBuf *buf, const Type *shape, uint32_t width);
// Does an element of the tensor go by the last place only? That of a pack's first element has the
// name CUDA_TURN.
bool cuda_is_in_turn(const CudaEmit *e, const Type *type);
#define CUDA_TURN "t"

// ---- constants ----------------------------------------------------------------------------------

// Is it a constant tensor, and what is in it?
bool cuda_is_table(const Graph *graph, const Expr *x);
uint32_t cuda_item_count(const Expr *x);
const Const *cuda_item_at(const Graph *graph, const Expr *x, uint32_t i);
// Is it a division of f32 by constants whose inverses are enough for it?
bool cuda_divides_by_constants(const Graph *graph, const Expr *x);

// ---- ranges (range.c) ---------------------------------------------------------------------------

// Of an expression of f32: it is zero, or from `least` to `most` in size. Where nothing is known,
// most is infinite.
typedef struct CudaRange {
    double least, most;
    bool   minus;  // It may be -0.
    bool   below;  // Its sign may be set.
} CudaRange;

CudaRange cuda_range(const CudaEmit *e, uint32_t member, ExprId id);

// ---- kernels (render.c) -------------------------------------------------------------------------

bool cuda_same_shape(const Type *a, const Type *b);  // Either may be null: a number.
const Type *cuda_shape_of(const Type *type);         // Null: it is a number.

// An item that is computed for what follows it, or because it may fault.
typedef void CudaItemFn(void *self, uint32_t member, uint32_t item, bool output);
void cuda_each_item(const Plan *plan, const Stage *stage, void *self, CudaItemFn *see);

size_t cuda_add_output(CudaEmit *e, CudaColumn column);
// Is the value a NaN? Two kinds of processors give it other bits. Empty: it never is.
Text cuda_nan_of(const CudaEmit *e, uint32_t member, ExprId id, const CudaValue *is);
void cuda_print_arguments(CudaEmit *e, TextBuf *buf);
// Puts the name, which the text itself makes, where it is left open, and frees the text.
void cuda_settle(CudaEmit *e, TextBuf *text);
void cuda_add_kernel(CudaMaker *maker, const CudaKernel *kernel);

// The column of a tensor that a kernel of its own computes, element by element, with zeros at the
// end of its last dimension up to `size`. Makes that kernel if it is not there.
CudaColumn cuda_need_elements(CudaMaker *maker, uint32_t member, ExprId id, uint32_t size);

// ---- kept rows (keep.c) -------------------------------------------------------------------------

// Adds the kernels that bring kept rows together, after all others of the unit.
void cuda_render_keepers(CudaMaker *maker);

// ---- products (product.c) -----------------------------------------------------------------------

// Does cuBLASLt compute the expression?
bool cuda_is_product(const Plan *plan, const Stage *stage, ExprId id, PlanProduct *product);
// Its column. Makes what computes it if that is not there.
CudaColumn cuda_need_product(CudaMaker *maker, uint32_t member, ExprId id);

// ---- reductions (reduce.c) ----------------------------------------------------------------------

// Reductions over one axis of one shape.
typedef struct CudaClass {
    const Type *shape;
    uint32_t    axis;
    bool        of_elements;  // Of an item: it is such a tensor. Else it is as their results are.
} CudaClass;

// With which reductions an expression is computed by one kernel. The shape is null: with none.
CudaClass cuda_class(Arena *arena, const Plan *plan, const Stage *stage, uint32_t member,
                     ExprId id);
// Makes the kernels of all items that have a class.
void cuda_render_reductions(CudaMaker *maker);
// The value of a reduction: of this kernel, or of one before it.
CudaValue cuda_reduced(CudaEmit *e, uint32_t member, ExprId id);
// The column of a reduction that another kernel has computed. Makes that kernel if it is not there.
CudaColumn cuda_need_temporary(CudaMaker *maker, uint32_t member, ExprId id);
// The value of such a column at the place.
CudaValue cuda_at_place(CudaEmit *e, CudaColumn column);
// An element that an earlier reduction over the same segment left in a register, or null.
const CudaValue *cuda_kept(const CudaEmit *e, uint32_t member, ExprId id);
void cuda_keep(CudaEmit *e, const CudaNode *node);

// ---- layouts (layout.c) -------------------------------------------------------------------------

bool cuda_is_layout(const Expr *x);
// The value of a layout: of its argument at another element.
CudaValue cuda_layout(CudaEmit *e, uint32_t member, const Expr *x);
// The value of a tensor that lists numbers: the one of the element.
CudaValue cuda_listed(CudaEmit *e, uint32_t member, const Expr *x);
// The value of a tensor at a place whose last dimension is longer: zero after the last element.
CudaValue cuda_padded(CudaEmit *e, uint32_t member, ExprId id);
// Declares a number that is no value: its name.
Text cuda_index(CudaEmit *e, Text value);
// Where the elements of a reshape come from that only adds or drops dimensions of 1. False: it does
// something else.
bool cuda_squeezed(const Graph *graph, const Expr *x, const CudaPlace *place, CudaPlace *to);

// ---- groups (group.c) ---------------------------------------------------------------------------

// Appends the statements that judge a row and add it to its group, and says what groups there are.
void cuda_compute_groups(CudaEmit *e);
// Comments that say what the table holds. What a lane has of groups, as a struct. What a block does
// before its rows, and after.
void cuda_print_groups_head(const CudaEmit *e, TextBuf *buf);
void cuda_print_groups(const CudaKernel *kernel, TextBuf *buf);
void cuda_print_groups_begin(const CudaKernel *kernel, const Dialect *words, TextBuf *buf);
void cuda_print_groups_end(const CudaKernel *kernel, const Dialect *words, TextBuf *buf);

#endif
