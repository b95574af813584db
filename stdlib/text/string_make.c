// String make: texts and lists of texts built in scratch memory; pieces are views where they can
// be.
#include "stdlib/text/bytes64.h"
#include "stdlib/text/list_build.h"
#include "stdlib/text/string.h"
#include "stdlib/text/utf8.h"

#include <immintrin.h>

enum : int64_t { TEXT_MAX = INT64_C(1) << 32 };  // Of one result, bytes.

static int32_t replace(SbCall *call, SbStr s, const SbStr pair[2], int64_t count_max, SbStr *out) {
    SbStr part = pair[0], with = pair[1];
    int64_t at = part.len ? sb_find_bytes(s, part, 0) : -1, begin = 0;
    *out = s;
    if (at < 0) return SB_OK;
    SbBuild build = {.call = call};
    for (int64_t count = 0; at >= 0 && count < count_max; count++) {
        if (!sb_build_add(&build, s.ptr + begin, at - begin) ||
            !sb_build_add(&build, with.ptr, with.len) || build.len > TEXT_MAX)
            return SB_FAULT_TOO_LARGE;
        begin = at + part.len;
        at = sb_find_bytes(s, part, begin);
    }
    if (!sb_build_add(&build, s.ptr + begin, s.len - begin)) return SB_FAULT_TOO_LARGE;
    *out = sb_build_text(&build);
    return SB_OK;
}

int32_t sb_replace(SbCall *call, SbStr s, SbStr part, SbStr with, SbStr *out) {
    return replace(call, s, (SbStr[]){part, with}, INT64_MAX, out);
}

int32_t sb_replace_first(SbCall *call, SbStr s, SbStr part, SbStr with, SbStr *out) {
    return replace(call, s, (SbStr[]){part, with}, 1, out);
}

int32_t sb_repeat(SbCall *call, SbStr s, int64_t count, SbStr *out) {
    if (count < 0) return SB_FAULT_BAD_ARGUMENT;
    if (s.len && count > TEXT_MAX / s.len) return SB_FAULT_TOO_LARGE;
    if (!s.len) count = 0;
    int64_t bytes = s.len * count;
    char *text = sb_alloc(call, bytes);
    if (!text) return SB_FAULT_TOO_LARGE;
    if (bytes) memcpy(text, s.ptr, (size_t)s.len);
    for (int64_t done = s.len; done < bytes; done *= 2) {
        int64_t more = bytes - done < done ? bytes - done : done;
        memcpy(text + done, text, (size_t)more);
    }
    *out = (SbStr){text, bytes};
    return SB_OK;
}

int32_t sb_reverse(SbCall *call, SbStr s, SbStr *out) {
    char *text = sb_alloc(call, s.len), *at = text + s.len;
    if (!text) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < s.len;) {
        int64_t bytes = sb_utf8_bytes(s.ptr[i]);
        at -= bytes;
        memcpy(at, s.ptr + i, (size_t)bytes);
        i += bytes;
    }
    *out = (SbStr){text, s.len};
    return SB_OK;
}

// ---- padding ------------------------------------------------------------------------------------

typedef struct Pad {
    int64_t width;
    SbStr   fill;
    bool    left;
} Pad;

static int32_t pad(SbCall *call, SbStr s, const Pad *how, SbStr *out) {
    int64_t len = sb_utf8_count(s.ptr, s.len);
    if (sb_utf8_count(how->fill.ptr, how->fill.len) != 1) return SB_FAULT_BAD_ARGUMENT;
    *out = s;
    if (how->width <= len) return SB_OK;
    int64_t missing = how->width - len;
    if (missing > TEXT_MAX) return SB_FAULT_TOO_LARGE;
    int64_t extra = missing * how->fill.len;
    char *text = sb_alloc(call, s.len + extra);
    if (!text) return SB_FAULT_TOO_LARGE;
    char *fill = how->left ? text : text + s.len;
    if (s.len) memcpy(how->left ? text + extra : text, s.ptr, (size_t)s.len);
    for (int64_t i = 0; i < missing; i++)
        memcpy(fill + i * how->fill.len, how->fill.ptr, (size_t)how->fill.len);
    *out = (SbStr){text, s.len + extra};
    return SB_OK;
}

