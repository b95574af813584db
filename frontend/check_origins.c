// Origins: the steps that tensors of a message come from.
//
// Each name of a tensor that an expression uses is kept with what it means there. A message that
// names shapes looks for names within its operands, and goes back from their columns to the step
// that made each one.
#include "frontend/checker.h"

void note_tensor_name(Checker *checker, const Binding *binding, Span span) {
    if (!is_tensor(binding->value.type)) return;
    TensorName name = {span, *binding};
    arena_push(checker->arena, checker->tensor_names, checker->tensor_name_count,
               checker->tensor_name_cap, name);
}

void note_tensor_item(Checker *checker, const Op *op, uint32_t column, const Binding *binding) {
    if (!is_tensor(binding->value.type) || binding->from.file == SPAN_NONE) return;
    TensorItem item = {op->id, column, binding->from};
    arena_push(checker->arena, checker->tensor_items, checker->tensor_item_count,
               checker->tensor_item_cap, item);
}

// ---- from a column to its step ------------------------------------------------------------------

// A column of an operator.
typedef struct Place {
    const Op *op;
    uint32_t  column;
} Place;

static Place at_input(const Graph *graph, const Op *op, uint32_t input, uint32_t column) {
    return (Place){graph_op_at(graph, op->inputs[input]), column};
}

// The column of an input that the operator hands on. No operator: it makes the column.
static Place before(const Graph *graph, Place at) {
    const Op *op = at.op;
    switch (op->kind) {
    case OP_PROJECT: {
        const Expr *item = graph_at(graph, op->project.items[at.column].expr);
        bool same = item->op == EXPR_COLUMN && item->input == 0;
        return same ? at_input(graph, op, 0, item->index) : (Place){0};
    }
    case OP_EXPLODE:
        return at.column == op->explode.column ? (Place){0} : at_input(graph, op, 0, at.column);
    case OP_JOIN: {
        const JoinColumn *column = &op->join.columns[at.column];
        return at_input(graph, op, column->side, column->index);
    }
    case OP_WINDOW: {
        uint32_t from = op->window.from[at.column];
        return from & WINDOW_OWN ? (Place){0} : at_input(graph, op, 0, from);
    }
    case OP_FILTER: case OP_SORT: case OP_LIMIT: case OP_DISTINCT: case OP_UNION: case OP_SHUFFLE:
    case OP_SAMPLE: case OP_HINT: return at_input(graph, op, 0, at.column);
    case OP_SOURCE: case OP_GROUP: case OP_ZIP: case OP_SINK: break;
    }
    return (Place){0};
}

// Where the tensor came about: a step, or an item of this one. SPAN_NONE: nobody knows.
static Span origin(const Checker *checker, const Binding *name) {
    if (!name->is_column) return name->from;
    Place at = {graph_op_at(checker->graph, name->op), name->column}, next;
    while (next = before(checker->graph, at), next.op) at = next;
    for (size_t i = checker->tensor_item_count; i-- > 0;) {
        const TensorItem *item = &checker->tensor_items[i];
        if (item->op.i == at.op->id.i && item->column == at.column) return item->span;
    }
    return at.op->span;
}

// ---- messages -----------------------------------------------------------------------------------

static bool is_within(Span inner, Span outer) {
    return inner.file == outer.file && inner.start >= outer.start && inner.end <= outer.end;
}

static bool same_shape(const Type *a, const Type *b) {
    a = type_base(a);
    bool same = a->rank == b->rank;
    for (uint32_t i = 0; i < b->rank && same; i++) same = a->shape[i] == b->shape[i];
    return same;
}

// The first name of an operand that has its shape, else the first one. The last time that the
// operand was checked counts.
static const Binding *shape_name(const Checker *checker, Span operand, const Type *type) {
    const Binding *found = nullptr;
    bool good = false;
    for (size_t i = checker->tensor_name_count; i-- > 0;) {
        const TensorName *name = &checker->tensor_names[i];
        if (!is_within(name->span, operand)) {
            if (found) break;
            continue;
        }
        bool same = same_shape(name->means.value.type, type);
        if (good && !same) continue;
        good = same;
        found = &name->means;
    }
    return found;
}

static bool same_span(Span a, Span b) {
    return a.file == b.file && a.start == b.start && a.end == b.end;
}

void report_origins(Checker *checker, Diag *diag, const TensorOperand *a, const TensorOperand *b) {
    const TensorOperand *operands[] = {a, b};
    const Binding *names[2];
    Span from[2];
    for (int i = 0; i < 2; i++) {
        names[i] = shape_name(checker, operands[i]->span, operands[i]->type);
        from[i] = names[i] ? origin(checker, names[i]) : (Span){.file = SPAN_NONE};
    }
    bool both = from[0].file != SPAN_NONE && same_span(from[0], from[1]);
    bool one = both && text_eq(names[0]->name, names[1]->name);
    for (int i = 0; i < 2; i++) {
        if (from[i].file == SPAN_NONE || (both && i)) continue;
        if (both && !one)
            report_label(checker, diag, from[0], "'%.*s' and '%.*s' come from here",
                         TEXT_ARG(names[0]->name), TEXT_ARG(names[1]->name));
        else
            report_label(checker, diag, from[i], "'%.*s', %s, comes from here",
                         TEXT_ARG(names[i]->name), type_say(checker, names[i]->value.type));
    }
}
