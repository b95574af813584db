// Tokens by hand, as a byte loop: runs of letters and digits in lower case, and any other character
// but a space alone. Checks nothing: letters beyond ASCII keep their case, there are at most
// 700,000 different tokens, and those are told apart by their hashes.
#include "../reference/scan.h"

enum { SLOTS = 1 << 20 };

typedef struct State {
    _Alignas(64) int64_t tokens;
    uint64_t *hashes;  // 0 is free.
    int64_t others;    // 1: what is neither letter, digit nor space is a token too.
} State;

static void add(uint64_t *hashes, uint64_t hash) {
    for (uint64_t slot = hash;; slot++) {
        uint64_t *h = &hashes[slot % SLOTS];
        if (*h == hash) return;
        if (*h) continue;
        *h = hash;
        return;
    }
}

// What is in a token after its first byte: 1 a letter or a digit, 2 the rest of a character.
static const uint8_t *kinds(void) {
    static uint8_t of[256];
    for (int c = 0; c < 256; c++) {
        const int small = c | 0x20;
        of[c] = (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') ? 1 : c >> 6 == 2 ? 2 : 0;
    }
    return of;
}

static void each(void *argument, Text block) {
    State *s = argument;
    const uint8_t *of = kinds();
    for (const char *at = block.at, *end = at + block.len; at < end;) {
        const char *begin = at;
        const uint8_t kind = of[(uint8_t)*at++];
        if (kind == 0 && (*begin == ' ' || *begin == '\n')) continue;
        if (kind != 1 && !s->others) continue;
        const uint8_t more = kind == 1 ? 1 : 2;
        while (of[(uint8_t)*at] == more) at++;
        uint64_t hash = 0xcbf29ce484222325;
        for (const char *c = begin; c < at; c++) {
            const uint8_t byte = (uint8_t)*c, upper = (uint8_t)(byte - 'A') < 26;
            hash = (hash ^ (byte | upper << 5)) * 0x100000001b3;
        }
        add(s->hashes, (hash ^ hash >> 29) | 1);
        s->tokens++;
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    State states[THREADS] = {};
    for (size_t i = 0; i < THREADS; i++) {
        states[i].hashes = map_zeros(SLOTS * sizeof(uint64_t));
        states[i].others = argv[3][0] == '1';
    }
    kinds();
    scan_rows(map_text(argv[1]), each, states, sizeof *states);
    size_t different = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (states[1].hashes[i]) add(states[0].hashes, states[1].hashes[i]);
    for (size_t i = 0; i < SLOTS; i++) different += states[0].hashes[i] != 0;
    FILE *out = open_output(argv[2]);
    fprintf(out, "tokens,different\n%ld,%zu\n", states[0].tokens + states[1].tokens, different);
    return fclose(out) ? 3 : 0;
}
