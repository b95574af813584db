// GPU figures: what GPUs did, for the closing summary, the metrics and the live page.
//
// A GPU copies columns in, runs kernels and copies columns out, all at once where launches lie in
// several slots. Each counts for the time in which it went on at all. `busy` is the time in which
// any of them did, and what is left of the job's time are gaps: there was nothing to launch.
#ifndef SBC_RUNTIME_GPU_FIGURES_H
#define SBC_RUNTIME_GPU_FIGURES_H

#include "runtime/device.h"
#include "runtime/observe/bound.h"

// All say nothing where there is no GPU. `seconds` have passed since the stages began.

// A table, and an empty line.
void gpu_figures_print(Gpu *gpu, double seconds, Text *text);
// ,"gpus":[...]
void gpu_figures_json(Gpu *gpu, double seconds, Text *text);
void gpu_figures_metrics(Gpu *gpu, Text *text);
// Of all GPUs together.
BoundGpu gpu_figures_bound(Gpu *gpu);

#endif
