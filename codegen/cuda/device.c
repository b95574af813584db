// The files that kernels include, as they are.
#include "codegen/cuda/cuda.h"

static const char device[] = {
#embed <device.cuh>
};

static const char group[] = {
#embed <group.cuh>
};

static const char keep[] = {
#embed <keep.cuh>
};

static const char lanes[] = {
#embed <math_lanes.h>
};

static const char f32[] = {
#embed <math_f32.h>
};

static const char half[] = {
#embed <half.h>
};

static const char f64[] = {
#embed <math_f64.h>
};

static const char pair[] = {
#embed <math_pair.h>
};

static const char reduce[] = {
#embed <reduce.cuh>
};

const CudaHeader cuda_headers[CUDA_HEADERS] = {
    {"codegen/cuda/device.cuh", {device, sizeof device}},
    {"codegen/cuda/group.cuh", {group, sizeof group}},
    {"codegen/cuda/keep.cuh", {keep, sizeof keep}},
    {"stdlib/number/math_lanes.h", {lanes, sizeof lanes}},
    {"stdlib/number/math_f32.h", {f32, sizeof f32}},
    {"stdlib/number/half.h", {half, sizeof half}},
    {"stdlib/number/math_f64.h", {f64, sizeof f64}},
    {"stdlib/number/math_pair.h", {pair, sizeof pair}},
    {"codegen/cuda/reduce.cuh", {reduce, sizeof reduce}},
};
