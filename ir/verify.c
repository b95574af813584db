// The verifier of operators: is the graph well-formed? verify_expr.c checks their expressions.
#include "ir/verify.h"

#include <stdarg.h>

void verify_say(Verifier *verifier, const char *format, ...) {
    verifier->broken = true;
    TextBuf *errors = verifier->errors;
    if (verifier->op) {
        text_buf_format(errors, "%%%u %s: ", verifier->op->id.i, op_kind_name(verifier->op->kind));
    }
    va_list args;
    va_start(args, format);
    text_buf_formatv(errors, format, args);
    va_end(args);
    text_buf_char(errors, '\n');
}

#define WANT(condition, ...)                                                                      \
    do {                                                                                          \
        if (!(condition)) verify_say(verifier, __VA_ARGS__);                                      \
    } while (0)

static const Op *input_of(const Verifier *verifier, uint32_t input) {
    return graph_op_at(verifier->graph, verifier->op->inputs[input]);
}

static const Type *type_at(const Verifier *verifier, ExprId id) {
    return graph_at(verifier->graph, id)->type;
}

static bool there(const Verifier *verifier, ExprId id) {
    return id.i < verifier->graph->expr_count;
}

// ---- columns by kind ----

// The output columns are the first ones of the input; `other` may have another type.
static void check_same(Verifier *verifier, uint32_t other) {
    const Op *op = verifier->op, *input = input_of(verifier, 0);
    WANT(op->column_count <= input->column_count, "it has more columns than its input");
    for (uint32_t i = 0; i < op->column_count && i < input->column_count; i++)
        WANT(i == other || op->columns[i].type == input->columns[i].type,
             "column %u has not the type of its input's", i);
}

static void check_source(Verifier *verifier) {
    const Op *op = verifier->op;
    const SourceOp *source = &op->source;
    WANT(source->column_count <= op->column_count, "it declares more columns than it puts out");
    for (uint32_t i = 0; i < source->column_count && i < op->column_count; i++)
        WANT(op->columns[i].type == source->columns[i].type, "column %u has two types", i);
    for (uint32_t i = source->column_count; i < op->column_count; i++) {
        WANT(op->columns[i].hidden, "spelling %u is not hidden", i);
        WANT(op->columns[i].type->kind == TYPE_STR, "spelling %u is no str", i);
        RawSpan raw = source->raw_of ? source->raw_of[i - source->column_count] : (RawSpan){1, 0};
        WANT(raw.first <= raw.last && raw.last < source->column_count,
             "spelling %u is of no column", i);
        WANT(raw.first >= raw.last || format_info(source->format)->dialect,
             "spelling %u is of several columns, but they are of no dialect", i);
    }
    WANT(source->kind == SOURCE_INLINE || !expr_is_none(source->path), "it reads nothing");
    for (uint32_t i = 0; i < source->row_count; i++)
        WANT(source->rows[i].item_count == source->column_count, "row %u has other columns", i);
}

static void check_project(Verifier *verifier) {
    const Op *op = verifier->op;
    WANT(op->project.count == op->column_count, "items and columns differ in number");
    for (uint32_t i = 0; i < op->project.count && i < op->column_count; i++) {
        ExprId item = op->project.items[i].expr;
        WANT(there(verifier, item) && type_at(verifier, item) == op->columns[i].type,
             "item %u has not the type of its column", i);
    }
}

static void check_explode(Verifier *verifier) {
    const Op *op = verifier->op, *input = input_of(verifier, 0);
    uint32_t column = op->explode.column;
    bool inside = column < op->column_count && column < input->column_count;
    const Type *list = inside ? input->columns[column].type : nullptr;
    bool good = list && type_base(list)->kind == TYPE_LIST;
    WANT(good, "column %u is no list", column);
    if (good) {
        const Type *elem = type_base(list)->elem;
        WANT(op->columns[column].type == (op->explode.outer ? type_nullable(elem) : elem),
             "column %u is no element of the list", column);
    }
    check_same(verifier, column);
}

static void check_group(Verifier *verifier) {
    const Op *op = verifier->op;
    uint32_t keys = op->group.key_count, aggs = op->group.agg_count;
    WANT(keys + aggs == op->column_count, "keys, aggregates and columns differ in number");
    if (keys + aggs != op->column_count) return;
    for (uint32_t i = 0; i < keys; i++)
        WANT(there(verifier, op->group.keys[i].expr) &&
             type_at(verifier, op->group.keys[i].expr) == op->columns[i].type,
             "key %u has not the type of its column", i);
    for (uint32_t i = 0; i < aggs; i++) {
        const Agg *agg = &op->group.aggs[i];
        WANT(agg->type == op->columns[keys + i].type, "aggregate %u has two types", i);
        WANT(agg->arg_count <= countof(agg->args), "aggregate %u has too many arguments", i);
        WANT(agg->fn || !agg->arg_count, "aggregate %u counts rows but has arguments", i);
    }
}

