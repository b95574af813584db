// Cpu: what this machine is: instruction level, usable cores, memory.
#ifndef SBC_RUNTIME_CPU_H
#define SBC_RUNTIME_CPU_H

#include <stdint.h>

// 0: x86-64-v3, 1: x86-64-v4; -1: older than both.
int cpu_level(void);
// Cores inside the affinity mask and the CPU quota of the control group.
uint32_t cpu_count(void);
// Bytes of memory: the machine's, or the control group's limit when that is lower.
int64_t cpu_memory(void);

#endif
