#include "runtime/dispatch/far_breaker.h"

#include "runtime/dispatch/corrupt.h"
#include "runtime/dispatch/state.h"
#include "runtime/report.h"

#include <stdlib.h>

// What tasks of a stage do on a node.
struct FarFlush {
    uint32_t  filling;  // Those within a unit.
    bool      due;      // The worker is to hand over once there are none.
    bool      asked;    // It has been told to.
    bool      writes;   // What it hands over is to be on disk.
    FlowQueue held;     // Those that are to begin a unit after that.
};

// ---- opening and closing ------------------------------------------------------------------------

static bool fills_far(const Dispatch *d, uint32_t stage) {
    const CoreStage *is = &d->plan->plan.stages[stage];
    return is->fill_count > 0 && !is->home && d->plan->plan.node_kinds > 1;
}

static FarFlush *flush_of(const Dispatch *d, uint32_t stage, NodeId node) {
    return &d->own->flushes[stage * plan_node_count(&d->plan->plan) + node.i];
}

static uint32_t sets_of(const Dispatch *d) { return d->own->job->ask.options.resume ? 2 : 1; }

// As many for all workers: some may have fewer threads.
static uint32_t far_lanes(const Dispatch *d) {
    return sets_of(d) * wire_lanes(d->own->job->machine.workers.threads);
}

bool far_fills_open(Dispatch *d) {
    const WorkerPlan *plan = &d->own->job->machine.workers;
    bool any = false;
    for (uint32_t s = 0; s < d->what->stage_count; s++) any |= fills_far(d, s);
    if (!any) return true;
    size_t count = (size_t)d->what->stage_count * plan_node_count(&d->plan->plan);
    d->own->flushes = calloc(count, sizeof *d->own->flushes);
    return (d->own->flushes &&
            spill_expect(d->own->spill, plan->count * far_lanes(d))) ||
           trouble_no_memory(d->own->trouble, "for breakers");
}

void far_fills_close(Dispatch *d) { free(d->own->flushes); }

void far_fills_welcome(const Dispatch *d, NodeId node, Welcome *welcome) {
    const Spill *spill = d->own->spill;
    welcome->spill = spill->path && d->own->flushes ? spill->path : "";
    if (!d->own->flushes) return;
    welcome->lanes = far_lanes(d);
    welcome->sets = sets_of(d);
    welcome->first_file = spill->threads + (node.i - 1u) * welcome->lanes;
}

// ---- where stages run ---------------------------------------------------------------------------

// Foreign code that this process runs cannot be ended alone.
void far_warn_untimed(Job *job, const SbStage *stage) {
    if (stage->timeout > 0)
        log_warn(&job->log, TROUBLE_UNTIMED, "'%.*s' runs without its time limit",
                 (int)stage->label.len, stage->label.ptr);
}

bool far_bring_home(Dispatch *d, BreakerId id, bool far) {
    const SbBreakerState *breaker = d->own->breakers[d->plan->breakers[id.i]];
    bool home = breaker && (sb_breaker_join(breaker) || !far);
    for (uint32_t s = 0; home && s < d->what->stage_count; s++) {
        CoreStage *stage = &d->plan->plan.stages[s];
        bool looks = false;
        for (uint8_t n = 0; n < stage->need_count; n++) looks |= stage->needs[n].i == id.i;
        if (!looks || stage->home) continue;
        stage->home = true;
        if (d->own->workers) far_warn_untimed(d->own->job, d->runs[s].stage);
    }
    return home;
}

// ---- who fills ----------------------------------------------------------------------------------

bool far_fill_begins(Dispatch *d, Flow *flow) {
    if (!fills_far(d, flow->run->index) || flow->fills) return true;
    FarFlush *flush = flush_of(d, flow->run->index, flow->place);
    flow->fills = !flush->due;
    flow->held = flush->due;
    flush->filling += flow->fills;
    if (flow->held) flow_queue_push(&flush->held, flow);
    return flow->fills;
}

static void ask(Dispatch *d, uint32_t stage, NodeId node) {
    FarFlush *flush = flush_of(d, stage, node);
    if (!flush->due || flush->asked || flush->filling > 0) return;
    Text text = {0};
    Flush say = {.stage = stage, .last = d->runs[stage].exhausted, .writes = flush->writes};
    wire_put_flush(&text, &say);
    flush->asked = true;
    d->own->far_count++;
    workers_say(d->own->workers, node, WIRE_FLUSH, &text);
}

void far_fill_ends(Dispatch *d, Flow *flow) {
    if (!flow->fills) return;
    flow->fills = false;
    flush_of(d, flow->run->index, flow->place)->filling--;
    ask(d, flow->run->index, flow->place);
}

void far_fill_wake(Dispatch *d, Flow *flow) {
    if (!flow->held) return;
    flow->held = false;
    flow_queue_remove(&flush_of(d, flow->run->index, flow->place)->held, flow);
    dispatch_queue(d, flow);
}

// ---- handing over -------------------------------------------------------------------------------

static void say_flushed(Dispatch *d, StageId stage, NodeId node) {
    dispatch_tell(d, (Event){.kind = EVENT_FLUSHED, .stage = stage, .node = node});
}

// What is in breakers of the first node goes with the job.
void far_flush(Dispatch *d, const Action *action) {
    if (action->node.i == 0 || !fills_far(d, action->stage.i)) {
        say_flushed(d, action->stage, action->node);
        return;
    }
    flush_of(d, action->stage.i, action->node)->due = true;
    ask(d, action->stage.i, action->node);
}

// Nothing is asked of the node any more.
static void end_flush(Dispatch *d, FarFlush *flush) {
    d->own->far_count -= flush->asked;
    flush->due = flush->asked = flush->writes = false;
    for (Flow *flow; (flow = flow_queue_pop(&flush->held));) {
        flow->held = false;
        dispatch_queue(d, flow);
    }
}

