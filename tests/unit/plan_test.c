#include "ir/plan.h"
#include "tests/unit/unit.h"

// Pipelines over sources of columns k: i64, v: f64, s: str; built by hand, one operator a call.

static const Span nowhere = {.file = SPAN_NONE};

static Graph *graph_empty(void) {
    Arena *arena = arena_new();
    return graph_new(arena, type_table_new(arena));
}

static ExprId column_of(Graph *graph, OpId op, uint32_t input, uint32_t index) {
    return graph_column(graph, input, index, graph_op_at(graph, op)->columns[index].type, nowhere);
}

static OpId source(Graph *graph) {
    static const struct { Text name; TypeKind kind; } wanted[] = {
        {TEXT("k"), TYPE_I64}, {TEXT("v"), TYPE_F64}, {TEXT("s"), TYPE_STR}};
    Op *op = graph_op(graph, OP_SOURCE, STEP_NONE, nowhere);
    op->source.path = graph_const_text(graph, TEXT("in.csv"), nowhere);
    op->source.options = file_options_none();
    op->column_count = op->source.column_count = countof(wanted);
    op->columns = arena_new_array(graph->arena, Column, countof(wanted));
    op->source.columns = arena_new_array(graph->arena, SourceColumn, countof(wanted));
    for (size_t i = 0; i < countof(wanted); i++) {
        const Type *type = type_of(graph->types, wanted[i].kind);
        op->columns[i] = (Column){.name = wanted[i].name, .type = type};
        op->source.columns[i] = (SourceColumn){wanted[i].name, type, nowhere, true};
    }
    return op->id;
}

// An operator whose columns are its first input's.
static Op *over(Graph *graph, OpKind kind, OpId input) {
    Op *op = graph_op(graph, kind, STEP_NONE, nowhere);
    const Op *from = graph_op_at(graph, input);
    op->inputs[0] = input;
    op->columns = from->columns;
    op->column_count = from->column_count;
    return op;
}

static OpId filter(Graph *graph, OpId input) {
    ExprId v = column_of(graph, input, 0, 1);
    Expr node = {.op = EXPR_GT, .type = type_of(graph->types, TYPE_BOOL), .span = nowhere};
    ExprId pred = graph_expr(graph, node, (ExprId[]){v, v}, 2);
    Op *op = over(graph, OP_FILTER, input);
    op->filter.pred = pred;
    return op->id;
}

// group by KEY { n = count(), total = sum(v) }
static OpId group_by(Graph *graph, OpId input, uint32_t key) {
    static const AggRef sum = {.name = TEXT("sum"), .symbol = TEXT("sb_sum_f64"),
                               .state_bytes = 64, .state_align = 16};
    ExprId k = column_of(graph, input, 0, key), v = column_of(graph, input, 0, 1);
    const Type *i64 = type_of(graph->types, TYPE_I64), *f64 = type_of(graph->types, TYPE_F64);
    Op *op = over(graph, OP_GROUP, input);
    op->group.keys = arena_new_of(graph->arena, NamedExpr);
    op->group.keys[0] = (NamedExpr){.name = TEXT("key"), .expr = k};
    op->group.key_count = 1;
    op->group.aggs = arena_new_array(graph->arena, Agg, 2);
    op->group.aggs[0] = (Agg){
        .name = TEXT("n"), .where = EXPR_NONE, .option = EXPR_NONE, .type = i64};
    op->group.aggs[1] = (Agg){.name = TEXT("total"), .fn = &sum, .args = {v}, .arg_count = 1,
                              .where = EXPR_NONE, .option = EXPR_NONE, .type = f64};
    op->group.agg_count = 2;
    op->columns = arena_new_array(graph->arena, Column, 3);
    op->columns[0] = (Column){.name = TEXT("key"), .type = graph_at(graph, k)->type};
    op->columns[1] = (Column){.name = TEXT("n"), .type = i64};
    op->columns[2] = (Column){.name = TEXT("total"), .type = f64};
    op->column_count = 3;
    return op->id;
}

