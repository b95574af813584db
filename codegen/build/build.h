// Build: from a plan to an executable: code generation (loaded on demand), objects, the linker.
#ifndef SBC_CODEGEN_BUILD_BUILD_H
#define SBC_CODEGEN_BUILD_BUILD_H

#include "codegen/codegen.h"

// Where the parts of an installed sbc lie: beside its executable.
typedef struct Installation {
    const char *codegen;   // libsbc-codegen.so
    const char *runtime;   // libsbrt.a
} Installation;

// False: `error` says what is missing.
bool installation_find(Arena *arena, Installation *out, TextBuf *error);

// The text of CODEGEN_LLVM or CODEGEN_ASM. False: `error` says why.
bool build_text(Arena *arena, const Plan *plan, const CodegenOptions *options, CodegenForm form,
                TextBuf *out, TextBuf *error);

// Makes the executable `output`: written beside it under another name, then renamed. `objects` are
// further files to link (extern functions). False: `error` says why.
bool build_job(Arena *arena, const Plan *plan, const CodegenOptions *options, const char *output,
               const char *const *objects, TextBuf *error);

// A fresh folder for temporary files, in $TMPDIR or /tmp; the caller removes it.
bool build_folder(Arena *arena, const char **folder, TextBuf *error);

#endif
