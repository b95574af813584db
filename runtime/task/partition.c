#include "runtime/task/partition.h"

#include <stdlib.h>
#include <string.h>

// The next `count` records of `size` bytes after a partition.
static void *take(char **at, size_t count, size_t size) {
    void *room = *at;
    *at += count * size;
    return room;
}

// A partition and its arrays are one piece of memory: those of few rows come by the thousand.
Partition *partition_open(const TaskSetup *setup) {
    enum { FIGURES = 3 };
    static_assert(sizeof(SbOut) % 8 == 0 && sizeof(SbOutState) % 8 == 0);
    size_t terminals = setup->stage->terminal_count;
    size_t counts = sb_figure_count(setup->job);
    size_t each = sizeof(SbOut) + sizeof(SbOutState) + sizeof(SbRows *) + sizeof(Batch *) +
                  sizeof(SbRows *) + FIGURES * sizeof(int64_t) + sizeof(RowSum);
    Partition *partition = calloc(1, sizeof *partition + counts * sizeof *partition->counts +
                                         terminals * each);
    if (!partition) return nullptr;
    char *at = (char *)(partition + 1);
    partition->rejects.memory = setup->memory;
    partition->counts = take(&at, counts, sizeof *partition->counts);
    partition->outs = take(&at, terminals, sizeof *partition->outs);
    partition->out_states = take(&at, terminals, sizeof *partition->out_states);
    partition->batches = take(&at, terminals, sizeof *partition->batches);
    partition->handed = take(&at, terminals, sizeof *partition->handed);
    partition->spare = take(&at, terminals, sizeof *partition->spare);
    partition->rows = take(&at, terminals, sizeof *partition->rows);
    partition->quota = take(&at, terminals, sizeof *partition->quota);
    partition->left = take(&at, terminals, sizeof *partition->left);
    partition->sums = take(&at, terminals, sizeof *partition->sums);
    for (uint32_t t = 0; t < terminals; t++) {
        partition->out_states[t] =
            (SbOutState){.memory = setup->memory, .wanted = setup->partition_bytes};
        partition->outs[t].state = &partition->out_states[t];
    }
    return partition;
}

static void drop_batches(Partition *partition, const TaskSetup *setup) {
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        sb_rows_close(partition->batches[t]);
        if (partition->handed[t]) batch_release(partition->handed[t]);
        partition->batches[t] = nullptr;
        partition->handed[t] = nullptr;
    }
}

void partition_close_spares(Partition *partition, const TaskSetup *setup) {
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        sb_rows_close(partition->batches[t]);
        sb_rows_close(partition->spare[t]);
        partition->batches[t] = partition->spare[t] = nullptr;
    }
}

void partition_close_batches(Partition *partition, const TaskSetup *setup) {
    drop_batches(partition, setup);
    partition_close_spares(partition, setup);
}

void partition_empty_batches(Partition *partition, const TaskSetup *setup) {
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        Batch *batch = partition->handed[t];
        bool others = batch && batch->holders > 1;
        if (!batch || !batch->rows || others || partition->spare[t]) continue;
        partition->spare[t] = batch_empty(batch);
        partition->handed[t] = nullptr;
    }
    drop_batches(partition, setup);
}

static void empty_out(Partition *partition, const TaskSetup *setup, uint32_t t) {
    SbOutState *out = &partition->out_states[t];
    *out = (SbOutState){
        .memory = setup->memory, .wanted = setup->partition_bytes, .first = out->first};
    partition->outs[t] = (SbOut){.state = out};
}

void partition_let_far_go(Partition *partition, const TaskSetup *setup) {
    if (!partition->far) return;
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) empty_out(partition, setup, t);
    far_rows_release(partition->far);
    partition->far = nullptr;
}

void partition_give_up(Partition *partition, const TaskSetup *setup, SbBlockFn *fn, void *arg) {
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        SbOutState *out = &partition->out_states[t];
        if (out->begin) fn(arg, out->begin, out->cap);
        out->first = out->cap;
        empty_out(partition, setup, t);
        Batch *batch = partition->handed[t];
        if (!batch) continue;
        sb_rows_give_up(batch->rows, fn, arg);
        batch->rows = nullptr;
        batch_release(batch);
        partition->handed[t] = nullptr;
    }
}

void partition_close_outs(Partition *partition, const TaskSetup *setup) {
    partition_let_far_go(partition, setup);
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        const SbOutState *out = &partition->out_states[t];
        sb_memory_give_shared(setup->memory, out->begin, out->cap);
        empty_out(partition, setup, t);
    }
}

void partition_trim_outs(Partition *partition, const TaskSetup *setup) {
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        SbOutState *state = &partition->out_states[t];
        int64_t used = state->begin ? partition->outs[t].at - state->begin : 0;
        int64_t cap = used + SB_SLACK > state->wanted ? used + SB_SLACK : state->wanted;
        if (state->cap <= 2 * cap) continue;
        char *begin = sb_memory_resize_shared(state->memory, state->begin, state->cap, cap, used);
        if (!begin) continue;
        state->begin = begin;
        state->cap = cap;
        partition->outs[t].at = begin + used;
        partition->outs[t].end = begin + cap - SB_SLACK;
    }
}

void partition_close(Partition *partition, const TaskSetup *setup) {
    partition_close_batches(partition, setup);
    partition_close_outs(partition, setup);
    rejects_close(&partition->rejects);
    marks_close(partition->marks);
    free(partition);
}

void partition_reset(Partition *partition, const TaskSetup *setup) {
    partition_let_far_go(partition, setup);
    drop_batches(partition, setup);
    memset(partition->counts, 0, sb_figure_count(setup->job) * sizeof *partition->counts);
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        SbOut *out = &partition->outs[t];
        out->at = out->state->begin;
        out->rows = out->head = 0;
    }
    rejects_close(&partition->rejects);
    if (partition->marks) marks_reset(partition->marks);
    partition->status = SB_STAGE_DONE;
    partition->last = partition->stopped = partition->over = false;
    partition->weight = INT64_MAX;
    partition->made = partition->bytes = 0;
    partition->failure = (SbFailure){0};
}
