// Corrupt: rows that are not what was made.
//
//   MADE ─▶ what this process is to read is compared with its sums ─ differs ─▶ maker lost
//   ASK ─▶ the worker compares ─▶ CORRUPT ─▶ this process looks, too ─ differs ─▶ fail
//                                                                 └─ agrees ─▶ worker lost
//   a spool is to be written, rows are to be sent ─ differs, or leads nowhere ─▶ fail
//   fail: the schedule has the partition made again, and who made it is lost
//
// Rows cross processes with the sum that their maker has told (runtime/rows/row_sum.h). Each
// process compares before it reads what another one has made, once for each partition. So no
// address that another process wrote is followed before that.
#include "runtime/dispatch/corrupt.h"

#include "runtime/dispatch/far.h"
#include "runtime/dispatch/lives.h"
#include "runtime/dispatch/state.h"

// ---- who reads ----------------------------------------------------------------------------------

static bool is_here(const Dispatch *d, uint32_t stage) {
    return bits_have(&schedule_shape(d->schedule)->home, stage);
}

// Does a stage of this process, or a sink, read what comes along the edge?
static bool is_read_here(const Dispatch *d, EdgeId edge) {
    return is_here(d, d->plan->plan.edges[edge.i].to.i);
}

// Impure functions may answer otherwise when they are asked again, and so may all after them.
static bool may_vary(const Dispatch *d, uint32_t stage) {
    const CoreStage *is = &d->plan->plan.stages[stage];
    bool varies = d->what->stages[stage].impure;
    for (uint8_t i = 0; i < is->input_count; i++)
        varies |= d->runs[d->plan->plan.edges[is->inputs[i].i].from.i].varies;
    return varies;
}

void corrupt_open(Dispatch *d) {
    if (d->plan->plan.node_kinds < 2) return;
    for (uint32_t s = 0; s < d->what->stage_count; s++) {
        const CoreStage *stage = &d->plan->plan.stages[s];
        StageRun *run = &d->runs[s];
        for (uint8_t o = 0; o < stage->output_count; o++) {
            run->sums |= !is_read_here(d, stage->outputs[o]);
            run->compares |= is_read_here(d, stage->outputs[o]);
        }
        run->varies = may_vary(d, s);
    }
}

// ---- sums ---------------------------------------------------------------------------------------

static bool batch_holds(const Dispatch *d, const RowForm *form, const Batch *batch,
                        const SbEntry *const *entries) {
    return !batch->summed || row_sum_holds(batch->sum, form, workers_space(d->own->workers),
                                           entries, batch->count);
}

static bool bytes_hold(const Partition *made, uint32_t t) {
    const SbOut *out = &made->outs[t];
    int64_t len = out->state->begin ? out->at - out->state->begin : 0;
    return row_sum_same(row_sum_bytes(out->state->begin, len), made->sums[t]);
}

static bool holds(const Dispatch *d, const Partition *made, const CoreStage *stage) {
    bool good = true;
    for (uint8_t o = 0; o < stage->output_count && good; o++) {
        uint32_t t = d->plan->terminals[stage->outputs[o].i];
        const Batch *batch = made->handed[t];
        if (!is_read_here(d, stage->outputs[o])) continue;
        good = batch ? batch_holds(d, &made->run->forms[t], batch, batch->entries)
                     : bytes_hold(made, t);
    }
    return good;
}

bool corrupt_takes(Dispatch *d, const Flow *flow) {
    const CoreStage *stage = &d->plan->plan.stages[flow->run->index];
    pthread_mutex_unlock(&d->lock);
    bool good = holds(d, flow->into, stage);
    pthread_mutex_lock(&d->lock);
    return good;
}

// Two attempts at the same rows say the same. Of what may vary the rows are only counted.
uint64_t corrupt_checksum(const Partition *made) {
    const StageRun *run = made->run;
    uint64_t sum = 0;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        uint64_t is = run->varies ? (uint64_t)made->rows[t] : made->sums[t].sum;
        sum = checksum_next(sum, &is, sizeof is);
    }
    return sum;
}

