// Which code of a stage's kernels a GPU runs.
#ifndef SBC_RUNTIME_DEVICE_GPU_CHOOSE_H
#define SBC_RUNTIME_DEVICE_GPU_CHOOSE_H

#include "runtime/abi/program.h"

// The best for the architecture: its own, else that of an older one of its major number, else PTX.
// Null: there is none.
const SbKernelCode *gpu_choose(const SbKernels *kernels, unsigned architecture);

#endif
