// Rules of functions of whole tensors: a call, and what its arguments may be.
#ifndef SBC_FRONTEND_TENSOR_CALLS_H
#define SBC_FRONTEND_TENSOR_CALLS_H

#include "frontend/checker.h"

typedef struct TensorCall {
    Checker         *checker;
    Scope           *scope;
    TensorFnId       id;
    const TensorFn  *fn;
    const Arguments *args;
    const Type     **types;  // Of the arguments; of what is written out once it is known.
    Span             span;
} TensorCall;

static inline Value tensor_no_value(const TensorCall *call) { return error_value(call->checker); }

static inline Span tensor_span(const TensorCall *call, uint32_t i) {
    return call->args->exprs[i]->span;
}

static inline const char *tensor_say(const TensorCall *call, const Type *type) {
    return type_say(call->checker, type);
}

static inline const Type *tensor_kind(const TensorCall *call, TypeKind kind) {
    return kind_type(call->checker, kind);
}

static inline bool tensor_is_open(const Type *type) { return type_open_count(type) > 0; }

// Reports that argument `i` is not what the function takes: `wants` says what that is.
Value tensor_bad_argument(const TensorCall *call, uint32_t i, const char *wants, const char *fix);
// Reports a result that no tensor may be.
Value tensor_too_large(const TensorCall *call, const Type *x);
// A tensor that is not null, or what is written out as one with elements as those of `like`.
// False: reported.
bool  tensor_at(const TensorCall *call, uint32_t i, const Type *like, TensorOperand *out);
// A constant integer. False: reported.
bool  tensor_whole_at(const TensorCall *call, uint32_t i, int64_t *out);
Value tensor_number_of(const TensorCall *call, int64_t value);  // A constant, i64.
// The same elements in a shape that has as many.
Value tensor_reshaped(const TensorCall *call, Value x, const uint32_t *shape, uint32_t rank);

Value check_tensor_reshape(const TensorCall *call);  // check_tensor_reshape.c

#endif
