// Kernel columns: columns out of entries, as kernels read them.
#ifndef SBC_RUNTIME_TASK_KERNEL_COLUMNS_H
#define SBC_RUNTIME_TASK_KERNEL_COLUMNS_H

#include "runtime/abi/kernel.h"
#include "runtime/device.h"

// Fills launch->inputs and launch->inputs_valid from so many entries, as rows from `at` on.
void kernel_take_columns(const SbKernels *kernels, const void *const *entries, int64_t at,
                         int64_t rows, const GpuLaunch *launch);

#endif
