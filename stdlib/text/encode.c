// Encode: base64, hexadecimal digits, URL text.
#include "stdlib/text/encode.h"

#include "stdlib/text/list_build.h"
#include "stdlib/text/text_out.h"
#include "stdlib/text/utf8.h"

static const char digits_lower[] = "0123456789abcdef", digits_upper[] = "0123456789ABCDEF";

int sb_hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

int32_t sb_base64_encode(SbCall *call, SbStr bytes, SbStr *out) {
    int64_t len = sb_base64_size(bytes.len);
    char *text = sb_alloc(call, len + SB_SLACK);
    if (!text) return SB_FAULT_TOO_LARGE;
    sb_base64_put(text, bytes.ptr, bytes.len);
    *out = (SbStr){text, len};
    return SB_OK;
}

int32_t sb_base64_decode(SbCall *call, SbStr text, SbStr *out) {
    int32_t status = sb_base64_read(call, text, out);
    if (status == SB_FAULT_BAD_BASE64) call->detail = text;
    return status;
}

int32_t sb_hex_encode(SbCall *call, SbStr bytes, SbStr *out) {
    char *text = sb_alloc(call, bytes.len * 2);
    if (!text) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < bytes.len; i++) {
        text[2 * i] = digits_lower[(uint8_t)bytes.ptr[i] >> 4];
        text[2 * i + 1] = digits_lower[bytes.ptr[i] & 15];
    }
    *out = (SbStr){text, bytes.len * 2};
    return SB_OK;
}

int32_t sb_hex_decode(SbCall *call, SbStr text, SbStr *out) {
    char *bytes = sb_alloc(call, text.len / 2);
    if (!bytes) return SB_FAULT_TOO_LARGE;
    if (text.len % 2) return SB_FAULT_BAD_ARGUMENT;
    for (int64_t i = 0; i < text.len; i += 2) {
        int high = sb_hex_value(text.ptr[i]), low = sb_hex_value(text.ptr[i + 1]);
        if (high < 0 || low < 0) return SB_FAULT_BAD_ARGUMENT;
        bytes[i / 2] = (char)(high << 4 | low);
    }
    *out = (SbStr){bytes, text.len / 2};
    return SB_OK;
}

static bool is_plain(char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

int32_t sb_url_encode(SbCall *call, SbStr text, SbStr *out) {
    char *made = sb_alloc(call, text.len * 3), *at = made;
    if (!made) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (is_plain(c)) {
            *at++ = c;
            continue;
        }
        *at++ = '%';
        *at++ = digits_upper[(uint8_t)c >> 4];
        *at++ = digits_upper[c & 15];
    }
    sb_shrink(call, made, at - made);
    *out = (SbStr){made, at - made};
    return SB_OK;
}

int32_t sb_url_decode(SbCall *call, SbStr text, SbStr *out) {
    char *made = sb_alloc(call, text.len), *at = made;
    if (!made) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '%') {
            *at++ = text.ptr[i];
            continue;
        }
        if (text.len - i < 3) return SB_FAULT_BAD_ARGUMENT;
        int high = sb_hex_value(text.ptr[i + 1]), low = sb_hex_value(text.ptr[i + 2]);
        if (high < 0 || low < 0) return SB_FAULT_BAD_ARGUMENT;
        *at++ = (char)(high << 4 | low);
        i += 2;
    }
    if (!sb_utf8_valid(made, at - made)) return SB_FAULT_BAD_UTF8;
    *out = (SbStr){made, at - made};
    return SB_OK;
}
