// Far rows: rows and bytes that another process made, in its arena. They stay until nobody holds
// them.
//
// Every function here needs the lock of the dispatch.
#ifndef SBC_RUNTIME_FAR_ROWS_H
#define SBC_RUNTIME_FAR_ROWS_H

#include <assert.h>
#include <stdint.h>

typedef struct FarRows {
    uint32_t holders;
    void (*let_go)(struct FarRows *self);  // Nobody holds them any more.
} FarRows;

static inline void far_rows_release(FarRows *far) {
    assert(far->holders > 0);
    if (--far->holders == 0) far->let_go(far);
}

#endif
