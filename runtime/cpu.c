#define _GNU_SOURCE
#include "runtime/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The first words of a small file of the system; empty when there is none.
static void read_words(const char *path, char words[64]) {
    words[0] = '\0';
    FILE *file = fopen(path, "re");
    if (!file) return;
    size_t length = fread(words, 1, 63, file);
    words[length] = '\0';
    fclose(file);
}

uint32_t cpu_count(void) {
    cpu_set_t set;
    uint32_t count = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0) count = (uint32_t)CPU_COUNT(&set);
    char words[64];
    double quota = 0, period = 0;
    read_words("/sys/fs/cgroup/cpu.max", words);
    if (sscanf(words, "%lf %lf", &quota, &period) != 2) {
        read_words("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", words);
        quota = strtod(words, nullptr);
        read_words("/sys/fs/cgroup/cpu/cpu.cfs_period_us", words);
        period = strtod(words, nullptr);
    }
    if (quota > 0 && period > 0) {
        uint32_t whole = (uint32_t)((quota + period - 1) / period);
        if (whole < count) count = whole;
    }
    return count < 1 ? 1 : count;
}

int64_t cpu_memory(void) {
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    static const char *const limits[] = {"/sys/fs/cgroup/memory.max",
                                         "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char words[64];
        read_words(limits[i], words);
        int64_t limit = strtoll(words, nullptr, 10);
        if (limit > 0 && limit < bytes) bytes = limit;
    }
    return bytes;
}
