// Codegen: plan to object code, with LLVM. This is all that the driver sees of it; it lives in
// libsbc-codegen.so, which is loaded only when code is generated.
#ifndef SBC_CODEGEN_CODEGEN_H
#define SBC_CODEGEN_CODEGEN_H

#include "ir/plan.h"

typedef enum CodegenForm { CODEGEN_OBJECT, CODEGEN_LLVM, CODEGEN_ASM } CodegenForm;

typedef struct CodegenOptions {
    const char  *job_name;     // The pipeline file, for messages and debug information.
    const char  *plan_text;    // What the job prints for --plan.
    const char  *source_hash;
    const Text  *paths;        // Of the source files, by Span.file.
    const Text  *sources;      // Their texts.
    unsigned     levels;       // Bit 0: x86-64-v3, bit 1: x86-64-v4.
    bool         verify;       // Run LLVM's verifier.
} CodegenOptions;

// Generates one object for each level and one for the constant data; with CODEGEN_LLVM and
// CODEGEN_ASM the text of the lowest level. Objects are appended to `out` and their lengths
// stored in `lengths` (at most 4). False: `error` says why; that is a defect of sbc.
typedef bool CodegenFn(const Plan *plan, const CodegenOptions *options, CodegenForm form,
                       TextBuf *out, size_t lengths[4], TextBuf *error);

CodegenFn codegen_run;  // The symbol that the driver looks up.

#endif
