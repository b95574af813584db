// Which leading steps of a stage for a GPU kernels compute, and why the CPU does the others.
//
// A kernel takes columns of the rows that wait in an edge or a sort, or those of a source that has
// columns. It gives the columns that what
// follows reads. It also gives a byte for each row: zero where the row passes all filters and no
// expression faults. The CPU judges any other row from the first step on. So a kernel need not say
// which fault a row has, nor which filter took it out.
#include "ir/plan_cost.h"
#include "ir/plan_stages.h"

static const char because_edge[] =
    "kernels take rows of an edge or of a sort, or columns of npy or a range";
static const char because_fork[] = "its rows go several ways";
static const char because_step[] = "kernels compute no such step";
static const char because_type[] = "kernels know numbers, times and tensors of numbers";
static const char because_call[] = "it calls a function that kernels do not have";
static const char because_whole[] = "kernels compute tensors element by element";
static const char because_long[] = "kernels reduce a million elements at most";
static const char because_parts[] = "kernels put few parts together";
static const char because_part[] = "what a part leaves out may fault";
static const char because_cast[] = "kernels cast only between numbers";
static const char because_open[] = "kernels take tensors whose dimensions are numbers";
static const char because_nothing[] = "it computes nothing";
static const char because_beside[] = "it reads what the CPU computes";

enum {
    PARTS_MAX = 64,           // Of a list or an `append`.
    REDUCED_MAX = 1 << 20,    // Two levels of the tree.
};

typedef struct Search {
    const Plan *plan;
    KernelPart *part;
    Walk        walk;
    const char **reasons;   // By member: why the CPU computes some of its items.
} Search;

bool plan_is_for_gpu(const Plan *plan, const Stage *stage) {
    return resources_for_gpu(&plan->graph->resources[stage->resources.i]);
}

static bool is_for_gpu(const Plan *plan, OpId op) {
    return resources_for_gpu(
        &plan->graph->resources[graph_op_at(plan->graph, op)->resources.i]);
}

bool plan_is_approx(const Plan *plan, const Stage *stage) {
    return plan->graph->resources[stage->resources.i].approx;
}

// ---- expressions ----

static bool is_number(const Type *type) {
    switch (type_base(type)->kind) {
    case TYPE_BOOL: case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64: case TYPE_U8:
    case TYPE_U16: case TYPE_U32: case TYPE_U64: case TYPE_F16: case TYPE_BF16: case TYPE_F32:
    case TYPE_F64: case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
        return true;
    case TYPE_DECIMAL: case TYPE_STR: case TYPE_BYTES: case TYPE_JSON: case TYPE_LIST:
    case TYPE_STRUCT: case TYPE_TENSOR: case TYPE_MAP: case TYPE_NULL: case TYPE_ERROR:
        break;
    }
    return false;
}

static bool has_column(const Type *type) {
    return type->kind == TYPE_TENSOR ? !type->nullable && is_number(type->elem) : is_number(type);
}

static const Type *arg_type(const Graph *graph, const Expr *x, uint32_t i) {
    return type_base(type_element(graph_at(graph, x->args[i])->type));
}

// Instants of one unit with durations are whole numbers; others round (docs/casts.md).
static bool is_plain_time(const Graph *graph, const Expr *x) {
    for (uint32_t i = 0; i < x->arg_count; i++) {
        const Type *type = arg_type(graph, x, i);
        if (type->kind == TYPE_TIMESTAMP && type->unit != UNIT_US) return false;
    }
    return true;
}

static bool is_plain_cast(const Graph *graph, const Expr *x) {
    const Type *from = arg_type(graph, x, 0), *to = type_base(type_element(x->type));
    if (from == to) return true;
    return type_is_plain_number(from) && type_is_plain_number(to) && to->kind != TYPE_BOOL;
}

// A list of numbers is a tensor; lists of tensors are none yet.
static const char *why_not_list(const Graph *graph, const Expr *x) {
    bool constant = x->type->kind == TYPE_TENSOR;
    if (!constant) return because_type;
    for (uint32_t i = 0; i < x->arg_count; i++) {
        const Expr *item = graph_at(graph, x->args[i]);
        if (item->type->kind == TYPE_TENSOR || item->type->nullable) return because_whole;
        constant &= item->op == EXPR_CONST;
    }
    return constant || x->arg_count <= PARTS_MAX ? nullptr : because_parts;
}

