// CSV in the interpreter: fields by the header, null words, quotes.
#include "codegen/reference/format.h"

#include <string.h>

// ---- reading ------------------------------------------------------------------------------------

static int64_t header_field(const TextRow *header, Text name, size_t *times) {
    int64_t found = -1;
    *times = 0;
    for (size_t i = 0; i < header->field_count; i++) {
        if (!text_eq(header->fields[i].text, name)) continue;
        if (!(*times)++) found = (int64_t)i;
    }
    return found;
}

enum : uint32_t { NO_FIELD = UINT32_MAX };

static Text null_word(const CsvOptions *csv) { return csv->null_count ? csv->nulls[0] : (Text){0}; }

// Passes over what stands in front of the header.
static bool csv_lead(FileRows *rows) {
    char delimiter, own = rows->op->options.csv.delimiter;
    Text path = rows->path;
    if (!csv_skip_lead(&rows->cursor, &delimiter)) {
        job_fail(rows->job, JOB_HEADER, "'%.*s' ends within the %lld lines to skip", TEXT_ARG(path),
                 (long long)rows->op->options.csv.skip);
        job_fix(rows->job, "give a smaller `skip`, or leave the file out");
        return false;
    }
    if (!delimiter || delimiter == own) return true;
    job_fail(rows->job, JOB_HEADER, "'%.*s' begins with a line `sep=%c`, and the delimiter is '%c'",
             TEXT_ARG(path), delimiter, own);
    job_fix(rows->job, "give the read delimiter = \"%c\"", delimiter);
    return false;
}

// Reads the header and finds the field of every column.
static void csv_open(FileRows *rows) {
    TextCursor *cursor = &rows->cursor;
    const SourceOp *op = rows->op;
    Text path = rows->path;
    TextRow header = {0};
    cursor->field_count = op->column_count;
    uint32_t *field_of = rows->own = arena_new_array(rows->job->arena, uint32_t,
                                                       op->column_count + 1);
    for (uint32_t c = 0; c < op->column_count; c++) field_of[c] = c;
    if (!csv_lead(rows)) return;
    if (!op->options.csv.header) return;
    cursor->field_count = 0;
    bool found = csv_next(cursor, &header);
    if (!found) {
        job_fail(rows->job, JOB_HEADER, "'%.*s' is empty: it has no header", TEXT_ARG(path));
        job_fix(rows->job, "give a file with a header, or leave this one out");
        return;
    }
    if (header.status) {
        job_fail(rows->job, JOB_HEADER, "the header of '%.*s' is damaged: %s", TEXT_ARG(path),
                 fault_message(header.status));
        job_fix(rows->job, "correct the first row of the file");
        return;
    }
    cursor->field_count = header.field_count;
    for (uint32_t c = 0; c < op->column_count; c++) {
        size_t times;
        int64_t field = header_field(&header, op->columns[c].name, &times);
        bool lacks = !times && op->options.csv.missing_null && op->columns[c].type->nullable;
        if (times != 1 && !lacks) {
            job_fail(rows->job, JOB_HEADER, "'%.*s' has %s '%.*s'", TEXT_ARG(path),
                     times ? "two columns" : "no column", TEXT_ARG(op->columns[c].name));
            if (times) job_fix(rows->job, "rename one of them in the file's header");
            return;
        }
        field_of[c] = lacks ? NO_FIELD : (uint32_t)field;
    }
}

static bool csv_row(FileRows *rows, ReadFault *fault) {
    if (!csv_next(&rows->cursor, &rows->row)) return false;
    fault->status = rows->row.status;
    if (fault->status == SB_FAULT_OPEN_QUOTE) fault->weight = rows->row.lines;
    if (fault->status == SB_FAULT_FIELD_COUNT) {
        fault->detail = text_format(rows->job->arena, "%zu instead of %zu", rows->row.field_count,
                                    rows->cursor.field_count);
        fault->bare = true;
    }
    return true;
}

// nullptr: the file lacks the column.
static const CsvField *csv_field_of(const FileRows *rows, uint32_t column) {
    uint32_t field = ((const uint32_t *)rows->own)[column];
    return field == NO_FIELD ? nullptr : &rows->row.fields[field];
}

static Text csv_raw(const FileRows *rows, uint32_t column) {
    const CsvField *field = csv_field_of(rows, column);
    return field ? field->raw : null_word(&rows->op->options.csv);
}

