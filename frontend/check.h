// Check: AST to graph. Names, types, traits, schemas; what passes has a meaning, all of it.
#ifndef SBC_FRONTEND_CHECK_H
#define SBC_FRONTEND_CHECK_H

#include "frontend/ast.h"
#include "frontend/declare.h"
#include "frontend/diag.h"

// Infers the type of a source without `as` from its first file: a struct type, or null after
// filling `error`. With a type, `error` may hold advice, which becomes a note. The driver supplies
// it; the checker itself opens no data file.
typedef const Type *InferFn(void *self, const SourceOp *source, Text path, TypeTable *types,
                            TextBuf *error);

// A constant argument that the library is asked to judge.
typedef struct ConstantText {
    DomainKind domain;
    Text       text;
    Text       pattern;    // DOMAIN_GROUP, DOMAIN_REPLACEMENT: that the groups are of.
    bool       is_number;  // DOMAIN_GROUP by `number`.
    int64_t    number;
} ConstantText;

// What is wrong with it.
typedef struct ConstantFault {
    Text   message;   // "no such time zone"
    size_t position;  // In the text, bytes: where a label may point.
    Text   near;      // A name that is close; empty: none.
} ConstantFault;

// True: the constant is good. The driver supplies it; the library's C is not below frontend/.
typedef bool JudgeFn(Arena *arena, const ConstantText *asked, ConstantFault *fault);

// False: out->wrong. The driver supplies it.
typedef bool LoadFn(Arena *arena, TypeTable *types, Text path, FileTensor *out);

typedef struct TestRows {    // `given` or `expect` of a test block.
    bool   expect;
    OpId   flow;             // The operator whose output rows these replace, or are compared with.
    Const *rows;             // Structs, items in the order of the flow's visible columns.
    uint32_t row_count;
    Span   span;
    Text   name;
} TestRows;

typedef struct TestBlock {
    Text      title;
    TestRows *rows;
    uint32_t  row_count;
    Span      span;
} TestBlock;

typedef struct CheckInput {
    Arena      *arena;
    TypeTable  *types;
    SourceSet  *sources;
    Diags      *diags;
    const DeclTable *decls;
    InferFn    *infer;        // Null: a source without `as` is an error.
    void       *infer_self;
    JudgeFn    *judge;        // Null: constant texts are taken as they are.
    LoadFn     *load;         // Null: no file is one.
    bool        want_tests;   // Build the graph of every `let`, used or not, and the tests.
    bool        table_sink;   // `run -e`: a flow without `write` gets a CSV sink to "-".
} CheckInput;

// An `extern fn` as C sees it.
typedef struct ExternFn {
    const FnRef *ref;
    const Field *params;
    uint32_t     param_count;
    const Type  *result;
    Span         name_span, file_span;
} ExternFn;

typedef struct Program {
    AstFile  **files;         // The main file first, then what `use` brought, in order.
    size_t     file_count;
    Graph     *graph;         // Null when there are errors.
    TestBlock *tests;
    size_t     test_count;
    ExternFn  *externs;
    size_t     extern_count, extern_cap;
    Text      *loaded;        // The bytes of files that are constants.
    size_t     loaded_count, loaded_cap;
    OpId       table;         // The sink that `run -e` added; OP_NONE: none.
} Program;

// Checks the program whose main file is `file`; files named by `use` are loaded and parsed too.
// Problems go to input->diags; the graph is null if one of them is an error.
Program *check_program(const CheckInput *input, uint32_t file);

#endif