static const char *why_not_reduction(const Graph *graph, const Expr *x) {
    const Type *from = graph_at(graph, x->args[0])->type;
    if (!has_column(from)) return because_type;
    return from->shape[graph_axis(graph, x, 1)] > REDUCED_MAX ? because_long : nullptr;
}

// Traits that say how a function is called: kernels know one way.
static bool has_function(const Expr *x) {
    return x->fn->traits == FN_COLUMNS || x->fn->traits == FN_KERNELS;
}

// Has the tensor faults of some of its elements? That of a part is one of all elements.
static bool leaves_faults(const Graph *graph, ExprId id) {
    const Expr *x = graph_at(graph, id);
    return x->op == EXPR_INDEX ? leaves_faults(graph, x->args[0]) : graph_faults(graph, id);
}

// Has the node, or what it takes, a shape that each row has for itself?
static bool is_open(const Graph *graph, const Expr *x) {
    bool open = type_open_count(x->type) > 0;
    for (uint32_t i = 0; i < x->arg_count; i++)
        open |= type_open_count(graph_at(graph, x->args[i])->type) > 0;
    return open;
}

static const char *why_not_node(const Graph *graph, const Expr *x) {
    if (is_open(graph, x)) return because_open;
    if (!has_column(x->type)) return because_type;
    switch (x->op) {
    case EXPR_COLUMN: return x->input == 0 ? nullptr : because_step;
    case EXPR_PARAM: return x->type->nullable ? because_type : nullptr;
    case EXPR_CONST: case EXPR_SOME: case EXPR_NEG: case EXPR_DIV: case EXPR_IDIV:
    case EXPR_MOD: case EXPR_EQ: case EXPR_NE: case EXPR_LT: case EXPR_LE: case EXPR_GT:
    case EXPR_GE: case EXPR_IS_NULL: case EXPR_NOT: case EXPR_AND: case EXPR_OR:
    case EXPR_COALESCE: case EXPR_PRESENT: case EXPR_IF: case EXPR_IN: case EXPR_ELSE:
        return nullptr;
    case EXPR_ADD: case EXPR_SUB: case EXPR_MUL:
        return is_plain_time(graph, x) ? nullptr : because_type;
    case EXPR_CAST: case EXPR_WIDEN: case EXPR_TO_F64: case EXPR_ROUND:
        return is_plain_cast(graph, x) ? nullptr : because_cast;
    case EXPR_CALL: return has_function(x) ? nullptr : because_call;
    case EXPR_LIST: return why_not_list(graph, x);
    case EXPR_RESHAPE: case EXPR_PERMUTE: case EXPR_EXPAND: case EXPR_CHOOSE: return nullptr;
    case EXPR_SIZE: case EXPR_AGREE: return because_open;
    case EXPR_APPEND: return x->arg_count <= 1 + PARTS_MAX ? nullptr : because_parts;
    // What these leave out is judged all the same.
    case EXPR_SLICE: case EXPR_GATHER: case EXPR_INDEX:
        return leaves_faults(graph, x->args[0]) ? because_part : nullptr;
    case EXPR_LOCAL: case EXPR_LIST_MAP: case EXPR_LIST_FILTER: case EXPR_LIST_ANY:
    case EXPR_LIST_ALL: case EXPR_LIST_REDUCE:
        return because_whole;
    case EXPR_REDUCE_SUM: case EXPR_REDUCE_PROD: case EXPR_REDUCE_MIN: case EXPR_REDUCE_MAX:
    case EXPR_REDUCE_ANY: case EXPR_REDUCE_ALL: case EXPR_REDUCE_ARGMIN: case EXPR_REDUCE_ARGMAX:
        return why_not_reduction(graph, x);
    case EXPR_RAW: case EXPR_PLACE: case EXPR_REGEX: case EXPR_ZONE: case EXPR_CONCAT:
    case EXPR_TEXT: case EXPR_STRUCT: case EXPR_FIELD:
        return because_type;
    }
    return because_call;
}

const char *plan_why_no_kernel(const Plan *plan, Walk *walk, ExprId root) {
    const char *reason = nullptr;
    walk_start(walk);
    walk_add(walk, root);
    for (ExprId id; !reason && walk_next(walk, &id);)
        reason = why_not_node(plan->graph, graph_at(plan->graph, id));
    return reason;
}

