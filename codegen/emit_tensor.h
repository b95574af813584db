// Operators on the elements of tensors, as loops.
#ifndef SBC_CODEGEN_EMIT_TENSOR_H
#define SBC_CODEGEN_EMIT_TENSOR_H

#include "codegen/emit_row.h"

// The value of a node for which graph_is_elementwise or graph_is_layout, in the row's scratch
// memory. Its loop is a function that emit_tensor_loops makes later.
Value emit_tensor(Emit *e, Frame *frame, ExprId id);
// The value of RESHAPE, APPEND, GATHER or a reduction.
Value emit_whole(Emit *e, Frame *frame, const Expr *x);
// INDEX: part `index` of a tensor, in its memory where that can be.
Value emit_tensor_part(Emit *e, Frame *frame, const Expr *x, Value tensor, Val index);
// The functions of all loops that were called so far. No function is being emitted.
void  emit_tensor_loops(Emit *e);

#endif
