// What the dispatch tells limits, and asks them (dispatch/observers.def).
#include "runtime/limits/state.h"

#include <stdlib.h>

Limits *limits_new(Job *job) {
    Limits *limits = calloc(1, sizeof *limits);
    if (!limits) return nullptr;
    limits->what = job->ask.what;
    limits->options = &job->ask.options;
    limits->sinks = job->io.sinks;
    limits->edges = job->breakers.edges;
    limits->fills = job->breakers.fills;
    limits->spill = &job->machine.spill;
    limits->memory = &job->machine.memory;
    limits->trouble = &job->trouble;
    FlowParts of = flow_parts(job);
    doubt_open_keep(limits, memory_plan_ledger(&of), job->breakers.lanes);
    return limits;
}

void limits_free(Limits *limits) { free(limits); }

bool limits_count_taken(const Limits *limits, uint32_t edge) { return limits->by_taken[edge]; }

// ---- the life of a job --------------------------------------------------------------------------

static bool open(void *self, Dispatch *d) {
    Limits *limits = self;
    limits->d = d;
    doubt_open(limits);
    return true;
}

static void start(void *self) { doubt_start(self); }

static void conclude(void *self) { doubt_conclude(self); }

static void close(void *self) { doubt_close(self); }

static void settle(void *self) { doubt_settle(self); }

static bool work_last(void *self, uint32_t thread) { return replay_work(self, thread); }

static uint32_t pending(void *self) { return ((const Limits *)self)->due_count; }

static bool uses_stage(void *self, uint32_t stage) { return doubt_holds(self, stage); }

static bool counts_taken(void *self, uint32_t edge) { return limits_count_taken(self, edge); }

// ---- tasks --------------------------------------------------------------------------------------

static bool launched(void *self, Flow *flow) { return doubt_launch(self, flow); }

static void taken(void *self, Flow *flow) { doubt_take(self, flow); }

static int64_t quota(void *self, const Flow *flow, uint32_t terminal) {
    return doubt_quota(self, flow, terminal);
}

static void whole(void *self, Flow *flow, uint32_t thread) { doubt_put_away(self, flow, thread); }

// Of a flow that belongs to no unit in doubt nothing is wanted any more.
static uint32_t keep(void *self, Flow *flow, Partition *partition) {
    const Limits *limits = self;
    if (!doubt_leads(limits, flow->run->index)) return KEEP_NOT;
    return !flow->doubt || doubt_keep(self, flow, partition) ? KEEP_ALL : KEEP_NO_MEMORY;
}

static uint32_t keep_fault(void *self, uint32_t zip, uint32_t piece, RejectList *list) {
    if (!doubt_leads(self, zip)) return KEEP_NOT;
    return doubt_fault(self, zip, piece, list) ? KEEP_ALL : KEEP_NO_MEMORY;
}

static bool unreadable(void *self, const Flow *flow, const Trouble *trouble) {
    return doubt_unreadable(self, flow, trouble);
}

static void leaves(void *self, Flow *flow) { doubt_leave(self, flow); }

static void dropped(void *self, const FlowMore *more) {
    (void)self;
    doubt_give_back(more);
}

static void took(void *self, const Flow *flow, int64_t rows, bool done) {
    doubt_sink(self, flow, rows, done);
}

Observer limits_observer(Limits *limits) {
    static const ObserverCalls calls = {
        .open = open, .start = start, .conclude = conclude, .close = close, .settle = settle,
        .work_last = work_last, .pending = pending, .uses_stage = uses_stage,
        .counts_taken = counts_taken, .launched = launched, .taken = taken, .quota = quota,
        .whole = whole, .keep = keep, .keep_fault = keep_fault,
        .unreadable = unreadable, .leaves = leaves, .dropped = dropped, .took = took,
    };
    return (Observer){&calls, limits};
}
