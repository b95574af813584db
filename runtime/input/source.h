// Source: the files that a `read` opens: their list, headers, identity and line numbers.
#ifndef SBC_RUNTIME_SOURCE_H
#define SBC_RUNTIME_SOURCE_H

#include "runtime/abi/program.h"
#include "runtime/compression.h"
#include "runtime/format.h"
#include "runtime/input/glob.h"
#include "stdlib/csv.h"
#include "stdlib/text.h"

#include <pthread.h>
#include <sys/stat.h>

struct SourceFile {
    const char *path;
    bool        stream;       // Read from the front only: standard input, packed, a pipe, no UTF-8.
    bool        opened;       // Header read.
    int64_t     size;         // Plain files.
    char        last;         // Of a stream: the last byte of its text that is no white space.
    struct stat about;        // As it was when the job began.
    uint32_t   *fields;       // The format's: of CSV the field number of each column.
    uint32_t    fields_len;
    uint32_t    field_count;  // Of a row.
    int64_t     begin;        // Offset of the first row, after the header.
    int64_t     begin_lines;  // Lines before it.
    int         fd;           // Plain files, while units are read; -1.
    int64_t     rows, bytes;  // Committed.
    uint32_t    units_open;   // Cut and not judged to their end.
    bool        all_cut;      // There are no more of them to come.
    bool        begun;        // A unit was cut: the header is known, and stays as it is.
};

struct Source {
    const SbSource *what;
    uint32_t     number;
    PathList     paths;
    SourceFile  *files;
    uint32_t     file_count;
    int64_t      row_max;
    int64_t      range_count;
    int64_t      unit_bytes;
    SbCsvDialect dialect;
    bool         is_text;
    int          cancel_fd;
};

typedef struct SourceSetup {
    const SbJob *job;       // Its setup judges
    SbSetup *ask;           // the paths of sources with keys.
    SbList  paths;
    int64_t row_max, count;
    int64_t partition;
    int     cancel_fd;
} SourceSetup;

// All but the files.
void source_set(Source *source, const SbSource *what, const SourceSetup *setup);
// Lists the files and, for those that can be read at any place, reads the headers.
bool source_open(Source *source, const SbSource *what, const SourceSetup *setup, Trouble *trouble);
void source_close(Source *source);

// The trouble of a file that is no text. False.
bool source_not_text(const SourceFile *file, const SbNotText *is, Trouble *trouble);
// For a header: makes `fields`, zeros.
bool source_file_fields(SourceFile *file, uint32_t len, Trouble *trouble);
// Takes the header from the front of a file.
bool source_header(Source *source, SourceFile *file, SbStr front, Trouble *trouble);
// Does the front of a file hold its whole header?
bool source_header_whole(const Source *source, SbStr front);
// Bytes of the byte order mark that a text begins with.
int64_t source_mark_bytes(SbStr front);
// Opens a plain file for its units.
bool source_file_open(SourceFile *file, Trouble *trouble);
void source_file_shut(SourceFile *file);
// Reads from any place of a plain file that is open. How many bytes, or -1 and errno.
ssize_t source_read(const SourceFile *file, char *to, int64_t len, int64_t offset);
// As source_read, of a file that is opened if need be, with no second try and no wait.
ssize_t source_read_once(SourceFile *file, char *to, int64_t len, int64_t offset);
// Can all of it be read twice from the front: is it made of plain or compressed files?
bool source_reads_again(const Source *source);
// Is the file still what it was when the job began?
bool source_file_check(const SourceFile *file, Trouble *trouble);

// Counts lines of plain files, which it reads again from the last place asked for.
typedef struct SourceLines {
    SourceFile *file;
    char       *bytes;           // Bytes of the file that were read last.
    int64_t     begin, len;      // Where these bytes begin, and how many they are.
    int64_t     counted, count;  // Lines before that offset.
} SourceLines;

// Lines before `offset` of the file.
bool source_lines(SourceLines *lines, SourceFile *file, int64_t offset, int64_t *count,
                  Trouble *trouble);
// Shuts the file too.
void source_lines_close(SourceLines *lines);

// Can rows of this source span lines, so that a row start depends on what comes before?
static inline bool source_spans_lines(const Source *source) {
    return source->dialect.quote != 0 || source->what->reader->pass;
}

#endif
