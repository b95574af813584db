// Pack: numbers and bytes as records of the journal and messages between processes hold them.
// Numbers have 64 bits, little-endian; bytes have their length in front.
//
// Reading never goes beyond the end: what is not there reads as nothing, and `bad` says so.
#ifndef SBC_RUNTIME_HOST_PACK_H
#define SBC_RUNTIME_HOST_PACK_H

#include "runtime/host/checksum.h"
#include "runtime/report.h"

#include <string.h>

static inline void pack_number(Text *text, int64_t number) {
    sb_text_add(text, (const char *)&number, sizeof number);
}

static inline void pack_bytes(Text *text, const char *bytes, int64_t len) {
    pack_number(text, len);
    sb_text_add(text, bytes, len);
}

static inline void pack_string(Text *text, const char *string) {
    pack_bytes(text, string, (int64_t)strlen(string) + 1);
}

static inline void pack_checksum(Text *text, Checksum sum) {
    sb_text_add(text, (const char *)&sum, sizeof sum);
}

typedef struct Unpack {
    const char *at, *end;
    bool        bad;
} Unpack;

static inline const char *unpack_raw(Unpack *from, int64_t len) {
    if (from->bad || len < 0 || len > from->end - from->at) return from->bad = true, nullptr;
    const char *bytes = from->at;
    from->at += len;
    return bytes;
}

static inline int64_t unpack_number(Unpack *from) {
    int64_t number = 0;
    const char *bytes = unpack_raw(from, sizeof number);
    if (bytes) memcpy(&number, bytes, sizeof number);
    return number;
}

// A count of things that take `least` bytes each at least: more than there can be is bad.
static inline uint32_t unpack_count(Unpack *from, int64_t least) {
    int64_t count = unpack_number(from);
    if (count < 0 || count > (from->end - from->at) / least) from->bad = true;
    return from->bad ? 0 : (uint32_t)count;
}

static inline SbStr unpack_bytes(Unpack *from) {
    int64_t len = unpack_number(from);
    const char *bytes = unpack_raw(from, len);
    return bytes ? (SbStr){bytes, len} : (SbStr){0};
}

// Ends in a zero; "" when it is bad.
static inline const char *unpack_string(Unpack *from) {
    SbStr bytes = unpack_bytes(from);
    if (bytes.len > 0 && bytes.ptr[bytes.len - 1] == '\0') return bytes.ptr;
    from->bad = true;
    return "";
}

static inline Checksum unpack_checksum(Unpack *from) {
    Checksum sum = {0};
    const char *bytes = unpack_raw(from, sizeof sum);
    if (bytes) memcpy(&sum, bytes, sizeof sum);
    return sum;
}

// A struct whose fields stand in a list LIST(NUMBER, SUM) is written and read along that list, with
// `is` the struct and `text` or `from` in reach.
#define PACK_NUMBER(name)   pack_number(text, (int64_t)is->name);
#define PACK_SUM(name)      pack_checksum(text, is->name);
#define UNPACK_NUMBER(name) is->name = (typeof(is->name))unpack_number(from);
#define UNPACK_SUM(name)    is->name = unpack_checksum(from);

#endif
