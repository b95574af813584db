// The rows of a stage that a GPU computes: columns out of entries, a launch, columns back.
//
// Columns lie in scratch memory of the task until the next launch, so that --memory counts them.
#include "runtime/abi/calls.h"
#include "runtime/device.h"
#include "runtime/task/task.h"

#include <string.h>

enum : int64_t { LAUNCH_ROWS = 1 << 16, LAUNCH_BYTES = 8 << 20 };

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

static bool take_columns(SbCall *call, const SbKernelColumn *columns, uint32_t count,
                         const void *const *rows, GpuLaunch *launch) {
    launch->inputs = sb_alloc(call, (int64_t)sizeof(char *) * (count + 1));
    launch->inputs_valid = sb_alloc(call, (int64_t)sizeof(char *) * (count + 1));
    if (!launch->inputs || !launch->inputs_valid) return false;
    for (uint32_t i = 0; i < count; i++) {
        const SbKernelColumn *column = &columns[i];
        int64_t bytes = launch->rows * row_bytes(column, 1);
        launch->inputs[i] = sb_alloc(call, bytes);
        launch->inputs_valid[i] = column->nullable ? sb_alloc(call, launch->rows) : nullptr;
        if (!launch->inputs[i] || (column->nullable && !launch->inputs_valid[i])) return false;
        if (column->elements) take_tensor(column, rows, launch->rows, launch->inputs[i]);
        else take_numbers(column, rows, launch->rows, launch->inputs[i], launch->inputs_valid[i]);
    }
    return true;
}

static bool make_columns(SbCall *call, const SbKernelColumn *columns, uint32_t count,
                         GpuLaunch *launch) {
    launch->outputs = sb_alloc(call, (int64_t)sizeof(char *) * (count + 1));
    launch->outputs_valid = sb_alloc(call, (int64_t)sizeof(char *) * (count + 1));
    launch->status = sb_alloc(call, launch->rows);
    if (!launch->outputs || !launch->outputs_valid || !launch->status) return false;
    for (uint32_t i = 0; i < count; i++) {
        launch->outputs[i] = sb_alloc(call, launch->rows * row_bytes(&columns[i], 1));
        launch->outputs_valid[i] = columns[i].nullable ? sb_alloc(call, launch->rows) : nullptr;
        if (!launch->outputs[i] || (columns[i].nullable && !launch->outputs_valid[i])) return false;
    }
    return true;
}

// ---- launches -----------------------------------------------------------------------------------

// Launches for `rows` rows, or says that they do not fit here or on the GPU.
static GpuResult launch_rows(SbTask *task, int64_t row, int64_t rows) {
    SbTaskState *state = task->state;
    const TaskSetup *setup = state->setup;
    const SbKernels *kernels = setup->stage->kernels;
    SbCall *call = &state->results;
    GpuLaunch launch = {.stage = (uint32_t)(setup->stage - setup->job->stages), .rows = rows,
                        .params = setup->params};
    sb_scratch_rewind(call);
    const void *const *entries = (const void *const *)task->input.entries + row;
    bool room = take_columns(call, kernels->inputs, kernels->input_count, entries, &launch) &&
                make_columns(call, kernels->outputs, kernels->output_count, &launch);
    if (!room) return sb_scratch_take_denied(call), GPU_FULL;
    GpuResult result = gpu_run(setup->gpu, &launch);
    if (result == GPU_DONE)
        task->kernel = (SbKernelRows){.first = row, .count = rows, .status = launch.status,
                                      .values = launch.outputs, .valid = launch.outputs_valid};
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
    for (; rows > 0 && result == GPU_FULL; rows /= 2) result = launch_rows(task, row, rows);
    // What does not fit is judged here, row by row.
    if (result == GPU_FULL) task->kernel = (SbKernelRows){.first = row, .count = 1};
    if (result != GPU_LOST || !setup->needs_gpu) return SB_OK;
    // It is no lack of memory, after which the rows would come again.
    task->kernel = (SbKernelRows){0};
    task->failure = (SbFailure){.site = UINT32_MAX, .fault = SB_FAULT_EXTERN_SAID};
    return SB_FAULT_EXTERN_SAID;
}
