// scan.h: what the reference programs share: a mapped file, its rows in blocks over two threads,
// SIMD search for delimiters, numbers of a fixed form. Nothing here checks its input.
#pragma once

#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    THREADS = 2,
    BLOCK_BYTES = 128 << 10,  // A block and the index of its fields stay in the second-level cache.
    CLAIM_BLOCKS = 16,
    PAGE = 4096,
    FIELDS_MAX = BLOCK_BYTES + 4 * PAGE,  // Ends in a block, its last row included.
};

typedef struct Text {
    const char *at;
    size_t len;
} Text;

[[noreturn]] static inline void give_up(const char *what) {
    perror(what);
    exit(3);
}

// Maps a file with a readable page on both sides, so that loads may pass its ends.
static inline Text map_text(const char *path) {
    int fd = open(path, O_RDONLY);
    struct stat info;
    if (fd < 0 || fstat(fd, &info)) give_up(path);
    size_t len = (size_t)info.st_size;
    char *room = mmap(nullptr, len + 3 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) give_up(path);
    if (len && mmap(room + PAGE, len, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
        give_up(path);
    close(fd);
    return (Text){room + PAGE, len};
}

// Memory that starts as zeros, on large pages where the system has them.
static inline void *map_zeros(size_t bytes) {
    const size_t large = 2 << 20;
    char *room = mmap(nullptr, bytes + large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
    if (room == MAP_FAILED) give_up("memory");
    char *aligned = (char *)(((uintptr_t)room + large - 1) & ~(uintptr_t)(large - 1));
    madvise(aligned, bytes, MADV_HUGEPAGE);
    return aligned;
}

// A new file of that length, mapped for writing: two threads may fill it without a lock.
static inline char *map_output(const char *path, size_t len) {
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || ftruncate(fd, (off_t)len)) give_up(path);
    char *at = len ? mmap(nullptr, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : nullptr;
    if (at == MAP_FAILED) give_up(path);
    close(fd);
    return at;
}

// Writes past the page cache where the system can: growing it costs more than the writing.
static inline void write_at(int fd, const char *bytes, size_t len, size_t offset) {
    enum { UNCACHED = 0x80 };  // RWF_DONTCACHE, of Linux 6.14.
    while (len) {
        struct iovec part = {(void *)(uintptr_t)bytes, len};
        ssize_t put = pwritev2(fd, &part, 1, (off_t)offset, UNCACHED);
        if (put < 0) put = pwrite(fd, bytes, len, (off_t)offset);
        if (put < 0) give_up("output");
        bytes += put, offset += (size_t)put, len -= (size_t)put;
    }
}

static inline FILE *open_output(const char *path) {
    FILE *file = fopen(path, "w");
    if (!file) give_up(path);
    return file;
}

// Bit i is set where at[i] is c; of 64 bytes.
static inline uint64_t match(const char *at, char c) {
#ifdef __AVX512BW__
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(at), _mm512_set1_epi8(c));
#else
    __m256i low = _mm256_loadu_si256((const __m256i *)at);
    __m256i high = _mm256_loadu_si256((const __m256i *)(at + 32)), all = _mm256_set1_epi8(c);
    uint32_t low_bits = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, all));
    uint32_t high_bits = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, all));
    return low_bits | (uint64_t)high_bits << 32;
#endif
}

// Appends the offsets of the set bits; writes up to 8 more than there are.
static inline uint32_t *put_bits(uint32_t *to, uint64_t bits, uint32_t base) {
    uint32_t *end = to + __builtin_popcountll(bits);
    while (bits) {
        for (int i = 0; i < 8; i++) {
            to[i] = base + (uint32_t)__builtin_ctzll(bits | UINT64_C(1) << 63);
            bits &= bits - 1;
        }
        to += 8;
    }
    return end;
}

// The offsets from `begin` of every delimiter and line end before `end`; their number.
static inline size_t index_fields(const char *begin, const char *end, char delimiter,
                                  uint32_t *ends) {
    uint32_t *to = ends;
    const char *at = begin;
    for (; end - at >= 64; at += 64)
        to = put_bits(to, match(at, delimiter) | match(at, '\n'), (uint32_t)(at - begin));
    if (at < end) {
        uint64_t rest = (UINT64_C(1) << (end - at)) - 1;
        uint64_t bits = (match(at, delimiter) | match(at, '\n')) & rest;
        to = put_bits(to, bits, (uint32_t)(at - begin));
    }
    return (size_t)(to - ends);
}

