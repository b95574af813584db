// Carrying a hidden column on through an operator: shared by the passes that add spellings.
#ifndef SBC_IR_PASSES_CARRY_H
#define SBC_IR_PASSES_CARRY_H

#include "ir/graph.h"

// Each gives the number of the output column that holds what is asked for, and adds one if there is
// none.

// Appends a column for the compiler's sake; what feeds it is the caller's business.
uint32_t carry_column(Graph *graph, Op *op, const Type *type);
// The bytes of a source's columns.
uint32_t carry_source(Graph *graph, Op *op, RawSpan raw);
// Of an operator whose columns are the first of its input: all up to `wanted` are taken on.
uint32_t carry_same(Graph *graph, Op *op, uint32_t wanted);
// Column `wanted` of a project's input.
uint32_t carry_project(Graph *graph, Op *op, uint32_t wanted);

#endif
