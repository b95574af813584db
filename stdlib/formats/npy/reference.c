// npy in the interpreter: a value at a time.
#include "stdlib/formats/npy/npy.h"

#include "codegen/reference/format.h"
#include "codegen/reference/half.h"

static NpyRow row_of(const Type *type) {
    return npy_row(type_element(type)->kind, type->rank, type->shape);
}

static void is_wrong(const FileRows *rows, const NpyHeader *header) {
    job_fail(rows->job, JOB_HEADER, "'%.*s' %s", TEXT_ARG(rows->path), header->wrong);
    job_fix(rows->job, header->fortran
                           ? "save it in C order: numpy.save(path, numpy.ascontiguousarray(array))"
                           : "save the array as it is: numpy.save(path, array)");
}

static void open_npy(FileRows *rows) {
    NpyHeader *header = rows->own = arena_new_of(rows->job->arena, NpyHeader);
    Text text = rows->cursor.text, column = rows->op->columns[0].name;
    NpyRow wanted = row_of(rows->op->columns[0].type);
    char has[NPY_WORDS], wants[NPY_WORDS];
    if (!npy_read(text.at, (int64_t)text.len, header)) {
        is_wrong(rows, header);
    } else if (!npy_has_rows(header, &wanted)) {
        job_fail(rows->job, JOB_HEADER, "'%.*s' has values of type %s, and column '%.*s' is %s",
                 TEXT_ARG(rows->path), npy_row_name(&header->row, has), TEXT_ARG(column),
                 npy_row_name(&wanted, wants));
        job_fix(rows->job, "declare it as {%.*s: %s}", TEXT_ARG(column), has);
    } else if (!npy_whole(header, (int64_t)text.len)) {
        is_wrong(rows, header);
    }
    rows->cursor.at = (size_t)header->begin;
}

static bool next_value(FileRows *rows, ReadFault *) {
    const NpyHeader *header = rows->own;
    if (rows->cursor.at >= rows->cursor.text.len) return false;
    rows->row = (TextRow){.begin = rows->cursor.at,
                          .end = rows->cursor.at + (size_t)npy_width(&header->row)};
    rows->cursor.at = rows->row.end;
    return true;
}

static Value value_at(const NpyType *type, bool big, const char *at) {
    uint64_t bits = npy_value(type, big, at);
    int unused = 64 - 8 * type->size;
    float narrow;
    Value out = {0};
    memcpy(&narrow, &bits, sizeof narrow);
    if (type->letter == 'b') out.i = bits != 0;
    if (type->letter == 'i') out.i = (int64_t)(bits << unused) >> unused;
    if (type->letter == 'u') out.u = bits;
    if (type->letter == 'f' && type->size == 2)
        out.f = half_of_bits(half_form(TYPE_F16), (uint16_t)bits);
    if (type->letter == 'f' && type->size == 4) out.f = (double)narrow;
    if (type->letter == 'f' && type->size == 8) memcpy(&out.f, &bits, sizeof bits);
    return out;
}

static JsonFault value(FileRows *rows, uint32_t, Value *out) {
    const NpyHeader *header = rows->own;
    const char *at = rows->cursor.text.at + rows->row.begin;
    size_t count = (size_t)npy_values(&header->row), size = header->row.type->size;
    Value *items = arena_new_array(rows->job->arena, Value, count);
    for (size_t i = 0; i < count; i++)
        items[i] = value_at(header->row.type, header->big, at + i * size);
    *out = header->row.rank ? (Value){.items = items, .item_count = (uint32_t)count,
                                      .sizes = type_open_count(rows->op->columns[0].type)
                                                   ? header->row.shape
                                                   : nullptr}
                            : items[0];
    return (JsonFault){0};
}

static Text show_value(FileRows *rows) {
    Value shown;
    TextBuf buf = {0};
    value(rows, 0, &shown);
    value_print(&buf, rows->op->columns[0].type, &shown, '.');
    return text_buf_take(&buf, rows->job->arena);
}

static void put_value(const NpyType *type, const Value *value, TextBuf *buf) {
    uint64_t bits = type->letter == 'u' ? value->u : (uint64_t)value->i;
    float narrow = (float)value->f;
    if (type->letter == 'f') memcpy(&bits, &value->f, sizeof bits);
    if (type->letter == 'f' && type->size == 4) memcpy(&bits, &narrow, sizeof narrow);
    if (type->letter == 'f' && type->size == 2)
        bits = half_bits(half_form(TYPE_F16), value->f);
    if (type->letter == 'f' && value->f != value->f) bits = npy_nan(type);
    text_buf_add(buf, (Text){(const char *)&bits, type->size});
}

static void put_header(const NpyRow *row, int64_t rows, TextBuf *buf) {
    char bytes[NPY_WRITTEN];
    npy_write(row, rows, bytes);
    text_buf_add(buf, (Text){bytes, sizeof bytes});
}

static int32_t put_row(Job *, const Op *op, uint32_t, const Cell *cell, TextBuf *buf) {
    NpyRow row = row_of(cell->type);
    if (npy_is_open(&row)) memcpy(row.shape, cell->value.sizes, row.rank * sizeof *row.shape);
    if (op->sink.options.apart) put_header(&row, NPY_ONE_ROW, buf);
    if (!row.rank) put_value(row.type, &cell->value, buf);
    for (uint32_t i = 0; row.rank && i < cell->value.item_count; i++)
        put_value(row.type, &cell->value.items[i], buf);
    return SB_OK;
}

static void finish(Job *job, const Op *op, Text rows, TextBuf *header) {
    NpyRow row = row_of(graph_at(job->graph, op->sink.columns[0].value)->type);
    put_header(&row, (int64_t)rows.len / npy_width(&row), header);
}

const FormatReference format_reference_npy = {
    .open = open_npy, .next = next_value, .column = value, .show = show_value, .extension = "npy",
    .cell = put_row, .row_end = "", .finish = finish, .finish_bytes = NPY_WRITTEN,
};
