// cse: one node for equal work of a row, within an operator and across those that it goes through.
//
// Equal nodes are one already unless they can fault: those keep apart by their places in the
// program. Here the later one takes the earlier one's. Nothing is moved: only what was judged for
// sure before, for the same row, is used again, so that no row meets a fault that it did not meet.
//
// Across operators: what a projection computed as a column is read from there; what a filter
// judged is its node, whose value generated code still has (codegen/emit_expr.c).
#include "ir/pass.h"
#include "ir/rewrite.h"

enum : uint32_t { NOWHERE = UINT32_MAX };
enum { KNOWN_MAX = 64, LOOK_BACK_MAX = 256 };  // Keep thousands of expressions linear.

// What was judged of the rows that leave an operator, over its output columns.
typedef struct Known {
    ExprId   expr;
    uint32_t column;  // That holds it; NOWHERE: none does.
    Span     span;    // Where it was written.
} Known;

typedef struct KnownList {
    Known *items;
    size_t count, cap;
} KnownList;

typedef struct Merger {
    Graph           *graph;
    Remarks         *remarks;
    Usage            usage;
    // Nodes that can fault: those that filters judged, `kept` of them; those judged for columns;
    // from `own` on those of the operator itself.
    ExprId          *seen;
    size_t           count, cap, kept, own;
    const KnownList *known;      // Of the operator's input.
    KnownList       *lists;      // By operator.
    // Of a projection: the output column that is a copy of an input column, or NOWHERE.
    const uint32_t  *copies;
    Rewrite          carry;      // Over them; EXPR_NONE where that cannot be said.
} Merger;

// ---- within an operator -------------------------------------------------------------------------

static bool same_work(const Graph *graph, ExprId id, const Expr *node) {
    const Expr *other = graph_at(graph, id);
    if (other->op != node->op || other->type != node->type || other->fn != node->fn ||
        other->handler != node->handler || other->proven != node->proven ||
        other->fits != node->fits || other->arg_count != node->arg_count)
        return false;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (!expr_same(other->args[i], node->args[i])) return false;
    return true;
}

static ExprId merge_node(void *self, Graph *graph, ExprId id, const ExprId *args) {
    Merger *merger = self;
    ExprId made = rewrite_same(graph, id, args);
    const Expr *node = graph_at(graph, made);
    bool impure = node->op == EXPR_CALL && (node->fn->traits & FN_IMPURE);
    if (!node->faults || impure || !node->arg_count) return made;
    size_t first = merger->count > LOOK_BACK_MAX ? merger->count - LOOK_BACK_MAX : 0;
    for (size_t i = first; i < merger->count; i++) {
        ExprId seen = merger->seen[i];
        if (node->op == EXPR_FIELD || !same_work(graph, seen, node)) continue;
        bool again = i >= merger->kept && i < merger->own;  // Its value is not at hand.
        if (!expr_same(seen, made) && !again)
            remark_as(merger->remarks, node->span, graph_at(graph, seen)->span,
                      "is computed once, with the same in");
        return seen;
    }
    arena_push(graph->arena, merger->seen, merger->count, merger->cap, made);
    return made;
}

// Over the columns of the input: also what a column holds already.
static ExprId merge_over_input(void *self, Graph *graph, ExprId id, const ExprId *args) {
    const Merger *merger = self;
    ExprId made = merge_node(self, graph, id, args);
    if (!graph_at(graph, made)->arg_count) return made;  // It is no work.
    for (size_t i = 0; i < merger->known->count; i++) {
        const Known *known = &merger->known->items[i];
        if (known->column == NOWHERE || !expr_same(known->expr, made)) continue;
        Span span = graph_at(graph, id)->span;
        remark_as(merger->remarks, span, known->span, "is read from the column computed in");
        return graph_column(graph, 0, known->column, graph_at(graph, made)->type, span);
    }
    return made;
}

// ---- across operators ---------------------------------------------------------------------------

// How many of a node's arguments are judged whenever the node is.
static uint32_t judged_args(const Expr *node) {
    switch ((int)node->op) {
    case EXPR_IF: case EXPR_AND: case EXPR_OR: case EXPR_COALESCE: return 1;
    case EXPR_ELSE: return 0;  // Its fault is no fault.
    // A lambda is judged for elements, if there are any.
    case EXPR_LIST_MAP: case EXPR_LIST_FILTER: case EXPR_LIST_ANY: case EXPR_LIST_ALL:
    case EXPR_LIST_REDUCE:
        return node->arg_count - 1;
    }
    return node->arg_count;
}

// Whatever is judged with `root` and can fault: it did not.
static void see_judged(Merger *merger, ExprId root) {
    Graph *graph = merger->graph;
    size_t at = merger->count;
    if (!graph_faults(graph, root)) return;
    arena_push(graph->arena, merger->seen, merger->count, merger->cap, root);
    for (; at < merger->count && merger->count < LOOK_BACK_MAX; at++) {
        const Expr *node = graph_at(graph, merger->seen[at]);
        for (uint32_t i = 0; i < judged_args(node); i++) {
            bool known = !graph_faults(graph, node->args[i]);
            for (size_t k = 0; k < merger->count && !known; k++)
                known = expr_same(merger->seen[k], node->args[i]);
            if (!known)
                arena_push(graph->arena, merger->seen, merger->count, merger->cap, node->args[i]);
        }
    }
}

