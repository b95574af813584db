// Gpu: launches of kernels on the GPUs of the machine.
//
// Each GPU has a process of its own, as the CUDA driver says that a fault ends a context for good.
// The memory of columns is shared with it, in slots: one for each task that launches. A process
// that faults or hangs is ended and started anew, twice at most for each GPU. The launch is made
// again: its columns are in the slot still. After that the GPU is lost.
//
//   Gpu *gpu = gpu_open(&setup, why);          null: `why` says what is missing
//   GpuLaunch *launch = gpu_begin(gpu, nullptr, stage, rows);
//   ... fill launch->inputs
//   gpu_run(gpu, launch, params);              launch->outputs and launch->status are there
//   gpu_end(gpu, launch);
//
// Slots of one GPU have streams of their own: copies of one run beside kernels of another.
#ifndef SBC_RUNTIME_DEVICE_GPU_H
#define SBC_RUNTIME_DEVICE_GPU_H

#include "runtime/abi/program.h"
#include "runtime/report.h"

enum : int { GPU_WHY_BYTES = 320 };

typedef struct Gpu Gpu;

typedef struct GpuSetup {
    const SbJob *job;
    char *const *argv;
    uint32_t     slots;         // Launches at once: of all tasks that run.
    int64_t      memory;        // Bytes that slots may take of the host.
    int64_t      device_memory; // Bytes that they may take of each GPU; 0: any.
} GpuSetup;

// Starts a process for each GPU, which loads the kernels of all stages.
Gpu *gpu_open(const GpuSetup *setup, char why[GPU_WHY_BYTES]);
void gpu_close(Gpu *gpu);  // May be null.
// The bytes of the host that slots take.
int64_t gpu_bytes(const Gpu *gpu);

// What a launch works on, in memory of its slot. Of columns that are never null, the bytes that say
// so are null pointers.
typedef struct GpuLaunch {
    uint32_t  stage;
    int64_t   rows;
    char    **inputs, **outputs;              // By column of the SbKernels.
    uint8_t **inputs_valid, **outputs_valid;
    uint8_t  *status;                         // Filled by gpu_run, by row.
} GpuLaunch;

typedef enum GpuResult { GPU_DONE, GPU_FULL, GPU_LOST } GpuResult;

// Room for the columns of a launch: in the slot of `held`, or where it is null in a free one. Null:
// they do not fit, or no slot is free. Any thread.
GpuLaunch *gpu_begin(Gpu *gpu, GpuLaunch *held, uint32_t stage, int64_t rows);
// GPU_FULL: the GPU has no memory for so many rows. After GPU_LOST no launch is made any more.
GpuResult gpu_run(Gpu *gpu, GpuLaunch *launch, const void *const *params);
// The slot is free again. May be null.
void gpu_end(Gpu *gpu, GpuLaunch *launch);

// Why no launch is made any more; null: some GPU works.
const char *gpu_lost(Gpu *gpu);
// How often a process was started anew.
uint32_t gpu_restarts(Gpu *gpu);
// Why the last one was.
const char *gpu_trouble(Gpu *gpu);

// ---- the process of a GPU -----------------------------------------------------------------------

// Is this process one? Then it serves, and ends with what this returns: its exit code.
bool gpu_process(const SbJob *job, int *code);

// The lines of `JOB --devices`: each GPU, its memory, and the code that would run there.
void gpu_describe(const SbJob *job, Text *out);

#endif