// Joins on the first columns; the output is the left columns and the right ones behind the key.
static OpId join(Graph *graph, OpId left, OpId right, JoinKind kind) {
    ExprId keys[] = {column_of(graph, left, 0, 0), column_of(graph, right, 1, 0)};
    Op *op = over(graph, OP_JOIN, left);
    const Op *other = graph_op_at(graph, right);
    uint32_t lefts = op->column_count, count = lefts + other->column_count - 1;
    Column *columns = arena_new_array(graph->arena, Column, count);
    op->join.columns = arena_new_array(graph->arena, JoinColumn, count);
    op->join.where = op->join.seek = op->join.within = EXPR_NONE;
    for (uint32_t i = 0; i < count; i++) {
        bool from_left = i < lefts;
        uint32_t index = from_left ? i : i - lefts + 1;
        columns[i] = from_left ? op->columns[i] : other->columns[index];
        op->join.columns[i] = (JoinColumn){.side = !from_left, .index = index, .merged = i == 0};
    }
    op->inputs[1] = right;
    op->columns = columns;
    op->column_count = count;
    op->join.kind = kind;
    op->join.left = arena_copy(graph->arena, &keys[0], sizeof keys[0], alignof(ExprId));
    op->join.right = arena_copy(graph->arena, &keys[1], sizeof keys[1], alignof(ExprId));
    op->join.key_count = 1;
    return op->id;
}

static OpId pair(Graph *graph, OpKind kind, OpId left, OpId right) {
    Op *op = over(graph, kind, left);
    op->inputs[1] = right;
    const Op *other = graph_op_at(graph, right);
    if (kind == OP_UNION) {
        op->union_.right_columns = arena_new_array(graph->arena, uint32_t, op->column_count);
        for (uint32_t i = 0; i < op->column_count; i++) op->union_.right_columns[i] = i;
        return op->id;
    }
    uint32_t count = op->column_count + other->column_count;
    Column *columns = arena_new_array(graph->arena, Column, count);
    for (uint32_t i = 0; i < count; i++)
        columns[i] = i < op->column_count ? op->columns[i] : other->columns[i - op->column_count];
    op->columns = columns;
    op->column_count = count;
    return op->id;
}

static OpId limit(Graph *graph, OpId input) {
    ExprId count = graph_const_i64(graph, 10);
    Op *op = over(graph, OP_LIMIT, input);
    op->limit.count = count;
    op->limit.skip = EXPR_NONE;
    return op->id;
}

// Writes the given column, or all of them.
static void sink(Graph *graph, OpId input, uint32_t only) {
    const Op *from = graph_op_at(graph, input);
    SinkColumn *columns = arena_new_array(graph->arena, SinkColumn, from->column_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < from->column_count; i++)
        if (only == UINT32_MAX || only == i)
            columns[count++] = (SinkColumn){from->columns[i].name, column_of(graph, input, 0, i),
                                            EXPR_NONE, false};
    ExprId path = graph_const_text(graph, TEXT("out.csv"), nowhere);
    Op *op = graph_op(graph, OP_SINK, STEP_NONE, nowhere);
    op->inputs[0] = input;
    op->sink.path = path;
    op->sink.key = EXPR_NONE;
    op->sink.options = file_options_none();
    op->sink.options.csv = (CsvOptions){.delimiter = ',', .quote = '"'};
    op->sink.columns = columns;
    op->sink.column_count = count;
}

enum : uint32_t { ALL = UINT32_MAX };

// ---- properties every plan has ----

static bool fed_by(const Stage *stage, uint32_t breaker) {
    for (uint32_t i = 0; i < stage->terminal_count; i++)
        if (!stage->terminals[i].is_sink && stage->terminals[i].index == breaker) return true;
    return false;
}

// Nothing that feeds `breaker` comes at or behind stage `index`.
static bool finished_before(const Plan *plan, uint32_t breaker, size_t index) {
    for (size_t i = index; i < plan->stage_count; i++)
        if (fed_by(&plan->stages[i], breaker)) return false;
    return true;
}

static void check_stage(const Plan *plan, size_t index) {
    const Stage *stage = &plan->stages[index];
    CHECK(stage->ops[0].i == stage->root.i && stage->terminal_count > 0);
    if (stage->kind != STAGE_SCAN) CHECK(finished_before(plan, stage->breaker, index));
    for (uint32_t i = 0; i < stage->need_count; i++)
        CHECK(finished_before(plan, stage->needs[i], index));
    for (uint32_t i = 1; i < stage->op_count; i++) {
        bool found = false;
        OpId from = graph_op_at(plan->graph, stage->ops[i])->inputs[0];
        for (uint32_t k = 0; k < i; k++) found |= stage->ops[k].i == from.i;
        CHECK(found);
    }
}

