// generate: writes one of the benchmark's data sets. `generate KIND ROWS VOCABULARY SEED FILE`; the
// same arguments give the same bytes. VOCABULARY is the number of distinct words, names or keys.
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_BYTES = 1 << 20,
    ROW_MAX = 4096,
    WORD_MAX = 32,
    ZONES = 260,
    DAYS_OF_TRIPS = 90,
    MINUTE = 60,
    DAY = 86400,
};

typedef struct Gen {
    FILE *file;
    char *at;  // Where the next byte goes.
    char *buffer;
    uint64_t state;
    int64_t rows;
    int64_t vocabulary;
} Gen;

// SplitMix64 (Steele, Lea, Flood, 2014).
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t next(Gen *g) { return mix(g->state += 0x9e3779b97f4a7c15u); }

// A whole number from 0 to bound - 1.
static int64_t below(Gen *g, int64_t bound) {
    return (int64_t)(((unsigned __int128)next(g) * (uint64_t)bound) >> 64);
}

static int64_t between(Gen *g, int64_t low, int64_t high) { return low + below(g, high - low + 1); }

static double unit(Gen *g) { return (double)(next(g) >> 11) * 0x1p-53; }

// A rank from 0 to bound - 1, rank r about as often as 1 / (r + 1).
static int64_t zipf(Gen *g, int64_t bound) {
    int64_t rank = (int64_t)exp(unit(g) * log((double)bound + 1)) - 1;
    return rank < bound ? rank : bound - 1;
}

static void put(Gen *g, const char *text) {
    size_t len = strlen(text);
    memcpy(g->at, text, len);
    g->at += len;
}

static void put_char(Gen *g, char c) { *g->at++ = c; }

static void put_int(Gen *g, int64_t x) {
    char digits[24], *end = digits + sizeof digits, *p = end;
    uint64_t rest = x < 0 ? -(uint64_t)x : (uint64_t)x;
    do *--p = (char)('0' + rest % 10);
    while (rest /= 10);
    if (x < 0) *--p = '-';
    memcpy(g->at, p, (size_t)(end - p));
    g->at += end - p;
}

static void put_padded(Gen *g, int64_t x, int digits) {
    for (int i = digits - 1; i >= 0; i--, x /= 10) g->at[i] = (char)('0' + x % 10);
    g->at += digits;
}

// x / 10^places, with that many digits behind the point.
static void put_fixed(Gen *g, int64_t x, int places) {
    int64_t unit_of = 1;
    for (int i = 0; i < places; i++) unit_of *= 10;
    if (x < 0) put_char(g, '-');
    x = x < 0 ? -x : x;
    put_int(g, x / unit_of);
    put_char(g, '.');
    put_padded(g, x % unit_of, places);
}

// The date so many days after 1970-01-01 (Hinnant, "chrono-compatible low-level date algorithms").
static void put_date(Gen *g, int64_t days) {
    int64_t z = days + 719468, era = z / 146097, day = z - era * 146097;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t rest = day - (365 * year + year / 4 - year / 100), month = (5 * rest + 2) / 153;
    put_padded(g, year + era * 400 + (month >= 10), 4);
    put_char(g, '-');
    put_padded(g, month < 10 ? month + 3 : month - 9, 2);
    put_char(g, '-');
    put_padded(g, rest - (153 * month + 2) / 5 + 1, 2);
}

static void put_time(Gen *g, int64_t seconds, char between_parts) {
    put_date(g, seconds / DAY);
    put_char(g, between_parts);
    put_padded(g, seconds % DAY / 3600, 2);
    put_char(g, ':');
    put_padded(g, seconds % 3600 / MINUTE, 2);
    put_char(g, ':');
    put_padded(g, seconds % MINUTE, 2);
}

// The word with that number: syllables, so that every number has another word.
static void put_word(Gen *g, int64_t number) {
    static const char consonants[] = "bdfghjklmnprstvz", vowels[] = "aeiou";
    do {
        int64_t syllable = number % 80;
        put_char(g, consonants[syllable / 5]);
        put_char(g, vowels[syllable % 5]);
        number = number / 80 - 1;
    } while (number >= 0);
}

static void end_value(Gen *g) {
    if (g->at - g->buffer < BUFFER_BYTES - ROW_MAX) return;
    fwrite(g->buffer, 1, (size_t)(g->at - g->buffer), g->file);
    g->at = g->buffer;
}

static void end_row(Gen *g) {
    put_char(g, '\n');
    end_value(g);
}

static const char *pick(Gen *g, const char *const *from, int64_t count) {
    return from[below(g, count)];
}

