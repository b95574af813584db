// What the dispatch tells the watch (dispatch/observers.def).
#include "runtime/observe/sample.h"
#include "runtime/observe/watch.h"

// What the stage does, or waits for.
static WatchState state_of(const Watch *watch, uint32_t s, const StageFigures *figures) {
    const Dispatch *d = watch->dispatch;
    bool root = stage_is_root(&d->plan->plan.stages[s]);
    bool writes = watch->stages[s].writing > 0;
    StageId id = {(uint16_t)s};
    if (schedule_is_over(d->schedule, id)) return writes ? WATCH_BUSY : WATCH_DONE;
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

// ---- partitions ---------------------------------------------------------------------------------

static void add_unwritten(Watch *watch, LivePartition *live, int64_t bytes) {
    live->unwritten += bytes;
    watch_unwritten(watch, live->run->index, bytes);
}

// Sinks are to have what the partition holds for them.
static void handed(void *self, LivePartition *live) {
    for (uint32_t t = 0; t < live->run->stage->terminal_count; t++)
        add_unwritten(self, live, sink_bytes(live, t));
}

static void written(void *self, LivePartition *live, uint32_t sink) {
    for (uint32_t t = 0; t < live->run->stage->terminal_count; t++)
        if (live->run->stage->terminals[t] == (SB_TERMINAL_SINK | sink))
            add_unwritten(self, live, -sink_bytes(live, t));
}

static void freed(void *self, LivePartition *live) { add_unwritten(self, live, -live->unwritten); }

static void made(void *self, const Flow *flow, Partition *partition, uint32_t thread) {
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
    partition->from = watch_made(self, thread, &made);
    for (uint32_t t = 0; t < run->stage->terminal_count; t++)
        if (partition->handed[t]) partition->handed[t]->from = partition->from;
}

static void rejected(void *self, const RejectList *list) {
    if (list->count == 0) return;
    const Reject *last = &list->items[list->count - 1];
    watch_reject(self, list->weight, (SbStr){last->message, last->message_len},
                 (SbStr){last->raw, last->raw_len});
}

// ---- stages -------------------------------------------------------------------------------------

static void show_stage(void *self, uint32_t s) {
    Watch *watch = self;
    StageFigures figures = schedule_figures(watch->dispatch->schedule, (StageId){(uint16_t)s});
    watch_queue(watch, s, figures.waiting_bytes);
    watch_state(watch, s, state_of(watch, s, &figures), watch->dispatch->now);
}

static void show(void *self) {
    const Watch *watch = self;
    for (uint32_t s = 0; s < watch->stage_count; s++) show_stage(self, s);
}

static void stop(void *self) {
    Watch *watch = self;
    watch->dispatch = nullptr;
    watch_stop(watch);
}

// ---- threads ------------------------------------------------------------------------------------

static bool open(void *self, Dispatch *d) {
    ((Watch *)self)->dispatch = d;
    return true;
}

static void thread(void *self, uint32_t number, bool begins) {
    samples_thread(((const Watch *)self)->samples, number, begins);
}

static void begin(void *self, uint32_t number, Work work, uint32_t stage) {
    watch_begin(self, number, work, stage, ((const Watch *)self)->dispatch->now);
}

static void turn(void *self, uint32_t number, Work work) { watch_turn(self, number, work); }

static void from(void *self, uint32_t number, int side, MadeBy by) {
    watch_from(self, number, side, by);
}

static void done(void *self, uint32_t number) {
    watch_end(self, number, ((const Watch *)self)->dispatch->now);
}

static void running(void *self, Flow *flow, uint32_t number) {
    flow->task->live = &((Watch *)self)->threads[number].live;
}

Observer watch_observer(Watch *watch, struct Samples *samples) {
    static const ObserverCalls calls = {
        .open = open, .thread = thread, .begin = begin, .turn = turn, .from = from, .done = done,
        .running = running, .made = made, .rejected = rejected, .handed = handed,
        .written = written, .freed = freed, .show = show, .show_stage = show_stage, .stop = stop,
    };
    watch->samples = samples;
    return (Observer){&calls, watch};
}
