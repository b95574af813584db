// Link: runs the linker over objects and the runtime.
#ifndef SBC_CODEGEN_BUILD_LINK_H
#define SBC_CODEGEN_BUILD_LINK_H

#include "ir/text.h"

typedef struct LinkInput {
    const char *const *objects;  // Null-terminated.
    const char *runtime;         // libsbrt.a
    const char *output;
} LinkInput;

// False: `error` holds what the linker said.
bool link_run(Arena *arena, const LinkInput *input, TextBuf *error);

#endif