static void check_breaker(const Plan *plan, uint32_t index) {
    const Breaker *breaker = &plan->breakers[index];
    uint32_t producers = 0;
    for (size_t i = 0; i < plan->stage_count; i++) producers += fed_by(&plan->stages[i], index);
    CHECK(producers == breaker->producers && producers > 0);
    size_t end = 16;
    for (uint32_t i = 0; i < breaker->slot_count; i++) {
        const Slot *slot = &breaker->slots[i];
        CHECK(slot->offset >= end && slot->offset % type_align(slot->type) == 0);
        end = slot->offset + (slot->key_str ? 24 : type_size(slot->type));
    }
    CHECK(breaker->entry_bytes >= end && breaker->entry_bytes % breaker->entry_align == 0);
}

static Plan *planned(Graph *graph, bool no_fuse) {
    Plan *plan = plan_make(graph, (PlanOptions){.no_fuse = no_fuse});
    for (size_t i = 0; i < plan->stage_count; i++) check_stage(plan, i);
    for (uint32_t i = 0; i < plan->breaker_count; i++) check_breaker(plan, i);
    TextBuf text = {0};
    plan_print(&text, plan);
    plan_explain(&text, plan);
    plan_explain_memory(&text, plan);
    plan_explain_exchange(&text, plan);
    CHECK(text.len > 0);
    text_buf_free(&text);
    return plan;
}

// ---- tests ----

static void a_chain_is_one_stage(void) {
    Graph *graph = graph_empty();
    sink(graph, filter(graph, filter(graph, source(graph))), ALL);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 1 && plan->breaker_count == 0);
    CHECK(plan->stages[0].op_count == 3 && plan->stages[0].terminals[0].is_sink);
    arena_free(graph->arena);
}

static void without_fusion_each_step_is_a_stage(void) {
    Graph *graph = graph_empty();
    sink(graph, filter(graph, filter(graph, source(graph))), ALL);
    Plan *plan = planned(graph, true);
    CHECK(plan->stage_count == 4 && plan->breaker_count == 3);
    CHECK(plan->breakers[0].keeps_op && !plan->stages[1].counts_root);
    arena_free(graph->arena);
}

static void a_group_keeps_keys_and_states(void) {
    Graph *graph = graph_empty();
    sink(graph, group_by(graph, filter(graph, source(graph)), 2), ALL);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 2 && plan->breaker_count == 1);
    const Breaker *group = &plan->breakers[0];
    CHECK(group->slot_count == 1 && group->slots[0].key_str && group->slots[0].offset == 16);
    CHECK(group->state_offsets[0] == 40 && group->state_offsets[1] == 48);
    CHECK(group->entry_bytes == 112 && group->entry_align == 16);
    CHECK(plan->fused[0] == 0 && plan->fused[1] == 0 && plan->fused[2] == 1);
    arena_free(graph->arena);
}

static void an_aggregate_nobody_reads_has_no_state(void) {
    Graph *graph = graph_empty();
    sink(graph, group_by(graph, source(graph), 0), 1);
    Plan *plan = planned(graph, false);
    CHECK(plan->breakers[0].state_offsets[1] == SIZE_MAX && plan->breakers[0].entry_bytes == 32);
    arena_free(graph->arena);
}

static void a_fork_is_one_stage_with_two_ends(void) {
    Graph *graph = graph_empty();
    OpId from = source(graph);
    sink(graph, filter(graph, from), ALL);
    sink(graph, group_by(graph, from, 0), ALL);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 2 && plan->stages[0].terminal_count == 2);
    arena_free(graph->arena);
}

static void a_sort_keeps_what_is_read_behind_it(void) {
    Graph *graph = graph_empty();
    OpId from = source(graph);
    ExprId *key = arena_new_of(graph->arena, ExprId);
    *key = column_of(graph, from, 0, 1);
    Op *op = over(graph, OP_SORT, from);
    op->sort.keys = arena_new_of(graph->arena, SortKey);
    op->sort.keys[0].key = *key;
    op->sort.count = 1;
    sink(graph, op->id, 2);
    Plan *plan = planned(graph, false);
    const Breaker *sort = &plan->breakers[0];
    CHECK(sort->kind == BREAK_SORT && sort->slot_count == 2 && sort->key_count == 1);
    CHECK(sort->slot_of[0] == SLOT_NONE && sort->slot_of[1] == 0 && sort->slot_of[2] == 1);
    arena_free(graph->arena);
}

