// Format: what the runtime asks of a format of files: where rows begin and end, in files that are
// read and in outputs that are written.
//
// The compiler names the reader and the writer of each `read` and `write`, so that a job links
// only those that it uses: sb_reader_NAME of stdlib/formats/NAME/read.c, sb_writer_NAME of
// write.c. Both are constant data. None of their functions is called once a row.
//
// Called by runtime/input and runtime/task (readers), runtime/output (writers).
//
// Worked example: rows of eight bytes after a front of sixteen.
//
//   static bool header(const Source *source, SourceFile *file, SbStr front, Trouble *trouble) {
//       file->begin = 16;                      // Where the first row begins,
//       file->field_count = 1;                 // how many fields a row has.
//       return front.len >= 16 || trouble_set(trouble, TROUBLE_HEADER, "'%s' ...", file->path);
//   }
//   static int64_t row_end(const Window *window, int64_t pos, int64_t from) {
//       int64_t end = from <= pos + 8 ? pos + 8 : pos + (from - pos + 7) / 8 * 8;
//       return end <= window->len ? end : -1;
//   }
//   const SbReader sb_reader_eights = {.header = header, .row_end = row_end, ...};
#ifndef SBC_RUNTIME_ROOM_FORMAT_H
#define SBC_RUNTIME_ROOM_FORMAT_H

#include "runtime/abi/program.h"
#include "runtime/report.h"

typedef struct Source Source;          // runtime/input.h
typedef struct SourceFile SourceFile;

// Bytes of a file in memory. SB_SLACK readable bytes come after the window.
typedef struct Window {
    const Source     *source;
    const SourceFile *file;
    const char       *text;
    int64_t           len;
    int64_t           offset;  // Of text[0] in the file, after decompression.
} Window;

enum { ROW_STATE_WORDS = 3 };

// A file whose rows are scanned has `row_end`; one that is a row as a whole has `fill`.
struct SbReader {
    bool lines;  // A row has the number of a line.

    // The front of a file, read until `whole` is true or the file ends (null: any front will do).
    // `header` checks the front against the declared columns and sets file->begin, file->fields,
    // file->field_count. It sets file->begin_lines if there are lines. A file may be opened twice.
    bool (*header_whole)(const Source *source, SbStr front);
    bool (*header)(const Source *source, SourceFile *file, SbStr front, Trouble *trouble);
    // Has a file of `size` bytes all that its header promises, and nothing else? Null: always.
    bool (*ends)(const Source *source, const SourceFile *file, int64_t size, Trouble *trouble);

    // From the row start `pos` of the window: the end of the first row that ends at or after
    // `from`. -1: the window does not hold that end.
    int64_t (*row_end)(const Window *window, int64_t pos, int64_t from);
    // A place in [1, to] where a row seems to begin; -1: none. Before a row that may span lines the
    // answer is a guess.
    int64_t (*row_start)(const Window *window, int64_t to);

    // Of rows that are neither lines nor CSV's, and may span lines: goes on along a row that comes
    // in pieces. `state` is zeros before the row. Gives how many bytes of `text` the row takes;
    // *done: it ends there. Null: rows are lines, or CSV's.
    int64_t (*pass)(uint64_t state[], SbStr text, bool *done);
    // Where what a reject shows of the row at `pos` begins. Null: at `pos`.
    int64_t (*row_begin)(SbStr text, int64_t pos);

    // What a reject shows of the row that the window holds. Null: the bytes of the row.
    void (*show)(const Window *row, Text *out);

    // Sets the columns of the row that a file stands for; `entry` is zeroed.
    void (*fill)(const SbSource *what, SbStr path, SbStr bytes, SbEntry *entry);
};

// What an output is made of: rows, one after the other, and a header in front of the rows.
struct SbWriter {
    const char *extension;  // Of parts of a folder: "csv".
    uint32_t    widens;     // Bytes that one byte of a value takes at most.
    // The end of the first row of `rows` that ends at or after `from`; rows.len: there is none.
    int64_t (*row_end)(const SbSink *what, SbStr rows, int64_t from);
    // The end of the last row that ends within `room` bytes; 0: the first one is longer.
    int64_t (*rows_within)(const SbSink *what, SbStr rows, int64_t room);
    // The end of the first `count` rows.
    int64_t (*rows_end)(const SbSink *what, SbStr rows, int64_t count);
    // Bytes in front of each row that the first row of a part goes without.
    int64_t between;
    SbStr   footer;  // What a part ends with.
    // A header that is known when all rows of a part are. `finish` makes the header_bytes of a part
    // with `body` bytes of rows. The header is written last, before the part is synced, and counts
    // for the checksum. Such an output is a plain file or a folder of plain files. Null:
    // SbSink.header. Where each file is one row (SbSink.apart), the row has its header.
    int64_t header_bytes;
    void (*finish)(const SbSink *what, int64_t body, char *header);
};

// Bytes of the header that is written last; 0: there is none.
static inline int64_t writer_header_bytes(const SbSink *what) {
    return what->apart ? 0 : what->writer->header_bytes;
}

#endif
