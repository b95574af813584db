// Kernels: what sbc says of a program's kernels for GPUs, and has NVRTC make of them.
#ifndef SBC_DRIVER_KERNELS_H
#define SBC_DRIVER_KERNELS_H

#include "codegen/build/target_file.h"
#include "codegen/codegen.h"
#include "codegen/cuda/present.h"
#include "driver/session.h"

typedef struct Kernels {
    Session     *session;
    const Plan  *plan;
    CudaSources  sources;
    Target       target;
    CudaPresent  present;   // Of a job that runs here alone: what it needs kernels for.
} Kernels;

// Is NVRTC there?
bool kernels_can_compile(Arena *arena);

// The kernels as CUDA C. As PTX or machine code of the least architecture: an exit code, what is
// wrong was said.
void kernels_print(const Kernels *kernels, TextBuf *out);
int  kernels_print_ptx(const Kernels *kernels, TextBuf *out);
int  kernels_print_sass(const Kernels *kernels, TextBuf *out);

// What each kernel moves, and what it takes of a GPU as NVRTC says. Without NVRTC it says so. An
// exit code; what is wrong was said.
int kernels_explain(const Kernels *kernels, TextBuf *out);

// The GPUs that are here, where kernels are for these alone: the job is to run here, the program
// asks for a GPU, and the target names none.
CudaPresent kernels_present(const Session *s, const Target *target);

// Compiles the kernels of a job: a cubin for each architecture, and PTX of the least one unless
// they are for GPUs that are present. Null where there are none: no stage has any, or there is no
// NVRTC, of which a warning was given. Where the target names GPUs that is an error. An exit code;
// what is wrong was said.
int kernels_make(const Kernels *kernels, const CodegenKernels **made);

#endif
