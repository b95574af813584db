// npy: the header of a file, which has to agree with the declared type, and rows of one width.
#include "stdlib/formats/npy/npy.h"

#include "runtime/input.h"
#include "stdlib/number.h"
#include "stdlib/value.h"

#include <math.h>

static NpyRow row_of(const Source *source) {
    const SbType *type = source->what->columns[0].type;
    bool tensor = type->kind == SB_TENSOR;
    return npy_row(tensor ? type->elem->kind : type->kind, type->rank, type->shape);
}

// Of a file whose header was read.
static NpyRow row_of_file(const Source *source, const SourceFile *file) {
    NpyRow row = row_of(source);
    memcpy(row.shape, file->fields + NPY_FIELD_SHAPE, row.rank * sizeof *row.shape);
    return row;
}

static int64_t width_of(const Window *window) { return window->file->fields[NPY_FIELD_WIDTH]; }

static bool is_wrong(const SourceFile *file, const NpyHeader *header, Trouble *trouble) {
    trouble_set(trouble, TROUBLE_HEADER, "'%s' %s", file->path, header->wrong);
    const char *call = header->fortran ? "ascontiguousarray(array))" : "array)";
    trouble_fix(trouble, "save %s: numpy.save(path, %s%s",
                header->fortran ? "it in C order" : "the array as it is",
                header->fortran ? "numpy." : "", call);
    return false;
}

static bool header_whole(const Source *, SbStr front) {
    int64_t bytes = npy_front(front.ptr, front.len);
    return bytes >= 0 && bytes <= front.len;
}

static bool header(const Source *source, SourceFile *file, SbStr front, Trouble *trouble) {
    NpyHeader found;
    SbStr column = source->what->columns[0].name;
    if (!npy_read(front.ptr, front.len, &found)) return is_wrong(file, &found, trouble);
    NpyRow wanted = row_of(source);
    if (!npy_has_rows(&found, &wanted)) {
        char has[NPY_WORDS], wants[NPY_WORDS];
        npy_row_name(&found.row, has);
        trouble_set(trouble, TROUBLE_HEADER, "'%s' has values of type %s, and column '%.*s' is %s",
                    file->path, has, (int)column.len, column.ptr, npy_row_name(&wanted, wants));
        return trouble_fix(trouble, "declare it as {%.*s: %s}", (int)column.len, column.ptr, has),
               false;
    }
    if (!source_file_fields(file, NPY_FIELDS, trouble)) return false;
    file->fields[NPY_FIELD_BIG] = found.big;
    file->fields[NPY_FIELD_ROWS] = (uint32_t)found.rows;
    file->fields[NPY_FIELD_ROWS_HIGH] = (uint32_t)(found.rows >> 32);
    file->fields[NPY_FIELD_WIDTH] = (uint32_t)npy_width(&found.row);
    memcpy(file->fields + NPY_FIELD_SHAPE, found.row.shape, sizeof found.row.shape);
    file->field_count = 1;
    file->begin = found.begin;
    return true;
}

static bool ends(const Source *source, const SourceFile *file, int64_t size, Trouble *trouble) {
    NpyHeader promised = {.begin = file->begin, .row = row_of_file(source, file),
                          .rows = file->fields[NPY_FIELD_ROWS] |
                                  (int64_t)file->fields[NPY_FIELD_ROWS_HIGH] << 32};
    return npy_whole(&promised, size) || is_wrong(file, &promised, trouble);
}

static int64_t row_end(const Window *window, int64_t pos, int64_t from) {
    int64_t width = width_of(window);
    int64_t rows = from > pos ? (from - pos + width - 1) / width : 1;
    int64_t end = pos + rows * width;
    return end <= window->len ? end : -1;
}

static int64_t row_start(const Window *window, int64_t to) {
    int64_t width = width_of(window);
    int64_t into = (window->offset + 1 - window->file->begin) % width;  // Of a row, at place 1.
    int64_t start = 1 + (into ? width - into : 0);
    return start <= to ? start : -1;
}

static void show_value(const NpyType *type, uint64_t value, Text *out) {
    char digits[64], *end = digits;
    const SbType own = {.kind = type->kind, .size = type->size, .align = type->size};
    int unused = 64 - 8 * type->size;
    if (type->kind == SB_BOOL) end = sb_put_bool(digits, value != 0);
    else if (type->letter == 'i') end = sb_put_i64(digits, (int64_t)(value << unused) >> unused);
    else if (type->letter == 'u') end = sb_put_u64(digits, value);
    else end = sb_put_float(digits, &own, &value);
    sb_text_add(out, digits, end - digits);
}

// A value in a tensor is one of JSON.
static void show_element(const NpyType *type, uint64_t value, Text *out) {
    const SbType own = {.kind = type->kind, .size = type->size, .align = type->size};
    bool quoted = type->letter == 'f' && !isfinite(sb_float_value(&own, &value));
    if (quoted) sb_text_str(out, "\"");
    show_value(type, value, out);
    if (quoted) sb_text_str(out, "\"");
}

