// Column loops: the leading steps of a stage over a chunk of rows, as the plan chose them.
//
//   chunk ─▶ loop, a function of its own without branches ─▶ arrays of the values that others read,
//        │                                                   a byte for each row that is kept
//        ├─ no row faults ─▶ aggregates add columns, sinks write them
//        │                     ─▶ rows kept, one by one, through what is left
//        └─ one may       ─▶ all rows of the chunk, one by one, through everything
//
// The function is small and has one loop, which codegen/target.c gives to LLVM's vectoriser. What
// rows after it need is found by emitting them first: each value that they ask for becomes an
// array, of the stage's frame, and a parameter of the function.
#include "codegen/emit_scan.h"
#include "codegen/emit_sink.h"

#include "stdlib/aggregate.h"

#include <stdio.h>

static_assert(COLUMN_ROWS == SB_COLUMN_ROWS);

typedef enum LaneKind {
    LANE_KEPT,     // 1 for a row that the filters keep, else 0.
    LANE_COLUMN,   // Output column of a member.
    LANE_ARG,      // Argument of an aggregate.
    LANE_COUNTS,   // 1 for a row that an aggregate counts, else 0.
    LANE_BITS,     // What a sink writes of a row.
} LaneKind;

// An array of the chunk.
typedef struct Lane {
    LaneKind kind;
    OpId     op;        // COLUMN: the member; ARG, COUNTS: the group; BITS: the sink.
    uint32_t column;    // COLUMN
    ExprId   arg;       // ARG; COUNTS: one that may be null, or none.
    ExprId   where;     // ARG, COUNTS: of the aggregate, or none.
    const Type *type;   // Of its values.
    Val      values;    // Address, in the stage's frame.
    Val      valid;     // A byte for each value of a nullable type; else null.
    Val      values_out, valid_out;  // The same as parameters of the function.
} Lane;

typedef struct ColumnEmit {
    const ColumnPart *part;
    Lane    *lanes;
    size_t   lane_count, lane_cap;
    StepId  *filters;        // The step of each filter,
    uint32_t filter_count;
    Val      filtered;       // and an array of the rows that it took out.
    bool     direct;         // Does the loop write to outputs themselves?
    Val      kept;           // Slot: how many rows are left.
    Val      places;         // Of the rows that are kept, in order: u16. Null: of all rows.
    Val      at;             // Of the row after the loop: its place in the chunk.
    Val      function;
} ColumnEmit;

enum { PARAM_TASK, PARAM_FIRST, PARAM_COUNT, PARAM_FILTERED, PARAM_LANES };

// ---- lanes --------------------------------------------------------------------------------------

static const Type *bool_type(const Emit *e) { return type_of(e->graph->types, TYPE_BOOL); }

static Val new_array(Emit *e, const Type *type) {
    return emit_alloca(e, LLVMArrayType2(e->i8, type_size(type) * COLUMN_ROWS), "lane");
}

static Lane *find_lane(Emit *e, ColumnEmit *c, Lane lane) {
    for (size_t i = 0; i < c->lane_count; i++) {
        Lane *old = &c->lanes[i];
        if (old->kind == lane.kind && old->op.i == lane.op.i && old->column == lane.column &&
            old->arg.i == lane.arg.i && old->where.i == lane.where.i)
            return old;
    }
    lane.values = new_array(e, type_base(lane.type));
    if (lane.kind == LANE_COLUMN && lane.type->nullable)
        lane.valid = new_array(e, bool_type(e));
    arena_push(e->arena, c->lanes, c->lane_count, c->lane_cap, lane);
    return &c->lanes[c->lane_count - 1];
}

static Lane *kept_lane(Emit *e, ColumnEmit *c) {
    return find_lane(e, c, (Lane){.kind = LANE_KEPT, .op = OP_NONE, .arg = EXPR_NONE,
                                  .where = EXPR_NONE,
                                  .type = bool_type(e)});
}

static Val lane_at(Emit *e, const Type *type, Val array, Val at) {
    return emit_index(e, LLVMArrayType2(e->i8, type_size(type)), array, at);
}

