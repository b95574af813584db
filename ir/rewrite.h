// Rewrite: new expressions from old ones, arguments first, each node once.
#ifndef SBC_IR_REWRITE_H
#define SBC_IR_REWRITE_H

#include "ir/walk.h"

// The node that replaces `id`, whose arguments have become `args`.
typedef ExprId RewriteNode(void *self, Graph *graph, ExprId id, const ExprId *args);

typedef struct Rewrite {
    Graph       *graph;
    RewriteNode *node;
    void        *self;
    ExprId      *memo;      // By old node.
    uint32_t    *known;     // By old node: the round that wanted it.
    uint32_t     round;
    size_t       cap;
    uint32_t    *below;     // Nodes below the root at hand.
    size_t       below_cap;
} Rewrite;

Rewrite rewrite_make(Graph *graph, RewriteNode *node, void *self);
void    rewrite_forget(Rewrite *rewrite);  // What a column means has changed: the next operator.
ExprId  rewrite_expr(Rewrite *rewrite, ExprId root);

// `id` itself if its arguments are the same, else its like with the new ones.
ExprId rewrite_same(Graph *graph, ExprId id, const ExprId *args);

// Rewrites all expressions of all operators, parameters and the rejects statement by one rule that
// does not depend on the operator.
void rewrite_graph(Graph *graph, RewriteNode *node, void *self);

#endif
