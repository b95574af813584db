// npy: values of one width, and a header with their number; or files of one row each.
#include "stdlib/formats/npy/npy.h"

#include "runtime/output.h"

#include <string.h>

static NpyRow row_of_type(const SbType *type) {
    bool tensor = type->kind == SB_TENSOR;
    return npy_row(tensor ? type->elem->kind : type->kind, type->rank, type->shape);
}

static NpyRow row_of(const SbSink *what) { return row_of_type(what->columns[0].type); }

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

// Writes the header of a file of one row: its value, of the type.
void sb_npy_header(char *to, const SbType *type, const void *value);

void sb_npy_header(char *to, const SbType *type, const void *value) {
    NpyRow row = row_of_type(type);
    int64_t sizes[SB_RANK_MAX];
    if (row.rank) sb_tensor_sizes(type, value, sizes);
    for (uint32_t i = 0; i < row.rank; i++) row.shape[i] = (uint32_t)sizes[i];
    npy_write(&row, NPY_ONE_ROW, to);
}

// Bytes of the first row of `rows`. One that is a file has its header.
static int64_t row_bytes(const SbSink *what, SbStr rows) {
    NpyRow row = row_of(what);
    NpyHeader header;
    if (!what->apart) return npy_width(&row);
    if (!npy_read_header(rows.ptr, rows.len, &header)) return rows.len;
    return header.begin + header.rows * npy_width(&header.row);
}

// The end of row `count`, or of an earlier one that ends at or after `from`.
static int64_t end_of(const SbSink *what, SbStr rows, int64_t from, int64_t count) {
    int64_t end = 0, bytes = 0;
    if (from > rows.len) from = rows.len;
    if (!what->apart) {
        bytes = row_bytes(what, rows);
        int64_t most = (from + bytes - 1) / bytes;
        end = bytes * (count < most ? count : most);
    }
    for (; what->apart && count > 0 && end < from; count--)
        end += row_bytes(what, (SbStr){rows.ptr + end, rows.len - end});
    return end < rows.len ? end : rows.len;
}

static int64_t row_end(const SbSink *what, SbStr rows, int64_t from) {
    return end_of(what, rows, from > 1 ? from : 1, INT64_MAX);
}

static int64_t rows_within(const SbSink *what, SbStr rows, int64_t room) {
    int64_t end = row_end(what, rows, room < rows.len ? room : rows.len);
    if (end <= room) return end;
    if (!what->apart) return room / row_bytes(what, rows) * row_bytes(what, rows);
    int64_t within = 0, next;
    while ((next = row_end(what, rows, within + 1)) <= room) within = next;
    return within;
}

static int64_t rows_end(const SbSink *what, SbStr rows, int64_t count) {
    return end_of(what, rows, INT64_MAX, count);
}

static void finish(const SbSink *what, int64_t body, char *header) {
    NpyRow row = row_of(what);
    npy_write(&row, body / npy_width(&row), header);
}

const SbWriter sb_writer_npy = {
    .extension = "npy", .widens = 1, .row_end = row_end, .rows_within = rows_within,
    .rows_end = rows_end, .header_bytes = NPY_WRITTEN, .finish = finish,
};
