// Text in the interpreter: lines as they are.
#include "codegen/reference/format.h"

static void text_open(FileRows *rows) { text_skip_mark(&rows->cursor); }

static bool text_row(FileRows *rows, ReadFault *fault) {
    if (!line_next(&rows->cursor, false, &rows->row)) return false;
    const SourceOp *op = rows->op;
    bool bytes = op->column_count && type_base(op->columns[0].type)->kind == TYPE_BYTES;
    fault->status = rows->row.status;
    if (bytes && fault->status == SB_FAULT_BAD_UTF8) fault->status = SB_OK;
    return true;
}

static JsonFault text_column(FileRows *rows, uint32_t, Value *out) {
    *out = value_text(rows->raw);
    return (JsonFault){0};
}

static Text text_raw(const FileRows *rows, uint32_t) { return rows->raw; }

static int32_t text_cell(Job *, const Op *, uint32_t, const Cell *cell, TextBuf *buf) {
    if (!cell->value.is_null) value_print(buf, cell->type, &cell->value, '.');
    return SB_OK;
}

const FormatReference format_reference_text = {
    .open = text_open, .next = text_row, .column = text_column, .raw = text_raw,
    .extension = "txt", .cell = text_cell, .row_end = "\n", .cuts_rows = true,
};
