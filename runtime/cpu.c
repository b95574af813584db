#define _GNU_SOURCE
#include "runtime/cpu.h"

#include <cpuid.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Registers that the operating system saves.
static uint64_t saved_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

int cpu_level(void) {
    uint32_t a, b, c, d, features;
    if (!__get_cpuid(1, &a, &b, &features, &d) || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return -1;
    uint32_t v3_1 = bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C | bit_POPCNT;
    uint32_t v3_7 = bit_AVX2 | bit_BMI | bit_BMI2;
    uint32_t v4_7 = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
    if ((features & v3_1) != v3_1 || (b & v3_7) != v3_7 || (saved_state() & 0x6) != 0x6) return -1;
    return (b & v4_7) == v4_7 && (saved_state() & 0xe6) == 0xe6 ? 1 : 0;
}

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
