#include "codegen/stdlib_bitcode.h"

// One line for each file of stdlib_hot in build.zig.
#define EACH_FILE(X) X(date) X(date_parts) X(hash) X(key) X(number) X(sink_field)

static const unsigned char date_bytes[] = {
#embed <date.bc>
};
static const unsigned char date_parts_bytes[] = {
#embed <date_parts.bc>
};
static const unsigned char hash_bytes[] = {
#embed <hash.bc>
};
static const unsigned char key_bytes[] = {
#embed <key.bc>
};
static const unsigned char number_bytes[] = {
#embed <number.bc>
};
static const unsigned char sink_field_bytes[] = {
#embed <sink_field.bc>
};

const StdlibBitcode stdlib_bitcode[] = {
#define X(file) {#file, file##_bytes, sizeof file##_bytes},
    EACH_FILE(X)
#undef X
};
const size_t stdlib_bitcode_count = sizeof stdlib_bitcode / sizeof *stdlib_bitcode;