// 14 columns, about 106 bytes a row.
static void trips(Gen *g) {
    static const char *const payments[] = {"credit card", "cash", "no charge", "dispute"};
    const int64_t start = INT64_C(1767225600);  // 2026-01-01
    put(g, "vendor,pickup,dropoff,passengers,distance,rate_code,cab,pickup_zone,dropoff_zone,"
           "payment,fare,extra,tip,total");
    end_row(g);
    for (int64_t i = 0; i < g->rows; i++) {
        int64_t pickup = start + below(g, (int64_t)DAYS_OF_TRIPS * DAY);
        int64_t distance = below(g, 64) == 0 ? between(g, 10000, 20000) : between(g, 30, 3000);
        int64_t fare = 300 + distance * between(g, 200, 300) / 100, extra = between(g, 0, 4) * 50;
        if (below(g, 50) == 0) fare = -fare;
        int64_t tip = below(g, 3) == 0 ? 0 : fare * between(g, 5, 30) / 100;
        put_int(g, between(g, 1, 2));
        put_char(g, ',');
        put_time(g, pickup, ' ');
        put_char(g, ',');
        put_time(g, pickup + distance * between(g, 2, 4) + MINUTE, ' ');
        put_char(g, ',');
        put_int(g, between(g, 1, 6));
        put_char(g, ',');
        put_fixed(g, distance, 2);
        put_char(g, ',');
        put_int(g, between(g, 1, 5));
        put_char(g, ',');
        for (int digit = 0; digit < 12; digit++) put_char(g, "0123456789ABCDEF"[next(g) >> 60]);
        put_char(g, ',');
        put_int(g, between(g, 1, ZONES));
        put_char(g, ',');
        put_int(g, between(g, 1, ZONES));
        put_char(g, ',');
        put(g, payments[below(g, 10) < 6 ? 0 : between(g, 1, 3)]);
        put_char(g, ',');
        put_fixed(g, fare, 2);
        put_char(g, ',');
        put_fixed(g, extra, 2);
        put_char(g, ',');
        put_fixed(g, tip, 2);
        put_char(g, ',');
        put_fixed(g, fare + extra + tip, 2);
        end_row(g);
    }
}

static void zones(Gen *g) {
    static const char *const boroughs[] = {"Bronx",  "Brooklyn",      "Manhattan",
                                           "Queens", "Staten Island", "Newark"};
    put(g, "id,borough,zone");
    end_row(g);
    for (int64_t i = 1; i <= ZONES; i++) {
        put_int(g, i);
        put_char(g, ',');
        put(g, pick(g, boroughs, 6));
        put_char(g, ',');
        put_word(g, i * 37);
        end_row(g);
    }
}

// TPC-H's lineitem in shape and distribution; comments are words of this generator.
static void lineitem(Gen *g) {
    static const char *const instructs[] = {"DELIVER IN PERSON", "COLLECT COD", "NONE",
                                            "TAKE BACK RETURN"};
    static const char *const modes[] = {"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"};
    const int64_t first = 8035, today = 9298;  // 1992-01-01; 1995-06-17
    int64_t order = 0, lines = 0, order_day = 0;
    for (int64_t i = 0, line = 0; i < g->rows; i++, line++) {
        if (line == lines) {
            line = 0;
            lines = between(g, 1, 7);
            order++;
            order_day = first + below(g, 2406);
        }
        int64_t part = between(g, 1, 200000), quantity = between(g, 1, 50);
        int64_t price = 90000 + part / 10 % 20001 + 100 * (part % 1000);
        int64_t ship = order_day + between(g, 1, 121), commit = order_day + between(g, 30, 90);
        int64_t receipt = ship + between(g, 1, 30);
        const int64_t leading[] = {order, part, between(g, 1, 10000), line + 1, quantity};
        for (int k = 0; k < 5; k++) {
            put_int(g, leading[k]);
            put_char(g, '|');
        }
        put_fixed(g, price * quantity, 2);
        put(g, "|0.");
        put_padded(g, between(g, 0, 10), 2);
        put(g, "|0.");
        put_padded(g, between(g, 0, 8), 2);
        put(g, receipt > today ? "|N" : below(g, 2) ? "|R" : "|A");
        put(g, ship > today ? "|O|" : "|F|");
        put_date(g, ship);
        put_char(g, '|');
        put_date(g, commit);
        put_char(g, '|');
        put_date(g, receipt);
        put_char(g, '|');
        put(g, pick(g, instructs, 4));
        put_char(g, '|');
        put(g, pick(g, modes, 7));
        put_char(g, '|');
        for (int64_t words = between(g, 3, 7); words > 0; words--) {
            put_word(g, below(g, 5000));
            if (words > 1) put_char(g, ' ');
        }
        put_char(g, '|');
        end_row(g);
    }
}

