#include "ir/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

Text text_of(const char *nul_terminated) { return (Text){nul_terminated, strlen(nul_terminated)}; }

Text text_copy(Arena *arena, Text text) {
    return (Text){arena_copy(arena, text.at, text.len, 1), text.len};
}

Text text_format(Arena *arena, const char *format, ...) {
    TextBuf buf = {0};
    va_list args;
    va_start(args, format);
    text_buf_formatv(&buf, format, args);
    va_end(args);
    Text text = text_buf_view(&buf);
    text.at = text_c(arena, text);
    text_buf_free(&buf);
    return text;
}

const char *text_c(Arena *arena, Text text) {
    char *copy = arena_alloc(arena, text.len + 1, 1);
    if (text.len) memcpy(copy, text.at, text.len);
    return copy;
}

bool text_eq(Text a, Text b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

bool text_is(Text a, const char *nul_terminated) { return text_eq(a, text_of(nul_terminated)); }

bool text_starts(Text text, Text prefix) {
    return text.len >= prefix.len && text_eq((Text){text.at, prefix.len}, prefix);
}

bool text_ends(Text text, const char *suffix) {
    size_t len = strlen(suffix);
    return text.len > len && memcmp(text.at + text.len - len, suffix, len) == 0;
}

bool text_is_url(Text text) {
    size_t at = 0;
    for (; at < text.len; at++) {
        if (!isalnum((unsigned char)text.at[at]) && !strchr("+-.", text.at[at])) break;
    }
    return at > 1 && text_starts((Text){text.at + at, text.len - at}, TEXT("://"));
}

int text_cmp(Text a, Text b) {
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.at, b.at, len) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

// FNV-1a, 64 bits (Fowler, Noll, Vo).
uint64_t text_hash(Text text) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < text.len; i++) hash = (hash ^ (unsigned char)text.at[i]) * 0x100000001b3;
    return hash;
}

// Optimal string alignment over three rolling rows.
unsigned text_distance(Text a, Text b, unsigned limit) {
    enum { LEN_MAX = 64 };
    if (a.len > LEN_MAX || b.len > LEN_MAX) return text_eq(a, b) ? 0 : limit + 1;
    unsigned rows[3][LEN_MAX + 1];
    for (size_t j = 0; j <= b.len; j++) rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.len; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.len; j++) {
            unsigned best = above[j - 1] + (a.at[i - 1] != b.at[j - 1]);
            if (above[j] + 1 < best) best = above[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a.at[i - 1] == b.at[j - 2] &&
                           a.at[i - 2] == b.at[j - 1];
            if (swapped && above2[j - 2] + 1 < best) best = above2[j - 2] + 1;
            row[j] = best;
        }
    }
    unsigned distance = rows[a.len % 3][b.len];
    return distance > limit ? limit + 1 : distance;
}

static void reserve(TextBuf *buf, size_t more) {
    if (buf->len + more <= buf->cap) return;
    size_t cap = buf->cap ? buf->cap : 128;
    while (cap < buf->len + more) cap *= 2;
    char *at = realloc(buf->at, cap);
    if (!at) {
        fputs("sbc: out of memory\n", stderr);
        abort();
    }
    buf->at = at;
    buf->cap = cap;
}

void text_buf_add(TextBuf *buf, Text text) {
    if (!text.len) return;
    reserve(buf, text.len);
    memcpy(buf->at + buf->len, text.at, text.len);
    buf->len += text.len;
}

void text_buf_char(TextBuf *buf, char c) { text_buf_add(buf, (Text){&c, 1}); }

void text_buf_format(TextBuf *buf, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_buf_formatv(buf, format, args);
    va_end(args);
}

void text_buf_formatv(TextBuf *buf, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(nullptr, 0, format, args);
    if (len > 0) {
        reserve(buf, (size_t)len + 1);
        vsnprintf(buf->at + buf->len, (size_t)len + 1, format, again);
        buf->len += (size_t)len;
    }
    va_end(again);
}

void text_buf_pad(TextBuf *buf, size_t columns) {
    for (size_t i = 0; i < columns; i++) text_buf_char(buf, ' ');
}

void text_buf_int128(TextBuf *buf, __int128 value) {
    char digits[48], *at = digits + sizeof digits;
    unsigned __int128 rest = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    do *--at = (char)('0' + (int)(rest % 10)); while (rest /= 10);
    if (value < 0) *--at = '-';
    text_buf_add(buf, (Text){at, (size_t)(digits + sizeof digits - at)});
}

void text_buf_quoted(TextBuf *buf, Text text) {
    text_buf_char(buf, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        static const char escaped[] = "\"\\\n\t\r", names[] = "\"\\ntr";
        const char *escape = c ? strchr(escaped, c) : nullptr;
        if (escape) text_buf_format(buf, "\\%c", names[escape - escaped]);
        else if (c < 0x20 || c == 0x7f) text_buf_format(buf, "\\u{%X}", c);
        else text_buf_char(buf, (char)c);
    }
    text_buf_char(buf, '"');
}

Text text_buf_view(const TextBuf *buf) { return (Text){buf->at, buf->len}; }

Text text_buf_take(TextBuf *buf, Arena *arena) {
    Text copy = text_copy(arena, text_buf_view(buf));
    text_buf_free(buf);
    return copy;
}

void text_buf_free(TextBuf *buf) {
    free(buf->at);
    *buf = (TextBuf){0};
}
