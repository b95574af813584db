#include "stdlib/time/hold.h"

enum : int64_t { MICROS_MAX = INT64_C(86400) * 1000000, NANOS = 1000 };

bool sb_hold(SbCall *call, int64_t micros) {
    SbHold *hold = &call->hold;
    // For the rows before it: what comes of this one is computed while its own time runs.
    if (hold->sum >= hold->next) sb_hold_wait(call);
    if (micros > 0) hold->sum += (micros < MICROS_MAX ? micros : MICROS_MAX) * NANOS;
    return true;
}

// The rows that calls with these figures have counted.
static int64_t *rows_of(SbHold *hold, int64_t micros, int64_t size) {
    uint32_t at = 0;
    while (at + 1 < SB_HOLDS_MAX && hold->counts[at].size &&
           (hold->counts[at].micros != micros || hold->counts[at].size != size))
        at++;
    hold->counts[at].micros = micros;
    hold->counts[at].size = size;
    return &hold->counts[at].rows;
}

int32_t sb_hold_rows(SbCall *call, int64_t micros, int64_t rows, bool *out) {
    if (rows <= 0) return SB_FAULT_BAD_ARGUMENT;
    *out = true;
    if ((*rows_of(&call->hold, micros, rows))++ % rows == 0) sb_hold(call, micros);
    return SB_OK;
}
