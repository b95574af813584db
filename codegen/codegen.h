// Codegen: plan to object code, with LLVM. This is all that the driver sees of it; it lives in
// libsbc-codegen.so, which is loaded only when code is generated.
#ifndef SBC_CODEGEN_CODEGEN_H
#define SBC_CODEGEN_CODEGEN_H

#include "codegen/cuda/cuda.h"

typedef enum CodegenForm { CODEGEN_OBJECT, CODEGEN_LLVM, CODEGEN_ASM } CodegenForm;

// The kernels of a stage, and the code that was made of them.
typedef struct CodegenKernels {
    const CudaUnit *unit;   // Null: the job has no kernels for the stage.
    const CudaPart *parts;
    size_t          part_count;
    unsigned        toolkit;  // That made them: 13050 for CUDA 13.5.
} CodegenKernels;

typedef struct CodegenOptions {
    const char  *job_name;     // The pipeline file, for messages and debug information.
    const char  *plan_text;    // What the job prints for --plan.
    const char  *source_hash;
    const char  *folder;       // The working folder: modules of Python are found from there.
    const Text  *paths;        // Of the source files, by Span.file.
    const Text  *sources;      // Their texts.
    unsigned     levels;       // Bit 0: x86-64-v3, bit 1: x86-64-v4.
    bool         verify;       // Run LLVM's verifier.
    CodegenForm  form;         // Of the output.
    const CodegenKernels *kernels;  // By stage; null: the job has none.
} CodegenOptions;

enum { CODEGEN_OBJECTS_MAX = 4 };

typedef struct CodegenOutput {
    TextBuf bytes;                         // The objects, one after the other, or a text.
    size_t  lengths[CODEGEN_OBJECTS_MAX];  // Of the objects; 0: there is none.
} CodegenOutput;

// Generates one object for each level and one for the constant data; with CODEGEN_LLVM and
// CODEGEN_ASM the text of the lowest level. Appends to an empty `out`. False: `error` says why, and
// sbc has a defect.
typedef bool CodegenFn(const Plan *plan, const CodegenOptions *options, CodegenOutput *out,
                       TextBuf *error);

CodegenFn codegen_run;  // The symbol that the driver looks up.

#endif
