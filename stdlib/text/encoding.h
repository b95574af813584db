// Encoding: text in other encodings than UTF-8, decoded as it is read.
//
//   SbDecoder decoder = {.encoding = sb_encoding_of((SbStr){"windows-1252", 12})};
//   made = sb_decode(&decoder, (SbStr){"caf\xe9", 4}, true, to, 16, &used)   "café", 5 bytes
#ifndef SBC_STDLIB_ENCODING_H
#define SBC_STDLIB_ENCODING_H

#include "runtime/abi/value.h"

typedef enum SbEncoding : int32_t {
    SB_ENCODING_UTF8,
    SB_ENCODING_UTF16,    // The byte order mark says which order; without one: little endian.
    SB_ENCODING_UTF16LE,
    SB_ENCODING_UTF16BE,
#define ENCODING(NAME, name, others, ...) SB_ENCODING_##NAME,
#include "stdlib/text/encodings.def"
    SB_ENCODINGS,
} SbEncoding;

// The encoding of a name, in any letter case, `_` for `-` too; SB_ENCODINGS: there is none.
SbEncoding sb_encoding_of(SbStr name);
// The name that the documentation has, of any encoding below SB_ENCODINGS.
SbStr sb_encoding_name(SbEncoding encoding);

// What decoding one text needs. Zero but for `encoding` when it begins.
typedef struct SbDecoder {
    SbEncoding encoding;
    bool       big;          // Of UTF-16: big endian, once `begun`.
    bool       begun;
    uint8_t    made, given;  // Of `rest`: bytes that are made, and those of them that are given.
    char       rest[4];      // A character that did not fit.
} SbDecoder;

// Decodes the front of `from` to UTF-8. Returns the bytes written to `to`, at most `room`. *used is
// how many bytes of `from` were taken. What is left of it stands in front of the next ones: a
// character that is not whole, or what found no room. `last`: nothing comes after `from`.
// What is no character of the encoding becomes the byte FF, which no UTF-8 has.
int64_t sb_decode(SbDecoder *decoder, SbStr from, bool last, char *to, int64_t room, int64_t *used);

#endif