static void a_join_probes_in_the_stage_of_its_left_input(void) {
    Graph *graph = graph_empty();
    OpId left = source(graph), right = source(graph);
    sink(graph, join(graph, left, right, JOIN_INNER), ALL);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 2 && plan->breaker_count == 1);
    CHECK(plan->stages[0].root.i == right.i && plan->stages[1].root.i == left.i);
    CHECK(plan->stages[1].need_count == 1 && plan->stages[1].op_count == 2);
    CHECK(plan->breakers[0].next_offset != SIZE_MAX);
    arena_free(graph->arena);
}

static void a_flow_joined_with_its_own_group_is_kept(void) {
    Graph *graph = graph_empty();
    OpId from = source(graph);
    sink(graph, join(graph, from, group_by(graph, from, 0), JOIN_LEFT), 2);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 3 && plan->breaker_count == 3);
    const Stage *probe = &plan->stages[2];
    const Breaker *kept = &plan->breakers[probe->breaker];
    CHECK(kept->keeps_op && kept->op.i == from.i && !probe->counts_root);
    // The key and the column that is written, not the one that only the group reads.
    CHECK(kept->slot_count == 2 && kept->slot_of[1] == SLOT_NONE);
    arena_free(graph->arena);
}

static void crossed_joins_do_not_wait_for_each_other(void) {
    Graph *graph = graph_empty();
    OpId a = source(graph), b = source(graph);
    sink(graph, join(graph, a, b, JOIN_INNER), ALL);
    sink(graph, join(graph, b, a, JOIN_INNER), ALL);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 3);
    arena_free(graph->arena);
}

static void a_full_join_goes_on_with_unmatched_rows(void) {
    Graph *graph = graph_empty();
    OpId left = source(graph), right = source(graph);
    OpId joined = join(graph, left, right, JOIN_FULL);
    sink(graph, filter(graph, joined), ALL);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 3);
    const Stage *unmatched = &plan->stages[2];
    CHECK(unmatched->kind == STAGE_UNMATCHED && unmatched->root.i == joined.i);
    CHECK(unmatched->op_count == 2 && unmatched->rank > plan->stages[1].rank);
    CHECK(plan->breakers[0].matched_offset != SIZE_MAX);
    arena_free(graph->arena);
}

static void a_union_is_fed_in_order(void) {
    Graph *graph = graph_empty();
    OpId a = source(graph), b = source(graph), c = source(graph);
    OpId nested = pair(graph, OP_UNION, pair(graph, OP_UNION, a, b), c);
    sink(graph, nested, ALL);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 5 && plan->breaker_count == 2);
    CHECK(plan->stages[plan->fused[a.i]].rank < plan->stages[plan->fused[b.i]].rank);
    arena_free(graph->arena);
}

static void a_union_with_itself_keeps_the_rows(void) {
    Graph *graph = graph_empty();
    OpId from = source(graph);
    sink(graph, pair(graph, OP_UNION, from, from), ALL);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 3 && plan->breaker_count == 2);
    CHECK(plan->stages[1].rank > plan->stages[0].rank && plan->stages[1].root.i == from.i);
    arena_free(graph->arena);
}

static void crossed_unions_have_an_order(void) {
    Graph *graph = graph_empty();
    OpId a = source(graph), b = source(graph);
    sink(graph, pair(graph, OP_UNION, a, b), ALL);
    sink(graph, pair(graph, OP_UNION, b, a), ALL);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 5);
    for (uint32_t i = 0; i < plan->breaker_count; i++) {
        uint32_t ranks[2] = {0};
        for (size_t s = 0; s < plan->stage_count; s++)
            for (uint32_t t = 0; t < plan->stages[s].terminal_count; t++)
                if (!plan->stages[s].terminals[t].is_sink &&
                    plan->stages[s].terminals[t].index == i)
                    ranks[plan->stages[s].terminals[t].input] = plan->stages[s].rank;
        if (plan->breakers[i].producers == 2) CHECK(ranks[0] < ranks[1]);
    }
    arena_free(graph->arena);
}

static void a_zip_has_two_edges(void) {
    Graph *graph = graph_empty();
    OpId a = source(graph), b = source(graph);
    sink(graph, pair(graph, OP_ZIP, a, filter(graph, b)), 3);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 3 && plan->breaker_count == 2);
    CHECK(plan->breakers[0].slot_count == 0 && plan->breakers[1].slot_count == 1);
    const Stage *zip = &plan->stages[2];
    CHECK(zip->breaker == 0 && zip->zip_breaker == 1 && zip->needs[0] == 1);
    CHECK(plan->fails[a.i] && plan->fails[b.i] && !plan->fails[zip->root.i]);
    arena_free(graph->arena);
}

