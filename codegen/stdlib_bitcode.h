// The hot part of the standard library as LLVM bitcode, embedded (build.zig, stdlib_hot).
#ifndef SBC_CODEGEN_STDLIB_BITCODE_H
#define SBC_CODEGEN_STDLIB_BITCODE_H

#include <stddef.h>

typedef struct StdlibBitcode {
    const char          *name;
    const unsigned char *bytes;
    size_t               len;
} StdlibBitcode;

extern const StdlibBitcode stdlib_bitcode[];
extern const size_t stdlib_bitcode_count;

#endif
