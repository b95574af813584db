// Private to codegen/cuda: operators as templates, types as names, the dialect as strings.
#ifndef SBC_CODEGEN_CUDA_TABLE_H
#define SBC_CODEGEN_CUDA_TABLE_H

#include "ir/expr.h"

// In a template $0 and $1 are the values of the arguments, $n is 1 unless an argument is null, and
// $T is the name of the result's type.
typedef struct Template {
    const char *value;
    const char *fault;  // 1 where the operator faults. Null: it never does.
} Template;

// Words of the language that differ between those which compile kernels.
typedef struct Dialect {
    const char *include;      // Of the functions that kernels call.
    const char *include_groups;  // Of those that fill groups.
    const char *include_reductions;  // Of those that kernels over segments call besides.
    const char *include_keepers;  // Of those that bring kept rows together.
    const char *kernel;       // Before a kernel's name.
    const char *arguments;    // Before its parameter, a struct.
    const char *function;     // Before a function that only kernels call.
    const char *table;        // Before an array of constants.
    const char *barrier;      // All lanes of a block wait for each other.
    const char *lane, *lanes; // The lane's number in its block, and how many there are.
    const char *block, *blocks;
    const char *first, *step; // The lane's number, and how many lanes there are.
    const char *unroll;       // Before a short loop.
} Dialect;

extern const Dialect cuda_dialect;

// The name of a number's type, null or not; its bytes in memory are those of type_size.
const char *cuda_type(const Type *type);

// Of a value that is computed with: f16 and bf16 are f32 there.
const char *cuda_value_type(const Type *type);

// How the operator is computed over arguments of the type `from`. The value is null: not by a
// template.
Template cuda_template(const Expr *x, const Type *from);

#endif
