// spill_root.h: a folder of a test's own for what spills, threads that work in turn, and how what
// spilled is read.
#ifndef SBC_TESTS_UNIT_SPILL_ROOT_H
#define SBC_TESTS_UNIT_SPILL_ROOT_H

#include "runtime/breakers/breaker.h"
#include "runtime/disk/merge.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 3 };

static inline void each_in_turn(SbParallel *self, uint32_t count, SbEachFn *fn, void *arg) {
    for (uint32_t i = 0; i < count; i++) fn(arg, i, i % self->threads);
}

static SbParallel in_turn = {each_in_turn, THREADS};

// A folder of the test's own, removed with all in it.
static inline char *root_open(void) {
    char path[] = "/tmp/sbc-spill-test-XXXXXX";
    return strdup(mkdtemp(path));
}

static inline int count_items(const char *path) {
    int items = 0;
    DIR *dir = opendir(path);
    for (struct dirent *item; dir && (item = readdir(dir));) items += item->d_name[0] != '.';
    if (dir) closedir(dir);
    return items;
}

static inline void root_close(char *root) {
    CHECK_SAYS(count_items(root) == 0, "%d", count_items(root));
    rmdir(root);
    free(root);
}

static inline SbRows *next_batch(const SbBreakerState *breaker, SpillMerge *merge) {
    bool refused;
    SbRows *batch = sb_breaker_next(breaker, merge, 20000, 1000, &refused);
    CHECK(!refused);
    return batch;
}

static inline SpillMerge *read_sorted(const SbBreakerState *breaker) {
    SpillOrder order = sb_breaker_on_disk(breaker);
    return spill_merge_open(order.runs, order.what, order.by);
}

static inline bool same_text(SbStr a, SbStr b) {
    return a.len == b.len && memcmp(a.ptr, b.ptr, (size_t)a.len) == 0;
}

#endif
