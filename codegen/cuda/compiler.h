// Compiler: NVRTC, which makes code for GPUs of CUDA C. It needs no GPU.
//
// The library is opened when kernels are compiled: $SBC_NVRTC names its file, else the loader finds
// libnvrtc.so.13 or libnvrtc.so.12. No job needs it.
#ifndef SBC_CODEGEN_CUDA_COMPILER_H
#define SBC_CODEGEN_CUDA_COMPILER_H

#include "codegen/cuda/cuda.h"

enum { CUDA_ARCHITECTURES_MAX = 32 };

typedef struct CudaCompiler {
    const struct NvrtcCalls *calls;
    int      major, minor;  // The version of NVRTC.
    unsigned architectures[CUDA_ARCHITECTURES_MAX];  // Those it knows: 75 for sm_75.
    size_t   architecture_count;
} CudaCompiler;

// What one kernel takes of a multiprocessor, as the compiler says.
typedef struct CudaUse {
    Text     kernel;
    unsigned registers, spill_bytes, shared_bytes;
} CudaUse;

typedef struct CudaCode {
    Text     bytes;    // A cubin, or PTX.
    Text     log;      // What the compiler said.
    CudaUse *uses;     // By kernel of the unit; of PTX there are none.
    size_t   use_count, use_cap;
} CudaCode;

// Those that jobs carry code for, unless --target names others.
extern const unsigned cuda_architectures[];
extern const size_t cuda_architecture_count;

// False: `error` says what is missing.
bool cuda_compiler_open(CudaCompiler *compiler, Arena *arena, TextBuf *error);
// Does it compile for the architecture? False: `error` lists those that it does compile for.
bool cuda_compiler_knows(const CudaCompiler *compiler, unsigned architecture, TextBuf *error);

// Its version as CUDA counts: 13050 for 13.5.
unsigned cuda_toolkit(const CudaCompiler *compiler);

// All that the code depends on beside the unit and the architecture.
Text cuda_compiler_text(const CudaCompiler *compiler, Arena *arena);

// Finds the uses in the log.
void cuda_read_uses(Arena *arena, CudaCode *code);

// Compiles a unit for one architecture. Any thread may call it, each with its own arena. False:
// `error` says why; the compiler's log names lines of the program.
bool cuda_compile(const CudaCompiler *compiler, Arena *arena, Text unit, unsigned architecture,
                  CudaCode *code, TextBuf *error);

// The same as PTX, which runs on every GPU from the architecture on.
bool cuda_compile_ptx(const CudaCompiler *compiler, Arena *arena, Text unit,
                      unsigned architecture, CudaCode *code, TextBuf *error);

#endif
