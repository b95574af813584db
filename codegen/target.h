// Target: copies of the generated module for a CPU level, with the library inlined, optimised, as
// an object.
#ifndef SBC_CODEGEN_TARGET_H
#define SBC_CODEGEN_TARGET_H

#include "codegen/codegen.h"

#include <llvm-c/Core.h>

typedef struct TargetLevel {
    const char *name;    // Suffix of its functions: "v3".
    const char *cpu;     // "x86-64-v3"
} TargetLevel;

enum { TARGET_LEVELS = 2 };
extern const TargetLevel target_levels[TARGET_LEVELS];

typedef struct TargetWork {
    LLVMMemoryBufferRef bitcode;   // The module as generated; shared, read only.
    const TargetLevel  *level;     // Null: the data module.
    CodegenForm         form;
    bool                verify;
    bool                lowest;    // Of the levels: whose functions are used that are no stages.
    LLVMMemoryBufferRef result;    // The object or the text.
    TextBuf             error;     // Empty: all went well.
} TargetWork;

// Once a process, before any target_run; `bitcode_bytes` is the length of the module.
void target_init(size_t bitcode_bytes);
// Parses, links the library, renames what is specific to a level, optimises, emits. Any thread.
void target_run(TargetWork *work);

#endif
