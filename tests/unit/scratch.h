// What library functions allocate from, in tests.
#ifndef SBC_TESTS_UNIT_SCRATCH_H
#define SBC_TESTS_UNIT_SCRATCH_H

#include "runtime/abi.h"

#include <stdlib.h>

enum { SCRATCH_BYTES = 8 << 20 };

// A context of one block, empty again at each call.
static inline SbCall *scratch(void) {
    static char *block;
    static SbCall call;
    if (!block) block = aligned_alloc(16, SCRATCH_BYTES);
    call = (SbCall){.at = block, .end = block + SCRATCH_BYTES, .begin = block};
    return &call;
}

#endif
