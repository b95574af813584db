// JSON lines by hand: a sum by two short texts, and the bytes of a third one that may have escapes.
// `json IN OUT group|filter FORM`. FORM `slots` has one order of members, so that quotes have fixed
// numbers; `walk` goes from key to key. After it: - a space after each colon, u escapes like
// \u00e9. Checks nothing: values below a million with up to two digits after the point or null,
// three kinds, countries of two letters, and no key of the four is there twice.
#include "../../reference/scan.h"

enum {
    SLOT_QUOTES = 37,  // Quotes of a line, and its end.
    KIND = 8,          // The quote that opens it.
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
    int64_t rows, bytes;
    uint32_t ends[FIELDS_MAX];
} State;

static const char *const kinds[] = {"buy", "click", "view"};
static bool filters, walks, spaced, coded;

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

// Bytes of a text; an escape is of two characters, or of six and then a letter of two bytes.
static int64_t text_bytes(const char *at, const char *end) {
    int64_t escapes = 0;
    bool open = false;
    for (const char *c = at; c < end; c += 64) {
        uint64_t rest = end - c < 64 ? (UINT64_C(1) << (end - c)) - 1 : ~UINT64_C(0);
        uint64_t slashes = match(c, '\\') & rest;
        if (slashes) slashes = without_escaped(slashes, slashes, &open);
        escapes += __builtin_popcountll(slashes);
        if (coded)
            for (; slashes; slashes &= slashes - 1)
                escapes += c[__builtin_ctzll(slashes) + 1] == 'u' ? 3 : 0;
    }
    return end - at - escapes;
}

typedef struct Event {
    const char *kind, *country, *value, *note, *note_end;
} Event;

static inline int64_t cents_of(const char *at) {
    int64_t whole = 0, part = 0, tens = 100;
    if (*at == 'n') return 0;
    for (; (uint8_t)(*at - '0') < 10; at++) whole = whole * 10 + (*at - '0');
    if (*at == '.')
        for (at++; (uint8_t)(*at - '0') < 10; at++) part += (*at - '0') * (tens /= 10);
    return whole * 100 + part;
}

static inline void take(State *s, const Event *event) {
    int64_t value = event->value ? cents_of(event->value) : 0;
    int64_t bytes = event->note ? text_bytes(event->note, event->note_end) : 0;
    if (filters) {
        if (value > 5000) s->rows++, s->bytes += bytes;
        return;
    }
    int which = *event->kind == 'b' ? 0 : *event->kind == 'c' ? 1 : 2;
    const char *country = event->country;
    Group *g = &s->groups[which << 10 | (country[0] & 31) << 5 | (country[1] & 31)];
    g->rows++;
    g->cents += value;
    g->bytes += bytes;
}

static void each_slots(void *argument, Text block) {
    State *s = argument;
    size_t count = index_quotes(block.at, block.at + block.len, s->ends);
    const char *at = block.at;
    for (const uint32_t *e = s->ends; e < s->ends + count; e += SLOT_QUOTES) {
        Event event = {at + e[KIND] + 1, at + e[COUNTRY] + 1, at + e[VALUE] + 2 + spaced,
                       at + e[NOTE] + 1, at + e[NOTE + 1]};
        take(s, &event);
    }
}

static inline bool is_key(const char *at, const char *end, const char *key, size_t len) {
    return end - at == (ptrdiff_t)len && memcmp(at, key, len) == 0;
}

static void each_walk(void *argument, Text block) {
    State *s = argument;
    size_t count = index_quotes(block.at, block.at + block.len, s->ends);
    const char *at = block.at;
    for (const uint32_t *e = s->ends, *last = e + count; e < last; e++) {
        Event event = {};
        while (at[*e] != '\n') {
            const char *key = at + e[0] + 1, *end = at + e[1], *value = end + 2 + spaced;
            if (end[1] != ':') {  // An element of a list.
                e += 2;
                continue;
            }
            if (is_key(key, end, "kind", 4)) event.kind = value + 1;
            else if (is_key(key, end, "value", 5)) event.value = value;
            else if (is_key(key, end, "country", 7)) event.country = value + 1;
            else if (is_key(key, end, "note", 4) && *value == '"')
                event.note = value + 1, event.note_end = at + e[3];
            e += *value == '"' ? 4 : 2;
        }
        take(s, &event);
    }
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    static State states[THREADS];
    filters = argv[3][0] == 'f';
    walks = argv[4][0] == 'w';
    spaced = strchr(argv[4], '-') != nullptr;
    coded = strchr(argv[4], 'u');
    scan_rows(map_text(argv[1]), walks ? each_walk : each_slots, states, sizeof *states);
    FILE *out = open_output(argv[2]);
    if (filters) {
        fprintf(out, "n,t\n%ld,%ld\n", states[0].rows + states[1].rows,
                states[0].bytes + states[1].bytes);
        return fclose(out) ? 3 : 0;
    }
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
