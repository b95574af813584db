// The bytes come from a file that build.zig writes from its list stdlib_hot.
#include "codegen/stdlib_bitcode.h"

#include <stdlib_bitcode.inc>

const StdlibBitcode stdlib_bitcode[] = {
#define X(file) {#file, file##_bc, sizeof file##_bc},
    EACH_FILE(X)
#undef X
};
const size_t stdlib_bitcode_count = sizeof stdlib_bitcode / sizeof *stdlib_bitcode;
