// Rows that a task of another machine reads: they go there before its ASK, and stay till its LEAVE.
//
//   begins ─▶ room, or no answer is to come ─▶ ROWS, ASK ─▶ answers ─▶ LEAVE
//         └─▶ crowded ◀───────────────── looked at anew ◀────┴──────────┘
//
// Copies are memory of the worker, which has a part for them. What waits to be sent is memory of
// the job: a place has no process here, whose memory it may take. A task that begins waits for
// those only that are at work, which answer whatever others do. It goes once all of these wait
// themselves: for room in a queue, perhaps, that it is to empty. So there may be more copies than
// there is room for, by the rows of one task at a time.
#include "runtime/dispatch/far.h"
#include "runtime/dispatch/lives.h"

enum : int64_t { QUEUED_MAX = 8 << 20 };

static Life *life_of(const Dispatch *d, const Flow *flow) {
    return &d->own->workers->lives[flow->place.i];
}

static bool reads_rows(const Dispatch *d, const Flow *flow) {
    const SbStage *stage = flow->run->stage;
    return lives_is_place(d->own->workers, flow->place) &&
           (stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED);
}

bool far_rows_are_own(const Dispatch *d, const Flow *flow) {
    const Workers *w = d->own->workers;
    const Batch *batch = flow->batches[0];
    if (!batch || !batch->far || flow->loaded[0].entries) return false;
    const Alive *alive = (const Alive *)(const void *)batch->far;
    return alive->node.i == flow->place.i && alive->life == w->lives[flow->place.i].lives;
}

// ---- room for them ------------------------------------------------------------------------------

static bool has_room(const Dispatch *d, const Flow *flow) {
    const Life *life = life_of(d, flow);
    return life->copies + life->copies_most <= life->copies_room &&
           links_queued(d->own->workers->links, life->peer) <= QUEUED_MAX;
}

bool far_rows_begin(Dispatch *d, Flow *flow) {
    if (flow->far_begun || flow->canceled || d->stop || !reads_rows(d, flow)) return true;
    Life *life = life_of(d, flow);
    if (life->readers == 0 || has_room(d, flow)) return true;
    flow->crowded = true;
    flow_queue_push(&life->crowded, flow);
    return false;
}

// All of them are looked at anew, in their order.
static void wake_all(Dispatch *d, Life *life) {
    for (Flow *flow; (flow = flow_queue_pop(&life->crowded));) {
        flow->crowded = false;
        dispatch_queue(d, flow);
    }
}

void far_rows_wake(Dispatch *d, Flow *flow) {
    if (!flow->crowded) return;
    flow->crowded = false;
    flow_queue_remove(&life_of(d, flow)->crowded, flow);
    dispatch_queue(d, flow);
}

void far_rows_answered(Dispatch *d, Flow *flow) {
    if (!flow->reads) return;
    flow->reads = false;
    life_of(d, flow)->readers--;
    wake_all(d, life_of(d, flow));
}

void far_rows_leave(Dispatch *d, Flow *flow) {
    if (flow->copied == 0) return;
    life_of(d, flow)->copies -= flow->copied;
    flow->copied = 0;
    wake_all(d, life_of(d, flow));
}

void far_rows_lose(Dispatch *d, NodeId node) { wake_all(d, &d->own->workers->lives[node.i]); }

// ---- sending ------------------------------------------------------------------------------------

static void send_ranges(Dispatch *d, Flow *flow, RowRanges *ranges) {
    Life *life = life_of(d, flow);
    int64_t bytes = row_pages(ranges->items, ranges->count);
    flow->copied += bytes;
    life->copies += bytes;
    if (life->copies_most < flow->copied) life->copies_most = flow->copied;
    uint32_t range = 0;
    int64_t done = 0;
    for (Text text = {0}; row_ranges_next(ranges, &range, &done, flow->id.i, &text);
         text = (Text){0})
        workers_say(d->own->workers, flow->place, WIRE_ROWS, &text);
}

// What they are may be found out on the other side: here nothing leads out of the arenas.
static int64_t most_of(const Flow *flow) {
    const Batch *batch = flow->batches[0];
    return batch && batch->summed ? batch->sum.bytes : INT64_MAX;
}

// Those of a partition go all at once, so that the worker can compare them with their sum.
typedef struct Span {
    const SbEntry *const *entries;
    int64_t count;
} Span;

static Span what_goes(const Dispatch *d, const Flow *flow, const Ask *ask) {
    const Unit *unit = &flow->unit;
    const Batch *batch = flow->batches[0];
    if (ask->rows == ASK_ON || !ask->entries[0] || far_rows_are_own(d, flow)) return (Span){0};
    if (batch && batch->summed) return (Span){ask->batch, ask->batch ? ask->batch_rows : 0};
    return (Span){ask->entries[0] + unit->begin, unit->end - unit->begin};
}

bool far_send_rows(Dispatch *d, Flow *flow, const Ask *ask) {
    if (!reads_rows(d, flow)) return true;
    bool good = true;
    Span rows = what_goes(d, flow, ask);
    if (rows.count > 0) {
        RowRanges ranges = {.space = workers_space(d->own->workers), .most = most_of(flow)};
        row_ranges_add_rows(&ranges, &d->what->breakers[flow->run->stage->input_index],
                            rows.entries, rows.count);
        good = !ranges.astray;
        row_ranges_sort(&ranges);
        if (good) send_ranges(d, flow, &ranges);
        if (ranges.failed) dispatch_no_memory(d);
        row_ranges_close(&ranges);
    }
    if (!good) return false;
    flow->reads = flow->copied > 0;
    life_of(d, flow)->readers += flow->reads;
    return true;
}
