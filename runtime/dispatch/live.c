// Partitions that others read, from the hand-over to their end.
#include "runtime/dispatch/state.h"

#include <stdlib.h>
#include <string.h>

// What was made of the same rows, in the same place, has the same number, in each attempt.
static uint64_t serial_of(const Flow *flow, uint32_t stage) {
    bool root = !flow->input || flow->other;
    uint64_t recipe[] = {root ? flow->number : flow->input->serial, stage, flow->node,
                         flow->partitions};
    return checksum_next(0, recipe, sizeof recipe);
}

LivePartition *live_open(Dispatch *d, const Flow *flow, Partition *made) {
    uint32_t terminals = made->run->stage->terminal_count;
    LivePartition *live = malloc(sizeof *live + terminals * sizeof *live->batches);
    if (!live) {
        dispatch_no_memory(d);
        return nullptr;
    }
    *live = (LivePartition){.next = d->own->alive, .run = made->run, .made = made,
                            .root = flow->root, .root_unit = flow->root_unit,
                            .node = flow->node, .from = made->from,
                            .serial = serial_of(flow, made->run->index)};
    memcpy(live->batches, made->handed, terminals * sizeof *live->batches);
    if (d->own->alive) d->own->alive->prior = live;
    d->own->alive = live;
    tell_handed(&d->observers, live);
    return live;
}

// A stage that is over fills no more.
static void spare_made(const Dispatch *d, LivePartition *live) {
    StageRun *run = live->run;
    if (bits_have(&d->own->closed, run->index)) partition_close(live->made, &run->setup);
    else stage_spare(run, live->made);
    live->made = nullptr;
}

void live_stored(const Dispatch *d, LivePartition *live) {
    memset(live->made->handed, 0, live->run->stage->terminal_count * sizeof *live->batches);
    spare_made(d, live);
}

// Batches of its own, and what they have on disk.
static void close_batches(Dispatch *d, LivePartition *live) {
    for (uint32_t t = 0; t < live->run->stage->terminal_count; t++) {
        Batch *batch = live->batches[t];
        if (!batch) continue;
        if (batch->run) spill_forget(d->own->spill, batch->run);
        free(batch->run);
        batch->run = nullptr;
        if (!live->made) batch_release(batch);
    }
}

void live_free(Dispatch *d, LivePartition *live) {
    tell_freed(&d->observers, live);
    close_batches(d, live);
    if (live->prior) live->prior->next = live->next;
    else d->own->alive = live->next;
    if (live->next) live->next->prior = live->prior;
    if (live->made) spare_made(d, live);
    free(live);
}
