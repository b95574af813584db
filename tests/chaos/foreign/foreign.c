// Functions that do harm in the first process that comes to it, where SBC_CHAOS_MARK names a folder
// for the marks that it has been done; and some that always do.
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_first(const char *what) {
    const char *folder = getenv("SBC_CHAOS_MARK");
    char path[4096];
    if (!folder) return false;
    snprintf(path, sizeof path, "%s/%s", folder, what);
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0666);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

// Ends its process at two rows.
int64_t crashes(int64_t x) {
    if (x == 1500 && is_first("crash")) *(volatile int *)16 = 1;
    if (x == 3001 && is_first("abort")) abort();
    return x + 1;
}

// Ends each process that comes to two rows.
int64_t ends(int64_t x) {
    if (x == 700) *(volatile int *)16 = 1;
    if (x == 3001) abort();
    return x + 3;
}

int64_t hangs(int64_t x) {
    if (x == 2222) sleep(60);
    return x + 4;
}

// Keeps 256 KiB for each row, of the system: what malloc gives has a bound.
int64_t leaks(int64_t x) {
    enum { BYTES = 256 << 10 };
    if (!getenv("SBC_CHAOS_MARK")) return x + 2;
    char *bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes != MAP_FAILED) memset(bytes, (int)x | 1, BYTES);
    return x + 2;
}