static const char *why_not(Search *search, ExprId root) {
    return plan_why_no_kernel(search->plan, &search->walk, root);
}

// ---- members ----

static bool end_part(KernelPart *part, OpId at, const char *reason) {
    part->rest = at;
    part->reason = text_of(reason);
    return false;
}

static bool computes(const Search *search, const Op *op, uint32_t i) {
    const Plan *plan = search->plan;
    return plan->usage.columns[op->id.i][i] &&
           graph_passed_on(plan->graph, op->project.items[i].expr)->op != EXPR_COLUMN;
}

// Does the CPU compute the item, or is it a copy of one?
static bool is_beside(const Search *search, const Stage *stage, KernelItem item) {
    const Plan *plan = search->plan;
    while (item.member && !search->part->beside[item.member][item.column]) {
        const Op *op = graph_op_at(plan->graph, stage->ops[item.member]);
        const Expr *x = graph_passed_on(plan->graph, op->project.items[item.column].expr);
        if (x->op != EXPR_COLUMN) return false;
        item = plan_kernel_item(plan, stage, item.member - 1, x->index);
    }
    return item.member;
}

// Why no kernel computes the expression of member `m`.
static const char *why_not_here(Search *search, const Stage *stage, uint32_t m, ExprId root) {
    const Plan *plan = search->plan;
    const char *reason = why_not(search, root);
    walk_start(&search->walk);
    walk_add(&search->walk, root);
    for (ExprId id; !reason && walk_next(&search->walk, &id);) {
        const Expr *x = graph_at(plan->graph, id);
        if (x->op == EXPR_COLUMN &&
            is_beside(search, stage, plan_kernel_item(plan, stage, m - 1, x->index)))
            reason = because_beside;
    }
    return reason;
}

// Foreign code is called once for each row, and in the order of the steps: kernels end before it.
static bool take_project(Search *search, const Stage *stage, uint32_t m, const Op *op) {
    const Graph *graph = search->plan->graph;
    for (uint32_t i = 0; i < op->project.count; i++) {
        ExprId id = op->project.items[i].expr;
        const char *reason = computes(search, op, i) ? why_not_here(search, stage, m, id) : nullptr;
        if (!reason) continue;
        if (graph_is_foreign(graph, id) || graph_has_effects(graph, id))
            return end_part(search->part, op->id, reason);
        search->part->beside[m][i] = true;
        if (!search->reasons[m]) search->reasons[m] = reason;
    }
    return true;
}

// Takes the member into the part. False: nothing from the member on can be taken.
static bool take_member(Search *search, const Stage *stage, uint32_t m, const Op *op) {
    const char *reason = because_step;
    search->part->beside[m] = arena_new_array(search->plan->graph->arena, bool,
                                              op->column_count + 1);
    switch (op->kind) {
    case OP_FILTER: reason = why_not_here(search, stage, m, op->filter.pred); break;
    case OP_PROJECT: return take_project(search, stage, m, op);
    case OP_HINT: return true;
    case OP_EXPLODE: case OP_SAMPLE: case OP_JOIN: case OP_SOURCE: case OP_GROUP: case OP_SORT:
    case OP_LIMIT: case OP_DISTINCT: case OP_UNION: case OP_ZIP: case OP_SHUFFLE: case OP_SINK:
    case OP_WINDOW:
        break;
    }
    return !reason || end_part(search->part, op->id, reason);
}

// ---- what goes in and comes out ----

static const Op *member(const Search *search, const Stage *stage, uint32_t m) {
    return graph_op_at(search->plan->graph, stage->ops[m]);
}

KernelItem plan_kernel_item(const Plan *plan, const Stage *stage, uint32_t m, uint32_t column) {
    for (; m; m--) {
        const Op *op = graph_op_at(plan->graph, stage->ops[m]);
        if (op->kind != OP_PROJECT) continue;
        const Expr *x = graph_at(plan->graph, op->project.items[column].expr);
        if (x->op != EXPR_COLUMN) break;
        column = x->index;
    }
    return (KernelItem){m, column};
}

// The columns of the root that the expression of member `m` reads itself. Those of other items are
// marked with these.
static void mark_inputs(Search *search, const Stage *stage, uint32_t m, ExprId root) {
    const Graph *graph = search->plan->graph;
    walk_start(&search->walk);
    walk_add(&search->walk, root);
    for (ExprId id; walk_next(&search->walk, &id);) {
        const Expr *x = graph_at(graph, id);
        if (x->op != EXPR_COLUMN) continue;
        KernelItem item = plan_kernel_item(search->plan, stage, m - 1, x->index);
        if (!item.member) search->part->inputs[item.column] = true;
    }
}

