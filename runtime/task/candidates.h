// Candidates: the right rows that may match a left row, where the table of a join has an index by
// its bounds (join_ranges.h).
//
//   left row ─ sb_join_list ─▶ the index: rows that pass all bounds ─▶ in the order of the chain
//            ─ sb_join_listed ─▶ the next one, which the stage judges
//
// So matches come as they do along the chain. A list of more than an eighth of the chain is none:
// then to go along the chain costs little more. Where one match decides (semi, anti) the order
// means nothing, and rows are listed a few at a time.
#ifndef SBC_RUNTIME_CANDIDATES_H
#define SBC_RUNTIME_CANDIDATES_H

#include "runtime/breakers.h"

typedef struct SbTaskState SbTaskState;

// Of one join.
typedef struct Candidates {
    SbRangeSearch search;
    SbSortItem   *items;      // Room for as many again lies after them.
    int64_t       room;
    int64_t       at, count;  // The next one; as many are listed.
    bool          few;        // Others may follow those that are listed.
} Candidates;

// The task begins with a unit: long lists go.
void candidates_begin(SbTaskState *state);
void candidates_close(SbTaskState *state);
// After it was listed: goes on with the row after `entry`, if rows of the join are listed.
void candidates_pass(SbTaskState *state, uint32_t breaker, const SbEntry *entry);

#endif