// ---- what workers compare -----------------------------------------------------------------------

void corrupt_ask(const Dispatch *d, const Flow *flow, Ask *ask) {
    const Batch *batch = flow->batches[0];
    bool first = flow->at[0] == flow->unit.end - flow->unit.begin;
    if (!batch || !batch->summed || !first || ask->rows == ASK_ON) return;
    // What a test writes to rows of a worker is found out by that worker, too.
    if (far_rows_are_own(d, flow) && !failpoint_any_flips()) return;
    ask->batch = flow_entries(flow, 0);
    ask->batch_rows = batch->count;
    ask->sum = batch->sum;
}

bool corrupt_is(const Dispatch *d, const Flow *flow) {
    const StageRun *run = flow->run;
    const Batch *batch = flow->batches[0];
    return batch && !batch_holds(d, &run->forms[run->stage->terminal_count], batch,
                                 flow_entries(flow, 0));
}

// ---- what follows -------------------------------------------------------------------------------

// The worker that made the rows, if it still lives the life in which it did; 0: it does not.
static NodeId maker_of(const Dispatch *d, const LivePartition *live) {
    const FarRows *far = live->made ? live->made->far : nullptr;
    if (!far) return (NodeId){0};
    const Alive *alive = (const Alive *)(const void *)far;
    const Workers *w = d->own->workers;
    bool same = alive->life == w->lives[alive->node.i].lives && w->lives[alive->node.i].up;
    return same ? alive->node : (NodeId){0};
}

// Else nobody could make the rows again.
static bool may_lose(Dispatch *d, const LivePartition *live) {
    SbStr label = live->run->stage->label;
    if (again_can(d, live)) return true;
    trouble_set(d->own->trouble, TROUBLE_CORRUPT,
                "rows of '%.*s' are corrupt, and come of what can be read only once",
                (int)label.len, label.ptr);
    dispatch_stop(d);
    return false;
}

static void lose_part(Dispatch *d, const LivePartition *live) {
    dispatch_tell(d, (Event){.kind = EVENT_PART_LOST, .part = live->part,
                             .data = (uintptr_t)live});
}

void corrupt_blame(Dispatch *d, NodeId maker) {
    if (maker.i > 0)
        workers_distrust(d->own->workers, maker, "rows that it made are corrupt");
}

// Rows that become corrupt again and again, with nobody to blame, end the job.
static bool count_fault(Dispatch *d, const Flow *flow, NodeId maker) {
    Attempt *attempt = flow->attempt;
    SbStr label = flow->input->run->stage->label;
    if (maker.i > 0 || !attempt) return true;
    if (++attempt->losses <= d->own->job->ask.options.worker_restarts) return true;
    trouble_set(d->own->trouble, TROUBLE_CORRUPT,
                "rows of '%.*s' were corrupt %u times, one after the other", (int)label.len,
                label.ptr, attempt->losses);
    dispatch_stop(d);
    return false;
}

void corrupt_fail(Dispatch *d, Flow *flow) {
    const LivePartition *live = flow->input;
    NodeId maker = maker_of(d, live);
    TaskId task = flow->id;
    bool good = may_lose(d, live) && count_fault(d, flow, maker);
    flow->lost = true;
    flow_end(d, flow);
    if (!good) return;
    lose_part(d, live);
    dispatch_tell(d, (Event){.kind = EVENT_FAILED, .task = task});
    corrupt_blame(d, maker);
}

// ---- spools -------------------------------------------------------------------------------------

bool corrupt_spools(const Dispatch *d, const LivePartition *live) {
    const SbStage *stage = live->run->stage;
    bool good = true;
    for (uint32_t t = 0; live->made->far && t < stage->terminal_count && good; t++)
        if (live->batches[t])
            good = batch_holds(d, &live->run->forms[t], live->batches[t],
                               live->batches[t]->entries);
    return !good;
}

void corrupt_spooled(Dispatch *d, const LivePartition *live) {
    NodeId maker = maker_of(d, live);
    if (!may_lose(d, live)) return;
    lose_part(d, live);
    corrupt_blame(d, maker);
}
