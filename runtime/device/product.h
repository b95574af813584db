// Product: matrices that cuBLASLt multiplies, opened with dlopen. No other file opens it.
//
// Constants of all products of a job lie on the GPU from the begin of its process. One algorithm is
// chosen for each product, for a launch of usual size, and serves launches of any size. None splits
// a sum over blocks. So the digits of a row depend on the row alone, whatever stands beside it.
//
// Names and numbers are those of the cuBLASLt API in NVIDIA's cuBLAS documentation.
#ifndef SBC_RUNTIME_DEVICE_PRODUCT_H
#define SBC_RUNTIME_DEVICE_PRODUCT_H

#include "runtime/device/driver.h"

typedef struct Products Products;

bool has_products(const SbJob *job);
// In the context of this thread, until the process ends. Null: `why` says what is missing.
Products *products_open(const Driver *driver, const SbJob *job, char why[GPU_WHY_BYTES]);
// Multiplies `rows` rows of a launch on the stream. Any thread. Returns 0, or an error of the
// library, from PRODUCT_ERRORS on.
int product_launch(const Products *products, const SbKernelProduct *product, DevicePtr from,
                   DevicePtr to, int64_t rows, CudaStream *stream);

enum { PRODUCT_ERRORS = 10'000 };

#endif
