// Sinks by hand: six columns of CSV to another file, in order. `sinks IN OUT FORM COMPUTE`: FORM is
// csv, jsonl, npy_int or npy_float; COMPUTE is copy, int, float, decimal, time or text. Checks
// nothing: no quotes, and a text needs an escape only if COMPUTE is text, where each l becomes a
// quote. Floats are put by sbc's own library (sb_put_f64), so that the two differ in all else.
#include "halves.h"
#include "stdlib/number/number.h"

enum { COLUMNS = 6, NPY_HEAD = 128 };

typedef enum Field { INT, FLOAT, DECIMAL, TIME, TEXT, OTHER } Field;

static const char *const names[] = {"i", "f", "d", "w", "t", "x"};
static const bool in_quotes[] = {false, false, false, true, true, false};
static bool lines;
static int computed = -1;
static bool as_npy, floats;

static inline char *put(char *to, const char *at, size_t len) {
    memcpy(to, at, len);
    return to + len;
}

static inline int64_t whole(const char *at, const char *end) {
    int64_t sign = -(int64_t)(*at == '-');
    at -= sign;
    uint64_t x = digits(end - at > 8 ? end - 8 : at, end);
    if (end - at > 8) x += digits(at, end - 8) * 100000000;
    return ((int64_t)x ^ sign) - sign;
}

// Two digits before the point and four after it, with a sign or without.
static inline double float_of(const char *at, const char *end) {
    int64_t sign = -(int64_t)(*at == '-');
    at -= sign;
    double x = (double)(digits(at, end - 5) * 10000 + digits(end - 4, end)) / 10000;
    return sign ? -x : x;
}

static char *put_time(char *to, int64_t seconds) {
    int64_t days = seconds / 86400, rest = seconds % 86400, z = days + 719468, era = z / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t day = doy - (153 * mp + 2) / 5 + 1, month = mp < 10 ? mp + 3 : mp - 9;
    int64_t year = yoe + era * 400 + (month <= 2);
    const int64_t parts[] = {year / 100,  year % 100,     month,    day,
                             rest / 3600, rest / 60 % 60, rest % 60};
    static const char after[] = {0, '-', '-', 'T', ':', ':', 'Z'};
    for (int i = 0; i < 7; i++) {
        *to++ = (char)('0' + parts[i] / 10), *to++ = (char)('0' + parts[i] % 10);
        if (after[i]) *to++ = after[i];
    }
    return to;
}

// With quotes for each l; those of CSV are doubled, and the text stands in quotes for that.
static char *put_quoted(char *to, const char *at, const char *end) {
    bool any = lines || memchr(at, 'l', (size_t)(end - at));
    if (any) *to++ = '"';
    for (; at < end; at++) {
        if (*at != 'l') {
            *to++ = *at;
        } else {
            *to++ = lines ? '\\' : '"';
            *to++ = '"';
        }
    }
    if (any) *to++ = '"';
    return to;
}

static inline char *put_value(char *to, int which, const char *at, const char *end) {
    bool quotes = lines && in_quotes[which];
    if (which != computed) {
        if (quotes) *to++ = '"';
        to = put(to, at, (size_t)(end - at));
        if (quotes) *to++ = '"';
        return to;
    }
    switch ((Field)which) {
    case INT: return sb_put_i64(to, whole(at, end) * 2 + 1);
    case FLOAT: return sb_put_f64(to, float_of(at, end) * 1.1);
    case DECIMAL: {
        int64_t cents_of = whole(at, end - 3) * 100, part = (int64_t)digits(end - 2, end);
        cents_of = 2 * (cents_of + (*at == '-' ? -part : part));
        if (cents_of < 0) *to++ = '-', cents_of = -cents_of;
        to = sb_put_i64(to, cents_of / 100);
        *to++ = '.';
        *to++ = (char)('0' + cents_of / 10 % 10), *to++ = (char)('0' + cents_of % 10);
        return to;
    }
    case TIME: {
        if (quotes) *to++ = '"';
        to = put_time(to, seconds_of(at) + 3600);
        if (quotes) *to++ = '"';
        return to;
    }
    case TEXT: return put_quoted(to, at, end);
    default: return to;
    }
}

static inline char *put_row(char *to, const char *row, const char *at, const uint32_t *e) {
    const char *begin = row;
    if (as_npy) {
        const char *end = at + e[floats ? FLOAT : INT], *from = floats ? at + e[INT] + 1 : row;
        double x = floats ? float_of(from, end) * 1.1 : 0;
        int64_t n = floats ? 0 : whole(from, end) * 2 + 1;
        return put(to, floats ? (char *)&x : (char *)&n, 8);
    }
    for (int i = 0; i < COLUMNS; i++) {
        if (lines) {
            to = put(to, i ? ",\"" : "{\"", 2);
            *to++ = *names[i];
            to = put(to, "\":", 2);
        }
        to = put_value(to, i, begin, at + e[i]);
        begin = at + e[i] + 1;
        if (!lines) *to++ = i + 1 < COLUMNS ? ',' : '\n';
    }
    return lines ? put(to, "}\n", 2) : to;
}

static char *put_block(char *to, Text block, uint32_t *ends) {
    size_t count = index_fields(block.at, block.at + block.len, ',', ends);
    const char *row = block.at;
    for (const uint32_t *e = ends; e < ends + count; e += COLUMNS) {
        to = put_row(to, row, block.at, e);
        row = block.at + e[COLUMNS - 1] + 1;
    }
    return to;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    lines = argv[3][0] == 'j', as_npy = argv[3][0] == 'n';
    floats = as_npy && strstr(argv[3], "float");
    static const char *const computes[] = {"int", "float", "decimal", "time", "text"};
    for (int i = 0; i < 5; i++)
        if (strcmp(argv[4], computes[i]) == 0) computed = i;
    Text text = without_header(map_text(argv[1]));
    static const char names_of[] = "i,f,d,w,t,x\n";
    if (!as_npy) {
        write_ordered(argv[2], names_of, lines ? 0 : sizeof names_of - 1, text, put_block);
        return 0;
    }
    char head[NPY_HEAD + 1] = "";
    const size_t rows = write_ordered(argv[2], head, NPY_HEAD, text, put_block) / 8;
    static const char dtype[] = "{'descr': '<%c8', 'fortran_order': False, 'shape': (%zu,), }";
    memcpy(head, "\x93NUMPY\1\0v\0", 10);  // Version 1, and 118 bytes more.
    int len = 10 + snprintf(head + 10, NPY_HEAD - 10, dtype, floats ? 'f' : 'i', rows);
    memset(head + len, ' ', (size_t)(NPY_HEAD - len));
    head[NPY_HEAD - 1] = '\n';
    int fd = open(argv[2], O_WRONLY);
    if (fd < 0) give_up(argv[2]);
    write_at(fd, head, NPY_HEAD, 0);
    return 0;
}
