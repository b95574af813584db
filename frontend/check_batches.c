// Calls of functions over batches. Rows wait before such a call, so that its arguments are columns
// of a project of its own, and the call stands in the next one:
//
//   derive a = g(x), y = f(a + 1) * 2, z = y      f over batches
//   project  x, a = g(x), (a + 1)                 what comes before the call, in order
//   project  x, a, y = f(column 2) * 2, z = y     the call, and what comes after it
//
// So what is judged before what stays as the program has it, and so do faults.
#include "frontend/checker.h"

#include "ir/rewrite.h"

typedef struct Unit {
    ExprId   call;
    uint32_t item;     // In which it stands.
    bool     kept;     // A column has its value, since another call stands in the same item.
} Unit;

typedef struct Batches {
    Checker     *checker;
    const Scope *scope;
    StepId       step;
    Span         span;
    Flow         flow;
    Unit        *units;
    size_t       unit_count, unit_cap;
    ExprId      *made;       // By node: what has its value over the columns of the flow, or NONE.
    size_t       node_count;
    NamedExpr   *items;      // Of the project at hand; the first are the columns of the flow.
    size_t       item_count, item_cap;
    uint32_t     at;         // The item that is looked at.
} Batches;

static const Expr *node_at(const Batches *b, ExprId id) { return graph_at(b->checker->graph, id); }

static bool is_batch(const Expr *node) {
    return node->op == EXPR_CALL && node->fn->traits & FN_BATCH;
}

// ---- where calls stand --------------------------------------------------------------------------

static void misplaced(Checker *checker, const Expr *call, const char *reason) {
    Diag *diag = report(checker, DIAG_BATCH_PLACE, call->span,
                        "'%.*s' takes whole batches of rows and cannot be called here",
                        TEXT_ARG(call->fn->name));
    report_label(checker, diag, call->span, "%s", reason);
    report_fix(checker, diag, "call it in a `derive` before, as an item of its own: "
                              "derive y = %.*s(...)", TEXT_ARG(call->fn->name));
}

// What is around a call.
typedef struct Around {
    const char *reason;   // Why no call may stand there; null: one may.
    bool        handled;  // An `else` takes its faults.
} Around;

static void add_unit(Batches *b, ExprId id, Around around) {
    const Expr *call = node_at(b, id);
    Unit *last = b->unit_count ? &b->units[b->unit_count - 1] : nullptr;
    bool same_item = last && last->item == b->at;
    for (size_t i = 0; i < b->unit_count; i++)
        if (expr_same(b->units[i].call, id) && (&b->units[i] == last || b->units[i].kept)) return;
    bool faults = false;
    for (uint32_t i = 0; i < call->arg_count; i++)
        faults |= graph_faults(b->checker->graph, call->args[i]);
    if (!around.reason && around.handled && faults)
        around.reason = "an argument may fail too, and the `else` is around both";
    if (!around.reason && around.handled && same_item)
        around.reason = "it is the second such call under one `else`";
    if (around.reason) {
        misplaced(b->checker, call, around.reason);
        return;
    }
    if (same_item) last->kept = true;
    arena_push(b->checker->arena, b->units, b->unit_count, b->unit_cap,
               ((Unit){.call = id, .item = b->at}));
}

// Is argument `i` judged for some rows only?
static bool is_branch(const Expr *node, uint32_t i) {
    if (expr_has_lambda(node)) return i == node->arg_count - 1;
    switch (node->op) {
    case EXPR_AND: case EXPR_OR: case EXPR_COALESCE: case EXPR_IF: case EXPR_ELSE: return i > 0;
    default: return false;
    }
}

// In the order in which the job judges.
static void find_units(Batches *b, ExprId id, Around around) {
    const Graph *graph = b->checker->graph;
    const Expr *node = node_at(b, id);
    if (!node->batch) return;
    Around inside = around;
    inside.handled |= node->op == EXPR_ELSE;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        ExprId arg = node->args[i];
        if (is_branch(node, i))
            inside.reason = expr_has_lambda(node) ? "it would be called for each element"
                                                  : "it would be called for some rows only";
        find_units(b, arg, inside);
        bool alone = is_batch(node_at(b, arg));
        if (!inside.reason && !alone && (graph_faults(graph, arg) || graph_has_effects(graph, arg)))
            inside.reason = "what stands before it may fail first";
    }
    if (is_batch(node)) add_unit(b, id, around);
}

bool calls_batches(const Checker *checker, const Scope *scope) {
    for (uint32_t i = 0; i < scope->count; i++) {
        Value value = scope->names[i].value;
        if (!is_error(value.type) && graph_at(checker->graph, value.id)->batch) return true;
    }
    return false;
}

// ---- projects -----------------------------------------------------------------------------------

static ExprId replace(void *self, Graph *graph, ExprId id, const ExprId *args) {
    const Batches *b = self;
    if (id.i < b->node_count && !expr_is_none(b->made[id.i])) return b->made[id.i];
    return rewrite_same(graph, id, args);
}

// The expression over the columns of the flow as it is now.
static ExprId made_of(Batches *b, ExprId id) {
    Rewrite rewrite = rewrite_make(b->checker->graph, replace, b);
    return rewrite_expr(&rewrite, id);
}

