// CSV: finds rows and fields in text, by the rules of docs/reference.md, and reads quoted fields.
//
// The rules, in one place. A row starts where the last one ended. A line that begins with the
// comment text is skipped to its line end, whatever it holds; so is a blank line, unless
// `blank_rows`. A field that begins with the quote character ends at the next quote that is not
// doubled; a delimiter, a line end or the end of the text must follow. In any other field a quote
// is a character. LF ends a row; a CR right before it belongs to the line end; a CR anywhere else
// is a character. The delimiter is neither CR, LF nor the quote.
//
// The faults of a row are reported in this order: OPEN_QUOTE (the row is the rest of the text),
// BAD_QUOTE (the row ends at the next LF), FIELD_COUNT, BAD_UTF8.
#ifndef SBC_STDLIB_CSV_H
#define SBC_STDLIB_CSV_H

#include "runtime/abi/call.h"
#include "runtime/abi/text.h"

typedef struct SbCsvDialect {
    char  delimiter;
    char  quote;       // 0: none.
    bool  blank_rows;  // Blank lines are rows where the file has one column.
    SbStr comment;     // What begins a comment line; empty: nothing.
} SbCsvDialect;

// The number of the field of a column that a file lacks.
enum : uint32_t { SB_CSV_NO_FIELD = UINT32_MAX };

// ends_max should be rows_max * field_count + SB_CSV_SPARE: the scanner writes ahead of itself.
enum { SB_CSV_SPARE = 128 };

// Indexes rows of text[pos, end), pos a row start, until index->rows_max or ends_max is reached, a
// row is bad, or the text ends. The last row may lack its line end. Offsets are relative to `text`
// and below 4 GiB; up to SB_SLACK bytes after `end` are read. field_count <= ends_max.
// Field f of row r lies in [f ? ends[r, f - 1] + 1 : starts[r], ends[r, f]).
// Sets rows, next, lines, and fault with fault_begin, fault_end (without the line end) and
// fault_lines (the last line counts without an LF too). `next` and `lines` cover the bad row.
void sb_csv_index(SbIndex *index, const char *text, int64_t pos, int64_t end, uint32_t field_count,
                  const SbCsvDialect *dialect);

// From a row start `pos`: the end, after the line end, of the first row that ends at or after
// `from`; -1 when the text ends first.
int64_t sb_csv_row_end(const char *text, int64_t pos, int64_t from, int64_t end,
                       const SbCsvDialect *dialect);

// Does text[begin, end) hold the quote character?
bool sb_csv_has_quote(const char *text, int64_t begin, int64_t end, const SbCsvDialect *dialect);

// The text of a field that begins with a quote: a view when nothing in it is doubled, else scratch
// memory. ptr is null when that is out.
SbStr sb_csv_unquote(SbCall *call, const char *ptr, int64_t len, char quote);

// Where the fields of an indexed row are, as SbIndex has them.
typedef struct SbCsvFields {
    const char     *text;
    const uint32_t *ends;   // By field of the row.
    int64_t         begin;  // Of the row.
} SbCsvFields;

// Columns whose bytes travel together.
typedef struct SbCsvSpan {
    const bool *pads;       // By field: spaces around the null word do not count.
    SbStr       null_word;
    uint32_t    count;
    char        delimiter;  // Put between fields.
} SbCsvSpan;

// The bytes of the fields fields[0, span->count) of a row, in scratch memory. Nulls have no spaces
// around them then. ptr is null when that memory is out.
SbStr sb_csv_join(SbCall *call, const SbCsvFields *row, const uint32_t *fields,
                  const SbCsvSpan *span);

// Do the fields fields[0, count) stand side by side, in this order?
bool sb_csv_straight(const uint32_t *fields, uint32_t count);

// One text with its rules, for the row reader below.
typedef struct SbCsvText {
    const char *text;
    int64_t     end;
    uint32_t    field_count;
    const SbCsvDialect *dialect;
} SbCsvText;

typedef struct SbCsvRow {
    int64_t  end, next;  // Without its line end; after it.
    uint32_t fields;     // 0 where the row's quotes are wrong.
} SbCsvRow;

// The row that starts at pos < end, read byte by byte: the rules above but UTF-8, as plainly as
// possible. Fills ends[0, field_count); `ends` may be null when field_count is 0, and then no
// number of fields is wrong.
int32_t sb_csv_row(const SbCsvText *in, int64_t pos, uint32_t *ends, SbCsvRow *row);

// After the comment lines and blank lines at the row start `pos`.
int64_t sb_csv_skip(const SbCsvText *in, int64_t pos);

#endif
