// Names and arities of expression operators, from ops.def.
#include "ir/expr.h"

static const char *const names[] = {
#define EXPR(name, text, arity, faults, doc) [EXPR_##name] = text,
#include "ir/ops.def"
};

static const int8_t arities[] = {
#define EXPR(name, text, arity, faults, doc) [EXPR_##name] = arity,
#include "ir/ops.def"
};

static const bool faulting[] = {
#define EXPR(name, text, arity, faults, doc) [EXPR_##name] = faults,
#include "ir/ops.def"
};

const char *expr_op_name(ExprOp op) { return names[op]; }

int expr_op_arity(ExprOp op) { return arities[op]; }

bool expr_op_faults(ExprOp op) { return faulting[op]; }

bool expr_op_find(Text name, ExprOp *op) {
    for (size_t i = 0; i < countof(names); i++) {
        if (!text_is(name, names[i])) continue;
        *op = (ExprOp)i;
        return true;
    }
    return false;
}
