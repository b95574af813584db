// JSON lines in the interpreter: each line is parsed as a whole.
#include "codegen/reference/format.h"

static void json_open(FileRows *rows) { text_skip_mark(&rows->cursor); }

static bool json_row(FileRows *rows, ReadFault *fault) {
    if (!line_next(&rows->cursor, true, &rows->row)) return false;
    fault->status = rows->row.status;
    if (fault->status) return true;
    size_t len = rows->row.end - rows->row.begin;
    JsonNode *object = json_parse(rows->job->arena,
                                  (Text){rows->cursor.text.at + rows->row.begin, len});
    rows->own = object;
    if (!object || object->kind != JSON_OBJECT) fault->status = SB_FAULT_BAD_JSON;
    return true;
}

static JsonFault json_column(FileRows *rows, uint32_t column, Value *out) {
    const SourceColumn *declared = &rows->op->columns[column];
    return json_read_column(rows->job->arena, declared->type, rows->own, declared->name,
                            rows->zone, out);
}

static Text json_raw(const FileRows *rows, uint32_t column) {
    const JsonNode *object = rows->own;
    for (const JsonNode *child = object->first; child; child = child->next)
        if (text_eq(child->key, rows->op->columns[column].name)) return child->text;
    return (Text){0};
}

static bool json_spells(Job *job, const SinkOp *sink, const Type *type, Text text) {
    (void)sink;
    if (type->kind == TYPE_BOOL) return text_is(text, "true") || text_is(text, "false");
    if (!type_is_numeric(type)) return true;
    const JsonNode *node = json_parse(job->arena, text);
    return node && node->kind == JSON_NUMBER && node->text.len == text.len;
}

static int32_t json_cell(Job *job, const Op *op, uint32_t c, const Cell *cell, TextBuf *buf) {
    (void)job;
    text_buf_char(buf, c ? ',' : '{');
    json_print_string(buf, op->sink.columns[c].name);
    text_buf_char(buf, ':');
    if (cell->value.is_null || !cell->spelling.at) {
        value_print_json(buf, cell->type, &cell->value);
        return SB_OK;
    }
    bool quoted = !type_is_numeric(cell->type) && cell->type->kind != TYPE_BOOL;
    if (quoted) text_buf_char(buf, '"');
    text_buf_add(buf, cell->spelling);
    if (quoted) text_buf_char(buf, '"');
    return SB_OK;
}

const FormatReference format_reference_jsonl = {
    .open = json_open, .next = json_row, .column = json_column, .raw = json_raw,
    .extension = "jsonl", .cell = json_cell, .row_end = "}\n", .spells = json_spells,
};