static bool mark_output(Search *search, const Stage *stage, uint32_t m, uint32_t column) {
    const Plan *plan = search->plan;
    KernelItem item = plan_kernel_item(plan, stage, m, column);
    if (!item.member || search->part->beside[item.member][item.column]) return false;
    const Op *op = member(search, stage, item.member);
    const Expr *x = graph_passed_on(plan->graph, op->project.items[item.column].expr);
    // The CPU takes the null off a column by itself.
    if (x->op == EXPR_COLUMN) return mark_output(search, stage, item.member - 1, x->index);
    search->part->outputs[item.member][item.column] = true;
    return true;
}

// What the expression of member `m`, which the CPU computes, reads of kernels.
static void mark_read(Search *search, const Stage *stage, uint32_t m, ExprId root) {
    walk_start(&search->walk);
    walk_add(&search->walk, root);
    for (ExprId id; walk_next(&search->walk, &id);) {
        const Expr *x = graph_at(search->plan->graph, id);
        if (x->op == EXPR_COLUMN) mark_output(search, stage, m - 1, x->index);
    }
}

// Do kernels compute anything? They judge filters and what may fault, too.
static bool mark_columns(Search *search, const Stage *stage) {
    const Plan *plan = search->plan;
    KernelPart *part = search->part;
    bool useful = false;
    for (uint32_t m = 1; m < part->op_count; m++) {
        const Op *op = member(search, stage, m);
        part->outputs[m] = arena_new_array(plan->graph->arena, bool, op->column_count + 1);
        if (op->kind == OP_FILTER) mark_inputs(search, stage, m, op->filter.pred);
        useful |= op->kind == OP_FILTER;
        for (uint32_t i = 0; op->kind == OP_PROJECT && i < op->project.count; i++) {
            ExprId id = op->project.items[i].expr;
            if (!plan->usage.columns[op->id.i][i] || graph_at(plan->graph, id)->op == EXPR_COLUMN)
                continue;
            if (is_beside(search, stage, (KernelItem){m, i})) {
                mark_read(search, stage, m, id);
                continue;
            }
            mark_inputs(search, stage, m, id);
            useful |= graph_faults(plan->graph, id);
        }
    }
    if (part->groups) return true;
    uint32_t last = part->op_count - 1;
    const Op *end = member(search, stage, last);
    for (uint32_t i = 0; last && i < end->column_count; i++)
        if (plan->usage.columns[end->id.i][i]) useful |= mark_output(search, stage, last, i);
    return useful;
}

bool plan_given_column(const Plan *plan, const Stage *stage, const KernelPart *part,
                       const Terminal *terminal, KernelItem *to) {
    uint32_t last = stage->op_count - 1;
    if (!terminal->is_sink || terminal->op.i != stage->ops[last].i) return false;
    const SinkOp *sink = &graph_op_at(plan->graph, terminal->consumer)->sink;
    if (!format_info(sink->format)->side_by_side || sink->options.apart || !expr_is_none(sink->key))
        return false;
    const Expr *x = graph_at(plan->graph, sink->columns[0].value);
    if (x->op != EXPR_COLUMN || x->type->nullable || type_open_count(x->type)) return false;
    *to = plan_kernel_item(plan, stage, last, x->index);
    return to->member && part->outputs[to->member][to->column];
}

bool plan_gives_back(const Plan *plan, const Stage *stage, const KernelPart *part) {
    KernelItem item;
    bool all = part->op_count == stage->op_count && !part->keeps && !part->groups;
    for (uint32_t t = 0; t < stage->terminal_count && all; t++)
        all = plan_given_column(plan, stage, part, &stage->terminals[t], &item);
    return all && stage->terminal_count;
}

bool plan_kernels_filter(const Plan *plan, const Stage *stage) {
    const KernelPart *part = &stage->kernels;
    bool filters = false, gives = false;
    for (uint32_t m = 1; m < part->op_count; m++) {
        const Op *op = graph_op_at(plan->graph, stage->ops[m]);
        filters |= op->kind == OP_FILTER;
        for (uint32_t i = 0; i < op->column_count; i++) gives |= part->outputs[m][i];
    }
    return filters && gives && !part->groups;
}

