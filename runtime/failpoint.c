#include "runtime/failpoint.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *wanted;  // nullptr: none.
static size_t wanted_len;
static int wanted_error;    // 0: the process gets a signal,
static int wanted_signal;   // this one.
static atomic_long left;

// The number of an error's name: at the beginning of `text`. 0: none.
static int error_named(const char *text) {
    static const struct { const char *name; int error; } errors[] = {
#define ERROR(name, class) {#name, name},
#include "runtime/errors.def"
#undef ERROR
    };
    size_t len = strcspn(text, ":");
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strlen(errors[i].name) == len && memcmp(errors[i].name, text, len) == 0)
            return errors[i].error;
    return 0;
}

void failpoint_open(void) {
    wanted = getenv("SBC_FAILPOINT");
    if (!wanted) return;
    wanted_len = strcspn(wanted, "=:");
    const char *count = strchr(wanted, ':');
    static const char asks[] = "=SIGTERM";
    bool is_asked = strncmp(wanted + wanted_len, asks, sizeof asks - 1) == 0;
    wanted_signal = is_asked ? SIGTERM : SIGKILL;
    if (wanted[wanted_len] == '=') wanted_error = error_named(wanted + wanted_len + 1);
    atomic_store(&left, count ? strtol(count + 1, nullptr, 10) : 1);
}

static bool is_wanted(const char *name) {
    return wanted && strlen(name) == wanted_len && memcmp(name, wanted, wanted_len) == 0;
}

void failpoint(const char *name) {
    if (is_wanted(name) && !wanted_error && atomic_fetch_sub(&left, 1) == 1)
        kill(getpid(), wanted_signal);
}

bool failpoint_fails(const char *name) {
    if (!is_wanted(name) || !wanted_error || atomic_fetch_sub(&left, 1) <= 0) return false;
    errno = wanted_error;
    return true;
}
