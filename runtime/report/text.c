#define _GNU_SOURCE
#include "runtime/report/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sb_text_close(Text *text) {
    free(text->ptr);
    *text = (Text){0};
}

void sb_text_trim(Text *text) {
    char *ptr = text->len > 0 ? realloc(text->ptr, (size_t)text->len) : nullptr;
    if (!ptr) return;
    text->ptr = ptr;
    text->cap = text->len;
}

void sb_text_add(Text *text, const char *bytes, int64_t len) {
    if (len <= 0) return;
    if (text->len + len > text->cap) {
        int64_t cap = text->cap ? 2 * text->cap : 256;
        while (cap < text->len + len) cap *= 2;
        char *ptr = realloc(text->ptr, (size_t)cap);
        if (!ptr) {
            text->failed = true;
            return;
        }
        text->ptr = ptr;
        text->cap = cap;
    }
    memcpy(text->ptr + text->len, bytes, (size_t)len);
    text->len += len;
}

void sb_text_str(Text *text, const char *word) {
    sb_text_add(text, word, (int64_t)strlen(word));
}

void sb_text_format(Text *text, const char *format, ...) {
    char *made = nullptr;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&made, format, args);
    va_end(args);
    if (len < 0) {
        text->failed = true;
        return;
    }
    sb_text_add(text, made, len);
    free(made);
}

// ---- characters -----------------------------------------------------------------------------

// Length of the character at bytes[0..len), len > 0. Bad UTF-8: *good is false and the length is
// that of a maximal part (Unicode 16, table 3-8).
static int64_t character(const char *bytes, int64_t len, bool *good) {
    const unsigned char *b = (const unsigned char *)bytes;
    int64_t want = b[0] < 0x80   ? 1
                   : b[0] < 0xc2 ? 0
                   : b[0] < 0xe0 ? 2
                   : b[0] < 0xf0 ? 3
                   : b[0] < 0xf5 ? 4
                                 : 0;
    *good = false;
    if (want == 0) return 1;
    unsigned char low = b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = b[0] == 0xed ? 0x9f : b[0] == 0xf4 ? 0x8f : 0xbf;
    for (int64_t i = 1; i < want; i++, low = 0x80, high = 0xbf) {
        if (i >= len || b[i] < low || b[i] > high) return i;
    }
    *good = true;
    return want;
}

int64_t sb_text_cut(const char *bytes, int64_t len, int64_t max) {
    if (len <= max) return len;
    int64_t at = 0;
    for (;;) {
        bool good;
        int64_t next = at + character(bytes + at, len - at, &good);
        if (next > max) return at;
        at = next;
    }
}

void sb_text_add_shown(Text *text, const char *bytes, int64_t len) {
    int64_t plain = 0, at = 0;
    while (at < len) {
        bool good;
        int64_t size = character(bytes + at, len - at, &good);
        if (!good) {
            sb_text_add(text, bytes + plain, at - plain);
            sb_text_add(text, "\xef\xbf\xbd", 3);
            plain = at + size;
        }
        at += size;
    }
    sb_text_add(text, bytes + plain, len - plain);
}

void sb_text_add_short(Text *text, const char *bytes, int64_t len, int64_t max) {
    int64_t cut = sb_text_cut(bytes, len, max);
    for (int64_t at = 0; at < cut;) {
        bool good;
        int64_t size = character(bytes + at, cut - at, &good);
        unsigned char byte = (unsigned char)bytes[at];
        if (byte == '\n') sb_text_str(text, "\\n");
        else if (byte == '\r') sb_text_str(text, "\\r");
        else if (byte == '\t') sb_text_str(text, "\\t");
        else if (byte < 0x20 || byte == 0x7f) sb_text_format(text, "\\u{%x}", byte);
        else sb_text_add_shown(text, bytes + at, size);
        at += size;
    }
    if (cut < len) sb_text_str(text, "...");
}

void sb_text_add_json(Text *text, const char *bytes, int64_t len) {
    static const char short_names[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    sb_text_str(text, "\"");
    int64_t plain = 0;
    for (int64_t at = 0; at < len; at++) {
        unsigned char byte = (unsigned char)bytes[at];
        if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
        sb_text_add(text, bytes + plain, at - plain);
        plain = at + 1;
        const char *name = nullptr;
        for (const char *pair = short_names; *pair; pair += 2) {
            if (pair[0] == (char)byte) name = pair + 1;
        }
        if (name) sb_text_format(text, "\\%c", *name);
        else sb_text_format(text, "\\u%04x", byte);
    }
    sb_text_add(text, bytes + plain, len - plain);
    sb_text_str(text, "\"");
}

void sb_text_add_csv(Text *text, const char *bytes, int64_t len) {
    bool quoted = len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0;
    for (int64_t at = 0; at < len; at++)
        quoted |= strchr(",\"\r\n", bytes[at]) && bytes[at] != '\0';
    if (!quoted) {
        sb_text_add(text, bytes, len);
        return;
    }
    sb_text_str(text, "\"");
    int64_t plain = 0;
    for (int64_t at = 0; at < len; at++) {
        if (bytes[at] != '"') continue;
        sb_text_add(text, bytes + plain, at + 1 - plain);
        plain = at;
    }
    sb_text_add(text, bytes + plain, len - plain);
    sb_text_str(text, "\"");
}

void sb_text_add_figure(Text *text, int64_t number) {
    char digits[32], shown[48];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)number), out = 0;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-') shown[out++] = ',';
        shown[out++] = digits[i];
    }
    sb_text_add(text, shown, out);
}
