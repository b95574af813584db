// C1 by hand: JSON lines. Checks nothing: the keys come in one order, strings hold no escapes,
// countries have two letters, so that the quotes of a line alone say where everything is.
#include "scan.h"

enum {
    ENDS = 47,  // Quotes of a line, and its end.
    KIND = 8,   // The quote that opens it.
    COUNTRY = 20,
    VALUE = 33,  // The quote that closes its key.
    DURATION = 35,
    GROUPS = 1 << 16,
};

typedef struct Group {
    int64_t events, total, duration, low, high;
} Group;

typedef struct State {
    Group *groups;  // By the country's two letters.
    uint32_t ends[FIELDS_MAX];
} State;

static void each(void *argument, Text block) {
    State *s = argument;
    size_t count = index_fields(block.at, block.at + block.len, '"', s->ends);
    for (const uint32_t *e = s->ends; e < s->ends + count; e += ENDS) {
        const char *at = block.at;
        if (memcmp(at + e[KIND] + 1, "scroll", 6) == 0) continue;
        int64_t value = cents(at + e[VALUE] + 2, at + e[VALUE + 1] - 1);
        if (value <= 1000) continue;
        uint16_t country;
        memcpy(&country, at + e[COUNTRY] + 1, 2);
        Group *g = &s->groups[country];
        if (!g->events || value < g->low) g->low = value;
        if (value > g->high) g->high = value;
        g->events++;
        g->total += value;
        g->duration += (int64_t)digits(at + e[DURATION] + 2, at + e[DURATION + 1] - 1);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    static State states[THREADS];
    for (size_t i = 0; i < THREADS; i++) states[i].groups = map_zeros(GROUPS * sizeof(Group));
    scan_rows(map_text(argv[1]), each, states, sizeof *states);
    FILE *out = open_output(argv[2]);
    fprintf(out, "country,events,total,mean_duration,low,high\n");
    for (int i = 0; i < GROUPS; i++) {
        int letters = (i >> 8) | (i & 255) << 8;  // In the order of the text.
        Group a = states[0].groups[letters], b = states[1].groups[letters];
        int64_t events = a.events + b.events;
        if (!events) continue;
        int64_t low = !a.events || (b.events && b.low < a.low) ? b.low : a.low;
        fprintf(out, "%c%c,%ld,%.2f,%.17g,%.2f,%.2f\n", letters & 255, letters >> 8, events,
                (double)(a.total + b.total) / 100,
                (double)(a.duration + b.duration) / (double)events, (double)low / 100,
                (double)(a.high > b.high ? a.high : b.high) / 100);
    }
    return fclose(out) ? 3 : 0;
}
