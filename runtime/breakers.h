// Breakers: where rows are kept until all of them are there: groups, sorts, right sides of joins.
//
//   breaker     the life of one: open, filled by threads, finished, read or probed
//   groups      the hash table of one thread      join_table   the slots of a right side
//   spill_*     the same three, on disk           far         parts that another process filled
//   join_ranges  right rows by the bounds of a join
//   window_*     rows of a window on disk: a walk along a piece of them, threads that write
//   first_rows  sorts of which only some rows are wanted
//
// Called by tasks (through generated code) while stages run, by the dispatch when a breaker is to
// be finished, and by who reads its rows.
//
// Worked example: a sort.
//
//   state = sb_breaker_open(what, lanes, memory, spill);
//   SbRows *part = sb_breaker_part(state, lane);      // A task fills it.
//   sb_breaker_finish(state, parallel);               // Once, when all its makers are done.
//   entries = sb_breaker_entries(state, &count);      // nullptr: they are on disk.
#ifndef SBC_RUNTIME_ROOM_BREAKERS_H
#define SBC_RUNTIME_ROOM_BREAKERS_H

#include "runtime/breakers/breaker.h"
#include "runtime/breakers/far.h"
#include "runtime/breakers/first_rows.h"
#include "runtime/breakers/groups.h"
#include "runtime/breakers/join_ranges.h"
#include "runtime/breakers/join_table.h"
#include "runtime/breakers/spill_first.h"
#include "runtime/breakers/spill_groups.h"
#include "runtime/breakers/spill_join.h"
#include "runtime/breakers/spill_sort.h"
#include "runtime/breakers/spill_window.h"
#include "runtime/breakers/window.h"
#include "runtime/breakers/window_crew.h"
#include "runtime/breakers/window_walk.h"

#endif