static Val load_bit(Emit *e, Val bytes, Val at) {
    Val byte = emit_load(e, e->i8, emit_index(e, e->i8, bytes, at), "");
    return LLVMBuildICmp(e->b, LLVMIntNE, byte, emit_int(e, e->i8, 0), "");
}

static void store_bit(Emit *e, Val bit, Val bytes, Val at) {
    emit_store(e, LLVMBuildZExt(e->b, bit, e->i8, ""), emit_index(e, e->i8, bytes, at));
}

// ---- rows after the loop -----------------------------------------------------------------------

static uint32_t member_of(const Emit *e, const Op *op) {
    uint32_t member = 0;
    while (e->stage->stage->ops[member].i != op->id.i) member++;
    return member;
}

bool columns_did(const Emit *e, const Op *op) {
    return e->stage->behind && member_of(e, op) < e->stage->behind->part->op_count;
}

bool columns_did_item(const Emit *e, const Op *op, uint32_t item) {
    return columns_did(e, op) && e->stage->behind->part->items[member_of(e, op)][item];
}

bool columns_did_terminal(const Emit *e, uint32_t terminal) {
    return e->stage->behind && e->stage->behind->part->takes[terminal];
}

Value columns_load(Emit *e, Frame *frame, uint32_t column) {
    const Op *op = frame->op;
    ColumnEmit *c = e->stage->behind;
    if (!columns_did_item(e, op, column)) {
        return emit_expr(e, frame, op->project.items[column].expr);
    }
    const Type *type = op->columns[column].type, *base = type_base(type);
    const Lane *lane = find_lane(e, c, (Lane){.kind = LANE_COLUMN, .op = op->id, .column = column,
                                              .arg = EXPR_NONE, .where = EXPR_NONE, .type = type});
    Value value = emit_load_value(e, base, lane_at(e, base, lane->values, c->at));
    if (lane->valid) value.valid = load_bit(e, lane->valid, c->at);
    return value;
}

// The places of the rows that are kept, in order: u16.
static Val emit_places(Emit *e, ColumnEmit *c, Val count) {
    Val places = emit_alloca(e, LLVMArrayType2(e->i16, COLUMN_ROWS + SB_PLACES_SPARE), "places");
    emit_callv(e, "sb_column_places", e->type_void, arg(kept_lane(e, c)->values), arg(count),
               arg(places));
    return places;
}

// Of the row at a place in the chunk.
static Val number_at(Emit *e, Val first, Val at) {
    Val far = at;
    if (stage_strides(e)) far = LLVMBuildMul(e->b, at, stage_stride(e), "");
    return LLVMBuildAdd(e->b, first, far, "number");
}

// Pushes the rows that are kept through the rest of the stage, then goes to `done`.
static void push_kept(Emit *e, ColumnEmit *c, const Chunk *chunk, Block done) {
    Val kept = emit_load(e, e->i64, c->kept, "kept");
    Block from = emit_here(e), head = emit_block(e, "kept_head"), body = emit_block(e, "kept_row");
    Block next = emit_block(e, "kept_next");
    emit_jump(e, head);
    emit_at(e, head);
    Val i = emit_phi(e, e->i64, "i");
    emit_phi_add(i, emit_i64(e, 0), from);
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntSLT, i, kept, ""), body, done);
    emit_at(e, body);
    c->at = i;
    if (c->places)
        c->at = LLVMBuildZExt(e->b, emit_load(e, e->i16, emit_index(e, e->i16, c->places, i), ""),
                              e->i64, "at");
    Val number = number_at(e, chunk->first, c->at);
    emit_store(e, number, chunk->row);
    stage_rewind(e);
    stage_push_root(e, stage_number_row(e, number), c->part->filter_count, next);
    emit_at(e, next);
    emit_phi_add(i, LLVMBuildAdd(e->b, i, emit_i64(e, 1), ""), next);
    stage_row_border(e, head);
}

// ---- aggregates ---------------------------------------------------------------------------------

