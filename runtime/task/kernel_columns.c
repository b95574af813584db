// A block of rows after the other, so that entries are in the cache for all columns but the first.
// Each size has loops of its own, in which a copy is one load and one store.
#include "runtime/abi/calls.h"
#include "runtime/task/kernel_columns.h"

#include <string.h>

enum : int64_t { BLOCK_ROWS = 256 };

// A null has a value too: zeros. The byte after the value says whether it is one.
#define TAKE(bits)                                                                                 \
    static void take_##bits(const char *const *entries, size_t offset, int64_t count, char *to,    \
                            uint8_t *valid) {                                                      \
        for (int64_t i = 0; i < count && !valid; i++)                                              \
            memcpy(to + i * (bits / 8), entries[i] + offset, bits / 8);                            \
        for (int64_t i = 0; i < count && valid; i++) {                                             \
            uint##bits##_t value;                                                                  \
            memcpy(&value, entries[i] + offset, sizeof value);                                     \
            valid[i] = entries[i][offset + sizeof value] != 0;                                     \
            if (!valid[i]) value = 0;                                                              \
            memcpy(to + i * (bits / 8), &value, sizeof value);                                     \
        }                                                                                          \
    }

TAKE(8) TAKE(16) TAKE(32) TAKE(64)
#undef TAKE

static void take_numbers(const SbKernelColumn *column, const char *const *entries, int64_t count,
                         char *to, uint8_t *valid) {
    switch (column->size) {
    case 1: take_8(entries, column->offset, count, to, valid); break;
    case 2: take_16(entries, column->offset, count, to, valid); break;
    case 4: take_32(entries, column->offset, count, to, valid); break;
    case 8: take_64(entries, column->offset, count, to, valid); break;
    default: __builtin_trap();  // Kernels know no other number.
    }
}

static void take_tensors(const SbKernelColumn *column, const char *const *entries, int64_t count,
                         char *to) {
    size_t bytes = (size_t)column->elements * column->size;
    size_t filled = (size_t)column->filled * column->size;
    for (int64_t i = 0; i < count; i++) {
        const SbList *list = (const void *)(entries[i] + column->offset);
        memcpy(to + (size_t)i * bytes, list->ptr, filled);
        if (filled < bytes) memset(to + (size_t)i * bytes + filled, 0, bytes - filled);
    }
}

// One column, as rows from `at` on.
static void take_block(const SbKernelColumn *column, const char *const *entries, int64_t at,
                       int64_t count, char *to, uint8_t *valid) {
    int64_t elements = column->elements ? column->elements : 1;
    to += at * elements * column->size;
    if (column->elements) take_tensors(column, entries, count, to);
    else take_numbers(column, entries, count, to, valid ? valid + at : nullptr);
}

void sb_kernel_count(char *to, int64_t first, int64_t rows) {
    int64_t *numbers = (int64_t *)(void *)to;
    for (int64_t i = 0; i < rows; i++) numbers[i] = first + i;
}

void kernel_take_columns(const SbKernels *kernels, const void *const *entries, int64_t at,
                         int64_t rows, const GpuLaunch *launch) {
    for (int64_t first = 0; first < rows; first += BLOCK_ROWS) {
        int64_t left = rows - first, count = left < BLOCK_ROWS ? left : BLOCK_ROWS;
        for (uint32_t i = 0; i < kernels->input_count; i++)
            take_block(&kernels->inputs[i], (const char *const *)entries + first, at + first, count,
                       launch->inputs[i], launch->inputs_valid[i]);
    }
}
