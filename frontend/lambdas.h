// Lambdas: the table of the functions over lists that take one, lambdas.def.
//
// Their types cannot be listed: the result of the lambda says them.
#ifndef SBC_FRONTEND_LAMBDAS_H
#define SBC_FRONTEND_LAMBDAS_H

#include "ir/expr.h"

enum {
    LAMBDA_FN_COUNT = 0
#define LAMBDA(...) +1
#include "frontend/lambdas.def"
};

typedef struct LambdaFn {
    ExprOp      op;            // CALL: none, the checker makes it of others.
    const char *name;
    uint32_t    args, params;  // Of the call; of its lambda.
    const char *signature, *doc, *example;
} LambdaFn;

extern const LambdaFn lambda_functions[LAMBDA_FN_COUNT];

// Puts their names into `names`, which has room for LAMBDA_FN_COUNT. Returns how many.
size_t lambda_function_names(Text *names);

#endif
