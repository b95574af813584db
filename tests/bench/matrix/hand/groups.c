// Groups by hand: `groups IN OUT KEYS TASK`. KEYS is int, text (up to 16 bytes), long (up to 32) or
// both (text and a number); TASK is an aggregate of the two columns after the key, a whole number
// and a float of four digits after the point, by the table below, or `latest`: the row with the
// greatest number, of equal ones the last. Each thread has a table of its
// own. Checks nothing. Groups leave in any order; what compares sorts them. Numbers are put by
// sbc's own library (sb_put_f64).
#include "../../reference/scan.h"
#include "stdlib/number/number.h"

enum {
    SLOTS_MIN = 1 << 12,
    KEY_BYTES = 32,
    VALUES_MIN = 16,
    OUT_BYTES = 1 << 16,
    ROW_BYTES = 256,
};

typedef struct Values {
    double *at;
    uint32_t count, room;
} Values;

typedef struct Group {
    __m256i key;
    uint32_t len;  // 0: a free slot.
    uint32_t rows;
    union {  // By task.
        int64_t sum;
        struct {
            int64_t low, high;
        };
        struct {
            double mean, spread;  // Of Welford's.
        };
        struct {
            double y, yy, xy, x, xx;  // Sums.
        };
        struct {
            const char *begins, *ends;  // The first row and the last one.
            double first;
            int64_t last;
        };
        Values values;
    };
} Group;

typedef struct State {
    Group *groups;
    size_t slots, count;
    uint32_t *ends;
} State;

typedef enum Keys { KEY_INT, KEY_TEXT, KEY_LONG, KEY_BOTH } Keys;
typedef enum Task {
    COUNT, SUM, MEAN, EXTREMES, STDDEV, CORR, FIRST_LAST, MEDIAN, DISTINCT, LATEST
} Task;

static const char *const key_names[] = {"int", "text", "long", "both"};
static const char *const task_names[] = {"count",  "sum",        "mean",   "extremes", "stddev",
                                         "corr",   "first_last", "median", "distinct",
                                         "latest"};
static Keys keys;
static Task task;

static inline __m256i load_long(const char *at, size_t len) {
    static const _Alignas(32) uint8_t keep[64] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    __m256i mask = _mm256_loadu_si256((const __m256i *)(keep + 32 - len));
    return _mm256_and_si256(_mm256_loadu_si256((const __m256i *)at), mask);
}

static inline uint64_t hash_of(__m256i key) {
    uint64_t low = hash_key(_mm256_castsi256_si128(key));
    if (keys < KEY_LONG) return low;
    return low * 0x9e3779b97f4a7c15u ^ hash_key(_mm256_extracti128_si256(key, 1));
}

static inline bool same(__m256i a, __m256i b) {
    __m256i differ = _mm256_xor_si256(a, b);
    return _mm256_testz_si256(differ, differ);
}

static Group *group_of(State *s, __m256i key, uint32_t len);

static void grow(State *s) {
    State more = {map_zeros(4 * s->slots * sizeof(Group)), 4 * s->slots, 0, s->ends};
    for (size_t i = 0; i < s->slots; i++)
        if (s->groups[i].len) *group_of(&more, s->groups[i].key, s->groups[i].len) = s->groups[i];
    munmap(s->groups, s->slots * sizeof(Group));
    *s = more;
}

static Group *group_of(State *s, __m256i key, uint32_t len) {
    for (uint64_t at = hash_of(key);; at++) {
        Group *g = &s->groups[at & (s->slots - 1)];
        if (g->len && same(g->key, key) && g->len == len) return g;
        if (g->len) continue;
        if (2 * s->count >= s->slots) {
            grow(s);
            return group_of(s, key, len);
        }
        s->count++;
        *g = (Group){.key = key, .len = len};
        if (task == EXTREMES) g->low = INT64_MAX, g->high = INT64_MIN;
        return g;
    }
}

static inline int64_t whole(const char *at, const char *end) {
    int64_t sign = -(int64_t)(*at == '-');
    at -= sign;
    uint64_t x = digits(end - at > 8 ? end - 8 : at, end);
    if (end - at > 8) x += digits(at, end - 8) * 100000000;
    return ((int64_t)x ^ sign) - sign;
}

