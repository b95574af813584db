// Formats in the interpreter: how each reads its rows and writes them, one thread, no speed.
//
// stdlib/formats/NAME/reference.c defines `const FormatReference format_reference_NAME`. A file is
// in memory as a whole, decompressed.
//
// Called by source.c, which makes rows and judges their columns, and write.c.
#ifndef SBC_CODEGEN_REFERENCE_FORMAT_H
#define SBC_CODEGEN_REFERENCE_FORMAT_H

#include "codegen/reference/job.h"
#include "codegen/reference/read_csv.h"
#include "codegen/reference/read_json.h"

// The file that is open, and the row in it that is judged.
typedef struct FileRows {
    Job            *job;
    const SourceOp *op;
    const struct SbZone *zone;
    Text            path;
    TextCursor      cursor;    // text: the file's; at: where the next row begins.
    TextRow         row;       // begin, end; line, lines where the format has lines.
    Text            raw;       // The row's bytes.
    void           *own;       // The format's own.
} FileRows;

typedef struct FormatReference {
    // The file is loaded: reads its header. Fails the job if that is wrong. Null: there is none.
    void (*open)(FileRows *rows);
    // The next row, and what is wrong with its structure; false at the end.
    bool (*next)(FileRows *rows, ReadFault *fault);
    // A column of it. A status, and the text that is at fault.
    JsonFault (*column)(FileRows *rows, uint32_t column, Value *out);
    // The column's bytes, at null: it has none of its own. Null: no column has.
    Text (*raw)(const FileRows *rows, uint32_t column);
    // What a reject shows of the row. Null: its bytes.
    Text (*show)(FileRows *rows);

    const char *extension;     // Of parts; null: the format is not written.
    // What stands in front of the rows of a part; null: nothing does.
    void (*header)(TextBuf *buf, const Op *op);
    // The row, a column at a time, and its end. The status of `cell` fails the row.
    int32_t (*cell)(Job *job, const Op *op, uint32_t column, const Cell *cell, TextBuf *buf);
    const char *row_end;
    const char *between;       // What stands between two rows of a part; null: nothing does.
    const char *footer;        // What a part ends with; null: with its last row.
    // Does the spelling count as one of the type?
    bool (*spells)(Job *job, const SinkOp *sink, const Type *type, Text spelling);
    // May a part end at any line end of a row?
    bool        cuts_rows;
    // The header of a part with these rows, to stand in front of them; null: see `header`. Such an
    // output is no stream and not compressed. Where each file is one row, `cell` makes its header.
    void (*finish)(Job *job, const Op *op, Text rows, TextBuf *header);
    size_t      finish_bytes;  // That it makes.
} FormatReference;

#define FORMAT(NAME, folder) extern const FormatReference format_reference_##folder;
#include "ir/formats.def"
#undef FORMAT

const FormatReference *format_reference(Format format);

#endif
