// What the watch is told of a dispatch; the lock is held.
#include "runtime/dispatch/state.h"

// What the stage does, or waits for.
static WatchState state_of(const Dispatch *d, uint32_t s, const StageFigures *figures) {
    bool root = stage_is_root(&d->plan->plan.stages[s]);
    bool writes = d->job->watch->stages[s].writing > 0;
    if (schedule_over(d->schedule) >> s & 1) return writes ? WATCH_BUSY : WATCH_DONE;
    if (figures->running > 0 || writes) return WATCH_BUSY;
    if (figures->blocked) return WATCH_NO_MEMORY;
    if (figures->ready > 0 || figures->paused > 0) return WATCH_NO_SLOT;
    if (figures->launched == 0) return WATCH_PENDING;
    return root ? WATCH_NO_ROOM : WATCH_NO_INPUT;
}

static int64_t sink_bytes(const LivePartition *live, uint32_t t) {
    const SbOut *out = &live->made->outs[t];
    bool sink = live->run->stage->terminals[t] & SB_TERMINAL_SINK;
    return sink && out->state && out->state->begin ? out->at - out->state->begin : 0;
}

static void add_unwritten(Dispatch *d, LivePartition *live, int64_t bytes) {
    live->unwritten += bytes;
    watch_unwritten(d->job->watch, live->run->index, bytes);
}

void watch_hand_over(Dispatch *d, LivePartition *live) {
    for (uint32_t t = 0; t < live->run->stage->terminal_count; t++)
        add_unwritten(d, live, sink_bytes(live, t));
}

void watch_wrote(Dispatch *d, LivePartition *live, uint32_t sink) {
    for (uint32_t t = 0; t < live->run->stage->terminal_count; t++)
        if (live->run->stage->terminals[t] == (SB_TERMINAL_SINK | sink))
            add_unwritten(d, live, -sink_bytes(live, t));
}

void watch_freed(Dispatch *d, LivePartition *live) { add_unwritten(d, live, -live->unwritten); }

void dispatch_watch_stage(Dispatch *d, uint32_t s) {
    StageFigures figures = schedule_figures(d->schedule, (StageId){(uint16_t)s});
    watch_queue(d->job->watch, s, figures.waiting_bytes);
    watch_state(d->job->watch, s, state_of(d, s, &figures), d->now);
}

void dispatch_watch(Dispatch *d) {
    for (uint32_t s = 0; s < d->job->what->stage_count; s++) dispatch_watch_stage(d, s);
}

void flow_watch(const Flow *flow, Partition *partition, uint32_t thread) {
    const StageRun *run = flow->run;
    WatchMade made = {.rows_in = run->setup.source ? partition->made
                                                   : partition->end - partition->begin,
                      .bytes_out = partition->used};
    if (run->stage->input == SB_INPUT_TEXT) made.bytes_in = partition->end - partition->begin;
    for (int side = 0; side < 2 && partition->last; side++) {
        const Batch *batch = flow->batches[side];
        if (!batch || batch->count == 0) continue;
        double share = (double)flow->unit.end / (double)batch->count;
        made.bytes_in += (int64_t)((double)batch->used * share);
    }
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) made.rows_out += partition->rows[t];
    partition->from = watch_made(run->job->watch, thread, &made);
    for (uint32_t t = 0; t < run->stage->terminal_count; t++)
        if (partition->handed[t]) partition->handed[t]->from = partition->from;
}