static bool is_null_word(const CsvOptions *csv, Text text) {
    if (!csv->null_count && !csv->strict_nulls) return text.len == 0;
    for (uint32_t i = 0; i < csv->null_count; i++) {
        if (text_eq(csv->nulls[i], text)) return true;
    }
    return false;
}

static Text trimmed(Text text) {
    while (text.len && strchr(" \t", *text.at)) text.at++, text.len--;
    while (text.len && strchr(" \t", text.at[text.len - 1])) text.len--;
    return text;
}

static JsonFault csv_column(FileRows *rows, uint32_t column, Value *out) {
    const Type *type = rows->op->columns[column].type, *base = type_base(type);
    const CsvField *field = csv_field_of(rows, column);
    const CsvOptions *csv = &rows->op->options.csv;
    if (!field) {
        *out = value_null();
        return (JsonFault){0};
    }
    Text word = type_is_numeric(base) ? trimmed(field->text) : field->text;
    bool null_word = !field->quoted && is_null_word(csv, word);
    if (null_word && type->nullable) {
        *out = value_null();
        return (JsonFault){0};
    }
    if (base->kind == TYPE_STR) {
        *out = value_text(field->text);
        return (JsonFault){0};
    }
    if (null_word || (!field->quoted && !word.len))
        return (JsonFault){.status = SB_FAULT_MISSING};
    if (base->kind == TYPE_JSON || type_is_nested(base))
        return json_read_value(rows->job->arena, base, field->text, rows->zone, out);
    ReadOptions options = {csv->decimal ? csv->decimal : '.', rows->zone};
    Text text = type_is_numeric(base) ? csv_ungroup(rows->job->arena, csv, field->text)
                                      : field->text;
    int32_t status = value_read(rows->job->arena, base, text, options, out);
    return (JsonFault){status, text};
}

// ---- writing ------------------------------------------------------------------------------------

static bool quotes_as_null(const CsvOptions *csv, Text text) {
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
    if (field.nullable && quotes_as_null(csv, text)) return true;
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

static void csv_header(TextBuf *buf, const Op *op) {
    const CsvOptions *csv = &op->sink.options.csv;
    if (!csv->header) return;
    for (uint32_t c = 0; c < op->sink.column_count; c++) {
        if (c) text_buf_char(buf, csv->delimiter);
        Spelled field = {op->sink.columns[c].name, c == 0, false};
        // A name that needs a quote where there is none is written as it is.
        if (!csv_field(buf, csv, field)) text_buf_add(buf, field.text);
    }
    text_buf_char(buf, '\n');
}

static bool csv_spells(Job *job, const SinkOp *sink, const Type *type, Text text) {
    (void)job;
    if (!type_is_float(type) && type->kind != TYPE_DECIMAL) return true;
    char wrong = sink->options.csv.decimal == ',' ? '.' : ',';
    return !memchr(text.at, wrong, text.len);
}

static int32_t csv_cell(Job *job, const Op *op, uint32_t c, const Cell *cell, TextBuf *buf) {
    const CsvOptions *csv = &op->sink.options.csv;
    if (c) text_buf_char(buf, csv->delimiter);
    if (cell->value.is_null) {
        text_buf_add(buf, null_word(csv));
        return SB_OK;
    }
    if (cell->spelling.at && op->sink.columns[c].verbatim) {
        text_buf_add(buf, cell->spelling);
        return SB_OK;
    }
    // A spelling that this sink cannot write does not count.
    if (cell->spelling.at && csv_field(buf, csv, (Spelled){cell->spelling, c == 0, cell->nullable}))
        return SB_OK;
    TextBuf text = {0};
    value_print(&text, cell->type, &cell->value, csv->decimal ? csv->decimal : '.');
    Spelled field = {text_buf_view(&text), c == 0, cell->nullable};
    bool good = csv_field(buf, csv, field);
    if (!good) job->eval.detail = text_copy(job->arena, field.text);
    text_buf_free(&text);
    return good ? SB_OK : SB_FAULT_UNWRITABLE;
}

const FormatReference format_reference_csv = {
    .open = csv_open, .next = csv_row, .column = csv_column, .raw = csv_raw, .extension = "csv",
    .header = csv_header, .cell = csv_cell, .row_end = "\n", .spells = csv_spells,
};
