// B1 by hand: stations. Checks nothing: names of up to 32 bytes, at most 20,000 of them,
// temperatures below 100 with one decimal. Four rows are under way at once.
#include "scan.h"

enum { SLOTS = 1 << 15, LANES = 4 };

typedef struct Station {
    _Alignas(64) char name[32];
    int64_t sum;
    int32_t count, len;
    int16_t low, high;
} Station;

typedef struct State {
    Station *stations;
} State;

static Station *find(Station *stations, __m256i name, int32_t len) {
    __m128i low = _mm256_castsi256_si128(name), high = _mm256_extracti128_si256(name, 1);
    uint64_t slot = hash_key(_mm_xor_si128(low, _mm_slli_epi64(high, 1)));
    for (;; slot++) {
        Station *s = &stations[slot % SLOTS];
        __m256i differ = _mm256_xor_si256(name, _mm256_load_si256((const __m256i *)s->name));
        if (_mm256_testz_si256(differ, differ)) return s;
        if (s->len) continue;
        _mm256_store_si256((__m256i *)s->name, name);
        s->len = len;
        s->low = INT16_MAX;
        s->high = INT16_MIN;
        return s;
    }
}

static inline const char *row(Station *stations, const char *at) {
    static const _Alignas(64) uint8_t keep[64] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    __m256i name = _mm256_loadu_si256((const __m256i *)at);
    __m256i found = _mm256_cmpeq_epi8(name, _mm256_set1_epi8(';'));
    int len = __builtin_ctz((uint32_t)_mm256_movemask_epi8(found) | UINT32_C(1) << 31);
    name = _mm256_and_si256(name, _mm256_loadu_si256((const __m256i *)(keep + 32 - len)));
    Station *s = find(stations, name, len);
    at += len + 1;
    int sign = -(*at == '-');
    at -= sign;
    bool two = at[2] == '.';
    int value = (two ? two_digits(at) : at[0] - '0') * 10 + at[2 + two] - '0';
    value = (value ^ sign) - sign;
    s->sum += value;
    s->count++;
    if (value < s->low) s->low = (int16_t)value;
    if (value > s->high) s->high = (int16_t)value;
    return at + 4 + two;
}

static void each(void *argument, Text block) {
    Station *stations = ((State *)argument)->stations;
    const char *at[LANES], *end[LANES];
    for (size_t k = 0; k < LANES; k++) {
        at[k] = k ? end[k - 1] : block.at;
        end[k] = next_row(block, block.at + block.len * (k + 1) / LANES - 1);
    }
    while (at[0] < end[0] && at[1] < end[1] && at[2] < end[2] && at[3] < end[3])
        for (size_t k = 0; k < LANES; k++) at[k] = row(stations, at[k]);
    for (size_t k = 0; k < LANES; k++)
        while (at[k] < end[k]) at[k] = row(stations, at[k]);
}

static int by_name(const void *a, const void *b) {
    const Station *x = a, *y = b;
    return memcmp(x->name, y->name, sizeof x->name);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    State states[THREADS];
    for (size_t i = 0; i < THREADS; i++) states[i].stations = map_zeros(SLOTS * sizeof(Station));
    scan_rows(map_text(argv[1]), each, states, sizeof *states);
    Station *all = states[0].stations;
    for (size_t i = 0; i < SLOTS; i++) {
        const Station *b = &states[1].stations[i];
        if (!b->len) continue;
        Station *a = find(all, _mm256_load_si256((const __m256i *)b->name), b->len);
        a->sum += b->sum;
        a->count += b->count;
        if (b->low < a->low) a->low = b->low;
        if (b->high > a->high) a->high = b->high;
    }
    size_t count = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (all[i].len) all[count++] = all[i];
    qsort(all, count, sizeof *all, by_name);
    FILE *out = open_output(argv[2]);
    fprintf(out, "station,low,mean,high\n");
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%.*s,%.1f,%.17g,%.1f\n", all[i].len, all[i].name, all[i].low / 10.0,
                (double)all[i].sum / 10.0 / all[i].count, all[i].high / 10.0);
    return fclose(out) ? 3 : 0;
}
