// JSON files in the interpreter: values one after the other, a byte at a time.
#include "codegen/reference/format.h"

#include <string.h>

// The file that is open.
typedef struct JsonFile {
    bool      array;
    size_t    first;   // Where the first row begins.
    JsonNode *object;  // Of the row at hand.
} JsonFile;

static bool is_space(char byte) { return strchr(" \t\r\n", byte) && byte; }

static bool is_between(char byte) { return is_space(byte) || byte == ',' || byte == ']'; }

static void move_to(TextCursor *cursor, size_t to) {
    while (cursor->at < to) cursor->line += cursor->text.at[cursor->at++] == '\n';
}

static void json_open(FileRows *rows) {
    TextCursor *cursor = &rows->cursor;
    JsonFile *file = rows->own = arena_new_of(rows->job->arena, JsonFile);
    text_skip_mark(cursor);
    Text text = cursor->text;
    size_t at = cursor->at, end = text.len;
    while (at < end && is_space(text.at[at])) at++;
    while (end > at && is_space(text.at[end - 1])) end--;
    bool any = at < end;
    file->array = any && text.at[at] == '[';
    if (any && !file->array && text.at[at] != '{') {
        job_fail(rows->job, JOB_HEADER,
                 "'%.*s' holds no JSON objects: it begins with neither '[' nor '{'",
                 TEXT_ARG(rows->path));
        job_fix(rows->job, "give a file that is an array, [{...}, {...}], or objects one after the "
                "other");
    } else if (file->array && text.at[end - 1] != ']') {
        job_fail(rows->job, JOB_HEADER, "'%.*s' ends within its array: there is no ']' at its end",
                 TEXT_ARG(rows->path));
        job_fix(rows->job, "give the whole file: this one is cut short");
    }
    move_to(cursor, any ? at + file->array : text.len);
    file->first = cursor->at;
}

// The end of the value at `at`. *unclosed: it has none.
static size_t value_end(Text text, size_t at, bool *unclosed) {
    *unclosed = false;
    char open = text.at[at];
    if (open != '{' && open != '[' && open != '"') {
        for (at++; at < text.len; at++) {
            char byte = text.at[at];
            if (is_between(byte) || byte == '{' || byte == '[' || byte == '"') break;
        }
        return at;
    }
    bool quoted = false;
    for (int64_t depth = 0; at < text.len; at++) {
        char byte = text.at[at];
        if (quoted && byte == '\\') {
            at++;
            continue;
        }
        if (byte == '"') quoted = !quoted;
        else if (!quoted && (byte == '{' || byte == '[')) depth++;
        else if (!quoted && (byte == '}' || byte == ']')) depth--;
        if (!quoted && depth == 0) return at + 1;
    }
    *unclosed = true;
    return text.len;
}

// What stands before a value, [begin, end).
typedef struct Between {
    size_t commas, closes, mark;
} Between;

static Between look_between(Text text, size_t begin, size_t end) {
    Between found = {.mark = end};
    for (size_t at = end; at-- > begin;) {
        found.commas += text.at[at] == ',';
        found.closes += text.at[at] == ']';
        if (!is_space(text.at[at])) found.mark = at;
    }
    return found;
}

static void set_row(FileRows *rows, size_t begin, size_t end, int32_t status) {
    TextCursor *cursor = &rows->cursor;
    move_to(cursor, begin);
    rows->row = (TextRow){.begin = begin, .end = end, .line = cursor->line, .status = status};
    move_to(cursor, end);
    rows->row.lines = 1 + cursor->line - rows->row.line;
    rows->row.next = end;
}

// After the last value. Is what stands there wrong?
static bool judge_end(FileRows *rows, const Between *found) {
    Text text = rows->cursor.text;
    const JsonFile *file = rows->own;
    size_t end = text.len;
    bool good = found->mark == end || (file->array && !found->commas && found->closes == 1);
    while (!good && is_space(text.at[end - 1])) end--;
    if (!good) set_row(rows, found->mark, end, SB_FAULT_JSON_BETWEEN);
    move_to(&rows->cursor, text.len);
    return !good;
}

static int32_t judge_row(FileRows *rows, size_t front, bool fits) {
    TextRow *row = &rows->row;
    JsonFile *file = rows->own;
    Text text = {rows->cursor.text.at + row->begin, row->end - row->begin};
    int64_t most = rows->cursor.row_max;
    if (most && (int64_t)(row->end - front) > most) return SB_FAULT_ROW_TOO_LONG;
    if (!utf8_valid(text)) return SB_FAULT_BAD_UTF8;
    if (!fits) return SB_FAULT_JSON_BETWEEN;
    file->object = json_parse(rows->job->arena, text);
    return file->object && file->object->kind == JSON_OBJECT ? SB_OK : SB_FAULT_NOT_OBJECT;
}

static bool json_row(FileRows *rows, ReadFault *fault) {
    const JsonFile *file = rows->own;
    Text text = rows->cursor.text;
    size_t front = rows->cursor.at, value = front;
    while (value < text.len && is_between(text.at[value])) value++;
    Between found = look_between(text, front, value);
    if (value == text.len) {
        bool row = judge_end(rows, &found);
        if (row) fault->status = SB_FAULT_JSON_BETWEEN;
        return row;
    }
    bool unclosed;
    size_t end = value_end(text, value, &unclosed);
    bool comma = file->array && front != file->first;
    bool fits = !found.closes && found.commas == comma;
    bool long_row = rows->cursor.row_max && (int64_t)(end - front) > rows->cursor.row_max;
    while (unclosed && !long_row && is_space(text.at[end - 1])) end--;
    set_row(rows, fits || long_row || found.mark == value ? value : found.mark, end, SB_OK);
    rows->row.status = fault->status = judge_row(rows, front, fits);
    return true;
}

static JsonFault json_column(FileRows *rows, uint32_t column, Value *out) {
    const SourceColumn *declared = &rows->op->columns[column];
    const JsonFile *file = rows->own;
    return json_read_column(rows->job->arena, declared->type, file->object, declared->name,
                            rows->zone, out);
}

static Text json_raw(const FileRows *rows, uint32_t column) {
    const JsonFile *file = rows->own;
    for (const JsonNode *child = file->object->first; child; child = child->next)
        if (text_eq(child->key, rows->op->columns[column].name)) return child->text;
    return (Text){0};
}

static void array_front(TextBuf *buf, const Op *op) {
    (void)op;
    text_buf_char(buf, '[');
}

static int32_t array_cell(Job *job, const Op *op, uint32_t c, const Cell *cell, TextBuf *buf) {
    if (c == 0) text_buf_char(buf, '\n');
    return format_reference(FORMAT_JSONL)->cell(job, op, c, cell, buf);
}

static bool array_spells(Job *job, const SinkOp *sink, const Type *type, Text text) {
    return format_reference(FORMAT_JSONL)->spells(job, sink, type, text);
}

const FormatReference format_reference_json = {
    .open = json_open, .next = json_row, .column = json_column, .raw = json_raw,
    .extension = "json", .header = array_front, .cell = array_cell, .row_end = "}",
    .between = ",", .footer = "\n]\n", .spells = array_spells,
};
