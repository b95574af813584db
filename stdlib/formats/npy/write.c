// npy: values of one width, and a header with their number.
#include "stdlib/formats/npy/npy.h"

#include "runtime/output.h"

#include <string.h>

static NpyRow row_of(const SbSink *what) {
    const SbType *type = what->columns[0].type;
    bool tensor = type->kind == SB_TENSOR;
    return npy_row(tensor ? type->elem->kind : type->kind, type->rank, type->shape);
}

static int64_t width_of(const SbSink *what) {
    NpyRow row = row_of(what);
    return npy_width(&row);
}

// Bytes of a tensor.
int64_t sb_npy_room(const SbType *type, const void *value);

int64_t sb_npy_room(const SbType *type, const void *value) {
    return ((const SbList *)value)->len * type->elem->size;
}

// Copies `count` floats of 2, 4 or 8 bytes. Each NaN becomes numpy's: bits of NaN differ between
// processors, and between what is computed at compile time and later.
void sb_npy_floats(char *to, const char *from, int64_t count, int32_t size);

// By bits: all that is greater than the infinity, whatever its sign, is a NaN.
#define COPY(BITS, infinity, nan)                                                                 \
    for (int64_t i = 0; i < count; i++) {                                                         \
        BITS bits;                                                                                \
        memcpy(&bits, from + i * (int64_t)sizeof bits, sizeof bits);                              \
        bits = (BITS)(bits << 1) > (BITS)((infinity) << 1) ? (nan) : bits;                        \
        memcpy(to + i * (int64_t)sizeof bits, &bits, sizeof bits);                                \
    }

void sb_npy_floats(char *to, const char *from, int64_t count, int32_t size) {
    switch (size) {
    case 2: COPY(uint16_t, 0x7c00, 0x7e00) break;
    case 4: COPY(uint32_t, UINT32_C(0x7f800000), UINT32_C(0x7fc00000)) break;
    default: COPY(uint64_t, UINT64_C(0x7ff0000000000000), UINT64_C(0x7ff8000000000000))
    }
}

static int64_t row_end(const SbSink *what, SbStr rows, int64_t from) {
    int64_t width = width_of(what), end = from > 1 ? (from + width - 1) / width * width : width;
    return end < rows.len ? end : rows.len;
}

static int64_t rows_within(const SbSink *what, SbStr rows, int64_t room) {
    return rows.len <= room ? rows.len : room / width_of(what) * width_of(what);
}

static int64_t rows_end(const SbSink *what, SbStr rows, int64_t count) {
    return count < rows.len / width_of(what) ? count * width_of(what) : rows.len;
}

static bool finish(const SbSink *what, const char *path, int64_t body, char *header,
                   Trouble *trouble) {
    NpyRow row = row_of(what);
    int64_t rows = body / npy_width(&row);
    npy_write(&row, what->apart ? NPY_ONE_ROW : rows, header);
    if (!what->apart || rows == 1) return true;
    return trouble_set(trouble, TROUBLE_ONE_ROW, "'%s' gets %lld rows", path, (long long)rows);
}

const SbWriter sb_writer_npy = {
    .extension = "npy", .widens = 1, .row_end = row_end, .rows_within = rows_within,
    .rows_end = rows_end, .header_bytes = NPY_WRITTEN, .finish = finish,
};
