// spill_root.h: a folder of a test's own for what spills, and threads that work in turn.
#ifndef SBC_TESTS_UNIT_SPILL_ROOT_H
#define SBC_TESTS_UNIT_SPILL_ROOT_H

#include "runtime/breaker.h"
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

#endif
