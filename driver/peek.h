// Peek: the beginning of a data file, for inference.
#ifndef SBC_DRIVER_PEEK_H
#define SBC_DRIVER_PEEK_H

#include "ir/text.h"
#include "stdlib/text.h"

enum { PEEK_BYTES = 1 << 20 };

// The first file, by the bytes of its path, that a path, a folder or a pattern names; empty: none.
Text peek_path(Arena *arena, Text pattern);

// The first bytes of a file, decompressed if its name says so and decoded, up to the last line end
// if there is more. SB_SLACK bytes after it may be read. False: `error` says why.
bool peek_file(Arena *arena, Text path, SbEncoding encoding, Text *text, TextBuf *error);

// The name without .gz, .zst or .lz4.
Text peek_plain_name(Text path);

#endif
