// Rows of sinks: spellings kept, else canonical text (docs/text_forms.md), as the format has them.
#include "codegen/reference/format.h"

#include <string.h>

// ---- spellings --------------------------------------------------------------------------------

static bool plain_characters(Text text) {
    static const char others[] = " \t+-.,:/=";
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!word && (!c || !strchr(others, c))) return false;
    }
    return text.len > 0;
}

// The spelling without a pair of quotes; at null: it does not count.
static Text usable_spelling(Text text) {
    if (text.len >= 2 && text.at[0] == '"' && text.at[text.len - 1] == '"')
        text = (Text){text.at + 1, text.len - 2};
    return plain_characters(text) ? text : (Text){0};
}

// The spelling of column `index` that the sink can write, or at null. False: a fault.
static bool spelling_of(Job *job, const SinkOp *sink, uint32_t index, const Type *type, Text *out) {
    const SinkColumn *column = &sink->columns[index];
    Value value;
    *out = (Text){0};
    if (expr_is_none(column->spelling)) return true;
    if (eval_expr(&job->eval, column->spelling, &value)) return false;
    if (value.is_null || !value.text.at) return true;
    if (column->verbatim) {
        *out = value.text;
        return true;
    }
    Text text = usable_spelling(value.text);
    if (!text.at) return true;
    const FormatReference *format = format_reference(sink->format);
    if (format->spells && format->spells(job, sink, type, text)) *out = text;
    return true;
}

// ---- rows -------------------------------------------------------------------------------------

bool line_print(Job *job, const Op *op, const Row *row, TextBuf *buf, int32_t *status) {
    const SinkOp *sink = &op->sink;
    const FormatReference *format = format_reference(sink->format);
    *status = SB_OK;
    eval_row(&job->eval, row, nullptr);
    for (uint32_t c = 0; c < sink->column_count; c++) {
        if (sink->columns[c].within) continue;
        const Type *type = graph_at(job->graph, sink->columns[c].value)->type;
        Cell cell = {.type = type_base(type), .nullable = type->nullable};
        *status = eval_expr(&job->eval, sink->columns[c].value, &cell.value);
        if (*status) return false;
        if (!spelling_of(job, sink, c, cell.type, &cell.spelling)) return false;
        *status = format->cell(job, op, c, &cell, buf);
        if (*status) return false;
    }
    text_buf_add(buf, text_of(format->row_end));
    return true;
}
