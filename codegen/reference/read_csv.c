#include "codegen/reference/read_csv.h"

#include "codegen/reference/value.h"
#include "runtime/abi.h"

#include <string.h>
#include <strings.h>

static bool at_end(const TextCursor *cursor, size_t at) { return at >= cursor->text.len; }

// Bytes of the line end at `at`: LF or CRLF; 0: there is none.
static size_t line_end(const TextCursor *cursor, size_t at) {
    if (at_end(cursor, at)) return 0;
    if (cursor->text.at[at] == '\n') return 1;
    return cursor->text.at[at] == '\r' && !at_end(cursor, at + 1) && cursor->text.at[at + 1] == '\n'
               ? 2
               : 0;
}

// From `at` to the end of the line.
static size_t skip_line(const TextCursor *cursor, size_t at) {
    while (!at_end(cursor, at) && !line_end(cursor, at)) at++;
    return at;
}

// The row ends at `end`: moves the cursor after its line end and counts lines.
static void finish(TextCursor *cursor, TextRow *row, size_t end) {
    row->end = end;
    row->next = end + line_end(cursor, end);
    row->line = cursor->line;
    row->lines = 0;
    for (size_t i = row->begin; i < row->next; i++) row->lines += cursor->text.at[i] == '\n';
    cursor->line += row->lines;
    // A last line counts without a line end too.
    if (row->next == end) row->lines++;
    cursor->at = row->next;
}

static void add_field(TextCursor *cursor, TextRow *row, CsvField field) {
    arena_push(cursor->arena, row->fields, row->field_count, row->field_cap, field);
}

// The field that opens with a quote at `at`; returns the place after its closing quote, or
// SIZE_MAX when it is never closed.
static size_t quoted_field(TextCursor *cursor, TextRow *row, size_t at) {
    char quote = cursor->csv->quote;
    TextBuf buf = {0};
    size_t begin = at++;
    for (; !at_end(cursor, at); at++) {
        char c = cursor->text.at[at];
        if (c == quote) {
            if (at_end(cursor, at + 1) || cursor->text.at[at + 1] != quote) break;
            at++;
        }
        text_buf_char(&buf, c);
    }
    Text copy = text_buf_take(&buf, cursor->arena);
    if (at_end(cursor, at)) return SIZE_MAX;
    CsvField field = {{cursor->text.at + begin, at + 1 - begin}, copy, true};
    add_field(cursor, row, field);
    return at + 1;
}

static size_t bare_field(TextCursor *cursor, TextRow *row, size_t at) {
    size_t begin = at;
    while (!at_end(cursor, at) && cursor->text.at[at] != cursor->csv->delimiter &&
           !line_end(cursor, at))
        at++;
    Text text = {cursor->text.at + begin, at - begin};
    add_field(cursor, row, (CsvField){text, text, false});
    return at;
}

static bool is_comment(const TextCursor *cursor) {
    Text rest = {cursor->text.at + cursor->at, cursor->text.len - cursor->at};
    return cursor->csv->comment.len && text_starts(rest, cursor->csv->comment);
}

static void skip_lines(TextCursor *cursor) {
    TextRow skipped;
    while (!at_end(cursor, cursor->at)) {
        bool blank = line_end(cursor, cursor->at) && cursor->field_count != 1;
        if (!blank && !is_comment(cursor)) return;
        skipped.begin = cursor->at;
        finish(cursor, &skipped, skip_line(cursor, cursor->at));
    }
}

// What is wrong with a row whose fields were found.
static int32_t judge_row(const TextCursor *cursor, const TextRow *row, int32_t status) {
    Text text = {cursor->text.at + row->begin, row->end - row->begin};
    if (status == SB_FAULT_OPEN_QUOTE) return status;
    if (cursor->row_max && (int64_t)text.len > cursor->row_max) return SB_FAULT_ROW_TOO_LONG;
    if (status) return status;
    if (cursor->field_count && row->field_count != cursor->field_count) return SB_FAULT_FIELD_COUNT;
    return utf8_valid(text) ? SB_OK : SB_FAULT_BAD_UTF8;
}

// The end of the file, before the line end that it may have.
static size_t last_line_end(const TextCursor *cursor) {
    size_t len = cursor->text.len;
    if (len >= 2 && line_end(cursor, len - 2) == 2) return len - 2;
    return len && line_end(cursor, len - 1) ? len - 1 : len;
}

