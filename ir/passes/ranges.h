// What pass ranges finds out, for its test.
#ifndef SBC_IR_PASSES_RANGES_H
#define SBC_IR_PASSES_RANGES_H

#include "ir/pass.h"
#include "ir/passes/prover.h"

// Runs the pass. By operator and output column: what is known of its values in the rows that leave
// the operator.
Fact **ranges_infer(PassContext *context);

#endif
