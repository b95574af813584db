// What breakers keep of each row, and where.
#include "ir/plan.h"

#include <assert.h>
#include <string.h>

enum {
    KEY_STR_BYTES = 24,    // SbKeyStr.
    KEY_STR_NULL_BYTES = 32,
    POINTER_BYTES = 8,
    JUMP_BYTES = 16,       // SbJump.
    BOUND_BYTES = 8,
    COUNT_BYTES = 8,       // The state of a count of rows.
};

typedef struct Layout {
    Plan    *plan;
    Arena   *arena;
    Breaker *breaker;
    size_t   slot_cap;
} Layout;

// Room in the entry after what is there.
static size_t take(Breaker *breaker, size_t size, size_t align) {
    size_t offset = align_up(breaker->entry_bytes, align);
    breaker->entry_bytes = offset + size;
    if (align > breaker->entry_align) breaker->entry_align = align;
    return offset;
}

static uint32_t add_slot(Layout *layout, Text name, const Type *type, bool group_key) {
    Breaker *breaker = layout->breaker;
    Slot slot = {.name = name, .type = type, .key_str = group_key && type_is_bytes(type)};
    size_t size = type_size(type), align = type_align(type);
    if (slot.key_str) size = type->nullable ? KEY_STR_NULL_BYTES : KEY_STR_BYTES, align = 8;
    slot.offset = take(breaker, size, align);
    size_t count = breaker->slot_count;
    breaker->slots = arena_grow(layout->arena, breaker->slots, sizeof slot, alignof(Slot),
                                &layout->slot_cap, count + 1);
    breaker->slots[breaker->slot_count++] = slot;
    return breaker->slot_count - 1;
}

static Text key_name(const Graph *graph, const Op *from, ExprId key) {
    const Expr *node = graph_at(graph, key);
    return node->op == EXPR_COLUMN ? from->columns[node->index].name : TEXT("key");
}

// Are the bits of the key those of the value? Of floats keys hold 0.0 for -0.0.
static bool keeps_bits(const Breaker *breaker, const Type *type) {
    bool one_form = breaker->kind == BREAK_GROUP || breaker->kind == BREAK_JOIN;
    return !one_form || !type_is_float(type_base(type));
}

// Slots for keys; the columns that are keys as they are share them.
static void add_keys(Layout *layout, const Op *from, ExprId *keys, uint32_t count) {
    const Graph *graph = layout->plan->graph;
    Breaker *breaker = layout->breaker;
    breaker->keys = keys;
    breaker->key_count = breaker->ordered = count;
    for (uint32_t i = 0; i < count; i++) {
        const Expr *node = graph_at(graph, keys[i]);
        bool group = breaker->kind == BREAK_GROUP;
        uint32_t slot = add_slot(layout, key_name(graph, from, keys[i]), node->type, group);
        bool column = node->op == EXPR_COLUMN && breaker->slot_of &&
                      keeps_bits(breaker, node->type);
        if (column && breaker->slot_of[node->index] == SLOT_NONE)
            breaker->slot_of[node->index] = slot;
    }
}

// Begins a map from columns of `from` to slots.
static void map_columns(Layout *layout, const Op *from) {
    uint32_t *slot_of = arena_new_array(layout->arena, uint32_t, from->column_count);
    for (uint32_t i = 0; i < from->column_count; i++) slot_of[i] = SLOT_NONE;
    layout->breaker->slot_of = slot_of;
}

static void keep_column(Layout *layout, const Op *from, uint32_t column) {
    uint32_t *slot = &layout->breaker->slot_of[column];
    if (*slot == SLOT_NONE)
        *slot = add_slot(layout, from->columns[column].name, from->columns[column].type, false);
}

// `used`: by column of `op`. Its input may have more, which it does not pass on.
static void keep_used(Layout *layout, const Op *op, const bool *used) {
    for (uint32_t i = 0; i < op->column_count; i++)
        if (used[i]) keep_column(layout, op, i);
}

// ---- aggregates ----

