// A4, Q6 by hand. Checks nothing: 17 ends a row, amounts with two decimals.
#include "scan.h"

enum { COLUMNS = 17, QUANTITY = 4, PRICE, DISCOUNT, SHIPDATE = 10 };

typedef struct State {
    _Alignas(64) int64_t revenue;
    uint32_t ends[FIELDS_MAX];
} State;

static void each(void *argument, Text block) {
    State *s = argument;
    size_t count = index_fields(block.at, block.at + block.len, '|', s->ends);
    for (const uint32_t *e = s->ends; e < s->ends + count; e += COLUMNS) {
        const char *at = block.at;
        if (memcmp(at + e[SHIPDATE - 1] + 1, "1994", 4) != 0) continue;
        int discount = two_digits(at + e[DISCOUNT] - 2);
        if (discount < 5 || discount > 7) continue;
        if (digits(at + e[QUANTITY - 1] + 1, at + e[QUANTITY]) >= 24) continue;
        s->revenue += cents(at + e[PRICE - 1] + 1, at + e[PRICE]) * discount;
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    static State states[THREADS];
    scan_rows(map_text(argv[1]), each, states, sizeof *states);
    FILE *out = open_output(argv[2]);
    fprintf(out, "revenue\n%.17g\n", (double)(states[0].revenue + states[1].revenue) / 1e4);
    return fclose(out) ? 3 : 0;
}
