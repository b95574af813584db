#include "stdlib/regex/cut.h"

#include "stdlib/regex/regex_runs.h"
#include "stdlib/text.h"

#include <immintrin.h>

#define INLINE [[gnu::always_inline]] static inline

enum { BLOCK_BYTES = 64 };

// Passes the next of the edges of the block, which has one.
INLINE const char *pass_edge(const SbCut *cut, uint64_t *edges) {
    const char *edge = cut->at + _tzcnt_u64(*edges);
    *edges &= *edges - 1;
    return edge;
}

void sb_cut_start(SbCut *cut, SbStr text) {
    *cut = (SbCut){.at = text.ptr - BLOCK_BYTES, .begin = text.ptr};
}

// ---- pieces between separators ------------------------------------------------------------------

// The end of the text is an edge too.
INLINE uint64_t separators(const char *at, SbStr text, char separator) {
    int64_t left = text.ptr + text.len - at;
    uint64_t hits = bytes64_hits(at, separator);
    return left < BLOCK_BYTES ? bytes64_until(hits, left) | UINT64_C(1) << left : hits;
}

bool sb_split_look(SbCut *cut, SbStr text, SbStr separator) {
    do {
        cut->at += BLOCK_BYTES;
        if (cut->at > text.ptr + text.len) return false;
        cut->edges = separators(cut->at, text, separator.ptr[0]);
    } while (!cut->edges);
    return true;
}

void sb_split_take(SbCut *cut, SbStr, SbStr) {
    const char *end = pass_edge(cut, &cut->edges);
    cut->piece = (SbStr){cut->begin, end - cut->begin};
    cut->begin = end + 1;
}

// ---- runs ---------------------------------------------------------------------------------------

bool sb_regex_find_all_look(SbCut *cut, SbStr text, const SbRegex *regex) {
    do {
        cut->at += BLOCK_BYTES;
        if (cut->at > text.ptr + text.len) return false;
        const RegexEdges edges = regex_edges(regex, text, cut->at - text.ptr, &cut->inside);
        const bool one = regex_is_one_run(regex);
        cut->edges = one ? edges.begins | edges.ends : edges.begins;
        cut->ends = one ? 0 : edges.ends;
    } while (!(cut->edges | cut->ends));
    return true;
}

void sb_regex_find_all_take(SbCut *cut, SbStr text, const SbRegex *regex) {
    const char *begin = pass_edge(cut, &cut->edges);
    uint64_t *ends = regex_is_one_run(regex) ? &cut->edges : &cut->ends;
    if (!*ends) sb_regex_find_all_look(cut, text, regex);  // A piece that has begun ends.
    cut->piece = (SbStr){begin, pass_edge(cut, ends) - begin};
}
