// Memory: the account that every large allocation of a job is charged to, against --memory.
#ifndef SBC_RUNTIME_MEMORY_H
#define SBC_RUNTIME_MEMORY_H

#include <stdint.h>

typedef struct SbMemory {
    int64_t          limit;          // Bytes.
    _Atomic int64_t  used, peak;
} SbMemory;

void sb_memory_open(SbMemory *memory, int64_t limit);

// Takes `bytes` from the account. False, and nothing taken, when they are not there.
bool sb_memory_charge(SbMemory *memory, int64_t bytes);
void sb_memory_release(SbMemory *memory, int64_t bytes);

// `bytes` of zeroes, charged, for long arrays: huge pages where there can be some, since such
// arrays are touched in random order and each small page would be a fault. nullptr: over the limit,
// and nothing is charged.
void *sb_memory_pages(SbMemory *memory, int64_t bytes);
// Gives them back: free() and release. Null is nothing.
void sb_memory_free(SbMemory *memory, void *pages, int64_t bytes);

#endif
