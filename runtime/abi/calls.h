// What generated code calls in the runtime, and nothing else.
//
// Used by code generation, which declares these functions, and by the rooms that define them:
// runtime/job (sb_main), task (records, borders, rows of tasks) and breakers (groups).
//
// A call may have more than five parameters (sb_reject_*): generated code passes them in registers,
// and builds no struct for each row.
#ifndef SBC_RUNTIME_ABI_CALLS_H
#define SBC_RUNTIME_ABI_CALLS_H

#include "runtime/abi/program.h"

int sb_main(int argc, char **argv, const SbJob *job);

// The row [begin, end) of the input text is rejected at `site`. Records the row and counts it as
// SB_REJECTED at the site's step; the caller goes on with the next row. Nonzero: stop the unit
// (SB_STAGE_FAULT). Counts of the steps of a limit are the runtime's.
int32_t sb_reject_text(SbTask *task, uint32_t site, int32_t fault, int64_t begin, int64_t end,
                       const char *detail, int64_t detail_len);
// Rejects a row without a text: a file of `files`, or an entry, which raw shows as JSON. `place`:
// of a row of `range` or of an inline table, its number; null after a meeting (docs/rejects.md).
// `entry` null: nothing can be shown.
int32_t sb_reject_row(SbTask *task, uint32_t site, int32_t fault, const SbPlace *place,
                      const SbEntry *entry, const char *detail, int64_t detail_len);
// Rejects a row whose raw is `memory`, a struct of type `row`, as JSON.
int32_t sb_reject_made(SbTask *task, uint32_t site, int32_t fault, const SbPlace *place,
                       const SbType *row, const void *memory, const char *detail,
                       int64_t detail_len);
// Rejects a row of a text or a file that waited at a stage border.
int32_t sb_reject_kept(SbTask *task, uint32_t site, int32_t fault, const SbPlace *place,
                       const char *detail, int64_t detail_len);

// At a border between blocks of rows, when the cursor is stored. Nonzero: the task was cancelled or
// an output reached its quota, and the stage returns SB_STAGE_FULL.
int32_t sb_task_border(SbTask *task);

// The results of SbStage.calls for the input's rows from number `row` on are in task->batch after
// this. Rows that wait must have gone on: the results before these are lost.
void sb_batch_fill(SbTask *task, int64_t row);
// The result of row number `row`, which is among them. `call` is that of the task. A status.
int32_t sb_batch_row(SbCall *call, int64_t row, void *out);

// What kernels give for the input's rows from number `row` on is in task->kernel after this.
// Nonzero: no GPU computes them, and the job must not go on without one.
int32_t sb_kernel_fill(SbTask *task, int64_t row);
// The place of a row of status 0 among those, both counted from the first row of the launch.
int64_t sb_kernel_place(SbTask *task, int64_t at);
// Are so many rows from place `at` of the launch on in it, and all of status 0?
int32_t sb_kernel_clean(const SbTask *task, int64_t at, int64_t rows);
// The numbers from `first` on, for a kernel.
void    sb_kernel_count(char *to, int64_t first, int64_t rows);

// Around a call of foreign code, where call->guard is set: for the row of that identity, by the
// site. A status: of sb_guard_begin a fault if the call is not to be made, of sb_guard_end if it
// took more memory than its step gives. The text of a fault is in call->detail.
int32_t sb_guard_begin(SbCall *call, uint32_t site, uint64_t identity, int32_t pure);
int32_t sb_guard_end(SbCall *call);

// A row looks up a key with this hash in the table of the join task->asked.
void sb_join_ask(SbTask *task, uint64_t hash);
// Lists the right rows of the chain of `first` that may match a left row with these bits, by bound.
// `one`: one match decides. 0: the chain is gone along instead, since it has no index, or they are
// too many, or there is no memory to list them.
int32_t sb_join_list(SbTask *task, uint32_t breaker, const SbEntry *first, const uint64_t *bits,
                     int32_t one);
// The next row of the list, in the order of the chain; in another one where one match decides.
// nullptr: there is none.
const SbEntry *sb_join_listed(SbTask *task, uint32_t breaker);
// Another process is to mark a right row as matched: the byte of its entry at
// SbBreaker.matched_offset, which is 0.
void sb_join_mark(SbTask *task, uint8_t *mark);
// What comes after `entry`, the last of a chain that is cut. The entry lives until the next call
// for this join. nullptr: the chain ends.
const SbEntry *sb_join_more(SbTask *task, uint32_t breaker, const SbEntry *entry);
// The first row of the key of `first`, which the table begins the key with, that has this number or
// a greater one. It lives as long. nullptr: there is none.
const SbEntry *sb_join_row(SbTask *task, uint32_t breaker, const SbEntry *first, int64_t row);
// The place by which a stage finds a match again. The stage goes on inside a row, maybe with
// another table.
int64_t sb_join_place(const SbTask *task, uint32_t breaker, const SbEntry *entry);
// Finds the match of a place. `first` is the first match of the same row. The match lives as long
// as what sb_join_more returns. nullptr: the match could not be read, and the stage is to go on
// with the next row.
const SbEntry *sb_join_go_on(SbTask *task, uint32_t breaker, const SbEntry *first, int64_t place);

// The path of a file of a source.
SbStr sb_source_name(SbTask *task, uint32_t source, uint32_t file);

// The line of the row that begins at `offset` of the input text. Offsets of one unit come
// ascending.
int64_t sb_row_line(SbTask *task, int64_t offset);
// The number of the row at `offset` in its partition, from 0, where a share limits the rejects;
// else 0.
int64_t sb_row_number(SbTask *task, int64_t offset);

// Makes room for `bytes` more in `out`. Nonzero: out of memory.
int32_t sb_out_grow(SbTask *task, SbOut *out, int64_t bytes);
// The next row goes to the file of that key. Nonzero: out of memory.
int32_t sb_out_key(SbTask *task, SbOut *out, const char *key, int64_t len);

// A new, zeroed entry with `hash` and `order` for a key that is not in the table. A full table
// grows first. nullptr: over the memory limit (the task's failure is set).
SbEntry *sb_groups_insert(SbCall *call, SbGroups *groups, uint64_t hash, uint64_t order);
// A deep copy of a nested key or kept column (in place) into the table's memory. `shared`: a key of
// the entry whose text the value is, so that one copy serves both; else null. Returns a status.
int32_t sb_groups_nested(SbGroups *groups, const SbType *type, void *value,
                         const SbKeyStr *shared);
// Fills a key string in an entry of the table from `ptr`. A long text is copied.
int32_t sb_groups_key(SbGroups *groups, SbKeyStr *key, const char *ptr, int64_t len);
// Asks for the entries of `count` rows, whose slots were asked for when the rows came. All is there
// when the rows are added.
void sb_groups_ask(const SbGroups *groups, const void *records, int64_t count,
                   const SbWaiting *waiting);

// A new block of entries for `rows`. Returns the entry's address; the entry is not zeroed. nullptr:
// over the limit.
SbEntry *sb_rows_grow(SbTask *task, SbRows *rows, int64_t entry_bytes);
// A copy of bytes that lives as long as the rows. nullptr: over the limit.
const char *sb_rows_text(SbTask *task, SbRows *rows, const char *ptr, int64_t len);
// A deep copy of a nested value (in place): lists and strings inside are copied. Returns a status.
int32_t sb_rows_nested(SbTask *task, SbRows *rows, const SbType *type, void *value);

#endif
