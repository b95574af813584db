#include "runtime/failpoint.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *wanted;  // nullptr: none.
static size_t wanted_len;
static atomic_long left;

void failpoint_open(void) {
    wanted = getenv("SBC_FAILPOINT");
    if (!wanted) return;
    wanted_len = strcspn(wanted, ":");
    long count = wanted[wanted_len] == ':' ? strtol(wanted + wanted_len + 1, nullptr, 10) : 1;
    atomic_store(&left, count);
}

void failpoint(const char *name) {
    if (!wanted || strlen(name) != wanted_len || memcmp(name, wanted, wanted_len) != 0) return;
    if (atomic_fetch_sub(&left, 1) == 1) raise(SIGKILL);
}
