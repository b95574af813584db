// Shape: tensors with open dimensions, whose sizes each row has.
#ifndef SBC_STDLIB_SHAPE_H
#define SBC_STDLIB_SHAPE_H

#include "runtime/abi/call.h"
#include "runtime/abi/value.h"

// Room in scratch memory for a tensor of the type with these sizes (all dimensions), with the
// sizes written where the type keeps them. Returns where the elements go. Null: there is no
// memory, or the tensor had more than SB_TENSOR_BYTES_MAX.
char *sb_tensor_room(SbCall *call, const SbType *type, const int64_t *sizes, SbList *out);

// Do the shapes of two tensors broadcast? A dimension that is the number 1 stretches, and so does
// one that is not there. SB_FAULT_SHAPES: they do not, and the detail has both shapes.
int32_t sb_shapes_meet(SbCall *call, const SbType *a, SbList x, const SbType *b, SbList y,
                       bool *out);

// Are all dimensions equal but `axis`? SB_FAULT_SHAPES as above. Both have the same rank.
int32_t sb_shapes_beside(SbCall *call, const SbType *a, SbList x, const SbType *b, SbList y,
                         int64_t axis, bool *out);

// Gives `x`. SB_FAULT_SHAPES: a name of both types has two sizes. A null value agrees.
int32_t sb_shapes_agree(SbCall *call, const SbType *a, SbList x, const SbType *b, SbList y,
                        SbList *out);

// `x` as a tensor of type `to`, dimension by dimension. SB_FAULT_SHAPES: a number is another one.
// Without a copy where both types keep sizes alike. A null value has no elements, and stays.
int32_t sb_shape_as(SbCall *call, const SbType *from, SbList x, const SbType *to, SbList *out);

// A list as a tensor of one dimension, without a copy. SB_FAULT_NO_ELEMENTS, SB_FAULT_SHAPES: it
// has another number of elements.
int32_t sb_list_as_tensor(SbCall *call, SbList x, const SbType *to, SbList *out);

// The elements of `x` in the shape of `to`. `sizes` are those of its open dimensions, in order; -1:
// what is left. Null: there is one, or they are those of `x`. SB_FAULT_RESHAPED: the elements do
// not fill the shape.
int32_t sb_reshape(SbCall *call, const SbType *from, SbList x, const SbType *to,
                   const int64_t *sizes, SbList *out);

#endif
