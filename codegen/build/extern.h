// Extern: the C files that `extern fn` names, compiled to objects for a job or loaded into sbc.
#ifndef SBC_CODEGEN_BUILD_EXTERN_H
#define SBC_CODEGEN_BUILD_EXTERN_H

#include "codegen/build/user_symbols.h"
#include "ir/graph.h"

typedef struct ExternFiles {
    Text  *paths;   // Each C file once, in the order of their first call.
    size_t count, cap;
    const FnRef **fns;  // What is called of them.
    size_t fn_count, fn_cap;
} ExternFiles;

// Why there is no code for what a program calls.
typedef struct ExternFault {
    TextBuf     message;  // One line; empty: functions are missing, which are listed.
    TextBuf     said;     // By the C compiler; may be empty.
    Text        path;     // The C file that is at fault; empty: none is.
    const FnRef **missing;  // Functions that no file defines.
    size_t      missing_count, missing_cap;
    UserSymbols defined;  // What the files define.
} ExternFault;

// The C files of all functions that the graph calls.
ExternFiles extern_files(const Graph *graph);

// What their code is made of, as parts of a cache key: their texts, and those of the files that
// they include by #include "...". False: a file cannot be read.
bool extern_key(Arena *arena, const ExternFiles *files, TextBuf *parts, ExternFault *fault);

typedef struct ExternBuild {
    const char  *folder;     // For objects; the caller removes it with extern_remove.
    const char **objects;    // Null-terminated; room for one more.
    size_t       count;
} ExternBuild;

// Compiles each to an object. `header` holds the prototypes; the files may include it as
// "pipeline.h".
bool extern_compile(Arena *arena, const ExternFiles *files, Text header, ExternBuild *out,
                    ExternFault *fault);
void extern_remove(const ExternBuild *build);

// Makes their functions known to the reference interpreter, for as long as sbc runs.
bool extern_load(Arena *arena, const ExternFiles *files, Text header, ExternFault *fault);

#endif
