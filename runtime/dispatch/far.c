// Flows whose tasks run in workers. All that is decided about them is decided here, as of any other
// flow; the worker has the rows, and makes partitions of them.
//
//   make_partition ─ far_ask ─▶ ASK ─▶ worker ─▶ MADE ─▶ flow_hear ─▶ queue ─▶ far_answered
//
// The task of such a flow in this process has no rows. It holds what the dispatch looks at: whether
// it is canceled, what it asked for, its trouble.
#include "runtime/dispatch/far.h"

#include "runtime/dispatch/corrupt.h"
#include "runtime/dispatch/far_breaker.h"
#include "runtime/dispatch/state.h"

#include <stdlib.h>
#include <string.h>

// ---- asking -------------------------------------------------------------------------------------

static bool finds_start(const Flow *flow, UnitsChain *start) {
    StageRun *run = flow->run;
    uint64_t unit = flow->unit.ordinal;
    if (run->stage->input != SB_INPUT_TEXT || !units_chained(&run->units)) return false;
    bool noted = unit < run->start_count && run->starts[unit].is;
    if (noted) *start = run->starts[unit].start;
    return noted || units_chain_get(&run->units, unit, start);
}

static_assert((int)ASK_TABLES_MAX == NEEDS_MAX && (int)WIRE_SLOTS_MAX == RESOURCES_MAX);

// They are finished, and of the breakers that the stage needs only joins have one.
static void add_tables(const Dispatch *d, const SbStage *stage, Ask *ask) {
    const SbTable *const *tables = d->own->job->breakers.tables;
    for (uint32_t n = 0; n < stage->need_count; n++)
        if (tables[stage->needs[n]]) ask->tables[n] = *tables[stage->needs[n]];
}

static void fill_ask(const Dispatch *d, const Flow *flow, Ask *ask) {
    const StageRun *run = flow->run;
    *ask = (Ask){.task = flow->id.i, .stage = run->index, .rows = flow->far_rows,
                 .splits = !flow->doubt,
                 .set = tell_lane(&d->observers, flow) > 0,
                 .goes_back = !flow->alone && run->setup.goes_back && !flow->filled &&
                              !d->own->spill->failed,
                 .unit = flow->unit,
                 .entries = {flow->unit.entries, flow->unit.right},
                 .asks_from = flow_text_room(flow),
                 .weight = flow->into->weight, .quota = flow->into->quota};
    const CorePlan *plan = &d->plan->plan;
    ask->slots.count = plan->resource_count;
    memcpy(ask->slots.amounts, plan->stages[run->index].demand,
           plan->resource_count * sizeof *ask->slots.amounts);
    add_tables(d, run->stage, ask);
    ask->starts = finds_start(flow, &ask->start);
    corrupt_ask(d, flow, ask);
}

void far_put_trial_ask(Dispatch *d, const Flow *flow, const GuardNote *note, Text *text) {
    int64_t quota[UINT8_MAX + 1];
    Ask ask;
    fill_ask(d, flow, &ask);
    for (uint32_t t = 0; t < flow->run->stage->terminal_count; t++) quota[t] = INT64_MAX;
    if (!ask.starts && note->starts) ask.start = note->start;
    ask.starts |= note->starts;
    ask.rows = ASK_BEGIN;
    ask.goes_back = false;
    ask.asks_from = ask.weight = INT64_MAX;
    ask.quota = quota;
    // As the first attempt took it: nothing of it is read yet.
    if (!flow->input && flow->attempt && flow->attempt->taken) ask.unit = flow->attempt->unit;
    wire_put_ask(text, flow->run->stage, &ask);
}

static Partition *drop_partition(Flow *flow) {
    if (flow->into) stage_spare(flow->run, flow->into);
    return flow->into = nullptr;
}

