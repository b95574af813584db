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

// "NODE SOCKET BASE SPAN FD FD ..."
static void write_inherited(Text *text, uint32_t node, int socket, const ArenaSpace *space) {
    sb_text_format(text, "%s=%u %d %llu %lld", variable, node, socket,
                   (unsigned long long)(uintptr_t)space->base, (long long)space->span);
    for (uint32_t i = 0; i < space->count; i++) sb_text_format(text, " %d", space->fds[i]);
    sb_text_add(text, "", 1);
}

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
static int keep_open(posix_spawn_file_actions_t *actions, const ArenaSpace *space, int socket) {
    int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(actions, socket, socket);
    for (uint32_t i = 0; i < space->count && !error; i++)
        error = posix_spawn_file_actions_adddup2(actions, space->fds[i], space->fds[i]);
    return error;
}

static int spawn(Process *process, char *const *argv, char **environment, const ArenaSpace *space,
                 int socket) {
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
        error = keep_open(&actions, space, socket);
        if (!error)
            error = posix_spawn(&process->pid, "/proc/self/exe", &actions, &attributes, argv,
                                environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

bool process_start(Process *process, char *const *argv, uint32_t node, const ArenaSpace *space,
                   Trouble *trouble) {
    int ends[2];
    *process = (Process){.pidfd = -1, .socket = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return trouble_set(trouble, TROUBLE_WORKER, "no socket for worker %u: %s", node,
                           strerror(errno));
    Text text = {0};
    write_inherited(&text, node, ends[1], space);
    char **environment = text.failed ? nullptr : with_variable(text.ptr);
    int error = environment ? spawn(process, argv, environment, space, ends[1]) : ENOMEM;
    free(environment);
    sb_text_close(&text);
    close(ends[1]);
    if (!error) {
        process->socket = ends[0];
        process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
        return true;
    }
    close(ends[0]);
    process->pid = 0;
    return trouble_set(trouble, TROUBLE_WORKER, "worker %u cannot be started: %s", node,
                       strerror(error));
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

static bool read_number(const char **at, uint64_t *number) {
    char *end;
    errno = 0;
    *number = strtoull(*at, &end, 10);
    bool good = end != *at && errno == 0;
    *at = end;
    return good;
}

static bool read_inherited(const char *at, Inherited *inherited) {
    uint64_t node, socket, base, span, fd;
    if (!read_number(&at, &node) || !read_number(&at, &socket) || !read_number(&at, &base) ||
        !read_number(&at, &span))
        return false;
    *inherited = (Inherited){.node = (uint32_t)node, .socket = (int)socket,
                             .space = {.base = (char *)(uintptr_t)base, .span = (int64_t)span}};
    ArenaSpace *space = &inherited->space;
    while (space->count < ARENAS_MAX && *at && read_number(&at, &fd))
        space->fds[space->count++] = (int)fd;
    return *at == '\0' && inherited->node > 0 && inherited->node < space->count;
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

void process_follow(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "worker");
    be_first();
}
