// J3 by hand: distinct names in order of appearance. Checks nothing: two columns, names of up to 32
// bytes. Rows are shared out by hash, so that each part of the table is one thread's and stays
// small.
#include "scan.h"

enum { PARTS = 64, LEN_BITS = 8, HEADER_BYTES = sizeof "user\n" - 1 };

typedef struct Name {
    uint64_t hash, place;  // place: offset, then the length in the lowest bits; 0 once seen before.
} Name;

typedef struct Half {
    Text rows, text;
    Name *names;        // In order of appearance.
    uint32_t *by_part;  // Their numbers by part, in order within each.
    size_t count, begins[PARTS + 1], kept_bytes;
    struct Half *halves;
    atomic_size_t *next;
    char *out;
} Half;

static inline uint64_t hash_name(const char *at, size_t len) {
    __m128i low = load_key(at, len < 16 ? len : 16);
    __m128i high = load_key(at + 16, len < 16 ? 0 : len - 16);
    return hash_key(_mm_xor_si128(low, _mm_slli_epi64(high, 1)));
}

static size_t part_of(Name name) { return name.hash >> 58; }

static void *read_half(void *argument) {
    Half *h = argument;
    uint32_t *ends = map_zeros(FIELDS_MAX * sizeof *ends);
    size_t counts[PARTS] = {};
    for (size_t k = 0; k < block_count(h->rows); k++) {
        Text block = block_of(h->rows, k);
        size_t count = index_fields(block.at, block.at + block.len, ',', ends);
        const char *row = block.at;
        for (const uint32_t *e = ends; e < ends + count; e += 2) {
            size_t len = (size_t)(block.at + e[0] - row);
            Name name = {hash_name(row, len), (uint64_t)(row - h->text.at) << LEN_BITS | len};
            h->names[h->count++] = name;
            counts[part_of(name)]++;
            row = block.at + e[1] + 1;
        }
    }
    for (size_t p = 0; p < PARTS; p++) h->begins[p + 1] = h->begins[p] + counts[p];
    size_t at[PARTS];
    memcpy(at, h->begins, sizeof at);
    for (size_t i = 0; i < h->count; i++) h->by_part[at[part_of(h->names[i])]++] = (uint32_t)i;
    return nullptr;
}

// True if the table has had no such name.
static bool add(Name *table, uint64_t mask, const char *text, Name name) {
    for (uint64_t slot = name.hash;; slot++) {
        Name *n = &table[slot & mask];
        size_t len = name.place & ((1 << LEN_BITS) - 1);
        if (!n->place) {
            *n = name;
            return true;
        }
        if (n->hash == name.hash && (n->place & ((1 << LEN_BITS) - 1)) == len &&
            memcmp(text + (n->place >> LEN_BITS), text + (name.place >> LEN_BITS), len) == 0)
            return false;
    }
}

static void *keep_first(void *argument) {
    Half *h = argument;
    Name *table = nullptr;
    uint64_t mask = 0;
    for (size_t part; (part = atomic_fetch_add(h->next, 1)) < PARTS;) {
        size_t names = 0;
        for (size_t k = 0; k < THREADS; k++)
            names += h->halves[k].begins[part + 1] - h->halves[k].begins[part];
        if (!names) continue;
        if (names * 3 / 2 > mask) {
            mask = (UINT64_C(1) << (64 - __builtin_clzll(names * 3 / 2))) - 1;
            table = map_zeros((mask + 1) * sizeof *table);
        } else {
            memset(table, 0, (mask + 1) * sizeof *table);
        }
        for (size_t k = 0; k < THREADS; k++) {
            Half *half = &h->halves[k];
            for (size_t i = half->begins[part]; i < half->begins[part + 1]; i++) {
                Name *name = &half->names[half->by_part[i]];
                if (!add(table, mask, h->text.at, *name)) name->place = 0;
            }
        }
    }
    return nullptr;
}

static void *measure(void *argument) {
    Half *h = argument;
    for (size_t i = 0; i < h->count; i++)
        if (h->names[i].place) h->kept_bytes += (h->names[i].place & ((1 << LEN_BITS) - 1)) + 1;
    return nullptr;
}

static void *write_half(void *argument) {
    Half *h = argument;
    char *to = h->out;
    for (size_t i = 0; i < h->count; i++) {
        uint64_t place = h->names[i].place;
        if (!place) continue;
        size_t len = place & ((1 << LEN_BITS) - 1);
        memcpy(to, h->text.at + (place >> LEN_BITS), len);
        to[len] = '\n';
        to += len + 1;
    }
    return nullptr;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    Text text = map_text(argv[1]), rows = without_header(text);
    static Half halves[THREADS];
    atomic_size_t next = 0;
    const char *middle = next_row(rows, rows.at + rows.len / 2);
    size_t first = (size_t)(middle - rows.at);
    for (size_t i = 0; i < THREADS; i++) {
        Half *h = &halves[i];
        h->rows = i ? (Text){middle, rows.len - first} : (Text){rows.at, first};
        h->text = text;
        h->names = map_zeros((h->rows.len / 4 + 1) * sizeof(Name));
        h->by_part = map_zeros((h->rows.len / 4 + 1) * sizeof(uint32_t));
        h->halves = halves;
        h->next = &next;
    }
    on_threads(read_half, halves, sizeof *halves);
    on_threads(keep_first, halves, sizeof *halves);
    on_threads(measure, halves, sizeof *halves);
    char *out = map_output(argv[2], HEADER_BYTES + halves[0].kept_bytes + halves[1].kept_bytes);
    memcpy(out, "user\n", HEADER_BYTES);
    halves[0].out = out + HEADER_BYTES;
    halves[1].out = halves[0].out + halves[0].kept_bytes;
    on_threads(write_half, halves, sizeof *halves);
    return 0;
}
