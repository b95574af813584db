// Sorts by hand: a CSV file by any keys, rows written whole. `sort IN OUT COLUMNS KEYS`, where KEYS
// are like 0t,2w-,3i: the column, its kind as columns.c names it, and - for descending. Checks
// nothing: no quotes, every row has its line end, fractions have all as many digits.
//
// A row's key becomes bytes that compare as the row does. Buckets between sampled words are shared
// out to the threads and sorted word by word.
#include "../../reference/scan.h"

enum { KEYS_MAX = 8, BUCKETS = 256, SAMPLES = 8 * BUCKETS, FEW = 24, DIGITS = 1 << 10 };

typedef struct Key {
    uint32_t column;
    char kind;
    bool descending;
} Key;

// Lies in front of its bytes.
typedef struct Head {
    uint64_t at;
    uint32_t len, key_len;
} Head;

typedef struct Item {
    uint64_t word;
    const char *key;
} Item;

typedef struct Half {
    Text rows, text;
    uint32_t columns;
    const Key *keys;
    uint32_t key_count;
    char *arena, *to;
    Item *items;
    size_t count, starts[BUCKETS], bytes[BUCKETS];
    uint64_t differ;
    // Of all:
    size_t depth;
    Item *sorted, *spare;
    const uint64_t *splitters;
    const size_t *begins, *places;
    char *out;
    atomic_size_t *next;
} Half;

static uint64_t word_at(const char *key, size_t depth) {
    return __builtin_bswap64(load8(key + depth));
}

static Head head_of(const char *key) {
    Head head;
    memcpy(&head, key - sizeof head, sizeof head);
    return head;
}

static char *put_word(char *to, uint64_t word) {
    word = __builtin_bswap64(word);
    memcpy(to, &word, 8);
    return to + 8;
}

// Digits with a sign or without; a point is passed over.
static int64_t whole(const char *at, const char *end) {
    bool negative = *at == '-';
    int64_t x = 0;
    for (at += negative; at < end; at++)
        if (*at != '.') x = x * 10 + (*at - '0');
    return negative ? -x : x;
}

static char *put_key(char *to, const Key *key, const char *at, const char *end) {
    *to++ = at == end;  // Nulls last, whatever the direction.
    char *begin = to;
    if (key->kind == 't') {
        memcpy(to, at, (size_t)(end - at));
        to += end - at;
        *to++ = 0;
    } else if (at < end && key->kind == 'b') {
        *to++ = *at == 't';
    } else if (at < end) {
        int64_t x = key->kind == 'w' ? seconds_of(at) : whole(at, end);
        to = put_word(to, (uint64_t)x ^ UINT64_C(1) << 63);
    }
    if (at < end && key->descending)
        for (char *c = begin; c < to; c++) *c = (char)~*c;
    return to;
}

static void *read_half(void *argument) {
    Half *h = argument;
    uint32_t *ends = map_zeros(FIELDS_MAX * sizeof *ends);
    for (size_t k = 0; k < block_count(h->rows); k++) {
        Text block = block_of(h->rows, k);
        size_t count = index_fields(block.at, block.at + block.len, ',', ends);
        const char *row = block.at;
        for (const uint32_t *e = ends; e < ends + count; e += h->columns) {
            const char *after = block.at + e[h->columns - 1] + 1;
            char *key = h->to + sizeof(Head), *to = key;
            for (uint32_t i = 0; i < h->key_count; i++) {
                uint32_t column = h->keys[i].column;
                const char *at = column ? block.at + e[column - 1] + 1 : row;
                to = put_key(to, &h->keys[i], at, block.at + e[column]);
            }
            Head head = {(uint64_t)(row - h->text.at), (uint32_t)(after - row),
                         (uint32_t)(to - key)};
            memcpy(h->to, &head, sizeof head);
            memset(to, 0, 8);
            h->to = to + 8;
            h->items[h->count++] = (Item){word_at(key, 0), key};
            row = after;
        }
    }
    return nullptr;
}

static void *take_words(void *argument) {
    Half *h = argument;
    h->differ = 0;
    uint64_t first = word_at(h->items[0].key, h->depth);
    for (size_t i = 0; i < h->count; i++) {
        h->items[i].word = word_at(h->items[i].key, h->depth);
        h->differ |= h->items[i].word ^ first;
    }
    return nullptr;
}

static size_t bucket_of(const Half *h, uint64_t word) {
    size_t at = 0;
    for (size_t step = BUCKETS / 2; step; step /= 2)
        at += h->splitters[at + step - 1] <= word ? step : 0;
    return at;
}

static void *count_half(void *argument) {
    Half *h = argument;
    for (size_t i = 0; i < h->count; i++) {
        size_t b = bucket_of(h, h->items[i].word);
        h->starts[b]++;
        h->bytes[b] += head_of(h->items[i].key).len;
    }
    return nullptr;
}

static void *place_half(void *argument) {
    Half *h = argument;
    for (size_t i = 0; i < h->count; i++)
        h->sorted[h->starts[bucket_of(h, h->items[i].word)]++] = h->items[i];
    return nullptr;
}

static void insert(Item *to, const Item *from, size_t count) {
    for (size_t i = 0, j; i < count; i++) {
        Item item = from[i];
        for (j = i; j > 0 && item.word < to[j - 1].word; j--) to[j] = to[j - 1];
        to[j] = item;
    }
}

