// Sinks: what the code for rows of a sink and the formats that they are written in share.
#ifndef SBC_CODEGEN_EMIT_SINK_H
#define SBC_CODEGEN_EMIT_SINK_H

#include "codegen/emit_stage.h"

// A row on its way into a sink.
typedef struct SinkEmit {
    const Op  *op;
    const struct SinkFormat *format;
    Frame     *frame;    // Over the input.
    Val        out;      // SbOut *
    Value     *values, *spellings;  // By column; spellings without `a` where there is none.
    bool      *late;     // By column: its values are loaded where they are needed.
    void      *own;      // The format's own: what `open` put there.
} SinkEmit;

// What a format does with a row. `at` is where the next byte goes; functions return where they came
// to. There is room for the whole row.
typedef struct SinkFormat {
    // The bytes before the first row; null: there are none.
    Text (*header)(Emit *e, const SinkOp *sink);
    // Before anything else of a row; null: there is nothing to do.
    void (*open)(Emit *e, SinkEmit *sink);
    // Room: bytes that one byte of a text may take, and the function for nested values and bytes.
    uint32_t    widens;
    const char *nested_room;
    uint32_t    apart;  // Room in front of a row that is a file (FileOptions.apart).
    // The row, made of sink_field where there are fields.
    Val (*row)(Emit *e, SinkEmit *sink, Val at);
    // Of wide rows one function writes all fields of a type.
    bool shares_fields;
    // For sink_field: what stands for null, a value that is there, and a spelling that need not be
    // usable; then the result is null.
    Text (*null_word)(const SinkEmit *sink);
    Val (*value)(Emit *e, const SinkEmit *sink, uint32_t i, Val at);
    Val (*spelled)(Emit *e, const SinkEmit *sink, uint32_t i, Val at);
    // Of a format whose rows are side by side (FormatInfo): the bytes of a number, as an integer.
    Val (*bits)(Emit *e, const Type *type, Value value);
    // The same of so many rows, numbers or tensors, whose values lie side by side at `from`.
    Val (*column)(Emit *e, const Type *type, Val from, Val rows, Val at);
} SinkFormat;

const SinkFormat *sink_format_of(const SinkOp *sink);

// Where the next byte of the SbOut goes, with room for so many. Goes to `failed` without memory.
Val sink_room(Emit *e, Val out, Val bytes, Block failed);
// Does the sink take so many rows, and more? The last row that it takes ends the stage.
Val sink_takes(Emit *e, uint32_t terminal, Val rows);
// So many rows have been written, up to `at`.
void sink_count(Emit *e, uint32_t terminal, Val rows, Val at);
// A column: its spelling where that can be used, else its value or what stands for null.
Val sink_field(Emit *e, const SinkEmit *sink, uint32_t i, Val at);
// Emits the functions that sink_field calls for fields of wide rows, after those of the stages.
void sink_fields_emit(Emit *e);
// Around the code of a column.
size_t sink_column_begin(Emit *e, SinkEmit *sink, uint32_t i);
void sink_column_end(Emit *e, SinkEmit *sink, uint32_t i, size_t mark);
// Bytes that are known here.
Val sink_bytes(Emit *e, Val at, Text text);
// Numbers and bools as texts, floats by these functions; null: the type is another one.
typedef struct FloatPuts { const char *f16, *bf16, *f32, *f64; } FloatPuts;
Val sink_scalar(Emit *e, const Type *base, Value value, Val at, FloatPuts puts);
// The type of a column's values that are no null.
const Type *sink_base(const Emit *e, const SinkEmit *sink, uint32_t i);

#endif
