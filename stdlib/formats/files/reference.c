// Files in the interpreter: each is a row.
#include "codegen/reference/format.h"

static bool file_row(FileRows *rows, ReadFault *fault) {
    if (rows->own) return false;
    rows->own = rows;
    rows->row = (TextRow){.end = rows->cursor.text.len};
    int64_t most = rows->cursor.row_max;
    if (most && (int64_t)rows->row.end > most) fault->status = SB_FAULT_ROW_TOO_LONG;
    return true;
}

static JsonFault file_column(FileRows *rows, uint32_t column, Value *out) {
    bool path = text_is(rows->op->columns[column].name, "path");
    *out = value_text(path ? rows->path : rows->cursor.text);
    return (JsonFault){0};
}

static Text file_show(FileRows *rows) { return rows->path; }

const FormatReference format_reference_files = {.next = file_row, .column = file_column,
                                                .show = file_show};
