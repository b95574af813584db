// Building a graph: operators in order, and expression nodes of which equal ones are one.
#include "ir/graph.h"

#include <assert.h>
#include <string.h>

enum { INDEX_CAP_MIN = 64 };

static const char *const op_names[] = {
#define OP(name, text, inputs, doc) [OP_##name] = text,
#include "ir/ops.def"
};

static const uint8_t op_inputs[] = {
#define OP(name, text, inputs, doc) [OP_##name] = inputs,
#include "ir/ops.def"
};

static const char *const join_names[] = {
    [JOIN_INNER] = "inner", [JOIN_LEFT] = "left", [JOIN_RIGHT] = "right",
    [JOIN_FULL] = "full", [JOIN_SEMI] = "semi", [JOIN_ANTI] = "anti",
};

const char *op_kind_name(OpKind kind) { return op_names[kind]; }

bool op_multiplies(OpKind kind) { return kind == OP_EXPLODE || kind == OP_JOIN; }

bool op_is_meeting(OpKind kind) {
    switch (kind) {
    case OP_GROUP: case OP_SORT: case OP_DISTINCT: case OP_JOIN: case OP_UNION: case OP_ZIP:
    case OP_SHUFFLE: case OP_LIMIT: case OP_WINDOW:
        return true;
    case OP_SOURCE: case OP_FILTER: case OP_PROJECT: case OP_EXPLODE: case OP_SAMPLE: case OP_HINT:
    case OP_SINK:
        return false;
    }
    return false;
}
bool op_passes_columns(const Op *op) {
    return op->kind == OP_FILTER || op->kind == OP_SAMPLE || op->kind == OP_HINT;
}

uint32_t op_kind_inputs(OpKind kind) { return op_inputs[kind]; }

const char *source_name(const SourceOp *source) {
    if (source->kind == SOURCE_FILES) return format_name(source->format);
    return source->kind == SOURCE_RANGE ? "range" : "inline";
}

bool source_keeps_words(const SourceOp *source, uint32_t column) {
    const CsvOptions *csv = &source->options.csv;
    const Type *type = source->columns[column].type;
    bool words = false;
    for (uint32_t i = 0; i < csv->null_count; i++) words |= csv->nulls[i].len > 0;
    return words && type->kind == TYPE_STR && !type->nullable;
}

const char *join_kind_name(JoinKind kind) { return join_names[kind]; }

// ---- windows ----

static const char *const window_names[] = {
#define WINDOW(name, text, order, frame, doc) [WINDOW_##name] = text,
#include "ir/windows.def"
};

const char *window_kind_name(WindowKind kind) { return window_names[kind]; }

bool window_kind_find(Text name, WindowKind *kind) {
    for (uint32_t i = 0; i < countof(window_names); i++) {
        if (!text_is(name, window_names[i])) continue;
        *kind = (WindowKind)i;
        return true;
    }
    return false;
}

uint32_t op_sort_keys(const Op *op) {
    if (op->kind == OP_WINDOW) return op->window.key_count + op->window.sort_count;
    return op->kind == OP_SORT ? op->sort.count : 0;
}

SortKey op_sort_key(const Op *op, uint32_t k) {
    if (op->kind == OP_SORT) return op->sort.keys[k];
    if (k < op->window.key_count) return (SortKey){.key = op->window.keys[k]};
    return op->window.sort[k - op->window.key_count];
}

WindowFn *window_fn(const Op *op, uint32_t column) {
    uint32_t from = op->window.from[column];
    return from >= WINDOW_OWN ? &op->window.fns[from - WINDOW_OWN] : nullptr;
}


Graph *graph_new(Arena *arena, TypeTable *types) {
    Graph *graph = arena_new_of(arena, Graph);
    graph->arena = arena;
    graph->types = types;
    graph->facts = FACT_WRITTEN;
    graph->rejects.path = graph->rejects.limit_rows = graph->rejects.limit_share = EXPR_NONE;
    graph_resources(graph, (Resources){.cpus = RESOURCE_WHOLE});
    return graph;
}

// ---- constants ----