static void a_limit_is_a_limited_edge(void) {
    Graph *graph = graph_empty();
    OpId end = limit(graph, filter(graph, source(graph)));
    sink(graph, end, ALL);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 2 && plan->breakers[0].limited);
    CHECK(plan->stages[1].root.i == end.i && plan->stages[1].counts_root);
    CHECK(plan->breakers[0].place_offset == SIZE_MAX);
    arena_free(graph->arena);
}

// The plan of a step over `end` that may reject, with a border behind each step.
static Plan *planned_reject(Graph *graph, OpId end) {
    ExprId k = column_of(graph, end, 0, 0);
    Expr sum = {.op = EXPR_ADD, .type = graph_at(graph, k)->type, .span = nowhere};
    NamedExpr *item = arena_new_of(graph->arena, NamedExpr);
    *item = (NamedExpr){TEXT("k"), graph_expr(graph, sum, (ExprId[]){k, k}, 2), false};
    Op *op = over(graph, OP_PROJECT, end);
    op->column_count = 1;
    op->project.items = item;
    op->project.count = 1;
    sink(graph, op->id, ALL);
    return planned(graph, true);
}

static void places_travel_where_a_reject_may_follow(void) {
    Graph *graph = graph_empty();
    Plan *plan = planned_reject(graph, filter(graph, source(graph)));
    CHECK(plan->breakers[0].kind == BREAK_EDGE && plan->breakers[0].place_offset != SIZE_MAX);
    arena_free(graph->arena);
}

static void behind_a_meeting_no_place_is_wanted(void) {
    Graph *graph = graph_empty();
    Plan *plan = planned_reject(graph, limit(graph, source(graph)));
    for (size_t i = 0; i < plan->breaker_count; i++)
        CHECK(plan->breakers[i].place_offset == SIZE_MAX);
    arena_free(graph->arena);
}

static void other_resources_are_another_stage(void) {
    Graph *graph = graph_empty();
    Resource accel = {TEXT("accel"), 2 * RESOURCE_WHOLE};
    ResourcesId held = graph_resources(graph, (Resources){.customs = &accel, .custom_count = 1,
                                                          .memory = 100});
    ResourcesId more = graph_resources(graph, (Resources){.customs = &accel, .custom_count = 1,
                                                          .memory = 300});
    OpId one = filter(graph, source(graph));
    graph_op_at(graph, one)->resources = held;
    OpId two = filter(graph, one);
    graph_op_at(graph, two)->resources = more;
    sink(graph, filter(graph, two), ALL);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 3 && plan->breaker_count == 2 && plan->resource_count == 1);
    CHECK(!plan->stages[0].resources.i && !plan->stages[2].resources.i);
    CHECK(plan->stages[1].resources.i == held.i && plan->stages[1].op_count == 3);
    CHECK(plan->stages[1].memory == 300 && !plan->stages[2].memory);
    arena_free(graph->arena);
}

// Finished rows are taken by tasks that hold what the next step asks for.
static void behind_a_breaker_resources_need_no_border(void) {
    Graph *graph = graph_empty();
    ResourcesId held = graph_resources(graph, (Resources){.cpus = 2 * RESOURCE_WHOLE});
    OpId one = filter(graph, limit(graph, source(graph)));
    graph_op_at(graph, one)->resources = held;
    sink(graph, one, ALL);
    graph_op_at(graph, (OpId){one.i + 1})->resources = held;
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 2 && plan->stages[1].resources.i == held.i);
    arena_free(graph->arena);
}

static OpId repartition(Graph *graph, OpId input, int64_t rows, int64_t bytes) {
    ExprId r = rows ? graph_const_i64(graph, rows) : EXPR_NONE;
    ExprId b = bytes ? graph_const_i64(graph, bytes) : EXPR_NONE;
    Op *op = over(graph, OP_HINT, input);
    op->hint.rows = r;
    op->hint.bytes = b;
    return op->id;
}

