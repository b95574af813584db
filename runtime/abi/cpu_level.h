// Cpu level: which instructions this machine has, for a job that chooses and for --target=native.
#ifndef SBC_STDLIB_CPU_LEVEL_H
#define SBC_STDLIB_CPU_LEVEL_H

#include <cpuid.h>
#include <stdint.h>

// Registers that the operating system saves.
static inline uint64_t sb_cpu_saved_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

// 0: x86-64-v3, 1: x86-64-v4; -1: older than both.
static inline int sb_cpu_level(void) {
    uint32_t a, b, c, d, features;
    if (!__get_cpuid(1, &a, &b, &features, &d) || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return -1;
    uint32_t v3_1 = bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C | bit_POPCNT;
    uint32_t v3_7 = bit_AVX2 | bit_BMI | bit_BMI2;
    uint32_t v4_7 = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
    if ((features & v3_1) != v3_1 || (b & v3_7) != v3_7) return -1;
    if ((sb_cpu_saved_state() & 0x6) != 0x6) return -1;
    return (b & v4_7) == v4_7 && (sb_cpu_saved_state() & 0xe6) == 0xe6 ? 1 : 0;
}

#endif