void far_ask(Dispatch *d, Flow *flow) {
    Text text = {0};
    Ask ask;
    if (!far_rows_begin(d, flow) || !far_fill_begins(d, flow)) return;
    flow->into = flow_partition(d, flow);
    if (!flow->into) {
        dispatch_trouble(d, TROUBLE_MEMORY, d->own->trouble);
        return;
    }
    fill_ask(d, flow, &ask);
    far_tables_send(d, flow);
    if (!far_send_rows(d, flow, &ask)) {
        drop_partition(flow);
        corrupt_fail(d, flow);
        return;
    }
    wire_put_ask(&text, flow->run->stage, &ask);
    workers_show(d->own->workers, flow);
    flow->far_begun = flow->far_asked = true;
    d->own->far_count++;
    workers_say(d->own->workers, flow->place, WIRE_ASK, &text);
}

static void say_number(Dispatch *d, NodeId node, WireKind kind, uint32_t number) {
    Text text = {0};
    pack_number(&text, number);
    workers_say(d->own->workers, node, kind, &text);
}

void far_cancel(Dispatch *d, Flow *flow) {
    far_fill_wake(d, flow);
    far_rows_wake(d, flow);
    if (flow->far_asked) say_number(d, flow->place, WIRE_CANCEL, flow->id.i);
}

void far_leave(Dispatch *d, Flow *flow) {
    // Of a job that stops the worker may still be at it: it ends next, with all that it has.
    bool leaves = flow->far_begun && !flow->far_asked;
    if (leaves) say_number(d, flow->place, WIRE_LEAVE, flow->id.i);
    flow->far_begun = false;
    far_rows_leave(d, flow);
}

void far_close_stage(Dispatch *d, uint32_t stage) {
    Text text = {0};
    if (!d->own->workers) return;
    pack_number(&text, stage);
    workers_say_all(d->own->workers, WIRE_CLOSE, &text);
    sb_text_close(&text);
}

void far_tell_header(Dispatch *d, const Source *source, uint32_t file) {
    Text text = {0};
    if (!d->own->workers) return;
    wire_put_header(&text, source, file);
    workers_say_all(d->own->workers, WIRE_HEADER, &text);
    sb_text_close(&text);
}

void far_tell_filters(Dispatch *d, const StageRun *run) {
    for (uint32_t t = 0; d->own->workers && t < run->stage->terminal_count; t++) {
        uint32_t breaker = run->stage->terminals[t];
        bool is = !(breaker & SB_TERMINAL_SINK) && d->own->job->breakers.filters[breaker];
        if (!is) continue;
        Text text = {0};
        wire_put_filter(&text, breaker, &d->own->job->breakers.filters[breaker]->filter);
        workers_say_near(d->own->workers, WIRE_FILTER, &text);
        sb_text_close(&text);
    }
}

// Is what the worker has answered with to be compared here, and perhaps long?
static bool compares(const Dispatch *d, const Flow *flow) {
    enum : int64_t { SMALL = 64 << 10 };
    return flow->answer && flow->run->compares && d->own->job->ask.options.partition > SMALL;
}

bool far_is_quick(const Dispatch *d, const Flow *flow) {
    StageRun *run = flow->run;
    if (compares(d, flow)) return false;
    bool ready = flow->empty || (flow->cut && stage_is_open(run) && !run->asking &&
                                 (run->filtered || !filters_pay(d->runs, run)) &&
                                 (run->asked || !stage_asks_ahead(run)));
    bool reads = flow->loads || flow->more || flow->again ||
                 d->plan->plan.stages[run->index].kind == STAGE_READER;
    bool compares = flow->answer && run->compares;
    return !workers_is_place(d->own->workers, flow->place) && !flow->doubt && !compares &&
           !verdict_is_full(&d->verdict) && (!flow->begins || (ready && !reads)) && !flow->more;
}

// ---- hearing ------------------------------------------------------------------------------------

// The worker has answered, or never will.
static void end_ask(Dispatch *d, Flow *flow) {
    workers_showed(d->own->workers, flow);
    flow->far_asked = false;
    d->own->far_count--;
    far_rows_answered(d, flow);
}