static AggColumn agg_column(Emit *e, ColumnEmit *c, OpId group, const Agg *agg, Val rows) {
    AggColumn column = {.rows = rows};
    ExprId arg = agg->fn ? plan_column_arg(e->graph, agg) : EXPR_NONE;
    const Type *type = agg->fn ? graph_at(e->graph, arg)->type : nullptr;
    column.narrow = type && arg.i != agg->args[0].i && type_base(type)->kind == TYPE_F32;
    if (type)
        column.values = find_lane(e, c, (Lane){.kind = LANE_ARG, .op = group, .arg = arg,
                                               .where = agg->where, .type = type})->values;
    if (!type || !type->nullable) arg = EXPR_NONE;
    if (!expr_is_none(arg) || !expr_is_none(agg->where))
        column.counts = find_lane(e, c, (Lane){.kind = LANE_COUNTS, .op = group, .arg = arg,
                                               .where = agg->where,
                                               .type = bool_type(e)})
                            ->values;
    else if (c->filter_count)
        column.counts = kept_lane(e, c)->values;
    return column;
}

static void add_columns(Emit *e, ColumnEmit *c, const Chunk *chunk) {
    const Stage *stage = e->stage->stage;
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        if (!c->part->takes[t]) continue;
        if (stage->terminals[t].is_sink) continue;
        const Breaker *breaker = &e->plan->breakers[stage->terminals[t].index];
        const Op *op = graph_op_at(e->graph, breaker->op);
        Val entry = terminal_only_group(e, t);
        for (uint32_t i = 0; i < op->group.agg_count; i++) {
            if (!plan_owns_state(breaker, i)) continue;
            const Agg *agg = &op->group.aggs[i];
            LLVMMetadataRef outside = emit_debug_enter(e, agg->span);
            AggColumn column = agg_column(e, c, op->id, agg, chunk->count);
            terminal_add_column(e, t, i, entry, &column);
            emit_debug_leave(e, outside);
        }
    }
}

// ---- sinks --------------------------------------------------------------------------------------

static bool writes_column(const Emit *e, const ColumnEmit *c, uint32_t terminal) {
    return c->part->takes[terminal] && e->stage->stage->terminals[terminal].is_sink;
}

static const Op *sink_of(const Emit *e, uint32_t terminal) {
    return graph_op_at(e->graph, e->stage->stage->terminals[terminal].consumer);
}

static const Type *sink_type(const Emit *e, const Op *sink) {
    return graph_at(e->graph, sink->sink.columns[0].value)->type;
}

static Lane *sink_lane(Emit *e, ColumnEmit *c, const Op *sink) {
    return find_lane(e, c, (Lane){.kind = LANE_BITS, .op = sink->id, .arg = EXPR_NONE,
                                  .where = EXPR_NONE, .type = sink_type(e, sink)});
}

static Val bytes_of_rows(Emit *e, const Op *sink, Val rows) {
    return LLVMBuildMul(e->b, rows, emit_i64(e, (int64_t)type_size(sink_type(e, sink))), "bytes");
}

static void count_written(Emit *e, uint32_t terminal, Val rows) {
    Val bytes = bytes_of_rows(e, sink_of(e, terminal), rows);
    Val at = emit_load_at(e, e->ptr, e->stage->terminals[terminal], offsetof(SbOut, at), "");
    sink_count(e, terminal, rows, emit_index(e, e->i8, at, bytes));
}

// What the loop has put into an array, of the rows that are kept.
static void copy_column(Emit *e, ColumnEmit *c, uint32_t terminal, Val values, Val kept) {
    const Op *op = sink_of(e, terminal);
    Val bytes = bytes_of_rows(e, op, kept);
    Val at = sink_room(e, e->stage->terminals[terminal], bytes, e->stage->stop);
    if (c->places)
        emit_callv(e, "sb_column_pick", e->type_void, arg(at), arg(values), arg(c->places),
                   arg(kept), arg(emit_i32(e, (uint32_t)type_size(sink_type(e, op)))));
    else LLVMBuildMemCpy(e->b, at, 1, values, 1, bytes);
}

static void write_columns(Emit *e, ColumnEmit *c, Val kept) {
    for (uint32_t t = 0; t < e->stage->stage->terminal_count; t++) {
        if (!writes_column(e, c, t)) continue;
        Val values = sink_lane(e, c, sink_of(e, t))->values;
        if (!c->direct) copy_column(e, c, t, values, kept);
        count_written(e, t, kept);
    }
}

