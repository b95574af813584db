// Load: the numbers of a file that a program has as a constant tensor.
#ifndef SBC_DRIVER_LOAD_H
#define SBC_DRIVER_LOAD_H

#include "frontend/check.h"

// LoadFn for the checker: npy files, versions 1 to 3, of either byte order and order of dimensions.
LoadFn load_tensor;

#endif