static void check_join(Verifier *verifier) {
    const Op *op = verifier->op;
    WANT(op->join.key_count > 0, "it has no key");
    for (uint32_t i = 0; i < op->join.key_count; i++) {
        ExprId left = op->join.left[i], right = op->join.right[i];
        bool both = there(verifier, left) && there(verifier, right);
        WANT(both && type_base(type_at(verifier, left)) == type_base(type_at(verifier, right)),
             "the sides of key %u differ in type", i);
    }
    bool only_left = join_is_one(op);
    bool right_stays = op->join.kind == JOIN_RIGHT || op->join.kind == JOIN_FULL;
    WANT(!join_is_nearest(op) || !right_stays, "it keeps right rows, of which it seeks one");
    WANT(join_is_nearest(op) || expr_is_none(op->join.within), "it seeks nothing within");
    for (uint32_t i = 0; i < op->column_count; i++) {
        JoinColumn column = op->join.columns[i];
        bool good = column.side < 2 && column.index < input_of(verifier, column.side)->column_count;
        WANT(good, "column %u comes from nowhere", i);
        WANT(!only_left || column.side == 0, "column %u is of the right side", i);
        if (!good) continue;
        const Type *from = input_of(verifier, column.side)->columns[column.index].type;
        WANT(type_base(from) == type_base(op->columns[i].type), "column %u has another type", i);
        if (column.merged)
            WANT(column.side == 0 && column.merged_index < input_of(verifier, 1)->column_count,
                 "merged column %u has no right side", i);
    }
}

static void check_union(Verifier *verifier) {
    const Op *op = verifier->op, *right = input_of(verifier, 1);
    check_same(verifier, UINT32_MAX);
    for (uint32_t i = 0; i < op->column_count; i++) {
        uint32_t from = op->union_.right_columns[i];
        WANT(from < right->column_count && right->columns[from].type == op->columns[i].type,
             "column %u has no match on the right", i);
    }
}

static void check_zip(Verifier *verifier) {
    const Op *op = verifier->op, *left = input_of(verifier, 0), *right = input_of(verifier, 1);
    bool fit = op->column_count == left->column_count + right->column_count;
    WANT(fit, "its columns are not those of both inputs");
    for (uint32_t i = 0; fit && i < op->column_count; i++) {
        bool first = i < left->column_count;
        const Column *from = first ? &left->columns[i] : &right->columns[i - left->column_count];
        WANT(from->type == op->columns[i].type, "column %u has another type", i);
    }
}

// Does the function take a value?
static bool wants_value(WindowKind kind) {
    return kind != WINDOW_ROW_NUMBER && kind != WINDOW_RANK && kind != WINDOW_DENSE_RANK &&
           kind != WINDOW_NTILE && kind != WINDOW_COUNT;
}

static bool is_calendar(const Verifier *verifier, const WindowOp *window) {
    const Type *type = type_base(graph_at(verifier->graph, window->sort[0].key)->type);
    return type->kind == TYPE_DATE;
}

static void check_window(Verifier *verifier) {
    const Op *op = verifier->op, *input = input_of(verifier, 0);
    const WindowOp *window = &op->window;
    for (uint32_t i = 0; i < window->fn_count; i++) {
        const WindowFn *fn = &window->fns[i];
        WANT(!wants_value(fn->kind) || there(verifier, fn->arg), "function %u has no value", i);
        WANT(fn->frame.back >= 0 && fn->frame.ahead >= 0, "function %u has no frame", i);
        WANT(fn->frame.unit == FRAME_ROWS || window->sort_count == 1,
             "the range of function %u has no key", i);
        WANT(fn->frame.unit != FRAME_MONTHS || is_calendar(verifier, window),
             "the months of function %u are no distance of its key", i);
        WANT(fn->n >= 0, "function %u has a negative number", i);
    }
    WANT(window->keeps == KEEPS_ALL || !window->fn_count, "it keeps some rows of functions");
    WANT((window->keeps == KEEPS_FIRST) == !expr_is_none(window->most), "how many rows stay");
    for (uint32_t i = 0; i < op->column_count; i++) {
        uint32_t from = window->from[i], index = from & ~WINDOW_OWN;
        bool own = from >= WINDOW_OWN;
        bool good = index < (own ? window->fn_count : input->column_count);
        WANT(good, "column %u comes from nowhere", i);
        if (!good) continue;
        const Type *type = own ? window->fns[index].type : input->columns[index].type;
        WANT(type == op->columns[i].type, "column %u has another type", i);
    }
}

