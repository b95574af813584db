#include "runtime/input/batch.h"

#include "runtime/disk.h"
#include "runtime/rows.h"

#include <assert.h>
#include <stdlib.h>

Batch *batch_open(SbRows *rows) {
    Batch *batch = malloc(sizeof *batch);
    int64_t used = sb_rows_used(rows);
    const SbEntry *const *entries = batch ? sb_rows_entries(rows) : nullptr;
    if (!entries) {
        free(batch);
        return nullptr;
    }
    *batch = (Batch){.rows = rows, .entries = entries, .count = rows->count,
                     .bytes = sb_rows_bytes(rows), .used = used, .holders = 1};
    return batch;
}

Batch *batch_open_range(SpillRange *range) {
    Batch *batch = malloc(sizeof *batch);
    if (batch)
        *batch = (Batch){.range = range, .bytes = range->bytes, .used = range->bytes, .holders = 1};
    return batch;
}

Batch *batch_open_far(FarRows *far, const SbEntry *const *entries, int64_t count) {
    Batch *batch = malloc(sizeof *batch);
    if (!batch) return nullptr;
    far->holders++;
    *batch = (Batch){.far = far, .entries = entries, .count = count, .holders = 1};
    return batch;
}

void batch_release(Batch *batch) {
    assert(batch->holders > 0);
    if (--batch->holders > 0) return;
    assert(!batch->run);  // What it has on disk is its LivePartition's.
    sb_rows_close(batch->rows);
    spill_range_close(batch->range);
    if (batch->far) far_rows_release(batch->far);
    free(batch);
}

SbRows *batch_empty(Batch *batch) {
    SbRows *rows = batch->rows;
    assert(batch->holders == 1);
    sb_rows_reset(rows);
    free(batch);
    return rows;
}
