// Formats: the code that each has for rows that are read and written.
//
// stdlib/formats/FOLDER/emit.c defines `const FormatEmit format_emit_FOLDER`. A format whose rows
// the runtime fills in has no `read`.
//
// Worked example, a format whose rows are lines and whose one column is the line, as `text` has it:
//
//   static Value line(Emit *e, Frame *frame, uint32_t column) {
//       const TextRow *row = frame->text;     // text_begin_line has set its begin and its end.
//       return (Value){.a = emit_index(e, e->i8, row->text, row->begin),
//                      .b = LLVMBuildSub(e->b, row->end, row->begin, "")};
//   }
//   static const TextFormat read = {.open = ..., .index = ..., .begin_row = text_begin_line,
//                                   .column = line, .raw = line};
//   const FormatEmit format_emit_text = {&read, &write};
#ifndef SBC_CODEGEN_EMIT_FORMAT_H
#define SBC_CODEGEN_EMIT_FORMAT_H

#include "codegen/emit_scan.h"
#include "codegen/emit_sink.h"

typedef struct FormatEmit {
    const TextFormat *read;
    const SinkFormat *write;   // Null: it is not written.
} FormatEmit;

#define FORMAT(NAME, folder) extern const FormatEmit format_emit_##folder;
#include "ir/formats.def"
#undef FORMAT

#endif