static bool items_same(const Type *type, const Const *a, const Const *b) {
    if (a->item_count != b->item_count) return false;
    for (uint32_t i = 0; i < a->item_count; i++) {
        const Type *item = type_is_sequence(type) ? type->elem : type->fields[i].type;
        if (!const_same(item, &a->items[i], &b->items[i])) return false;
    }
    return true;
}

// Sameness is identity of bits: NaN is the same as NaN, and 0.0 is not -0.0.
bool const_same(const Type *type, const Const *a, const Const *b) {
    if (a->is_null || b->is_null) return a->is_null == b->is_null;
    switch (type->kind) {
    case TYPE_BOOL: case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
        return a->i == b->i;
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
        return a->u == b->u;
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64:
        return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case TYPE_DECIMAL:
        return a->decimal == b->decimal;
    case TYPE_STR: case TYPE_BYTES: case TYPE_JSON:
        return text_eq(a->text, b->text);
    case TYPE_LIST: case TYPE_STRUCT: case TYPE_TENSOR: case TYPE_MAP:
        return items_same(type, a, b);
    case TYPE_NULL: case TYPE_ERROR:
        return false;
    }
    return false;
}

static uint64_t const_hash(const Type *type, const Const *value) {
    if (value->is_null) return 1;
    uint64_t bits;
    switch (type->kind) {
    case TYPE_BOOL: case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
        return (uint64_t)value->i;
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
        return value->u;
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64:
        memcpy(&bits, &value->f, sizeof bits);
        return bits;
    case TYPE_DECIMAL:
        return hash_mix((uint64_t)value->decimal, (uint64_t)(value->decimal >> 64));
    case TYPE_STR: case TYPE_BYTES: case TYPE_JSON:
        return text_hash(value->text);
    case TYPE_LIST: case TYPE_STRUCT: case TYPE_TENSOR: case TYPE_MAP:
        return value->item_count;
    case TYPE_NULL: case TYPE_ERROR:
        return 0;
    }
    return 0;
}

// ---- faults ----

// Is the size of dimension `i` from the end compared with that of another operand?
static bool is_met(const Graph *graph, const Expr *node, uint32_t i) {
    uint32_t operands = 0, open = 0;
    for (uint32_t k = 0; k < node->arg_count; k++) {
        const Type *type = graph_at(graph, node->args[k])->type;
        if (type->kind != TYPE_TENSOR || i >= type->rank) continue;
        uint32_t size = type->shape[type->rank - 1 - i];
        operands += size != 1;
        open += dimension_is_open(size);
    }
    return open && operands > 1;
}

bool graph_meets(const Graph *graph, const Expr *node) {
    if (node->op == EXPR_EXPAND || node->fits) return false;
    for (uint32_t i = 0; i < node->type->rank; i++)
        if (is_met(graph, node, i)) return true;
    return false;
}

// Of nodes whose shapes the compiler knows only in part.
static bool shape_faults(const Graph *graph, const Expr *node) {
    const Type *x = graph_at(graph, node->args[0])->type;
    switch ((int)node->op) {
    case EXPR_AGREE: return node->type->kind == TYPE_TENSOR;
    case EXPR_RESHAPE:
        if (type_same_but_ones(x, node->type) && node->arg_count == 1) return false;
        return type_open_count(x) || type_open_count(node->type);
    case EXPR_SLICE: return dimension_is_open(x->shape[graph_axis(graph, node, 1)]);
    }
    for (uint32_t i = 1; i < node->arg_count; i++)  // APPEND
        if (node->arg_count > 2 && type_open_count(graph_at(graph, node->args[i])->type))
            return true;
    return false;
}

static bool is_shaped(const Expr *node) {
    return node->op == EXPR_AGREE || node->op == EXPR_RESHAPE || node->op == EXPR_SLICE ||
           node->op == EXPR_APPEND;
}