int32_t sb_pad_left(SbCall *call, SbStr s, int64_t width, SbStr *out) {
    return pad(call, s, &(Pad){width, SB_LITERAL(" "), true}, out);
}

int32_t sb_pad_right(SbCall *call, SbStr s, int64_t width, SbStr *out) {
    return pad(call, s, &(Pad){width, SB_LITERAL(" "), false}, out);
}

int32_t sb_pad_left_with(SbCall *call, SbStr s, int64_t width, SbStr fill, SbStr *out) {
    return pad(call, s, &(Pad){width, fill, true}, out);
}

int32_t sb_pad_right_with(SbCall *call, SbStr s, int64_t width, SbStr fill, SbStr *out) {
    return pad(call, s, &(Pad){width, fill, false}, out);
}

// ---- lists of texts -----------------------------------------------------------------------------

static int32_t split_chars(SbCall *call, SbStr s, SbList *out) {
    SbBuild build = {.call = call};
    for (int64_t i = 0; i < s.len;) {
        int64_t bytes = sb_utf8_bytes(s.ptr[i]);
        if (!sb_build_str(&build, (SbStr){s.ptr + i, bytes})) return SB_FAULT_TOO_LARGE;
        i += bytes;
    }
    *out = sb_build_list(&build, sizeof(SbStr));
    return SB_OK;
}

static uint64_t hits_of(SbStr s, const char *at, char separator) {
    return bytes64_until(bytes64_hits(at, separator), s.ptr + s.len - at);
}

static int64_t count_hits(SbStr s, char separator) {
    int64_t count = 0;
    for (const char *at = s.ptr; at < s.ptr + s.len; at += 64)
        count += __builtin_popcountll(hits_of(s, at, separator));
    return count;
}

// By one byte, 64 at a time. Pieces are cut by four, so that the loop ends where that is guessed:
// what is written after the last one is written again.
static int32_t split_byte(SbCall *call, SbStr s, char separator, SbList *out) {
    enum { COUNT_FROM = 1024, AT_ONCE = 4 };  // Shorter texts take the room of the worst case.
    int64_t pieces_max = (s.len > COUNT_FROM ? count_hits(s, separator) : s.len) + 1;
    SbStr *pieces = sb_alloc(call, (pieces_max + AT_ONCE) * (int64_t)sizeof *pieces);
    if (!pieces) return SB_FAULT_TOO_LARGE;
    SbStr *piece = pieces;
    piece->ptr = s.ptr;
    for (const char *at = s.ptr; at < s.ptr + s.len; at += 64) {
        uint64_t hits = hits_of(s, at, separator);
        SbStr *end = piece + __builtin_popcountll(hits);
        for (; piece < end; piece += AT_ONCE) {
            for (int i = 0; i < AT_ONCE; i++, hits &= hits - 1) {
                intptr_t hit = (intptr_t)at + (int64_t)_tzcnt_u64(hits);
                piece[i].len = hit - (intptr_t)piece[i].ptr;
                piece[i + 1].ptr = (const char *)hit + 1;
            }
        }
        piece = end;
    }
    piece->len = s.ptr + s.len - piece->ptr;
    sb_shrink(call, pieces, (char *)(piece + 1) - (char *)pieces);
    *out = (SbList){pieces, piece + 1 - pieces};
    return SB_OK;
}

int32_t sb_split(SbCall *call, SbStr s, SbStr separator, SbList *out) {
    if (!separator.len) return split_chars(call, s, out);
    if (separator.len == 1) return split_byte(call, s, separator.ptr[0], out);
    SbBuild build = {.call = call};
    for (int64_t begin = 0;;) {
        int64_t at = sb_find_bytes(s, separator, begin), end = at < 0 ? s.len : at;
        if (!sb_build_str(&build, (SbStr){s.ptr + begin, end - begin})) return SB_FAULT_TOO_LARGE;
        if (at < 0) break;
        begin = at + separator.len;
    }
    *out = sb_build_list(&build, sizeof(SbStr));
    return SB_OK;
}

