// Spools: partitions that wait on disk until the stage that reads them has its turn.
#include "runtime/dispatch/corrupt.h"
#include "runtime/dispatch/state.h"
#include "runtime/job.h"

#include <stdlib.h>
#include <string.h>

// ---- to disk --------------------------------------------------------------------------------

void spool_spill(Dispatch *d, const Action *action) {
    d->own->spools[d->own->spool_count++] =
        (Spooling){.live = (LivePartition *)(uintptr_t)action->data, .part = action->part};
}

// Writes the rows for all edges. `most`: bytes that those of one edge take when they come back.
static bool write_rows(const SbJob *what, Spill *spill, LivePartition *live, uint32_t thread,
                       int64_t *most) {
    const SbStage *stage = live->run->stage;
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        Batch *batch = live->batches[t];
        if (!batch) continue;
        const SbBreaker *edge = &what->breakers[stage->terminals[t]];
        batch->run = calloc(1, sizeof *batch->run);
        if (!batch->run || !spool_write(spill, thread, edge, batch, batch->run))
            return false;
        if (spool_bytes(batch->run) > *most) *most = spool_bytes(batch->run);
    }
    return true;
}

// Sinks have had their bytes: a partition goes to disk when only stages with spools wait for it.
static void let_go(LivePartition *live) {
    const StageRun *run = live->run;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        Batch *batch = live->batches[t];
        if (!batch || batch->holders > 1) continue;  // A piece in doubt has them.
        sb_rows_close(batch->rows);
        if (batch->far) far_rows_release(batch->far);
        batch->far = nullptr;
        batch->rows = nullptr;
        batch->entries = nullptr;
    }
    partition_close_spares(live->made, &run->setup);
    partition_close_outs(live->made, &run->setup);
}

bool spool_work(Dispatch *d, uint32_t thread) {
    if (d->own->spool_count == 0) return false;
    Job *job = d->own->job;
    Spooling next = d->own->spools[0];
    LivePartition *live = next.live;
    int64_t bytes = 0;
    memmove(d->own->spools, d->own->spools + 1, --d->own->spool_count * sizeof *d->own->spools);
    tell_begin(&d->observers, thread, WORK_WRITE, live->run->index);
    tell_from(&d->observers, thread, 0, live->from);
    pthread_mutex_unlock(&d->lock);
    pthread_mutex_lock(&job->breakers.fills[thread]);
    bool corrupt = corrupt_spools(d, live);
    bool good = !corrupt && write_rows(job->ask.what, &job->machine.spill, live, thread, &bytes);
    pthread_mutex_unlock(&job->breakers.fills[thread]);
    // Who holds rows of a worker is known under the lock.
    bool far = live->made->far;
    if (good && !far) let_go(live);
    pthread_mutex_lock(&d->lock);
    if (good && far) let_go(live);
    dispatch_clock(d);
    tell_done(&d->observers, thread);
    if (corrupt) {
        corrupt_spooled(d, live);
    } else if (good) {
        live_stored(d, live);
        dispatch_tell(d, (Event){.kind = EVENT_SPILLED, .part = next.part, .bytes = bytes});
    } else {
        if (!spill_trouble(&job->machine.spill, &job->trouble))
            trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory to spill");
        dispatch_stop(d);
    }
    return true;
}

// ---- and back -------------------------------------------------------------------------------

static bool load_side(Flow *flow, int side, Trouble *trouble) {
    Job *job = flow->run->job;
    const SbStage *stage = flow->run->stage;
    const Batch *batch = flow->batches[side];
    uint32_t edge = side == 0 ? stage->input_index : stage->right_index;
    if (!batch || !batch->run) return true;
    SpoolPlace from = {&job->machine.spill, &job->ask.what->breakers[edge], batch->run,
                       &flow->run->relief};
    return spool_read(&flow->loaded[side], &from, trouble);
}

bool flow_load(Dispatch *d, Flow *flow) {
    Trouble trouble;
    trouble_clear(&trouble);
    if (!flow->loads) return true;
    pthread_mutex_unlock(&d->lock);
    bool good = load_side(flow, 0, &trouble) && load_side(flow, 1, &trouble);
    pthread_mutex_lock(&d->lock);
    if (good) flow_point(flow);
    else dispatch_trouble(d, TROUBLE_SPILL_READ, &trouble);
    return good;
}

// ---- room -----------------------------------------------------------------------------------

void spool_drop_spares(Dispatch *d) {
    for (uint32_t s = 0; s < d->what->stage_count; s++) {
        StageRun *run = &d->runs[s];
        for (Partition *spare = run->spare; spare; spare = spare->next) {
            partition_close_spares(spare, &run->setup);
            partition_close_outs(spare, &run->setup);
        }
        for (SbTaskState *task = run->spare_tasks; task; task = task->next)
            unit_buffer_close(&task->buffer);
    }
}

// What stages keep to use it again is not the ledger's: it goes when partitions fill the memory.
void spool_make_room(Dispatch *d) {
    enum { SHARES = 4 };
    const SbMemory *memory = d->own->memory;
    bool full = memory->used > memory->limit - memory->limit / SHARES;
    if (full && !d->own->roomy) spool_drop_spares(d);
    d->own->roomy = full;
}

bool spool_open(Dispatch *d) {
    Job *job = d->own->job;
    bool keeps = flow_job_keeps(&job->ask, job->breakers.edges);
    if (schedule_spools(d->schedule) == 0 && !keeps) return true;
    bool good = true;
    for (uint32_t i = 0; good && i < job->machine.pool.parallel.threads; i++)
        good = spill_ready(&job->machine.spill, i);
    return good || !spill_trouble(&job->machine.spill, &job->trouble);
}
