// URL: scheme, host, port, path, query, fragment; parameters; versions of products.
#include "stdlib/text/url.h"

#include "stdlib/text/encode.h"
#include "stdlib/text/list_build.h"
#include "stdlib/text/string.h"
#include "stdlib/text/utf8.h"

typedef struct Parts {
    SbStr scheme, authority, path, query, fragment;  // .ptr is nullptr where there is none.
} Parts;

// The first of the bytes in `stops`, from `at` on; the end, if there is none.
static int64_t until(SbStr s, int64_t at, const char *stops) {
    while (at < s.len && !(s.ptr[at] && strchr(stops, s.ptr[at]))) at++;
    return at;
}

static SbStr cut(SbStr s, int64_t from, int64_t to) { return (SbStr){s.ptr + from, to - from}; }

static bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// scheme = ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )
static bool is_scheme(SbStr s) {
    if (!s.len || !is_letter(s.ptr[0])) return false;
    for (int64_t i = 1; i < s.len; i++) {
        char c = s.ptr[i];
        if (!is_letter(c) && !is_digit(c) && c != '+' && c != '-' && c != '.') return false;
    }
    return true;
}

static Parts parts_of(SbStr url) {
    Parts parts = {0};
    int64_t at = until(url, 0, ":/?#");
    if (at < url.len && url.ptr[at] == ':' && is_scheme(cut(url, 0, at))) {
        parts.scheme = cut(url, 0, at++);
    } else at = 0;
    if (at + 1 < url.len && url.ptr[at] == '/' && url.ptr[at + 1] == '/') {
        int64_t end = until(url, at + 2, "/?#");
        parts.authority = cut(url, at + 2, end);
        at = end;
    }
    int64_t end = until(url, at, "?#");
    parts.path = cut(url, at, end);
    if (end < url.len && url.ptr[end] == '?') {
        at = end + 1;
        end = until(url, at, "#");
        parts.query = cut(url, at, end);
    }
    if (end < url.len) parts.fragment = cut(url, end + 1, url.len);
    return parts;
}

// Where the host ends within an authority, and where it begins.
static int64_t host_end(SbStr authority, int64_t *begin) {
    *begin = 0;
    for (int64_t i = 0; i < authority.len; i++)
        if (authority.ptr[i] == '@') *begin = i + 1;
    if (*begin < authority.len && authority.ptr[*begin] == '[') {
        int64_t close = until(authority, *begin, "]");
        if (close < authority.len) return close + 1;
    }
    return until(authority, *begin, ":");
}

static int32_t part(SbStr found, SbStr *out) {
    *out = found;
    return found.ptr ? SB_OK : SB_NULL;
}

int32_t sb_url_scheme(SbStr url, SbStr *out) { return part(parts_of(url).scheme, out); }

int32_t sb_url_host(SbStr url, SbStr *out) {
    Parts parts = parts_of(url);
    int64_t begin, end;
    if (!parts.authority.ptr) return SB_NULL;
    end = host_end(parts.authority, &begin);
    *out = cut(parts.authority, begin, end);
    return out->len ? SB_OK : SB_NULL;
}

int32_t sb_url_port(SbStr url, int64_t *out) {
    enum { PORT_MAX = 65535 };
    Parts parts = parts_of(url);
    int64_t begin, at;
    if (!parts.authority.ptr) return SB_NULL;
    at = host_end(parts.authority, &begin);
    if (at + 1 >= parts.authority.len || parts.authority.ptr[at] != ':') return SB_NULL;
    for (*out = 0, at++; at < parts.authority.len; at++) {
        if (!is_digit(parts.authority.ptr[at])) return SB_NULL;
        *out = *out * 10 + (parts.authority.ptr[at] - '0');
        if (*out > PORT_MAX) return SB_NULL;
    }
    return SB_OK;
}

SbStr sb_url_path(SbStr url) { return parts_of(url).path; }

int32_t sb_url_query(SbStr url, SbStr *out) { return part(parts_of(url).query, out); }

int32_t sb_url_fragment(SbStr url, SbStr *out) { return part(parts_of(url).fragment, out); }

// ---- parameters ---------------------------------------------------------------------------------

// The next byte of a part of a query; *at moves on.
static char decoded(SbStr s, int64_t *at) {
    char c = s.ptr[(*at)++];
    if (c == '+') return ' ';
    if (c != '%' || *at + 2 > s.len) return c;
    int high = sb_hex_value(s.ptr[*at]), low = sb_hex_value(s.ptr[*at + 1]);
    if (high < 0 || low < 0) return c;
    *at += 2;
    return (char)(high << 4 | low);
}

static bool is_named(SbStr key, SbStr name) {
    int64_t at = 0, i = 0;
    while (at < key.len && i < name.len)
        if (decoded(key, &at) != name.ptr[i++]) return false;
    return at == key.len && i == name.len;
}

int32_t sb_url_param(SbCall *call, SbStr url, SbStr name, SbStr *out) {
    SbStr query = parts_of(url).query;
    for (int64_t at = 0; query.ptr && at <= query.len;) {
        int64_t end = until(query, at, "&"), equal = until(query, at, "&=");
        SbStr value = equal < end ? cut(query, equal + 1, end) : cut(query, end, end);
        if (!is_named(cut(query, at, equal), name) || end == at) {
            at = end + 1;
            continue;
        }
        char *made = sb_alloc(call, value.len), *next = made;
        if (!made) return SB_FAULT_TOO_LARGE;
        for (int64_t i = 0; i < value.len;) *next++ = decoded(value, &i);
        sb_shrink(call, made, next - made);
        *out = (SbStr){made, next - made};
        if (sb_utf8_valid(out->ptr, out->len)) return SB_OK;
        call->detail = value;
        return SB_FAULT_BAD_UTF8;
    }
    return SB_NULL;
}

// ---- products -----------------------------------------------------------------------------------

static bool same_letters(const char *a, const char *b, int64_t len) {
    for (int64_t i = 0; i < len; i++) {
        char x = a[i], y = b[i];
        if (x != y && !(is_letter(x) && (x | 0x20) == (y | 0x20))) return false;
    }
    return true;
}

int32_t sb_product_version(SbStr products, SbStr name, SbStr *out) {
    static const char ends[] = " \t;,()";
    for (int64_t at = 0; name.len && at + name.len < products.len; at++) {
        bool begins = at == 0 || strchr(ends, products.ptr[at - 1]);
        int64_t slash = at + name.len;
        if (!begins || products.ptr[slash] != '/' ||
            !same_letters(products.ptr + at, name.ptr, name.len))
            continue;
        *out = cut(products, slash + 1, until(products, slash + 1, ends));
        if (out->len) return SB_OK;
    }
    return SB_NULL;
}
