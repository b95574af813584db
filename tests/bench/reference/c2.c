// C2 by hand: words in order of appearance. Checks nothing: one space between words of up to 16
// bytes, UTF-8 unseen.
#include "scan.h"

enum { SLOTS_FIRST = 1 << 15 };

typedef struct Word {
    __m128i key;
    uint64_t count, first;  // How often; where it came up first.
} Word;

typedef struct Table {
    Word *words;
    size_t slots, used;
} Table;

typedef struct State {
    const char *start;
    Table table;
    uint32_t *ends;
} State;

static inline Word *find(const Table *table, __m128i key) {
    for (uint64_t slot = hash_key(key);; slot++) {
        Word *w = &table->words[slot & (table->slots - 1)];
        if (!w->count || same_key(w->key, key)) return w;
    }
}

static void grow(Table *table) {
    Table larger = {.slots = table->slots * 2, .used = table->used};
    larger.words = map_zeros(larger.slots * sizeof(Word));
    for (size_t i = 0; i < table->slots; i++)
        if (table->words[i].count) *find(&larger, table->words[i].key) = table->words[i];
    munmap(table->words, table->slots * sizeof(Word));
    *table = larger;
}

static void each(void *argument, Text block) {
    State *s = argument;
    size_t count = index_fields(block.at, block.at + block.len, ' ', s->ends);
    const char *at = block.at;
    for (size_t i = 0; i < count; i++) {
        const char *end = block.at + s->ends[i];
        __m128i key = load_key(at, (size_t)(end - at));
        Word *w = find(&s->table, key);
        if (!w->count++) {
            w->key = key;
            w->first = (uint64_t)(at - s->start);
            if (++s->table.used > s->table.slots / 2) grow(&s->table);
        }
        at = end + 1;
    }
}

// Adds what the other threads have counted to the first one's table.
static void merge(Table *table, const Table *other) {
    for (size_t i = 0; i < other->slots; i++) {
        Word b = other->words[i];
        if (!b.count) continue;
        Word *a = find(table, b.key);
        bool fresh = !a->count;
        if (fresh || b.first < a->first) a->first = b.first;
        a->key = b.key;
        a->count += b.count;
        if (fresh && ++table->used > table->slots / 2) grow(table);
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
        states[i] = (State){text.at,
                            {map_zeros(SLOTS_FIRST * sizeof(Word)), SLOTS_FIRST, 0},
                            map_zeros(FIELDS_MAX * sizeof(uint32_t))};
    scan_rows(text, each, states, sizeof *states);
    for (size_t i = 1; i < THREADS; i++) merge(&states[0].table, &states[i].table);
    Word *all = states[0].table.words;
    size_t count = 0;
    for (size_t i = 0; i < states[0].table.slots; i++)
        if (all[i].count) all[count++] = all[i];
    qsort(all, count, sizeof *all, by_first);
    FILE *out = open_output(argv[2]);
    fprintf(out, "word,n\n");
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%.16s,%lu\n", (const char *)&all[i].key, all[i].count);
    return fclose(out) ? 3 : 0;
}