static void see_known(Merger *merger) {
    const KnownList *known = merger->known;
    merger->count = 0;
    for (size_t i = 0; i < known->count; i++)
        if (known->items[i].column == NOWHERE) see_judged(merger, known->items[i].expr);
    merger->kept = merger->count;
    for (size_t i = 0; i < known->count; i++)
        if (known->items[i].column != NOWHERE) see_judged(merger, known->items[i].expr);
    merger->own = merger->count;
}

static void learn(const Merger *merger, KnownList *list, Known known) {
    if (list->count < KNOWN_MAX)
        arena_push(merger->graph->arena, list->items, list->count, list->cap, known);
}

// Of a row that is kept each side of an `and` was judged.
static void learn_pred(const Merger *merger, KnownList *list, ExprId pred) {
    const Expr *node = graph_at(merger->graph, pred);
    if (node->op != EXPR_AND) {
        learn(merger, list, (Known){pred, NOWHERE, node->span});
        return;
    }
    learn_pred(merger, list, node->args[0]);
    learn_pred(merger, list, node->args[1]);
}

// The node over the projection's output columns.
static ExprId carry_node(void *self, Graph *graph, ExprId id, const ExprId *args) {
    const Merger *merger = self;
    const Expr *node = graph_at(graph, id);
    bool other = node->op == EXPR_CALL && (node->fn->traits & (FN_IMPURE | FN_RANDOM));
    if (node->op == EXPR_RAW || other) return EXPR_NONE;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (expr_is_none(args[i])) return EXPR_NONE;
    if (node->op != EXPR_COLUMN) return rewrite_same(graph, id, args);
    uint32_t column = merger->copies[node->index];
    return column == NOWHERE ? EXPR_NONE
                             : graph_column(graph, 0, column, node->type, node->span);
}

static const uint32_t *copies_of(const Graph *graph, const Op *op) {
    uint32_t count = graph_op_at(graph, op->inputs[0])->column_count;
    uint32_t *copies = arena_new_array(graph->arena, uint32_t, count + 1);
    for (uint32_t i = 0; i < count; i++) copies[i] = NOWHERE;
    for (uint32_t i = op->project.count; i-- > 0;) {
        const Expr *node = graph_at(graph, op->project.items[i].expr);
        if (node->op == EXPR_COLUMN) copies[node->index] = i;
    }
    return copies;
}

static void learn_over(Merger *merger, KnownList *list, Known known) {
    known.expr = rewrite_expr(&merger->carry, known.expr);
    if (!expr_is_none(known.expr)) learn(merger, list, known);
}

static void learn_project(Merger *merger, const Op *op, KnownList *list) {
    const Graph *graph = merger->graph;
    merger->copies = copies_of(graph, op);
    rewrite_forget(&merger->carry);
    for (size_t i = 0; i < merger->known->count; i++) {
        Known known = merger->known->items[i];
        if (known.column == NOWHERE || merger->copies[known.column] == NOWHERE) continue;
        known.column = merger->copies[known.column];
        learn_over(merger, list, known);
    }
    for (uint32_t i = 0; i < op->project.count && list->count < KNOWN_MAX; i++) {
        ExprId id = op->project.items[i].expr;
        const Expr *node = graph_at(graph, id);
        Span span = node->span;
        // What nobody reads is not judged: reading it now would judge it.
        bool judged = merger->usage.columns[op->id.i][i] || !node->faults;
        if (judged && node->arg_count) learn_over(merger, list, (Known){id, i, span});
    }
}

static KnownList known_behind(Merger *merger, const Op *op) {
    KnownList list = {0};
    switch (op->kind) {
    case OP_SOURCE:
        for (uint32_t i = 0; i < op->source.filter_count; i++)
            learn_pred(merger, &list, op->source.filters[i].pred);
        break;
    case OP_FILTER: case OP_SAMPLE: case OP_HINT:
        for (size_t i = 0; i < merger->known->count; i++)
            learn(merger, &list, merger->known->items[i]);
        if (op->kind == OP_FILTER) learn_pred(merger, &list, op->filter.pred);
        break;
    case OP_PROJECT: learn_project(merger, op, &list); break;
    // Their rows are made anew, or wait: what they do not carry is gone.
    case OP_EXPLODE: case OP_GROUP: case OP_SORT: case OP_LIMIT: case OP_DISTINCT: case OP_JOIN:
    case OP_UNION: case OP_ZIP: case OP_SHUFFLE: case OP_SINK: case OP_WINDOW:
        break;
    }
    return list;
}

// ---- the pass -----------------------------------------------------------------------------------

typedef struct Slots {
    Rewrite over_input, others;
} Slots;

static void merge_slot(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    (void)wanted;
    Slots *slots = self;
    *slot = rewrite_expr(scope == SCOPE_INPUT ? &slots->over_input : &slots->others, *slot);
}

void pass_cse(PassContext *context) {
    Graph *graph = context->graph;
    Merger merger = {.graph = graph, .remarks = context->remarks, .usage = graph_usage(graph),
                     .lists = arena_new_array(graph->arena, KnownList, graph->op_count + 1)};
    Slots slots = {rewrite_make(graph, merge_over_input, &merger),
                   rewrite_make(graph, merge_node, &merger)};
    merger.carry = rewrite_make(graph, carry_node, &merger);
    const KnownList none = {0};
    for (size_t i = 0; i < graph->op_count; i++) {
        Op *op = &graph->ops[i];
        merger.known = op->input_count == 1 ? &merger.lists[op->inputs[0].i] : &none;
        see_known(&merger);
        rewrite_forget(&slots.over_input);
        rewrite_forget(&slots.others);
        op_each_expr(op, &slots, merge_slot);
        merger.lists[i] = known_behind(&merger, op);
    }
}
