// A0 by hand: trips by hour. Checks nothing: 14 fields a row, amounts with two decimals, no quotes.
#include "scan.h"

enum { COLUMNS = 14, PICKUP = 1, DISTANCE = 4, FARE = 10, TIP = 12, TOTAL = 13, HOURS = 24 };

typedef struct Hour {
    int64_t trips, total, farthest;
    double rates;
} Hour;

typedef struct State {
    _Alignas(64) Hour hours[HOURS];
    uint32_t ends[FIELDS_MAX];
} State;

static void each(void *argument, Text block) {
    State *s = argument;
    size_t count = index_fields(block.at, block.at + block.len, ',', s->ends);
    for (const uint32_t *e = s->ends; e < s->ends + count; e += COLUMNS) {
        int64_t fare = cents(block.at + e[FARE - 1] + 1, block.at + e[FARE]);
        int64_t distance = cents(block.at + e[DISTANCE - 1] + 1, block.at + e[DISTANCE]);
        if (fare <= 0 || distance >= 10000) continue;
        Hour *hour = &s->hours[two_digits(block.at + e[PICKUP - 1] + 12)];
        hour->trips++;
        hour->rates += (double)cents(block.at + e[TIP - 1] + 1, block.at + e[TIP]) / (double)fare;
        hour->total += cents(block.at + e[TOTAL - 1] + 1, block.at + e[TOTAL]);
        if (distance > hour->farthest) hour->farthest = distance;
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    static State states[THREADS];
    scan_rows(without_header(map_text(argv[1])), each, states, sizeof *states);
    FILE *out = open_output(argv[2]);
    fprintf(out, "hour,trips,mean_rate,total,farthest\n");
    for (int h = 0; h < HOURS; h++) {
        Hour a = states[0].hours[h], b = states[1].hours[h];
        int64_t trips = a.trips + b.trips, far = a.farthest > b.farthest ? a.farthest : b.farthest;
        if (!trips) continue;
        fprintf(out, "%d,%ld,%.17g,%.2f,%.2f\n", h, trips, (a.rates + b.rates) / (double)trips,
                (double)(a.total + b.total) / 100, (double)far / 100);
    }
    return fclose(out) ? 3 : 0;
}
