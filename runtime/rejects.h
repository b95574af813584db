// Rejects: records of rows that could not be judged, from the task that makes one to the file.
//
//   task ─▶ RejectList of its partition ─▶ Verdict (verdict.h) ─▶ RejectSet ─▶ rejects.jsonl
//              kept back by limits until they have judged the row ─┘
//
// A record has one owner at a time: the list of the partition, the slot of a unit in doubt
// (runtime/limits), the verdict, the job's set. rejects_move hands records on. Nobody copies them
// but the journal.
//
//   rejects     a record, its text, shares       verdict        which rows count when a job ends
//   reject_set  records in an order, on disk     verdict_needs  whose rows others depend on
//
// Called by tasks, the dispatch, limits and resume; runtime/main writes the file.
#ifndef SBC_RUNTIME_ROOM_REJECTS_H
#define SBC_RUNTIME_ROOM_REJECTS_H

#include "runtime/rejects/reject_set.h"
#include "runtime/rejects/rejects.h"
#include "runtime/rejects/verdict.h"

#endif
