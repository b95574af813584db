#define _GNU_SOURCE  // memfd_create, mremap
#include "runtime/python/process.h"

#include "runtime/python/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// A copy whose folder is named by its content, as for all that is embedded (build.zig).
static const char script[] = {
#embed <host.py>
};

// It reads the script. Python 2 knows this much too, so that an old interpreter says its version.
static const char first_words[] =
    "import os,sys\n"
    "if sys.version_info<(3,9):\n"
    "    os.write(3,('O'+sys.version.split()[0]).encode())\n"
    "    os._exit(1)\n"
    "try:\n"
    "    exec(compile(os.fdopen(6,'rb').read(),'<sbc>','exec'))\n"
    "except ImportError as error:\n"
    "    os.write(3,('I'+str(error)).encode())\n"
    "    os._exit(1)\n";

enum { END_WAIT_MS = 2000, SEALS = F_SEAL_SHRINK };
enum : int64_t { ROOM_LEAST = 1 << 20 };

static bool fail(char words[WORDS_MAX], const char *what) {
    snprintf(words, WORDS_MAX, "%s: %s", what, strerror(errno));
    return false;
}

// ---- starting -----------------------------------------------------------------------------------

static int shared_memory(const char *name) {
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0) fcntl(fd, F_ADD_SEALS, SEALS);  // What is mapped stays there.
    return fd;
}

static int script_file(void) {
    int fd = memfd_create("sbc-python-script", MFD_CLOEXEC);
    if (fd < 0) return -1;
    bool good = write(fd, script, sizeof script) == (ssize_t)sizeof script &&
                lseek(fd, 0, SEEK_SET) == 0;
    if (good) return fd;
    close(fd);
    return -1;
}

static void close_all(const int *fds, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0) close(fds[i]);
}

static bool launch(PyProcess *process, const char *interpreter, char words[WORDS_MAX]) {
    int ends[2] = {-1, -1}, nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), file = script_file();
    process->args_fd = shared_memory("sbc-python-args");
    process->results_fd = shared_memory("sbc-python-results");
    bool good = nothing >= 0 && file >= 0 && process->args_fd >= 0 && process->results_fd >= 0 &&
                socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
    char *argv[] = {(char *)(uintptr_t)interpreter, "-c", (char *)(uintptr_t)first_words, nullptr};
    // What the user's code prints goes where messages go.
    Start start = {.path = interpreter, .argv = argv,
                   .fds = {nothing, STDERR_FILENO, STDERR_FILENO, ends[1], process->args_fd,
                           process->results_fd, file}};
    process->socket = ends[0];
    if (good) {
        starter_start(&start);
        errno = start.error;
        if (start.error && start.pid > 0) waitpid(start.pid, nullptr, 0);
        good = !start.error;
    }
    if (!good) fail(words, interpreter);
    close_all((int[]){nothing, file, ends[1]}, 3);
    if (!good) return false;
    process->pid = start.pid;
    process->pidfd = (int)syscall(SYS_pidfd_open, start.pid, 0);
    return process->pidfd >= 0 || fail(words, "pidfd_open");
}

PyProcess *process_begin(const char *interpreter, char *letter, char words[WORDS_MAX]) {
    PyProcess *process = malloc(sizeof *process);
    if (!process) {
        fail(words, "malloc");
        return nullptr;
    }
    *process = (PyProcess){.pidfd = -1, .socket = -1, .args_fd = -1, .results_fd = -1};
    char said[WORDS_MAX];
    size_t len = 0;
    if (!launch(process, interpreter, words) ||
        process_ask(process, nullptr, said, sizeof said - 1, &len, words) != PY_GOOD || len == 0) {
        process_end(process);
        return nullptr;
    }
    said[len] = '\0';
    *letter = said[0];
    snprintf(words, WORDS_MAX, "%s", said + 1);
    snprintf(process->version, sizeof process->version, "%.31s", said + 1);
    return process;
}

// ---- shared memory ------------------------------------------------------------------------------

bool process_room(PyProcess *process, int64_t bytes, char words[WORDS_MAX]) {
    int64_t size = process->args_bytes ? process->args_bytes : ROOM_LEAST;
    if (bytes <= process->args_bytes) return true;
    while (size < bytes) size *= 2;
    if (ftruncate(process->args_fd, size) != 0) return fail(words, "no memory for a batch");
    void *at = mmap(nullptr, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, process->args_fd, 0);
    if (at == MAP_FAILED) return fail(words, "no memory for a batch");
    if (process->args) munmap(process->args, (size_t)process->args_bytes);
    process->args = at;
    process->args_bytes = size;
    return true;
}

// The size is that of the file, not what the process says: what is not there would end the job.
bool process_see(PyProcess *process, int64_t bytes, char words[WORDS_MAX]) {
    if (bytes <= process->results_bytes) return true;
    off_t size = lseek(process->results_fd, 0, SEEK_END);
    if (size < bytes) {
        snprintf(words, WORDS_MAX, "the Python process gave less than it says");
        return false;
    }
    void *at = mmap(nullptr, (size_t)size, PROT_READ, MAP_SHARED, process->results_fd, 0);
    if (at == MAP_FAILED) return fail(words, "no memory for results");
    if (process->results) munmap((void *)(uintptr_t)process->results,
                                 (size_t)process->results_bytes);
    process->results = at;
    process->results_bytes = size;
    return true;
}

