// Distinct texts and their counts by hand, in order of appearance. `keys IN OUT distinct|count`.
// Checks nothing: the key is the first of two columns and has up to 16 bytes. Rows are shared out
// by hash, so that each part of the table is one thread's and stays small.
#include "../../reference/scan.h"

enum { PARTS = 256, PART_SHIFT = 56, COUNT_DIGITS = 10, KEY_MAX = 16 };

typedef struct Row {
    __m128i key;
    uint64_t hash;
    uint32_t number, len;
} Row;

typedef struct Slot {
    __m128i key;
    uint32_t first, count, len;  // first: the row's number from 1; 0: free.
} Slot;

typedef struct Half {
    Text rows;
    Row *all, *by_part;
    size_t count, begins[PARTS + 1], bytes;
    uint32_t *counts;  // By row: of the key's rows, where it is the first; else 0.
    bool counted;
    struct Half *halves;
    atomic_size_t *next;
    char *out;
} Half;

static void *read_half(void *argument) {
    Half *h = argument;
    uint32_t *ends = map_zeros(FIELDS_MAX * sizeof *ends);
    size_t counts[PARTS] = {}, at[PARTS];
    for (size_t k = 0; k < block_count(h->rows); k++) {
        Text block = block_of(h->rows, k);
        size_t count = index_fields(block.at, block.at + block.len, ',', ends);
        const char *row = block.at;
        for (const uint32_t *e = ends; e < ends + count; e += 2) {
            size_t len = (size_t)(block.at + e[0] - row);
            __m128i key = load_key(row, len);
            uint64_t hash = hash_key(key);
            h->all[h->count] = (Row){key, hash, (uint32_t)h->count, (uint32_t)len};
            h->count++;
            counts[hash >> PART_SHIFT]++;
            row = block.at + e[1] + 1;
        }
    }
    for (size_t p = 0; p < PARTS; p++) h->begins[p + 1] = h->begins[p] + counts[p];
    memcpy(at, h->begins, sizeof at);
    for (size_t i = 0; i < h->count; i++)
        h->by_part[at[h->all[i].hash >> PART_SHIFT]++] = h->all[i];
    return nullptr;
}

static void add(Slot *table, uint64_t mask, const Row *row, uint32_t number) {
    for (uint64_t at = row->hash;; at++) {
        Slot *slot = &table[at & mask];
        if (!slot->first) *slot = (Slot){row->key, number, 0, row->len};
        if (!same_key(slot->key, row->key) || slot->len != row->len) continue;
        slot->count++;
        return;
    }
}

static void *fill(void *argument) {
    Half *h = argument;
    Slot *table = nullptr;
    uint64_t room = 0;
    uint32_t half = (uint32_t)h->halves[0].count;
    for (size_t part; (part = atomic_fetch_add(h->next, 1)) < PARTS;) {
        size_t rows = 0;
        for (size_t k = 0; k < THREADS; k++)
            rows += h->halves[k].begins[part + 1] - h->halves[k].begins[part];
        if (!rows) continue;
        uint64_t mask = (UINT64_C(1) << (64 - __builtin_clzll(rows * 3 / 2))) - 1;
        if (mask >= room) table = map_zeros((room = mask + 1) * sizeof *table);
        else memset(table, 0, (mask + 1) * sizeof *table);
        for (uint32_t k = 0; k < THREADS; k++) {
            const Half *from = &h->halves[k];
            for (size_t i = from->begins[part]; i < from->begins[part + 1]; i++)
                add(table, mask, &from->by_part[i], from->by_part[i].number + k * half + 1);
        }
        for (uint64_t s = 0; s <= mask; s++) {
            if (!table[s].first) continue;
            uint32_t number = table[s].first - 1, second = number >= half;
            h->halves[second].counts[number - second * half] = table[s].count;
        }
    }
    return nullptr;
}

static char *put_count(char *to, uint32_t count) {
    char text[COUNT_DIGITS], *at = text + COUNT_DIGITS;
    do *--at = (char)('0' + count % 10);
    while (count /= 10);
    *to++ = ',';
    memcpy(to, at, (size_t)(text + COUNT_DIGITS - at));
    return to + (text + COUNT_DIGITS - at);
}

static char *put_row(const Half *h, size_t i, char *to) {
    memcpy(to, &h->all[i].key, KEY_MAX);
    to += h->all[i].len;
    if (h->counted) to = put_count(to, h->counts[i]);
    *to++ = '\n';
    return to;
}

static void *measure(void *argument) {
    Half *h = argument;
    char room[64];
    for (size_t i = 0; i < h->count; i++)
        if (h->counts[i]) h->bytes += (size_t)(put_row(h, i, room) - room);
    return nullptr;
}

static void *write_half(void *argument) {
    Half *h = argument;
    char *to = h->out, *end = h->out + h->bytes, room[64];
    for (size_t i = 0; i < h->count; i++) {
        if (!h->counts[i]) continue;
        if (end - to >= (ptrdiff_t)sizeof room) {
            to = put_row(h, i, to);
            continue;
        }
        size_t len = (size_t)(put_row(h, i, room) - room);
        memcpy(to, room, len);
        to += len;
    }
    return nullptr;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    bool counted = strcmp(argv[3], "count") == 0;
    Text text = map_text(argv[1]), rows = without_header(text);
    static Half halves[THREADS];
    atomic_size_t next = 0;
    const char *middle = next_row(rows, rows.at + rows.len / 2);
    const char *header = counted ? "key,rows\n" : "key\n";
    size_t first = (size_t)(middle - rows.at), head = strlen(header);
    for (size_t i = 0; i < THREADS; i++) {
        Half *h = &halves[i];
        h->rows = i ? (Text){middle, rows.len - first} : (Text){rows.at, first};
        size_t most = h->rows.len / 3 + 1;
        h->all = map_zeros(most * sizeof(Row));
        h->by_part = map_zeros(most * sizeof(Row));
        h->counts = map_zeros(most * sizeof(uint32_t));
        h->counted = counted;
        h->halves = halves;
        h->next = &next;
    }
    on_threads(read_half, halves, sizeof *halves);
    on_threads(fill, halves, sizeof *halves);
    on_threads(measure, halves, sizeof *halves);
    char *out = map_output(argv[2], head + halves[0].bytes + halves[1].bytes);
    memcpy(out, header, head);
    halves[0].out = out + head;
    halves[1].out = halves[0].out + halves[0].bytes;
    on_threads(write_half, halves, sizeof *halves);
    return 0;
}
