// Present: the GPUs of this machine, as the CUDA driver says.
#ifndef SBC_CODEGEN_CUDA_PRESENT_H
#define SBC_CODEGEN_CUDA_PRESENT_H

#include <stddef.h>

enum { CUDA_PRESENT_MAX = 16 };

// Their architectures, each once and the least first: 90 for sm_90. Empty: there is no driver, or
// it sees none.
typedef struct CudaPresent {
    unsigned items[CUDA_PRESENT_MAX];
    size_t   count;
} CudaPresent;

CudaPresent cuda_present(void);

#endif
