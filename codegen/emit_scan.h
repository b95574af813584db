// Text input of a stage: the loop over blocks of rows, and how each format delivers a column.
#ifndef SBC_CODEGEN_EMIT_SCAN_H
#define SBC_CODEGEN_EMIT_SCAN_H

#include "codegen/emit_stage.h"

// A row of a text source while it is being judged.
typedef struct TextRow {
    const Op *op;
    Val  text;        // Base address of the input text.
    Val  index, starts, ends;   // SbIndex and what is in it; loaded once.
    Val  row;         // Number of the row in the block.
    Val  begin, end;  // Of the row, i64, relative to text, without its line end.
    void *own;        // The format's own: what `open` put there.
    // Of a wide row (emit_wide.c).
    Val  number;      // In the loop over its columns: of the one it is at, as `number` below says.
    Val  memory;      // What the loop has read, each value at its offset.
    size_t *offsets;  // By column; SIZE_MAX: not by the loop. Null: there was none.
} TextRow;

// Rows whose values a column is to have.
typedef struct LaidRows {
    Val      first, count;  // The number of the first one; how many.
    uint32_t room;          // Elements that a row has there, with zeros at its end; 0: its own.
} LaidRows;

// Of `width`: all rows of a file have as many bytes, and another file has others.
enum : int64_t { TEXT_WIDTH_OF_FILE = -1 };

// What a format does with the bytes that hold its rows, in the order in which it is called.
typedef struct TextFormat {
    void (*open)(Emit *e, TextRow *row);            // In the entry block.
    void (*index)(Emit *e, TextRow *row, Val pos, Val end);  // Fills the SbIndex.
    void (*begin_row)(Emit *e, TextRow *row);       // Sets begin and end.
    void (*judge)(Emit *e, Frame *frame);           // What holds for the whole row; null: nothing.
    Value (*column)(Emit *e, Frame *frame, uint32_t column);  // Parses; faults leave the row.
    Value (*raw)(Emit *e, Frame *frame, uint32_t column);
    Value (*span)(Emit *e, Frame *frame,
                  uint32_t hidden);  // Of several columns; null: there are none.
    // By what the code for a type finds a column in the row; null: no row is wide.
    uint32_t (*number)(const TextRow *row, uint32_t column);
    // Bytes of a row, where all rows have as many and lie side by side: nobody indexes them. Null:
    // rows are indexed.
    int64_t (*width)(const Op *op);
    // The same as an i64, where `width` is TEXT_WIDTH_OF_FILE. Null: it never is.
    Val (*stride)(const TextRow *row);
    // Lays the one column of rows that have a width at `to`, side by side. Null: no source does.
    void (*lay)(Emit *e, TextRow *row, const LaidRows *rows, Val to);
    // `raw` only loads: of a wide row it is asked once more rather than kept.
    bool raw_reloads;
} TextFormat;

// array[index] of u32 as i64.
Val emit_offset_at(Emit *e, Val array, Val index);

// Null: its rows are entries or numbers.
const TextFormat *text_format_of(const SourceOp *source);
// Bytes of a row of the source, as TextFormat.width has it; 0: rows are indexed, or are no text.
int64_t text_width(const Op *source);
// Bytes of a row, i64, of a source whose rows have a width.
Val text_stride(Emit *e, const TextRow *row);
// What a source's rows lie in, for the function that is emitted.
TextRow *text_open(Emit *e, const Op *source);
// The row that begins at a place of stage->text.
Frame *text_row_at(Emit *e, Val begin);
// Judges the columns of a row that count as read, in type order.
void text_judge_columns(Emit *e, Frame *frame);

// The columns of a source in which words of `null` that stay text are counted. Their places in
// SbTask.counts lie side by side.
typedef struct WordColumns {
    uint32_t *columns;
    uint32_t  count;
    uint32_t  at;       // In the counts: of the first one.
} WordColumns;

WordColumns word_columns_of(const Emit *e, OpId source);
uint32_t word_columns_of_all(const Emit *e);  // How many there are of all sources.
// Counts them in a row that the filters of the source keep and whose columns are judged.
void text_count_words(Emit *e, Frame *frame);

// begin_row of the formats whose rows are lines.
void text_begin_line(Emit *e, TextRow *row);

// Rows with more columns than these are wide.
enum { WIDE_COLUMNS = 64 };

bool row_is_wide(const SourceOp *source);
// Reads the columns of a wide row that count as read, but for those that are there.
void wide_judge(Emit *e, Frame *frame);
// Has it read the column? Its value.
bool wide_has(const TextRow *row, uint32_t column);
Value wide_column(Emit *e, Frame *frame, uint32_t column);

// The zone of timestamps without an offset; null is UTC.
Val emit_source_zone(Emit *e, const SourceOp *source);

// Reads a text as a value of `type` (not null) by the library function for it: sb_read_... .
// Returns the status; the value is put into `slot` in memory layout.
// `hot`: on the way of every row.
Val emit_read_text(Emit *e, const SourceOp *source, const Type *type, Value text, Val slot,
                   bool hot);

#endif
