// Verdict: which rows the job judged, when a fault ends it before all are.
//
// Every rejected row has a place among all rows of the job. It is the rank of the root of its flow,
// its origin there, the stage, and the number in the task. Sources rank by their numbers, then
// readers of breakers and zips as sinks ask for them. The job ends at the first record that fails
// or passes the limit of rejects. What stands after that record is not wanted (EVENT_BOUND). What
// stands before it goes on to its end, and may find an earlier one. So the records up to the end
// are the same for any number of threads and any size of partitions.
#ifndef SBC_RUNTIME_VERDICT_H
#define SBC_RUNTIME_VERDICT_H

#include "runtime/rejects/reject_set.h"
#include "runtime/rejects/verdict_needs.h"

typedef struct Verdict {
    const SbJob *job;
    uint32_t    *ranks;     // By stage, of roots: their order.
    VerdictNeeds needs;
    int64_t      rows_max;  // Of rejects; -1: no limit.
    RejectSet    records;   // All so far, without those that fail.
    RejectList   failing;   // The first record that fails, or none.
    Bits         lost;      // Stages that depend on rows after one that failed.
    int64_t      weight;    // Of the records, without those that are known to stand after the end.
    int64_t      judged;    // The weight when the end was looked for last.
    bool         over;      // The records pass the limit.
    Reject       end;       // The record that passes the limit. Its texts are gone.
    bool         writing;   // Records are on their way to disk.
    int64_t     *bounds;    // By stage, of roots: units from there on are not wanted; INT64_MAX.
} Verdict;

// How many records stay in memory, and where the others go, says `set`.
bool verdict_open(Verdict *verdict, const SbJob *job, int64_t rows_max, const RejectSetSetup *set);
void verdict_close(Verdict *verdict);

// Where a stage judged rows: those of flows that begin at `root`, by the `way`-th of the ways into
// the stage. `began` is the way into the stage where a step began that goes on in this one.
typedef struct VerdictPlace {
    uint32_t stage, root;
    uint16_t way, began;
} VerdictPlace;

static inline void verdict_place(Reject *record, VerdictPlace place) {
    record->stage = place.stage;
    record->way = record->goes_on ? place.began : place.way;
}

// Takes the records of a partition. False: no memory.
bool verdict_take(Verdict *verdict, RejectList *list, VerdictPlace place);
// Takes records that an earlier run told of, with their places.
bool verdict_restore(Verdict *verdict, RejectList *list, uint32_t root);

// Should records go to disk?
bool verdict_is_full(const Verdict *verdict);
// Takes the records out that are to be written, while nobody else does that; they count on.
RejectList verdict_begin_write(Verdict *verdict);
// The same records are written (reject_set_write).
void verdict_end_write(Verdict *verdict);

// Is there a record that ends the job?
bool verdict_ends(const Verdict *verdict);
// A task of the stage has passed the limit of rejects by itself. Must it judge the rest of its rows
// all the same, since rows that stand before them depend on them?
bool verdict_goes_on(const Verdict *verdict, uint32_t stage, uint32_t root);
// What the stage looks up, or reads, lacks rows since one has failed: what it would find means
// nothing.
static inline bool verdict_is_lost(const Verdict *verdict, uint32_t stage) {
    return bits_have(&verdict->lost, stage);
}
// A bound of a root that is due and was not told before. False: there is none. The bound of readers
// is due once the stages that fill their breaker are over (in `over`). Earlier, what feeds
// them alone would be given up with them, and its records may come first. The bound of any root is
// due once no earlier rows depend on all of its own (verdict_needs.h).
bool verdict_bound(Verdict *verdict, const Bits *over, uint32_t *root, int64_t *unit);
// The unit of its root in which the row of a record began.
uint64_t verdict_unit(const Reject *record);

// At the end: drops what stands after the record that ends the job. True: there is one.
bool verdict_settle(Verdict *verdict);
// Of records that are on disk: do they stand before it, or are they it?
bool verdict_keeps(const Verdict *verdict, const Reject *record);

#endif
