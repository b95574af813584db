// The batches of a stage that calls a function over batches: its results for the rows at hand.
//
// A batch begins with the row that is wanted and may go on after the end of a partition. Its
// results stay for the next one.
#include "runtime/abi/calls.h"
#include "runtime/task/states.h"
#include "runtime/task/task.h"
#include "stdlib/arrow.h"

#include <string.h>

static void refuse(SbTask *task, int64_t row, int64_t count, int32_t fault, SbStr words) {
    SbCall *call = &task->state->results;
    sb_scratch_rewind(call);
    char *copy = sb_alloc(call, words.len);
    if (copy && words.len > 0) memcpy(copy, words.ptr, (size_t)words.len);
    task->batch = (SbBatchRows){.first = row};
    SbStr kept = {copy, copy ? words.len : 0};
    sb_batch_refuse(call, count, fault, kept, &task->batch);
}

// Code that runs in another process ends no worker.
static SbGuard *guard_of(const SbTask *task) {
    return task->state->setup->stage->calls->about ? nullptr : task->call.guard;
}

static void call_once(SbTask *task, int64_t row, int64_t count, void *made) {
    SbTaskState *state = task->state;
    const void *const *rows = (const void *const *)task->input.entries + row;
    sb_scratch_rewind(&state->results);
    task->batch = (SbBatchRows){.first = row, .state = made};
    if (guard_of(task)) guard_batch_runs(guard_of(task));
    sb_batch_run(&state->results, state->setup->stage->calls, rows, count, &task->batch);
}

// The fault is that of all rows, with words of task->call.
static int32_t call_watched(SbTask *task, int64_t row, int64_t count, void *made) {
    SbGuard *guard = guard_of(task);
    if (guard) guard_batch_begin(guard, row, count, task->state->setup->stage->calls->pure);
    call_once(task, row, count, made);
    return guard ? guard_batch_end(&task->call) : SB_OK;
}

static void fill(SbTask *task, int64_t row, int64_t count, void *made) {
    const SbBatchFn *fn = task->state->setup->stage->calls;
    int32_t fault = SB_OK;
    for (bool more = true; more; count = count / 2) {
        fault = call_watched(task, row, count, made);
        // Fewer rows find room, if nobody minds that they were given before.
        bool lacks = task->batch.no_room || fault != SB_OK;
        more = lacks && count > 1 && (fn->pure || !task->batch.called);
        if (more) sb_scratch_take_denied(&task->state->results);
        else if (fault != SB_OK) refuse(task, row, count, fault, task->call.detail);
    }
}

void sb_batch_fill(SbTask *task, int64_t row) {
    SbTaskState *state = task->state;
    const SbBatchFn *fn = state->setup->stage->calls;
    const void *const *rows = (const void *const *)task->input.entries + row;
    int64_t count = sb_batch_count(fn, rows, task->input.end - row);
    const SbBreaker *edge = &state->setup->job->breakers[state->setup->stage->input_index];
    uint32_t at = edge->identity_offset;
    int32_t fault = guard_of(task) ? guard_batch(&task->call, rows, row, at, &count) : SB_OK;
    if (fault != SB_OK) {
        refuse(task, row, count, fault, task->call.detail);
        return;
    }
    void *made;
    SbStr words;
    sb_scratch_rewind(&state->results);
    task->batch = (SbBatchRows){.first = row};
    if (!states_take(fn, &task->call, &made, &words)) {
        refuse(task, row, count, SB_FAULT_EXTERN_SAID, words);
        return;
    }
    fill(task, row, count, made);
    states_give(fn, made);
}

int32_t sb_batch_row(SbCall *call, int64_t row, void *out) {
    SbTask *task = (SbTask *)(void *)((char *)call - offsetof(SbTask, call));
    const SbBatchRows *batch = &task->batch;
    int64_t i = row - batch->first;
    if (batch->count == 0) return SB_FAULT_TOO_LARGE;  // There was no room for results.
    int32_t status = batch->statuses[i];
    if (status == SB_OK) {
        size_t size = (size_t)sb_base_size(task->state->setup->stage->calls->result);
        memcpy(out, batch->values + (size_t)i * size, size);
    }
    if (status > SB_NULL) call->detail = batch->details[i];
    return status;
}