// ---- groups ----

static void mark_groups(Search *search, const Stage *stage) {
    const Plan *plan = search->plan;
    const Breaker *breaker = &plan->breakers[stage->terminals[0].index];
    const Op *op = graph_op_at(plan->graph, breaker->op);
    for (uint32_t k = 0; k < breaker->key_count; k++)
        mark_inputs(search, stage, stage->op_count, breaker->keys[k]);
    for (uint32_t i = 0; i < op->group.agg_count; i++) {
        if (!plan_owns_state(breaker, i)) continue;
        const Agg *agg = &op->group.aggs[i];
        if (!expr_is_none(agg->where)) mark_inputs(search, stage, stage->op_count, agg->where);
        for (uint32_t a = 0; a < agg->arg_count; a++)
            mark_inputs(search, stage, stage->op_count, agg->args[a]);
    }
}

// Where all members are by kernels, a kernel may fill the groups after them.
static void take_groups(Search *search, const Stage *stage) {
    if (!plan_ends_in_groups(search->plan, stage)) return;
    if (!is_for_gpu(search->plan, stage->terminals[0].consumer)) return;
    const char *reason = plan_why_no_groups(search->plan, stage, &search->walk);
    if (reason) {
        end_part(search->part, stage->terminals[0].consumer, reason);
        return;
    }
    search->part->groups = true;
    mark_groups(search, stage);
}

// ---- stages ----

static bool works(const Search *search, const Stage *stage, uint32_t m) {
    const Op *op = member(search, stage, m);
    bool some = op->kind == OP_FILTER;
    for (uint32_t i = 0; op->kind == OP_PROJECT && i < op->project.count; i++)
        some |= computes(search, op, i) && !search->part->beside[m][i];
    return some;
}

// Items of the CPU stand beside those of kernels where kernels compute something of a later step,
// or of the same one.
static void end_before_beside(Search *search, const Stage *stage) {
    KernelPart *part = search->part;
    uint32_t last = part->op_count - 1;
    while (last && !works(search, stage, last)) last--;
    for (uint32_t m = 1; m < part->op_count; m++) {
        if (!search->reasons[m]) continue;
        if (m > last) {
            part->op_count = m;
            end_part(part, stage->ops[m], search->reasons[m]);
        } else if (op_is_none(part->beside_at)) {
            part->beside_at = stage->ops[m];
            part->beside_reason = text_of(search->reasons[m]);
        }
    }
}

bool plan_lays_columns(const Graph *graph, OpId id) {
    const Op *op = graph_op_at(graph, id);
    if (op->kind != OP_SOURCE || op->source.filter_count || op->column_count != 1) return false;
    return plan_gives_columns(graph, id) && type_open_count(op->columns[0].type) == 0;
}

// Of an edge and of a sort each column of the rows has a slot in the entries. A window's sort has
// slots of what comes into the window.
static bool begins_with_slots(const Plan *plan, const Stage *stage) {
    if (stage->kind == STAGE_SCAN) return plan_lays_columns(plan->graph, stage->root);
    if (stage->kind != STAGE_ROWS || stage->zip_breaker != BREAKER_NONE) return false;
    BreakerKind kind = plan->breakers[stage->breaker].kind;
    bool window = graph_op_at(plan->graph, stage->root)->kind == OP_WINDOW;
    return kind == BREAK_EDGE || (kind == BREAK_SORT && !window);
}

KernelPart plan_kernel_part(const Plan *plan, const Stage *stage, uint32_t members) {
    const Graph *graph = plan->graph;
    KernelPart part = {.rest = OP_NONE, .op_count = 1, .beside_at = OP_NONE};
    Search search = {.plan = plan, .part = &part, .walk = walk_make(graph)};
    search.reasons = arena_new_array(graph->arena, const char *, stage->op_count + 1);
    uint32_t columns = graph_op_at(graph, stage->root)->column_count;
    part.inputs = arena_new_array(graph->arena, bool, columns + 1);
    part.outputs = arena_new_array(graph->arena, bool *, stage->op_count);
    part.beside = arena_new_array(graph->arena, bool *, stage->op_count + 1);
    for (bool goes_on = true; goes_on && part.op_count < members;
         part.op_count += goes_on) {
        OpId next = stage->ops[part.op_count];
        bool forks = plan_consumer_count(graph, stage, stage->ops[part.op_count - 1]) > 1;
        goes_on = forks ? end_part(&part, next, because_fork)
                        : take_member(&search, stage, part.op_count, graph_op_at(graph, next));
    }
    end_before_beside(&search, stage);
    if (part.op_count == stage->op_count && op_is_none(part.beside_at))
        take_groups(&search, stage);
    bool useful = mark_columns(&search, stage);
    if (!useful && op_is_none(part.rest)) end_part(&part, stage->ops[0], because_nothing);
    if (!useful) part.op_count = 0;
    return part;
}

