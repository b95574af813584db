// String: looking into texts; every result is a number or a view.
#include "stdlib/text/string.h"

#include "stdlib/text/bytes64.h"
#include "stdlib/text/utf8.h"

#include <string.h>

int64_t sb_str_len(SbStr s) { return sb_utf8_count(s.ptr, s.len); }
int64_t sb_byte_len(SbStr s) { return s.len; }
SbStr sb_bytes_of_str(SbStr s) { return s; }

bool sb_is_ascii(SbStr s) {
    uint64_t wide = 0;
    for (int64_t i = 0; i < s.len; i += 64)
        wide |= bytes64_until(bytes64_mask(bytes64_load(s.ptr + i) >> 7), s.len - i);
    return !wide;
}

// ---- searching ----------------------------------------------------------------------------------

// Rabin and Karp's rolling hash: linear but for chance, for texts on which memchr finds too much.
static int64_t find_rolling(SbStr s, SbStr part, int64_t from) {
    uint64_t want = 0, have = 0, power = 1;
    for (int64_t i = 0; i < part.len; i++) {
        want = want * 257 + (uint8_t)part.ptr[i];
        have = have * 257 + (uint8_t)s.ptr[from + i];
        if (i) power *= 257;
    }
    for (int64_t at = from;; at++) {
        if (have == want && memcmp(s.ptr + at, part.ptr, (size_t)part.len) == 0) return at;
        if (at + part.len >= s.len) return -1;
        have = (have - (uint8_t)s.ptr[at] * power) * 257 + (uint8_t)s.ptr[at + part.len];
    }
}

int64_t sb_find_bytes(SbStr s, SbStr part, int64_t from) {
    int64_t last = s.len - part.len, failed = 0;
    for (int64_t at = from; at <= last; at++) {
        const char *hit = memchr(s.ptr + at, part.ptr[0], (size_t)(last - at + 1));
        if (!hit) return -1;
        at = hit - s.ptr;
        if (memcmp(hit, part.ptr, (size_t)part.len) == 0) return at;
        if (++failed > 64 && at < last && part.len > 8) return find_rolling(s, part, at + 1);
    }
    return -1;
}

bool sb_contains(SbStr s, SbStr part) {
    return part.len == 0 || sb_find_bytes(s, part, 0) >= 0;
}

bool sb_starts_with(SbStr s, SbStr part) {
    return part.len == 0 || (s.len >= part.len && memcmp(s.ptr, part.ptr, (size_t)part.len) == 0);
}

bool sb_ends_with(SbStr s, SbStr part) {
    return part.len == 0 || (s.len >= part.len && memcmp(s.ptr + s.len - part.len, part.ptr,
                                                         (size_t)part.len) == 0);
}

int32_t sb_index_of(SbStr s, SbStr part, int64_t *out) {
    int64_t at = part.len ? sb_find_bytes(s, part, 0) : 0;
    if (at < 0) return SB_NULL;
    *out = sb_utf8_count(s.ptr, at);
    return SB_OK;
}

int32_t sb_last_index_of(SbStr s, SbStr part, int64_t *out) {
    for (int64_t at = s.len - part.len; at >= 0; at--) {
        if (part.len && memcmp(s.ptr + at, part.ptr, (size_t)part.len) != 0) continue;
        *out = sb_utf8_count(s.ptr, at);
        return SB_OK;
    }
    return SB_NULL;
}

int32_t sb_split_part(SbStr s, SbStr separator, int64_t index, SbStr *out) {
    if (!separator.len) return SB_FAULT_BAD_ARGUMENT;
    if (index < 0) index += sb_count_of(s, separator) + 1;
    if (index < 0) return SB_NULL;
    int64_t begin = 0, end;
    for (;; index--) {
        end = sb_find_bytes(s, separator, begin);
        if (index == 0 || end < 0) break;
        begin = end + separator.len;
    }
    if (index) return SB_NULL;
    *out = (SbStr){s.ptr + begin, (end < 0 ? s.len : end) - begin};
    return SB_OK;
}

int64_t sb_count_of(SbStr s, SbStr part) {
    int64_t count = 0;
    if (!part.len) return 0;
    for (int64_t at = 0; (at = sb_find_bytes(s, part, at)) >= 0; at += part.len) count++;
    return count;
}

// ---- cutting ------------------------------------------------------------------------------------

static SbStr cut(SbStr s, int64_t begin, int64_t end) {
    return (SbStr){s.ptr + begin, end - begin};
}

// Byte at which the last character of s[0, end) begins.
static int64_t step_back(SbStr s, int64_t end) {
    do end--;
    while (end > 0 && sb_utf8_inside(s.ptr[end]));
    return end;
}

static bool is_one_of(SbStr chars, const char *c, int64_t bytes) {
    for (int64_t i = 0; i < chars.len; i += sb_utf8_bytes(chars.ptr[i])) {
        if (sb_utf8_bytes(chars.ptr[i]) == bytes && memcmp(chars.ptr + i, c, (size_t)bytes) == 0)
            return true;
    }
    return false;
}

