// Lines of text sinks: fields quoted, spellings kept, else canonical text (docs/text_forms.md).
#include "codegen/reference/job.h"
#include "codegen/reference/read_json.h"

#include <string.h>

static Text null_word(const CsvOptions *csv) { return csv->null_count ? csv->nulls[0] : (Text){0}; }

static bool is_null_word(const CsvOptions *csv, Text text) {
    if (!csv->null_count) return text.len == 0;
    for (uint32_t i = 0; i < csv->null_count; i++) {
        if (text_eq(csv->nulls[i], text)) return true;
    }
    return false;
}

// Where a field stands, and what that asks of it.
typedef struct Spelled {
    Text text;
    bool first, nullable;
} Spelled;

static bool must_quote(const CsvOptions *csv, Spelled field) {
    Text text = field.text;
    if (field.nullable && is_null_word(csv, text)) return true;
    if (text_starts(text, TEXT("\xef\xbb\xbf"))) return true;
    if (field.first && csv->comment.len && text_starts(text, csv->comment)) return true;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == csv->delimiter || c == '\n' || c == '\r' || (csv->quote && c == csv->quote))
            return true;
    }
    return false;
}

// False: the field needs a quote and there is none.
static bool csv_field(TextBuf *buf, const CsvOptions *csv, Spelled field) {
    if (!must_quote(csv, field)) {
        text_buf_add(buf, field.text);
        return true;
    }
    if (!csv->quote) return false;
    text_buf_char(buf, csv->quote);
    for (size_t i = 0; i < field.text.len; i++) {
        if (field.text.at[i] == csv->quote) text_buf_char(buf, csv->quote);
        text_buf_char(buf, field.text.at[i]);
    }
    text_buf_char(buf, csv->quote);
    return true;
}

void csv_print_header(TextBuf *buf, const Op *op) {
    const CsvOptions *csv = &op->sink.options.csv;
    if (op->sink.format != FORMAT_CSV || !csv->header) return;
    for (uint32_t c = 0; c < op->sink.column_count; c++) {
        if (c) text_buf_char(buf, csv->delimiter);
        Spelled field = {op->sink.columns[c].name, c == 0, false};
        // A name that needs a quote where there is none is written as it is.
        if (!csv_field(buf, csv, field)) text_buf_add(buf, field.text);
    }
    text_buf_char(buf, '\n');
}

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

static bool counts_in_csv(const CsvOptions *csv, const Type *type, Text text) {
    if (!type_is_float(type) && type->kind != TYPE_DECIMAL) return true;
    char wrong = csv->decimal == ',' ? '.' : ',';
    return !memchr(text.at, wrong, text.len);
}

static bool counts_in_json(Arena *arena, const Type *type, Text text) {
    if (type->kind == TYPE_BOOL) return text_is(text, "true") || text_is(text, "false");
    if (!type_is_numeric(type)) return true;
    const JsonNode *node = json_parse(arena, text);
    return node && node->kind == JSON_NUMBER && node->text.len == text.len;
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
    bool counts = sink->format == FORMAT_CSV ? counts_in_csv(&sink->options.csv, type, text)
                                             : counts_in_json(job->arena, type, text);
    if (counts) *out = text;
    return true;
}

// ---- lines ------------------------------------------------------------------------------------

typedef struct Cell {
    Value       value;
    Text        spelling;
    const Type *type;      // Not null.
    bool        nullable;
} Cell;

static bool print_csv_cell(Job *job, const Op *op, uint32_t c, const Cell *cell, TextBuf *buf) {
    const CsvOptions *csv = &op->sink.options.csv;
    if (c) text_buf_char(buf, csv->delimiter);
    if (cell->value.is_null) {
        text_buf_add(buf, null_word(csv));
        return true;
    }
    if (cell->spelling.at && op->sink.columns[c].verbatim) {
        text_buf_add(buf, cell->spelling);
        return true;
    }
    // A spelling that this sink cannot write does not count.
    if (cell->spelling.at && csv_field(buf, csv, (Spelled){cell->spelling, c == 0, cell->nullable}))
        return true;
    TextBuf text = {0};
    value_print(&text, cell->type, &cell->value, csv->decimal ? csv->decimal : '.');
    Spelled field = {text_buf_view(&text), c == 0, cell->nullable};
    bool good = csv_field(buf, csv, field);
    if (!good) job->eval.detail = text_copy(job->arena, field.text);
    text_buf_free(&text);
    return good;
}

static void print_json_cell(const Op *op, uint32_t c, const Cell *cell, TextBuf *buf) {
    text_buf_char(buf, c ? ',' : '{');
    json_print_string(buf, op->sink.columns[c].name);
    text_buf_char(buf, ':');
    if (cell->value.is_null || !cell->spelling.at) {
        value_print_json(buf, cell->type, &cell->value);
        return;
    }
    bool quoted = !type_is_numeric(cell->type) && cell->type->kind != TYPE_BOOL;
    if (quoted) text_buf_char(buf, '"');
    text_buf_add(buf, cell->spelling);
    if (quoted) text_buf_char(buf, '"');
}

bool line_print(Job *job, const Op *op, const Row *row, TextBuf *buf, int32_t *status) {
    const SinkOp *sink = &op->sink;
    *status = SB_OK;
    eval_row(&job->eval, row, nullptr);
    for (uint32_t c = 0; c < sink->column_count; c++) {
        if (sink->columns[c].within) continue;
        const Type *type = graph_at(job->graph, sink->columns[c].value)->type;
        Cell cell = {.type = type_base(type), .nullable = type->nullable};
        *status = eval_expr(&job->eval, sink->columns[c].value, &cell.value);
        if (*status) return false;
        if (!spelling_of(job, sink, c, cell.type, &cell.spelling)) return false;
        if (sink->format == FORMAT_JSONL) {
            print_json_cell(op, c, &cell, buf);
        } else if (sink->format == FORMAT_TEXT) {
            if (!cell.value.is_null) value_print(buf, cell.type, &cell.value, '.');
        } else if (!print_csv_cell(job, op, c, &cell, buf)) {
            *status = SB_FAULT_UNWRITABLE;
            return false;
        }
    }
    if (sink->format == FORMAT_JSONL) text_buf_char(buf, '}');
    text_buf_char(buf, '\n');
    return true;
}
