// Products for bench.py: runtime/device/product.c, as a job's process of a GPU calls it.
#include "runtime/device/product.h"

#define EXPORT __attribute__((visibility("default")))

// Of so many products, in the context of this thread. Null: `why` says what is missing.
EXPORT Products *calls_open(const SbKernelProduct *products, uint32_t count,
                            char why[GPU_WHY_BYTES]) {
    static Driver driver;
    static SbKernel items[16];
    static SbKernels kernels;
    static SbStage stage;
    static SbJob job;
    for (uint32_t i = 0; i < count; i++) items[i] = (SbKernel){.product = &products[i]};
    kernels = (SbKernels){.items = items, .count = count};
    stage = (SbStage){.kernels = &kernels};
    job = (SbJob){.stages = &stage, .stage_count = 1};
    return driver_open(&driver, why) ? products_open(&driver, &job, why) : nullptr;
}

EXPORT int calls_launch(const Products *products, const SbKernelProduct *product, uint64_t from,
                        uint64_t to, int64_t rows, CudaStream *stream) {
    return product_launch(products, product, from, to, rows, stream);
}
