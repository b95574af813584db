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

// Flips the letters that lie within 26 of `first`; the rest is copied. Writes whole vectors. False:
// there is a byte that is not ASCII, and the result means nothing.
static bool map_ascii(const char *from, char *to, int64_t len, uint8_t first) {
    uint64_t wide = 0;
    for (int64_t i = 0; i < len; i += 64) {
        Bytes64 bytes = bytes64_load(from + i);
        Bytes64 other = bytes ^ ((Bytes64)((Bytes64)(bytes - first) < 26) & 0x20);
        memcpy(to + i, &other, sizeof other);
        wide |= bytes64_until(bytes64_mask(bytes >> 7), len - i);
    }
    return !wide;
}

static char *map_point(const char *from, char *to, Case how) {
    return to + sb_utf8_put(to, mapped(sb_utf8_read(from), how));
}

// A mapped character takes at most one byte in two more (U+023A, two bytes, to U+2C65, three).
static char *map_room(SbCall *call, SbStr s) { return sb_alloc(call, s.len + s.len / 2 + 4); }

static int32_t map_all(SbCall *call, SbStr s, Case how, SbStr *out) {
    char *text = map_room(call, s), *at = text;
    if (!text) return SB_FAULT_TOO_LARGE;
    if (map_ascii(s.ptr, text, s.len, how == CASE_LOWER ? 'A' : 'a')) {
        sb_shrink(call, text, s.len);
        *out = (SbStr){text, s.len};
        return SB_OK;
    }
    for (int64_t i = 0; i < s.len; i += sb_utf8_bytes(s.ptr[i])) at = map_point(s.ptr + i, at, how);
    *out = (SbStr){text, at - text};
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
        bool apostrophe = inside && s.ptr[i] == '\'';
        at = map_point(s.ptr + i, at, inside ? CASE_LOWER : CASE_TITLE);
        inside = apostrophe || is_letter(sb_utf8_read(s.ptr + i));
    }
    *out = (SbStr){text, at - text};
    return SB_OK;
}

int32_t sb_capitalize(SbCall *call, SbStr s, SbStr *out) {
    char *text = map_room(call, s), *at = text;
    if (!text) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < s.len; i += sb_utf8_bytes(s.ptr[i]))
        at = map_point(s.ptr + i, at, i ? CASE_LOWER : CASE_TITLE);
    *out = (SbStr){text, at - text};
    return SB_OK;
}

// Decomposes into scratch memory, then composes in place; the texts of ASCII are their own form.
static int32_t normal_form(SbCall *call, SbStr s, int options, SbStr *out) {
    *out = s;
    if (sb_is_ascii(s)) return SB_OK;
    utf8proc_option_t decompose = (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE | options);
    const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)s.ptr;
    utf8proc_ssize_t count = utf8proc_decompose(bytes, s.len, nullptr, 0, decompose);
    if (count < 0) return SB_FAULT_TOO_LARGE;
    utf8proc_int32_t *points = sb_alloc(call, (count + 1) * (int64_t)sizeof *points);
    if (!points) return SB_FAULT_TOO_LARGE;
    if (utf8proc_decompose(bytes, s.len, points, count, decompose) < 0) return SB_FAULT_TOO_LARGE;
    count = utf8proc_normalize_utf32(points, count, decompose);
    char *text = sb_alloc(call, count * 4), *at = text;
    if (count < 0 || !text) return SB_FAULT_TOO_LARGE;
    for (utf8proc_ssize_t i = 0; i < count; i++) at += sb_utf8_put(at, (uint32_t)points[i]);
    sb_shrink(call, text, at - text);
    *out = (SbStr){text, at - text};
    return SB_OK;
}

int32_t sb_strip_accents(SbCall *call, SbStr s, SbStr *out) {
    return normal_form(call, s, UTF8PROC_STRIPMARK, out);
}

int32_t sb_nfc(SbCall *call, SbStr s, SbStr *out) { return normal_form(call, s, 0, out); }

int32_t sb_nfkc(SbCall *call, SbStr s, SbStr *out) {
    return normal_form(call, s, UTF8PROC_COMPAT, out);
}
