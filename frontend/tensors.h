// Tensors: the table of the functions of whole tensors, tensors.def.
//
// Their types cannot be listed: each has a rule that makes a shape of shapes.
#ifndef SBC_FRONTEND_TENSORS_H
#define SBC_FRONTEND_TENSORS_H

#include "ir/text.h"

typedef enum TensorFnId {
#define TENSOR(name, ...) TENSOR_FN_##name,
#include "frontend/tensors.def"
    TENSOR_FN_COUNT,
} TensorFnId;

typedef struct TensorFn {
    const char *name;
    uint32_t    least, most;  // Arguments.
    const char *signature, *doc, *example;
    bool        fallible;
} TensorFn;

extern const TensorFn tensor_functions[TENSOR_FN_COUNT];

// Puts their names into `names`, which has room for TENSOR_FN_COUNT. Returns how many.
size_t tensor_function_names(Text *names);

#endif
