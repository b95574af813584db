#define _GNU_SOURCE  // vfork, close_range
#include "runtime/python/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    pthread_t       thread;
    bool            runs, ends;
    Start          *asked;   // Null: none waits.
} starter = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

// In the child of vfork, which has the memory of the job: system calls only.
static void become(const Start *start, pid_t parent, int *error) {
    static const int ignored[] = {SIGPIPE, SIGXFSZ, SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    sigset_t none;
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_DFL);
    setpgid(0, 0);  // What a terminal sends to the job is the job's to judge.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bool good = getppid() == parent;
    // Out of the way first: a number may be one of those that are wanted.
    int high[START_FDS];
    for (int i = 0; good && i < START_FDS; i++) {
        high[i] = fcntl(start->fds[i], F_DUPFD, START_FDS);
        good = high[i] >= 0;
    }
    for (int i = 0; good && i < START_FDS; i++) good = dup2(high[i], i) >= 0;
    if (good) close_range(START_FDS, ~0u, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (good) execv(start->path, start->argv);
    *error = errno;
    _exit(127);
}

static void start_one(Start *start) {
    sigset_t all, before;
    volatile int error = 0;
    pid_t parent = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = vfork();
    if (pid == 0) become(start, parent, (int *)&error);
    start->error = pid < 0 ? errno : error;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    start->pid = pid;
}

static void *run(void *self) {
    (void)self;
    pthread_mutex_lock(&starter.lock);
    while (!starter.ends) {
        Start *asked = starter.asked;
        if (!asked) {
            pthread_cond_wait(&starter.changed, &starter.lock);
            continue;
        }
        pthread_mutex_unlock(&starter.lock);
        start_one(asked);
        pthread_mutex_lock(&starter.lock);
        starter.asked = nullptr;
        pthread_cond_broadcast(&starter.changed);
    }
    pthread_mutex_unlock(&starter.lock);
    return nullptr;
}

void starter_start(Start *start) {
    pthread_mutex_lock(&starter.lock);
    start->pid = -1;
    start->error = 0;
    if (!starter.runs) start->error = pthread_create(&starter.thread, nullptr, run, nullptr);
    if (!start->error) {
        starter.runs = true;
        while (starter.asked) pthread_cond_wait(&starter.changed, &starter.lock);
        starter.asked = start;
        pthread_cond_broadcast(&starter.changed);
        while (starter.asked == start) pthread_cond_wait(&starter.changed, &starter.lock);
    }
    pthread_mutex_unlock(&starter.lock);
}

void starter_close(void) {
    pthread_mutex_lock(&starter.lock);
    bool runs = starter.runs;
    starter.ends = true;
    pthread_cond_broadcast(&starter.changed);
    pthread_mutex_unlock(&starter.lock);
    if (runs) pthread_join(starter.thread, nullptr);
    starter.runs = starter.ends = false;
}
