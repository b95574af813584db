// npy: the header of a file, which has to agree with the declared type, and rows of one width.
#include "stdlib/formats/npy/npy.h"

#include "runtime/input.h"
#include "stdlib/number.h"

#include <stdlib.h>

// What file->fields says: the byte order, which emitted code asks for, and the rows of the header.
enum { FIELD_BIG, FIELD_ROWS, FIELD_ROWS_HIGH, FIELDS };

static const NpyType *type_of(const Source *source) {
    return npy_type_of(source->what->columns[0].type->kind);
}

static bool is_wrong(const SourceFile *file, const NpyHeader *header, Trouble *trouble) {
    trouble_set(trouble, TROUBLE_HEADER, "'%s' %s", file->path, header->wrong);
    trouble_fix(trouble, "save an array of one dimension as it is: numpy.save(path, array)");
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
    if (found.type != type_of(source)) {
        trouble_set(trouble, TROUBLE_HEADER, "'%s' has values of type %s, and column '%.*s' is %s",
                    file->path, found.type->name, (int)column.len, column.ptr,
                    type_of(source)->name);
        return trouble_fix(trouble, "declare it as {%.*s: %s}", (int)column.len, column.ptr,
                           found.type->name), false;
    }
    file->fields = calloc(FIELDS, sizeof *file->fields);
    if (!file->fields)
        return trouble_set(trouble, TROUBLE_NO_MEMORY, "no memory to read '%s'", file->path);
    file->fields[FIELD_BIG] = found.big;
    file->fields[FIELD_ROWS] = (uint32_t)found.rows;
    file->fields[FIELD_ROWS_HIGH] = (uint32_t)(found.rows >> 32);
    file->field_count = 1;
    file->begin = found.begin;
    return true;
}

static bool ends(const Source *source, const SourceFile *file, int64_t size, Trouble *trouble) {
    NpyHeader promised = {.begin = file->begin, .type = type_of(source),
                          .rows = file->fields[FIELD_ROWS] |
                                  (int64_t)file->fields[FIELD_ROWS_HIGH] << 32};
    return npy_whole(&promised, size) || is_wrong(file, &promised, trouble);
}

static int64_t row_end(const Window *window, int64_t pos, int64_t from) {
    int64_t width = type_of(window->source)->size;
    int64_t rows = from > pos ? (from - pos + width - 1) / width : 1;
    int64_t end = pos + rows * width;
    return end <= window->len ? end : -1;
}

static int64_t row_start(const Window *window, int64_t to) {
    int64_t width = type_of(window->source)->size;
    int64_t into = (window->offset + 1 - window->file->begin) % width;  // Of a row, at place 1.
    int64_t start = 1 + (into ? width - into : 0);
    return start <= to ? start : -1;
}

static void show(const Window *row, Text *out) {
    const NpyType *type = type_of(row->source);
    char digits[64], *end = digits;
    if (row->len < type->size) return;
    uint64_t value = npy_value(type, row->file->fields[FIELD_BIG], row->text);
    float narrow;
    double wide;
    memcpy(&narrow, &value, sizeof narrow);
    memcpy(&wide, &value, sizeof wide);
    int unused = 64 - 8 * type->size;
    if (type->kind == SB_BOOL) end = sb_put_bool(digits, value != 0);
    else if (type->letter == 'i') end = sb_put_i64(digits, (int64_t)(value << unused) >> unused);
    else if (type->letter == 'u') end = sb_put_u64(digits, value);
    else end = type->size == 4 ? sb_put_f32(digits, narrow) : sb_put_f64(digits, wide);
    sb_text_add(out, digits, end - digits);
}

// The rows of text[pos, end), as sb_lines_index says; what is left of a file that is cut short is
// no row.
void sb_npy_index(SbIndex *index, int64_t pos, int64_t end, uint32_t width);

void sb_npy_index(SbIndex *index, int64_t pos, int64_t end, uint32_t width) {
    sb_index_next(index);
    int64_t rows = (end - pos) / width, most = index->rows_max;
    if (index->ends_max < most) most = index->ends_max;
    if (rows > most) rows = most;
    for (int64_t i = 0; i < rows; i++) {
        index->starts[i] = (uint32_t)(pos + i * width);
        index->ends[i] = (uint32_t)(pos + (i + 1) * width);
    }
    index->rows = (uint32_t)rows;
    index->next = rows > 0 ? pos + rows * width : end;
}

static_assert(SB_BOOL == 0 && SB_I64 == 4 && SB_U64 == 8 && SB_F32 == 11 && SB_F64 == 12);

const SbReader sb_reader_npy = {
    .header_whole = header_whole, .header = header, .ends = ends, .row_end = row_end,
    .row_start = row_start, .show = show,
};
