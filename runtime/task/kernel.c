// The rows of a stage that a GPU computes: columns out of entries, a launch, columns back.
//
// Columns lie in the memory of a slot (runtime/device/gpu.h). A task has one from its first launch
// to its end.
#include "runtime/abi/calls.h"
#include "runtime/device.h"
#include "runtime/task/task.h"

#include <string.h>

enum : int64_t { LAUNCH_ROWS = 1 << 16, LAUNCH_BYTES = 8 << 20, FEW_ROWS = 64 };

static int64_t row_bytes(const SbKernelColumn *columns, uint32_t count) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += (columns[i].elements ? columns[i].elements : 1) * columns[i].size +
                 columns[i].nullable;
    return bytes;
}

// ---- columns ------------------------------------------------------------------------------------

static void take_tensor(const SbKernelColumn *column, const void *const *rows, int64_t count,
                        char *to) {
    size_t bytes = (size_t)column->elements * column->size;
    for (int64_t i = 0; i < count; i++) {
        const SbList *list = (const void *)((const char *)rows[i] + column->offset);
        memcpy(to + (size_t)i * bytes, list->ptr, bytes);
    }
}

// A null has a value too: zeros.
static void take_numbers(const SbKernelColumn *column, const void *const *rows, int64_t count,
                         char *to, uint8_t *valid) {
    size_t size = column->size;
    for (int64_t i = 0; i < count; i++) {
        const char *value = (const char *)rows[i] + column->offset;
        bool there = !valid || value[size];
        if (valid) valid[i] = there;
        if (there) memcpy(to + (size_t)i * size, value, size);
        else memset(to + (size_t)i * size, 0, size);
    }
}

static void take_columns(const SbKernels *kernels, const void *const *rows,
                         const GpuLaunch *launch) {
    for (uint32_t i = 0; i < kernels->input_count; i++) {
        const SbKernelColumn *column = &kernels->inputs[i];
        if (column->elements) take_tensor(column, rows, launch->rows, launch->inputs[i]);
        else take_numbers(column, rows, launch->rows, launch->inputs[i], launch->inputs_valid[i]);
    }
}

// ---- launches -----------------------------------------------------------------------------------

void kernel_end(SbTaskState *state) {
    if (state->launch) gpu_end(state->setup->gpu, state->launch);
    state->launch = nullptr;
    state->task.kernel = (SbKernelRows){0};
}

// Launches for `rows` rows, or says that they do not fit here or on the GPU.
static GpuResult launch_rows(SbTask *task, int64_t row, int64_t rows) {
    SbTaskState *state = task->state;
    const TaskSetup *setup = state->setup;
    uint32_t stage = (uint32_t)(setup->stage - setup->job->stages);
    GpuLaunch *launch = gpu_begin(setup->gpu, state->launch, stage, rows);
    if (!launch) return GPU_FULL;
    state->launch = launch;
    take_columns(setup->stage->kernels, (const void *const *)task->input.entries + row, launch);
    GpuResult result = gpu_run(setup->gpu, launch, setup->params);
    if (result == GPU_DONE)
        task->kernel = (SbKernelRows){.first = row, .count = rows, .status = launch->status,
                                      .values = launch->outputs, .valid = launch->outputs_valid};
    return result;
}

// Where one GPU is lost another one may be there.
static GpuResult launch_somewhere(SbTask *task, int64_t row, int64_t rows) {
    const TaskSetup *setup = task->state->setup;
    GpuResult result = launch_rows(task, row, rows);
    while (result == GPU_LOST && !gpu_lost(setup->gpu)) {
        kernel_end(task->state);
        result = launch_rows(task, row, rows);
    }
    return result;
}

int32_t sb_kernel_fill(SbTask *task, int64_t row) {
    const TaskSetup *setup = task->state->setup;
    const SbKernels *kernels = setup->stage->kernels;
    int64_t left = task->input.end - row, rows = kernels->rows ? kernels->rows : LAUNCH_ROWS;
    int64_t bytes = row_bytes(kernels->inputs, kernels->input_count) +
                    row_bytes(kernels->outputs, kernels->output_count) + 1;
    // The CPU judges all rows of the input.
    task->kernel = (SbKernelRows){.first = row, .count = left};
    if (!setup->gpu) return SB_OK;
    if (rows > LAUNCH_BYTES / bytes) rows = LAUNCH_BYTES / bytes;
    if (rows > left) rows = left;
    GpuResult result = GPU_FULL;
    for (; rows > 0 && result == GPU_FULL; rows /= 2) result = launch_somewhere(task, row, rows);
    // What does not fit, or has no slot, is judged here, a few rows at a time.
    if (result == GPU_FULL)
        task->kernel = (SbKernelRows){.first = row, .count = left < FEW_ROWS ? left : FEW_ROWS};
    if (result != GPU_LOST || !setup->needs_gpu) return SB_OK;
    // It is no lack of memory, after which the rows would come again.
    task->kernel = (SbKernelRows){0};
    task->failure = (SbFailure){.site = UINT32_MAX, .fault = SB_FAULT_EXTERN_SAID};
    return SB_FAULT_EXTERN_SAID;
}
