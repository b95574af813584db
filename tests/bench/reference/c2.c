// C2 by hand: words in order of appearance. Checks nothing: one space between words of up to 16 bytes,
// fewer than a million different ones, UTF-8 unseen.
#include "scan.h"

enum { SLOTS = 1 << 21 };

typedef struct Word {
    __m128i  key;
    uint64_t count, first;  // How often; where it came up first.
} Word;

typedef struct State {
    const char *start;
    Word       *words;
    uint32_t   *ends;
} State;

static inline Word *find(Word *words, __m128i key) {
    uint64_t slot = hash_key(key);
    for (;; slot++) {
        Word *w = &words[slot % SLOTS];
        if (!w->count || same_key(w->key, key)) return w;
    }
}

static void each(void *argument, Text block) {
    State *s = argument;
    size_t count = index_fields(block.at, block.at + block.len, ' ', s->ends);
    const char *at = block.at;
    for (size_t i = 0; i < count; i++) {
        const char *end = block.at + s->ends[i];
        Word *w = find(s->words, load_key(at, (size_t)(end - at)));
        if (!w->count++) {
            w->key = load_key(at, (size_t)(end - at));
            w->first = (uint64_t)(at - s->start);
        }
        at = end + 1;
    }
}

static int by_first(const void *a, const void *b) {
    const Word *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    Text text = map_text(argv[1]);
    State states[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        states[i] = (State){text.at, map_zeros(SLOTS * sizeof(Word)),
                            map_zeros(FIELDS_MAX * sizeof(uint32_t))};
    scan_rows(text, each, states, sizeof *states);
    Word *all = states[0].words;
    size_t count = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        Word b = states[1].words[i];
        if (!b.count) continue;
        Word *a = find(all, b.key);
        if (!a->count || b.first < a->first) a->first = b.first;
        a->key = b.key;
        a->count += b.count;
    }
    for (size_t i = 0; i < SLOTS; i++)
        if (all[i].count) all[count++] = all[i];
    qsort(all, count, sizeof *all, by_first);
    FILE *out = open_output(argv[2]);
    fprintf(out, "word,n\n");
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%.16s,%lu\n", (const char *)&all[i].key, all[i].count);
    return fclose(out) ? 3 : 0;
}