static void begin_project(Batches *b) {
    const Op *input = graph_op_at(b->checker->graph, b->flow.op);
    b->items = nullptr;
    b->item_count = b->item_cap = 0;
    for (uint32_t i = 0; i < input->column_count; i++) {
        const Column *column = &input->columns[i];
        ExprId value = graph_column(b->checker->graph, 0, i, column->type, b->span);
        arena_push(b->checker->arena, b->items, b->item_count, b->item_cap,
                   ((NamedExpr){column->name, value, true}));
    }
}

// The number of the column of the project at hand that has the value.
static uint32_t keep(Batches *b, ExprId id, Text name) {
    ExprId value = made_of(b, id);
    for (uint32_t i = 0; i < b->item_count; i++)
        if (expr_same(b->items[i].expr, value)) return i;
    arena_push(b->checker->arena, b->items, b->item_count, b->item_cap,
               ((NamedExpr){name, value, false}));
    return (uint32_t)b->item_count - 1;
}

static Op *end_project(Batches *b) {
    Op *op = add_op(b->checker, OP_PROJECT, &b->flow, b->step, b->span);
    op->project.items = b->items;
    op->project.count = op->column_count = (uint32_t)b->item_count;
    op->columns = arena_new_array(b->checker->arena, Column, b->item_count + 1);
    for (uint32_t i = 0; i < b->item_count; i++)
        op->columns[i] = (Column){.name = b->items[i].name, .hidden = b->items[i].hidden,
                                  .type = node_at(b, b->items[i].expr)->type};
    return op;
}

static ExprId column_of(const Batches *b, const Op *op, uint32_t index) {
    return graph_column(b->checker->graph, 0, index, op->columns[index].type, b->span);
}

// A project with all that is judged before the call, which then stands over its columns.
static void prepare(Batches *b, size_t index, uint32_t *done) {
    const Unit *unit = &b->units[index], *before = index ? unit - 1 : nullptr;
    Arena *arena = b->checker->arena;
    const Expr call = *node_at(b, unit->call);
    uint32_t first = *done, kept = 0, *columns = arena_new_array(arena, uint32_t, unit->item + 1);
    uint32_t *args = arena_new_array(arena, uint32_t, call.arg_count + 1);
    begin_project(b);
    if (before && before->kept) kept = keep(b, before->call, call.fn->name);
    for (uint32_t i = first; i < unit->item; i++)
        columns[i] = keep(b, b->scope->names[i].value.id, b->scope->names[i].name);
    for (uint32_t i = 0; i < call.arg_count; i++)
        args[i] = keep(b, call.args[i], call.fn->params[i]);
    const Op *op = end_project(b);
    if (before) b->made[before->call.i] = before->kept ? column_of(b, op, kept) : EXPR_NONE;
    for (uint32_t i = first; i < unit->item; i++)
        b->made[b->scope->names[i].value.id.i] = column_of(b, op, columns[i]);
    ExprId *ids = arena_new_array(arena, ExprId, call.arg_count + 1);
    for (uint32_t i = 0; i < call.arg_count; i++) ids[i] = column_of(b, op, args[i]);
    b->made[unit->call.i] = graph_expr(b->checker->graph, call, ids, call.arg_count);
    *done = unit->item;
}

Flow project_batches(Checker *checker, Flow flow, const Scope *scope, StepId step, Span span) {
    Batches b = {.checker = checker, .scope = scope, .step = step, .span = span, .flow = flow};
    uint32_t done = 0;
    b.node_count = checker->graph->expr_count;
    b.made = arena_new_array(checker->arena, ExprId, b.node_count + 1);
    for (size_t i = 0; i < b.node_count; i++) b.made[i] = EXPR_NONE;
    for (b.at = 0; b.at < scope->count; b.at++) {
        Value value = scope->names[b.at].value;
        if (is_error(value.type)) return broken_flow();
        find_units(&b, value.id, (Around){0});
    }
    for (size_t i = 0; i < b.unit_count; i++) prepare(&b, i, &done);
    b.items = nullptr;
    b.item_count = b.item_cap = 0;
    for (uint32_t i = 0; i < scope->count; i++)
        arena_push(checker->arena, b.items, b.item_count, b.item_cap,
                   ((NamedExpr){scope->names[i].name, made_of(&b, scope->names[i].value.id),
                                false}));
    end_project(&b);
    return b.flow;
}

// ---- elsewhere ----------------------------------------------------------------------------------

typedef struct Search {
    Checker *checker;
    Walk     walk;
} Search;

static void search(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    Search *to = self;
    (void)scope, (void)wanted;
    walk_start(&to->walk);
    walk_add(&to->walk, *slot);
    for (ExprId id; walk_next(&to->walk, &id);) {
        const Expr *node = graph_at(to->checker->graph, id);
        if (is_batch(node))
            misplaced(to->checker, node, "only `derive` and `select` wait for a batch");
    }
}

void check_batches(Checker *checker) {
    Search to = {checker, walk_make(checker->graph)};
    graph_each_expr(checker->graph, &to, search);
    for (size_t i = 0; i < checker->graph->op_count; i++)
        if (checker->graph->ops[i].kind != OP_PROJECT)
            op_each_expr(&checker->graph->ops[i], &to, search);
}