// Products that kernels or a library compute.
static bool has_products(const Plan *plan, const Stage *stage) {
    const Graph *graph = plan->graph;
    Walk walk = walk_make(graph);
    PlanProduct product;
    walk_start(&walk);
    for (uint32_t m = 1; m < stage->kernels.op_count; m++) {
        const Op *op = graph_op_at(graph, stage->ops[m]);
        if (op->kind == OP_FILTER) walk_add(&walk, op->filter.pred);
        for (uint32_t i = 0; op->kind == OP_PROJECT && i < op->project.count; i++)
            if (plan->usage.columns[op->id.i][i] && !stage->kernels.beside[m][i])
                walk_add(&walk, op->project.items[i].expr);
    }
    for (ExprId id; walk_next(&walk, &id);)
        if (plan_product(graph, id, &product)) return true;
    return false;
}

static void remark_products(const Plan *plan, const Stage *stage) {
    bool some = has_products(plan, stage), approx = plan_is_approx(plan, stage);
    if (stage->kernels.op_count < 2 || some == approx) return;
    remark(plan->remarks, graph_op_at(plan->graph, stage->ops[1])->span,
           some ? "kernels add products in the order of the CPU: by cuBLASLt, which is faster, "
                  "with `on gpu with (approx = true)`"
                : "`approx` changes nothing: a product has a constant matrix of two columns or "
                  "more, and is of f16, bf16 or f32");
}

// Rows that filters take out stay on the GPU where a launch gains by that.
static bool keeps_rows(const Plan *plan, const Stage *stage) {
    const KernelPart *part = &stage->kernels;
    PlanCost cost = plan_cost(plan, stage, part, 0);
    CostKept kept = cost_kept(&cost, stage->batch);
    return plan_kernels_filter(plan, stage) && kept.saved_ns > kept.spent_ns;
}

// Rows wait for a whole batch where a launch takes about as long with fewer.
static bool is_eager(const Plan *plan, const Stage *stage) {
    PlanCost cost = plan_cost(plan, stage, &stage->kernels, 0);
    CostLaunch launch = cost_launch(&cost, stage->batch);
    return launch.rows_ns > launch.fixed_ns;
}

// The root, and the steps of the block: others of the same stage come after them.
static uint32_t members_of_block(const Plan *plan, const Stage *stage) {
    uint32_t m = 1;
    while (m < stage->op_count && is_for_gpu(plan, stage->ops[m])) m++;
    return m;
}

static void lay_kernels(Plan *plan, Stage *stage) {
    KernelPart *part = &stage->kernels;
    *part = (KernelPart){.rest = OP_NONE, .beside_at = OP_NONE};
    if (stage->op_count > 1 && !begins_with_slots(plan, stage))
        end_part(part, stage->ops[1], because_edge);
    else *part = plan_kernel_part(plan, stage, members_of_block(plan, stage));
    if (part->op_count) part->keeps = keeps_rows(plan, stage);
    if (part->op_count) part->eager = is_eager(plan, stage);
    remark_products(plan, stage);
    if (!op_is_none(part->beside_at))
        remark(plan->remarks, graph_op_at(plan->graph, part->beside_at)->span,
               "some columns on the CPU: %.*s", TEXT_ARG(part->beside_reason));
    if (op_is_none(part->rest)) return;
    remark(plan->remarks, graph_op_at(plan->graph, part->rest)->span, "on the CPU: %.*s",
           TEXT_ARG(part->reason));
}

void plan_kernels(Plan *plan, PlanOptions options) {
    (void)options;
    for (size_t i = 0; i < plan->stage_count; i++)
        if (plan_is_for_gpu(plan, &plan->stages[i])) lay_kernels(plan, &plan->stages[i]);
}
