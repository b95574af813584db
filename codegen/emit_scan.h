// Text input of a stage: the loop over blocks of rows, and how each format delivers a column.
#ifndef SBC_CODEGEN_EMIT_SCAN_H
#define SBC_CODEGEN_EMIT_SCAN_H

#include "codegen/emit_stage.h"

// A row of a text source while it is being judged.
typedef struct TextRow {
    const Op *op;
    Val  text;        // Base address of the input text.
    Val  index, starts, ends, field_count;   // SbIndex and what is in it; loaded once.
    Val  row;         // Number of the row in the block.
    Val  begin, end;  // Of the row, i64, relative to text, without its line end.
    Val  fields;      // CSV: ends + row * field_count.
    Val *field_of;    // CSV: by column, its field number (i64), loaded once.
    Val *straight;    // CSV: by hidden column, i1: its columns stand side by side in the file.
    Val  dialect;     // CSV: SbCsvDialect constant.
    Val  form;        // JSON: SbJsonForm; `slot_memory`: SbJsonSlot[].
    Val  slot_memory;
    struct JsonSlot *json_slots;  // JSON: by column, for those that are read.
} TextRow;

// What a text format does, in the order in which it is called.
typedef struct TextFormat {
    void (*open)(Emit *e, TextRow *row);            // In the entry block.
    void (*index)(Emit *e, TextRow *row, Val pos, Val end);  // Fills the SbIndex.
    void (*begin_row)(Emit *e, TextRow *row);       // Sets begin and end.
    void (*judge)(Emit *e, Frame *frame);           // What holds for the whole row; null: nothing.
    Value (*column)(Emit *e, Frame *frame, uint32_t column);  // Parses; faults leave the row.
    Value (*raw)(Emit *e, Frame *frame, uint32_t column);
    Value (*span)(Emit *e, Frame *frame,
                  uint32_t hidden);  // Of several columns; null: there are none.
} TextFormat;

// array[index] of u32 as i64.
Val emit_offset_at(Emit *e, Val array, Val index);

extern const TextFormat text_format_csv;    // emit_scan_csv.c
extern const TextFormat text_format_jsonl;  // emit_scan_json.c
extern const TextFormat text_format_text;   // emit_scan_lines.c

const TextFormat *text_format_of(Format format);

// The zone of timestamps without an offset; null is UTC.
Val emit_source_zone(Emit *e, const SourceOp *source);

// Reads a text as a value of `type` (not null) by the library function for it: sb_read_... .
// Returns the status; the value is put into `slot` in memory layout.
// `hot`: on the way of every row.
Val emit_read_text(Emit *e, const SourceOp *source, const Type *type, Value text, Val slot,
                   bool hot);

#endif
