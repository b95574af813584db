// Joins by hand: `join IN RIGHT OUT KIND`. KIND is inner, left, semi or anti. The left side has a
// key, a whole number and a text; the right one, keys that differ and a number of -9 to 9. Writes,
// by that number, how many rows there are and the sum of the whole numbers; semi and anti write one
// such row. Keys have up to 16 bytes. Checks nothing.
#include "../../reference/scan.h"

enum { COLUMNS = 3, GROUPS = 20, ZERO = 9, NONE = 19 };

typedef struct Slot {
    __m128i key;
    uint32_t len, group;
} Slot;

typedef struct State {
    _Alignas(64) int64_t rows[GROUPS], sums[GROUPS];
    uint32_t *ends;
} State;

static Slot *slots;
static uint64_t mask;
static enum { INNER, LEFT, SEMI, ANTI } kind;

static void fill(Text text, uint32_t *ends) {
    size_t rows = text.len / 4;
    mask = (UINT64_C(1) << (64 - __builtin_clzll(2 * rows))) - 1;
    slots = map_zeros((mask + 1) * sizeof *slots);
    for (size_t k = 0; k < block_count(text); k++) {
        Text block = block_of(text, k);
        size_t count = index_fields(block.at, block.at + block.len, ',', ends);
        const char *row = block.at;
        for (const uint32_t *e = ends; e < ends + count; e += 2) {
            uint32_t len = e[0] - (uint32_t)(row - block.at);
            __m128i key = load_key(row, len);
            const char *g = block.at + e[0] + 1;
            uint64_t at = hash_key(key);
            while (slots[at & mask].len) at++;
            int number = *g == '-' ? '0' - g[1] : *g - '0';
            slots[at & mask] = (Slot){key, len, (uint32_t)(ZERO + number)};
            row = block.at + e[1] + 1;
        }
    }
}

static inline uint32_t group_of(__m128i key, uint32_t len) {
    for (uint64_t at = hash_key(key);; at++) {
        const Slot *slot = &slots[at & mask];
        if (!slot->len) return NONE;
        if (slot->len == len && same_key(slot->key, key)) return slot->group;
    }
}

static void each(void *argument, Text block) {
    State *s = argument;
    size_t count = index_fields(block.at, block.at + block.len, ',', s->ends);
    const char *row = block.at;
    for (const uint32_t *e = s->ends; e < s->ends + count; e += COLUMNS) {
        uint32_t len = e[0] - (uint32_t)(row - block.at);
        uint32_t group = group_of(load_key(row, len), len);
        const char *x = block.at + e[0] + 1;
        int64_t sign = -(int64_t)(*x == '-');
        int64_t value = ((int64_t)digits(x - sign, block.at + e[1]) ^ sign) - sign;
        s->rows[group]++;
        s->sums[group] += value;
        row = block.at + e[2] + 1;
    }
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    kind = *argv[4] == 'i' ? INNER : *argv[4] == 'l' ? LEFT : *argv[4] == 's' ? SEMI : ANTI;
    static State states[THREADS];
    for (size_t i = 0; i < THREADS; i++) states[i].ends = map_zeros(FIELDS_MAX * sizeof(uint32_t));
    fill(without_header(map_text(argv[2])), states[0].ends);
    scan_rows(without_header(map_text(argv[1])), each, states, sizeof *states);
    FILE *out = open_output(argv[3]);
    fputs(kind == SEMI || kind == ANTI ? "n,s\n" : "g,n,s\n", out);
    int64_t rows = 0, sum = 0;
    for (int i = 0; i < GROUPS; i++) {
        int64_t n = states[0].rows[i] + states[1].rows[i];
        int64_t s = states[0].sums[i] + states[1].sums[i];
        if (kind == SEMI || kind == ANTI) {
            if ((i == NONE) == (kind == ANTI)) rows += n, sum += s;
        } else if (n && i != NONE) {
            fprintf(out, "%d,%ld,%ld\n", i - ZERO, n, s);
        } else if (n && kind == LEFT) {
            fprintf(out, ",%ld,%ld\n", n, s);
        }
    }
    if (kind == SEMI || kind == ANTI) fprintf(out, "%ld,%ld\n", rows, sum);
    return fclose(out) ? 3 : 0;
}