// Where no row goes on and none is taken out, the loop writes to the outputs themselves.
static void aim_at_sinks(Emit *e, ColumnEmit *c, const Chunk *chunk) {
    for (uint32_t t = 0; t < e->stage->stage->terminal_count; t++) {
        if (!writes_column(e, c, t)) continue;
        const Op *op = sink_of(e, t);
        Val bytes = bytes_of_rows(e, op, chunk->count);
        sink_lane(e, c, op)->values = sink_room(e, e->stage->terminals[t], bytes, e->stage->stop);
    }
}

// ---- a chunk ------------------------------------------------------------------------------------

static void note_filters(Emit *e, ColumnEmit *c) {
    const Stage *stage = e->stage->stage;
    const SourceOp *source = &graph_op_at(e->graph, stage->root)->source;
    c->filters = arena_new_array(e->arena, StepId, c->part->filter_count + c->part->op_count);
    for (uint32_t i = 0; i < c->part->filter_count; i++)
        c->filters[c->filter_count++] = source->filters[i].step;
    for (uint32_t i = 1; i < c->part->op_count; i++) {
        const Op *op = graph_op_at(e->graph, stage->ops[i]);
        if (op->kind == OP_FILTER) c->filters[c->filter_count++] = op->step;
    }
}

static void count_filtered(Emit *e, const ColumnEmit *c) {
    for (uint32_t i = 0; i < c->filter_count; i++)
        stage_count(e, c->filters[i], SB_FILTERED,
                    emit_load_at(e, e->i64, c->filtered, sizeof(int64_t) * i, ""));
}

// Does a row go on by itself?
static bool has_rest(const Emit *e, const ColumnEmit *c) {
    const Stage *stage = e->stage->stage;
    const Op *root = graph_op_at(e->graph, stage->root);
    if (c->part->op_count < stage->op_count || c->part->filter_count < root->source.filter_count)
        return true;
    for (uint32_t i = 0; i < stage->terminal_count; i++)
        if (!c->part->takes[i]) return true;
    return false;
}

static Val call_loop(Emit *e, const ColumnEmit *c, Val first, Val count) {
    Val *args = arena_new_array(e->arena, Val, PARAM_LANES + 2 * c->lane_count);
    unsigned n = PARAM_LANES;
    args[PARAM_TASK] = e->task;
    args[PARAM_FIRST] = first;
    args[PARAM_COUNT] = count;
    args[PARAM_FILTERED] = c->filtered;
    for (size_t i = 0; i < c->lane_count; i++) {
        args[n++] = c->lanes[i].values;
        if (c->lanes[i].valid) args[n++] = c->lanes[i].valid;
    }
    return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(c->function), c->function, args, n, "");
}

// A row in the middle of the chunk ends the stage: only the filters' work up to there counts. They
// have kept that row, so it does not matter whether it comes once more.
static void leave_early(Emit *e, const ColumnEmit *c, const Chunk *chunk, Block early, Block to) {
    emit_at(e, early);
    Val far = LLVMBuildSub(e->b, emit_load(e, e->i64, chunk->row, ""), chunk->first, "");
    Val behind = LLVMBuildExactSDiv(e->b, far, stage_stride(e), "");
    call_loop(e, c, chunk->first, LLVMBuildAdd(e->b, behind, emit_i64(e, 1), ""));
    count_filtered(e, c);
    emit_jump(e, to);
}

