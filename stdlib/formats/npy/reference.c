// npy in the interpreter: a value at a time.
#include "stdlib/formats/npy/npy.h"

#include "codegen/reference/format.h"

static void is_wrong(const FileRows *rows, const NpyHeader *header) {
    job_fail(rows->job, JOB_HEADER, "'%.*s' %s", TEXT_ARG(rows->path), header->wrong);
    job_fix(rows->job, "save an array of one dimension as it is: numpy.save(path, array)");
}

static void open_npy(FileRows *rows) {
    NpyHeader *header = rows->own = arena_new_of(rows->job->arena, NpyHeader);
    Text text = rows->cursor.text, column = rows->op->columns[0].name;
    const NpyType *wanted = npy_type_of(rows->op->columns[0].type->kind);
    if (!npy_read(text.at, (int64_t)text.len, header)) {
        is_wrong(rows, header);
    } else if (header->type != wanted) {
        job_fail(rows->job, JOB_HEADER, "'%.*s' has values of type %s, and column '%.*s' is %s",
                 TEXT_ARG(rows->path), header->type->name, TEXT_ARG(column), wanted->name);
        job_fix(rows->job, "declare it as {%.*s: %s}", TEXT_ARG(column), header->type->name);
    } else if (!npy_whole(header, (int64_t)text.len)) {
        is_wrong(rows, header);
    }
    rows->cursor.at = (size_t)header->begin;
}

static bool next_value(FileRows *rows, ReadFault *) {
    const NpyHeader *header = rows->own;
    if (rows->cursor.at >= rows->cursor.text.len) return false;
    rows->row = (TextRow){.begin = rows->cursor.at,
                          .end = rows->cursor.at + header->type->size};
    rows->cursor.at = rows->row.end;
    return true;
}

static JsonFault value(FileRows *rows, uint32_t, Value *out) {
    const NpyHeader *header = rows->own;
    uint64_t bits = npy_value(header->type, header->big,
                              rows->cursor.text.at + rows->row.begin);
    int unused = 64 - 8 * header->type->size;
    float narrow;
    *out = (Value){0};
    memcpy(&narrow, &bits, sizeof narrow);
    if (header->type->letter == 'b') out->i = bits != 0;
    if (header->type->letter == 'i') out->i = (int64_t)(bits << unused) >> unused;
    if (header->type->letter == 'u') out->u = bits;
    if (header->type->letter == 'f' && header->type->size == 4) out->f = (double)narrow;
    if (header->type->letter == 'f' && header->type->size == 8) memcpy(&out->f, &bits, sizeof bits);
    return (JsonFault){0};
}

static Text show_value(FileRows *rows) {
    Value shown;
    TextBuf buf = {0};
    value(rows, 0, &shown);
    value_print(&buf, rows->op->columns[0].type, &shown, '.');
    return text_buf_take(&buf, rows->job->arena);
}

static int32_t put_value(Job *, const Op *, uint32_t, const Cell *cell, TextBuf *buf) {
    const NpyType *type = npy_type_of(cell->type->kind);
    uint64_t bits = type->letter == 'u' ? cell->value.u : (uint64_t)cell->value.i;
    float narrow = (float)cell->value.f;
    if (type->letter == 'f') memcpy(&bits, &cell->value.f, sizeof bits);
    if (type->letter == 'f' && type->size == 4) memcpy(&bits, &narrow, sizeof narrow);
    text_buf_add(buf, (Text){(const char *)&bits, type->size});
    return SB_OK;
}

static void put_header(Job *job, const Op *op, Text rows, TextBuf *header) {
    char bytes[NPY_WRITTEN];
    const Expr *value = graph_at(job->graph, op->sink.columns[0].value);
    const NpyType *type = npy_type_of(value->type->kind);
    npy_write(type, (int64_t)rows.len / type->size, bytes);
    text_buf_add(header, (Text){bytes, sizeof bytes});
}

const FormatReference format_reference_npy = {
    .open = open_npy, .next = next_value, .column = value, .show = show_value, .extension = "npy",
    .cell = put_value, .row_end = "", .finish = put_header, .finish_bytes = NPY_WRITTEN,
};
