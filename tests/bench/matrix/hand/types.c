// Values of a type by hand: sums and extremes by a small number, and a filter. `types IN OUT KIND
// sum|extremes|filter DIGITS [LEAST]`. Checks nothing: three columns, of which the first is a
// number of -9 to 9 and the second the value, which may be empty; no quotes. Fractions have DIGITS
// digits. Floats are their digits divided by a power of ten, right but for the last bits.
#include "../../reference/scan.h"

#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))

enum { COLUMNS = 3, GROUPS = 19, ZERO = 9, TENS = 20, WORD_DIGITS = 16 };

typedef __int128 Wide;

typedef enum Kind { INT, DECIMAL, WIDE, FLOAT, EXPONENT, TIME, OFFSET } Kind;
typedef enum Task { SUM, EXTREMES, FILTER } Task;

typedef struct Group {
    int64_t rows, low, high;
    Wide sum, wide_low, wide_high;
    double float_sum, float_low, float_high;
} Group;

typedef struct Least {
    int64_t word;
    Wide wide;
    double number;
} Least;

typedef struct State {
    _Alignas(64) Group groups[GROUPS];
    int64_t rows, sum;
    Least least;
    uint32_t *ends;
    int fraction;
} State;

static const uint64_t tens[TENS] = {
    1,          10,          100,          1000,          10000,          100000,
    1000000,    10000000,    100000000,    1000000000,    10000000000,    100000000000,
    UINT64_C(1000000000000), UINT64_C(10000000000000), UINT64_C(100000000000000),
    UINT64_C(1000000000000000), UINT64_C(10000000000000000), UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000), UINT64_C(10000000000000000000)};

// The number of one to nineteen digits that ends at `end`.
static inline uint64_t number(const char *at, const char *end) {
    size_t len = (size_t)(end - at);
    if (len <= 8) return digits(at, end);
    uint64_t low = digits(end - 8, end);
    if (len <= WORD_DIGITS) return digits(at, end - 8) * tens[8] + low;
    uint64_t high = digits(at, end - WORD_DIGITS) * tens[8] + digits(end - WORD_DIGITS, end - 8);
    return high * tens[8] + low;
}

static inline Wide wide_number(const char *at, const char *end) {
    if (end - at <= WORD_DIGITS) return (Wide)number(at, end);
    return (Wide)number(at, end - WORD_DIGITS) * (Wide)tens[WORD_DIGITS] +
           (Wide)number(end - WORD_DIGITS, end);
}

// Digits with a point in front of the last `fraction` ones, as a whole number.
static inline uint64_t mantissa(const char *at, const char *end, int fraction) {
    const char *point = end - fraction - 1;
    return number(at, point) * tens[fraction] + number(point + 1, end);
}

static inline int64_t time_of(const char *at, Kind kind, int fraction) {
    int64_t micros = seconds_of(at) * 1000000;
    const char *end = at + 19;
    if (fraction) {
        end += fraction + 1;
        micros += (int64_t)(number(end - fraction, end) * tens[6 - fraction]);
    }
    if (kind == OFFSET) {
        int64_t minutes = two_digits(end + 1) * 60 + two_digits(end + 4);
        micros -= (*end == '-' ? -minutes : minutes) * 60000000;
    }
    return micros;
}

typedef struct Value {
    int64_t word;
    Wide wide;
    double number;
} Value;

static inline Value value_of(const char *at, const char *end, Kind kind, int fraction) {
    if (kind == TIME || kind == OFFSET) return (Value){.word = time_of(at, kind, fraction)};
    int64_t sign = -(int64_t)(*at == '-');
    at -= sign;
    if (kind == INT) return (Value){.word = ((int64_t)number(at, end) ^ sign) - sign};
    if (kind == DECIMAL)
        return (Value){.word = ((int64_t)mantissa(at, end, 2) ^ sign) - sign};
    if (kind == WIDE) {
        Wide all = wide_number(at, end - 3) * 100 + (Wide)number(end - 2, end);
        return (Value){.wide = sign ? -all : all};
    }
    const char *last = kind == EXPONENT ? end - 4 : end;
    double all = (double)mantissa(at, last, fraction), ten = (double)tens[fraction];
    if (kind == EXPONENT) {
        double power = (double)tens[two_digits(end - 2)];
        all = end[-3] == '-' ? all / power / ten : all * power / ten;
    } else {
        all /= ten;
    }
    return (Value){.number = sign ? -all : all};
}

static inline bool above(Value v, const Least *least, Kind kind) {
    if (kind == WIDE) return v.wide > least->wide;
    return kind == FLOAT || kind == EXPONENT ? v.number > least->number : v.word > least->word;
}

static inline void add(Group *g, Value v, Kind kind, Task task) {
    if (task == SUM) {
        if (kind == FLOAT || kind == EXPONENT) g->float_sum += v.number;
        else g->sum += kind == WIDE ? v.wide : v.word;
        return;
    }
    if (kind == FLOAT || kind == EXPONENT) {
        g->float_low = LEAST(v.number, g->float_low);
        g->float_high = MOST(v.number, g->float_high);
    } else if (kind == WIDE) {
        g->wide_low = LEAST(v.wide, g->wide_low);
        g->wide_high = MOST(v.wide, g->wide_high);
    } else {
        g->low = LEAST(v.word, g->low);
        g->high = MOST(v.word, g->high);
    }
}