bool flow_hear(Dispatch *d, NodeId node, Unpack *from) {
    Made made;
    Unpack peek = *from;
    if (!wire_get_made(&peek, &made) || made.task >= d->own->flow_max) return false;
    Flow *flow = d->own->flows[made.task];
    if (!flow || !flow->far_asked || flow->place.i != node.i) return false;
    int64_t len = from->end - from->at;
    flow->answer = malloc((size_t)len);
    if (!flow->answer) {
        dispatch_no_memory(d);
        return true;
    }
    memcpy(flow->answer, from->at, (size_t)len);
    flow->answer_len = len;
    workers_hold(d->own->workers, node, true);
    workers_heard(d->own->workers, flow);
    dispatch_queue(d, flow);
    return true;
}

// The outputs of the partition lie where the worker has made them.
static bool place_rows(Dispatch *d, Flow *flow, const MadeRows *rows, WireBlocks *blocks) {
    Partition *into = flow->into;
    for (uint32_t t = 0; t < flow->run->stage->terminal_count; t++) into->sums[t] = rows[t].sum;
    if (blocks->count == 0) return true;
    into->far = workers_rows(d->own->workers, flow->place, blocks);
    bool good = into->far;
    for (uint32_t t = 0; good && t < flow->run->stage->terminal_count; t++) {
        if (rows[t].entries) {
            Batch *batch = batch_open_far(into->far, rows[t].entries, rows[t].count);
            good = batch;
            if (!batch) break;
            batch->bytes = rows[t].bytes;
            batch->used = rows[t].used;
            batch->sum = rows[t].sum;
            batch->summed = true;
            into->handed[t] = batch;
        } else if (rows[t].begin) {
            into->out_states[t].begin = rows[t].begin;
            into->outs[t].at = rows[t].begin + rows[t].len;
            into->outs[t].rows = rows[t].count;
        }
    }
    if (!good) dispatch_no_memory(d);
    return good;
}

// What a worker that is lost has marked is marked by who makes the rows again.
static bool take_marks(const Dispatch *d, Partition *into) {
    bool good = !into->marks || marks_take(into->marks, workers_space(d->own->workers));
    marks_close(into->marks);
    into->marks = nullptr;
    return good;
}

static bool take_partition(Dispatch *d, Flow *flow, Unpack *from) {
    MadeRows rows[UINT8_MAX + 1] = {0};
    WireBlocks blocks = {0};
    const TaskSetup *setup = &flow->run->setup;
    uint32_t terminals = setup->stage->terminal_count;
    bool good = wire_get_partition(from, flow->into, setup, rows, &blocks) &&
                wire_check(workers_space(d->own->workers), flow->place.i, &blocks, rows,
                           terminals) &&
                workers_own(d->own->workers, flow->place, &blocks);
    bool troubled = good && unpack_number(from) != 0;
    good = good && !from->bad && (!troubled || wire_get_trouble(from, &flow->task->trouble));
    if (!good) workers_distrust(d->own->workers, flow->place, "what it made is not in its memory");
    good = good && place_rows(d, flow, rows, &blocks);
    wire_close_blocks(&blocks);
    flow->into->unit = flow->unit;
    bool holds = !good || (corrupt_takes(d, flow) && take_marks(d, flow->into));
    if (!holds)
        workers_distrust(d->own->workers, flow->place, "rows that it made are corrupt");
    flow->lost |= !good || !holds;
    return good && holds;
}

static void take_unit(Flow *flow, const Unit *numbers) {
    Unit unit = *numbers;
    unit.entries = flow->unit.entries;
    unit.right = flow->unit.right;
    memcpy(unit.slices, flow->unit.slices, sizeof unit.slices);
    flow->unit = unit;
}

// It says that what it was to read is corrupt. If it is not, who says so is not to be trusted.
static void take_corrupt(Dispatch *d, Flow *flow) {
    flow->lost = true;
    flow->corrupt = corrupt_is(d, flow);
    if (!flow->corrupt)
        workers_distrust(d->own->workers, flow->place, "rows that it reads are corrupt there");
}

