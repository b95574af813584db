// Compile: a checked program through passes, plan and code generation to an executable.
#ifndef SBC_DRIVER_COMPILE_H
#define SBC_DRIVER_COMPILE_H

#include "driver/session.h"

// The key of what would be compiled from a checked program, with all that it depends on. An exit
// code; what is wrong was said.
int compile_key(const Session *s, const char *cache, const char **key);

// Makes the executable `output`. An exit code; what is wrong was said.
int compile_to(Session *s, const char *output);

// Compiles where nobody else sees it and keeps no name: the open file `fd` is all that is left, -1
// if it cannot be opened. An exit code; what is wrong was said.
int compile_unnamed(Session *s, int *fd);

#endif
