// Header: the C prototypes of a program's extern functions.
#ifndef SBC_DRIVER_HEADER_H
#define SBC_DRIVER_HEADER_H

#include "codegen/build/extern.h"
#include "driver/session.h"

// A whole header file for any checked program, and what its C files are held against.
ExternHeader header_of(const Session *s);

// One prototype, as users write it.
Text header_prototype(Arena *arena, const ExternFn *fn);

int header_command(const Options *options);  // sbc header FILE

#endif