static inline double float_of(const char *at, const char *end) {
    int64_t sign = -(int64_t)(*at == '-');
    at -= sign;
    double x = (double)(digits(at, end - 5) * 10000 + digits(end - 4, end)) / 10000;
    return sign ? -x : x;
}

static void keep(Values *v, double value) {
    if (v->count == v->room) {
        v->room = v->room ? 2 * v->room : VALUES_MIN;
        v->at = realloc(v->at, v->room * sizeof *v->at);
        if (!v->at) give_up("memory");
    }
    v->at[v->count++] = value;
}

static inline void add(Group *g, int64_t x, double y, const char *row) {
    g->rows++;
    switch (task) {
    case COUNT: return;
    case SUM: g->sum += x; return;
    case MEAN: g->mean += y; return;
    case EXTREMES:
        if (x < g->low) g->low = x;
        if (x > g->high) g->high = x;
        return;
    case STDDEV: {
        double step = y - g->mean;
        g->mean += step / (double)g->rows;
        g->spread += step * (y - g->mean);
        return;
    }
    case CORR:  // Sums are exact enough: x is below 10^9, and y below 100.
        g->y += y, g->yy += y * y, g->xy += y * (double)x;
        g->x += (double)x, g->xx += (double)x * (double)x;
        return;
    case FIRST_LAST:
        if (!g->begins || row < g->begins) g->begins = row, g->first = y;
        if (row >= g->ends) g->ends = row, g->last = x;
        return;
    case MEDIAN: keep(&g->values, y); return;
    case DISTINCT: keep(&g->values, (double)x); return;
    case LATEST:
        if (!g->begins || x > g->last || (x == g->last && row > g->begins))
            g->begins = row, g->last = x;
        return;
    }
}

static void each(void *argument, Text block) {
    State *s = argument;
    size_t count = index_fields(block.at, block.at + block.len, ',', s->ends);
    uint32_t columns = keys == KEY_BOTH ? 4 : 3;
    const char *row = block.at;
    for (const uint32_t *e = s->ends; e < s->ends + count; e += columns) {
        uint32_t len = e[columns - 3] - (uint32_t)(row - block.at);
        const char *x = row + len + 1, *x_end = block.at + e[columns - 2];
        int64_t number = task == COUNT || task == MEAN || task == STDDEV || task == MEDIAN
                             ? 0 : whole(x, x_end);
        double y = task == COUNT || task == SUM || task == EXTREMES || task == DISTINCT ||
                           task == LATEST
                       ? 0 : float_of(x_end + 1, block.at + e[columns - 1]);
        add(group_of(s, load_long(row, len), len), number, y, row);
        row = block.at + e[columns - 1] + 1;
    }
}

static void merge(Group *to, const Group *from) {
    double n = to->rows, m = from->rows;
    to->rows += from->rows;
    switch (task) {
    case COUNT: return;
    case SUM: to->sum += from->sum; return;
    case MEAN: to->mean += from->mean; return;
    case EXTREMES:
        if (from->low < to->low) to->low = from->low;
        if (from->high > to->high) to->high = from->high;
        return;
    case STDDEV: {
        double step = from->mean - to->mean;
        to->spread += from->spread + step * step * n * m / (n + m);
        to->mean += step * m / (n + m);
        return;
    }
    case CORR:
        to->y += from->y, to->yy += from->yy, to->xy += from->xy;
        to->x += from->x, to->xx += from->xx;
        return;
    case FIRST_LAST:
        if (!to->begins || from->begins < to->begins)
            to->begins = from->begins, to->first = from->first;
        if (from->ends > to->ends) to->ends = from->ends, to->last = from->last;
        return;
    case MEDIAN:
    case DISTINCT:
        for (uint32_t i = 0; i < from->values.count; i++) keep(&to->values, from->values.at[i]);
        return;
    case LATEST:
        if (!to->begins || from->last > to->last ||
            (from->last == to->last && from->begins > to->begins))
            to->begins = from->begins, to->last = from->last;
        return;
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The value with that many smaller ones (Hoare, "Algorithm 65: find", 1961).
static double nth(double *v, uint32_t count, uint32_t k) {
    for (int64_t low = 0, high = (int64_t)count - 1; low < high;) {
        double pivot = v[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i > j) break;
            double other = v[i];
            v[i++] = v[j];
            v[j--] = other;
        }
        if (k <= (uint64_t)j && j >= 0) high = j;
        else if (k >= (uint64_t)i) low = i;
        else break;
    }
    return v[k];
}

static double median(Values *v) {
    uint32_t middle = v->count / 2;
    double high = nth(v->at, v->count, middle);
    return v->count % 2 ? high : (nth(v->at, v->count, middle - 1) + high) / 2;
}

static uint32_t different(Values *v) {
    qsort(v->at, v->count, sizeof *v->at, by_value);
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->count; i++) count += !i || v->at[i] != v->at[i - 1];
    return count;
}