static inline __attribute__((always_inline)) void each_of(State *s, Text block, Kind kind,
                                                          Task task) {
    size_t count = index_fields(block.at, block.at + block.len, ',', s->ends);
    int fraction = s->fraction;
    const char *row = block.at;
    for (const uint32_t *e = s->ends; e < s->ends + count; e += COLUMNS) {
        int64_t minus = *row == '-', g = minus ? -(row[1] - '0') : row[0] - '0';
        const char *at = block.at + e[0] + 1, *end = block.at + e[1];
        row = block.at + e[2] + 1;
        bool null = at == end;
        if (task != FILTER) s->groups[g + ZERO].rows++;
        if (null) continue;
        Value v = value_of(at, end, kind, fraction);
        if (task != FILTER) add(&s->groups[g + ZERO], v, kind, task);
        else if (above(v, &s->least, kind)) s->rows++, s->sum += g;
    }
}

#define EACH(kind)                                                                         \
    static void sum_##kind(void *s, Text block) { each_of(s, block, kind, SUM); }          \
    static void extremes_##kind(void *s, Text block) { each_of(s, block, kind, EXTREMES); } \
    static void filter_##kind(void *s, Text block) { each_of(s, block, kind, FILTER); }
EACH(INT)
EACH(DECIMAL)
EACH(WIDE)
EACH(FLOAT)
EACH(EXPONENT)
EACH(TIME)
EACH(OFFSET)

#define ROW(kind) {sum_##kind, extremes_##kind, filter_##kind}
static BlockFn *const each[][3] = {ROW(INT),      ROW(DECIMAL), ROW(WIDE),  ROW(FLOAT),
                                   ROW(EXPONENT), ROW(TIME),    ROW(OFFSET)};

static void put_wide(FILE *out, Wide value, Kind kind) {
    char text[64], *at = text + sizeof text;
    Wide left = value < 0 ? -value : value;
    int place = kind == INT || kind == TIME || kind == OFFSET ? 0 : 2;
    if (place) {
        for (int i = 0; i < place; i++, left /= 10) *--at = (char)('0' + (int)(left % 10));
        *--at = '.';
    }
    do *--at = (char)('0' + (int)(left % 10));
    while (left /= 10);
    if (value < 0) *--at = '-';
    fprintf(out, ",%.*s", (int)(text + sizeof text - at), at);
}

static void put_group(FILE *out, const Group *g, int number_of, Kind kind, Task task) {
    fprintf(out, "%d", number_of);
    bool is_float = kind == FLOAT || kind == EXPONENT;
    if (task == SUM) {
        fprintf(out, ",%ld", g->rows);
        if (is_float) fprintf(out, ",%.17g", g->float_sum);
        else put_wide(out, g->sum, kind);
    } else if (is_float) {
        fprintf(out, ",%.17g,%.17g", g->float_low, g->float_high);
    } else {
        put_wide(out, kind == WIDE ? g->wide_low : g->low, kind);
        put_wide(out, kind == WIDE ? g->wide_high : g->high, kind);
    }
    fputc('\n', out);
}

static void start(State *s) {
    const Wide most = (Wide)((unsigned __int128)-1 >> 1);
    for (int i = 0; i < GROUPS; i++)
        s->groups[i] = (Group){.low = INT64_MAX, .high = INT64_MIN, .float_low = 1e308,
                               .float_high = -1e308, .wide_low = most, .wide_high = -most};
    s->ends = map_zeros(FIELDS_MAX * sizeof *s->ends);
}

static void merge(Group *to, const Group *from) {
    to->rows += from->rows;
    to->sum += from->sum;
    to->float_sum += from->float_sum;
    to->low = LEAST(to->low, from->low);
    to->high = MOST(to->high, from->high);
    to->wide_low = LEAST(to->wide_low, from->wide_low);
    to->wide_high = MOST(to->wide_high, from->wide_high);
    to->float_low = LEAST(to->float_low, from->float_low);
    to->float_high = MOST(to->float_high, from->float_high);
}

int main(int argc, char **argv) {
    if (argc < 6) return 2;
    Kind kind = (Kind)(strchr("idDfewo", argv[3][0]) - "idDfewo");
    Task task = argv[4][0] == 's' ? SUM : argv[4][0] == 'e' ? EXTREMES : FILTER;
    static State states[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        start(&states[i]);
        states[i].fraction = atoi(argv[5]);
        if (task != FILTER) continue;
        int64_t least = atoll(argv[6]), scale = kind == INT ? 1 : kind == DECIMAL ? 100 : 1000000;
        states[i].least.word = least * scale;
        const char *point = strchr(argv[6], '.');
        states[i].least.wide = kind == WIDE ? wide_number(argv[6], point) * 100 : 0;
        states[i].least.number = atof(argv[6]);
    }
    scan_rows(without_header(map_text(argv[1])), each[kind][task], states, sizeof *states);
    FILE *out = open_output(argv[2]);
    if (task == FILTER) {
        fprintf(out, "n,s\n%ld,%ld\n", states[0].rows + states[1].rows,
                states[0].sum + states[1].sum);
        return fclose(out) ? 3 : 0;
    }
    fputs(task == SUM ? "g,n,s\n" : "g,low,high\n", out);
    for (int i = 0; i < GROUPS; i++) {
        merge(&states[0].groups[i], &states[1].groups[i]);
        if (states[0].groups[i].rows) put_group(out, &states[0].groups[i], i - ZERO, kind, task);
    }
    return fclose(out) ? 3 : 0;
}
