// columns: writes a CSV file of columns that a specification says. `columns ROWS SEED FILE
// NAME=KIND:DISTINCT[:LENGTH[:PREFIX[:NULLS]]]...`; the same arguments give the same bytes.
//
// KIND is t or u (text, u with letters of two bytes), i, d (two decimals), f, w (a time) or b.
// An n after the kind: the value goes by the number of the row, so that all differ.
// DISTINCT values, or 0 for as many as there are rows. NULLS per cent of the values are empty.
// LENGTH and PREFIX say more:
//     t, u   bytes of the text, and how many of these all texts share
//     i, d   digits at most, those of a decimal after its point included
//     f      digits of each value; PREFIX 1: with an exponent
//     w      digits of the fraction of a second; PREFIX 1: in the form with T and an offset
// Times are pieces of 40 years.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 64, BUFFER_BYTES = 1 << 20 };

typedef struct Column {
    const char *name;
    char     kind[16];
    uint64_t distinct, length, prefix, nulls;
} Column;

// SplitMix64 (Steele, Lea, Flood, 2014).
static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void put_text(FILE *out, const Column *c, uint64_t id) {
    static const char shared[] = "https://catalogue.example.org/things/and/more/of/them/on/a/path/";
    for (uint64_t i = 0; i < c->prefix; i++) putc(shared[i % (sizeof shared - 1)], out);
    uint64_t word = mix(id);
    for (uint64_t i = c->prefix; i < c->length; i++, word /= 26) {
        if (word < 26) word = mix(id + i + 1);
        putc((int)('a' + word % 26), out);
    }
}

// Every sixth letter has two bytes; the text has as many bytes as one of kind t, or one more.
static void put_wide_text(FILE *out, const Column *c, uint64_t id) {
    static const char *const wide[] = {"é", "ü", "ñ", "ß", "ø", "ж", "λ", "ő"};
    enum { WIDE_EACH = 6, WIDE = sizeof wide / sizeof *wide };
    uint64_t word = mix(id);
    for (uint64_t i = 0; i < c->length; i++, word /= 26) {
        if (word < 26) word = mix(id + i + 1);
        if (i % WIDE_EACH != 1) putc((int)('a' + word % 26), out);
        else fputs(wide[word % WIDE], out), i++;
    }
}

static void put_time(FILE *out, const Column *c, uint64_t id) {
    uint64_t day = id / 86400, second = id % 86400;  // Months of 28 days.
    bool offset = c->prefix;
    fprintf(out, "%04" PRIu64 "-%02" PRIu64 "-%02" PRIu64 "%c", 2000 + day / 336 % 40,
            day / 28 % 12 + 1, day % 28 + 1, offset ? 'T' : ' ');
    fprintf(out, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, second / 3600, second / 60 % 60,
            second % 60);
    uint64_t tens = 1;
    for (uint64_t i = 0; i < c->length; i++) tens *= 10;
    if (c->length) fprintf(out, ".%0*" PRIu64, (int)c->length, mix(id) % tens);
    if (offset) fprintf(out, "%c%02" PRIu64 ":00", id & 1 ? '+' : '-', mix(id) >> 32 & 7);
}

// Up to so many digits, without a sign; the first one is not 0.
static void put_digits(FILE *out, uint64_t word, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        if (i % 16 == 0) word = mix(word + i);
        uint64_t digit = i ? word % 10 : 1 + word % 9;
        putc((int)('0' + digit), out);
        word /= 10;
    }
}

// A number of the column's digits; `decimals` of them stand after a point.
static void put_long_number(FILE *out, const Column *c, uint64_t id, uint64_t decimals) {
    uint64_t word = mix(id), least = (c->length + decimals + 1) / 2;
    uint64_t count = least + (word >> 32) % (c->length - least + 1) - decimals;
    if ((word >> 60) == 0) putc('-', out);
    put_digits(out, word, count);
    if (decimals) putc('.', out), put_digits(out, word + 1, decimals);
}

static void put_long_float(FILE *out, const Column *c, uint64_t id) {
    uint64_t word = mix(id), whole = c->prefix ? 1 : 2;
    if ((word >> 60) == 0) putc('-', out);
    put_digits(out, word, whole);
    putc('.', out);
    put_digits(out, word + 1, c->length - whole);
    if (c->prefix) fprintf(out, "e%c%02" PRIu64, word & 1 ? '-' : '+', word >> 32 & 15);
}

static void put_number(FILE *out, uint64_t id, uint64_t unit, int digits) {
    bool negative = id & 1;
    id /= 2;
    if (negative && id) putc('-', out);
    fprintf(out, "%" PRIu64, id / unit);
    if (digits) fprintf(out, ".%0*" PRIu64, digits, id % unit);
}

static void put_value(FILE *out, const Column *c, uint64_t row, uint64_t random) {
    enum { CENTS = 100, MILLIS = 1000 };
    if (random % 100 < c->nulls) return;
    uint64_t id = (uint64_t)((unsigned __int128)mix(random) * c->distinct >> 64);
    if (c->kind[1] == 'n') id = row + 1;
    bool sized = c->length;
    switch (c->kind[0]) {
    case 't': put_text(out, c, id); break;
    case 'u': put_wide_text(out, c, id); break;
    case 'w': put_time(out, c, id * 7919 % (UINT64_C(40) * 336 * 86400)); break;
    case 'i': sized ? put_long_number(out, c, id, 0) : put_number(out, id, 1, 0); break;
    case 'd': sized ? put_long_number(out, c, id, 2) : put_number(out, id, CENTS, 2); break;
    case 'f': sized ? put_long_float(out, c, id) : put_number(out, id, MILLIS, 3); break;
    case 'b': fputs(id & 1 ? "true" : "false", out); break;
    }
}

static bool read_column(Column *c, char *text, uint64_t rows) {
    char *equals = strchr(text, '=');
    if (!equals) return false;
    *equals = 0;
    *c = (Column){.name = text};
    int parts = sscanf(equals + 1, "%15[a-z]:%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64, c->kind,
                       &c->distinct, &c->length, &c->prefix, &c->nulls);
    if (!c->distinct) c->distinct = rows * 4;
    return parts >= 2 && strchr("tuwidfb", c->kind[0]);
}

int main(int argc, char **argv) {
    if (argc < 5 || argc > COLUMNS_MAX + 4) {
        fprintf(stderr, "usage: columns ROWS SEED FILE NAME=KIND:DISTINCT...\n");
        return 2;
    }
    uint64_t rows = strtoull(argv[1], nullptr, 10), seed = strtoull(argv[2], nullptr, 10);
    int count = argc - 4;
    static Column columns[COLUMNS_MAX];
    FILE *out = fopen(argv[3], "w");
    if (!out) return 3;
    setvbuf(out, nullptr, _IOFBF, BUFFER_BYTES);
    for (int c = 0; c < count; c++) {
        if (!read_column(&columns[c], argv[4 + c], rows)) {
            fprintf(stderr, "columns: '%s' is no column\n", argv[4 + c]);
            return 2;
        }
        fprintf(out, "%s%c", columns[c].name, c + 1 < count ? ',' : '\n');
    }
    for (uint64_t r = 0; r < rows; r++)
        for (int c = 0; c < count; c++) {
            put_value(out, &columns[c], r, mix(seed ^ mix(r * COLUMNS_MAX + (uint64_t)c)));
            putc(c + 1 < count ? ',' : '\n', out);
        }
    return fclose(out) ? 3 : 0;
}
