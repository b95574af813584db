#include "runtime/host/failpoint.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *wanted;  // nullptr: none.
static size_t wanted_len;
static int wanted_error;    // 0: the process gets a signal,
static int wanted_signal;   // this one; 0: the thread waits.
static atomic_long left;

static bool is_named(const char *text, const char *name) {
    size_t len = strlen(name);
    return strncmp(text, name, len) == 0 && (text[len] == ':' || !text[len]);
}

// The number of an error's name: at the beginning of `text`. 0: none.
static int error_named(const char *text) {
    static const struct { const char *name; int error; } errors[] = {
#define ERROR(name, class) {#name, name},
#include "runtime/host/errors.def"
#undef ERROR
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (is_named(text, errors[i].name)) return errors[i].error;
    return 0;
}

static void choose(const char *text) {
    if (is_named(text, "SIGTERM")) wanted_signal = SIGTERM;
    else if (is_named(text, "WAIT")) wanted_signal = 0;
    else wanted_error = error_named(text);
}

void failpoint_open(void) {
    wanted = getenv("SBC_FAILPOINT");
    if (!wanted) return;
    wanted_len = strcspn(wanted, "=:");
    const char *count = strchr(wanted, ':');
    wanted_signal = SIGKILL;
    if (wanted[wanted_len] == '=') choose(wanted + wanted_len + 1);
    atomic_store(&left, count ? strtol(count + 1, nullptr, 10) : 1);
}

static bool is_wanted(const char *name) {
    return wanted && strlen(name) == wanted_len && memcmp(name, wanted, wanted_len) == 0;
}

void failpoint(const char *name) {
    enum { WAIT_MICROS = 200 * 1000 };
    if (!is_wanted(name) || wanted_error || atomic_fetch_sub(&left, 1) != 1) return;
    if (wanted_signal) kill(getpid(), wanted_signal);
    else usleep(WAIT_MICROS);
}

bool failpoint_fails(const char *name) {
    if (!is_wanted(name) || !wanted_error || atomic_fetch_sub(&left, 1) <= 0) return false;
    errno = wanted_error;
    return true;
}