// `chars` null: white space.
static bool is_trimmed(const SbStr *chars, const char *c) {
    return chars ? is_one_of(*chars, c, sb_utf8_bytes(*c)) : sb_is_space(sb_utf8_read(c));
}

static SbStr trim_left(SbStr s, const SbStr *chars) {
    int64_t at = 0;
    while (at < s.len && is_trimmed(chars, s.ptr + at)) at += sb_utf8_bytes(s.ptr[at]);
    return cut(s, at, s.len);
}

static SbStr trim_right(SbStr s, const SbStr *chars) {
    while (s.len > 0) {
        int64_t at = step_back(s, s.len);
        if (!is_trimmed(chars, s.ptr + at)) break;
        s.len = at;
    }
    return s;
}

SbStr sb_trim(SbStr s) { return trim_right(trim_left(s, nullptr), nullptr); }
SbStr sb_ltrim(SbStr s) { return trim_left(s, nullptr); }
SbStr sb_rtrim(SbStr s) { return trim_right(s, nullptr); }
SbStr sb_trim_of(SbStr s, SbStr chars) { return trim_right(trim_left(s, &chars), &chars); }
SbStr sb_ltrim_of(SbStr s, SbStr chars) { return trim_left(s, &chars); }
SbStr sb_rtrim_of(SbStr s, SbStr chars) { return trim_right(s, &chars); }

SbStr sb_remove_prefix(SbStr s, SbStr part) {
    return sb_starts_with(s, part) ? cut(s, part.len, s.len) : s;
}

SbStr sb_remove_suffix(SbStr s, SbStr part) {
    return sb_ends_with(s, part) ? cut(s, 0, s.len - part.len) : s;
}

// Byte of the character `count` after byte `at`, or the end.
static int64_t skip(SbStr s, int64_t at, int64_t count) {
    while (count > 0 && at < s.len) {
        uint64_t word;
        memcpy(&word, s.ptr + at, sizeof word);  // Reads into the slack at most.
        if (count >= 8 && s.len - at >= 8 && !(word & 0x8080808080808080)) {
            at += 8;
            count -= 8;
            continue;
        }
        at += sb_utf8_bytes(s.ptr[at]);
        count--;
    }
    return at;
}

// Byte of the character `count` before the end, or 0.
static int64_t skip_back(SbStr s, int64_t count) {
    int64_t at = s.len;
    for (; count > 0 && at > 0; count--) at = step_back(s, at);
    return at;
}

SbStr sb_substr_rest(SbStr s, int64_t begin) {
    if (begin == INT64_MIN) return s;
    return cut(s, begin < 0 ? skip_back(s, -begin) : skip(s, 0, begin), s.len);
}

SbStr sb_substr(SbStr s, int64_t begin, int64_t count) {
    SbStr rest = sb_substr_rest(s, begin);
    return cut(rest, 0, skip(rest, 0, count));
}

SbStr sb_left(SbStr s, int64_t count) {
    if (count == INT64_MIN) return cut(s, 0, 0);
    return cut(s, 0, count < 0 ? skip_back(s, -count) : skip(s, 0, count));
}

SbStr sb_right(SbStr s, int64_t count) {
    if (count == INT64_MIN) return cut(s, s.len, s.len);
    return cut(s, count < 0 ? skip(s, 0, -count) : skip_back(s, count), s.len);
}

// ---- paths: parts are parted by '/' -------------------------------------------------------------

SbStr sb_basename(SbStr path) {
    while (path.len > 1 && path.ptr[path.len - 1] == '/') path.len--;
    int64_t at = path.len;
    while (at > 0 && path.ptr[at - 1] != '/') at--;
    return at == path.len ? path : cut(path, at, path.len);
}

SbStr sb_dirname(SbStr path) {
    while (path.len > 1 && path.ptr[path.len - 1] == '/') path.len--;
    int64_t at = path.len;
    while (at > 0 && path.ptr[at - 1] != '/') at--;
    while (at > 1 && path.ptr[at - 1] == '/') at--;
    return cut(path, 0, at);
}

// Where the extension of a base name begins, with its point; the length if there is none.
static int64_t extension_at(SbStr base) {
    int64_t at = base.len;
    while (at > 0 && base.ptr[at - 1] != '.') at--;
    return at <= 1 ? base.len : at - 1;
}

SbStr sb_extension(SbStr path) {
    SbStr base = sb_basename(path);
    return cut(base, extension_at(base), base.len);
}

SbStr sb_stem(SbStr path) {
    SbStr base = sb_basename(path);
    return cut(base, 0, extension_at(base));
}

// ---- codes --------------------------------------------------------------------------------------

int32_t sb_char_code(SbStr s, int64_t *out) {
    if (!s.len) return SB_NULL;
    *out = sb_utf8_read(s.ptr);
    return SB_OK;
}

int32_t sb_str_of_bytes(SbStr bytes, SbStr *out) {
    if (!sb_utf8_valid(bytes.ptr, bytes.len)) return SB_FAULT_BAD_UTF8;
    *out = bytes;
    return SB_OK;
}
