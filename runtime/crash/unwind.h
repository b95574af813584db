// Unwind: from a frame to its caller, by the call frame information of .eh_frame (DWARF section
// 6.4 as the x86-64 ABI uses it). Async-signal-safe.
#ifndef SBC_RUNTIME_UNWIND_H
#define SBC_RUNTIME_UNWIND_H

#include "runtime/crash/image.h"

// Numbered as DWARF does.
enum { REGISTER_RBP = 6, REGISTER_RSP = 7, REGISTER_RIP = 16, REGISTER_COUNT = 17 };

typedef struct Registers {
    uint64_t at[REGISTER_COUNT];
    uint64_t stack_end;  // Nothing after it is read; 0: it is not known.
} Registers;

// Those of the signal's context, a ucontext_t.
Registers registers_of(const void *context);

// Steps from a frame to the one that called it. `called`: rip is a return address, which may stand
// after the last instruction of its function. False: this was the last, or nothing describes it.
// Reads the stack as it finds it: on a broken one this is a second crash.
bool unwind_step(const Modules *modules, Registers *registers, bool called);

#endif
