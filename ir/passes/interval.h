// Interval: what values an integer may have, and what arithmetic makes of that.
#ifndef SBC_IR_PASSES_INTERVAL_H
#define SBC_IR_PASSES_INTERVAL_H

#include "ir/expr.h"

// Of the value when there is one: null and faults have none. min > max: nothing is known.
typedef struct Interval {
    __int128 min, max;
} Interval;

static inline Interval interval_unknown(void) { return (Interval){1, 0}; }
static inline bool interval_known(Interval a) { return a.min <= a.max; }

Interval interval_of_type(const Type *type);  // T or T?; unknown when T is no integer.
Interval interval_of_const(const Type *type, const Const *value);
bool     interval_inside(Interval inner, Interval outer);  // False when either is not known.
// Of values in both. Where there are none, the place is never reached, and `a` is as good.
Interval interval_both(Interval a, Interval b);
Interval interval_either(Interval a, Interval b);          // The least that holds all of both.
// NEG to MOD on what is known, if nothing wraps; NEG ignores `b`. Unknown for a divisor that may be
// zero, and for a remainder by -1, on which machines trap.
Interval interval_arithmetic(ExprOp op, Interval a, Interval b);

#endif
