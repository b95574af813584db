// Huge pages: do they pay now?
//
// A huge page saves 511 faults, and the kernel clears it in 0.1 to 0.3 ms. In a virtual machine
// that tells its host which memory is free, that memory is gone: the host finds each page anew,
// which took 6 ms for a huge one. Small pages come first from what is free in pieces, which the
// host was not told of. So whoever takes huge pages times the first one of each block. After a slow
// one small pages serve for a while, in the whole process. That is 16 MiB, and twice as many each
// time that the next try is slow too.
#ifndef SBC_RUNTIME_MEMORY_HUGE_H
#define SBC_RUNTIME_MEMORY_HUGE_H

#include <stdint.h>

enum : int64_t { HUGE_PAGE = 2 << 20 };

// What takes longer is too long; tests set it.
extern int64_t huge_slow_nanos;

// Begins with a huge page, for so many bytes. False: small pages serve for these.
bool huge_begin(int64_t bytes, int64_t *clock);
// It is there. False: it took too long, and the rest had better be small pages.
bool huge_end(int64_t clock);

#endif
