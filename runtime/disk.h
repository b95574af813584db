// Disk: rows that the memory does not hold, as runs in the spill folder.
//
//   folder   the folder of a job, its lock       spill    files of threads, blocks, runs, readers
//   entries  an entry with what it points to     index    where the blocks of a run begin
//   merge    runs become one sequence            range    a cut of it, read by one thread
//   table    groups on disk by ranges of hashes
//
// Called by breakers, by edges that wait (runtime/input), by records of rejects, by resume.
//
// Worked example: a run is written and read back.
//
//   spill_begin(spill, thread);                       // False: spill->failed says why.
//   spill_row(spill, thread, bytes); spill_add(spill, thread, row, bytes);
//   spill_end(spill, thread, &run);
//   ...
//   while (spill_read(&reader)) ...                   // A block at a time, checked by its XXH64.
//
// Circle: index, spill: a run takes its index with it, and an index that grows lies in a file.
#ifndef SBC_RUNTIME_ROOM_DISK_H
#define SBC_RUNTIME_ROOM_DISK_H

#include "runtime/disk/entries.h"
#include "runtime/disk/index.h"
#include "runtime/disk/merge.h"
#include "runtime/disk/range.h"
#include "runtime/disk/spill.h"
#include "runtime/disk/table.h"

#endif
