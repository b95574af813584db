#include "stdlib/text/not_text.h"

#include "stdlib/text/utf8.h"

#include <string.h>

typedef struct Kind {
    const char *begin;
    SbNotText   says;
} Kind;

// How a file of the kind begins.
static const Kind kinds[] = {
    {"\x1f\x8b",
     {"it is packed by gzip",
      "unpack it: gzip -dc FILE | JOB; what is named .gz is unpacked as it is read"}},
    {"\x28\xb5\x2f\xfd",
     {"it is packed by zstd",
      "unpack it: zstd -dc FILE | JOB; what is named .zst is unpacked as it is read"}},
    {"\x04\x22\x4d\x18",
     {"it is packed by lz4",
      "unpack it: lz4 -dc FILE | JOB; what is named .lz4 is unpacked as it is read"}},
    {"\xfd" "7zXZ",
     {"it is packed by xz",
      "unpack it: xz -dc FILE | JOB"}},
    {"BZh",
     {"it is packed by bzip2",
      "unpack it: bzip2 -dc FILE | JOB"}},
    {"PK\x03\x04",
     {"it is a zip archive, as files of spreadsheets are",
      "unpack it, or save the sheet as CSV"}},
    {"PAR1",
     {"it is Parquet, which is not in this version",
      "write it as CSV or JSON lines first"}},
    {"\xff\xfe",
     {"it is UTF-16",
      "give the read encoding = \"utf-16\""}},
    {"\xfe\xff",
     {"it is UTF-16",
      "give the read encoding = \"utf-16\""}},
};

static const SbNotText bare_cr = {"its lines end in CR alone",
                                  "end its lines in LF: tr '\\r' '\\n' <FILE >OTHER"};

static const SbNotText bare_text = {"it is text", "give it a name without that ending"};

// Do the bytes look like text in any encoding that has ASCII in it?
static bool is_texty(const char *bytes, int64_t len) {
    enum { LOOKED_AT = 256 };
    for (int64_t i = 0; i < len && i < LOOKED_AT; i++) {
        bool space = bytes[i] == '\t' || bytes[i] == '\r' || bytes[i] == '\n';
        bool control = (unsigned char)bytes[i] < ' ' || bytes[i] == '\x7f';
        if (control && !space) return false;
    }
    return len > 0;
}

const SbNotText *sb_cr_lines(const char *bytes, int64_t len) {
    bool quoted = false;
    for (int64_t at = 0; at + 1 < len; at++) {
        quoted ^= bytes[at] == '"';
        if (!quoted && bytes[at] == '\r' && bytes[at + 1] != '\n') return &bare_cr;
    }
    return nullptr;
}

static const SbNotText *kind_of(const char *bytes, int64_t len) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int64_t begin = (int64_t)strlen(kinds[i].begin);
        if (len >= begin && memcmp(bytes, kinds[i].begin, (size_t)begin) == 0)
            return &kinds[i].says;
    }
    return nullptr;
}

const SbNotText *sb_never_text(const char *bytes, int64_t len) {
    enum { LOOKED_AT = 4 };
    bool text = sb_utf8_valid(bytes, len < LOOKED_AT ? len : LOOKED_AT);
    return text ? nullptr : kind_of(bytes, len);
}

const SbNotText *sb_not_text(const char *bytes, int64_t len) {
    const SbNotText *kind = kind_of(bytes, len);
    return kind ? kind : sb_cr_lines(bytes, len);
}

const SbNotText *sb_not_packed(const char *bytes, int64_t len) {
    const SbNotText *kind = kind_of(bytes, len);
    return kind ? kind : is_texty(bytes, len) ? &bare_text : nullptr;
}
