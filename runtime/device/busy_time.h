// BusyTime: for how long at least one of several streams was at work, told span by span.
//
// Spans come in about the order of their ends, as launches answer. A stream that waits for
// another one of its kind counts as at work: the other one is. So what several streams wait for,
// the bus or the processors of a GPU, counts once.
#ifndef SBC_RUNTIME_DEVICE_BUSY_TIME_H
#define SBC_RUNTIME_DEVICE_BUSY_TIME_H

#include <stdint.h>

enum { BUSY_SPANS = 96 };  // More than the slots of a GPU: only what is older than all is settled.

typedef struct BusyTime {
    int64_t settled_ns, until_ns;  // Of spans that ended by then; what comes later begins later.
    struct { int64_t begin_ns, end_ns; } spans[BUSY_SPANS];  // Apart from each other, in order.
    uint32_t count;
} BusyTime;

void    busy_add(BusyTime *busy, int64_t begin_ns, int64_t end_ns);
int64_t busy_ns(const BusyTime *busy);

#endif
