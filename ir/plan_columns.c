// Which leading steps of a stage run as loops over columns, and why the others do not.
//
// Over columnar input a stage first runs a chain of its members, from the root on. They run as
// loops over a chunk of rows without a branch, and so become vector instructions. Rows that are
// kept go on one by one and read what the loops computed; aggregates without keys add up whole
// columns. If a row of the chunk faults, all of the chunk is judged again row by row. So faults,
// their order and what follows from them are those of the rows.
#include "ir/plan_stages.h"

static const char because_call[] = "it calls a function";
static const char because_width[] = "its values have no fixed width of at most 64 bits";
static const char because_row[] = "it needs what is computed row by row";
static const char because_step[] = "it takes one row at a time";
static const char because_fork[] = "its rows go several ways";
static const char because_keys[] = "each row looks for its group";
static const char because_add[] = "an aggregate has no form for columns";
static const char because_identity[] = "something after it asks for the identity of a row";
static const char because_write[] = "rows are written one at a time";
static const char because_kept[] = "rows are kept one at a time";
static const char because_many[] = "the chunk has columns enough";

enum { LANES_MAX = 32 };  // Arrays of a chunk: 9 KiB each on a thread's stack.

typedef struct Search {
    const Plan *plan;
    ColumnPart *part;
    bool       *lanes;       // By output column of the last member: do loops know its value?
    uint32_t    lane_count;  // Arrays that somebody may ask for.
    Walk        walk;
} Search;

bool plan_gives_columns(const Graph *graph, OpId id) {
    const SourceOp *source = &graph_op_at(graph, id)->source;
    return source->kind == SOURCE_RANGE ||
           (source->kind == SOURCE_FILES && source->format == FORMAT_NPY);
}

// ---- expressions ----

static bool has_lane(const Type *type) {
    const Type *base = type_base(type);
    switch (base->kind) {
    case TYPE_BOOL: case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64: case TYPE_U8:
    case TYPE_U16: case TYPE_U32: case TYPE_U64: case TYPE_F16: case TYPE_BF16:
    case TYPE_F32: case TYPE_F64: case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
        return true;
    case TYPE_DECIMAL: return base->precision <= DECIMAL_PRECISION_I64;
    case TYPE_STR: case TYPE_BYTES: case TYPE_JSON: case TYPE_LIST: case TYPE_STRUCT:
    case TYPE_TENSOR: case TYPE_MAP: case TYPE_NULL: case TYPE_ERROR:
        break;
    }
    return false;
}

static const char *why_not_node(const Search *search, const Expr *x) {
    const Graph *graph = search->plan->graph;
    const Type *first = x->arg_count ? type_base(graph_at(graph, x->args[0])->type) : nullptr;
    const Type *type = type_base(x->type);
    if (!has_lane(x->type)) return because_width;
    switch (x->op) {
    case EXPR_COLUMN: return x->input == 0 && search->lanes[x->index] ? nullptr : because_row;
    case EXPR_CONST: case EXPR_PARAM: case EXPR_SOME: case EXPR_NEG: case EXPR_ADD: case EXPR_SUB:
    case EXPR_MUL: case EXPR_DIV: case EXPR_IDIV: case EXPR_EQ: case EXPR_NE: case EXPR_LT:
    case EXPR_LE: case EXPR_GT: case EXPR_GE: case EXPR_IS_NULL: case EXPR_NOT: case EXPR_AND:
    case EXPR_OR: case EXPR_COALESCE: case EXPR_PRESENT: case EXPR_IF: case EXPR_IN:
    case EXPR_ELSE:
        return nullptr;
    case EXPR_MOD: return type_is_float(type) ? because_call : nullptr;
    case EXPR_CAST: case EXPR_WIDEN: case EXPR_TO_F64: case EXPR_ROUND:
        return first == type || type_cast_scales(first, type) ||
                       (type_is_plain_number(first) && type_is_plain_number(type))
                   ? nullptr
                   : because_call;
    case EXPR_CALL: return x->fn->traits == FN_COLUMNS ? nullptr : because_call;
    case EXPR_RAW: case EXPR_PLACE: case EXPR_REGEX: case EXPR_ZONE: case EXPR_CONCAT:
    case EXPR_TEXT: case EXPR_STRUCT: case EXPR_FIELD: case EXPR_LIST: case EXPR_INDEX:
    case EXPR_LOCAL: case EXPR_LIST_MAP: case EXPR_LIST_FILTER: case EXPR_LIST_ANY:
    case EXPR_LIST_ALL: case EXPR_LIST_REDUCE:
    case EXPR_EXPAND: case EXPR_CHOOSE: case EXPR_SIZE: case EXPR_AGREE:
    case EXPR_RESHAPE: case EXPR_PERMUTE: case EXPR_SLICE:
    case EXPR_APPEND: case EXPR_GATHER: case EXPR_REDUCE_SUM: case EXPR_REDUCE_PROD:
    case EXPR_REDUCE_MIN: case EXPR_REDUCE_MAX: case EXPR_REDUCE_ANY: case EXPR_REDUCE_ALL:
    case EXPR_REDUCE_ARGMIN: case EXPR_REDUCE_ARGMAX:
        return because_width;
    }
    return because_call;
}

