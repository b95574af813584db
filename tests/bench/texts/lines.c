// JSON lines by hand: a sum by two short texts, and the bytes of a third one that may have escapes.
// Checks nothing: the keys come in one order, escapes are of two characters, values are below a
// million with two digits after the point, and three kinds and countries of two letters.
#include "../reference/scan.h"

enum {
    ENDS = 37,  // Quotes of a line, and its end.
    KIND = 8,   // The quote that opens it.
    COUNTRY = 18,
    VALUE = 21,  // The quote that closes its key.
    NOTE = 34,
    GROUPS = 3 << 10,
};

typedef struct Group {
    int64_t rows, cents, bytes;
} Group;

typedef struct State {
    _Alignas(64) Group groups[GROUPS];
    uint32_t ends[FIELDS_MAX];
} State;

static const char *const kinds[] = {"buy", "click", "view"};

// Without what follows a backslash. *open: the block before ends in the middle of an escape.
static uint64_t without_escaped(uint64_t bits, uint64_t slashes, bool *open) {
    uint64_t second = *open;
    slashes &= ~second;
    for (*open = false; slashes;) {
        const uint64_t first = slashes & -slashes;
        *open = first >> 63;
        second |= first << 1;
        slashes &= ~(first | first << 1);
    }
    return bits & ~second;
}

static size_t index_quotes(const char *begin, const char *end, uint32_t *ends) {
    uint32_t *to = ends;
    bool open = false;
    for (const char *at = begin; at < end; at += 64) {
        const uint64_t slashes = match(at, '\\');
        uint64_t bits = match(at, '"');
        if (slashes || open) bits = without_escaped(bits, slashes, &open);
        bits |= match(at, '\n');
        if (end - at < 64) bits &= (UINT64_C(1) << (end - at)) - 1;
        to = put_bits(to, bits, (uint32_t)(at - begin));
    }
    return (size_t)(to - ends);
}

// Bytes of a text whose escapes are of two characters.
static int64_t text_bytes(const char *at, const char *end) {
    int64_t escapes = 0;
    bool open = false;
    for (const char *c = at; c < end; c += 64) {
        uint64_t rest = end - c < 64 ? (UINT64_C(1) << (end - c)) - 1 : ~UINT64_C(0);
        uint64_t slashes = match(c, '\\') & rest;
        if (slashes) slashes = without_escaped(slashes, slashes, &open);
        escapes += __builtin_popcountll(slashes);
    }
    return end - at - escapes;
}

static void each(void *argument, Text block) {
    State *s = argument;
    size_t count = index_quotes(block.at, block.at + block.len, s->ends);
    for (const uint32_t *e = s->ends; e < s->ends + count; e += ENDS) {
        const char *at = block.at, *country = at + e[COUNTRY] + 1;
        const char kind = at[e[KIND] + 1];
        int which = kind == 'b' ? 0 : kind == 'c' ? 1 : 2;
        Group *g = &s->groups[which << 10 | (country[0] & 31) << 5 | (country[1] & 31)];
        const char *value = at + e[VALUE] + 2, *value_end = at + e[VALUE + 1] - 1;
        int64_t whole = 0, part = 0, tens = 100;
        for (; value < value_end && *value != '.'; value++) whole = whole * 10 + (*value - '0');
        for (value++; value < value_end; value++) part += (*value - '0') * (tens /= 10);
        g->rows++;
        g->cents += whole * 100 + part;
        g->bytes += text_bytes(at + e[NOTE] + 1, at + e[NOTE + 1]);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    static State states[THREADS];
    scan_rows(map_text(argv[1]), each, states, sizeof *states);
    FILE *out = open_output(argv[2]);
    fprintf(out, "kind,country,n,s,t\n");
    for (int i = 0; i < GROUPS; i++) {
        const Group a = states[0].groups[i], b = states[1].groups[i];
        if (a.rows + b.rows)
            fprintf(out, "%s,%c%c,%ld,%.17g,%ld\n", kinds[i >> 10], 64 | (i >> 5 & 31),
                    64 | (i & 31), a.rows + b.rows, (double)(a.cents + b.cents) / 100,
                    a.bytes + b.bytes);
    }
    return fclose(out) ? 3 : 0;
}
