// Gpu: the first GPU of the machine, by the CUDA driver. No other file opens the driver.
//
//   Gpu *gpu = gpu_open(job, why);      null: `why` says what is missing
//   gpu_run(gpu, &launch)               any thread; one launch after the other
//   gpu_lost(gpu)                       why it runs nothing any more, or null
//
// A launch copies its columns to the GPU, runs the kernels of the stage and copies what they give
// back. Memory of the GPU is one block, which grows. A launch that does not fit says so, and the
// caller takes fewer rows. After any other failure the GPU is lost: it runs nothing any more.
#ifndef SBC_RUNTIME_DEVICE_GPU_H
#define SBC_RUNTIME_DEVICE_GPU_H

#include "runtime/abi/program.h"

enum { GPU_WHY_BYTES = 320 };

typedef struct Gpu Gpu;

// Opens the GPU and loads the kernels of all stages.
Gpu *gpu_open(const SbJob *job, char why[GPU_WHY_BYTES]);
void gpu_close(Gpu *gpu);  // May be null.

// What a launch works on, in memory of the host. Of columns that are never null, the bytes that say
// so are null pointers.
typedef struct GpuLaunch {
    uint32_t   stage;
    int64_t    rows;
    char     **inputs, **outputs;              // By column of the SbKernels.
    uint8_t  **inputs_valid, **outputs_valid;
    uint8_t   *status;                         // Filled, by row.
    const void *const *params;
} GpuLaunch;

typedef enum GpuResult { GPU_DONE, GPU_FULL, GPU_LOST } GpuResult;

GpuResult gpu_run(Gpu *gpu, const GpuLaunch *launch);

// Why it runs nothing any more; null: it does.
const char *gpu_lost(Gpu *gpu);
// "NVIDIA H100, sm_90"

#endif
