// Texts of the library in tests: made from C strings, with the slack that its functions may read.
#ifndef SBC_TESTS_UNIT_TEXTS_H
#define SBC_TESTS_UNIT_TEXTS_H

#include "runtime/abi.h"
#include "tests/unit/unit.h"

// Lives until eight more are made. Behind its end stand letters: who reads them as part of the text
// is found out.
static SbStr str(const char *text) {
    static char room[8][1024];
    static unsigned turn;
    char *copy = room[turn++ % 8];
    size_t len = strlen(text);
    memset(copy + len, 'a', SB_SLACK);
    memcpy(copy, text, len);
    return (SbStr){copy, (int64_t)len};
}

static bool is(SbStr s, const char *text) {
    bool same = s.len == (int64_t)strlen(text) &&
                (!s.len || memcmp(s.ptr, text, (size_t)s.len) == 0);
    if (!same) fprintf(stderr, "'%.*s' is not '%s'\n", (int)s.len, s.ptr, text);
    return same;
}

#endif
