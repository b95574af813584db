#include "runtime/host/retry.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>

enum : int64_t { FIRST_MS = 100, LONGEST_MS = 10000, FULL_MS = 500 };

static const RetryPolicy *policy;
static atomic_int waiting;  // Calls that wait for room: the first and the last of them say so.

ErrorClass retry_class(int error) {
    static const struct { int error; ErrorClass class; } errors[] = {
#define ERROR(name, class) {name, ERROR_##class},
#include "runtime/host/errors.def"
#undef ERROR
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error) return errors[i].class;
    return ERROR_FATAL;
}

void retry_use(const RetryPolicy *use) { policy = use; }

// More room helps only where there was none.
static bool wants_room(TroubleKind kind) {
    return kind == TROUBLE_WRITE || kind == TROUBLE_SPILL_WRITE || kind == TROUBLE_JOURNAL_WRITE;
}

// What helps where a limit of the process is in the way; nullptr: it is something else.
static const char *limit_fix(int error) {
    switch (error) {
    case EFBIG: return "raise the limit of the size of files (ulimit -f), and run the job again";
    case EMFILE: return "raise the limit of open files (ulimit -n); --check says how many it needs";
    default: return nullptr;
    }
}

bool retry_fail(Trouble *trouble, int error, TroubleKind kind, const char *what,
                const char *path) {
    if (trouble->kind != TROUBLE_NONE) return false;
    if (error == ECANCELED)
        return trouble_set(trouble, TROUBLE_INTERRUPTED, "interrupted while it waited to %s '%s'",
                           what, path);
    trouble_set(trouble, kind, "cannot %s '%s': %s", what, path, strerror(error));
    const char *fix = limit_fix(error);
    if (fix) trouble_fix(trouble, "%s", fix);
    else if (wants_room(kind) && retry_class(error) != ERROR_FULL)
        trouble_fix(trouble, "check the disk or the device, and run the job again");
    return false;
}

// False: the time is over.
static bool poll_again(struct pollfd *fds, nfds_t count, int ms) {
    int ready;
    do ready = poll(fds, count, ms);
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

// False: the job is to end.
static bool wait_for(int64_t ms) {
    struct pollfd end = {.fd = policy->cancel_fd, .events = POLLIN};
    if (!poll_again(&end, policy->cancel_fd >= 0, (int)ms)) return true;
    errno = ECANCELED;
    return false;
}

int retry_waiting(void) { return atomic_load(&waiting); }

static bool is_canceled(void) { return policy && policy->cancel && atomic_load(policy->cancel); }

// A job that takes in no more goes on writing, and its descriptor is readable from then on.
bool retry_writable(int fd, bool finishes) {
    enum { LOOK_MS = 50, FINISH_MS = 1000 };
    struct pollfd fds[] = {{.fd = fd, .events = POLLOUT},
                           {.fd = policy ? policy->cancel_fd : -1, .events = POLLIN}};
    poll_again(fds, 2, -1);
    while (fds[0].revents == 0 && !is_canceled()) poll_again(fds, 1, LOOK_MS);
    if (!is_canceled() || (finishes && poll_again(fds, 1, FINISH_MS))) return true;
    errno = ECANCELED;
    return false;
}

// Twice as long each time, give or take a half, so that those who failed together do not come back
// together.
static int64_t backoff_ms(int64_t tries) {
    int64_t ms = FIRST_MS;
    for (int64_t i = 0; i < tries && ms < LONGEST_MS; i++) ms *= 2;
    if (ms > LONGEST_MS) ms = LONGEST_MS;
    return ms / 2 + (int64_t)((uint64_t)log_clock_ns() * 0x9e3779b97f4a7c15 >> 33) % ms;
}

static bool wait_for_room(Retry *retry, int error) {
    if (!policy->waits) return false;
    if (retry->full_ns == 0) {
        retry->full_ns = log_clock_ns();
        if (atomic_fetch_add(&waiting, 1) == 0)
            log_warn(policy->log, TROUBLE_FULL, "cannot write '%s': %s; the job waits for room",
                     retry->path, strerror(error));
    }
    return wait_for(FULL_MS);
}

static bool wait_to_try(Retry *retry, int error) {
    if (retry->tries >= policy->retries) return false;
    int64_t ms = backoff_ms(retry->tries++);
    log_warn(policy->log, TROUBLE_RETRIED, "'%s': %s; again in %.1f s (%lld of %lld)", retry->path,
             strerror(error), (double)ms / 1000, (long long)retry->tries,
             (long long)policy->retries);
    return wait_for(ms);
}

bool retry_again(Retry *retry) {
    int error = errno;
    bool again = false;
    switch (retry_class(error)) {
    case ERROR_AGAIN: return true;
    case ERROR_TRANSIENT: again = policy && wait_to_try(retry, error); break;
    case ERROR_FULL: again = policy && wait_for_room(retry, error); break;
    case ERROR_FATAL: break;
    }
    if (!again && errno != ECANCELED) errno = error;
    return again;
}

void retry_done(Retry *retry) {
    if (retry->full_ns == 0) return;
    int error = errno;
    double seconds = (double)(log_clock_ns() - retry->full_ns) / 1e9;
    retry->full_ns = 0;
    if (atomic_fetch_sub(&waiting, 1) == 1 && error != ECANCELED)
        log_warn(policy->log, TROUBLE_FULL, "'%s': the job goes on after %.1f s", retry->path,
                 seconds);
    errno = error;
}
