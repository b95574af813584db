// Functions of texts by hand: a loop for each over the second column of three. `text IN OUT NAME`,
// where NAME is one of the table below. Writes the sum of what it gives: bytes, characters, or how
// many texts are so. Texts are of small letters, beyond ASCII too, without quotes; nothing is
// checked.
#include "../../reference/scan.h"

enum { COLUMNS = 3, LONG = 512 };

typedef struct State {
    _Alignas(64) int64_t sum;
    char text[LONG];
    uint32_t ends[FIELDS_MAX];
} State;

typedef int64_t ValueFn(State *s, const char *at, size_t len);

static inline bool is_first(char c) { return (int8_t)c >= -64; }

static int64_t length(State *s, const char *at, size_t len) {
    (void)s;
    int64_t count = 0;
    for (size_t i = 0; i < len; i++) count += is_first(at[i]);
    return count;
}

static int64_t has(State *s, const char *at, size_t len) {
    (void)s;
    return memmem(at, len, "ab", 2) != nullptr;
}

static int64_t finds(State *s, const char *at, size_t len) {
    (void)s;
    const char *found = memchr(at, 'q', len);
    return found ? length(s, at, (size_t)(found - at)) : 0;
}

// The text is made, as whoever asks for it would have it: then its bytes are looked at.
static inline void keep(State *s) { __asm__ volatile("" : : "r"(s->text) : "memory"); }

static int64_t upper(State *s, const char *at, size_t len) {
    for (size_t i = 0; i < len; i++) s->text[i] = at[i] - ((uint8_t)(at[i] - 'a') < 26 ? 32 : 0);
    keep(s);
    return (int64_t)len;
}

static int64_t capital(State *s, const char *at, size_t len) {
    memcpy(s->text, at, len);
    s->text[0] -= 32;
    keep(s);
    return (int64_t)len;
}

static int64_t change(State *s, const char *at, size_t len) {
    char *to = s->text;
    for (size_t i = 0; i < len; i++) {
        *to = at[i];
        if (at[i] == 'e') to[1] = '-', to[2] = 'e', to += 2;
        to++;
    }
    keep(s);
    return to - s->text;
}

static int64_t piece(State *s, const char *at, size_t len) {
    (void)s;
    const char *end = at + len, *begin = at;  // Characters 1 to 3.
    for (int i = 0; i < 1 && begin < end; i++)
        do begin++;
        while (begin < end && !is_first(*begin));
    const char *after = begin;
    for (int i = 0; i < 3 && after < end; i++)
        do after++;
        while (after < end && !is_first(*after));
    return after - begin;
}

static int64_t parts(State *s, const char *at, size_t len) {
    (void)s;
    int64_t count = 1;
    for (size_t i = 0; i < len; i++) count += at[i] == 'e';
    return count;
}

static int64_t back(State *s, const char *at, size_t len) {
    char *to = s->text + len;
    for (size_t i = 0; i < len;) {
        size_t n = 1;
        while (i + n < len && !is_first(at[i + n])) n++;
        memcpy(to -= n, at + i, n);
        i += n;
    }
    keep(s);
    return (int64_t)len;
}

static int64_t joined(State *s, const char *at, size_t len) {
    memcpy(s->text, at, len);
    s->text[len] = '/';
    memcpy(s->text + len + 1, at, len);
    keep(s);
    return 2 * (int64_t)len + 1;
}

static const struct {
    const char *name;
    ValueFn *value;
} functions[] = {
    {"length", length}, {"has", has},       {"finds", finds},
    {"upper", upper},   {"capital", capital}, {"change", change}, {"piece", piece},
    {"parts", parts},   {"back", back},     {"joined", joined},
};

static ValueFn *value;

static void each(void *argument, Text block) {
    State *s = argument;
    size_t count = index_fields(block.at, block.at + block.len, ',', s->ends);
    int64_t sum = 0;
    for (const uint32_t *e = s->ends; e < s->ends + count; e += COLUMNS)
        sum += value(s, block.at + e[0] + 1, e[1] - e[0] - 1);
    s->sum += sum;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, argv[3]) == 0) value = functions[i].value;
    if (!value) return 2;
    static State states[THREADS];
    scan_rows(without_header(map_text(argv[1])), each, states, sizeof *states);
    FILE *out = open_output(argv[2]);
    fprintf(out, "s\n%ld\n", states[0].sum + states[1].sum);
    return fclose(out) ? 3 : 0;
}
