#include "runtime/device/busy_time.h"

#include <string.h>

static void settle_first(BusyTime *busy) {
    busy->settled_ns += busy->spans[0].end_ns - busy->spans[0].begin_ns;
    busy->until_ns = busy->spans[0].end_ns;
    busy->count--;
    memmove(&busy->spans[0], &busy->spans[1], busy->count * sizeof busy->spans[0]);
}

void busy_add(BusyTime *busy, int64_t begin, int64_t end) {
    uint32_t first = 0, next;
    if (begin < busy->until_ns) begin = busy->until_ns;
    if (end <= begin) return;
    while (first < busy->count && busy->spans[first].end_ns < begin) first++;
    for (next = first; next < busy->count && busy->spans[next].begin_ns <= end; next++) {
        if (busy->spans[next].begin_ns < begin) begin = busy->spans[next].begin_ns;
        if (busy->spans[next].end_ns > end) end = busy->spans[next].end_ns;
    }
    memmove(&busy->spans[first + 1], &busy->spans[next],
            (busy->count - next) * sizeof busy->spans[0]);
    busy->count = busy->count - next + first + 1;
    busy->spans[first].begin_ns = begin;
    busy->spans[first].end_ns = end;
    if (busy->count == BUSY_SPANS) settle_first(busy);
}

int64_t busy_ns(const BusyTime *busy) {
    int64_t sum = busy->settled_ns;
    for (uint32_t i = 0; i < busy->count; i++)
        sum += busy->spans[i].end_ns - busy->spans[i].begin_ns;
    return sum;
}