static void other_partitions_are_another_stage(void) {
    Graph *graph = graph_empty();
    OpId rows = repartition(graph, filter(graph, source(graph)), 500, 0);
    OpId bytes = repartition(graph, filter(graph, rows), 0, 100);
    sink(graph, repartition(graph, limit(graph, bytes), 2, 0), ALL);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 4);
    CHECK(expr_is_none(plan->stages[0].unit_rows) && expr_is_none(plan->stages[0].cut_bytes));
    CHECK(graph_at(graph, plan->stages[1].unit_rows)->value.i == 500);
    CHECK(graph_at(graph, plan->stages[1].cut_bytes)->value.i == 100);
    CHECK(expr_is_none(plan->stages[2].unit_rows));
    CHECK(graph_at(graph, plan->stages[3].unit_rows)->value.i == 2);
    arena_free(graph->arena);
}

// Every step is a stage of its own already.
static void without_fusion_partitions_need_no_border(void) {
    Graph *graph = graph_empty();
    OpId rows = repartition(graph, source(graph), 500, 0);
    sink(graph, repartition(graph, rows, 0, 100), ALL);
    Plan *plan = planned(graph, true);
    CHECK(plan->stage_count == 4);
    CHECK(graph_at(graph, plan->stages[1].unit_rows)->value.i == 500);
    CHECK(graph_at(graph, plan->stages[1].cut_bytes)->value.i == 100);
    arena_free(graph->arena);
}

static void what_no_sink_needs_is_left_out(void) {
    Graph *graph = graph_empty();
    OpId dead = filter(graph, source(graph));
    sink(graph, source(graph), ALL);
    Plan *plan = planned(graph, false);
    CHECK(plan->stage_count == 1 && plan->source_count == 1);
    CHECK(plan->fused[dead.i] == STAGE_NONE);
    arena_free(graph->arena);
}

// ---- the verifier ----

typedef void BreakPlan(Plan *plan);

static void break_root(Plan *plan) { plan->stages[0].root = OP_NONE; }
static void break_member(Plan *plan) { plan->stages[1].ops[1] = plan->stages[0].root; }
static void break_input(Plan *plan) { plan->stages[0].source = 7; }
static void break_kind(Plan *plan) { plan->stages[1].kind = STAGE_UNMATCHED; }
static void break_terminal(Plan *plan) { plan->stages[0].terminals[0].index = 7; }
static void break_maker(Plan *plan) { plan->stages[0].terminals[0].op = OP_NONE; }
static void break_ends(Plan *plan) { plan->stages[0].terminal_count = 0; }
static void break_columns(Plan *plan) { plan->stages[0].columns.op_count = 7; }
static void break_filters(Plan *plan) { plan->stages[0].columns.filter_count = 7; }
static void break_producers(Plan *plan) { plan->breakers[0].producers = 7; }
static void break_align(Plan *plan) { plan->breakers[0].slots[0].offset++; }
static void break_end(Plan *plan) { plan->breakers[0].entry_bytes -= 16; }
static void break_share(Plan *plan) { plan->breakers[0].state_offsets[0] = 16; }
static void break_states(Plan *plan) {
    plan->breakers[0].state_offsets[1] = plan->breakers[0].state_offsets[0];
}
static void break_usage(Plan *plan) { plan->fused[0] = STAGE_NONE; }
static void break_dead(Plan *plan) { plan->usage.ops[0] = false; }

static void break_order(Plan *plan) {
    Stage first = plan->stages[0];
    plan->stages[0] = plan->stages[1];
    plan->stages[1] = first;
}

static const struct { BreakPlan *run; const char *error; } broken[] = {
    {break_root, "stage 0: its root is not its first member"},
    {break_member, "stage 1: a member takes rows that no member before it makes"},
    {break_input, "stage 0: its input is not there"},
    {break_kind, "stage 1: its input is not there, or of another kind"},
    {break_terminal, "stage 0: a terminal is not what its consumer fills"},
    {break_maker, "stage 0: a terminal takes rows that no member makes"},
    {break_ends, "stage 0: its rows go nowhere"},
    {break_order, "stage 0: it waits for a stage that does not come before it"},
    {break_columns, "stage 0: loops over columns go over its last member"},
    {break_filters, "stage 0: loops over columns run filters that are not there"},
    {break_producers, "breaker 0: other producers than those that feed it"},
    {break_align, "breaker 0: something in an entry is not aligned"},
    {break_end, "breaker 0: something lies after the end of an entry"},
    {break_share, "breaker 0: two things share bytes of an entry"},
    {break_states, "breaker 0: two things share bytes of an entry"},
    {break_usage, "operator 0: no stage computes it"},
    {break_dead, "operator 0: it runs, and no sink needs it"},
};