bool plan_owns_state(const Breaker *breaker, uint32_t agg) {
    if (breaker->state_offsets[agg] == SIZE_MAX) return false;
    for (uint32_t i = 0; i < agg; i++)
        if (breaker->state_offsets[i] == breaker->state_offsets[agg]) return false;
    return true;
}

bool plan_same_state(const Agg *a, const Agg *b) {
    if (a->arg_count != b->arg_count || a->where.i != b->where.i || !a->fn != !b->fn) return false;
    for (uint32_t i = 0; i < a->arg_count; i++)
        if (a->args[i].i != b->args[i].i) return false;
    return !a->fn || text_eq(a->fn->symbol, b->fn->symbol) ||
           (a->fn->traits & b->fn->traits & AGG_SUMS);
}

// The state of aggregate `index`: that of an earlier one that adds up the same, or a new one.
static size_t place_state(Breaker *breaker, const Agg *aggs, uint32_t index) {
    for (uint32_t i = 0; i < index; i++)
        if (breaker->state_offsets[i] != SIZE_MAX && plan_same_state(&aggs[i], &aggs[index]))
            return breaker->state_offsets[i];
    const AggRef *fn = aggs[index].fn;
    return take(breaker, fn ? fn->state_bytes : COUNT_BYTES, fn ? fn->state_align : COUNT_BYTES);
}

// ---- each kind ----

static void lay_group(Layout *layout, const Op *op, const Op *input) {
    Breaker *breaker = layout->breaker;
    const bool *used = layout->plan->usage.columns[op->id.i];
    ExprId *keys = arena_new_array(layout->arena, ExprId, op->group.key_count);
    for (uint32_t i = 0; i < op->group.key_count; i++) keys[i] = op->group.keys[i].expr;
    add_keys(layout, input, keys, op->group.key_count);
    for (uint32_t i = 0; i < op->group.key_count; i++) breaker->slots[i].name = op->columns[i].name;
    breaker->state_offsets = arena_new_array(layout->arena, size_t, op->group.agg_count);
    for (uint32_t i = 0; i < op->group.agg_count; i++) {
        bool read = used[op->group.key_count + i];
        breaker->state_offsets[i] = read ? place_state(breaker, op->group.aggs, i) : SIZE_MAX;
    }
}

static void lay_distinct(Layout *layout, const Op *op, const Op *input) {
    ExprId *keys = op->distinct.keys;
    uint32_t count = op->distinct.count;
    if (!count) {
        keys = arena_new_array(layout->arena, ExprId, input->column_count);
        for (uint32_t i = 0; i < input->column_count; i++)
            if (!input->columns[i].hidden)
                keys[count++] = graph_column(layout->plan->graph, 0, i, input->columns[i].type,
                                             op->span);
    }
    map_columns(layout, input);
    add_keys(layout, input, keys, count);
    keep_used(layout, op, layout->plan->usage.columns[op->id.i]);
}

static void lay_sort(Layout *layout, const Op *op, const Op *input) {
    uint32_t count = op->kind == OP_SORT ? op->sort.count : 0;
    ExprId *keys = arena_new_array(layout->arena, ExprId, count);
    for (uint32_t i = 0; i < count; i++) keys[i] = op->sort.keys[i].key;
    map_columns(layout, input);
    add_keys(layout, input, keys, count);
    keep_used(layout, op, layout->plan->usage.columns[op->id.i]);
}

