// Cpu: what a job may use of this machine: cores, memory.
#ifndef SBC_RUNTIME_CPU_H
#define SBC_RUNTIME_CPU_H

#include <stdint.h>

// Cores inside the affinity mask and the CPU quota of the control group.
uint32_t cpu_count(void);
// Bytes of memory: the machine's, or the control group's limit when that is lower.
int64_t cpu_memory(void);

#endif
