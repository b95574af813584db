// Unicode: case and normal forms by the tables of utf8proc 2.8 (Unicode 15), linked statically, so
// that every machine gives the same text. Case mappings are the simple ones: one character to one.
#include "stdlib/text/bytes64.h"
#include "stdlib/text/list_build.h"
#include "stdlib/text/string.h"
#include "stdlib/text/utf8.h"

#include <utf8proc.h>

typedef enum Case { CASE_LOWER, CASE_UPPER, CASE_TITLE } Case;

static uint32_t mapped(uint32_t c, Case to) {
    utf8proc_int32_t point = (utf8proc_int32_t)c;
    switch (to) {
    case CASE_LOWER: return (uint32_t)utf8proc_tolower(point);
    case CASE_UPPER: return (uint32_t)utf8proc_toupper(point);
    case CASE_TITLE: return (uint32_t)utf8proc_totitle(point);
    }
    __builtin_trap();
}

// A mapped character takes at most one byte in two more (U+023A, two bytes, to U+2C65, three).
static char *map_room(SbCall *call, SbStr s) { return sb_alloc(call, s.len + s.len / 2 + 4); }

static char *map_point(const char *from, char *to, Case how) {
    return to + sb_utf8_put(to, mapped(sb_utf8_read(from), how));
}

// Maps the characters beyond ASCII that stand at s.ptr[*i], and moves *i after them.
[[gnu::noinline]]
static char *map_wide(SbStr s, int64_t *i, char *to, Case how) {
    do {
        to = map_point(s.ptr + *i, to, how);
        *i += sb_utf8_bytes(s.ptr[*i]);
    } while (*i < s.len && (uint8_t)s.ptr[*i] >= 0x80);
    return to;
}

// Maps 64 bytes as if they were all ASCII, flipping the letters that lie within 26 of `first`.
// Returns a bit for each byte beyond ASCII.
static inline uint64_t map_block(const char *from, char *to, uint8_t first) {
    const Bytes64 bytes = bytes64_load(from);
    const Bytes64 other = bytes ^ ((Bytes64)((Bytes64)(bytes - first) < 26) & 0x20);
    memcpy(to, &other, sizeof other);
    return bytes64_mask(bytes >> 7);
}

// Maps s from `i` on and returns the end of the result. Writes whole vectors.
static char *map_rest(SbStr s, int64_t i, char *to, Case how) {
    const uint8_t first = how == CASE_LOWER ? 'A' : 'a';
    for (;;) {
        uint64_t wide = 0;
        for (; s.len - i >= 64; i += 64, to += 64)
            if ((wide = map_block(s.ptr + i, to, first))) break;
        if (!wide) wide = bytes64_until(map_block(s.ptr + i, to, first), s.len - i);
        if (!wide) return to + (s.len - i);
        const int narrow = __builtin_ctzll(wide);
        i += narrow;
        to = map_wide(s, &i, to + narrow, how);
    }
}

static SbStr map_done(SbCall *call, char *text, const char *end) {
    sb_shrink(call, text, end - text);
    return (SbStr){text, end - text};
}

static int32_t map_all(SbCall *call, SbStr s, Case how, SbStr *out) {
    char *text = map_room(call, s);
    if (!text) return SB_FAULT_TOO_LARGE;
    *out = map_done(call, text, map_rest(s, 0, text, how));
    return SB_OK;
}

int32_t sb_upper(SbCall *call, SbStr s, SbStr *out) { return map_all(call, s, CASE_UPPER, out); }
int32_t sb_lower(SbCall *call, SbStr s, SbStr *out) { return map_all(call, s, CASE_LOWER, out); }

// Letters, and the marks that stand on them.
static bool is_letter(uint32_t c) {
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_MN;
}

int32_t sb_title(SbCall *call, SbStr s, SbStr *out) {
    char *text = map_room(call, s), *at = text;
    if (!text) return SB_FAULT_TOO_LARGE;
    bool inside = false;
    for (int64_t i = 0; i < s.len; i += sb_utf8_bytes(s.ptr[i])) {
        const uint8_t c = (uint8_t)s.ptr[i], small = c | 0x20;
        const bool letter = (uint8_t)(small - 'a') < 26;
        if (c < 0x80) {
            *at++ = (char)(!letter ? c : inside ? small : small ^ 0x20);
            inside = letter || (inside && c == '\'');
        } else {
            at = map_point(s.ptr + i, at, inside ? CASE_LOWER : CASE_TITLE);
            inside = is_letter(sb_utf8_read(s.ptr + i));
        }
    }
    *out = map_done(call, text, at);
    return SB_OK;
}

