// Layout: where the columns of a launch lie in the memory of its slot, for both sides.
//
//   0          4096      columns that kernels read   columns that they give   a byte for each row
//   GpuHead    │ inputs ─────────────────────────────│ outputs, groups ───────│ status
//
// A GPU's memory of the slot has the same columns at the same places. After those that come back
// it has columns that one kernel leaves for others, and kept rows of those that come back.
//
// The status of rows has memory of its own there, which is zero between launches:
//
//   GpuKept   a byte for each row   a number for each segment of rows, where kernels keep rows
#ifndef SBC_RUNTIME_DEVICE_GPU_LAYOUT_H
#define SBC_RUNTIME_DEVICE_GPU_LAYOUT_H

#include "runtime/abi/program.h"

enum { GPU_HEAD_BYTES = 4096, GPU_ALIGN = 256 };

typedef struct GpuLayout {
    size_t *inputs, *inputs_valid, *outputs, *outputs_valid;  // By column. 0: never null.
    size_t *temps, *temps_valid;
    size_t  inputs_end, outputs_end;
    size_t  groups;             // The table of groups; 0: there is none.
    size_t  kept;               // Of the GPU's memory: columns of kept rows, one after the other.
    size_t  columns_bytes;      // Of the GPU's memory.
    size_t  counts, status_bytes;  // Of its memory for the status: the numbers, and all.
    size_t  status;
    size_t  bytes;
} GpuLayout;

// The numbers that a layout of these columns needs for its lists.
size_t gpu_layout_room(const SbKernels *kernels);
// Lays out a launch of so many rows. The lists are in `room`.
void gpu_lay(GpuLayout *layout, const SbKernels *kernels, int64_t rows, size_t *room);

// Lays out what comes back anew: so many rows have been kept.
void gpu_lay_kept(GpuLayout *layout, const SbKernels *kernels, int64_t rows);

// What a launch takes of the GPU's memory.
static inline size_t gpu_device_bytes(const GpuLayout *layout) {
    return layout->columns_bytes + 2 * layout->status_bytes;
}

// The most rows whose layout has so many bytes.
int64_t gpu_rows_within(const SbKernels *kernels, int64_t bytes);

// The most rows of a launch, fewer than `rows`, that take so many bytes of the GPU. `room` is for
// gpu_lay.
int64_t gpu_rows_there(const SbKernels *kernels, int64_t rows, size_t bytes, size_t *room);

// The words of the parameters of a stage's kernels, kernel by kernel.
size_t gpu_param_words(const SbKernels *kernels);

#endif
