// Encodings: each table against the C library's, and texts in pieces against the same in one.
#include "stdlib/text/encoding.h"
#include "stdlib/text/utf8.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <iconv.h>

enum { TEXT_MAX = 4096 };

static SbEncoding encoding(const char *name) {
    return sb_encoding_of((SbStr){name, (int64_t)strlen(name)});
}

// All of `from` in one call with room for all; the length.
static int64_t decode(SbEncoding is, const char *from, int64_t len, char *to) {
    SbDecoder decoder = {.encoding = is};
    int64_t used;
    int64_t made = sb_decode(&decoder, (SbStr){from, len}, true, to, TEXT_MAX, &used);
    return used == len ? made : -1;
}

static void names_are_found(void) {
    CHECK(encoding("utf-8") == SB_ENCODING_UTF8 && encoding("UTF8") == SB_ENCODING_UTF8);
    CHECK(encoding("Windows_1252") == SB_ENCODING_WINDOWS_1252);
    CHECK(encoding("cp1252") == SB_ENCODING_WINDOWS_1252);
    CHECK(encoding("latin1") == SB_ENCODING_ISO_8859_1);
    CHECK(encoding("") == SB_ENCODINGS && encoding("cp12521") == SB_ENCODINGS);
    CHECK(encoding("cp") == SB_ENCODINGS && encoding(" ") == SB_ENCODINGS);
    for (SbEncoding e = 0; e < SB_ENCODINGS; e++) CHECK(sb_encoding_of(sb_encoding_name(e)) == e);
}

// The C library's character for the byte, as UTF-8; its length, 0 if there is none.
static size_t library_byte(iconv_t with, char byte, char *to) {
    char *from = &byte;
    size_t left = 1, room = 8;
    iconv(with, nullptr, nullptr, nullptr, nullptr);
    return iconv(with, &from, &left, &to, &room) == (size_t)-1 ? 0 : 8 - room;
}

// Apple changed these two in 1998 and 2002 (its ROMAN.TXT); the C library has what was before.
static bool was_changed(SbEncoding is, int byte) {
    return is == SB_ENCODING_MACINTOSH && (byte == 0xc6 || byte == 0xf0);
}

static void bytes_are_as_in_the_c_library(void) {
    for (SbEncoding e = SB_ENCODING_UTF16BE + 1; e < SB_ENCODINGS; e++) {
        iconv_t with = iconv_open("UTF-8", sb_encoding_name(e).ptr);
        CHECK_SAYS(with != (iconv_t)-1, "no %s in the C library", sb_encoding_name(e).ptr);
        if (with == (iconv_t)-1) continue;
        for (int i = 0; i < 256; i++) {
            if (was_changed(e, i)) continue;
            char byte = (char)i, ours[TEXT_MAX], theirs[8];
            int64_t len = decode(e, &byte, 1, ours);
            size_t other = library_byte(with, byte, theirs);
            bool none = len == 1 && ours[0] == '\xff';
            bool same = other ? (size_t)len == other && memcmp(ours, theirs, other) == 0 : none;
            CHECK_SAYS(same, "byte %02x of %s", i, sb_encoding_name(e).ptr);
        }
        iconv_close(with);
    }
}

static void utf16_is_decoded(void) {
    static const struct {
        const char *name, *from;
        int64_t len;
        const char *to;
    } texts[] = {
        {"utf-16", "a\0\xe9\0", 4, "a\xc3\xa9"},
        {"utf-16", "\xff\xfe" "a\0", 4, "\xef\xbb\xbf" "a"},
        {"utf-16", "\xfe\xff\0a", 4, "\xef\xbb\xbf" "a"},
        {"utf-16be", "\0a\xd8\x3d\xde\x00", 6, "a\xf0\x9f\x98\x80"},
        {"utf-16le", "\x3d\xd8\x00\xde", 4, "\xf0\x9f\x98\x80"},
        {"utf-16le", "\x3d\xd8" "a\0", 4, "\xff" "a"},        // The first half of a pair alone.
        {"utf-16le", "\x00\xde" "a\0", 4, "\xff" "a"},        // The second half alone.
        {"utf-16le", "a\0\x3d\xd8", 4, "a\xff"},              // A first half at the end.
        {"utf-16le", "a\0b", 3, "a\xff"},                     // Half a unit.
        {"utf-16le", "\x3d\xd8" "b", 3, "\xff\xff"},
        {"utf-16", "b", 1, "\xff"},
        {"utf-16", "", 0, ""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char to[TEXT_MAX];
        int64_t len = decode(encoding(texts[i].name), texts[i].from, texts[i].len, to);
        bool same = len == (int64_t)strlen(texts[i].to) &&
                    memcmp(to, texts[i].to, (size_t)len) == 0;
        CHECK_SAYS(same, "text %zu: %lld bytes", i, (long long)len);
    }
}

// Hands over pieces of random sizes, and takes pieces of random sizes.
static int64_t decode_in_pieces(SbEncoding is, const char *from, int64_t len, char *to) {
    SbDecoder decoder = {.encoding = is};
    int64_t at = 0, shown = 0, made = 0;
    for (int calls = 0; calls < 10 * TEXT_MAX; calls++) {
        int64_t used, room = 1 + random_below(random_below(2) ? 3 : 40);
        bool last = shown == len;
        int64_t got = sb_decode(&decoder, (SbStr){from + at, shown - at}, last, to + made, room,
                                &used);
        CHECK(got >= 0 && got <= room && used >= 0 && used <= shown - at);
        at += used;
        made += got;
        if (last && got == 0) return at == len ? made : -1;
        if (got == 0) shown += 1 + random_below((uint32_t)(len - shown));
    }
    return -1;
}

static void pieces_make_no_difference(void) {
    static const char units[] = "ab\0\0\xff\xfe\x3d\xd8\x00\xde\x81\x80\n\r\xe9\xac\x20";
    for (int round = 0; round < 20000; round++) {
        char from[200], whole[TEXT_MAX], pieces[TEXT_MAX];
        int64_t len = random_below(sizeof from);
        bool text = random_below(2);  // Long runs of ASCII.
        for (int64_t i = 0; i < len; i++)
            from[i] = text && random_below(20) ? 'x' : units[random_below(sizeof units)];
        SbEncoding is = 1 + random_below(SB_ENCODINGS - 1);
        int64_t made = decode(is, from, len, whole);
        int64_t other = decode_in_pieces(is, from, len, pieces);
        CHECK_SAYS(made >= 0 && made == other && memcmp(whole, pieces, (size_t)made) == 0,
                   "round %d, %s: %lld and %lld bytes", round, sb_encoding_name(is).ptr,
                   (long long)made, (long long)other);
    }
}

static const UnitTest tests[] = {
    {"names_are_found", names_are_found},
    {"bytes_are_as_in_the_c_library", bytes_are_as_in_the_c_library},
    {"utf16_is_decoded", utf16_is_decoded},
    {"pieces_make_no_difference", pieces_make_no_difference},
};

UNIT_MAIN("encoding_test", tests)
