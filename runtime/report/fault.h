// Fault: what a status of the standard library or of generated code means to a user, from the table
// runtime/abi/faults.def.
#ifndef SBC_RUNTIME_FAULT_H
#define SBC_RUNTIME_FAULT_H

#include "runtime/abi/value.h"

typedef struct FaultInfo {
    const char *code, *message, *fix;
    const char *computed_fix;  // The fix where the program computes the value; "": the same.
} FaultInfo;

// Of a number that is no fault: one that says so.
const FaultInfo *fault_info(int32_t fault);

#endif