// Keys, then the values that functions take, each as a key that orders nothing; kept columns; and
// room for the results.
static void lay_window(Layout *layout, const Op *op, const Op *input) {
    Breaker *breaker = layout->breaker;
    const WindowOp *window = &op->window;
    const bool *used = layout->plan->usage.columns[op->id.i];
    uint32_t ordered = op_sort_keys(op), count = ordered;
    ExprId *keys = arena_new_array(layout->arena, ExprId, ordered + window->fn_count);
    breaker->value_slots = arena_new_array(layout->arena, uint32_t, window->fn_count);
    breaker->result_slots = arena_new_array(layout->arena, uint32_t, window->fn_count);
    for (uint32_t k = 0; k < ordered; k++) keys[k] = op_sort_key(op, k).key;
    // What nobody reads is not computed, and rejects nothing.
    bool *wanted = arena_new_array(layout->arena, bool, window->fn_count + 1);
    for (uint32_t i = 0; i < op->column_count; i++)
        if (used[i] && window_fn(op, i)) wanted[window_fn(op, i) - window->fns] = true;
    for (uint32_t i = 0; i < window->fn_count; i++) {
        breaker->value_slots[i] = breaker->result_slots[i] = SLOT_NONE;
        if (!wanted[i]) continue;
        for (uint32_t k = 0; k < count; k++)
            if (keys[k].i == window->fns[i].arg.i) breaker->value_slots[i] = k;
        if (expr_is_none(window->fns[i].arg) || breaker->value_slots[i] != SLOT_NONE) continue;
        breaker->value_slots[i] = count;
        keys[count++] = window->fns[i].arg;
    }
    map_columns(layout, input);
    add_keys(layout, input, keys, count);
    breaker->ordered = ordered;
    for (uint32_t i = 0; i < op->column_count; i++)
        if (used[i] && !window_fn(op, i)) keep_column(layout, input, window->from[i]);
    for (uint32_t i = 0; i < op->column_count; i++) {
        const WindowFn *fn = window_fn(op, i);
        if (used[i] && fn)
            breaker->result_slots[fn - window->fns] = add_slot(layout, fn->name, fn->type, false);
    }
}

// Right columns that the condition of a join reads.
static void keep_condition(Layout *layout, const Op *op, const Op *right) {
    Walk walk = walk_make(layout->plan->graph);
    walk_start(&walk);
    walk_add(&walk, op->join.seek);
    walk_add(&walk, op->join.within);
    walk_add(&walk, op->join.where);
    for (ExprId id; walk_next(&walk, &id);) {
        const Expr *node = graph_at(walk.graph, id);
        bool column = node->op == EXPR_COLUMN || node->op == EXPR_RAW;
        if (column && node->input == 1) keep_column(layout, right, node->index);
    }
}

static void lay_join(Layout *layout, const Op *op, const Op *right) {
    const bool *used = layout->plan->usage.columns[op->id.i];
    bool unmatched = op->join.kind == JOIN_RIGHT || op->join.kind == JOIN_FULL;
    map_columns(layout, right);
    add_keys(layout, right, op->join.right, op->join.key_count);
    for (uint32_t i = 0; i < op->column_count; i++) {
        JoinColumn column = op->join.columns[i];
        if (used[i] && column.side == 1) keep_column(layout, right, column.index);
        if (used[i] && column.merged && unmatched) keep_column(layout, right, column.merged_index);
    }
    keep_condition(layout, op, right);
    layout->breaker->next_offset = take(layout->breaker, POINTER_BYTES, POINTER_BYTES);
    Breaker *breaker = layout->breaker;
    breaker->bound_count = plan_join_bounds(layout->plan->graph, op, breaker->bounds);
    if (join_is_nearest(op) || breaker->bound_count)
        breaker->jump_offset = take(breaker, JUMP_BYTES + BOUND_BYTES * breaker->bound_count,
                                    POINTER_BYTES);
    layout->breaker->matched_offset = take(layout->breaker, 1, 1);
}

static void lay_zip(Layout *layout, const Op *op, const Op *input) {
    const Graph *graph = layout->plan->graph;
    const bool *used = layout->plan->usage.columns[op->id.i];
    if (layout->breaker->input) used += graph_op_at(graph, op->inputs[0])->column_count;
    map_columns(layout, input);
    keep_used(layout, input, used);
}

// Are rows of the operator shown as JSON, for want of a text?
static bool makes_rows(const Op *op) {
    return op_is_meeting(op->kind) || (op->kind == OP_SOURCE && op->source.kind != SOURCE_FILES);
}

static bool is_shown(Column column) { return !column.hidden && !column.unread; }

// The meeting, or the source without a text, that the rows of `op` come from, or OP_NONE.
static OpId meeting_before(const Graph *graph, const Op *op) {
    while (!makes_rows(op)) {
        if (!op->input_count) return OP_NONE;
        op = graph_op_at(graph, op->inputs[0]);
    }
    return op->id;
}

