#include "stdlib/text/text_out.h"

#include <string.h>

enum { STEP = 32 };

// Generic vectors: a stage inlines this at its own CPU level.
typedef uint8_t Bytes __attribute__((vector_size(STEP)));
typedef bool Bits __attribute__((ext_vector_type(STEP)));

static inline Bytes load(const char *ptr) {
    Bytes bytes;
    memcpy(&bytes, ptr, sizeof bytes);
    return bytes;
}

static inline uint32_t bits(Bytes truths) {
    return __builtin_bit_cast(uint32_t, __builtin_convertvector(truths, Bits));
}

// The bits of the first `len` bytes, when fewer than STEP are left.
static inline uint32_t first(uint32_t mask, int64_t len) {
    return len < STEP ? mask & ((UINT32_C(1) << len) - 1) : mask;
}

static inline uint32_t csv_specials(Bytes bytes, char delimiter, char quote) {
    return bits((Bytes)(bytes == (uint8_t)delimiter) | (Bytes)(bytes == (uint8_t)quote) |
                (Bytes)(bytes == '\n') | (Bytes)(bytes == '\r'));
}

static inline bool starts_with_mark(const char *ptr, int64_t len) {
    return len >= 3 && memcmp(ptr, "\xef\xbb\xbf", 3) == 0;
}

char *sb_csv_put_quoted(char *out, const char *ptr, int64_t len, char quote) {
    const char *end = ptr + len;
    *out++ = quote;
    while (ptr < end) {
        const char *found = memchr(ptr, quote, (size_t)(end - ptr));
        size_t part = (size_t)((found ? found + 1 : end) - ptr);
        memcpy(out, ptr, part);
        out += part;
        ptr += part;
        if (found) *out++ = quote;
    }
    *out++ = quote;
    return out;
}

char *sb_csv_put(char *out, const char *ptr, int64_t len, char delimiter, char quote) {
    if (starts_with_mark(ptr, len)) return sb_csv_put_quoted(out, ptr, len, quote);
    for (int64_t at = 0; at < len; at += STEP) {
        Bytes bytes = load(ptr + at);
        memcpy(out + at, &bytes, sizeof bytes);
        if (first(csv_specials(bytes, delimiter, quote), len - at)) {
            return sb_csv_put_quoted(out, ptr, len, quote);
        }
    }
    return out + len;
}

bool sb_csv_must_quote(const char *ptr, int64_t len, char delimiter, char quote) {
    if (starts_with_mark(ptr, len)) return true;
    if (!quote) quote = delimiter;
    for (int64_t at = 0; at < len; at += STEP) {
        if (first(csv_specials(load(ptr + at), delimiter, quote), len - at)) return true;
    }
    return false;
}

// One byte that JSON strings do not hold as it is.
static char *put_escape(char *out, uint8_t byte) {
    static const char letters[32] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't',
    };
    static const char digits[] = "0123456789abcdef";
    *out++ = '\\';
    if (byte >= ' ') {
        *out++ = (char)byte;
    } else if (letters[byte]) {
        *out++ = letters[byte];
    } else {
        memcpy(out, "u00", 3);
        out[3] = digits[byte >> 4];
        out[4] = digits[byte & 15];
        out += 5;
    }
    return out;
}

char *sb_json_put(char *out, const char *ptr, int64_t len) {
    *out++ = '"';
    for (int64_t at = 0; at < len;) {
        Bytes bytes = load(ptr + at);
        memcpy(out, &bytes, sizeof bytes);
        Bytes stop = (Bytes)(bytes == '"') | (Bytes)(bytes == '\\') | (Bytes)(bytes < ' ');
        uint32_t stops = first(bits(stop), len - at);
        int64_t clean = stops ? __builtin_ctz(stops) : STEP;
        if (clean > len - at) clean = len - at;
        at += clean;
        out += clean;
        if (stops) out = put_escape(out, (uint8_t)ptr[at++]);
    }
    *out++ = '"';
    return out;
}

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "abcdefghijklmnopqrstuvwxyz0123456789+/";

char *sb_base64_put(char *out, const char *ptr, int64_t len) {
    for (int64_t at = 0; at < len; at += 3) {
        int64_t left = len - at;
        uint32_t group = (uint32_t)(uint8_t)ptr[at] << 16;
        if (left > 1) group |= (uint32_t)(uint8_t)ptr[at + 1] << 8;
        if (left > 2) group |= (uint8_t)ptr[at + 2];
        *out++ = base64_digits[group >> 18];
        *out++ = base64_digits[group >> 12 & 63];
        *out++ = left > 1 ? base64_digits[group >> 6 & 63] : '=';
        *out++ = left > 2 ? base64_digits[group & 63] : '=';
    }
    return out;
}

static int32_t base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int32_t sb_base64_read(SbCall *call, SbStr text, SbStr *out) {
    if (text.len % 4) return SB_FAULT_BAD_BASE64;
    char *to = sb_alloc(call, text.len / 4 * 3);
    if (!to) return SB_FAULT_TOO_LARGE;
    *out = (SbStr){to, text.len / 4 * 3};
    for (int64_t at = 0; at < text.len; at += 4) {
        const char *four = text.ptr + at;
        int pads = at + 4 < text.len || four[3] != '=' ? 0 : four[2] != '=' ? 1 : 2;
        int32_t group = 0;
        for (int i = 0; i < 4; i++) {
            int32_t digit = i < 4 - pads ? base64_digit(four[i]) : 0;
            if (digit < 0) return SB_FAULT_BAD_BASE64;
            group = group << 6 | digit;
        }
        // Bits that stand for no byte must be 0, so that bytes have one spelling.
        if (group & ((1 << 8 * pads) - 1)) return SB_FAULT_BAD_BASE64;
        *to++ = (char)(group >> 16);
        *to++ = (char)(group >> 8);
        *to++ = (char)group;
        out->len -= pads;
    }
    return SB_OK;
}
