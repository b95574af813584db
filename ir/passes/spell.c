// spell: carries the source's spelling of values that reach a text sink as they were read.
//
// A hidden str column stands at the source and travels beside the value through every operator
// that only passes it on. Group keys, aggregates and computed values have no spelling.
#include "ir/pass.h"
#include "ir/passes/carry.h"
#include "ir/walk.h"

enum : uint32_t { NOWHERE = UINT32_MAX };

typedef struct Carried {
    OpId     op;
    uint32_t column, hidden;
} Carried;

typedef struct Speller {
    Graph   *graph;
    Carried *carried;
    size_t   count, cap;
    bool    *zipped;    // By operator: a zip takes its rows.
} Speller;

static uint32_t carry(Speller *speller, OpId id, uint32_t column);

// ---- where a value was read ----

// Has what is read here a spelling that a sink can use?
static bool same_dialect(const SourceOp *source, const SinkOp *sink) {
    const CsvOptions *from = &source->options.csv, *to = &sink->options.csv;
    return format_info(source->format)->dialect && format_info(sink->format)->dialect &&
           from->delimiter == to->delimiter && from->quote == to->quote;
}

static bool spelled_alike(const SourceOp *source, const SinkOp *sink, const Type *type) {
    if (format_info(source->format)->one_bool && type->kind == TYPE_BOOL) return false;
    bool from_comma = source->options.csv.decimal == ',',
         to_comma = sink->options.csv.decimal == ',';
    bool fraction = type_is_float(type) || type->kind == TYPE_DECIMAL;
    if (fraction && from_comma != to_comma) return false;
    if (type_is_numeric(type) && source->options.csv.thousands) return false;
    Text from = source->options.zone, to = sink->options.zone;
    return type->kind != TYPE_TIMESTAMP || text_eq(from, to);
}

static bool is_scalar(const Type *type) {
    return !type_is_bytes(type) && !type_is_nested(type) && type->kind < TYPE_TENSOR;
}

typedef struct Origins {
    const SinkOp *sink;
    const bool   *zipped;
    bool          usable, verbatim;  // Of all sources that the value may come from.
    unsigned      steps;
} Origins;

static void find_origins(const Graph *graph, OpId id, uint32_t column, Origins *origins);

static void source_origin(const Op *op, uint32_t column, Origins *origins) {
    const SourceOp *source = &op->source;
    bool spells = source->kind == SOURCE_FILES && format_info(source->format)->spells;
    if (!spells || column >= source->column_count) {
        origins->usable = false;
        return;
    }
    const Type *type = source->columns[column].type;
    bool alike = spelled_alike(source, origins->sink, type);
    bool verbatim = same_dialect(source, origins->sink) && alike;
    bool carried = is_scalar(type) || (type->kind == TYPE_STR && verbatim);
    origins->usable &= alike && carried;
    origins->verbatim &= verbatim;
}

static void find_through_project(const Graph *graph, const Op *op, uint32_t column, Origins *to) {
    const Expr *node = graph_passed_on(graph, op->project.items[column].expr);
    if (node->op == EXPR_COLUMN) find_origins(graph, op->inputs[0], node->index, to);
    else to->usable = false;
}

static void find_through_join(const Graph *graph, const Op *op, uint32_t column, Origins *to) {
    JoinColumn from = op->join.columns[column];
    bool either = from.merged && (op->join.kind == JOIN_RIGHT || op->join.kind == JOIN_FULL);
    if (either) to->usable = false;
    else find_origins(graph, op->inputs[from.side], from.index, to);
}

static void find_origins(const Graph *graph, OpId id, uint32_t column, Origins *origins) {
    enum { STEPS_MAX = 10000 };  // Unions of unions of one flow double the paths.
    const Op *op = graph_op_at(graph, id);
    // A zip tells its sides apart by their number of columns: no hidden one may be added there.
    if (++origins->steps > STEPS_MAX || origins->zipped[id.i]) origins->usable = false;
    if (!origins->usable) return;
    switch (op->kind) {
    case OP_SOURCE: source_origin(op, column, origins); break;
    case OP_PROJECT: find_through_project(graph, op, column, origins); break;
    case OP_EXPLODE:
        if (column == op->explode.column) origins->usable = false;
        else find_origins(graph, op->inputs[0], column, origins);
        break;
    case OP_JOIN: find_through_join(graph, op, column, origins); break;
    case OP_WINDOW:
        if (window_fn(op, column)) origins->usable = false;
        else find_origins(graph, op->inputs[0], op->window.from[column], origins);
        break;
    case OP_UNION:
        find_origins(graph, op->inputs[0], column, origins);
        find_origins(graph, op->inputs[1], op->union_.right_columns[column], origins);
        break;
    case OP_FILTER: case OP_SORT: case OP_LIMIT: case OP_DISTINCT: case OP_SHUFFLE:
    case OP_SAMPLE: case OP_HINT:
        find_origins(graph, op->inputs[0], column, origins);
        break;
    case OP_GROUP: case OP_ZIP: case OP_SINK: origins->usable = false; break;
    }
}

// ---- the hidden columns ----

static bool side_may_be_absent(JoinKind kind, uint32_t side) {
    if (kind == JOIN_FULL) return true;
    return side ? kind == JOIN_LEFT : kind == JOIN_RIGHT;
}

static uint32_t carry_join(Graph *graph, Op *op, uint32_t side, uint32_t wanted) {
    const Type *type = graph_op_at(graph, op->inputs[side])->columns[wanted].type;
    JoinColumn column = {.side = side, .index = wanted};
    size_t count = op->column_count, cap = count;
    arena_push(graph->arena, op->join.columns, count, cap, column);
    return carry_column(graph, op,
                        side_may_be_absent(op->join.kind, side) ? type_nullable(type) : type);
}

