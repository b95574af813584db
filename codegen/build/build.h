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

// The text of the form CODEGEN_LLVM or CODEGEN_ASM. False: `error` says why.
bool build_text(Arena *arena, const Plan *plan, const CodegenOptions *options, TextBuf *out,
                TextBuf *error);

typedef struct JobFile {
    const char *path;  // Of the executable.
    // Further files to link, those of extern functions; null at the end. Null: there are none.
    const char *const *objects;
} JobFile;

// Makes the executable: written beside its path under another name, then renamed. options->form is
// CODEGEN_OBJECT. False: `error` says why.
bool build_job(Arena *arena, const Plan *plan, const CodegenOptions *options, JobFile file,
               TextBuf *error);

// A fresh folder for temporary files, in $TMPDIR or /tmp; the caller removes it.
bool build_folder(Arena *arena, const char **folder, TextBuf *error);

#endif