int64_t process_bytes(const PyProcess *process) {
    char path[64], text[128];
    long long all, resident, shared;
    snprintf(path, sizeof path, "/proc/%d/statm", process->pid);
    FILE *file = fopen(path, "re");
    bool good = file && fgets(text, sizeof text, file) &&
                sscanf(text, "%lld %lld %lld", &all, &resident, &shared) == 3;
    if (file) fclose(file);
    return good ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

// ---- ending -------------------------------------------------------------------------------------

static void say_end(const siginfo_t *end, char words[WORDS_MAX]) {
    if (end->si_code == CLD_EXITED)
        snprintf(words, WORDS_MAX, "the Python process ended with exit code %d", end->si_status);
    else
        snprintf(words, WORDS_MAX, "the Python process was ended by signal %d (%s)",
                 end->si_status, strsignal(end->si_status));
}

// What it started stays in its group.
static void reap(PyProcess *process, siginfo_t *end) {
    if (process->pid <= 0) return;  // Zero would be all processes of the group.
    kill(-process->pid, SIGKILL);
    kill(process->pid, SIGKILL);
    while (waitid(P_PID, (id_t)process->pid, end, WEXITED) != 0 && errno == EINTR) {}
    process->pid = 0;
}

// Where the process is within the call; -1: not known.
static int64_t row_of(const PyProcess *process) {
    int64_t row;
    bool good = process->notes_rows &&
                pread(process->results_fd, &row, sizeof row, 0) == (ssize_t)sizeof row;
    return good ? row : -1;
}

// Not yet reaped, so that the number is nobody else's: how did it end?
static PyOutcome died(PyProcess *process, char words[WORDS_MAX]) {
    siginfo_t end = {0};
    struct pollfd gone = {.fd = process->pidfd, .events = POLLIN};
    // The socket may be closed before the process is over.
    while (poll(&gone, 1, END_WAIT_MS) < 0 && errno == EINTR) {}
    process->row = row_of(process);
    reap(process, &end);
    say_end(&end, words);
    return PY_DIED;
}

void process_end(PyProcess *process) {
    if (process->socket >= 0) close(process->socket);
    if (process->pid > 0) {
        siginfo_t end;
        struct pollfd gone = {.fd = process->pidfd, .events = POLLIN};
        while (poll(&gone, 1, END_WAIT_MS) < 0 && errno == EINTR) {}
        reap(process, &end);
    }
    if (process->args) munmap(process->args, (size_t)process->args_bytes);
    if (process->results)
        munmap((void *)(uintptr_t)process->results, (size_t)process->results_bytes);
    close_all((int[]){process->pidfd, process->args_fd, process->results_fd}, 3);
    free(process);
}

// ---- asking -------------------------------------------------------------------------------------

// False: the process works longer than it may at one row, or at the batch.
static bool comes_back(PyProcess *process, struct pollfd either[2]) {
    enum : int64_t { MILLISECOND = 1000, MS_MAX = INT32_MAX };
    int64_t ms = (process->timeout + MILLISECOND - 1) / MILLISECOND, seen = -1;
    int wait = process->timeout == 0 ? -1 : (int)(ms < MS_MAX ? ms : MS_MAX);
    for (;;) {
        int count = poll(either, 2, wait);
        if (count > 0 || (count < 0 && errno != EINTR)) return true;
        if (count < 0) continue;
        int64_t row = row_of(process);
        if (row < 0 || row == seen) return false;
        seen = row;
    }
}

static PyOutcome end_slow(PyProcess *process, char words[WORDS_MAX]) {
    siginfo_t end;
    process->row = row_of(process);
    reap(process, &end);
    snprintf(words, WORDS_MAX, "%g s", (double)process->timeout / 1e6);
    return PY_SLOW;
}

PyOutcome process_ask(PyProcess *process, const WireRequest *request, void *reply,
                      size_t reply_max, size_t *len, char words[WORDS_MAX]) {
    struct pollfd either[] = {{.fd = process->socket, .events = POLLIN},
                              {.fd = process->pidfd, .events = POLLIN}};
    if (request && send(process->socket, request, sizeof *request, MSG_NOSIGNAL) < 0) {
        if (errno == EPIPE || errno == ECONNRESET) return died(process, words);
        fail(words, "send");
        return PY_FAILED;
    }
    if (!comes_back(process, either)) return end_slow(process, words);
    // A process that its children outlive does not close the socket.
    if (!(either[0].revents & POLLIN)) return died(process, words);
    ssize_t got = recv(process->socket, reply, reply_max, 0);
    if (got <= 0) return died(process, words);
    *len = (size_t)got;
    return PY_GOOD;
}
