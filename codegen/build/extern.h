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
    bool   python;  // Functions in Python are called too, which no file here has.
} ExternFiles;

// What a C file is held against: one declaration of a program.
typedef struct ExternDecl {
    const FnRef *ref;
    Text         prototype;  // C, of built-in types and without names: it means the same anywhere.
    Text         path;       // Of the program, and the line there.
    unsigned     line;
} ExternDecl;

typedef struct ExternHeader {
    Text              text;    // What C files may include as "pipeline.h".
    const ExternDecl *decls;
    size_t            count;
} ExternHeader;

// Why there is no code for what a program calls.
typedef struct ExternFault {
    TextBuf     message;  // One line; empty: functions are missing or differ, which are listed.
    TextBuf     said;     // By the C compiler; may be empty.
    Text        path;     // The C file that is at fault; empty: none is.
    const FnRef **missing;  // Functions that no file defines.
    size_t      missing_count, missing_cap;
    const ExternDecl **differing;  // Functions that the file `path` has with other types.
    size_t      differing_count, differing_cap;
    UserSymbols defined;  // What the files define.
} ExternFault;

// The C files of all C functions that the graph calls.
ExternFiles extern_files(const Graph *graph);

// What their code is made of, as parts of a cache key: their texts, and those of the files that
// they include by #include "...". False: a file cannot be read.
bool extern_key(Arena *arena, const ExternFiles *files, TextBuf *parts, ExternFault *fault);

typedef struct ExternBuild {
    const char  *folder;     // For objects; the caller removes it with extern_remove.
    const char **objects;    // Null-terminated; room for one more.
    size_t       count;
} ExternBuild;

// Compiles each to an object, and holds it against the declarations that name it.
bool extern_compile(Arena *arena, const ExternFiles *files, const ExternHeader *header,
                    ExternBuild *out, ExternFault *fault);
void extern_remove(const ExternBuild *build);

// Makes their functions known to the reference interpreter, for as long as sbc runs.
bool extern_load(Arena *arena, const ExternFiles *files, const ExternHeader *header,
                 ExternFault *fault);

#endif
