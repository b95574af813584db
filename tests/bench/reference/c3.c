// C3 by hand: trips sorted by zone, pickup and total, written whole. Checks nothing: the three keys
// fit into 64 bits (zone below 512, seconds since 2026, totals below 41,943), every row has its
// line end.
#include "sort.h"

enum { COLUMNS = 14, PICKUP = 1, ZONE = 7, TOTAL = 13, ZONES = 512, KEY_BITS = 55, LEN_BITS = 16 };

static const int64_t epoch = 1767225600;  // 2026-01-01

typedef struct Half {
    Text rows;
    Pair *pairs;
    size_t count, begins[ZONES], bytes[ZONES];
    // Of all:
    Text text;
    Pair *sorted, *spare;
    char *out;
    size_t *bucket_begins, *bucket_bytes;
    atomic_size_t *next;
} Half;

static void *read_half(void *argument) {
    Half *h = argument;
    uint32_t *ends = map_zeros(FIELDS_MAX * sizeof *ends);
    for (size_t k = 0; k < block_count(h->rows); k++) {
        Text block = block_of(h->rows, k);
        size_t count = index_fields(block.at, block.at + block.len, ',', ends);
        const char *row = block.at;
        for (const uint32_t *e = ends; e < ends + count; e += COLUMNS) {
            const char *at = block.at, *after = at + e[TOTAL] + 1;
            uint64_t zone = digits(at + e[ZONE - 1] + 1, at + e[ZONE]);
            uint64_t pickup = (uint64_t)(seconds_of(at + e[PICKUP - 1] + 1) - epoch);
            uint64_t total = (uint64_t)(cents(at + e[TOTAL - 1] + 1, at + e[TOTAL]) + (1 << 22));
            size_t len = (size_t)(after - row);
            h->pairs[h->count++] = (Pair){zone << KEY_BITS | pickup << 23 | total,
                                          (uint64_t)(row - h->text.at) << LEN_BITS | len};
            h->begins[zone]++;
            h->bytes[zone] += len;
            row = after;
        }
    }
    return nullptr;
}

static void *scatter_half(void *argument) {
    Half *h = argument;
    for (size_t i = 0; i < h->count; i++)
        h->sorted[h->begins[h->pairs[i].key >> KEY_BITS]++] = h->pairs[i];
    return nullptr;
}

static void *finish(void *argument) {
    Half *h = argument;
    for (size_t zone; (zone = atomic_fetch_add(h->next, 1)) < ZONES;) {
        size_t begin = h->bucket_begins[zone], count = h->bucket_begins[zone + 1] - begin;
        char *to = h->out + h->bucket_bytes[zone];
        sort_bucket(h->sorted + begin, h->spare + begin, count, KEY_BITS);
        for (size_t i = begin; i < begin + count; i++) {
            size_t len = h->sorted[i].place & ((1 << LEN_BITS) - 1);
            memcpy(to, h->text.at + (h->sorted[i].place >> LEN_BITS), len);
            to += len;
        }
    }
    return nullptr;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    Text whole = map_text(argv[1]), text = without_header(whole);
    static Half halves[THREADS];
    static size_t begins[ZONES + 1], bytes[ZONES + 1];
    atomic_size_t next = 0;
    const char *middle = next_row(text, text.at + text.len / 2);
    size_t first = (size_t)(middle - text.at), header = whole.len - text.len, count = 0,
           at = header;
    halves[0].rows = (Text){text.at, first};
    halves[1].rows = (Text){middle, text.len - first};
    for (size_t i = 0; i < THREADS; i++) {
        halves[i].text = text;
        halves[i].pairs = map_zeros((halves[i].rows.len / (2 * COLUMNS) + 1) * sizeof(Pair));
    }
    on_threads(read_half, halves, sizeof *halves);
    for (size_t zone = 0; zone <= ZONES; zone++) {
        begins[zone] = count;
        bytes[zone] = at;
        for (size_t i = 0; i < THREADS && zone < ZONES; i++) {
            size_t here = halves[i].begins[zone];
            halves[i].begins[zone] = count;
            count += here;
            at += halves[i].bytes[zone];
        }
    }
    Pair *sorted = map_zeros(count * sizeof *sorted), *spare = map_zeros(count * sizeof *spare);
    char *out = map_output(argv[2], whole.len);
    memcpy(out, whole.at, header);
    for (size_t i = 0; i < THREADS; i++) {
        halves[i].sorted = sorted;
        halves[i].spare = spare;
        halves[i].out = out;
        halves[i].bucket_begins = begins;
        halves[i].bucket_bytes = bytes;
        halves[i].next = &next;
    }
    on_threads(scatter_half, halves, sizeof *halves);
    on_threads(finish, halves, sizeof *halves);
    return 0;
}
