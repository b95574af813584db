// User symbols: what C files of users define is renamed, so that it meets nothing else in a job.
#ifndef SBC_CODEGEN_BUILD_USER_SYMBOLS_H
#define SBC_CODEGEN_BUILD_USER_SYMBOLS_H

#include "ir/arena.h"
#include "ir/text.h"

typedef struct UserSymbols {
    const char **items;   // Global names that C files of users define, as they wrote them.
    size_t count, cap;
} UserSymbols;

bool user_symbols_hold(const UserSymbols *symbols, const char *name);

// Puts SB_USER_PREFIX before every global name that one of the objects defines, wherever they
// define or use it, and SB_FOREIGN_PREFIX before the calls that a job answers. Other functions of
// the runtime, of its libraries and of libc keep their names, so that an extern function may be
// called `read` or `go`. `defined` gets the names as they were. False: `error` says why.
bool user_symbols_rename(Arena *arena, const char *const *objects, size_t count,
                         UserSymbols *defined, TextBuf *error);

#endif
