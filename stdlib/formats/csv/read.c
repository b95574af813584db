// CSV: the header of a file, by which columns are found, and where rows end.
#include "runtime/input.h"
#include "stdlib/csv.h"
#include "stdlib/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct Header {
    SbStr   *names;   // Unquoted.
    uint32_t count;
    char    *text;    // What the names point into.
} Header;

static void header_close(Header *header) {
    free(header->names);
    free(header->text);
}

// What is wrong with a header's row; SB_OK: nothing.
static int32_t header_fault(const SbCsvDialect *dialect, const char *text, int64_t len) {
    const char quote = dialect->quote;
    for (int64_t at = 0; quote != 0 && at < len; at++) {
        bool open = text[at] == quote;
        for (at += open; open && at < len; at++) {
            if (text[at] != quote) continue;
            open = at + 1 < len && text[at + 1] == quote;
            at += open;
            if (!open && at + 1 < len && text[at + 1] != dialect->delimiter)
                return SB_FAULT_BAD_QUOTE;
        }
        if (open) return SB_FAULT_OPEN_QUOTE;
        while (at < len && text[at] != dialect->delimiter) at++;
    }
    return sb_utf8_valid(text, len) ? SB_OK : SB_FAULT_BAD_UTF8;
}

// Splits one row into names.
static bool header_split(Header *header, const SbCsvDialect *dialect, const char *text,
                         int64_t len) {
    header->text = malloc((size_t)len + 1);
    header->names = malloc(((size_t)len + 1) * sizeof *header->names);
    if (!header->text || !header->names) return false;
    char *out = header->text;
    for (int64_t at = 0;; at++) {
        char *begin = out;
        if (at < len && dialect->quote != 0 && text[at] == dialect->quote) {
            for (at++; at < len; *out++ = text[at++]) {
                if (text[at] != dialect->quote) continue;
                if (++at >= len || text[at] != dialect->quote) break;
            }
        }
        for (; at < len && text[at] != dialect->delimiter; at++) *out++ = text[at];
        header->names[header->count++] = (SbStr){begin, out - begin};
        if (at >= len) return true;
    }
}

static SbStr header_name(const void *self, uint32_t index) {
    return ((const Header *)self)->names[index];
}

// What to do about a column that the header lacks: the name that was meant, a delimiter, or else
// the names that are there.
static void fix_header(const Header *header, SbStr name, Trouble *trouble) {
    enum { NAMES_BYTES = 160 };
    SbStr near = nearest_name(name, header_name, header, header->count);
    for (uint32_t i = 0; i < header->count; i++) {
        SbStr other = header->names[i];
        bool same_letters = other.len == name.len &&
                            strncasecmp(other.ptr, name.ptr, (size_t)name.len) == 0;
        if (same_letters) near = other;
    }
    SbStr first = header->names[0];
    char found = 0;
    for (const char *d = ";\t|,"; header->count == 1 && !found && *d; d++)
        if (memchr(first.ptr, *d, (size_t)first.len)) found = *d;
    if (found) {
        trouble_fix(trouble, "the header is one field: give its delimiter = \"%s%c\"",
                    found == '\t' ? "\\" : "", found == '\t' ? 't' : found);
    } else if (near.len > 0) {
        trouble_fix(trouble, "did you mean '%.*s'? Names of columns must be the same",
                    (int)near.len, near.ptr);
    } else {
        Text names = {0};
        for (uint32_t i = 0; i < header->count; i++) {
            sb_text_str(&names, i ? ", " : "");
            sb_text_add(&names, header->names[i].ptr, header->names[i].len);
        }
        Text shown = {0};
        sb_text_add_short(&shown, names.ptr, names.len, NAMES_BYTES);
        trouble_fix(trouble, "take a name of the header: %.*s", (int)shown.len, shown.ptr);
        sb_text_close(&names);
        sb_text_close(&shown);
    }
}

static bool same(SbStr a, SbStr b) {
    return a.len == b.len && memcmp(a.ptr, b.ptr, (size_t)a.len) == 0;
}

