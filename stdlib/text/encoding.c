#include "stdlib/text/encoding.h"

#include "stdlib/text/utf8.h"

#include <string.h>

enum : uint32_t { NO_CHARACTER = UINT32_MAX };

typedef struct Encoding {
    const char *name, *others;  // Others: with spaces between them.
    uint16_t    upper[128];     // Of one byte a character: those of 0x80 to 0xFF.
} Encoding;

static const Encoding encodings[SB_ENCODINGS] = {
    [SB_ENCODING_UTF8] = {"utf-8", "utf8", {0}},
    [SB_ENCODING_UTF16] = {"utf-16", "utf16 unicode", {0}},
    [SB_ENCODING_UTF16LE] = {"utf-16le", "utf16le", {0}},
    [SB_ENCODING_UTF16BE] = {"utf-16be", "utf16be", {0}},
#define ENCODING(NAME, name, others, ...) [SB_ENCODING_##NAME] = {name, others, {__VA_ARGS__}},
#include "stdlib/text/encodings.def"
};

static bool is_name(SbStr name, const char *other, size_t len) {
    if ((size_t)name.len != len) return false;
    for (size_t i = 0; i < len; i++) {
        char c = name.ptr[i] == '_' ? '-' : name.ptr[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
        if (c != other[i]) return false;
    }
    return true;
}

SbEncoding sb_encoding_of(SbStr name) {
    for (SbEncoding e = 0; e < SB_ENCODINGS; e++) {
        if (is_name(name, encodings[e].name, strlen(encodings[e].name))) return e;
        for (const char *other = encodings[e].others; *other;) {
            size_t len = strcspn(other, " ");
            if (is_name(name, other, len)) return e;
            other += len + strspn(other + len, " ");
        }
    }
    return SB_ENCODINGS;
}

SbStr sb_encoding_name(SbEncoding encoding) {
    const char *name = encodings[encoding].name;
    return (SbStr){name, (int64_t)strlen(name)};
}

// A 16-bit unit at `at`.
static uint32_t unit(const SbDecoder *decoder, const char *at) {
    uint8_t low = (uint8_t)at[decoder->big], high = (uint8_t)at[!decoder->big];
    return (uint32_t)high << 8 | low;
}

// One character of UTF-16 (RFC 2781) at the front of `from`, and how many bytes it has; 0: it is
// not whole yet.
static int64_t next_utf16(const SbDecoder *decoder, SbStr from, bool last, uint32_t *point) {
    *point = NO_CHARACTER;
    if (from.len < 2) return last ? from.len : 0;
    uint32_t first = unit(decoder, from.ptr);
    if (first < 0xd800 || first > 0xdfff) return *point = first, 2;
    if (first > 0xdbff) return 2;
    if (from.len < 4) return last ? 2 : 0;
    uint32_t second = unit(decoder, from.ptr + 2);
    if (second < 0xdc00 || second > 0xdfff) return 2;
    *point = 0x10000 + ((first - 0xd800) << 10 | (second - 0xdc00));
    return 4;
}

static int64_t next(const SbDecoder *decoder, SbStr from, bool last, uint32_t *point) {
    if (decoder->encoding <= SB_ENCODING_UTF16BE) return next_utf16(decoder, from, last, point);
    uint8_t byte = (uint8_t)from.ptr[0];
    uint32_t upper = byte < 0x80 ? byte : encodings[decoder->encoding].upper[byte - 0x80];
    *point = upper || byte == 0 ? upper : NO_CHARACTER;
    return 1;
}

// How many bytes at the front of `from` are ASCII, by words of eight, at most `room`.
static int64_t ascii(SbStr from, int64_t room) {
    int64_t len = from.len < room ? from.len : room, at = 0;
    for (uint64_t word; at + 8 <= len; at += 8) {
        memcpy(&word, from.ptr + at, sizeof word);
        if (word & 0x8080'8080'8080'8080) break;
    }
    return at;
}

// The order of UTF-16. False: too few bytes to say.
static bool begin(SbDecoder *decoder, SbStr from, bool last) {
    if (from.len < 2 && !last) return false;
    decoder->begun = true;
    decoder->big = decoder->encoding == SB_ENCODING_UTF16BE;
    if (decoder->encoding == SB_ENCODING_UTF16 && from.len >= 2)
        decoder->big = memcmp(from.ptr, "\xfe\xff", 2) == 0;
    return true;
}

// What did not fit the last time.
static int64_t give_rest(SbDecoder *decoder, char *to, int64_t room) {
    int64_t len = decoder->made - decoder->given;
    if (len > room) len = room;
    memcpy(to, decoder->rest + decoder->given, (size_t)len);
    decoder->given += (uint8_t)len;
    return len;
}

int64_t sb_decode(SbDecoder *decoder, SbStr from, bool last, char *to, int64_t room,
                  int64_t *used) {
    int64_t made = give_rest(decoder, to, room), at = 0;
    *used = 0;
    if (!decoder->begun && !begin(decoder, from, last)) return made;
    bool bytes = decoder->encoding > SB_ENCODING_UTF16BE;
    while (at < from.len && made < room) {
        SbStr left = {from.ptr + at, from.len - at};
        int64_t plain = bytes ? ascii(left, room - made) : 0;
        memcpy(to + made, left.ptr, (size_t)plain);
        at += plain;
        made += plain;
        if (plain == left.len || made == room) break;
        uint32_t point;
        left = (SbStr){from.ptr + at, from.len - at};
        int64_t taken = next(decoder, left, last, &point);
        if (taken == 0) break;
        at += taken;
        decoder->given = 0;
        decoder->made = 1;
        if (point == NO_CHARACTER) decoder->rest[0] = '\xff';
        else decoder->made = (uint8_t)sb_utf8_put(decoder->rest, point);
        made += give_rest(decoder, to + made, room - made);
    }
    *used = at;
    return made;
}