// i64 loop(task, first, count, filtered, lanes...): rows kept, or -1 where a row may fault.
static void declare_loop(Emit *e, ColumnEmit *c) {
    Ty *types = arena_new_array(e->arena, Ty, PARAM_LANES + 2 * c->lane_count);
    unsigned n = PARAM_LANES;
    types[PARAM_TASK] = types[PARAM_FILTERED] = e->ptr;
    types[PARAM_FIRST] = types[PARAM_COUNT] = e->i64;
    for (size_t i = 0; i < c->lane_count; i++) n += c->lanes[i].valid ? 2 : 1;
    for (unsigned i = PARAM_LANES; i < n; i++) types[i] = e->ptr;
    char name[64];
    snprintf(name, sizeof name, "sb_columns_%td", e->stage->stage - e->plan->stages);
    c->function = LLVMAddFunction(e->module, name, LLVMFunctionType(e->i64, types, n, false));
    LLVMSetLinkage(c->function, LLVMInternalLinkage);
    const unsigned all = (unsigned)LLVMAttributeFunctionIndex;
    emit_attribute(e, c->function, all, "noinline", nullptr);
    emit_attribute(e, c->function, all, "nounwind", nullptr);
    for (unsigned i = PARAM_FILTERED; i < n; i++)
        emit_attribute(e, c->function, i + 1, "noalias", nullptr);
    n = PARAM_LANES;
    for (size_t i = 0; i < c->lane_count; i++) {
        c->lanes[i].values_out = LLVMGetParam(c->function, n++);
        if (c->lanes[i].valid) c->lanes[i].valid_out = LLVMGetParam(c->function, n++);
    }
}

// The way of a chunk in which no row faults.
static void take_kept(Emit *e, ColumnEmit *c, const Chunk *chunk, Block counted) {
    bool rest = has_rest(e, c), writes = false;
    for (uint32_t t = 0; t < e->stage->stage->terminal_count; t++) writes |= writes_column(e, c, t);
    Block some = emit_block(e, "some_kept");
    Val kept = emit_load(e, e->i64, c->kept, "");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntSGT, kept, emit_i64(e, 0), ""), some, counted);
    emit_at(e, some);
    emit_store(e, chunk->first, chunk->row);
    if (c->filter_count && (rest || writes)) c->places = emit_places(e, c, chunk->count);
    add_columns(e, c, chunk);
    write_columns(e, c, kept);
    if (rest) push_kept(e, c, chunk, counted);
    else emit_jump(e, counted);
}

// Calls the loop. Rows go on one by one where one of them may fault, or ends the stage.
static void begin_chunk(Emit *e, ColumnEmit *c, const Chunk *chunk, Block clean) {
    emit_store(e, chunk->first, chunk->row);
    if (c->direct) aim_at_sinks(e, c, chunk);
    Val rows = call_loop(e, c, chunk->first, chunk->count);
    emit_store(e, rows, c->kept);
    Val good = LLVMBuildICmp(e->b, LLVMIntSGE, rows, emit_i64(e, 0), "");
    for (uint32_t t = 0; t < e->stage->stage->terminal_count; t++)
        if (writes_column(e, c, t)) good = LLVMBuildAnd(e->b, good, sink_takes(e, t, rows), "");
    emit_branch_likely(e, good, clean, chunk->rows);
}

ColumnEmit *stage_columns(Emit *e, const Chunk *chunk) {
    StageEmit *s = e->stage;
    ColumnEmit *c = arena_new_of(e->arena, ColumnEmit);
    *c = (ColumnEmit){.part = &s->stage->columns};
    note_filters(e, c);
    c->direct = !c->filter_count && !has_rest(e, c);
    c->kept = emit_alloca(e, e->i64, "kept");
    c->filtered = emit_alloca(e, LLVMArrayType2(e->i64, c->filter_count + 1), "filtered");
    Block call = emit_here(e), clean = emit_block(e, "clean"), counted = emit_block(e, "counted");
    Block stop = s->stop, satisfied = s->satisfied, full = s->full, inside = s->inside;
    s->behind = c;
    s->stop = emit_block(e, "stop_kept");
    s->satisfied = satisfied ? emit_block(e, "satisfied_kept") : nullptr;
    s->full = full ? emit_block(e, "full_kept") : nullptr;
    s->inside = inside ? emit_block(e, "inside_kept") : nullptr;
    emit_at(e, clean);
    take_kept(e, c, chunk, counted);
    emit_at(e, counted);
    count_filtered(e, c);
    emit_jump(e, chunk->done);
    declare_loop(e, c);
    leave_early(e, c, chunk, s->stop, stop);
    if (satisfied) leave_early(e, c, chunk, s->satisfied, satisfied);
    if (full) leave_early(e, c, chunk, s->full, full);
    if (inside) leave_early(e, c, chunk, s->inside, inside);
    s->stop = stop;
    s->satisfied = satisfied;
    s->full = full;
    s->inside = inside;
    s->behind = nullptr;
    emit_at(e, call);
    begin_chunk(e, c, chunk, clean);
    return c;
}