// By words; stable.
static void sort_words(Item *items, Item *spare, size_t count) {
    uint64_t differ = 0;
    for (size_t i = 1; i < count; i++) differ |= items[i].word ^ items[0].word;
    if (!differ) return;
    if (count <= FEW) {
        memcpy(spare, items, count * sizeof *items);
        insert(items, spare, count);
        return;
    }
    int top = 64 - __builtin_clzll(differ), shift = top > 10 ? top - 10 : 0;
    size_t ends[DIGITS] = {}, sum = 0;
    for (size_t i = 0; i < count; i++) ends[items[i].word >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t here = ends[d];
        ends[d] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        spare[ends[items[i].word >> shift & (DIGITS - 1)]++] = items[i];
    for (size_t d = 0, begin = 0; d < DIGITS; begin = ends[d++]) {
        size_t here = ends[d] - begin;
        if (here <= FEW) {
            insert(items + begin, spare + begin, here);
        } else {
            memcpy(items + begin, spare + begin, here * sizeof *items);
            sort_words(items + begin, spare + begin, here);
        }
    }
}

static void sort_deep(Item *items, Item *spare, size_t count, size_t depth) {
    sort_words(items, spare, count);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && items[end].word == items[i].word;) end++;
        if (end - i == 1 || depth + 8 >= head_of(items[i].key).key_len) continue;
        for (size_t j = i; j < end; j++) items[j].word = word_at(items[j].key, depth + 8);
        sort_deep(items + i, spare + i, end - i, depth + 8);
    }
}

static void *finish(void *argument) {
    Half *h = argument;
    for (size_t b; (b = atomic_fetch_add(h->next, 1)) < BUCKETS;) {
        size_t begin = h->begins[b], count = h->begins[b + 1] - begin;
        sort_deep(h->sorted + begin, h->spare + begin, count, h->depth);
        char *to = h->out + h->places[b];
        for (size_t i = begin; i < begin + count; i++) {
            Head head = head_of(h->sorted[i].key);
            memcpy(to, h->text.at + head.at, head.len);
            to += head.len;
        }
    }
    return nullptr;
}

static void choose(Half *halves, uint64_t *splitters) {
    static Item samples[SAMPLES], spare[SAMPLES];
    for (size_t i = 0; i < SAMPLES; i++) {
        const Half *h = &halves[i % THREADS];
        samples[i] = h->items[h->count * i / SAMPLES];
    }
    sort_words(samples, spare, SAMPLES);
    for (size_t b = 0; b + 1 < BUCKETS; b++) splitters[b] = samples[(b + 1) * 8].word;
}

static uint32_t read_keys(const char *text, Key *keys) {
    uint32_t count = 0;
    for (char *end; *text; text = *end == ',' ? end + 1 : end) {
        Key *key = &keys[count++];
        key->column = (uint32_t)strtoul(text, &end, 10);
        key->kind = *end++;
        key->descending = *end == '-';
        end += key->descending;
    }
    return count;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    static Key keys[KEYS_MAX];
    static Half halves[THREADS];
    static size_t begins[BUCKETS + 1], places[BUCKETS + 1];
    static uint64_t splitters[BUCKETS];
    atomic_size_t next = 0;
    Text whole_text = map_text(argv[1]), text = without_header(whole_text);
    const char *middle = next_row(text, text.at + text.len / 2);
    size_t first = (size_t)(middle - text.at), count = 0, at = whole_text.len - text.len;
    Half all = {.text = text, .columns = (uint32_t)atoi(argv[3]), .keys = keys,
                .splitters = splitters, .begins = begins, .places = places, .next = &next};
    all.key_count = read_keys(argv[4], keys);
    size_t row_min = 2 * all.columns;
    for (size_t i = 0; i < THREADS; i++) {
        halves[i] = all;
        halves[i].rows = i ? (Text){middle, text.len - first} : (Text){text.at, first};
        size_t rows = halves[i].rows.len / row_min + 1;
        halves[i].items = map_zeros(rows * sizeof(Item));
        size_t key_max = sizeof(Head) + 10 * all.key_count + 8;
        halves[i].to = map_zeros(halves[i].rows.len + rows * key_max);
    }
    on_threads(read_half, halves, sizeof *halves);
    size_t depth = 0;
    for (;; depth += 8) {
        for (size_t i = 0; i < THREADS; i++) halves[i].depth = depth;
        on_threads(take_words, halves, sizeof *halves);
        uint64_t differ = halves[0].differ | halves[1].differ |
                          (halves[0].items[0].word ^ halves[1].items[0].word);
        if (differ) break;
    }
    choose(halves, splitters);
    on_threads(count_half, halves, sizeof *halves);
    char *out = map_output(argv[2], whole_text.len);
    memcpy(out, whole_text.at, at);
    for (size_t b = 0; b <= BUCKETS; b++) {
        begins[b] = count;
        places[b] = at;
        for (size_t i = 0; i < THREADS && b < BUCKETS; i++) {
            size_t here = halves[i].starts[b];
            halves[i].starts[b] = count;
            count += here;
            at += halves[i].bytes[b];
        }
    }
    Item *sorted = map_zeros(count * sizeof *sorted), *spare = map_zeros(count * sizeof *spare);
    for (size_t i = 0; i < THREADS; i++) {
        halves[i].sorted = sorted;
        halves[i].spare = spare;
        halves[i].out = out;
    }
    on_threads(place_half, halves, sizeof *halves);
    on_threads(finish, halves, sizeof *halves);
    return 0;
}