int32_t sb_join(SbCall *call, SbList parts, SbStr separator, SbStr *out) {
    const SbStr *items = parts.ptr;
    SbBuild build = {.call = call};
    for (int64_t i = 0; i < parts.len; i++) {
        if ((i && !sb_build_add(&build, separator.ptr, separator.len)) ||
            !sb_build_add(&build, items[i].ptr, items[i].len))
            return SB_FAULT_TOO_LARGE;
    }
    *out = sb_build_text(&build);
    return SB_OK;
}

int32_t sb_lines_of(SbCall *call, SbStr s, SbList *out) {
    SbBuild build = {.call = call};
    for (int64_t begin = 0; begin < s.len;) {
        const char *hit = memchr(s.ptr + begin, '\n', (size_t)(s.len - begin));
        int64_t end = hit ? hit - s.ptr : s.len, next = end + 1;
        if (hit && end > begin && s.ptr[end - 1] == '\r') end--;
        if (!sb_build_str(&build, (SbStr){s.ptr + begin, end - begin})) return SB_FAULT_TOO_LARGE;
        begin = next;
    }
    *out = sb_build_list(&build, sizeof(SbStr));
    return SB_OK;
}

int32_t sb_words(SbCall *call, SbStr s, SbList *out) {
    SbBuild build = {.call = call};
    int64_t begin = -1;
    for (int64_t i = 0; i <= s.len; i += i < s.len ? sb_utf8_bytes(s.ptr[i]) : 1) {
        bool space = i == s.len || sb_is_space(sb_utf8_read(s.ptr + i));
        if (!space && begin < 0) begin = i;
        if (!space || begin < 0) continue;
        if (!sb_build_str(&build, (SbStr){s.ptr + begin, i - begin})) return SB_FAULT_TOO_LARGE;
        begin = -1;
    }
    *out = sb_build_list(&build, sizeof(SbStr));
    return SB_OK;
}

// ---- characters ---------------------------------------------------------------------------------

// The character at that position; its bytes are 0 if there are not so many.
static SbStr char_at(SbStr s, int64_t position) {
    int64_t at = 0;
    for (; position > 0 && at < s.len; position--) at += sb_utf8_bytes(s.ptr[at]);
    return (SbStr){s.ptr + at, at < s.len ? sb_utf8_bytes(s.ptr[at]) : 0};
}

// The position of the first such character; -1: there is none.
static int64_t char_position(SbStr s, const char *c, int64_t bytes) {
    for (int64_t at = 0, position = 0; at < s.len; at += sb_utf8_bytes(s.ptr[at]), position++)
        if (sb_utf8_bytes(s.ptr[at]) == bytes && memcmp(s.ptr + at, c, (size_t)bytes) == 0)
            return position;
    return -1;
}

int32_t sb_translate(SbCall *call, SbStr s, SbStr from, SbStr to, SbStr *out) {
    SbBuild build = {.call = call};
    for (int64_t i = 0, bytes; i < s.len; i += bytes) {
        bytes = sb_utf8_bytes(s.ptr[i]);
        int64_t position = char_position(from, s.ptr + i, bytes);
        SbStr with = position < 0 ? (SbStr){s.ptr + i, bytes} : char_at(to, position);
        if (!sb_build_add(&build, with.ptr, with.len)) return SB_FAULT_TOO_LARGE;
    }
    *out = sb_build_text(&build);
    return SB_OK;
}

int32_t sb_char_of(SbCall *call, int64_t code, SbStr *out) {
    if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return SB_FAULT_BAD_ARGUMENT;
    char *text = sb_alloc(call, 4);
    if (!text) return SB_FAULT_TOO_LARGE;
    *out = (SbStr){text, sb_utf8_put(text, (uint32_t)code)};
    return SB_OK;
}