static bool header_map(const Source *source, SourceFile *file, const Header *header,
                       Trouble *trouble) {
    const SbSource *what = source->what;
    for (uint32_t c = 0; c < what->column_count; c++) {
        SbStr name = what->columns[c].name;
        uint32_t found = SB_CSV_NO_FIELD;
        for (uint32_t f = 0; f < header->count; f++) {
            if (!same(header->names[f], name)) continue;
            if (found != SB_CSV_NO_FIELD) {
                trouble_set(trouble, TROUBLE_HEADER, "'%s' has two columns '%.*s'", file->path,
                            (int)name.len, name.ptr);
                trouble_fix(trouble, "rename one of them in the file's header");
                return false;
            }
            found = f;
        }
        bool may_lack = what->missing_null && what->columns[c].type->nullable;
        if (found == SB_CSV_NO_FIELD && !may_lack) {
            trouble_set(trouble, TROUBLE_HEADER, "'%s' has no column '%.*s'", file->path,
                        (int)name.len, name.ptr);
            fix_header(header, name, trouble);
            return false;
        }
        file->fields[c] = found;
    }
    file->field_count = header->count;
    return true;
}

// The first row: blank and comment lines are skipped. -1: the text ends first.
static int64_t first_row(const Source *source, const char *text, int64_t at, int64_t len) {
    SbStr comment = source->what->comment;
    while (at < len) {
        bool blank = text[at] == '\n' || (text[at] == '\r' && at + 1 < len && text[at + 1] == '\n');
        bool skip = comment.len > 0 && at + comment.len <= len &&
                    memcmp(text + at, comment.ptr, (size_t)comment.len) == 0;
        if (!blank && !skip) return at;
        const char *end = memchr(text + at, '\n', (size_t)(len - at));
        at = end ? end + 1 - text : len;
    }
    return -1;
}

// The line by which a spreadsheet says what stands between its fields, `sep=;` or `"sep=;"`, where
// one begins at `at`: where it ends, and *delimiter. Else `at`.
static int64_t pass_sep(SbStr front, int64_t at, char *delimiter) {
    bool quoted = at < front.len && front.ptr[at] == '"';
    int64_t name = at + quoted, end = name + 5;
    if (end + quoted > front.len || strncasecmp(front.ptr + name, "sep=", 4) != 0) return at;
    char named = front.ptr[end - 1];
    if (named == '\r' || named == '\n' || (quoted && front.ptr[end] != '"')) return at;
    end += quoted;
    bool cr = end + 1 < front.len && front.ptr[end] == '\r' && front.ptr[end + 1] == '\n';
    if (end < front.len && !cr && front.ptr[end] != '\n') return at;
    *delimiter = named;
    return end == front.len ? end : end + 1 + cr;
}

// After a byte order mark and the lines that are skipped. -1: the text ends before that.
static int64_t skipped_end(const Source *source, SbStr front) {
    int64_t at = source_mark_bytes(front);
    for (int64_t i = 0; i < source->what->skip; i++) {
        const char *end = memchr(front.ptr + at, '\n', (size_t)(front.len - at));
        if (!end) return -1;
        at = end + 1 - front.ptr;
    }
    return at;
}

static bool header_whole(const Source *source, SbStr front) {
    enum { SEP_BYTES = 16 };  // More than a line `sep=;` has.
    char delimiter = 0;
    int64_t at = skipped_end(source, front);
    if (at < 0 || front.len - at < SEP_BYTES) return false;
    if (!source->what->header) return true;
    at = pass_sep(front, at, &delimiter);
    at = first_row(source, front.ptr, at, front.len);
    return at >= 0 && sb_csv_row_end(front.ptr, at, at + 1, front.len, &source->dialect) >= 0;
}

