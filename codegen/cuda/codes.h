// Codes: code for the kernels of several units and architectures, made on several threads.
//
// What NVRTC made once is kept in the cache of sbc, by all that it depends on.
#ifndef SBC_CODEGEN_CUDA_CODES_H
#define SBC_CODEGEN_CUDA_CODES_H

#include "codegen/cuda/compiler.h"

// One unit for one architecture: a cubin, or PTX.
typedef struct CudaTask {
    Text     unit;
    unsigned architecture;
    bool     is_ptx;
    CudaCode code;    // Filled.
    Text     error;   // Filled: why there is no code. Empty: there is.
} CudaTask;

// Compiles all tasks in any order. `folder` is that of the cache, or null. False: some have errors.
bool cuda_compile_all(const CudaCompiler *compiler, Arena *arena, const char *folder,
                      CudaTask *tasks, size_t count);

#endif
