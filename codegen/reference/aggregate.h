// Aggregates of a list of values, computed naively and exactly (docs/aggregates.md).
#ifndef SBC_CODEGEN_REFERENCE_AGGREGATE_H
#define SBC_CODEGEN_REFERENCE_AGGREGATE_H

#include "codegen/reference/value.h"
#include "ir/graph.h"
#include "runtime/abi.h"

typedef struct AggRow {
    Value x, by;   // Of one-argument aggregates only x counts.
} AggRow;

// The rows that an aggregate sees, in order.
typedef struct AggInput {
    AggRow *rows;
    size_t  count, cap;
} AggInput;

typedef struct AggCall {
    Arena          *arena;
    const Agg      *agg;
    const AggInput *input;
    const Type     *type, *by_type;  // Of the arguments, not null; null where there is none.
    Value           option;
    SbCall         *scratch;   // Of library functions.
} AggCall;

// A status; a fault fails the job.
int32_t aggregate(const AggCall *call, Value *out);

#endif
