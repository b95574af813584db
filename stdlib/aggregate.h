// Aggregate: states of aggregates: add, merge, result; and what entries point to (held.h).
//
// Called by generated code, by breakers, which merge states, and by runtime/disk, which writes
// them.
#ifndef SBC_STDLIB_ROOM_AGGREGATE_H
#define SBC_STDLIB_ROOM_AGGREGATE_H

#include "stdlib/aggregate/aggregate.h"
#include "stdlib/aggregate/approx.h"
#include "stdlib/aggregate/held.h"

#endif
