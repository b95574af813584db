// J1 by hand: trips by borough. Checks nothing: zones are numbers below 512 and there once,
// boroughs few.
#include "scan.h"

enum { COLUMNS = 14, ZONE = 7, TOTAL = 13, ZONES = 512, BOROUGHS = 64 };

typedef struct State {
    const uint8_t *borough_of;
    _Alignas(64) int64_t trips[BOROUGHS];
    int64_t total[BOROUGHS];
    uint32_t ends[FIELDS_MAX];
} State;

typedef struct Borough {
    char name[32];
    uint8_t number;
} Borough;

static void each(void *argument, Text block) {
    State *s = argument;
    size_t count = index_fields(block.at, block.at + block.len, ',', s->ends);
    for (const uint32_t *e = s->ends; e < s->ends + count; e += COLUMNS) {
        uint8_t borough = s->borough_of[digits(block.at + e[ZONE - 1] + 1, block.at + e[ZONE])];
        s->trips[borough]++;
        s->total[borough] += cents(block.at + e[TOTAL - 1] + 1, block.at + e[TOTAL]);
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const Borough *)a)->name, ((const Borough *)b)->name);
}

// Numbers the boroughs from 1 in order of appearance; 0 is no zone.
static uint8_t read_zones(Text zones, uint8_t *borough_of, Borough *boroughs) {
    uint8_t count = 0;
    for (const char *at = zones.at, *end = at + zones.len; at < end; at = next_row(zones, at)) {
        const char *name = strchr(at, ',') + 1, *after = strchr(name, ',');
        uint8_t i = 0;
        while (i < count && (strncmp(boroughs[i].name, name, (size_t)(after - name)) != 0 ||
                             boroughs[i].name[after - name]))
            i++;
        if (i == count) {
            memcpy(boroughs[i].name, name, (size_t)(after - name));
            boroughs[count].number = i + 1;
            count++;
        }
        borough_of[atoi(at)] = i + 1;
    }
    return count;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    static State states[THREADS];
    static uint8_t borough_of[ZONES];
    static Borough boroughs[BOROUGHS];
    uint8_t count = read_zones(without_header(map_text(argv[2])), borough_of, boroughs);
    for (size_t i = 0; i < THREADS; i++) states[i].borough_of = borough_of;
    scan_rows(without_header(map_text(argv[1])), each, states, sizeof *states);
    qsort(boroughs, count, sizeof *boroughs, by_name);
    FILE *out = open_output(argv[3]);
    fprintf(out, "borough,trips,total\n");
    for (size_t i = 0; i < count; i++) {
        uint8_t number = boroughs[i].number;
        int64_t trips = states[0].trips[number] + states[1].trips[number];
        if (trips)
            fprintf(out, "%s,%ld,%.2f\n", boroughs[i].name, trips,
                    (double)(states[0].total[number] + states[1].total[number]) / 100);
    }
    return fclose(out) ? 3 : 0;
}
