// Number: reading, printing and computing integers, floats and decimals; exact sums.
//
// Called by generated code and by rooms for time, aggregates, JSON and fields. Results are the same
// bits on every CPU: nothing comes from the host's libm.
#ifndef SBC_STDLIB_ROOM_NUMBER_H
#define SBC_STDLIB_ROOM_NUMBER_H

#include "stdlib/number/decimal.h"
#include "stdlib/number/exact_sum.h"
#include "stdlib/number/number.h"
#include "stdlib/number/put_small.h"

#endif
