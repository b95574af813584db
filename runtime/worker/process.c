#define _GNU_SOURCE
#include "runtime/worker/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char variable[] = "SBC_WORKER";

// ---- starting -----------------------------------------------------------------------------------

// The environment with one variable more; the list is from malloc.
static char **with_variable(char *more) {
    size_t count = 0;
    while (environ[count]) count++;
    char **all = malloc((count + 2) * sizeof *all);
    if (!all) return nullptr;
    memcpy(all, environ, count * sizeof *all);
    all[count] = more;
    all[count + 1] = nullptr;
    return all;
}

// Descriptors that the child has under the same numbers. All others are closed there.
static int keep_open(posix_spawn_file_actions_t *actions, const ProcessAsk *ask, int socket) {
    int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(actions, socket, socket);
    for (uint32_t i = 0; i < ask->fd_count && !error; i++)
        error = posix_spawn_file_actions_adddup2(actions, ask->fds[i], ask->fds[i]);
    return error;
}

static int spawn(Process *process, const ProcessAsk *ask, char **environment, int socket) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        posix_spawnattr_setsigmask(&attributes, &none);
        error = keep_open(&actions, ask, socket);
        if (!error)
            error = posix_spawn(&process->pid, "/proc/self/exe", &actions, &attributes, ask->argv,
                                environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int process_spawn(Process *process, const ProcessAsk *ask) {
    int ends[2];
    *process = (Process){.pidfd = -1, .socket = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    Text text = {0};
    sb_text_format(&text, "%s=%d %s", ask->variable, ends[1], ask->words);
    for (uint32_t i = 0; i < ask->fd_count; i++) sb_text_format(&text, " %d", ask->fds[i]);
    sb_text_add(&text, "", 1);
    char **environment = text.failed ? nullptr : with_variable(text.ptr);
    int error = environment ? spawn(process, ask, environment, ends[1]) : ENOMEM;
    free(environment);
    sb_text_close(&text);
    close(ends[1]);
    if (!error) {
        process->socket = ends[0];
        process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
        return 0;
    }
    close(ends[0]);
    process->pid = 0;
    return error;
}

bool process_start(Process *process, char *const *argv, const Inherited *gives, Trouble *trouble) {
    const ArenaSpace *space = &gives->space;
    int fds[ARENAS_MAX + PROCESS_MORE_MAX];
    char words[96];
    memcpy(fds, space->fds, space->count * sizeof *fds);
    memcpy(fds + space->count, gives->more, gives->more_count * sizeof *fds);
    snprintf(words, sizeof words, "%u %llu %lld %u", gives->node,
             (unsigned long long)(uintptr_t)space->base, (long long)space->span,
             gives->more_count);
    int error = process_spawn(process, &(ProcessAsk){.argv = argv, .variable = variable,
                                                     .words = words, .fds = fds,
                                                     .fd_count = space->count + gives->more_count});
    return !error || trouble_set(trouble, TROUBLE_WORKER, "worker %u cannot be started: %s",
                                 gives->node, strerror(error));
}

// ---- ending -------------------------------------------------------------------------------------

void process_kill(const Process *process) {
    const Process is = *process;
    if (is.pid <= 0) return;  // Zero would be all processes of the group.
    // The process is not reaped, so that its number is nobody else's.
    if (is.pidfd < 0 || syscall(SYS_pidfd_send_signal, is.pidfd, SIGKILL, nullptr, 0))
        kill(is.pid, SIGKILL);
}

int process_reap(Process *process, int64_t wait_ns) {
    enum : int64_t { MILLISECOND = 1'000'000 };
    int status = 0;
    if (process->pid == 0) return 0;
    struct pollfd gone = {.fd = process->pidfd, .events = POLLIN};
    int wait = (int)(wait_ns / MILLISECOND);
    if (process->pidfd >= 0)
        while (poll(&gone, 1, wait) < 0 && errno == EINTR) {}
    pid_t got;
    do got = waitpid(process->pid, &status, WNOHANG);
    while (got < 0 && errno == EINTR);
    if (got == 0) return -1;
    if (process->pidfd >= 0) close(process->pidfd);
    *process = (Process){.pidfd = -1, .socket = -1};
    return got < 0 ? 0 : status;
}

// ---- the worker's side --------------------------------------------------------------------------

bool process_number(const char **at, uint64_t *number) {
    char *end;
    errno = 0;
    *number = strtoull(*at, &end, 10);
    bool good = end != *at && errno == 0;
    *at = end;
    return good;
}

// The last `more` of them are no arenas.
static void part_fds(Inherited *inherited, const int *fds, uint32_t count) {
    uint32_t arenas = count - inherited->more_count;
    inherited->space.count = arenas;
    memcpy(inherited->space.fds, fds, arenas * sizeof *fds);
    memcpy(inherited->more, fds + arenas, inherited->more_count * sizeof *fds);
}

static bool read_inherited(const char *at, Inherited *inherited) {
    uint64_t node, socket, base, span, more, fd;
    int fds[ARENAS_MAX + PROCESS_MORE_MAX];
    uint32_t count = 0;
    if (!process_number(&at, &socket) || !process_number(&at, &node) ||
        !process_number(&at, &base) || !process_number(&at, &span) ||
        !process_number(&at, &more) || more > PROCESS_MORE_MAX)
        return false;
    *inherited = (Inherited){.node = (uint32_t)node, .socket = (int)socket,
                             .space = {.base = (char *)(uintptr_t)base, .span = (int64_t)span},
                             .more_count = (uint32_t)more};
    while (count < ARENAS_MAX + more && *at && process_number(&at, &fd)) fds[count++] = (int)fd;
    if (*at != '\0' || count < more) return false;
    part_fds(inherited, fds, count);
    return inherited->node > 0 && inherited->node < inherited->space.count;
}

bool process_inherited(Inherited *inherited, Trouble *trouble) {
    const char *text = getenv(variable);
    if (!text) return false;
    bool good = read_inherited(text, inherited);
    unsetenv(variable);
    if (good) return true;
    return trouble_set(trouble, TROUBLE_WORKER,
                       "%s is set, and is no message of a job to its worker", variable);
}

// So much above that of the coordinator, from which it is inherited; 1,000 is the most.
static void be_first(void) {
    enum : long { ABOVE = 500, MOST = 1000 };
    char text[16];
    int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t got = read(fd, text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    long score = strtol(text, nullptr, 10) + ABOVE;
    int len = snprintf(text, sizeof text, "%ld", score < MOST ? score : MOST);
    if (pwrite(fd, text, (size_t)len, 0) < 0) errno = 0;
    close(fd);
}

void process_follow(const char *name) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, name);
    be_first();
}
