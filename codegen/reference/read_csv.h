// CSV: rows of a text, one byte after the other, as docs and LANGUAGE say and no faster.
#ifndef SBC_CODEGEN_REFERENCE_READ_CSV_H
#define SBC_CODEGEN_REFERENCE_READ_CSV_H

#include "ir/graph.h"

typedef struct CsvField {
    Text raw;       // The field as it stands, quotes included.
    Text text;      // What the field holds.
    bool quoted;
} CsvField;

typedef struct TextRow {
    size_t  begin, end;     // Without the line end.
    size_t  next;           // After the line end.
    int64_t line;           // Of the first byte, from 1.
    int64_t lines;          // Lines that the row covers.
    int32_t status;         // SB_OK or what is wrong with its structure.
    CsvField *fields;       // CSV; room for all.
    size_t  field_count, field_cap;
} TextRow;

typedef struct TextCursor {
    Arena  *arena;
    Text    text;
    size_t  at;
    int64_t line;           // Of `at`.
    const CsvOptions *csv;
    size_t  field_count;    // Fields that a row must have; 0 while the header is read.
    int64_t row_max;
} TextCursor;

// Passes over a byte order mark at the front, which offsets count.
void text_skip_mark(TextCursor *cursor);
// Passes over the mark, the lines to skip, and a line `sep=;`, whose character is *delimiter.
// False: the text ends within the lines to skip.
bool csv_skip_lead(TextCursor *cursor, char *delimiter);
// Without what stands between groups of three digits, where the text has such groups.
Text csv_ungroup(Arena *arena, const CsvOptions *csv, Text text);
// The next row of a CSV; false at the end.
bool csv_next(TextCursor *cursor, TextRow *row);
// The next line: false at the end. Blank lines are skipped if `skip_blank`.
bool line_next(TextCursor *cursor, bool skip_blank, TextRow *row);

#endif