// What a reject after the edge shows of the meeting before it, beside the kept columns.
static void keep_meeting(Layout *layout, const Op *op) {
    Breaker *breaker = layout->breaker;
    breaker->meeting = meeting_before(layout->plan->graph, op);
    if (breaker->meeting.i == OP_NONE.i) return;
    const Op *meeting = graph_op_at(layout->plan->graph, breaker->meeting);
    breaker->meeting_slots = arena_new_array(layout->arena, uint32_t, meeting->column_count);
    for (uint32_t i = 0; i < meeting->column_count; i++) {
        Column column = meeting->columns[i];
        breaker->meeting_slots[i] =
            is_shown(column) ? add_slot(layout, column.name, column.type, false) : SLOT_NONE;
    }
}

// What the stages that begin with the kept rows of `op` read of them.
static void lay_kept(Layout *layout, const Op *op) {
    const Plan *plan = layout->plan;
    size_t count = plan->graph->op_count;
    Usage usage = plan->usage;
    usage.columns = arena_copy(layout->arena, usage.columns, sizeof(bool *) * count,
                               alignof(bool *));
    usage.columns[op->id.i] = arena_new_array(layout->arena, bool, op->column_count);
    uint32_t index = (uint32_t)(layout->breaker - plan->breakers);
    for (size_t s = 0; s < plan->stage_count; s++) {
        const Stage *stage = &plan->stages[s];
        if (stage->kind != STAGE_ROWS || stage->breaker != index) continue;
        for (uint32_t i = 1; i < stage->op_count; i++)
            if (graph_op_at(plan->graph, stage->ops[i])->inputs[0].i == op->id.i)
                usage_mark(plan->graph, usage, stage->ops[i]);
        for (uint32_t i = 0; i < stage->terminal_count; i++)
            if (stage->terminals[i].op.i == op->id.i)
                usage_mark(plan->graph, usage, stage->terminals[i].consumer);
    }
    map_columns(layout, op);
    bool shown = usage.shown[op->id.i], meeting = makes_rows(op);
    for (uint32_t i = 0; i < op->column_count; i++)
        usage.columns[op->id.i][i] |= shown && meeting && is_shown(op->columns[i]);
    keep_used(layout, op, usage.columns[op->id.i]);
    if (shown && !meeting) keep_meeting(layout, op);
}

static void lay_edge(Layout *layout, const Op *op, const bool *wants_place) {
    if (layout->breaker->keeps_op) {
        lay_kept(layout, op);
    } else if (op->kind == OP_ZIP) {
        lay_zip(layout, op, graph_op_at(layout->plan->graph, op->inputs[layout->breaker->input]));
    } else {
        map_columns(layout, op);
        keep_used(layout, op, layout->plan->usage.columns[op->id.i]);
    }
    if (wants_place[op->id.i] && (layout->breaker->keeps_op || op->kind != OP_ZIP))
        layout->breaker->place_offset = take(layout->breaker, PLACE_BYTES, 8);
}

static void lay_breaker(Plan *plan, Breaker *breaker, const bool *wants_place,
                        const bool *wants_identity) {
    Layout layout = {.plan = plan, .arena = plan->graph->arena, .breaker = breaker};
    const Op *op = graph_op_at(plan->graph, breaker->op);
    const Op *input = op->input_count ? graph_op_at(plan->graph, op->inputs[0]) : op;
    breaker->entry_bytes = PLAN_ENTRY_BYTES;
    breaker->entry_align = alignof(uint64_t);
    breaker->next_offset = breaker->matched_offset = breaker->place_offset = SIZE_MAX;
    breaker->identity_offset = breaker->jump_offset = SIZE_MAX;
    breaker->meeting = OP_NONE;
    switch (breaker->kind) {
    case BREAK_GROUP:
        if (op->kind == OP_GROUP) lay_group(&layout, op, input);
        else lay_distinct(&layout, op, input);
        break;
    case BREAK_SORT:
        if (op->kind == OP_WINDOW) lay_window(&layout, op, input);
        else lay_sort(&layout, op, input);
        break;
    case BREAK_JOIN: lay_join(&layout, op, graph_op_at(plan->graph, op->inputs[1])); break;
    case BREAK_EDGE: lay_edge(&layout, op, wants_place); break;
    }
    if (wants_identity[op->id.i]) breaker->identity_offset = take(breaker, 8, 8);
    breaker->entry_bytes = align_up(breaker->entry_bytes, breaker->entry_align);
}

