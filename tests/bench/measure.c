// measure: runs a program and tells how long it took and what it held. `measure FIGURES MODE
// PROGRAM [ARGUMENT]...` writes seconds, peak kilobytes, processor seconds and exit code into the
// file FIGURES. MODE is exit (from exec to exit) or first (from exec to the first byte on standard
// output). It is a small C program because a child counts the memory of the process that started
// it.
//
// The host of a virtual machine may take memory that is free for some seconds. Who uses it next
// waits for it, some 3 s for a GiB, and who comes after that one does not. So before each program
// that is timed to its exit a GiB is used and given back, by processes of their own.
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds_of(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

// When the first byte came; the rest is read and forgotten.
static double drain(int fd) {
    static char bytes[1 << 16];
    double first = 0;
    while (read(fd, bytes, sizeof bytes) > 0)
        if (first == 0) first = now();
    return first;
}

enum : size_t { PIECE = (size_t)512 << 20, HUGE_PAGE = 2 << 20 };
enum { PIECES = 2 };

static void use_piece(void) {
    char *piece = mmap(nullptr, PIECE + HUGE_PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) _exit(0);
    piece += -(uintptr_t)piece & (HUGE_PAGE - 1);
    madvise(piece, PIECE, MADV_HUGEPAGE);
    for (size_t i = 0; i < PIECE; i += 4096) piece[i] = 1;
    _exit(0);
}

static void use_memory(void) {
    long spare = sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
    if (spare < (long)(2 * PIECES * PIECE)) return;
    for (int i = 0; i < PIECES; i++)
        if (fork() == 0) use_piece();
    while (wait(nullptr) > 0) {}
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: measure FIGURES exit|first PROGRAM [ARGUMENT]...\n");
        return 2;
    }
    const bool first = strcmp(argv[2], "first") == 0;
    int ends[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) || posix_spawn_file_actions_init(&actions)) return 3;
    if (first) posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (!first) use_memory();
    const double begin = now();
    int failed = posix_spawnp(&child, argv[3], &actions, nullptr, argv + 3, environ);
    if (failed) {
        fprintf(stderr, "measure: %s: %s\n", argv[3], strerror(failed));
        return 3;
    }
    close(ends[1]);
    double end = first ? drain(ends[0]) : 0;
    int status;
    struct rusage usage;
    if (wait4(child, &status, 0, &usage) < 0) return 3;
    if (!first) end = now();
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    FILE *figures = fopen(argv[1], "w");
    if (!figures) return 3;
    fprintf(figures, "%.6f %ld %.6f %d\n", end - begin, usage.ru_maxrss,
            seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), code);
    return fclose(figures) ? 3 : 0;
}
