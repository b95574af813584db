// Source: the texts of a program and where lines begin in them.
#ifndef SBC_FRONTEND_SOURCE_H
#define SBC_FRONTEND_SOURCE_H

#include "ir/text.h"

enum { SOURCE_BYTES_MAX = 16 * 1024 * 1024 };

typedef struct SourceFile {
    Text      path;    // As the user gave it.
    Text      text;
    uint32_t *lines;   // Offset of each line's first byte.
    uint32_t  line_count;
} SourceFile;

typedef struct SourceSet {
    Arena      *arena;
    SourceFile *files;
    size_t      file_count, file_cap;
} SourceSet;

typedef struct Position {
    uint32_t line, column;  // From 1; columns count characters (code points).
} Position;

SourceSet *source_set_new(Arena *arena);
// Adds a text under a name; returns its file number (Span.file). The text is copied.
uint32_t source_add(SourceSet *set, Text path, Text text);
// Reads a file of at most SOURCE_BYTES_MAX; "-" is standard input, named <stdin>. False: errno
// says why (EFBIG: too big).
bool source_load(SourceSet *set, Text path, uint32_t *file);
Position source_position(const SourceSet *set, uint32_t file, uint32_t offset);
Text source_line(const SourceSet *set, uint32_t file, uint32_t line);  // Without its line end.

#endif
