// J2 by hand: line items by their orders' priority. Checks nothing: order keys are there once and
// below 16 million, so that an array by key is the hash table; priorities begin with a digit of
// their own.
#include "scan.h"

enum {
    PRICE = 5,
    LINE_COLUMNS = 17,
    PRIORITY = 5,
    ORDER_COLUMNS = 10,
    KEYS = 1 << 24,
    DIGITS = 16
};

typedef struct State {
    uint8_t *priority_of;
    _Alignas(64) int64_t lines[DIGITS];
    int64_t total[DIGITS];
    char names[DIGITS][32];
    uint32_t ends[FIELDS_MAX];
} State;

static void each_order(void *argument, Text block) {
    State *s = argument;
    size_t count = index_fields(block.at, block.at + block.len, '|', s->ends);
    const char *row = block.at;
    for (const uint32_t *e = s->ends; e < s->ends + count; e += ORDER_COLUMNS) {
        const char *name = block.at + e[PRIORITY - 1] + 1;
        uint8_t priority = *name & (DIGITS - 1);
        s->priority_of[digits(row, block.at + e[0])] = priority;
        if (!s->names[priority][0])
            memcpy(s->names[priority], name, e[PRIORITY] - e[PRIORITY - 1] - 1);
        row = block.at + e[ORDER_COLUMNS - 1] + 1;
    }
}

static void each_line(void *argument, Text block) {
    State *s = argument;
    size_t count = index_fields(block.at, block.at + block.len, '|', s->ends);
    const char *row = block.at;
    for (const uint32_t *e = s->ends; e < s->ends + count; e += LINE_COLUMNS) {
        uint8_t priority = s->priority_of[digits(row, block.at + e[0])];
        s->lines[priority]++;
        s->total[priority] += cents(block.at + e[PRICE - 1] + 1, block.at + e[PRICE]);
        row = block.at + e[LINE_COLUMNS - 1] + 1;
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    static State states[THREADS];
    uint8_t *priority_of = map_zeros(KEYS);
    for (size_t i = 0; i < THREADS; i++) states[i].priority_of = priority_of;
    scan_rows(map_text(argv[2]), each_order, states, sizeof *states);
    scan_rows(map_text(argv[1]), each_line, states, sizeof *states);
    FILE *out = open_output(argv[3]);
    fprintf(out, "priority,lines,total\n");
    for (int i = 1; i < DIGITS; i++) {
        int64_t lines = states[0].lines[i] + states[1].lines[i];
        const char *name = states[0].names[i][0] ? states[0].names[i] : states[1].names[i];
        if (lines)
            fprintf(out, "%s,%ld,%.2f\n", name, lines,
                    (double)(states[0].total[i] + states[1].total[i]) / 100);
    }
    return fclose(out) ? 3 : 0;
}
