// Declare: the standard library's declarations, read from stdlib/functions.decl.
//
// The language does not hard-code its library: names, types, traits, documentation and examples of
// every function stand in that file, whose form stdlib/README.md specifies.
#ifndef SBC_FRONTEND_DECLARE_H
#define SBC_FRONTEND_DECLARE_H

#include "frontend/diag.h"
#include "ir/graph.h"

enum { DECL_PARAMS_MAX = 6 };

typedef enum DeclParamKind {
    DECL_VALUE,   // An expression of the type.
    DECL_REGEX,   // A constant pattern.
    DECL_ZONE,    // A constant time zone name.
    DECL_CONST,   // A constant expression of the type.
    // Constant texts that are judged before the job runs:
    DECL_READ_FORM, DECL_WRITE_FORM,  // A format that times are read by, written by.
    DECL_DATE_UNIT, DECL_TIME_UNIT,   // What a date, a timestamp is truncated to.
} DeclParamKind;

typedef struct DeclParam {
    Text          name;
    DeclParamKind kind;
    const Type   *type;      // Null: the type variable T (see `list_of`).
    bool          list_of;   // [T]
    bool          nullable;  // T?
    bool          decimal;   // Any decimal, widened to decimal(38, s).
    bool          any_unit;  // A timestamp of any unit; all of one call are taken to the finest.
} DeclParam;

typedef struct Decl {
    Text        name;
    bool        aggregate;
    DeclParam   params[DECL_PARAMS_MAX];
    uint32_t    param_count;
    const Type *result;        // Null: T, [T] or T? by the flags.
    bool        result_list, result_nullable;
    bool        result_decimal;  // decimal(38, s) of the first argument.
    bool        result_unit;     // A timestamp of the unit that the arguments are taken to.
    FnRef       fn;            // Functions.
    AggRef      agg;           // Aggregates.
    Text        signature, doc, group;
    Text       *examples;      // Expressions of type bool that must be true.
    uint32_t    example_count;
} Decl;

typedef struct DeclTable {
    Decl   *items;  // Overloads of one name stand together, in the order of the file.
    size_t  count, cap;
} DeclTable;

// Reads the embedded declarations. Errors in them are a defect of sbc: diagnosed like a program's.
DeclTable *declare_stdlib(Arena *arena, TypeTable *types, Diags *diags);

// As declare_stdlib, of any text.
DeclTable *declare_text(Arena *arena, TypeTable *types, Diags *diags, Text text);

// The overloads of `name`: count and the first one, or null.
const Decl *declare_find(const DeclTable *table, Text name, size_t *count);

#endif
