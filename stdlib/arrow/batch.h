// Calls of functions over batches of rows.
#ifndef SBC_STDLIB_ARROW_BATCH_H
#define SBC_STDLIB_ARROW_BATCH_H

#include "runtime/abi/batch.h"
#include "runtime/abi/call.h"

// Rows of one batch where the program does not say how many.
enum { SB_BATCH_ROWS_DEFAULT = 8192 };

// How many of `count` rows make a batch: as many as `fn` says, and no more than fit some MiB.
int64_t sb_batch_count(const SbBatchFn *fn, const void *const *rows, int64_t count);

// Calls `fn` for `count` rows and fills `out`, whose numbers begin at `out->first`. Results stand
// in memory of `call`. What fails for some row is said of this row alone if `fn` is pure: halves
// of a batch that failed are tried by themselves.
void sb_batch_run(SbCall *call, const SbBatchFn *fn, const void *const *rows, int64_t count,
                  SbBatchRows *out);

// Makes a state for calls. False: there is none, as `words` say, which stand in memory of `call`.
bool sb_batch_init(SbCall *call, const SbBatchFn *fn, void **state, SbStr *words);
// All rows have this fault, with these words. False: there is no room for results.
bool sb_batch_refuse(SbCall *call, int64_t count, int32_t fault, SbStr words, SbBatchRows *out);

#endif
