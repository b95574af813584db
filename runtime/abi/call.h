// The context of a function call: scratch memory of a task, the text that a failing function names,
// and the clock of emulated work.
//
// Used by functions of the standard library that make values. The runtime's side is in
// runtime/memory (scratch.c) and runtime/memory (hold.c).
#ifndef SBC_RUNTIME_ABI_CALL_H
#define SBC_RUNTIME_ABI_CALL_H

#include "runtime/abi/value.h"

enum { SB_HOLDS_MAX = 4 };  // The last one counts for all further ones too.

// Emulated work of a task (stdlib/time/hold.h): nanoseconds.
typedef struct SbHold {
    int64_t  from;      // When the task was started or resumed; monotonic clock.
    int64_t  sum;       // What its rows have taken since.
    int64_t  next;      // The sum at which it waits next.
    // Rows of batches since the launch began, for calls with the same figures.
    struct { int64_t micros, size, rows; } counts[SB_HOLDS_MAX];
    const int32_t *cancel;
} SbHold;

// Scratch memory of a task. A value that is allocated lives until generated code winds `at` back,
// once a row or a batch. Terminals copy what they keep.
typedef struct SbCall {
    char *at, *end;     // The free part of the current block.
    char *begin;        // Where winding back goes: the start of the first block.
    SbStr detail;       // A failing function may name the offending text here.
    struct SbScratch *scratch;  // Runtime's.
    SbHold hold;
    struct SbGuard *guard;  // Of runtime/task: watches calls of foreign code; null: nobody does.
} SbCall;

// Starts the clock of emulated work. Waits until the deadline of the clock or until *cancel.
void sb_hold_begin(SbCall *call, const int32_t *cancel);
void sb_hold_wait(SbCall *call);

// `bytes` of memory aligned to 16, with SB_SLACK readable bytes after them. nullptr: out of memory
// (return SB_FAULT_TOO_LARGE).
void *sb_alloc_slow(SbCall *call, int64_t bytes);

static inline void *sb_alloc(SbCall *call, int64_t bytes) {
    char *at = call->at;
    if (__builtin_expect(bytes > call->end - at - SB_SLACK - 16, 0))
        return sb_alloc_slow(call, bytes);
    call->at = at + ((bytes + 15) & ~(int64_t)15);
    return at;
}

// `bytes` of scratch memory: sb_alloc as a call.
void *sb_take(SbCall *call, int64_t bytes);

// Frees what was allocated in the task's scratch memory. Called between rows when a first block did
// not suffice.
void sb_scratch_rewind(SbCall *call);

#endif