// ---- places of source rows ----

// Is a row of the operator one row of a source, by whose place rejects are ordered? `input` says
// so of its input's rows.
static bool traced_row(const Op *op, bool input) {
    switch (op->kind) {
    case OP_SOURCE: return true;
    case OP_FILTER: case OP_PROJECT: case OP_EXPLODE: case OP_SAMPLE: case OP_HINT:
        return input;
    case OP_GROUP: case OP_SORT: case OP_DISTINCT: case OP_JOIN: case OP_ZIP: case OP_SHUFFLE:
    case OP_UNION: case OP_LIMIT: case OP_SINK: case OP_WINDOW:
        return false;
    }
    return false;
}

typedef struct PlaceSearch {
    const Graph *graph;
    Walk         walk;
    bool         found;
} PlaceSearch;

static void search_place(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    (void)wanted;
    PlaceSearch *search = self;
    if (scope == SCOPE_PARAMS || scope == SCOPE_OWN) return;
    walk_start(&search->walk);
    walk_add(&search->walk, *slot);
    for (ExprId id; !search->found && walk_next(&search->walk, &id);)
        search->found = graph_at(search->graph, id)->op == EXPR_PLACE;
}

// By operator: does something after it ask for the place of the source's row?
static bool *find_places(const Plan *plan) {
    const Graph *graph = plan->graph;
    bool *traced = arena_new_array(graph->arena, bool, graph->op_count);
    bool *wanted = arena_new_array(graph->arena, bool, graph->op_count);
    for (size_t i = 0; i < graph->op_count; i++) {
        Op *op = &graph->ops[i];
        traced[i] = traced_row(op, op->input_count > 0 && traced[op->inputs[0].i]);
    }
    for (size_t i = graph->op_count; i-- > 0;) {
        Op *op = &graph->ops[i];
        PlaceSearch search = {.graph = graph, .walk = walk_make(graph)};
        search.found = wanted[i] && traced[i];
        if (!search.found && plan->usage.ops[i]) op_each_expr(op, &search, search_place);
        search.found |= plan->usage.ops[i] && op_rejects(graph, op);
        for (uint32_t k = 0; k < op->input_count; k++)
            wanted[op->inputs[k].i] |= search.found && traced[op->inputs[k].i];
    }
    return wanted;
}

static void search_random(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    (void)scope, (void)wanted;
    PlaceSearch *search = self;
    walk_start(&search->walk);
    walk_add(&search->walk, *slot);
    for (ExprId id; !search->found && walk_next(&search->walk, &id);) {
        const Expr *node = graph_at(search->graph, id);
        // A row that foreign code crashes on is known by its identity.
        search->found = node->op == EXPR_CALL &&
                        (node->fn->traits & FN_RANDOM || fn_is_foreign(node->fn));
    }
}

// By operator: does something after its rows ask for their identity?
static bool *find_identities(const Plan *plan) {
    const Graph *graph = plan->graph;
    bool *wanted = arena_new_array(graph->arena, bool, graph->op_count);
    for (size_t i = graph->op_count; i-- > 0;) {
        Op *op = &graph->ops[i];
        PlaceSearch search = {.graph = graph, .walk = walk_make(graph)};
        search.found = wanted[i] || op->kind == OP_SAMPLE || op->kind == OP_SHUFFLE;
        if (!search.found && plan->usage.ops[i]) op_each_expr(op, &search, search_random);
        for (uint32_t k = 0; k < op->input_count; k++) wanted[op->inputs[k].i] |= search.found;
    }
    return wanted;
}

void plan_layout(Plan *plan, PlanOptions options) {
    (void)options;
    const bool *wants_place = find_places(plan), *wants_identity = find_identities(plan);
    for (size_t i = 0; i < plan->breaker_count; i++)
        lay_breaker(plan, &plan->breakers[i], wants_place, wants_identity);
}
