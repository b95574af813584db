// Rows: entries that are kept in memory, and how they come into order.
//
//   rows     entries of one size with their texts, in the order in which they came
//   runs     entries of several threads become one list
//   sort     entries into order by their keys and their order key, on all threads
//   sort_key    the keys of a row as words         sort_items  runs of rows, on one thread
//   batches  with (batch = N): rows that a stage takes together
//   far_rows rows that another process made
//   row_sum  a checksum of rows, wherever they lie
//
// Called by breakers, by tasks that fill edges, and by runtime/disk, which writes rows.
//
// Worked example: three rows.
//
//   SbRows rows;
//   sb_rows_init(&rows, memory, sizeof(Entry));
//   for (int i = 0; i < 3; i++) ((Entry *)sb_rows_add(&rows))->x = i;   // nullptr: no memory.
//   sb_rows_fini(&rows);
#ifndef SBC_RUNTIME_ROOM_ROWS_H
#define SBC_RUNTIME_ROOM_ROWS_H

#include "runtime/rows/batches.h"
#include "runtime/rows/far_rows.h"
#include "runtime/rows/row_sum.h"
#include "runtime/rows/rows.h"
#include "runtime/rows/runs.h"
#include "runtime/rows/sort.h"
#include "runtime/rows/sort_items.h"

#endif