// Can judging the node itself fault, whatever its arguments do?
static bool faults_alone(const Graph *graph, const Expr *node) {
    if (graph_is_elementwise(node) && graph_meets(graph, node)) return true;
    if (node->proven) return false;
    if (node->op == EXPR_CALL)
        return node->fn->traits & (FN_FALLIBLE | FN_BATCH) || fn_gives_text(node->fn, node->type);
    if (!expr_op_faults(node->op)) return false;
    if (is_shaped(node)) return shape_faults(graph, node);
    const Type *elem = type_element(graph_at(graph, node->args[0])->type);
    if (node->op == EXPR_REDUCE_SUM) return type_is_integer(elem) && type_bits(elem) == 64;
    bool arithmetic = node->op >= EXPR_NEG && node->op <= EXPR_MOD;
    return !arithmetic || !type_is_float(elem);
}

static bool faults_at_all(const Graph *graph, const Expr *node) {
    if (faults_alone(graph, node)) return true;
    bool covered = node->op == EXPR_ELSE && node->handler == ELSE_VALUE;
    for (uint32_t i = covered; i < node->arg_count; i++)
        if (graph_at(graph, node->args[i])->faults) return true;
    return node->leaves;
}

// May a handler within the node settle the row?
static bool leaves_at_all(const Graph *graph, const Expr *node) {
    bool settles = node->op == EXPR_ELSE && node->handler != ELSE_VALUE;
    if (settles && graph_at(graph, node->args[0])->faults) return true;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (graph_at(graph, node->args[i])->leaves) return true;
    return false;
}

bool graph_faults(const Graph *graph, ExprId id) {
    return !expr_is_none(id) && graph_at(graph, id)->faults;
}

const Expr *graph_passed_on(const Graph *graph, ExprId id) {
    const Expr *node = graph_at(graph, id);
    if (node->op != EXPR_PRESENT || !node->proven) return node;
    const Expr *inner = graph_at(graph, node->args[0]);
    return inner->op == EXPR_COLUMN ? inner : node;
}

bool graph_is_elementwise(const Expr *node) {
    if (node->type->kind != TYPE_TENSOR) return false;
    switch (node->op) {
    case EXPR_NEG: case EXPR_ADD: case EXPR_SUB: case EXPR_MUL: case EXPR_DIV: case EXPR_IDIV:
    case EXPR_MOD: case EXPR_EQ: case EXPR_NE: case EXPR_LT: case EXPR_LE: case EXPR_GT:
    case EXPR_GE: case EXPR_CAST: case EXPR_WIDEN: case EXPR_TO_F64: case EXPR_ROUND:
    case EXPR_EXPAND: case EXPR_CHOOSE:
        return !node->type->nullable;
    case EXPR_CALL:  // A function over batches gives whole tensors.
        return !node->type->nullable && !(node->fn->traits & FN_BATCH);
    case EXPR_CONST: case EXPR_PARAM: case EXPR_COLUMN: case EXPR_RAW: case EXPR_PLACE:
    case EXPR_SOME: case EXPR_IS_NULL: case EXPR_NOT: case EXPR_AND: case EXPR_OR:
    case EXPR_COALESCE: case EXPR_PRESENT: case EXPR_IF: case EXPR_IN: case EXPR_ELSE:
    case EXPR_REGEX:
    case EXPR_ZONE: case EXPR_CONCAT: case EXPR_TEXT: case EXPR_STRUCT: case EXPR_FIELD:
    case EXPR_LIST: case EXPR_INDEX: case EXPR_LOCAL: case EXPR_LIST_MAP: case EXPR_LIST_FILTER:
    case EXPR_LIST_ANY: case EXPR_LIST_ALL: case EXPR_LIST_REDUCE:
    case EXPR_SIZE: case EXPR_AGREE:
    case EXPR_RESHAPE: case EXPR_PERMUTE: case EXPR_SLICE: case EXPR_APPEND: case EXPR_GATHER:
    case EXPR_REDUCE_SUM: case EXPR_REDUCE_PROD: case EXPR_REDUCE_MIN: case EXPR_REDUCE_MAX:
    case EXPR_REDUCE_ANY: case EXPR_REDUCE_ALL: case EXPR_REDUCE_ARGMIN: case EXPR_REDUCE_ARGMAX:
        return false;
    }
    return false;
}

static bool is_impure(const Expr *node) {
    return node->op == EXPR_CALL && (node->fn->traits & FN_IMPURE);
}

