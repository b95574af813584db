// Checksum: XXH3 of 128 bits, of what has to be the same when it is read again.
#ifndef SBC_RUNTIME_CHECKSUM_H
#define SBC_RUNTIME_CHECKSUM_H

#include <stdint.h>

typedef struct Checksum {
    uint64_t low, high;
} Checksum;

enum { CHECKSUM_DIGITS = 32 };

Checksum checksum_of(const void *bytes, int64_t len);
static inline bool checksum_same(Checksum a, Checksum b) {
    return a.low == b.low && a.high == b.high;
}
// As `xxhsum -H2` prints it.
void checksum_text(Checksum sum, char text[static CHECKSUM_DIGITS + 1]);

// Of the bytes and all before them, whose sum is `sum`, in 64 bits. Of the first ones: 0, or any
// number.
uint64_t checksum_next(uint64_t sum, const void *bytes, int64_t len);

// Of bytes that come one after the other.
typedef struct ChecksumState ChecksumState;
ChecksumState *checksum_open(void);  // nullptr: no memory.
void           checksum_begin(ChecksumState *state);  // Forgets what was added.
void           checksum_add(ChecksumState *state, const void *bytes, int64_t len);
// Of what was added so far; more may follow.
Checksum       checksum_value(const ChecksumState *state);
void           checksum_close(ChecksumState *state);

#endif
