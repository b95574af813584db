// halves.h: a text in two halves, one for each thread, and outputs that keep its order.
#pragma once
#include "../../reference/scan.h"

typedef struct Half {
    Text rows;
    int number;
    uint32_t *ends;   // Room for a block's separators.
    char *out, *to;   // What it writes: there is room for `room` bytes.
    void *result;
    void (*work)(struct Half *);
} Half;

// The offsets from `begin`, which is outside quotes, of the separators outside quotes.
static inline size_t index_quoted(const char *begin, const char *end, char delimiter,
                                  uint32_t *ends) {
    uint32_t *to = ends;
    uint64_t inside = 0;
    for (const char *at = begin; at < end; at += 64) {
        const uint64_t quotes = match(at, '"');
        const uint64_t opens = _pdep_u64(0x5555555555555555 ^ inside, quotes);
        const uint64_t in = (quotes ^ opens) - opens + inside;
        uint64_t bits = (match(at, delimiter) | match(at, '\n')) & ~in;
        if (end - at < 64) bits &= (UINT64_C(1) << (end - at)) - 1;
        inside = (uint64_t)((int64_t)in >> 63);
        to = put_bits(to, bits, (uint32_t)(at - begin));
    }
    return (size_t)(to - ends);
}

// After the first line end outside quotes at or after the middle.
static inline const char *middle_of(Text text, bool quoted) {
    const char *middle = text.at + text.len / 2, *end = text.at + text.len;
    if (!quoted) return next_row(text, middle);
    uint64_t quotes = 0;  // Those in front of the middle say whether it is inside.
    want_pages(text.at, text.len / 2);
    for (const char *at = text.at; at + 64 <= middle; at += 64)
        quotes += (uint64_t)__builtin_popcountll(match(at, '"'));
    for (const char *at = middle - (middle - text.at) % 64; at < middle; at++) quotes += *at == '"';
    for (bool inside = quotes % 2; middle < end; middle++) {
        inside ^= *middle == '"';
        if (!inside && *middle == '\n') return middle + 1;
    }
    return end;
}

static inline void *half_thread(void *argument) {
    Half *h = argument;
    h->ends = map_zeros(FIELDS_MAX * sizeof *h->ends);
    h->work(h);
    return nullptr;
}

static Half halves[THREADS];

static inline void run_halves(Text text, bool quoted, void (*work)(Half *)) {
    const char *middle = middle_of(text, quoted);
    size_t first = (size_t)(middle - text.at);
    for (int i = 0; i < THREADS; i++) {
        Half *h = &halves[i];
        h->rows = i ? (Text){middle, text.len - first} : (Text){text.at, first};
        h->number = i;
        h->work = work;
    }
    on_threads(half_thread, halves, sizeof *halves);
}

// ---- outputs in the order of the rows ----------------------------------------------------------

// A row's output may be up to that many times as long as the row.
enum { OUTPUT_TIMES = 4 };

// Pieces of the text that threads take in turn; each is written where the one before it ended.
typedef struct Ordered {
    Text text;
    int fd;
    size_t claims, done, at;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    char *(*put_block)(char *to, Text block, uint32_t *ends);
} Ordered;

static void *ordered_thread(void *argument) {
    Ordered *o = *(Ordered **)argument;
    uint32_t *ends = map_zeros(FIELDS_MAX * sizeof *ends);
    char *out = map_zeros(OUTPUT_TIMES * (CLAIM_BLOCKS + 1) * BLOCK_BYTES);
    const size_t blocks = block_count(o->text), claims = (blocks + CLAIM_BLOCKS - 1) / CLAIM_BLOCKS;
    for (;;) {
        pthread_mutex_lock(&o->lock);
        const size_t claim = o->claims++;
        pthread_mutex_unlock(&o->lock);
        if (claim >= claims) return nullptr;
        char *to = out;
        for (size_t k = claim * CLAIM_BLOCKS; k < (claim + 1) * CLAIM_BLOCKS && k < blocks; k++)
            to = o->put_block(to, block_of(o->text, k), ends);
        pthread_mutex_lock(&o->lock);
        while (o->done != claim) pthread_cond_wait(&o->turn, &o->lock);
        const size_t at = o->at;
        o->at += (size_t)(to - out);
        o->done++;
        pthread_cond_broadcast(&o->turn);
        pthread_mutex_unlock(&o->lock);
        write_at(o->fd, out, (size_t)(to - out), at);
    }
}

// Writes what `put_block` makes of each block, after a header; the number of bytes after that. A
// quote has no meaning.
static inline size_t write_ordered(const char *path, const char *header, size_t header_len,
                                   Text text, char *(*put_block)(char *, Text, uint32_t *)) {
    static Ordered o = {.lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER};
    o.text = text, o.at = header_len, o.put_block = put_block;
    o.fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (o.fd < 0) give_up(path);
    write_at(o.fd, header, header_len, 0);
    Ordered *both[THREADS] = {&o, &o};
    on_threads(ordered_thread, both, sizeof *both);
    close(o.fd);
    return o.at - header_len;
}

// As that, of two halves, whatever quotes there are: for outputs that are much shorter than rows.
static inline void write_halves(const char *path, const char *header, Text text, bool quoted,
                                void (*work)(Half *)) {
    for (int i = 0; i < THREADS; i++) halves[i].out = halves[i].to = map_zeros(text.len + PAGE);
    run_halves(text, quoted, work);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (fd < 0) give_up(path);
    size_t at = strlen(header);
    write_at(fd, header, at, 0);
    for (int i = 0; i < THREADS; i++) {
        size_t len = (size_t)(halves[i].to - halves[i].out);
        write_at(fd, halves[i].out, len, at);
        at += len;
    }
    close(fd);
}
