// Key filter: of a join's right rows those are left out whose key no left row has.
//
//   all units of the left side ─▶ asking.h ─▶ hashes ─▶ a filter ─▶ who fills the right side
//
// A join keeps its right side, however large it is. Where the left side is small, all of it is read
// once more before that, and says which keys it looks up. So a small flow that is joined with a
// large one takes the memory of the rows that match, as if their sides were changed.
//
// A filter lets some rows pass that nobody looks up. No row is left out that somebody does. So
// nothing but time and memory changes: where memory lacks, or the left side cannot be read twice,
// all rows are kept.
#ifndef SBC_RUNTIME_TASK_KEY_FILTER_H
#define SBC_RUNTIME_TASK_KEY_FILTER_H

#include "runtime/task/task.h"

typedef struct KeyFilter {
    SbKeyFilter filter;
    SbMemory   *memory;
} KeyFilter;

typedef struct KeyFilterSetup {
    const TaskSetup  *setup;     // Of the tasks of the stage that looks rows up (SbBreaker.asker).
    const UnitsSetup *units;     // Its units.
    _Atomic int      *cancel;    // The job's.
    SbMemory         *memory;    // Of the right side: hashes and filter are charged to it.
    uint32_t          breaker;   // The join's.
    uint32_t          threads;   // Of the job.
} KeyFilterSetup;

// Is it worth while to read `left` bytes once more, so that fewer of `right` bytes are kept? -1: it
// is not known how many they are.
bool key_filter_pays(int64_t left, int64_t right);
// nullptr: no memory, or the left side did not say all.
KeyFilter *key_filter_open(const KeyFilterSetup *what, SbParallel *parallel);
void key_filter_close(KeyFilter *filter);

#endif