// From dimension `depth` on; *at is the next value.
static void show_part(const NpyRow *layout, bool big, const char **at, uint32_t depth, Text *out) {
    if (depth == layout->rank) {
        show_element(layout->type, npy_value(layout->type, big, *at), out);
        *at += layout->type->size;
        return;
    }
    for (uint32_t i = 0; i < layout->shape[depth]; i++) {
        sb_text_str(out, i ? "," : "[");
        show_part(layout, big, at, depth + 1, out);
    }
    sb_text_str(out, "]");
}

static void show(const Window *row, Text *out) {
    NpyRow layout = row_of_file(row->source, row->file);
    bool big = row->file->fields[NPY_FIELD_BIG];
    const char *at = row->text;
    if (row->len < npy_width(&layout)) return;
    if (layout.rank) show_part(&layout, big, &at, 0, out);
    else show_value(layout.type, npy_value(layout.type, big, at), out);
}

// `count` values of a row as they are on this machine: where they lie, if they can be used there,
// or copied. Null: there is no memory.
const void *sb_npy_elements(SbCall *call, const char *at, int64_t count, int32_t kind, int32_t big);

#define SWAP(T, swap)                                                                             \
    for (int64_t i = 0; i < count; i++) {                                                         \
        T value;                                                                                  \
        memcpy(&value, at + i * (int64_t)sizeof value, sizeof value);                             \
        value = swap(value);                                                                      \
        memcpy(to + i * (int64_t)sizeof value, &value, sizeof value);                             \
    }

static bool is_plain(const NpyType *type, int32_t big) {
    return (!big || type->size == 1) && type->kind != SB_BOOL;
}

static void copy_values(char *to, const char *at, int64_t count, const NpyType *type,
                        int32_t big) {
    if (is_plain(type, big)) {
        memcpy(to, at, (size_t)(count * type->size));
        return;
    }
    switch (type->size) {
    case 1:
        for (int64_t i = 0; i < count; i++) to[i] = at[i] != 0;
        break;
    case 2: SWAP(uint16_t, __builtin_bswap16); break;
    case 4: SWAP(uint32_t, __builtin_bswap32); break;
    case 8: SWAP(uint64_t, __builtin_bswap64); break;
    }
}

const void *sb_npy_elements(SbCall *call, const char *at, int64_t count, int32_t kind,
                            int32_t big) {
    const NpyType *type = npy_type_of((unsigned)kind);
    if (is_plain(type, big) && (uintptr_t)at % type->size == 0) return at;
    char *to = sb_take(call, count * type->size);
    if (to) copy_values(to, at, count, type, big);
    return to;
}

// Lays the values of so many rows side by side, as they are on this machine. A row takes up
// `room` values there: zeros come after its own.
void sb_npy_lay(char *to, const char *at, int64_t rows, int64_t values, int64_t room, int32_t kind,
                int32_t big);

void sb_npy_lay(char *to, const char *at, int64_t rows, int64_t values, int64_t room, int32_t kind,
                int32_t big) {
    const NpyType *type = npy_type_of((unsigned)kind);
    int64_t filled = values * type->size, bytes = room * type->size;
    if (filled == bytes) {
        copy_values(to, at, rows * values, type, big);
        return;
    }
    for (int64_t i = 0; i < rows; i++, to += bytes) {
        copy_values(to, at + i * filled, values, type, big);
        memset(to + filled, 0, (size_t)(bytes - filled));
    }
}

// The tensor of a row at `at`, whose file has these fields: without a copy where that can be.
// SB_FAULT_TOO_LARGE: there is no memory.
int32_t sb_npy_open(SbCall *call, const SbType *type, const char *at, const uint32_t *fields,
                    SbList *out);

int32_t sb_npy_open(SbCall *call, const SbType *type, const char *at, const uint32_t *fields,
                    SbList *out) {
    int64_t sizes[SB_RANK_MAX], count = fields[NPY_FIELD_WIDTH] / type->elem->size;
    const void *elements = sb_npy_elements(call, at, count, type->elem->kind,
                                           (int32_t)fields[NPY_FIELD_BIG]);
    if (!elements) return SB_FAULT_TOO_LARGE;
    *out = (SbList){(void *)elements, count};
    if (sb_lead_bytes(type) == 0) return SB_OK;
    for (uint32_t i = 0; i < type->rank; i++) sizes[i] = fields[NPY_FIELD_SHAPE + i];
    char *to = sb_tensor_room(call, type, sizes, out);
    if (!to) return SB_FAULT_TOO_LARGE;
    memcpy(to, elements, fields[NPY_FIELD_WIDTH]);
    return SB_OK;
}

static_assert(SB_BOOL == 0 && SB_I64 == 4 && SB_U64 == 8 && SB_F16 == 9 && SB_F32 == 11 &&
              SB_F64 == 12);

const SbReader sb_reader_npy = {
    .header_whole = header_whole, .header = header, .ends = ends, .row_end = row_end,
    .row_start = row_start, .show = show,
};
