// Parts: functions in which the rest of a long function goes on, so that the work of compiling
// grows with the program and no faster.
#ifndef SBC_CODEGEN_EMIT_PART_H
#define SBC_CODEGEN_EMIT_PART_H

#include "codegen/emit_row.h"

// How many parts are open.
size_t part_depth(const Emit *e);

// Where the function has grown long, the code that follows goes on in a new part. The border stands
// between two steps of straight code. All that is emitted from here until the join lies after the
// border. It has to end by faults, by returns, or by jumps to blocks of before, which have no phis
// of what is emitted here. What is memoised after the border is forgotten at the join.
void part_split(Emit *e);

// The target in the function that is being emitted for one that an outer function opened.
FaultTarget *part_target(Emit *e, FaultTarget *target);

// Closes the parts that were opened since `depth`; their last one has left.
void part_join(Emit *e, size_t depth);
// The same where the code goes on: the builder stands after them.
void part_leave(Emit *e, size_t depth);

#endif
