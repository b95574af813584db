// Batches: `with (batch = N)`, rows that a stage takes together where there are as many.
//
// It is a wish about time and changes no result. A stage over an edge gets as many partitions in
// one launch as fill its batches (core/batch.c); whoever makes these cuts them where batches end.
// Numbers and rows of breakers are taken by whole batches; of text, files and pipes a stage takes
// what a unit holds.
#ifndef SBC_RUNTIME_BATCHES_H
#define SBC_RUNTIME_BATCHES_H

#include "runtime/abi/program.h"
#include "runtime/report.h"

// False: a batch of some stage does not fit into the `room` bytes that the ledger gives.
bool batches_check(const SbJob *job, int64_t room, Trouble *trouble);

// Rows that the readers of an edge take together, or those after them; 0: nobody cares.
int64_t batches_wanted(const SbJob *job, uint32_t edge);

// Where a partition may end that has `rows` rows and began with row `begin` of a batch: the next
// end, counted from where that batch begins. Partitions are of whole batches, or of a half, a
// quarter and so on that lie side by side in one, so that some of them make it up. INT64_MAX: it
// has passed the last such end.
int64_t batches_piece_end(int64_t batch, int64_t begin, int64_t rows);

// Rows of a unit that would have `rows` of `count`: whole batches, unless that leaves some of
// `tasks` tasks without work.
int64_t batches_unit_rows(int64_t batch, int64_t rows, int64_t count, int64_t tasks);

#endif