static bool has_effects_at_all(const Graph *graph, const Expr *node) {
    if (is_impure(node)) return true;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (graph_at(graph, node->args[i])->effects) return true;
    return false;
}

static bool holds_batch(const Graph *graph, const Expr *node) {
    if (node->op == EXPR_CALL && node->fn->traits & FN_BATCH) return true;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (graph_at(graph, node->args[i])->batch) return true;
    return false;
}

static bool is_foreign_at_all(const Graph *graph, const Expr *node) {
    if (node->op == EXPR_CALL && fn_is_foreign(node->fn)) return true;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (graph_at(graph, node->args[i])->foreign) return true;
    return false;
}

static uint32_t outermost_of(const Graph *graph, const Expr *node) {
    if (node->op == EXPR_LOCAL) return node->index;
    uint32_t least = LOCAL_NONE;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        uint32_t local = graph_at(graph, node->args[i])->outermost;
        bool own = expr_has_lambda(node) && i == node->arg_count - 1 && local >= node->index;
        if (!own && local < least) least = local;
    }
    return least;
}

bool graph_is_foreign(const Graph *graph, ExprId id) {
    return !expr_is_none(id) && graph_at(graph, id)->foreign;
}

bool graph_has_effects(const Graph *graph, ExprId id) {
    return !expr_is_none(id) && graph_at(graph, id)->effects;
}

// ---- nodes ----

static bool has_value(ExprOp op) {
    return op == EXPR_CONST || op == EXPR_REGEX || op == EXPR_ZONE || op == EXPR_PRESENT;
}

static bool fn_same(const FnRef *a, const FnRef *b) {
    if (a == b) return true;
    return a && b && a->traits == b->traits && a->pointers == b->pointers &&
           a->zones == b->zones && text_eq(a->symbol, b->symbol) &&
           text_eq(a->name, b->name) && text_eq(a->file, b->file);
}

// The type of the payload `value`.
static const Type *value_type(const Graph *graph, const Expr *node) {
    return node->op == EXPR_PRESENT ? type_of(graph->types, TYPE_STR) : type_base(node->type);
}

static uint64_t node_hash(const Graph *graph, const Expr *node) {
    uint64_t hash = hash_mix((uint64_t)node->op << 32 | node->index, (uintptr_t)node->type);
    hash = hash_mix(hash, (uint64_t)node->input << 8 | (uint64_t)node->handler << 1 | node->proven);
    for (uint32_t i = 0; i < node->arg_count; i++) hash = hash_mix(hash, node->args[i].i);
    if (node->fn) hash = hash_mix(hash, text_hash(node->fn->symbol));
    if (has_value(node->op))
        hash = hash_mix(hash, const_hash(value_type(graph, node), &node->value));
    if (faults_alone(graph, node))  // Equal work at many places is as many nodes.
        hash = hash_mix(hash, (uint64_t)node->span.file << 32 | node->span.start);
    return hash;
}

static bool node_same(const Graph *graph, const Expr *a, const Expr *b) {
    if (a->op != b->op || a->type != b->type || a->index != b->index || a->input != b->input ||
        a->handler != b->handler || a->proven != b->proven || a->arg_count != b->arg_count ||
        !fn_same(a->fn, b->fn))
        return false;
    for (uint32_t i = 0; i < a->arg_count; i++)
        if (!expr_same(a->args[i], b->args[i])) return false;
    if (has_value(a->op) && !const_same(value_type(graph, a), &a->value, &b->value)) return false;
    return !faults_alone(graph, a) || span_same(a->span, b->span);
}

// Looks for a node equal to `node`. Returns its place in the index, or the free place for it.
static size_t index_find(const Graph *graph, const Expr *node) {
    size_t mask = graph->index_cap - 1;
    uint64_t hash = node_hash(graph, node);
    size_t at = hash_mix(hash, hash >> 32) >> 32 & mask;
    while (graph->index[at] && !node_same(graph, &graph->exprs[graph->index[at] - 1], node))
        at = (at + 1) & mask;
    return at;
}

