// The files that kernels include, as they are.
#include "codegen/cuda/cuda.h"

static const char device[] = {
#embed <device.cuh>
};

static const char library[] = {
#embed <math_lanes.h>
};

Text cuda_device_text(void) { return (Text){device, sizeof device}; }
Text cuda_library_text(void) { return (Text){library, sizeof library}; }