// Why no loop computes the expression over the last member's columns; null: one does. A reason
// that lies in the expression itself says more than that its argument is not there.
static const char *why_not(Search *search, ExprId root) {
    const char *reason = nullptr;
    walk_start(&search->walk);
    walk_add(&search->walk, root);
    for (ExprId id; walk_next(&search->walk, &id);) {
        const char *here = why_not_node(search, graph_at(search->plan->graph, id));
        if (here && (!reason || reason == because_row)) reason = here;
    }
    return reason;
}

// Copied, not computed: nothing has to wait in an array.
static bool is_copy(const Expr *x) {
    return x->op == EXPR_COLUMN || x->op == EXPR_CONST || x->op == EXPR_PARAM;
}

// ---- members ----

static void end_part(ColumnPart *part, OpId at, const char *reason) {
    part->rest = at;
    part->reason = text_of(reason);
}

// Takes the items that loops can compute. The rest may wait for its row only if it cannot fault:
// then nothing tells whether it was computed before what follows.
static bool take_project(Search *search, const Op *op, uint32_t member) {
    const Graph *graph = search->plan->graph;
    ColumnPart *part = search->part;
    const bool *used = search->plan->usage.columns[op->id.i];
    bool *lanes = arena_new_array(graph->arena, bool, op->column_count + 1);
    bool *items = arena_new_array(graph->arena, bool, op->column_count + 1);
    bool goes_on = true;
    for (uint32_t i = 0; i < op->project.count; i++) {
        ExprId id = op->project.items[i].expr;
        if (!used[i]) continue;
        bool copy = is_copy(graph_at(graph, id));
        const char *reason = why_not(search, id);
        if (!reason && !copy && search->lane_count >= LANES_MAX) reason = because_many;
        lanes[i] = !reason;
        items[i] = !reason && !copy;
        search->lane_count += items[i];
        part->useful |= items[i];
        if (!reason || !graph_faults(graph, id)) continue;
        if (goes_on) end_part(part, op->id, reason);
        goes_on = false;
    }
    part->items[member] = items;
    search->lanes = lanes;
    return goes_on;
}

static bool take_filter(Search *search, ExprId pred, OpId at) {
    const char *reason = why_not(search, pred);
    if (reason) end_part(search->part, at, reason);
    search->part->useful |= !reason;
    return !reason;
}

// Takes the member into the part. False: nothing after it can be taken.
static bool take_member(Search *search, const Op *op) {
    uint32_t member = search->part->op_count;
    bool goes_on = false;
    switch (op->kind) {
    case OP_FILTER:
        if (!take_filter(search, op->filter.pred, op->id)) return false;
        goes_on = true;
        break;
    case OP_PROJECT: goes_on = take_project(search, op, member); break;
    case OP_HINT: goes_on = true; break;
    case OP_EXPLODE: case OP_SAMPLE: case OP_JOIN: case OP_SOURCE: case OP_GROUP: case OP_SORT:
    case OP_LIMIT: case OP_DISTINCT: case OP_UNION: case OP_ZIP: case OP_SHUFFLE: case OP_SINK:
    case OP_WINDOW:
        end_part(search->part, op->id, because_step);
        return false;
    }
    search->part->op_count++;
    return goes_on;
}

// ---- terminals ----

ExprId plan_column_arg(const Graph *graph, const Agg *agg) {
    const Expr *x = graph_at(graph, agg->args[0]);
    if (x->op != EXPR_WIDEN) return agg->args[0];
    const Type *from = graph_at(graph, x->args[0])->type;
    bool decimal = type_base(x->type)->kind == TYPE_DECIMAL && has_lane(from);
    bool narrow = agg->fn->traits & AGG_NARROW && type_base(from)->kind == TYPE_F32;
    return decimal || narrow ? x->args[0] : agg->args[0];
}

