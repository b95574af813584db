// Reading the encodings of DWARF within bounds: past the end everything is 0.
#ifndef SBC_RUNTIME_BYTES_H
#define SBC_RUNTIME_BYTES_H

#include "runtime/crash/image.h"

#include <string.h>

static inline uint64_t bytes_word(Bytes *bytes, size_t size) {
    uint64_t value = 0;
    if ((size_t)(bytes->end - bytes->at) < size) {
        bytes->at = bytes->end;
        return 0;
    }
    memcpy(&value, bytes->at, size);
    bytes->at += size;
    return value;
}

static inline uint8_t  bytes_u8(Bytes *bytes) { return (uint8_t)bytes_word(bytes, 1); }
static inline uint16_t bytes_u16(Bytes *bytes) { return (uint16_t)bytes_word(bytes, 2); }
static inline uint32_t bytes_u32(Bytes *bytes) { return (uint32_t)bytes_word(bytes, 4); }
static inline uint64_t bytes_u64(Bytes *bytes) { return bytes_word(bytes, 8); }

static inline void bytes_skip(Bytes *bytes, uint64_t size) {
    bool within = size <= (uint64_t)(bytes->end - bytes->at);
    bytes->at = within ? bytes->at + size : bytes->end;
}

// LEB128.
static inline uint64_t bytes_unsigned(Bytes *bytes) {
    uint64_t value = 0;
    for (unsigned shift = 0; bytes->at < bytes->end; shift += 7) {
        uint8_t byte = *bytes->at++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) break;
    }
    return value;
}

static inline int64_t bytes_signed(Bytes *bytes) {
    uint64_t value = 0;
    for (unsigned shift = 0; bytes->at < bytes->end;) {
        uint8_t byte = *bytes->at++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80) continue;
        if (shift < 64 && byte & 0x40) value |= ~(uint64_t)0 << shift;
        break;
    }
    return (int64_t)value;
}

// A text with its NUL; "" when none ends within the bytes.
static inline const char *bytes_text(Bytes *bytes) {
    const uint8_t *at = bytes->at;
    const uint8_t *end = at < bytes->end ? memchr(at, 0, (size_t)(bytes->end - at)) : nullptr;
    bytes->at = end ? end + 1 : bytes->end;
    return end ? (const char *)at : "";
}

#endif