static void check_sink(Verifier *verifier) {
    const Op *op = verifier->op;
    WANT(!expr_is_none(op->sink.path), "it has no path");
    WANT(op->column_count == 0, "it puts out columns");
    WANT(expr_is_none(op->sink.key) || op->sink.shape.len, "its key has no shape");
    for (uint32_t i = 0; i < op->sink.column_count; i++) {
        const SinkColumn *column = &op->sink.columns[i];
        WANT(there(verifier, column->value), "column %u has no value", i);
        if (there(verifier, column->spelling))
            WANT(type_base(type_at(verifier, column->spelling))->kind == TYPE_STR,
                 "the spelling of column %u is no str", i);
        WANT(!column->verbatim || !expr_is_none(column->spelling),
             "column %u is verbatim but has no spelling", i);
        WANT(!column->within || (i && column->verbatim && format_info(op->sink.format)->dialect &&
                                 column->spelling.i == op->sink.columns[i - 1].spelling.i),
             "column %u is not within the one before", i);
    }
}

static void check_kind(Verifier *verifier) {
    const Op *op = verifier->op;
    switch (op->kind) {
    case OP_SOURCE: check_source(verifier); break;
    case OP_FILTER:
        WANT(there(verifier, op->filter.pred), "it has no predicate");
        check_same(verifier, UINT32_MAX);
        break;
    case OP_PROJECT: check_project(verifier); break;
    case OP_EXPLODE: check_explode(verifier); break;
    case OP_GROUP: check_group(verifier); break;
    case OP_SORT: case OP_LIMIT: case OP_DISTINCT: case OP_SHUFFLE: case OP_SAMPLE: case OP_HINT:
        check_same(verifier, UINT32_MAX);
        break;
    case OP_JOIN: check_join(verifier); break;
    case OP_UNION: check_union(verifier); break;
    case OP_ZIP: check_zip(verifier); break;
    case OP_WINDOW: check_window(verifier); break;
    case OP_SINK: check_sink(verifier); break;
    }
}

// ---- operators ----

// Inputs, step and columns: what all the other rules lean on.
static bool check_frame(Verifier *verifier, size_t index) {
    const Op *op = verifier->op;
    bool good = op->id.i == index && op->input_count == op_kind_inputs(op->kind);
    WANT(good, "its number or its inputs do not fit its kind");
    for (uint32_t i = 0; good && i < op->input_count; i++) {
        good = op->inputs[i].i < index &&
               graph_op_at(verifier->graph, op->inputs[i])->kind != OP_SINK;
        WANT(good, "input %u does not come before it", i);
    }
    WANT(op->step.i == STEP_NONE.i || op->step.i < verifier->graph->step_count,
         "step %u does not exist", op->step.i);
    WANT(op->resources.i < verifier->graph->resources_count, "resources %u do not exist",
         op->resources.i);
    for (uint32_t i = 0; i < op->column_count; i++) {
        const Type *type = op->columns[i].type;
        bool typed = type && type->kind != TYPE_ERROR && type->kind != TYPE_NULL;
        WANT(typed, "column %u has no type", i);
        good &= typed;
    }
    return good;
}

static void check_slot(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    Verifier *verifier = self;
    verify_expr(verifier, *slot, scope);
    if (wanted == TYPE_ERROR || !there(verifier, *slot)) return;
    const Type *type = type_at(verifier, *slot);
    WANT(type->kind == wanted && !type->nullable, "an expression is no %s", type_kind_name(wanted));
}

bool graph_verify(const Graph *graph, TextBuf *errors) {
    Verifier state = {.graph = graph, .errors = errors, .walk = walk_make(graph),
                      .lambda = walk_make(graph), .free = walk_make(graph)};
    Verifier *verifier = &state;
    state.checked = arena_new_array(graph->arena, bool, graph->expr_count);
    graph_each_expr((Graph *)graph, verifier, check_slot);
    for (size_t i = 0; i < graph->op_count; i++) {
        state.op = &graph->ops[i];
        if (!check_frame(verifier, i)) return false;
        op_each_expr((Op *)state.op, verifier, check_slot);
        check_kind(verifier);
    }
    return !state.broken;
}
