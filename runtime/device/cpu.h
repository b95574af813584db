// Cpu: what the system lets a process use of this machine: cores, memory, GPUs.
#ifndef SBC_RUNTIME_CPU_H
#define SBC_RUNTIME_CPU_H

#include <stdint.h>

// Cores inside the affinity mask and the CPU quota of the control group.
uint32_t cpu_count(void);
// Bytes of memory: the machine's, or the control group's limit when that is lower.
int64_t cpu_memory(void);
// GPUs of NVIDIA whose device the process may open; no more than CUDA_VISIBLE_DEVICES names.
uint32_t cpu_gpus(void);

#endif
