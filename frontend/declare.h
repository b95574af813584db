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
    DECL_ZONE,    // The name of a time zone, a constant or not.
    DECL_CONST,   // A constant expression of the type.
} DeclParamKind;

// What values a parameter takes. A constant beyond it is an error of the program, any other value
// a fault of its row (SB7025).
typedef enum DomainKind {
    DOMAIN_ALL,
    DOMAIN_RANGE,         // From `min` to `max`.
    DOMAIN_FROM,          // From the value of parameter `other` on.
    DOMAIN_SAID,          // What `says` says: only the function itself can tell.
    // Texts that the library judges before the job runs:
    DOMAIN_PATTERN, DOMAIN_ZONE, DOMAIN_ENCODING,
    DOMAIN_READ_FORM, DOMAIN_WRITE_FORM,    // A format that times are read by, written by.
    DOMAIN_READ_CLOCK, DOMAIN_WRITE_CLOCK,  // The same for durations.
    DOMAIN_DATE_UNIT, DOMAIN_TIME_UNIT,     // What a date, a timestamp is truncated to.
    DOMAIN_WHOLE_FORM, DOMAIN_NUMBER_FORM,  // A format of integers, of numbers.
    DOMAIN_JSON_PATH,
    DOMAIN_JSON_PATHS,    // With * for all parts.
    DOMAIN_CHARACTER,     // One character.
    DOMAIN_SOME_TEXT,     // Not empty.
    DOMAIN_GROUP,         // The number or name of a group of the pattern `other`.
    DOMAIN_REPLACEMENT,   // A text whose $1, ${name} are groups of the pattern `other`.
} DomainKind;

typedef struct Domain {
    DomainKind kind;
    int64_t    min, max;  // INT64_MAX: no bound. Of durations in microseconds.
    uint32_t   other;
    Text       says;      // "from 0 to 1": after "is".
} Domain;

// What stands around the type variable T.
typedef enum DeclAround {
    AROUND_LISTS,    // T, [T], [[T]]: see `lists`.
    AROUND_MAP,      // {str: T}
    AROUND_ENTRIES,  // [{key: str, value: T}]
} DeclAround;

typedef struct DeclParam {
    Text          name;
    DeclParamKind kind;
    Domain        domain;
    const Type   *type;      // Null: the type variable T, and what is around it.
    DeclAround    around;
    uint8_t       lists;     // AROUND_LISTS: 1 is [T], 2 is [[T]]. Others: 1.
    bool          nullable;  // T?
    bool          decimal;   // Any decimal, widened to decimal(38, s).
    bool          any_unit;  // A timestamp of any unit; all of one call are taken to the finest.
} DeclParam;

typedef struct Decl {
    Text        name;
    bool        aggregate;
    DeclParam   params[DECL_PARAMS_MAX];
    uint32_t    param_count;
    const Type *result;        // Null: T, T? or what is around T, by the next three.
    DeclAround  result_around;
    bool        result_nullable;
    uint8_t     result_lists;  // As those of a parameter.
    bool        result_decimal;  // decimal(38, s) of the first argument.
    bool        result_unit;     // A timestamp of the unit that the arguments are taken to.
    FnRef       fn;            // Functions; of aggregates `domain` alone.
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