static void every_rule_of_plans_can_be_broken(void) {
    for (size_t i = 0; i < countof(broken); i++) {
        Graph *graph = graph_empty();
        sink(graph, filter(graph, group_by(graph, filter(graph, source(graph)), 2)), ALL);
        Plan *plan = planned(graph, false);
        TextBuf said = {0};
        CHECK(plan_verify(plan, &said) && said.len == 0);
        broken[i].run(plan);
        CHECK_SAYS(!plan_verify(plan, &said), "%s passes", broken[i].error);
        text_buf_char(&said, '\0');
        CHECK_SAYS(strstr(said.at, broken[i].error), "'%s', not '%s'\n", said.at,
                   broken[i].error);
        text_buf_free(&said);
        arena_free(graph->arena);
    }
}

// ---- the passes ----

static void a_plan_stops_behind_any_pass(void) {
    uint32_t layout = plan_pass_find(TEXT("layout"));
    for (uint32_t last = 1; last <= plan_pass_count; last++) {
        Graph *graph = graph_empty();
        sink(graph, group_by(graph, source(graph), 2), ALL);
        Plan *plan = plan_make(graph, (PlanOptions){.last = last});
        TextBuf buf = {0};
        plan_print(&buf, plan);
        text_buf_char(&buf, '\0');
        CHECK(plan_pass_find(text_of(plan_passes[last - 1].name)) == last);
        CHECK((strstr(buf.at, ", entry ") != nullptr) == (last >= layout));
        CHECK((strstr(buf.at, "memory: ") != nullptr) == (last == plan_pass_count));
        text_buf_free(&buf);
        arena_free(graph->arena);
    }
}

// ---- workers ----

static bool is_home(const Plan *plan, size_t stage, const char *why) {
    Text home = plan->stages[stage].home;
    return why ? home.len > 0 && strstr(text_c(plan->graph->arena, home), why) : home.len == 0;
}

static void what_workers_cannot_do_stays_in_the_job(void) {
    Graph *graph = graph_empty();
    sink(graph, join(graph, source(graph), source(graph), JOIN_FULL), ALL);
    Plan *plan = planned(graph, false);
    for (size_t s = 0; s < plan->stage_count; s++) CHECK(is_home(plan, s, nullptr));
    CHECK(plan->stage_count == 3 && text_is(plan->breakers[0].hands, "rows"));
    arena_free(graph->arena);

    graph = graph_empty();
    sink(graph, join(graph, source(graph), source(graph), JOIN_LEFT), ALL);
    plan = planned(graph, false);
    CHECK(is_home(plan, 0, nullptr) && is_home(plan, 1, nullptr));
    arena_free(graph->arena);

    graph = graph_empty();
    OpId zipped = pair(graph, OP_ZIP, source(graph), filter(graph, source(graph)));
    sink(graph, group_by(graph, filter(graph, zipped), 0), ALL);
    plan = planned(graph, true);
    bool pairs = false, once = false;
    for (size_t s = 0; s < plan->stage_count; s++)
        pairs |= is_home(plan, s, "pairs rows"), once |= is_home(plan, s, "made again");
    CHECK(pairs && once && is_home(plan, 0, nullptr));  // After the zip a filter fills the group.
    arena_free(graph->arena);

    graph = graph_empty();
    sink(graph, limit(graph, source(graph)), ALL);
    plan = planned(graph, false);
    CHECK(is_home(plan, 0, "a limit") && is_home(plan, 1, "a limit"));
    arena_free(graph->arena);
}

static void a_group_over_workers_is_shared_out_by_its_keys(void) {
    static const AggRef held = {.name = TEXT("collect"), .symbol = TEXT("sb_collect"),
                                .state_bytes = 32, .state_align = 8, .held = TEXT("list")};
    for (int apart = 0; apart < 2; apart++) {
        Graph *graph = graph_empty();
        OpId group = group_by(graph, source(graph), 2);
        if (apart) graph_op_at(graph, group)->group.aggs[1].fn = &held;
        sink(graph, group, ALL);
        Plan *plan = planned(graph, false);
        CHECK(is_home(plan, 0, nullptr) && is_home(plan, 1, nullptr));
        CHECK(text_is(plan->breakers[0].hands, "its own groups"));
        CHECK(text_is(plan->breakers[0].shares, "ranges of hashes of key"));
        arena_free(graph->arena);
    }
    // Who fills and hands on would fill twice; half a cpu would be more tasks than threads.
    Graph *graph = graph_empty();
    OpId from = source(graph);
    sink(graph, group_by(graph, from, 0), ALL);
    sink(graph, from, ALL);
    CHECK(is_home(planned(graph, false), 0, "hands rows on"));
    arena_free(graph->arena);
    graph = graph_empty();
    OpId half = filter(graph, source(graph));
    OpId few = group_by(graph, half, 0);
    graph_op_at(graph, half)->resources = graph_op_at(graph, few)->resources =
        graph_resources(graph, (Resources){.cpus = RESOURCE_WHOLE / 2});
    sink(graph, few, ALL);
    CHECK(is_home(planned(graph, false), 1, "less than a cpu"));
    arena_free(graph->arena);
}

