#include "stdlib/text/row_fix.h"

#include <string.h>

// What stands behind the first `what`; null: it is not there.
static const char *behind(SbStr text, const char *what) {
    int64_t len = (int64_t)strlen(what);
    for (int64_t i = 0; i + len <= text.len; i++)
        if (memcmp(text.ptr + i, what, (size_t)len) == 0) return text.ptr + i + len;
    return nullptr;
}

// The value that the message of a column quotes; empty: it quotes none, or is shortened.
static SbStr quoted_value(SbStr message) {
    const char *begin = behind(message, "': '"), *end = message.ptr + message.len;
    if (!begin) return (SbStr){0};
    const char *close = memchr(begin, '\'', (size_t)(end - begin));
    return close ? (SbStr){begin, close - begin} : (SbStr){0};
}

// A number as other countries write it: the options that read it. Null: it is something else.
static const char *number_options(SbStr value) {
    int64_t commas = 0, points = 0, last = -1, first = value.len && strchr("+-", value.ptr[0]);
    for (int64_t i = first; i < value.len; i++) {
        char c = value.ptr[i];
        if (c != ',' && c != '.' && (c < '0' || c > '9')) return nullptr;
        commas += c == ',';
        points += c == '.';
        if (c == ',' || c == '.') last = i;
    }
    if (last <= first || last == value.len - 1) return nullptr;
    bool groups = value.len - last == 4;  // Three digits after it.
    if (value.ptr[last] == ',' && points)
        return "give the read what the numbers have: decimal = \",\", thousands = \".\"";
    if (value.ptr[last] == '.' && commas)
        return "give the read what the numbers have: thousands = \",\"";
    if (commas == 1 && !groups) return "give the read what the numbers have: decimal = \",\"";
    if (commas && groups)
        return "give the read what the numbers have: thousands = \",\", or decimal = \",\"";
    if (points > 1 && groups) return "give the read what the numbers have: thousands = \".\"";
    return nullptr;
}

// The delimiter that a row has where the header has one field; null: none is there.
static const char *delimiter_option(SbStr message, SbStr raw) {
    if (!behind(message, "instead of 1 fields")) return nullptr;
    static const struct { char c; const char *fix; } known[] = {
        {';', "the header is one field: give the read its delimiter = \";\""},
        {'\t', "the header is one field: give the read its delimiter = \"\\t\""},
        {'|', "the header is one field: give the read its delimiter = \"|\""},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (raw.len && memchr(raw.ptr, known[i].c, (size_t)raw.len)) return known[i].fix;
    return nullptr;
}

const char *sb_fix_by_row(int32_t fault, SbStr message, SbStr raw) {
    switch (fault) {
    case SB_FAULT_BAD_INTEGER: case SB_FAULT_BAD_FLOAT: case SB_FAULT_BAD_DECIMAL:
        return number_options(quoted_value(message));
    case SB_FAULT_FIELD_COUNT: return delimiter_option(message, raw);
    case SB_FAULT_BAD_JSON:
        return raw.len && raw.ptr[0] == '['
                   ? "a file that is one array of objects is read by `read json(...)`" : nullptr;
    default: return nullptr;
    }
}