static void orders(Gen *g) {
    static const char *const priorities[] = {"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED",
                                             "5-LOW"};
    for (int64_t i = 1; i <= g->rows; i++) {
        put_int(g, i);
        put_char(g, '|');
        put_int(g, between(g, 1, 150000));
        put(g, below(g, 2) ? "|O|" : "|F|");
        put_fixed(g, between(g, 90000, 50000000), 2);
        put_char(g, '|');
        put_date(g, 8035 + below(g, 2406));
        put_char(g, '|');
        put(g, pick(g, priorities, 5));
        put(g, "|Clerk#");
        put_padded(g, between(g, 1, 1000), 9);
        put(g, "|0|");
        for (int64_t words = between(g, 4, 10); words > 0; words--) {
            put_word(g, below(g, 5000));
            if (words > 1) put_char(g, ' ');
        }
        put_char(g, '|');
        end_row(g);
    }
}

// The name of station i: 3 to 26 bytes, some with a letter of two bytes.
static void put_station(Gen *g, int64_t i) {
    int64_t kind = (int64_t)(mix((uint64_t)i) % 8);
    char *start = g->at;
    put_word(g, i);
    *start -= 'a' - 'A';
    if (kind == 0) put(g, "é");
    if (kind < 3) {
        put(g, kind == 1 ? " upon " : " ");
        put_word(g, (int64_t)(mix((uint64_t)i + 77) % 400000));
    }
    if (g->at - start < 3) put_char(g, 'n');
}

static void stations(Gen *g) {
    for (int64_t i = 0; i < g->rows; i++) {
        int64_t station = below(g, g->vocabulary), middle = (int64_t)(mix((uint64_t)station) % 400);
        put_station(g, station);
        put_char(g, ';');
        put_fixed(g, middle - 100 + below(g, 300) - below(g, 300), 1);
        end_row(g);
    }
}

// The table of the db-benchmark's group-by task: nine columns, about 50 bytes a row.
static void groups(Gen *g) {
    const int64_t few = 100, many = g->rows / few > 0 ? g->rows / few : 1;
    put(g, "id1,id2,id3,id4,id5,id6,v1,v2,v3");
    end_row(g);
    for (int64_t i = 0; i < g->rows; i++) {
        put(g, "id");
        put_padded(g, between(g, 1, few), 3);
        put(g, ",id");
        put_padded(g, between(g, 1, few), 3);
        put(g, ",id");
        put_padded(g, between(g, 1, many), 10);
        const int64_t whole[] = {between(g, 1, few), between(g, 1, few), between(g, 1, many),
                                 between(g, 1, 5), between(g, 1, 15)};
        for (int k = 0; k < 5; k++) {
            put_char(g, ',');
            put_int(g, whole[k]);
        }
        put_char(g, ',');
        put_fixed(g, below(g, 100000000), 6);
        end_row(g);
    }
}

// Nested events, about 240 bytes a line.
static void events(Gen *g) {
    static const char *const kinds[] = {"click", "view", "purchase", "scroll", "login", "error"};
    static const char *const countries[] = {"DE", "FR", "US", "IN", "BR", "JP", "GB", "NG", "MX",
                                            "IT", "ES", "CA", "AU", "KE", "SE", "PL", "CN", "ZA"};
    static const char *const systems[] = {"linux", "windows", "macos", "android", "ios"};
    for (int64_t i = 0; i < g->rows; i++) {
        put(g, "{\"id\":");
        put_int(g, i);
        put(g, ",\"time\":\"");
        put_time(g, INT64_C(1767225600) + i / 4, 'T');
        put(g, "Z\",\"kind\":\"");
        put(g, pick(g, kinds, 6));
        put(g, "\",\"user\":{\"name\":\"");
        put_word(g, 6480 + below(g, 400000));
        put(g, "\",\"age\":");
        put_int(g, between(g, 16, 90));
        put(g, ",\"country\":\"");
        put(g, pick(g, countries, 18));
        put(g, "\"},\"device\":{\"os\":\"");
        put(g, pick(g, systems, 5));
        put(g, "\",\"version\":\"");
        put_int(g, between(g, 1, 20));
        put(g, ".0\"},\"value\":");
        put_fixed(g, between(g, 0, 50000), 2);
        put(g, ",\"duration\":");
        put_int(g, between(g, 1, 100000));
        put(g, ",\"tags\":[\"");
        put_word(g, below(g, 5000));
        put(g, "\",\"");
        put_word(g, below(g, 5000));
        put(g, "\"],\"note\":\"");
        for (int word = 0; word < 5; word++) {
            put_word(g, below(g, 50000));
            put_char(g, ' ');
        }
        put(g, "\"}");
        end_row(g);
    }
}

// Lines of ten words; every word of the vocabulary that the lines have room for comes up.
static void words(Gen *g) {
    for (int64_t i = 0; i < g->rows; i++) {
        for (int k = 0; k < 10; k++) {
            if (k > 0) put_char(g, ' ');
            put_word(g, k == 0 && i < g->vocabulary ? i : zipf(g, g->vocabulary));
        }
        end_row(g);
    }
}