// No partition came of it.
static void take_refusal(Dispatch *d, Flow *flow, const Made *made, Unpack *from) {
    drop_partition(flow);
    if (!flow->filled) far_fill_ends(d, flow);
    switch (made->kind) {
    case MADE_ASKS:
    case MADE_GIVES_WAY:
        flow->task->buffer.asks = made->asks;
        flow->task->buffer.gives_way = made->kind == MADE_GIVES_WAY;
        flow_wants_text(flow);
        break;
    case MADE_BACK:
        flow->asked = flow->alone = true;
        flow->need = schedule_ledger(d->schedule, flow->place)->common + 1;
        flow->far_rows = ASK_ON;
        break;
    case MADE_TROUBLE:
        if (wire_get_trouble(from, &flow->task->trouble))
            dispatch_trouble(d, TROUBLE_MEMORY, &flow->task->trouble);
        else
            workers_distrust(d->own->workers, flow->place, "its trouble is none that there is");
        break;
    case MADE_CORRUPT: take_corrupt(d, flow); break;
    case MADE_PARTITION: break;
    }
}

Partition *far_take(Dispatch *d, Flow *flow, int64_t *busy) {
    Unpack from = {flow->answer, flow->answer + flow->answer_len, false};
    Made made = {0};
    char *bytes = flow->answer;
    flow->answer = nullptr;
    trouble_clear(&flow->task->trouble);
    bool good = wire_get_made(&from, &made);
    if (good && made.prepared) take_unit(flow, &made.unit);
    *busy = made.busy;
    Partition *partition = nullptr;
    if (made.kind != MADE_PARTITION) {
        take_refusal(d, flow, &made, &from);
    } else if (take_partition(d, flow, &from)) {
        partition = flow->into;
        flow->into = nullptr;
        flow->made += partition->made;
        flow->far_rows = ASK_ON;
        flow->filled = flow->fills;
        tell_made(&d->observers, flow, partition, flow->far_thread);
        workers_made(d->own->workers, flow->place, made.memory);
    } else {
        drop_partition(flow);
    }
    free(bytes);
    end_ask(d, flow);
    // Nothing of it has begun there. Who asks next may be another worker, or nobody.
    if (made.kind == MADE_ASKS || made.kind == MADE_GIVES_WAY) far_leave(d, flow);
    return partition;
}

// ---- a worker is lost ---------------------------------------------------------------------------

// Of a worker of another machine nobody knows what ended it. What ends one after the other ends the
// job.
static void count_loss(Dispatch *d, const Flow *flow) {
    Attempt *attempt = flow->attempt;
    if (!attempt || !workers_is_place(d->own->workers, flow->place)) return;
    if (++attempt->losses <= d->own->job->ask.options.worker_restarts || d->stop) return;
    SbStr label = flow->run->stage->label;
    trouble_set(d->own->trouble, TROUBLE_WORKERS_LOST, "%u workers that joined were lost at one "
                "task of '%.*s'", attempt->losses, (int)label.len, label.ptr);
    dispatch_stop(d);
}

void flow_lose(Dispatch *d, NodeId node) {
    // Nobody asks it to hand over what it has.
    far_fills_lose(d, node);
    far_rows_lose(d, node);
    for (uint32_t i = 0; i < d->own->flow_max; i++) {
        Flow *flow = d->own->flows[i];
        if (!flow || !flow->run || flow->place.i != node.i || node.i == 0) continue;
        if (flow->far_asked) count_loss(d, flow);
        if (flow->far_asked) end_ask(d, flow);
        drop_partition(flow);
        free(flow->answer);
        flow->answer = nullptr;
        flow->far_begun = false;
        flow->lost = true;
        flow_queue_remove(&d->own->queue, flow);
        flow_queue_remove(&d->own->quick, flow);
        flow_end(d, flow);
    }
}

bool flow_chain(Dispatch *d, StageRun *run, uint64_t ordinal, UnitsChain start) {
    uint64_t room = run->start_count ? run->start_count : 64;
    while (room <= ordinal) room *= 2;
    if (room > run->start_count) {
        UnitStart *starts = realloc(run->starts, room * sizeof *starts);
        if (!starts) return dispatch_no_memory(d), true;
        memset(starts + run->start_count, 0, (room - run->start_count) * sizeof *starts);
        run->starts = starts;
        run->start_count = room;
    }
    run->starts[ordinal] = (UnitStart){.is = true, .start = start};
    units_chain_set(&run->units, ordinal, start.begin, start.lines);
    return true;
}
