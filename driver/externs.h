// Externs: what is wrong with the C files of a program, said where it declares their functions.
#ifndef SBC_DRIVER_EXTERNS_H
#define SBC_DRIVER_EXTERNS_H

#include "codegen/build/extern.h"
#include "driver/session.h"

// Holds the C files of all functions that a checked program declares against it, the ones that are
// not called included. What was found good is known from the cache until a file changes. An exit
// code; what is wrong was said.
int externs_check(const Session *s);

// Says what the fault is, and frees it. Gives the exit code.
int externs_complain(const Session *s, ExternFault *fault);

#endif
