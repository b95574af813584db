// Kernels: what sbc says of a program's kernels for GPUs, and has NVRTC make of them.
#ifndef SBC_DRIVER_KERNELS_H
#define SBC_DRIVER_KERNELS_H

#include "codegen/build/target_file.h"
#include "codegen/codegen.h"
#include "driver/session.h"

typedef struct Kernels {
    Session     *session;
    const Plan  *plan;
    CudaSources  sources;
    Target       target;
} Kernels;

// Is NVRTC there?
bool kernels_can_compile(Arena *arena);

// The kernels as CUDA C. As PTX of the least architecture: an exit code, what is wrong was said.
void kernels_print(const Kernels *kernels, TextBuf *out);
int  kernels_print_ptx(const Kernels *kernels, TextBuf *out);

// What each kernel moves, and what it takes of a GPU as NVRTC says. Without NVRTC it says so. An
// exit code; what is wrong was said.
int kernels_explain(const Kernels *kernels, TextBuf *out);

// Compiles the kernels of a job: a cubin for each architecture, PTX of the least one. Null where
// there are none: no stage has any, or there is no NVRTC, of which a warning was given. Where the
// target names GPUs that is an error. An exit code; what is wrong was said.
int kernels_make(const Kernels *kernels, const CodegenKernels **made);

#endif
