// Path: parts of the names of files, and patterns that match them.
#ifndef SBC_STDLIB_PATH_H
#define SBC_STDLIB_PATH_H

#include "runtime/abi/call.h"

// The text, if it can be a part of the name of a file.
int32_t sb_path_part(SbCall *call, SbStr text, SbStr *out);
// What the `{}` of that number, from 0, in the pattern stands for in the path. A `{}` takes the
// shortest text without a / with which the rest fits; `*`, `?`, `[...]` and `**` are those of
// globs.
int32_t sb_path_key(SbCall *call, SbStr path, SbStr pattern, int64_t number, SbStr *out);
// One "[...]" of a pattern, which `pattern` begins with, against a byte. Moves `pattern` after the
// class. -1: it is none.
int sb_path_class(SbStr *pattern, unsigned char byte);

#endif
