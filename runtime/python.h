// Python: functions over batches whose code runs in processes of the user's interpreter.
//
//   job thread                       shared memory              Python process (host.py)
//   sb_python_call ─ arguments ────▶ memfd of arguments  ─────▶ columns ─ function ─┐
//                  ─ request ──────▶ socket                                         │
//   results checked, in place ◀───── memfd of results   ◀─────  result ◀────────────┘
//
// runtime/main opens the room with the job and closes it at its end; generated code calls
// sb_python_call as it calls a batch function in C. A call takes a process that is free, or starts
// one: there are as many processes as calls run at the same time, and no more than threads. Each
// loads all functions of the job. A process that dies costs its batch: stdlib/arrow halves the
// batch of a pure function until the row is found.
//
// Worked example: `extern fn f(x: i64) -> i64 from python "geo:f"` and the rows 1, 2. The memfd of
// arguments gets {2 rows; length 2, no nulls, bytes 64 to 79}. The process calls geo.f(1) and
// geo.f(2), and answers DONE with the same form for its results.
#ifndef SBC_RUNTIME_ROOM_PYTHON_H
#define SBC_RUNTIME_ROOM_PYTHON_H

#include "runtime/python/python.h"

#endif