static void index_grow(Graph *graph) {
    size_t old_cap = graph->index_cap;
    uint32_t *old = graph->index;
    graph->index_cap = old_cap ? old_cap * 2 : INDEX_CAP_MIN;
    graph->index = arena_new_array(graph->arena, uint32_t, graph->index_cap);
    for (size_t i = 0; i < old_cap; i++)
        if (old[i]) graph->index[index_find(graph, &graph->exprs[old[i] - 1])] = old[i];
}

// Clears what the operator does not use, so that it cannot tell equal nodes apart.
static Expr used_payload(Expr node) {
    Expr used = {.op = node.op, .type = node.type, .span = node.span, .proven = node.proven};
    bool place = node.op == EXPR_COLUMN || node.op == EXPR_RAW;
    if (has_value(node.op)) used.value = node.value;
    bool local = node.op == EXPR_LOCAL || expr_has_lambda(&node);
    if (place || local || node.op == EXPR_PARAM || node.op == EXPR_FIELD || node.op == EXPR_PLACE)
        used.index = node.index;
    if (place) used.input = node.input;
    if (node.op == EXPR_ELSE) used.handler = node.handler;
    if (node.op == EXPR_CALL) used.fn = node.fn;
    return used;
}

ExprId graph_expr(Graph *graph, Expr payload, const ExprId *args, uint32_t arg_count) {
    payload = used_payload(payload);
    payload.args = arena_copy(graph->arena, args, sizeof *args * arg_count, alignof(ExprId));
    payload.arg_count = arg_count;
    for (uint32_t i = 0; i < arg_count; i++) assert(args[i].i < graph->expr_count);
    payload.leaves = leaves_at_all(graph, &payload);
    payload.faults = faults_at_all(graph, &payload);
    payload.effects = has_effects_at_all(graph, &payload);
    payload.batch = holds_batch(graph, &payload);
    payload.foreign = is_foreign_at_all(graph, &payload);
    payload.outermost = outermost_of(graph, &payload);
    bool impure = is_impure(&payload);
    size_t place = 0;
    if (!impure) {
        if (graph->index_count * 2 >= graph->index_cap) index_grow(graph);
        place = index_find(graph, &payload);
        if (graph->index[place]) return (ExprId){graph->index[place] - 1};
    }
    arena_push(graph->arena, graph->exprs, graph->expr_count, graph->expr_cap, payload);
    if (!impure) {
        graph->index[place] = (uint32_t)graph->expr_count;
        graph->index_count++;
    }
    return (ExprId){(uint32_t)graph->expr_count - 1};
}

ExprId graph_column(Graph *graph, uint32_t input, uint32_t index, const Type *type, Span span) {
    Expr column = {.op = EXPR_COLUMN, .type = type, .span = span, .index = index, .input = input};
    return graph_expr(graph, column, nullptr, 0);
}

uint32_t graph_locals(Graph *graph, uint32_t count) {
    graph->local_count += count;
    return graph->local_count - count;
}

ExprId graph_const(Graph *graph, const Type *type, Const value, Span span) {
    Expr constant = {.op = EXPR_CONST, .type = type, .span = span, .value = value};
    return graph_expr(graph, constant, nullptr, 0);
}

ExprId graph_const_i64(Graph *graph, int64_t value) {
    return graph_const(graph, type_of(graph->types, TYPE_I64), (Const){.i = value},
                       (Span){.file = SPAN_NONE});
}

ExprId graph_const_text(Graph *graph, Text value, Span span) {
    return graph_const(graph, type_of(graph->types, TYPE_STR), (Const){.text = value}, span);
}

// ---- operators ----

Op *graph_op(Graph *graph, OpKind kind, StepId step, Span span) {
    Op op = {.kind = kind, .id = {(uint32_t)graph->op_count}, .step = step, .span = span,
             .inputs = {OP_NONE, OP_NONE}, .input_count = op_inputs[kind]};
    arena_push(graph->arena, graph->ops, graph->op_count, graph->op_cap, op);
    return &graph->ops[graph->op_count - 1];
}

StepId graph_step(Graph *graph, Text label, Span span) {
    Step step = {label, span};
    arena_push(graph->arena, graph->steps, graph->step_count, graph->step_cap, step);
    return (StepId){(uint32_t)graph->step_count - 1};
}
