#include "runtime/device/gpu_choose.h"

const SbKernelCode *gpu_choose(const SbKernels *kernels, unsigned architecture) {
    const SbKernelCode *best = nullptr;
    for (uint32_t i = 0; i < kernels->code_count; i++) {
        const SbKernelCode *code = &kernels->codes[i];
        bool same = code->architecture / 10 == architecture / 10;
        if (code->architecture > architecture || (!code->is_ptx && !same)) continue;
        bool better = !best || (best->is_ptx && !code->is_ptx) ||
                      (best->is_ptx == code->is_ptx && code->architecture > best->architecture);
        if (better) best = code;
    }
    return best;
}
