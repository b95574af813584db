// Hold: emulated work. A row, or a batch of rows, takes a time that is given, as if it were
// computed on an accelerator or fetched from far away. The task keeps its slot for so long. For
// tests and benchmarks of schedules.
//
// The time is a deadline: it runs from when the task was started or resumed, and what the task
// computes itself is part of it.
#ifndef SBC_STDLIB_HOLD_H
#define SBC_STDLIB_HOLD_H

#include "runtime/abi/call.h"

// True, once the row has taken `micros` microseconds; nothing if that is not above zero.
bool sb_hold(SbCall *call, int64_t micros);
// The same for each `rows` rows that come to the call in one launch of a task, also if fewer are
// left.
// SB_FAULT_BAD_ARGUMENT: `rows` is not above zero.
int32_t sb_hold_rows(SbCall *call, int64_t micros, int64_t rows, bool *out);

#endif
