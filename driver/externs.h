// Externs: what is wrong with the C files of a program, said where it declares their functions.
#ifndef SBC_DRIVER_EXTERNS_H
#define SBC_DRIVER_EXTERNS_H

#include "codegen/build/extern.h"
#include "driver/session.h"

// Says what the fault is, and frees it. Gives the exit code.
int externs_complain(const Session *s, ExternFault *fault);

#endif
