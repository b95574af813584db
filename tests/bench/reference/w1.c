// W1 by hand: trips as JSON lines. Checks nothing: no text needs an escape, amounts are valid JSON
// as they stand. Floats are put by sbc's own library, so that the two differ in everything else.
#include "scan.h"
#include "stdlib/number/number.h"

enum {
    COLUMNS = 14,
    VENDOR = 0,
    PICKUP,
    DROPOFF,
    PASSENGERS,
    DISTANCE,
    CAB = 6,
    PICKUP_ZONE,
    DROPOFF_ZONE,
    PAYMENT,
    FARE,
    TIP = 12,
    TOTAL,
};

// Claims take their place in the file in order; writing itself waits for nobody.
typedef struct Output {
    pthread_mutex_t lock;
    pthread_cond_t turn;
    size_t claim, at;
    int fd;
} Output;

typedef struct State {
    const char *start;
    Output *output;
    uint32_t *ends;
    size_t last;  // The number of the last block.
    char *buffer, *to;
} State;

static inline char *put_text(char *to, const char *text, size_t len) {
    memcpy(to, text, len);
    return to + len;
}

#define PUT(to, literal) put_text(to, literal, sizeof(literal) - 1)

static char *put_row(char *to, const char *at, const char *row, const uint32_t *e) {
    const char *f[COLUMNS + 1] = {row};
    for (int i = 0; i < COLUMNS; i++) f[i + 1] = at + e[i] + 1;
#define FIELD(i) to = put_text(to, f[i], (size_t)(f[(i) + 1] - f[i]) - 1)
    double minutes = (double)(seconds_of(f[DROPOFF]) - seconds_of(f[PICKUP])) / 60.0;
    double distance = (double)cents(f[DISTANCE], f[DISTANCE + 1] - 1) / 100.0;
    double tip = (double)cents(f[TIP], f[TIP + 1] - 1) / 100.0;
    double fare = (double)cents(f[FARE], f[FARE + 1] - 1) / 100.0;
    to = PUT(to, "{\"vendor\":");
    FIELD(VENDOR);
    to = PUT(to, ",\"cab\":\"");
    FIELD(CAB);
    to = PUT(to, "\",\"pickup_zone\":");
    FIELD(PICKUP_ZONE);
    to = PUT(to, ",\"dropoff_zone\":");
    FIELD(DROPOFF_ZONE);
    to = PUT(to, ",\"distance\":");
    FIELD(DISTANCE);
    to = PUT(to, ",\"fare\":");
    FIELD(FARE);
    to = PUT(to, ",\"total\":");
    FIELD(TOTAL);
    to = PUT(to, ",\"hour\":");
    to = sb_put_i64(to, two_digits(f[PICKUP] + 11));
    to = PUT(to, ",\"minutes\":");
    to = sb_put_f64(to, minutes);
    to = PUT(to, ",\"speed\":");
    to = sb_put_f64(to, distance / minutes * 60.0);
    to = PUT(to, ",\"rate\":");
    to = sb_put_f64(to, tip / fare);
    to = PUT(to, ",\"label\":\"");
    FIELD(PAYMENT);
    *to++ = '/';
    FIELD(PASSENGERS);
#undef FIELD
    return PUT(to, "\"}\n");
}

static size_t take_place(Output *output, size_t claim, size_t len) {
    pthread_mutex_lock(&output->lock);
    while (output->claim != claim) pthread_cond_wait(&output->turn, &output->lock);
    size_t at = output->at;
    output->at += len;
    output->claim++;
    pthread_cond_broadcast(&output->turn);
    pthread_mutex_unlock(&output->lock);
    return at;
}

static void each(void *argument, Text block) {
    State *s = argument;
    size_t count = index_fields(block.at, block.at + block.len, ',', s->ends);
    size_t number = (size_t)(block.at - s->start) / BLOCK_BYTES;
    const char *row = block.at;
    for (const uint32_t *e = s->ends; e < s->ends + count; e += COLUMNS) {
        s->to = put_row(s->to, block.at, row, e);
        row = block.at + e[TOTAL] + 1;
    }
    if (number % CLAIM_BLOCKS < CLAIM_BLOCKS - 1 && number < s->last) return;
    size_t len = (size_t)(s->to - s->buffer);
    size_t at = take_place(s->output, number / CLAIM_BLOCKS, len);
    write_at(s->output->fd, s->buffer, len, at);
    s->to = s->buffer;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    Text text = without_header(map_text(argv[1]));
    Output output = {.lock = PTHREAD_MUTEX_INITIALIZER,
                     .turn = PTHREAD_COND_INITIALIZER,
                     .fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0666)};
    if (output.fd < 0) give_up(argv[2]);
    State states[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        states[i] = (State){.start = text.at,
                            .output = &output,
                            .ends = map_zeros(FIELDS_MAX * sizeof(uint32_t)),
                            .last = block_count(text) - 1,
                            .buffer = map_zeros(4 * (CLAIM_BLOCKS + 1) * BLOCK_BYTES)};
    for (size_t i = 0; i < THREADS; i++) states[i].to = states[i].buffer;
    scan_rows(text, each, states, sizeof *states);
    return close(output.fd) ? 3 : 0;
}
