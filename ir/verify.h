// Private to verify*.c: the verifier's state.
#ifndef SBC_IR_VERIFY_H
#define SBC_IR_VERIFY_H

#include "ir/pass.h"
#include "ir/walk.h"

typedef struct Verifier {
    const Graph *graph;
    const Op    *op;      // The operator at hand; null for the graph itself.
    TextBuf     *errors;
    Walk         walk;
    Walk         lambda, free;  // Of verify_expr.c.
    bool        *checked; // By node: verify_node saw it. Nodes that nothing uses are not looked at.
    bool         broken;
} Verifier;

void verify_say(Verifier *verifier, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The node by itself: arity, order, types. Speaks of expressions by number.
void verify_node(Verifier *verifier, ExprId id);

// The nodes below `root`; and whether their columns exist in the scope, with the type they claim.
void verify_expr(Verifier *verifier, ExprId root, ColumnScope scope);

#endif