static const char *why_not_agg(Search *search, const Agg *agg) {
    const char *reason = expr_is_none(agg->where) ? nullptr : why_not(search, agg->where);
    if (reason || !agg->fn) return reason;
    if (!(agg->fn->traits & AGG_COLUMNS)) return because_add;
    return why_not(search, plan_column_arg(search->plan->graph, agg));
}

// Rows that are the values of one column, side by side.
static const char *why_not_sink(Search *search, const SinkOp *sink) {
    if (!format_info(sink->format)->side_by_side || sink->options.apart || !expr_is_none(sink->key))
        return because_write;
    if (search->lane_count >= LANES_MAX) return because_many;
    const char *reason = why_not(search, sink->columns[0].value);
    search->lane_count += !reason;
    return reason;
}

static const char *why_not_terminal(Search *search, const Terminal *terminal) {
    if (terminal->is_sink)
        return why_not_sink(search, &graph_op_at(search->plan->graph, terminal->consumer)->sink);
    const Breaker *breaker = &search->plan->breakers[terminal->index];
    const Op *op = graph_op_at(search->plan->graph, breaker->op);
    if (breaker->kind != BREAK_GROUP) return because_kept;
    if (op->kind != OP_GROUP || breaker->key_count) return because_keys;
    if (breaker->identity_offset != SIZE_MAX) return because_identity;
    uint32_t lanes = search->lane_count + 2 * op->group.agg_count;  // Values and who counts.
    if (lanes > LANES_MAX) return because_many;
    for (uint32_t i = 0; i < op->group.agg_count; i++) {
        if (breaker->state_offsets[i] == SIZE_MAX) continue;
        const char *reason = why_not_agg(search, &op->group.aggs[i]);
        if (reason) return reason;
    }
    search->lane_count = lanes;
    return nullptr;
}

// The terminals of the last member that add up or write columns.
static void take_terminals(Search *search, const Stage *stage) {
    ColumnPart *part = search->part;
    OpId last = stage->ops[part->op_count - 1];
    for (uint32_t i = 0; i < stage->terminal_count; i++) {
        const Terminal *terminal = &stage->terminals[i];
        if (terminal->op.i != last.i) continue;
        const char *reason = why_not_terminal(search, terminal);
        part->takes[i] = !reason;
        part->useful |= !reason;
        if (reason && op_is_none(part->rest)) end_part(part, terminal->consumer, reason);
    }
}

// ---- stages ----

uint32_t plan_consumer_count(const Graph *graph, const Stage *stage, OpId op) {
    uint32_t count = 0;
    for (uint32_t i = 1; i < stage->op_count; i++)
        count += graph_op_at(graph, stage->ops[i])->inputs[0].i == op.i;
    for (uint32_t i = 0; i < stage->terminal_count; i++) count += stage->terminals[i].op.i == op.i;
    return count;
}

static bool take_source(Search *search, const Op *root) {
    search->lanes = arena_new_array(search->plan->graph->arena, bool, root->column_count + 1);
    for (uint32_t i = 0; i < root->column_count; i++)
        search->lanes[i] = has_lane(root->columns[i].type);
    search->part->op_count = 1;
    for (uint32_t i = 0; i < root->source.filter_count; i++) {
        if (!take_filter(search, root->source.filters[i].pred, root->id)) return false;
        search->part->filter_count++;
    }
    return true;
}

static void lay_columns(Plan *plan, Stage *stage) {
    const Graph *graph = plan->graph;
    ColumnPart part = {.rest = OP_NONE};
    part.items = arena_new_array(graph->arena, bool *, stage->op_count);
    part.takes = arena_new_array(graph->arena, bool, stage->terminal_count + 1);
    Search search = {.plan = plan, .part = &part, .walk = walk_make(graph)};
    bool goes_on = take_source(&search, graph_op_at(graph, stage->root));
    while (goes_on && part.op_count < stage->op_count) {
        if (plan_consumer_count(graph, stage, stage->ops[part.op_count - 1]) > 1) {
            end_part(&part, stage->ops[part.op_count], because_fork);
            goes_on = false;
        } else {
            goes_on = take_member(&search, graph_op_at(graph, stage->ops[part.op_count]));
        }
    }
    if (goes_on || text_is(part.reason, because_fork)) take_terminals(&search, stage);
    if (part.useful) stage->columns = part;
}

void plan_columns(Plan *plan, PlanOptions options) {
    (void)options;
    for (size_t i = 0; i < plan->stage_count; i++)
        if (plan->stages[i].kind == STAGE_SCAN &&
            plan_gives_columns(plan->graph, plan->stages[i].root))
            lay_columns(plan, &plan->stages[i]);
}