bool csv_next(TextCursor *cursor, TextRow *row) {
    skip_lines(cursor);
    if (at_end(cursor, cursor->at)) return false;
    size_t at = row->begin = cursor->at;
    int32_t status = SB_OK;
    row->field_count = 0;
    for (;;) {
        bool quoted =
            cursor->csv->quote && !at_end(cursor, at) && cursor->text.at[at] == cursor->csv->quote;
        at = quoted ? quoted_field(cursor, row, at) : bare_field(cursor, row, at);
        if (at == SIZE_MAX) {
            status = SB_FAULT_OPEN_QUOTE;
            at = last_line_end(cursor);
            break;
        }
        if (at_end(cursor, at) || line_end(cursor, at)) break;
        if (cursor->text.at[at] != cursor->csv->delimiter) {
            status = SB_FAULT_BAD_QUOTE;
            at = skip_line(cursor, at);
            break;
        }
        at++;
    }
    finish(cursor, row, at);
    row->status = judge_row(cursor, row, status);
    return true;
}

static bool blank_line(const TextCursor *cursor, const TextRow *row) {
    for (size_t i = row->begin; i < row->end; i++)
        if (cursor->text.at[i] != ' ' && cursor->text.at[i] != '\t') return false;
    return true;
}

void text_skip_mark(TextCursor *cursor) {
    if (text_starts(cursor->text, TEXT("\xef\xbb\xbf"))) cursor->at = 3;
}

// `sep=X`, in quotes or not, and nothing else on its line.
static bool is_sep(Text line) {
    if (line.len == 7 && line.at[0] == '"' && line.at[6] == '"') line = (Text){line.at + 1, 5};
    return line.len == 5 && strncasecmp(line.at, "sep=", 4) == 0 && line.at[4] != '\r';
}

bool csv_skip_lead(TextCursor *cursor, char *delimiter) {
    TextRow line;
    *delimiter = 0;
    text_skip_mark(cursor);
    for (int64_t i = 0; i < cursor->csv->skip; i++) {
        if (at_end(cursor, cursor->at)) return false;
        line.begin = cursor->at;
        finish(cursor, &line, skip_line(cursor, cursor->at));
        if (line.next == line.end) return false;
    }
    size_t end = skip_line(cursor, cursor->at);
    Text text = {cursor->text.at + cursor->at, end - cursor->at};
    if (!is_sep(text)) return true;
    *delimiter = text.at[text.len == 7 ? 5 : 4];
    line.begin = cursor->at;
    finish(cursor, &line, end);
    return true;
}

Text csv_ungroup(Arena *arena, const CsvOptions *csv, Text text) {
    size_t at = 0, digits = 0, groups = 1;
    if (!csv->thousands || !text.len) return text;
    while (at < text.len && strchr(" \t", text.at[at])) at++;
    if (at < text.len && strchr("+-", text.at[at])) at++;
    TextBuf buf = {0};
    text_buf_add(&buf, (Text){text.at, at});
    bool good = true;
    for (; at < text.len; at++) {
        char c = text.at[at];
        if (c == csv->thousands) {
            good &= groups == 1 ? digits >= 1 && digits <= 3 : digits == 3;
            groups++;
            digits = 0;
        } else if (c >= '0' && c <= '9') {
            text_buf_char(&buf, c);
            digits++;
        } else break;
    }
    good &= groups > 1 && digits == 3;
    text_buf_add(&buf, (Text){text.at + at, text.len - at});
    Text plain = text_buf_take(&buf, arena);
    return good ? plain : text;
}

bool line_next(TextCursor *cursor, bool skip_blank, TextRow *row) {
    do {
        if (at_end(cursor, cursor->at)) return false;
        row->begin = cursor->at;
        finish(cursor, row, skip_line(cursor, cursor->at));
    } while (skip_blank && blank_line(cursor, row));
    Text text = {cursor->text.at + row->begin, row->end - row->begin};
    row->status = cursor->row_max && (int64_t)text.len > cursor->row_max ? SB_FAULT_ROW_TOO_LONG
                  : utf8_valid(text) ? SB_OK : SB_FAULT_BAD_UTF8;
    return true;
}
