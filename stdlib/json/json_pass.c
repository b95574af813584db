#include "stdlib/json/json_pass.h"

#include <immintrin.h>

enum { STRIDE = 32 };

static inline uint32_t equal(__m256i bytes, char byte) {
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte)));
}

static bool is_bracket(char byte) {
    return byte == '{' || byte == '}' || byte == '[' || byte == ']';
}

// The next quote or bracket; len: there is none.
static int64_t next_mark(const char *text, int64_t at, int64_t len) {
    for (; at + STRIDE <= len; at += STRIDE) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(text + at));
        // '[' and ']' are '{' and '}' but for this bit.
        __m256i curly = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
        uint32_t found = equal(bytes, '"') | equal(curly, '{') | equal(curly, '}');
        if (found) return at + (int64_t)_tzcnt_u32(found);
    }
    while (at < len && text[at] != '"' && !is_bracket(text[at])) at++;
    return at;
}

// The next quote or backslash of a string.
static int64_t next_quote(const char *text, int64_t at, int64_t len) {
    for (; at + STRIDE <= len; at += STRIDE) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(text + at));
        uint32_t found = equal(bytes, '"') | equal(bytes, '\\');
        if (found) return at + (int64_t)_tzcnt_u32(found);
    }
    while (at < len && text[at] != '"' && text[at] != '\\') at++;
    return at;
}

static int64_t pass_front(SbJsonPass *pass, const char *text, int64_t at, int64_t len) {
    while (at < len && sb_json_is_front(text[at])) at++;
    if (at == len) return at;
    char byte = text[at];
    bool nested = byte == '{' || byte == '[';
    pass->at = nested ? SB_PASS_NESTED : byte == '"' ? SB_PASS_STRING : SB_PASS_WORD;
    pass->depth = nested;
    return at + 1;
}

static int64_t pass_word(SbJsonPass *pass, const char *text, int64_t at, int64_t len) {
    for (; at < len; at++) {
        char byte = text[at];
        pass->done = sb_json_is_front(byte) || byte == '{' || byte == '[' || byte == '"';
        if (pass->done) break;
    }
    return at;
}

static int64_t pass_string(SbJsonPass *pass, const char *text, int64_t at, int64_t len) {
    if (pass->escaped && at < len) {
        pass->escaped = false;
        at++;
    }
    for (; (at = next_quote(text, at, len)) < len; at += 2) {
        if (text[at] == '"') {
            pass->done = pass->at == SB_PASS_STRING;
            pass->at = SB_PASS_NESTED;
            return at + 1;
        }
        pass->escaped = at + 1 == len;
        if (pass->escaped) break;
    }
    return len;
}

static int64_t pass_nested(SbJsonPass *pass, const char *text, int64_t at, int64_t len) {
    while ((at = next_mark(text, at, len)) < len) {
        char byte = text[at++];
        if (byte == '"') {
            pass->at = SB_PASS_NESTED_STRING;
            return at;
        }
        pass->depth += byte == '{' || byte == '[' ? 1 : -1;
        pass->done = pass->depth == 0;
        if (pass->done) break;
    }
    return at;
}

int64_t sb_json_pass(SbJsonPass *pass, const char *text, int64_t at, int64_t len) {
    while (at < len && !pass->done) {
        switch (pass->at) {
        case SB_PASS_FRONT: at = pass_front(pass, text, at, len); break;
        case SB_PASS_WORD: at = pass_word(pass, text, at, len); break;
        case SB_PASS_STRING: case SB_PASS_NESTED_STRING:
            at = pass_string(pass, text, at, len);
            break;
        case SB_PASS_NESTED: at = pass_nested(pass, text, at, len); break;
        }
    }
    return at;
}
