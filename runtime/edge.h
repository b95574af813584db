// Edge: rows on their way from the stages that make them to the stages that read them.
//
//   producers (by rank)          readers (each at a place of its own)
//   stage 0 ─▶ lane 0: ▢ ▢ ▢ ─┐
//   stage 3 ─▶ lane 1: ▢ ▢    ├─▶ lane 0, then lane 1, ... ─▶ stage 5, stage 6
//
// A lane takes the batches of one producer, in its order. A reader takes whole batches, lane after
// lane; of a limit it sees only the rows between skip and limit. A batch leaves its lane when all
// readers have taken it, and its memory goes when the last unit that reads it lets go.
//
// Rows are numbered within their lane. A producer asks two questions about its lane: how many of
// its rows are wanted in all (edge_need), and how many have been judged to the end by every reader
// (edge_consumed). Every function here needs the engine's lock.
#ifndef SBC_RUNTIME_EDGE_H
#define SBC_RUNTIME_EDGE_H

#include "runtime/breaker.h"
#include "runtime/watch.h"

typedef struct Batch {
    SbRows  *rows;       // nullptr: they are on disk.
    const SbEntry *const *entries;
    int64_t  count, bytes;
    uint32_t holders;    // Lanes and units.
    WatchOrigin from;
} Batch;

typedef struct LaneItem {
    Batch  *batch;
    int64_t first;       // The number of its first row.
} LaneItem;

typedef struct Lane {
    uint32_t  stage;
    LaneItem *items;     // A ring: item number n, counted from the first offered, at n % cap.
    uint32_t  count, cap;
    uint64_t  dropped;   // The number of the first that is there.
    int64_t   rows;      // Offered so far.
    bool      ended;     // Its producer makes no more.
} Lane;

typedef struct EdgeReader {
    uint32_t stage;
    uint32_t lane;       // Where it takes from: item (counted from the lane's first), row in it.
    uint64_t item;
    int64_t  at;
    uint32_t pending;    // Slices taken and not consumed to their end.
    uint32_t done_lane;  // Rows of done_lane before `done`, and all lanes before, are consumed.
    int64_t  done;
    bool     gives_up;   // Of what it took it will judge no more: it is about to stop.
    bool     stopped;    // It takes no more: what it did not consume is not wanted...
    bool     all;        // ...but it wanted all that it may see...
    bool     frozen;     // ...or nobody knows yet: it failed, but perhaps not as the first.
} EdgeReader;

typedef struct Edge {
    Lane       *lanes;   // By rank of the producers.
    uint32_t    lane_count;
    EdgeReader *readers;
    uint32_t    reader_count;
    bool        limited;
    int64_t     skip;
    int64_t     limit;   // Rows that a limit takes, the skipped ones included; INT64_MAX.
    int64_t     bytes;   // Of the batches in the lanes.
    bool        keeps;   // Its producers do not pause, however many bytes it holds.
} Edge;

// A piece of a batch, for one unit.
typedef struct EdgeSlice {
    Batch   *batch;
    const SbEntry *const *entries;  // Of its first row.
    uint32_t lane;
    int64_t  first, count;          // Row numbers of the lane.
} EdgeSlice;

// A batch of `rows`, which it owns from now on; nullptr: no memory.
Batch *batch_open(SbRows *rows);
void   batch_release(Batch *batch);
// The rows of a batch that nobody else holds, empty, for the next one.
SbRows *batch_empty(Batch *batch);

bool edge_open(Edge *edge, uint32_t lanes, uint32_t readers);
void edge_close(Edge *edge);

// The next rows of a lane. False: no memory.
bool edge_offer(Edge *edge, uint32_t lane, Batch *batch);
void edge_end(Edge *edge, uint32_t lane);
// How many of the lane's rows are wanted in all; INT64_MAX while nothing says so.
int64_t edge_need(const Edge *edge, uint32_t lane);
// Rows of the lane that every reader has consumed or will never want.
int64_t edge_consumed(const Edge *edge, uint32_t lane);

// Rows that the reader can take at once; skipped ones are passed over.
int64_t edge_ready(Edge *edge, uint32_t reader);
// Nothing more will come for the reader.
bool edge_over(Edge *edge, uint32_t reader);
// Takes `count` rows, at most those that are ready. The slice holds its batch.
EdgeSlice edge_take(Edge *edge, uint32_t reader, int64_t count);
// The first `count` rows of a slice are judged to the end; `whole`: the reader is done with it.
// Slices come in the order in which they were taken.
void edge_consume(Edge *edge, uint32_t reader, const EdgeSlice *slice, int64_t count, bool whole);
// The reader gives a slice up, and with it all that it has not consumed.
void edge_untake(Edge *edge, uint32_t reader, const EdgeSlice *slice);
// The reader takes no more. `whole`: it wanted all that it may see; else what it consumed.
void edge_stop(Edge *edge, uint32_t reader, bool whole);
// The reader failed and takes no more. Until it is certain that its fault ends the job (edge_stop)
// or does not (edge_forget), nothing behind what it consumed is final.
void edge_freeze(Edge *edge, uint32_t reader);
// The reader takes no more, and what it took was never wanted: the job failed before it.
void edge_forget(Edge *edge, uint32_t reader);
// Rows that were wanted, of all lanes: what the step behind the edge took. Known at the end.
int64_t edge_rows(const Edge *edge);

#endif