int32_t sb_capitalize(SbCall *call, SbStr s, SbStr *out) {
    char *text = map_room(call, s), *at = text;
    if (!text) return SB_FAULT_TOO_LARGE;
    if (s.len) at = map_rest(s, sb_utf8_bytes(s.ptr[0]), map_point(s.ptr, at, CASE_TITLE),
                             CASE_LOWER);
    *out = map_done(call, text, at);
    return SB_OK;
}

// The normal form of a part of a text, at the end of `build`, in scratch memory of its own.
static int32_t add_normal(SbBuild *build, SbStr s, utf8proc_option_t decompose) {
    enum { SHORT = 64 };  // Code points that need no scratch memory.
    const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)s.ptr;
    utf8proc_int32_t few[SHORT], *points = few;
    utf8proc_ssize_t count = utf8proc_decompose(bytes, s.len, few, SHORT, decompose);
    if (count < 0) return SB_FAULT_TOO_LARGE;
    if (count > SHORT) {
        points = sb_alloc(build->call, (count + 1) * (int64_t)sizeof *points);
        if (!points) return SB_FAULT_TOO_LARGE;
        if (utf8proc_decompose(bytes, s.len, points, count, decompose) < 0)
            return SB_FAULT_TOO_LARGE;
    }
    count = utf8proc_normalize_utf32(points, count, decompose);
    char *room = count < 0 ? nullptr : sb_build_room(build, count * 4 + 1);  // Not null for none.
    if (!room) return SB_FAULT_TOO_LARGE;
    char *at = room;
    for (utf8proc_ssize_t i = 0; i < count; i++) at += sb_utf8_put(at, (uint32_t)points[i]);
    build->len += at - room;
    return SB_OK;
}

// The first byte at or after s.ptr[from] that is beyond ASCII or, if `narrow`, that is ASCII; s.len
// for none.
static int64_t find_kind(SbStr s, int64_t from, bool narrow) {
    for (int64_t i = from; i < s.len; i += 64) {
        uint64_t wide = bytes64_mask(bytes64_load(s.ptr + i) >> 7);
        wide = bytes64_until(narrow ? ~wide : wide, s.len - i);
        if (wide) return i + __builtin_ctzll(wide);
    }
    return s.len;
}

// ASCII is its own form, and no character of ASCII joins the one before it. So what is composed are
// the characters beyond ASCII with the one before them; what lies between stays.
static int32_t normal_form(SbCall *call, SbStr s, int options, SbStr *out) {
    const utf8proc_option_t how =
        (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE | options);
    *out = s;
    int64_t wide = find_kind(s, 0, false), done = 0;
    if (wide == s.len) return SB_OK;
    SbBuild build = {.call = call};
    for (; wide < s.len; wide = find_kind(s, done, false)) {
        const int64_t begin = wide > done ? wide - 1 : wide;
        if (!sb_build_add(&build, s.ptr + done, begin - done)) return SB_FAULT_TOO_LARGE;
        done = find_kind(s, wide, true);
        int32_t status = add_normal(&build, (SbStr){s.ptr + begin, done - begin}, how);
        if (status) return status;
    }
    if (!sb_build_add(&build, s.ptr + done, s.len - done)) return SB_FAULT_TOO_LARGE;
    *out = sb_build_text(&build);
    return SB_OK;
}

int32_t sb_strip_accents(SbCall *call, SbStr s, SbStr *out) {
    return normal_form(call, s, UTF8PROC_STRIPMARK, out);
}

int32_t sb_nfc(SbCall *call, SbStr s, SbStr *out) { return normal_form(call, s, 0, out); }

int32_t sb_nfkc(SbCall *call, SbStr s, SbStr *out) {
    return normal_form(call, s, UTF8PROC_COMPAT, out);
}