// One stage asks for `accel` and looks rows up; another one asks for it, too.
static void stages_of_one_resource_stay_together(void) {
    static Resource accel = {TEXT("accel"), RESOURCE_WHOLE};
    Graph *graph = graph_empty();
    ResourcesId held = graph_resources(graph, (Resources){.cpus = RESOURCE_WHOLE,
                                                          .customs = &accel, .custom_count = 1});
    OpId first = filter(graph, source(graph)), other = filter(graph, source(graph));
    OpId joined = join(graph, first, source(graph), JOIN_INNER);
    graph_op_at(graph, first)->resources = graph_op_at(graph, joined)->resources = held;
    graph_op_at(graph, other)->resources = held;
    sink(graph, joined, ALL);
    sink(graph, other, ALL);
    Plan *plan = planned(graph, false);
    uint32_t there = 0, looks = 0;
    for (size_t s = 0; s < plan->stage_count; s++) {
        there += is_home(plan, s, "accel is there");
        looks += is_home(plan, s, "looks rows up");
    }
    CHECK(there == 1 && looks == 1);
    arena_free(graph->arena);
}

static const UnitTest tests[] = {
    {"a_chain_is_one_stage", a_chain_is_one_stage},
    {"without_fusion_each_step_is_a_stage", without_fusion_each_step_is_a_stage},
    {"a_group_keeps_keys_and_states", a_group_keeps_keys_and_states},
    {"an_aggregate_nobody_reads_has_no_state", an_aggregate_nobody_reads_has_no_state},
    {"a_fork_is_one_stage_with_two_ends", a_fork_is_one_stage_with_two_ends},
    {"a_sort_keeps_what_is_read_behind_it", a_sort_keeps_what_is_read_behind_it},
    {"a_join_probes_in_the_stage_of_its_left_input", a_join_probes_in_the_stage_of_its_left_input},
    {"a_flow_joined_with_its_own_group_is_kept", a_flow_joined_with_its_own_group_is_kept},
    {"crossed_joins_do_not_wait_for_each_other", crossed_joins_do_not_wait_for_each_other},
    {"a_full_join_goes_on_with_unmatched_rows", a_full_join_goes_on_with_unmatched_rows},
    {"a_union_is_fed_in_order", a_union_is_fed_in_order},
    {"a_union_with_itself_keeps_the_rows", a_union_with_itself_keeps_the_rows},
    {"crossed_unions_have_an_order", crossed_unions_have_an_order},
    {"a_zip_has_two_edges", a_zip_has_two_edges},
    {"a_limit_is_a_limited_edge", a_limit_is_a_limited_edge},
    {"places_travel_where_a_reject_may_follow", places_travel_where_a_reject_may_follow},
    {"behind_a_meeting_no_place_is_wanted", behind_a_meeting_no_place_is_wanted},
    {"other_resources_are_another_stage", other_resources_are_another_stage},
    {"behind_a_breaker_resources_need_no_border", behind_a_breaker_resources_need_no_border},
    {"other_partitions_are_another_stage", other_partitions_are_another_stage},
    {"without_fusion_partitions_need_no_border", without_fusion_partitions_need_no_border},
    {"what_no_sink_needs_is_left_out", what_no_sink_needs_is_left_out},
    {"every_rule_of_plans_can_be_broken", every_rule_of_plans_can_be_broken},
    {"a_plan_stops_behind_any_pass", a_plan_stops_behind_any_pass},
    {"what_workers_cannot_do_stays_in_the_job", what_workers_cannot_do_stays_in_the_job},
    {"a_group_over_workers_is_shared_out_by_its_keys",
     a_group_over_workers_is_shared_out_by_its_keys},
    {"stages_of_one_resource_stay_together", stages_of_one_resource_stay_together},
};

UNIT_MAIN("plan", tests)
