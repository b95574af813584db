// Report: what a job says, as text: growing buffers, tables, sizes, faults, troubles, the log.
//
//   text     a growing buffer                table    cells in columns
//   words    sizes, and the nearest name     fault    what a bad value means (abi/faults.def)
//   trouble  why a job ends early            log      lines on standard error, or JSON
//
// Called by every room that has something to say. It writes to standard error only (log.h).
//
// Worked example: a function that fails says why, and its caller ends the job with that.
//
//   if (!file) return trouble_set(trouble, TROUBLE_OPEN, "cannot open '%s'", path);
#ifndef SBC_RUNTIME_ROOM_REPORT_H
#define SBC_RUNTIME_ROOM_REPORT_H

#include "runtime/report/fault.h"
#include "runtime/report/log.h"
#include "runtime/report/table.h"
#include "runtime/report/text.h"
#include "runtime/report/trouble.h"
#include "runtime/report/words.h"

#endif