static inline uint64_t load8(const char *at) {
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

// The number of up to eight digits that ends at `end`, without a sign.
static inline uint64_t digits(const char *at, const char *end) {
    uint64_t v = load8(end - 8) & (~UINT64_C(0) << (8 * (8 - (end - at))));
    v = (v & 0x0f0f0f0f0f0f0f0f) * 2561 >> 8;
    v = (v & 0x00ff00ff00ff00ff) * 6553601 >> 16;
    return (v & 0x0000ffff0000ffff) * 42949672960001 >> 32;
}

// A number with a sign or without, up to eight digits and two more behind a point, times 100.
static inline int64_t cents(const char *at, const char *end) {
    int64_t sign = -(int64_t)(*at == '-');
    at -= sign;
    int64_t x = (int64_t)digits(at, end - 3) * 100 + (end[-2] - '0') * 10 + (end[-1] - '0');
    return (x ^ sign) - sign;
}

static inline int two_digits(const char *at) { return (at[0] - '0') * 10 + (at[1] - '0'); }

// Days from 1970-01-01 of YYYY-MM-DD (Hinnant, "chrono-compatible low-level date algorithms").
static inline int64_t days_of(const char *at) {
    int64_t year = two_digits(at) * 100 + two_digits(at + 2), month = two_digits(at + 5);
    year -= month <= 2;
    int64_t era = year / 400, of_era = year - era * 400;
    int64_t day = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + two_digits(at + 8) - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day - 719468;
}

// Seconds from 1970-01-01 of "YYYY-MM-DD hh:mm:ss".
static inline int64_t seconds_of(const char *at) {
    return days_of(at) * 86400 + two_digits(at + 11) * 3600 + two_digits(at + 14) * 60 +
           two_digits(at + 17);
}

// The first bytes of a key, the rest of the register zero; len <= 16.
static inline __m128i load_key(const char *at, size_t len) {
    static const _Alignas(32) uint8_t keep[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                  255, 255, 255, 255, 255, 255, 255, 255};
    __m128i mask = _mm_loadu_si128((const __m128i *)(keep + 16 - len));
    return _mm_and_si128(_mm_loadu_si128((const __m128i *)at), mask);
}

static inline uint64_t hash_key(__m128i key) {
    uint64_t low = (uint64_t)_mm_cvtsi128_si64(key), high = (uint64_t)_mm_extract_epi64(key, 1);
    unsigned __int128 product = (unsigned __int128)(low ^ 0x9e3779b97f4a7c15u) *
                                (high ^ 0xbf58476d1ce4e5b9u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline bool same_key(__m128i a, __m128i b) {
    __m128i differ = _mm_xor_si128(a, b);
    return _mm_testz_si128(differ, differ);
}

// What is behind the first line end at or after `at`.
static inline const char *next_row(Text text, const char *at) {
    const char *end = text.at + text.len;
    const char *found = at < end ? memchr(at, '\n', (size_t)(end - at)) : nullptr;
    return found ? found + 1 : end;
}

static inline Text without_header(Text text) {
    const char *begin = next_row(text, text.at);
    return (Text){begin, text.len - (size_t)(begin - text.at)};
}

// The rows that begin in block number k.
static inline Text block_of(Text text, size_t k) {
    const char *at = text.at + k * BLOCK_BYTES, *after = at + BLOCK_BYTES;
    const char *begin = k ? next_row(text, at - 1) : at;
    const char *end = after >= text.at + text.len ? text.at + text.len : next_row(text, after - 1);
    return (Text){begin, begin < end ? (size_t)(end - begin) : 0};
}

static inline size_t block_count(Text text) { return (text.len + BLOCK_BYTES - 1) / BLOCK_BYTES; }

typedef void BlockFn(void *state, Text block);

typedef struct Scan {
    Text text;
    BlockFn *each;
    atomic_size_t *next;
    void *state;
} Scan;

// Asks for the pages of a stretch of the file at once instead of one fault after the other.
static inline void want_pages(const char *at, size_t len) {
    uintptr_t begin = (uintptr_t)at & ~(uintptr_t)(PAGE - 1);
    madvise((void *)begin, (uintptr_t)at + len - begin, MADV_POPULATE_READ);
}

static void *scan_thread(void *argument) {
    const Scan *scan = argument;
    size_t count = block_count(scan->text);
    for (;;) {
        size_t k = atomic_fetch_add_explicit(scan->next, CLAIM_BLOCKS, memory_order_relaxed);
        if (k >= count) return nullptr;
        size_t last = k + CLAIM_BLOCKS < count ? k + CLAIM_BLOCKS : count;
        size_t stop = last * BLOCK_BYTES < scan->text.len ? last * BLOCK_BYTES : scan->text.len;
        want_pages(scan->text.at + k * BLOCK_BYTES, stop - k * BLOCK_BYTES);
        for (; k < last; k++) {
            Text block = block_of(scan->text, k);
            if (block.len) scan->each(scan->state, block);
        }
    }
}

// Runs `work` on every thread with its own element of an array.
static inline void on_threads(void *(*work)(void *), void *elements, size_t element_bytes) {
    pthread_t others[THREADS];
    for (size_t i = 1; i < THREADS; i++)
        if (pthread_create(&others[i], nullptr, work, (char *)elements + i * element_bytes))
            give_up("thread");
    work(elements);
    for (size_t i = 1; i < THREADS; i++) pthread_join(others[i], nullptr);
}

// Calls `each` for every block, with the state of its thread; a thread sees rising blocks.
static inline void scan_rows(Text text, BlockFn *each, void *states, size_t state_bytes) {
    atomic_size_t next = 0;
    Scan scans[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        scans[i] = (Scan){text, each, &next, (char *)states + i * state_bytes};
    on_threads(scan_thread, scans, sizeof *scans);
}
