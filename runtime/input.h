// Input: from paths to the units that tasks work on.
//
//   glob     paths to files                  source       files of a `read`, headers, lines
//   feed     a growing window of a file      unit         a piece of a stage's input
//   batch    rows between two stages         spill_units  rows of a breaker that are on disk
//   spool    rows of an edge that wait on disk   scan_lines   rows that are lines
//   source_pack  files of a source, for another process
//
//   paths ─▶ files ─▶ ranges ─▶ units_take (in order) ─▶ units_prepare (any thread) ─▶ a task
//
// Called by runtime/job, which opens what a stage reads, and by the dispatch, which takes units.
//
// Worked example: all units of a file.
//
//   while (units_take(&units, &unit, &buffer, trouble) == UNIT_TAKEN)
//       if (units_prepare(&units, &unit, &buffer, trouble)) ...   // Whole rows of unit.text.
#ifndef SBC_RUNTIME_ROOM_INPUT_H
#define SBC_RUNTIME_ROOM_INPUT_H

#include "runtime/input/batch.h"
#include "runtime/input/feed.h"
#include "runtime/input/glob.h"
#include "runtime/input/scan_lines.h"
#include "runtime/input/source.h"
#include "runtime/input/source_pack.h"
#include "runtime/input/spill_units.h"
#include "runtime/input/spool.h"
#include "runtime/input/unit.h"

#endif