// ---- the loop -----------------------------------------------------------------------------------

typedef struct Loop {
    ColumnEmit *columns;
    Val         at;         // The row's place in the chunk.
    Val        *counters;   // Of filters: phis, rows taken out so far.
    Val        *counted;    // The same with this row.
    uint32_t    filter;     // The next one.
    Frame     **frames;     // By member.
} Loop;

static void lane_filter(Emit *e, Loop *loop, Frame *frame, ExprId pred) {
    Val keep = emit_condition(e, frame, pred);
    Val outer = emit_narrow(e, keep);
    Val gone = LLVMBuildNot(e->b, keep, "");
    if (outer) gone = LLVMBuildAnd(e->b, gone, outer, "");
    uint32_t i = loop->filter++;
    loop->counted[i] = LLVMBuildAdd(e->b, loop->counters[i],
                                    LLVMBuildZExt(e->b, gone, e->i64, ""), "");
}

static void lane_project(Emit *e, Loop *loop, Frame *frame, uint32_t member) {
    const Op *op = frame->op;
    const bool *items = loop->columns->part->items[member];
    for (uint32_t i = 0; i < op->project.count; i++)
        if (items[i] && graph_faults(e->graph, op->project.items[i].expr))
            frame_column(e, frame, i);
}

static void lane_members(Emit *e, Loop *loop, Val number) {
    const ColumnPart *part = loop->columns->part;
    Frame *frame = stage_number_row(e, number);
    loop->frames[0] = frame;
    for (uint32_t i = 0; i < part->filter_count; i++) {
        const PreFilter *filter = &frame->op->source.filters[i];
        lane_filter(e, loop, frame_over(e, frame, filter->step), filter->pred);
    }
    for (uint32_t m = 1; m < part->op_count; m++) {
        const Op *op = graph_op_at(e->graph, e->stage->stage->ops[m]);
        frame = loop->frames[m] = frame_new(e, op, frame, nullptr);
        if (op->kind == OP_FILTER) lane_filter(e, loop, frame, op->filter.pred);
        if (op->kind == OP_PROJECT) lane_project(e, loop, frame, m);
    }
}

// A value that nobody may look at is written all the same.
static void store_value(Emit *e, const Lane *lane, Value value, Val at) {
    const Type *base = type_base(lane->type);
    Val present = value.valid ? value.valid : emit_i1(e, true);
    value.valid = nullptr;
    emit_store_value(e, base, value, lane_at(e, base, lane->values_out, at));
    if (lane->valid_out) store_bit(e, present, lane->valid_out, at);
}

// What an aggregate looks at is judged where its `where` holds.
static void store_agg(Emit *e, const Lane *lane, Frame *frame, Val at) {
    Val outer = e->lanes->active;
    size_t mark = emit_region_begin(e);
    if (!expr_is_none(lane->where)) emit_narrow(e, emit_condition(e, frame, lane->where));
    Value value = {0};
    if (!expr_is_none(lane->arg)) value = emit_expr(e, frame, lane->arg);
    if (lane->kind == LANE_ARG) {
        store_value(e, lane, value, at);
    } else {
        if (value.valid) emit_narrow(e, value.valid);
        store_bit(e, e->lanes->active ? e->lanes->active : emit_i1(e, true), lane->values_out, at);
    }
    emit_region_end(e, mark);
    e->lanes->active = outer;
}

static void store_bits(Emit *e, const Lane *lane, Frame *last, Val at) {
    const Op *sink = graph_op_at(e->graph, lane->op);
    Value value = emit_expr(e, frame_new(e, sink, last, nullptr), sink->sink.columns[0].value);
    Val bits = sink_format_of(&sink->sink)->bits(e, lane->type, value);
    LLVMSetAlignment(LLVMBuildStore(e->b, bits, lane_at(e, lane->type, lane->values_out, at)), 1);
}