static bool add_run(Dispatch *d, SbBreakerState *breaker, const FlushedRun *run) {
    Spill *spill = d->own->spill;
    SpillRun is = run->run;
    if (!spill_find_file(spill, is.file)) return false;
    SpillIndex *index = run->mark_count > 0 ? spill_index_open(spill) : nullptr;
    for (int64_t i = 0; index && i < run->mark_count && !index->lost; i++)
        spill_index_add(index, &run->marks[i]);
    bool keeps = index && !index->lost;
    if (keeps) index->every *= run->every;
    else spill_index_close(index);
    is.index = keeps ? index : nullptr;
    return sb_breaker_add_run(breaker, &is);
}

// The entries are written to as they are put together. Of very many, those who do that find pages.
static void populate(const WireBlocks *blocks) {
    enum : int64_t { MOST = 256 << 20 };
    int64_t bytes = 0;
    for (uint32_t i = 0; i < blocks->count && bytes < MOST; i++) {
        arena_populate(blocks->items[i].at, blocks->items[i].bytes);
        bytes += blocks->items[i].bytes;
    }
}

static bool add_parts(Dispatch *d, NodeId node, Flushed *flushed) {
    const SbStage *stage = d->runs[flushed->stage].stage;
    FarRows *rows = nullptr;
    bool good = true;
    if (flushed->blocks.count > 0) {
        populate(&flushed->blocks);
        rows = workers_rows(d->own->workers, node, &flushed->blocks);
        good = rows;
    }
    for (uint32_t i = 0; good && i < flushed->part_count; i++) {
        FlushedPart *part = &flushed->parts[i];
        SbBreakerState *breaker = d->own->breakers[stage->terminals[part->terminal]];
        // Nobody needs it any more, unless it is there.
        if (breaker) good = sb_breaker_take_far(breaker, part->set, &part->part, rows);
    }
    if (rows) far_rows_release(rows);
    return good;
}

static bool add_runs(Dispatch *d, const Flushed *flushed) {
    const SbStage *stage = d->runs[flushed->stage].stage;
    bool good = true;
    for (uint32_t i = 0; good && i < flushed->run_count; i++) {
        const FlushedRun *run = &flushed->runs[i];
        SbBreakerState *breaker = d->own->breakers[stage->terminals[run->terminal]];
        if (breaker) good = add_run(d, breaker, run);
    }
    return good;
}

static void count_left_out(Dispatch *d, const Flushed *flushed) {
    const SbStage *stage = d->runs[flushed->stage].stage;
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        if (flushed->left_out[t] > 0)
            d->own->job->breakers.left_out[stage->terminals[t]] += flushed->left_out[t];
}

static void take(Dispatch *d, NodeId node, Flushed *flushed) {
    if (flushed->trouble.kind != TROUBLE_NONE) {
        dispatch_trouble(d, TROUBLE_MEMORY, &flushed->trouble);
        return;
    }
    if (add_parts(d, node, flushed) && add_runs(d, flushed)) {
        count_left_out(d, flushed);
        return;
    }
    if (!spill_trouble(d->own->spill, d->own->trouble)) dispatch_no_memory(d);
    dispatch_stop(d);
}

bool far_hear_flushed(Dispatch *d, NodeId node, Unpack *from) {
    Flushed flushed;
    bool good = wire_get_flushed(from, &flushed) && d->own->flushes &&
                wire_check_flushed(workers_space(d->own->workers), node.i, d->what, &flushed) &&
                flush_of(d, flushed.stage, node)->asked &&
                workers_own(d->own->workers, node, &flushed.blocks);
    bool corrupt = good && flushed.corrupt;
    if (good && !corrupt) take(d, node, &flushed);
    StageId stage = {(uint16_t)flushed.stage};
    wire_close_flushed(&flushed);
    if (corrupt) corrupt_blame(d, node);
    if (!good || corrupt || d->stop) return good;
    end_flush(d, flush_of(d, stage.i, node));
    say_flushed(d, stage, node);
    tell_flushed(&d->observers, stage.i);
    return true;
}

// ---- commits ------------------------------------------------------------------------------------

void dispatch_flush(Dispatch *d, uint32_t stage) {
    if (!d->own->flushes || !fills_far(d, stage)) return;
    for (uint32_t n = 1; n < plan_node_count(&d->plan->plan); n++)
        flush_of(d, stage, (NodeId){(uint16_t)n})->writes = true;
    dispatch_tell(d, (Event){.kind = EVENT_FLUSH, .stage = {(uint16_t)stage}});
}

bool dispatch_is_safe(const Dispatch *d, uint32_t stage, uint32_t root, uint64_t unit) {
    if (!fills_far(d, stage)) return true;
    return schedule_is_safe(d->schedule, (StageId){(uint16_t)stage}, (StageId){(uint16_t)root},
                            unit < UINT32_MAX ? (uint32_t)unit : UINT32_MAX);
}

bool dispatch_set_files(const Dispatch *d, uint32_t set, uint32_t index, uint32_t *from,
                        uint32_t *to) {
    uint32_t workers = d->own->flushes ? d->own->job->machine.workers.count : 0;
    uint32_t lanes = index > 0 ? far_lanes(d) : d->own->job->breakers.lanes;
    uint32_t first = index > 0 ? d->own->spill->threads + (index - 1) * lanes : 0;
    *from = first + set * (lanes / 2);
    *to = *from + lanes / 2;
    return index <= workers;
}

void far_fills_lose(Dispatch *d, NodeId node) {
    for (uint32_t s = 0; d->own->flushes && s < d->what->stage_count; s++)
        end_flush(d, flush_of(d, s, node));
}