// Records of 100 bytes with their line end: a key of ten characters, a tab, a payload.
static void records(Gen *g) {
    for (int64_t i = 0; i < g->rows; i++) {
        for (int k = 0; k < 10; k++) put_char(g, (char)('A' + below(g, 26)));
        put_char(g, '\t');
        put_padded(g, i, 12);
        for (int k = 0; k < 76; k++) put_char(g, (char)('a' + (i + k) % 26));
        end_row(g);
    }
}

static void names(Gen *g) {
    put(g, "user,amount");
    end_row(g);
    for (int64_t i = 0; i < g->rows; i++) {
        uint64_t user = mix((uint64_t)below(g, g->vocabulary));
        put(g, "user-");
        put_word(g, (int64_t)(user % 80000000));
        put_char(g, '-');
        put_padded(g, (int64_t)(user >> 32) % 10000, 4);
        put_char(g, ',');
        put_fixed(g, below(g, 1000000), 2);
        end_row(g);
    }
}

// Prose of a kind: capitals, digits, punctuation; about 200 bytes a line.
static void documents(Gen *g) {
    static const char *const marks[] = {", ", ". ", "; ", " - ", "! ", " (", ") "};
    for (int64_t i = 0; i < g->rows; i++) {
        for (int k = 0; k < 30; k++) {
            int64_t rank = zipf(g, g->vocabulary);
            char *start = g->at;
            if (below(g, 20) == 0)
                put_int(g, below(g, 10000));
            else
                put_word(g, rank);
            if (*start >= 'a' && below(g, 6) == 0) *start -= 'a' - 'A';
            if (below(g, 8) == 0)
                put(g, pick(g, marks, 7));
            else
                put_char(g, ' ');
        }
        end_row(g);
    }
}

// An npy file of f32 from -4 to 4.
static void put_head(Gen *g, const char *type, const char *shape) {
    char head[128];
    int len = snprintf(head, sizeof head,
                       "\x93NUMPY%c%cv%c{'descr': '%s', 'fortran_order': False, "
                       "'shape': (%s), }", 1, 0, 0, type, shape);
    memset(head + len, ' ', sizeof head - (size_t)len);
    head[sizeof head - 1] = '\n';
    memcpy(g->at, head, sizeof head);
    g->at += sizeof head;
}

static void floats(Gen *g) {
    char shape[32];
    snprintf(shape, sizeof shape, "%ld,", (long)g->rows);
    put_head(g, "<f4", shape);
    for (int64_t i = 0; i < g->rows; i++) {
        float value = (float)(unit(g) * 8 - 4);
        memcpy(g->at, &value, sizeof value);
        g->at += sizeof value;
        end_value(g);
    }
}

// 13 counts, some below zero and some too large, and 26 hashes of words.
static void features(Gen *g) {
    enum { DENSE = 13, ALL = 39, HASHES = 1 << 30 };
    char shape[32];
    snprintf(shape, sizeof shape, "%ld, %d", (long)g->rows, ALL);
    put_head(g, "<i4", shape);
    for (int64_t i = 0; i < g->rows * ALL; i++) {
        int32_t value = (int32_t)(i % ALL < DENSE ? unit(g) * 20000 - 5000 : unit(g) * HASHES);
        memcpy(g->at, &value, sizeof value);
        g->at += sizeof value;
        end_value(g);
    }
}

static const struct {
    const char *name;
    void (*write)(Gen *g);
} kinds[] = {
    {"trips", trips},       {"zones", zones},   {"lineitem", lineitem},   {"orders", orders},
    {"stations", stations}, {"groups", groups}, {"events", events},       {"words", words},
    {"records", records},   {"names", names},   {"documents", documents},
    {"floats", floats},     {"features", features},
};

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: generate KIND ROWS VOCABULARY SEED FILE\n");
        return 2;
    }
    Gen g = {.rows = atoll(argv[2]),
             .vocabulary = atoll(argv[3]),
             .state = mix(strtoull(argv[4], nullptr, 10)),
             .file = fopen(argv[5], "wb"),
             .buffer = malloc(BUFFER_BYTES)};
    if (g.rows < 1 || g.vocabulary < 1 || !g.file || !g.buffer) {
        fprintf(stderr, "generate: two positive numbers and a file that can be written, please\n");
        return 2;
    }
    g.at = g.buffer;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, argv[1]) != 0) continue;
        kinds[i].write(&g);
        fwrite(g.buffer, 1, (size_t)(g.at - g.buffer), g.file);
        return ferror(g.file) || fclose(g.file) ? 3 : 0;
    }
    fprintf(stderr, "generate: no kind '%s'\n", argv[1]);
    return 2;
}
