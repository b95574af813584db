// The rows of a stage that a GPU computes: columns out of entries or of a source, a launch, columns
// back.
//
// Columns lie in the memory of a slot (runtime/device/gpu.h). A task has one from its first launch
// to its end.
#include "runtime/abi/calls.h"
#include "runtime/task/kernel_columns.h"
#include "runtime/task/task.h"

#include <time.h>

// Generated code goes along the columns of a source by blocks (COLUMN_ROWS of its compiler):
// launches end where a block does.
enum : int64_t { FEW_ROWS = 64, BLOCK_ROWS = 1024 };

// ---- launches -----------------------------------------------------------------------------------

void kernel_end(SbTaskState *state) {
    if (state->launch) gpu_give(state->setup->gpu, state->launch);
    state->launch = nullptr;
    state->task.kernel = (SbKernelRows){0};
    state->launched.at = state->launched.count = 0;
}

bool kernel_takes_more(const TaskSetup *setup) {
    const SbKernels *kernels = setup->stage->kernels;
    return setup->gpu && kernels->rows > 1 && !kernels->lay && !kernels->approx &&
           !kernels->groups_bytes;
}

bool kernel_goes_on(const SbTaskState *state) {
    return state->launched.at < state->launched.count;
}

void kernel_next(SbTaskState *state) {
    const Unit *unit = &state->unit;
    const KernelPiece *piece = &state->launched.items[state->launched.at];
    if (!kernel_goes_on(state) || piece->entries != unit->entries || piece->begin != unit->begin) {
        kernel_end(state);
        return;
    }
    state->task.kernel.first = unit->begin - piece->offset;
    state->launched.at++;
}

// Rows of a launch that fills groups are all counted with it, so that it is made once.
bool kernel_is_awaited(const SbTaskState *state) {
    const SbKernels *kernels = state->setup->stage->kernels;
    return kernels && kernels->approx && !kernels->groups_bytes;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static uint32_t stage_of(const TaskSetup *setup) {
    return (uint32_t)(setup->stage - setup->job->stages);
}

// Entries of this input, and of those after it.
static void take_columns(SbTaskState *state, int64_t row, int64_t rows) {
    const SbKernels *kernels = state->setup->stage->kernels;
    const SbInput *input = &state->task.input;
    int64_t at = least(rows, input->end - row);
    kernel_take_columns(kernels, (const void *const *)input->entries + row, 0, at, state->launch);
    state->launched.at = state->launched.count = 0;
    for (uint32_t i = state->ahead.at; i < state->ahead.count && at < rows; i++) {
        KernelPiece piece = state->ahead.items[i];
        int64_t count = least(rows - at, piece.end - piece.begin);
        kernel_take_columns(kernels, (const void *const *)piece.entries + piece.begin, at, count,
                            state->launch);
        piece.offset = at;
        state->launched.items[state->launched.count++] = piece;
        at += count;
    }
}

static GpuResult launch_rows(SbTask *task, int64_t row, int64_t rows) {
    SbTaskState *state = task->state;
    const TaskSetup *setup = state->setup;
    if (!state->launch) state->launch = gpu_take(setup->gpu);
    if (!state->launch) return gpu_lost(setup->gpu) ? GPU_LOST : GPU_BUSY;
    GpuLaunch *launch = state->launch;
    const SbKernels *kernels = setup->stage->kernels;
    gpu_place(launch, stage_of(setup), rows);
    if (kernels->lay) kernels->lay(task, row, rows, launch->inputs);
    else take_columns(state, row, rows);
    GpuResult result = gpu_run(launch, setup->params);
    if (result != GPU_DONE) state->launched.count = 0;
    if (result == GPU_DONE)
        task->kernel = (SbKernelRows){.first = row, .count = rows, .status = launch->status,
                                      .groups = launch->groups, .values = launch->outputs,
                                      .valid = launch->outputs_valid};
    return result;
}

// Launches for so many rows, or for fewer where the GPU has no room. Where one GPU is lost another
// one may be there.
static GpuResult launch(SbTask *task, int64_t row, int64_t rows) {
    const TaskSetup *setup = task->state->setup;
    GpuResult result = GPU_FULL;
    while (rows > 0 && result == GPU_FULL) {
        result = launch_rows(task, row, rows);
        if (result == GPU_LOST) kernel_end(task->state);
        if (result == GPU_LOST && !gpu_lost(setup->gpu)) result = GPU_FULL;
        else if (result == GPU_FULL) rows = least(rows - 1, task->state->launch->fits);
    }
    return result;
}

static int64_t rows_ahead(const SbTaskState *state) {
    int64_t rows = 0;
    for (uint32_t i = state->ahead.at; i < state->ahead.count; i++)
        rows += state->ahead.items[i].end - state->ahead.items[i].begin;
    return rows;
}

static GpuResult launch_some(SbTask *task, int64_t row, int64_t left) {
    const TaskSetup *setup = task->state->setup;
    const SbKernels *kernels = setup->stage->kernels;
    if (!setup->gpu) return GPU_LOST;
    int64_t rows = kernels->rows ? kernels->rows : kernels->lay ? left : GPU_LAUNCH_ROWS;
    left += rows_ahead(task->state);
    rows = least(least(rows, left), gpu_rows(setup->gpu, stage_of(setup)));
    if (kernels->lay && rows < left && rows > BLOCK_ROWS) rows -= rows % BLOCK_ROWS;
    return launch(task, row, rows);
}

// Who holds a slot then is at work on a thread, so that one becomes free.
static GpuResult launch_sometime(SbTask *task, int64_t row, int64_t left) {
    GpuResult result;
    while ((result = launch_some(task, row, left)) == GPU_BUSY)
        nanosleep(&(struct timespec){.tv_nsec = 200'000}, nullptr);
    return result;
}

// Rows come one after the other: those between the last one and this one are counted.
int64_t sb_kernel_place(SbTask *task, int64_t at) {
    SbKernelRows *rows = &task->kernel;
    if (at < rows->counted) rows->counted = rows->kept = 0;
    for (; rows->counted < at; rows->counted++) rows->kept += !rows->status[rows->counted];
    return rows->kept;
}

int32_t sb_kernel_clean(const SbTask *task, int64_t at, int64_t rows) {
    const SbKernelRows *have = &task->kernel;
    if (at + rows > have->count) return false;
    uint8_t any = 0;
    for (int64_t i = 0; i < rows; i++) any |= have->status[at + i];
    return !any;
}

int32_t sb_kernel_fill(SbTask *task, int64_t row) {
    const TaskSetup *setup = task->state->setup;
    int64_t left = (task->input.end - row) / setup->stage->kernels->stride;
    bool approx = setup->gpu && setup->stage->kernels->approx;
    GpuResult result = approx ? launch_sometime(task, row, left) : launch_some(task, row, left);
    if (result == GPU_DONE) return SB_OK;
    // The CPU judges all rows of the input. Of what does not fit, or has no slot, a few at a time.
    task->kernel = (SbKernelRows){.first = row,
                                  .count = result == GPU_LOST ? left : least(left, FEW_ROWS)};
    bool needed = approx || (result == GPU_LOST && setup->needs_gpu);
    if (!setup->gpu || !needed) return SB_OK;
    // It is no lack of memory, after which the rows would come again.
    task->kernel = (SbKernelRows){0};
    task->failure = (SbFailure){.site = UINT32_MAX, .fault = SB_FAULT_EXTERN_SAID};
    return SB_FAULT_EXTERN_SAID;
}
