// Driver: the CUDA driver API, opened with dlopen. No other file of the runtime opens it.
//
// The library is there where a GPU's driver is installed. Names and meanings are those of the CUDA
// Driver API's reference.
#ifndef SBC_RUNTIME_DEVICE_DRIVER_H
#define SBC_RUNTIME_DEVICE_DRIVER_H

#include "runtime/device/gpu.h"

typedef uint64_t DevicePtr;
typedef struct CudaContext CudaContext;
typedef struct CudaModule CudaModule;
typedef struct CudaFunction CudaFunction;
typedef struct CudaStream CudaStream;
typedef struct CudaEvent CudaEvent;

// The functions that are called, by their symbols. Each returns 0, or an error.
#define DRIVER_CALLS(X)                                                                            \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(version, "cuDriverGetVersion", (int *version))                                               \
    X(count, "cuDeviceGetCount", (int *count))                                                     \
    X(device, "cuDeviceGet", (int *device, int number))                                            \
    X(device_name, "cuDeviceGetName", (char *name, int bytes, int device))                         \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t *bytes, int device))                           \
    X(attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                  \
    X(set_flags, "cuDevicePrimaryCtxSetFlags_v2", (int device, unsigned flags))                    \
    X(retain, "cuDevicePrimaryCtxRetain", (CudaContext **context, int device))                     \
    X(set_current, "cuCtxSetCurrent", (CudaContext *context))                                      \
    X(load, "cuModuleLoadData", (CudaModule **module, const void *image))                          \
    X(find, "cuModuleGetFunction",                                                                 \
      (CudaFunction **function, CudaModule *module, const char *name))                             \
    X(take, "cuMemAlloc_v2", (DevicePtr *at, size_t bytes))                                        \
    X(give, "cuMemFree_v2", (DevicePtr at))                                                        \
    X(memory, "cuMemGetInfo_v2", (size_t *free, size_t *all))                                      \
    X(pin, "cuMemHostRegister_v2", (void *at, size_t bytes, unsigned flags))                       \
    X(new_stream, "cuStreamCreate", (CudaStream **stream, unsigned flags))                         \
    X(wait, "cuStreamSynchronize", (CudaStream *stream))                                           \
    X(copy_in, "cuMemcpyHtoDAsync_v2",                                                             \
      (DevicePtr to, const void *from, size_t bytes, CudaStream *stream))                          \
    X(copy_out, "cuMemcpyDtoHAsync_v2",                                                            \
      (void *to, DevicePtr from, size_t bytes, CudaStream *stream))                                \
    X(fill, "cuMemsetD8Async",                                                                     \
      (DevicePtr at, unsigned char byte, size_t count, CudaStream *stream))                        \
    X(launch, "cuLaunchKernel",                                                                    \
      (CudaFunction *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                  \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,                \
       CudaStream *stream, void **arguments, void **extra))                                        \
    X(new_event, "cuEventCreate", (CudaEvent **event, unsigned flags))                             \
    X(mark, "cuEventRecord", (CudaEvent *event, CudaStream *stream))                               \
    X(between, "cuEventElapsedTime", (float *milliseconds, CudaEvent *from, CudaEvent *to))        \
    X(text, "cuGetErrorString", (int error, const char **text))

typedef struct Driver {
#define X(name, symbol, parameters) int (*name) parameters;
    DRIVER_CALLS(X)
#undef X
} Driver;

enum {
    DRIVER_OUT_OF_MEMORY = 2,    // CUDA_ERROR_OUT_OF_MEMORY
    DRIVER_BLOCKS = 4,           // CU_CTX_SCHED_BLOCKING_SYNC: who waits takes no processor time.
    DRIVER_STREAM_ALONE = 1,     // CU_STREAM_NON_BLOCKING
    DRIVER_PROCESSORS = 16, DRIVER_MAJOR = 75, DRIVER_MINOR = 76,  // Attributes of a device.
};

// Opens the library and begins to use it. False: `why` says what is missing.
bool driver_open(Driver *driver, char why[GPU_WHY_BYTES]);
// False: the driver said that `what` fails, as `why` says.
bool driver_good(const Driver *driver, int error, const char *what, char why[GPU_WHY_BYTES]);

#endif