// What is wrong with the row, whose file ends with it when `last`.
static bool judge_header(const Source *source, const SourceFile *file, SbStr row, bool last,
                         Trouble *trouble) {
    int32_t fault = row.len > source->row_max ? SB_FAULT_ROW_TOO_LONG
                                              : header_fault(&source->dialect, row.ptr, row.len);
    const SbNotText *is = fault ? sb_not_text(row.ptr, row.len)
                          : last ? sb_cr_lines(row.ptr, row.len)
                                 : nullptr;
    if (is) return source_not_text(file, is, trouble);
    if (!fault) return true;
    trouble_set(trouble, TROUBLE_HEADER, "the header of '%s' is damaged: %s", file->path,
                fault_info(fault)->message);
    trouble_fix(trouble, "%s", fault == SB_FAULT_BAD_UTF8 ? fault_info(fault)->fix
                                                          : "correct the first row of the file");
    return false;
}

static bool read_names(const Source *source, SourceFile *file, SbStr row, Trouble *trouble) {
    Header header = {0};
    bool good = header_split(&header, &source->dialect, row.ptr, row.len);
    if (!good) trouble_set(trouble, TROUBLE_NO_MEMORY, "no memory to read '%s'", file->path);
    good = good && header_map(source, file, &header, trouble);
    header_close(&header);
    const SbNotText *is = good ? nullptr : sb_cr_lines(row.ptr, row.len);
    if (is && trouble->kind == TROUBLE_HEADER) {
        *trouble = (Trouble){0};
        source_not_text(file, is, trouble);
    }
    return good;
}

// Reads the header that begins at `at`.
static bool read_header(const Source *source, SourceFile *file, SbStr front, int64_t at,
                        Trouble *trouble) {
    const char *text = front.ptr;
    int64_t next = sb_csv_row_end(text, at, at + 1, front.len, &source->dialect);
    int64_t end = next < 0 ? front.len : next;
    file->begin = end;
    file->begin_lines = sb_lines_count(text, end);
    if (end > at && text[end - 1] == '\n') end--;
    if (end > at && text[end - 1] == '\r') end--;
    SbStr row = {text + at, end - at};
    return judge_header(source, file, row, next < 0, trouble) &&
           read_names(source, file, row, trouble);
}

// Passes over what stands in front of the header, or of the rows. False: what is there does not go
// with the options.
static bool pass_lead(const Source *source, SourceFile *file, SbStr front, Trouble *trouble) {
    char delimiter = 0;
    int64_t at = skipped_end(source, front);
    if (at < 0) {
        trouble_set(trouble, TROUBLE_HEADER, "'%s' ends within the %lld lines to skip", file->path,
                    (long long)source->what->skip);
        return trouble_fix(trouble, "give a smaller `skip`, or leave the file out"), false;
    }
    file->begin = pass_sep(front, at, &delimiter);
    file->begin_lines = sb_lines_count(front.ptr, file->begin);
    if (!delimiter || delimiter == source->dialect.delimiter) return true;
    trouble_set(trouble, TROUBLE_HEADER, "'%s' begins with a line `sep=%c`, and the delimiter is "
                "'%c'", file->path, delimiter, source->dialect.delimiter);
    return trouble_fix(trouble, "give the read delimiter = \"%c\"", delimiter), false;
}

static bool header(const Source *source, SourceFile *file, SbStr front, Trouble *trouble) {
    const SbSource *what = source->what;
    if (!source_file_fields(file, what->column_count, trouble)) return false;
    if (!pass_lead(source, file, front, trouble)) return false;
    int64_t at = file->begin;
    if (!what->header) {
        for (uint32_t c = 0; c < what->column_count; c++) file->fields[c] = c;
        file->field_count = what->column_count;
        return true;
    }
    at = first_row(source, front.ptr, at, front.len);
    if (at < 0) {
        trouble_set(trouble, TROUBLE_HEADER, "'%s' is empty: it has no header", file->path);
        return trouble_fix(trouble, "give a file with a header, or leave this one out"), false;
    }
    return read_header(source, file, front, at, trouble);
}

static int64_t row_end(const Window *window, int64_t pos, int64_t from) {
    return sb_csv_row_end(window->text, pos, from, window->len, &window->source->dialect);
}

const SbReader sb_reader_csv = {
    .lines = true, .header_whole = header_whole, .header = header, .row_end = row_end,
    .row_start = scan_line_start,
};
