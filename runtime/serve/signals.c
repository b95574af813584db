// Signals to a worker. SIGTERM asks to leave in good order, which the coordinator decides. What a
// terminal sends to all processes of a job is the coordinator's matter.
#include "runtime/serve/state.h"

#include "runtime/host.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

// A handler knows nothing else.
static int asked = -1;

static void on_term(int number) {
    (void)number;
    int error = errno;
    uint64_t one = 1;
    if (write(asked, &one, sizeof one) < 0) errno = error;
    errno = error;
}

static void *say_leaves(void *arg) {
    Serve *s = arg;
    uint64_t count;
    for (;;) {
        ssize_t got = read(asked, &count, sizeof count);
        if (got < 0 && errno == EINTR) continue;
        pthread_mutex_lock(&s->lock);
        bool over = s->over || got < 0;
        pthread_mutex_unlock(&s->lock);
        if (over) return nullptr;
        Text nothing = {0};
        serve_say(s, WIRE_LEAVES, &nothing);
    }
}

bool signals_open(Serve *s) {
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    asked = eventfd(0, EFD_CLOEXEC);
    struct sigaction action = {.sa_handler = on_term, .sa_flags = SA_RESTART};
    if (asked >= 0 && pool_thread(&s->asker, say_leaves, s) == 0)
        return sigaction(SIGTERM, &action, nullptr) == 0;
    // Without it SIGTERM ends the worker, which is lost then.
    if (asked >= 0) close(asked);
    asked = -1;
    return true;
}

void signals_close(Serve *s) {
    if (asked < 0) return;
    pthread_mutex_lock(&s->lock);
    s->over = true;
    pthread_mutex_unlock(&s->lock);
    signal(SIGTERM, SIG_IGN);
    uint64_t one = 1;
    if (write(asked, &one, sizeof one) == sizeof one) pthread_join(s->asker, nullptr);
    close(asked);
    asked = -1;
}
