// Sinks: partitions come in their order; bytes are given to the sink one after the other, and
// written by several threads at once.
#include "runtime/dispatch/state.h"

#include <stdlib.h>
#include <string.h>

// The bytes that the partition has for the sink; nullptr: none.
static const SbOut *out_of(const Flow *flow) {
    const Partition *input = flow->input->made;
    const SbStage *maker = input->run->stage;
    for (uint32_t t = 0; t < maker->terminal_count; t++) {
        if (maker->terminals[t] == (SB_TERMINAL_SINK | flow->sink)) return &input->outs[t];
    }
    return nullptr;
}

// A sink of a job with --first-rows is done when it has as many.
static bool take_rows(Sink *sink, int64_t most, SinkRows rows, ExtentList *extents,
                      Trouble *trouble) {
    int64_t left = most == INT64_MAX ? most : most - sink->rows;
    if (rows.count > left) {
        rows.count = left;
        rows.bytes.len = sink->what->writer->rows_end(sink->what, rows.bytes, left);
    }
    bool good = sink_take(sink, rows, extents, trouble);
    if (sink->rows == most) sink->done = true;
    return good;
}

// The rows after the head at `at`, and where the next head is; 0: nowhere.
static int64_t rows_of_key(const SbOut *out, int64_t at, SinkRows *rows) {
    const char *begin = out->state->begin;
    SbOutHead head, next = {.rows = out->rows};
    memcpy(&head, begin + at, sizeof head);
    if (head.next > 0) memcpy(&next, begin + head.next, sizeof next);
    const char *key = begin + at + sizeof head, *from = key + head.key_len,
               *end = head.next > 0 ? begin + head.next : out->at;
    *rows = (SinkRows){{from, end - from}, next.rows - head.rows, {key, head.key_len}};
    return head.next;
}

static bool take(Sink *sinks, const Options *options, const Flow *flow, ExtentList *extents,
                 Trouble *trouble) {
    Sink *sink = &sinks[flow->sink];
    const SbOut *out = out_of(flow);
    int64_t most = options->first_rows, at = 0;
    if (!out || !out->state->begin || sink->done) return true;
    SinkRows rows = {{out->state->begin, out->at - out->state->begin}, out->rows, {0}};
    if (!sink->front) return take_rows(sink, most, rows, extents, trouble);
    bool good = true;
    if (rows.bytes.len == 0) return true;
    do {
        at = rows_of_key(out, at, &rows);
        good = rows.count == 0 || take_rows(sink, most, rows, extents, trouble);
    } while (good && at > 0 && !sink->done);
    return good;
}

static void end(Dispatch *d, Flow *flow, bool leaves, int64_t busy) {
    TaskId id = flow->id;
    bool canceled = flow->canceled;
    if (leaves && !canceled) dispatch_tell(d, (Event){.kind = EVENT_ENOUGH, .task = id});
    d->own->flows[id.i] = nullptr;
    flow->next = d->own->unused;
    d->own->unused = flow;
    dispatch_tell(d, (Event){.kind = EVENT_DONE, .task = id, .busy = busy});
}

static Flow *next_partition(Dispatch *d) {
    for (uint32_t s = 0; s < d->what->sink_count; s++) {
        if (d->own->sinks[s].first && !d->own->taking[s]) return flow_queue_pop(&d->own->sinks[s]);
    }
    return nullptr;
}

// Others may take the next partition meanwhile.
static bool write(Dispatch *d, uint32_t sink, ExtentList *extents, Trouble *trouble) {
    bool good = trouble->kind == TROUBLE_NONE;
    if (d->own->sinks[sink].first) pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
    for (size_t i = 0; good && i < extents->count; i++)
        good = sink_write(&extents->items[i], trouble);
    pthread_mutex_lock(&d->lock);
    return good;
}

bool sink_work(Dispatch *d, uint32_t thread) {
    Flow *flow = d->stop ? nullptr : next_partition(d);
    if (!flow) return false;
    uint32_t s = flow->sink;
    Sink *sink = &d->own->job->io.sinks[s];
    ExtentList extents = {0};
    Trouble trouble;
    trouble_clear(&trouble);
    bool canceled = flow->canceled;
    bool lost = flow_is_behind_cut(d, d->what->stage_count + s, flow->input->run->index);
    int64_t begun = d->now, before = sink->rows;
    d->own->taking[s] = true;
    tell_begin(&d->observers, thread, WORK_WRITE, flow->input->run->index);
    tell_from(&d->observers, thread, 0, flow->input->from);
    tell_show_stage(&d->observers, flow->input->run->index);
    if (lost) tell_lost(&d->observers, flow);
    else tell_taking(&d->observers, flow);
    pthread_mutex_unlock(&d->lock);
    bool good = canceled || lost ||
                take(d->own->job->io.sinks, &d->own->job->ask.options, flow, &extents, &trouble);
    pthread_mutex_lock(&d->lock);
    bool done = sink->done;
    if (!canceled) tell_took(&d->observers, flow, sink->rows - before, done);
    d->own->taking[s] = false;
    if (extents.count > 0) good = write(d, s, &extents, &trouble);
    free(extents.items);
    dispatch_clock(d);
    tell_done(&d->observers, thread);
    tell_written(&d->observers, flow->input, s);
    if (!good) dispatch_trouble(d, TROUBLE_WRITE, &trouble);
    bool leaves = d->plan->plan.stages[d->what->stage_count + s].limit && done;
    end(d, flow, leaves, d->now - begun);
    return true;
}