static uint32_t carry_window(Graph *graph, Op *op, uint32_t wanted) {
    size_t count = op->column_count, cap = count;
    arena_push(graph->arena, op->window.from, count, cap, wanted);
    return carry_column(graph, op, graph_op_at(graph, op->inputs[0])->columns[wanted].type);
}

static uint32_t carry_union(Speller *speller, Op *op, uint32_t column) {
    Graph *graph = speller->graph;
    uint32_t left = carry(speller, op->inputs[0], column);
    uint32_t right = carry(speller, op->inputs[1], op->union_.right_columns[column]);
    if (left == NOWHERE || right == NOWHERE) return NOWHERE;
    const Op *first = graph_op_at(graph, op->inputs[0]),
             *second = graph_op_at(graph, op->inputs[1]);
    const Type *type = second->columns[right].type;
    for (uint32_t i = op->column_count; i <= left; i++)
        if (first->columns[i].type != type) return NOWHERE;
    while (op->column_count <= left) {
        size_t count = op->column_count, cap = count;
        arena_push(graph->arena, op->union_.right_columns, count, cap, right);
        carry_column(graph, op, type);
    }
    op->union_.right_columns[left] = right;
    return left;
}

static uint32_t carry_on(Speller *speller, Op *op, uint32_t column) {
    Graph *graph = speller->graph;
    uint32_t from = NOWHERE, side = 0;
    switch (op->kind) {
    case OP_SOURCE: return carry_source(graph, op, (RawSpan){column, column});
    case OP_UNION: return carry_union(speller, op, column);
    case OP_PROJECT:
        from = carry(speller, op->inputs[0],
                     graph_passed_on(graph, op->project.items[column].expr)->index);
        return from == NOWHERE ? from : carry_project(graph, op, from);
    case OP_JOIN:
        side = op->join.columns[column].side;
        from = carry(speller, op->inputs[side], op->join.columns[column].index);
        return from == NOWHERE ? from : carry_join(graph, op, side, from);
    case OP_WINDOW:
        from = carry(speller, op->inputs[0], op->window.from[column]);
        return from == NOWHERE ? from : carry_window(graph, op, from);
    case OP_FILTER: case OP_EXPLODE: case OP_SORT: case OP_LIMIT: case OP_DISTINCT:
    case OP_SHUFFLE: case OP_SAMPLE: case OP_HINT:
        from = carry(speller, op->inputs[0], column);
        return from == NOWHERE ? from : carry_same(graph, op, from);
    case OP_GROUP: case OP_ZIP: case OP_SINK: return NOWHERE;
    }
    return NOWHERE;
}

// The output column of `id` that holds the spelling of its column `column`, made if need be. Only
// for columns whose origins are usable.
static uint32_t carry(Speller *speller, OpId id, uint32_t column) {
    for (size_t i = 0; i < speller->count; i++)
        if (speller->carried[i].op.i == id.i && speller->carried[i].column == column)
            return speller->carried[i].hidden;
    uint32_t hidden = carry_on(speller, graph_op_at(speller->graph, id), column);
    Carried carried = {id, column, hidden};
    arena_push(speller->graph->arena, speller->carried, speller->count, speller->cap, carried);
    return hidden;
}

static void spell_column(Speller *speller, const Op *op, SinkColumn *column) {
    Graph *graph = speller->graph;
    const Expr *value = graph_at(graph, column->value);
    if (value->op != EXPR_COLUMN || !expr_is_none(column->spelling)) return;
    Origins origins = {.sink = &op->sink, .zipped = speller->zipped, .usable = true,
                       .verbatim = true};
    find_origins(graph, op->inputs[0], value->index, &origins);
    if (!origins.usable) return;
    if (type_base(value->type)->kind == TYPE_STR && !origins.verbatim) return;
    uint32_t hidden = carry(speller, op->inputs[0], value->index);
    if (hidden == NOWHERE) return;
    const Type *type = graph_op_at(graph, op->inputs[0])->columns[hidden].type;
    column->spelling = graph_column(graph, 0, hidden, type, (Span){.file = SPAN_NONE});
    column->verbatim = origins.verbatim;
}

static void say_spelled(Remarks *remarks, const Op *op) {
    RemarkNames names = {0};
    for (uint32_t c = 0; c < op->sink.column_count; c++)
        if (!expr_is_none(op->sink.columns[c].spelling))
            remark_name(&names, op->sink.columns[c].name);
    if (names.count)
        remark(remarks, op->span, "carried as bytes and written as they were spelled: %.*s",
               (int)names.text.len, names.text.at);
    text_buf_free(&names.text);
}

static void note_zips(Speller *speller) {
    const Graph *graph = speller->graph;
    speller->zipped = arena_new_array(graph->arena, bool, graph->op_count + 1);
    for (size_t i = 0; i < graph->op_count; i++) {
        const Op *op = &graph->ops[i];
        for (uint32_t k = 0; op->kind == OP_ZIP && k < op->input_count; k++)
            speller->zipped[op->inputs[k].i] = true;
    }
}

void pass_spell(PassContext *context) {
    Speller speller = {.graph = context->graph};
    note_zips(&speller);
    for (size_t i = 0; i < context->graph->op_count; i++) {
        Op *op = &context->graph->ops[i];
        if (op->kind != OP_SINK || !format_info(op->sink.format)->spells) continue;
        for (uint32_t c = 0; c < op->sink.column_count; c++)
            spell_column(&speller, op, &op->sink.columns[c]);
        say_spelled(context->remarks, op);
    }
}
