// Rejects: records of rows that could not be judged, from the task that makes one to the file.
//
//   where                      how it comes there
//   Partition.rejects          sb_reject_text and its like (runtime/task): rejects_add
//     │
//     ▼ take_over (runtime/dispatch)
//     ├─▶ DoubtSlot.rejects    limits keep it back (tell_keep): doubt_slot_add
//     │     ├─▶ Verdict        the limit took its unit: take_slot
//     │     └─▶ freed          the unit is made again, or not wanted: doubt_slot_empty,
//     │                        doubt_unit_free_first
//     ▼
//   Verdict.records            verdict_take; Verdict.failing, if it ends the job
//     ├─▶ on disk              too many: verdict_begin_write, reject_set_write
//     ├─▶ freed                after the record that ends the job: verdict_settle
//     ▼
//   JobRejects.set             conclude (runtime/dispatch); JobRejects.failing_list
//     │
//     ▼ write_records (runtime/main): reject_walk_next
//   the rejects file
//
// A record has one owner at a time: the list in which it stands. rejects_move hands records on,
// rejects_close frees those of a list. Three places make copies, which belong to who made them. A
// commit packs each record (tally_reject). Records on disk are brought into another order
// (reject_set_add). The first record is kept to say why the job fails (judge_limits).
//
//   rejects     a record, its text, shares       verdict        which rows count when a job ends
//   reject_set  records in an order, on disk     verdict_needs  whose rows others depend on
//   reject_pack a record in journals and messages
//
// Called by tasks, the dispatch, limits and resume; runtime/main writes the file.
#ifndef SBC_RUNTIME_ROOM_REJECTS_H
#define SBC_RUNTIME_ROOM_REJECTS_H

#include "runtime/rejects/reject_pack.h"
#include "runtime/rejects/reject_set.h"
#include "runtime/rejects/rejects.h"
#include "runtime/rejects/verdict.h"

#endif