static double spread_of(const Group *g) { return __builtin_sqrt(g->spread / (g->rows - 1.0)); }

static double correlation(const Group *g) {
    double n = g->rows, both = g->xy - g->y * g->x / n;
    double of_y = g->yy - g->y * g->y / n, of_x = g->xx - g->x * g->x / n;
    return both / __builtin_sqrt(of_x * of_y);
}

static char *put_i(char *to, int64_t value) { return *to = ',', sb_put_i64(to + 1, value); }
static char *put_f(char *to, double value) { return *to = ',', sb_put_f64(to + 1, value); }

static char *put_row(char *to, const char *row) {
    size_t len = (size_t)((const char *)rawmemchr(row, '\n') + 1 - row);
    memcpy(to, row, len);
    return to + len;
}

static char *put(char *to, Group *g) {
    if (task == LATEST) return put_row(to, g->begins);
    memcpy(to, &g->key, KEY_BYTES);
    to = put_i(to + g->len, g->rows);
    switch (task) {
    case COUNT: break;
    case SUM: to = put_i(to, g->sum); break;
    case MEAN: to = put_f(to, g->mean / g->rows); break;
    case EXTREMES: to = put_i(put_i(to, g->low), g->high); break;
    case STDDEV:
        if (g->rows > 1) to = put_f(to, spread_of(g));
        else *to++ = ',';
        break;
    case CORR: to = put_f(to, correlation(g)); break;
    case FIRST_LAST: to = put_i(put_f(to, g->first), g->last); break;
    case MEDIAN: to = put_f(to, median(&g->values)); break;
    case DISTINCT: to = put_i(to, different(&g->values)); break;
    case LATEST: break;
    }
    *to++ = '\n';
    return to;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    for (int i = 0; i < 4; i++)
        if (strcmp(argv[3], key_names[i]) == 0) keys = (Keys)i;
    for (int i = 0; i < 10; i++)
        if (strcmp(argv[4], task_names[i]) == 0) task = (Task)i;
    static State states[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        states[i] = (State){map_zeros(SLOTS_MIN * sizeof(Group)), SLOTS_MIN, 0,
                            map_zeros(FIELDS_MAX * sizeof(uint32_t))};
    Text text = map_text(argv[1]);
    scan_rows(without_header(text), each, states, sizeof *states);
    for (size_t i = 0; i < states[1].slots; i++) {
        Group *g = &states[1].groups[i];
        if (g->len) merge(group_of(&states[0], g->key, g->len), g);
    }
    static const char *const results[] = {"",   ",s",   ",m", ",low,high", ",d",
                                          ",c", ",f,l", ",m", ",d", ""};
    FILE *out = open_output(argv[2]);
    if (task == LATEST) fputs("k,x,y\n", out);
    else fprintf(out, "%s,n%s\n", keys == KEY_BOTH ? "k,j" : "k", results[task]);
    static char rows[OUT_BYTES + ROW_BYTES];
    char *to = rows;
    for (size_t i = 0; i < states[0].slots; i++) {
        if (states[0].groups[i].len) to = put(to, &states[0].groups[i]);
        if (to - rows < OUT_BYTES) continue;
        fwrite(rows, 1, (size_t)(to - rows), out);
        to = rows;
    }
    fwrite(rows, 1, (size_t)(to - rows), out);
    return fclose(out) ? 3 : 0;
}