static void store_lanes(Emit *e, Loop *loop) {
    const ColumnEmit *c = loop->columns;
    Val at = loop->at, all = emit_i1(e, true);
    Frame *last = loop->frames[c->part->op_count - 1];
    for (size_t i = 0; i < c->lane_count; i++) {
        const Lane *lane = &c->lanes[i];
        switch (lane->kind) {
        case LANE_KEPT:
            store_bit(e, e->lanes->active ? e->lanes->active : all, lane->values_out, at);
            break;
        case LANE_COLUMN: {
            Frame *frame = loop->frames[member_of(e, graph_op_at(e->graph, lane->op))];
            store_value(e, lane, frame_column(e, frame, lane->column), at);
            break;
        }
        case LANE_ARG: case LANE_COUNTS:
            store_agg(e, lane, frame_new(e, graph_op_at(e->graph, lane->op), last, nullptr), at);
            break;
        case LANE_BITS: store_bits(e, lane, last, at); break;
        }
    }
}

// After the last row: what the filters took out, and the result.
static void finish_loop(Emit *e, const Loop *loop, Val count, Val raised) {
    Val kept = count, filtered = LLVMGetParam(e->fn, PARAM_FILTERED);
    for (uint32_t i = 0; i < loop->columns->filter_count; i++) {
        emit_store_at(e, loop->counted[i], filtered, sizeof(int64_t) * i);
        kept = LLVMBuildSub(e->b, kept, loop->counted[i], "");
    }
    LLVMBuildRet(e->b, LLVMBuildSelect(e->b, raised, emit_i64(e, -1), kept, ""));
}

void stage_column_loop(Emit *e, ColumnEmit *c) {
    Lanes lanes = {0};
    Loop loop = {.columns = c};
    loop.counters = arena_new_array(e->arena, Val, c->filter_count + 1);
    loop.counted = arena_new_array(e->arena, Val, c->filter_count + 1);
    loop.frames = arena_new_array(e->arena, Frame *, c->part->op_count);
    emit_function_open(e, c->function);
    e->task = LLVMGetParam(e->fn, PARAM_TASK);
    e->lanes = &lanes;
    e->faults_fail = false;
    FaultTarget target;
    fault_target_open(e, &target, nullptr, false);
    e->faults = &target;
    emit_debug_function(e, graph_op_at(e->graph, e->stage->stage->root)->span, "column_loop");
    Val first = LLVMGetParam(e->fn, PARAM_FIRST), count = LLVMGetParam(e->fn, PARAM_COUNT);
    Block body = emit_block(e, "column_row"), done = emit_block(e, "done");
    emit_at(e, e->entry);
    if (e->stage->text) e->stage->text = text_open(e, e->stage->text->op);
    emit_jump(e, body);
    emit_at(e, body);
    loop.at = emit_phi(e, e->i64, "at");
    emit_phi_add(loop.at, emit_i64(e, 0), e->entry);
    Val raised = emit_phi(e, e->i1, "raised");
    emit_phi_add(raised, emit_i1(e, false), e->entry);
    for (uint32_t i = 0; i < c->filter_count; i++) {
        loop.counters[i] = emit_phi(e, e->i64, "filtered");
        emit_phi_add(loop.counters[i], emit_i64(e, 0), e->entry);
    }
    lane_members(e, &loop, number_at(e, first, loop.at));
    store_lanes(e, &loop);
    Val now = lanes.raised ? LLVMBuildOr(e->b, raised, lanes.raised, "") : raised;
    Val next = LLVMBuildAdd(e->b, loop.at, emit_i64(e, 1), "");
    emit_phi_add(raised, now, body);
    emit_phi_add(loop.at, next, body);
    for (uint32_t i = 0; i < c->filter_count; i++)
        emit_phi_add(loop.counters[i], loop.counted[i], body);
    Val more = LLVMBuildICmp(e->b, LLVMIntSLT, next, count, "");
    emit_keep_rolled(e, LLVMBuildCondBr(e->b, more, body, done));
    emit_at(e, done);
    finish_loop(e, &loop, count, now);
    e->lanes = nullptr;
    e->faults = nullptr;
}
