// Stages: one function each, int32_t stage(SbTask *). A row is pushed depth first through the
// operators of the stage into its terminals.
//
//   entry ─▶ loop over the input ─▶ row ─▶ operators ... ─▶ terminals
//              ▲                      └─ filtered, rejected ─┐   │
//              └──────────────────────────────────── next ◀──┴───┘
//   leave: counters, cursor and order go back to the task.
#include "codegen/emit_part.h"
#include "codegen/emit_scan.h"
#include "codegen/emit_stage.h"

#include <stdio.h>

// ---- counters -----------------------------------------------------------------------------------

static Val counter_slot(Emit *e, uint32_t step, SbCount kind) {
    StageEmit *s = e->stage;
    for (size_t i = 0; i < s->counter_count; i++)
        if (s->counters[i].step == step && s->counters[i].kind == kind) return s->counters[i].slot;
    Val slot = emit_alloca_of(e, emit_i64(e, 0), "count");
    arena_push(e->arena, s->counters, s->counter_count, s->counter_cap,
               ((Counter){step, kind, slot}));
    return slot;
}

void stage_count(Emit *e, StepId step, SbCount kind, Val rows) {
    if (step.i == STEP_NONE.i || e->stage->asks) return;
    Val slot = counter_slot(e, step.i, kind);
    emit_store(e, LLVMBuildAdd(e->b, emit_load(e, e->i64, slot, ""), rows, ""), slot);
}

Val stage_next_order(Emit *e) {
    Val order = emit_load(e, e->i64, e->stage->order, "order");
    emit_store(e, LLVMBuildAdd(e->b, order, emit_i64(e, 1), ""), e->stage->order);
    return order;
}

// ---- consumers ----------------------------------------------------------------------------------

// A block for rows that a filter takes out.
static Block filtered_block(Emit *e, StepId step, Block next) {
    Block here = emit_here(e), filtered = emit_block(e, "filtered");
    emit_at(e, filtered);
    stage_count(e, step, SB_FILTERED, emit_i64(e, 1));
    emit_jump(e, next);
    emit_at(e, here);
    return filtered;
}

void stage_judge_filters(Emit *e, Frame *frame, uint32_t first, Block next) {
    const SourceOp *source = &frame->op->source;
    for (uint32_t i = first; i < source->filter_count; i++) {
        const PreFilter *filter = &source->filters[i];
        part_split(e);
        emit_keep(e, frame_over(e, frame, filter->step), filter->pred,
                  filtered_block(e, filter->step, next));
    }
}

typedef struct Consumer {
    const Op *op;        // A member of the stage; null: a terminal.
    uint32_t  terminal;
} Consumer;

static uint32_t consumers_of(const Emit *e, const Op *op, Consumer *out, uint32_t max) {
    const Stage *stage = e->stage->stage;
    uint32_t count = 0;
    for (uint32_t i = 1; i < stage->op_count; i++) {
        const Op *member = graph_op_at(e->graph, stage->ops[i]);
        if (member->inputs[0].i == op->id.i && count < max) out[count++] = (Consumer){member, 0};
    }
    for (uint32_t i = 0; i < stage->terminal_count; i++)
        if (stage->terminals[i].op.i == op->id.i && !columns_did_terminal(e, i) && count < max)
            out[count++] = (Consumer){nullptr, i};
    return count;
}

static void deliver_filter(Emit *e, Frame *frame, const Op *op, Block next) {
    Frame *out = frame_new(e, op, frame, nullptr);
    if (columns_did(e, op) || kernels_did(e, op)) {
        stage_push(e, out, next);
        return;
    }
    emit_keep(e, out, op->filter.pred, filtered_block(e, op->step, next));
    stage_push(e, out, next);
}

// What can fault or has an effect is computed here, in order; the rest when somebody asks.
static void deliver_project(Emit *e, Frame *frame, const Op *op, Block next) {
    Frame *out = frame_new(e, op, frame, nullptr);
    const bool *used = e->plan->usage.columns[op->id.i];
    if (columns_did(e, op)) out->load = columns_load;
    if (kernels_did(e, op)) out->load = kernels_load;
    for (uint32_t i = 0; i < op->project.count; i++) {
        ExprId item = op->project.items[i].expr;
        // Whoever only asks for keys of joins calls nothing that the rows will call once more.
        bool calls = graph_has_effects(e->graph, item) || graph_is_foreign(e->graph, item);
        bool here = graph_faults(e->graph, item) || (calls && !e->stage->asks);
        if (!used[i] || !here || columns_did_item(e, op, i) || kernels_did_item(e, op, i) ||
            explode_cuts(e, op, i))
            continue;
        part_split(e);
        frame_column(e, out, i);
    }
    stage_push(e, out, next);
}

static void deliver_sample(Emit *e, Frame *frame, const Op *op, Block next) {
    Frame *out = frame_new(e, op, frame, nullptr);
    Val seed = emit_expr(e, out, op->sample.seed).a,
        share = emit_expr(e, out, op->sample.fraction).a;
    Val keep = emit_callv(e, "sb_sampled", e->i1, arg(seed), arg(frame_identity(e, frame)),
                          arg(share));
    Block kept = emit_block(e, "kept");
    emit_branch(e, keep, kept, filtered_block(e, op->step, next));
    emit_at(e, kept);
    stage_push(e, out, next);
}

static void deliver_member(Emit *e, Frame *frame, const Op *op, Block next) {
    switch (op->kind) {
    case OP_FILTER: deliver_filter(e, frame, op, next); return;
    case OP_PROJECT: deliver_project(e, frame, op, next); return;
    case OP_EXPLODE: stage_explode(e, frame, op, next); return;
    case OP_SAMPLE: deliver_sample(e, frame, op, next); return;
    case OP_HINT: stage_push(e, frame_new(e, op, frame, nullptr), next); return;
    case OP_JOIN: stage_probe(e, frame, op, next); return;
    case OP_SOURCE: case OP_GROUP: case OP_SORT: case OP_LIMIT: case OP_DISTINCT: case OP_UNION:
    case OP_ZIP: case OP_SHUFFLE: case OP_SINK: case OP_WINDOW:
        break;  // Terminals, or roots of stages.
    }
}

// An edge or a sink takes rows while it has some left; when none has, the stage is satisfied. What
// a sink rejects it has not taken.
static void deliver_limited(Emit *e, Frame *frame, uint32_t i, Block next) {
    StageEmit *s = e->stage;
    Block takes = emit_block(e, "takes"), taken = emit_block(e, "taken");
    Val left = emit_load(e, e->i64, s->left[i], "left");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntSGT, left, emit_i64(e, 0), ""), takes, next);
    emit_at(e, takes);
    if (s->stage->terminals[i].is_sink) terminal_sink(e, frame, i, taken);
    else terminal_keep(e, frame, i, taken);
    emit_at(e, taken);
    emit_store(e, LLVMBuildSub(e->b, left, emit_i64(e, 1), ""), s->left[i]);
    if (!s->can_stop) {
        emit_jump(e, next);
        return;
    }
    Val all = emit_i64(e, 0);
    for (uint32_t t = 0; t < s->stage->terminal_count; t++)
        all = LLVMBuildOr(e->b, all, emit_load(e, e->i64, s->left[t], ""), "");
    Val some = LLVMBuildICmp(e->b, LLVMIntNE, all, emit_i64(e, 0), "");
    emit_branch_likely(e, some, next, s->satisfied);
}

// The only terminal of a stage, a sink: its rows are compared with those that it takes, and nothing
// comes after the last one.
static void deliver_last(Emit *e, Frame *frame, Block next) {
    StageEmit *s = e->stage;
    Block taken = emit_block(e, "taken");
    terminal_sink(e, frame, 0, taken);
    emit_at(e, taken);
    Val rows = emit_load_at(e, e->i64, s->terminals[0], offsetof(SbOut, rows), "");
    Val more = LLVMBuildICmp(e->b, LLVMIntNE, rows, s->most, "");
    emit_branch_likely(e, more, next, s->satisfied);
}

static void deliver_terminal(Emit *e, Frame *frame, uint32_t i, Block next) {
    const Terminal *terminal = &e->stage->stage->terminals[i];
    if (e->stage->left[i]) deliver_limited(e, frame, i, next);
    else if (e->stage->most) deliver_last(e, frame, next);
    else if (e->plan->breakers[terminal->index].kind == BREAK_GROUP)
        terminal_group(e, frame, i, next);
    else terminal_keep(e, frame, i, next);
}

// Of a terminal: the sink, or the operator whose rows the breaker holds.
static const Op *consumer_op(const Emit *e, Consumer consumer) {
    if (consumer.op) return consumer.op;
    const Terminal *terminal = &e->stage->stage->terminals[consumer.terminal];
    return graph_op_at(e->graph, terminal->is_sink ? e->plan->sinks[terminal->index]
                                                   : e->plan->breakers[terminal->index].op);
}

// Shows a reject of the frame's row what `outer` shows of it, and goes on there?
static bool rejects_alike(const Emit *e, const FaultTarget *outer, const Frame *frame, Block next) {
    bool same = frame->op->kind == OP_PROJECT || op_passes_columns(frame->op);
    return outer && outer->frame && outer->next == next && outer->stop == e->stage->stop &&
           (outer->frame == frame || (same && outer->frame == frame->input[0]));
}

// Steps of a long chain share the cold block of their row.
static void deliver(Emit *e, Frame *frame, Consumer consumer, Block next) {
    FaultTarget *outer = e->faults, own;
    bool fails = e->faults_fail, shared = rejects_alike(e, outer, frame, next);
    size_t mark = emit_region_begin(e), depth = part_depth(e);
    if (!shared) fault_target_open(e, &own, outer, false);
    if (!shared) fault_target_row(e, &own, frame, next);
    FaultTarget *target = shared ? outer : &own;
    const Frame *before = target->frame;
    target->frame = frame;
    e->faults = target;
    part_split(e);
    const Op *op = consumer_op(e, consumer);
    e->faults_fail = e->plan->fails[op->id.i];
    LLVMMetadataRef outside = emit_debug_enter(e, op->span);
    if (consumer.op) deliver_member(e, frame, consumer.op, next);
    else deliver_terminal(e, frame, consumer.terminal, next);
    part_join(e, depth);
    emit_debug_leave(e, outside);
    target->frame = before;
    e->faults = outer;
    e->faults_fail = fails;
    emit_region_end(e, mark);
    if (!shared) fault_target_close(e, &own, frame, next, e->stage->stop);
}

// The rows that the edges and sinks after `from` still take, or'ed together.
static Val left_behind(Emit *e, OpId from) {
    const Stage *stage = e->stage->stage;
    Val all = emit_i64(e, 0);
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        if (stage->terminals[t].op.i == from.i)
            all = LLVMBuildOr(e->b, all, emit_load(e, e->i64, e->stage->left[t], ""), "");
    for (uint32_t i = 1; i < stage->op_count; i++) {
        const Op *member = graph_op_at(e->graph, stage->ops[i]);
        if (member->inputs[0].i == from.i)
            all = LLVMBuildOr(e->b, all, left_behind(e, member->id), "");
    }
    return all;
}

// A branch that leads to full edges and sinks only judges no more rows: after a fork, or of those
// that one row makes.
static void skip_full_branch(Emit *e, Consumer consumer, Block after) {
    if (e->stage->asks || !consumer.op) return;
    if (!plan_only_limited(e->plan, e->stage->stage, consumer.op->id)) return;
    Val some = LLVMBuildICmp(e->b, LLVMIntNE, left_behind(e, consumer.op->id), emit_i64(e, 0), "");
    Block takes = emit_block(e, "branch");
    emit_branch(e, some, takes, after);
    emit_at(e, takes);
}

bool stage_counts_in(const Emit *e, const Op *from, const Op *op) {
    bool own = op->step.i == STEP_NONE.i || op->step.i == from->step.i;
    return !own && e->plan->counts_in[op->step.i];
}

// The row comes into the consumer's step, where that is counted.
static void count_in(Emit *e, const Op *from, Consumer consumer) {
    if (e->stage->asks) return;
    const Terminal *terminal = &e->stage->stage->terminals[consumer.terminal];
    const Op *op = consumer_op(e, consumer);
    bool edge = !consumer.op && plan_feeds_edge(e->plan, terminal);
    if (edge || !stage_counts_in(e, from, op)) return;
    stage_count(e, op->step, SB_IN, emit_i64(e, 1));
    StageEmit *s = e->stage;
    arena_push(e->arena, s->way, s->way_count, s->way_cap, op->step);
}

void stage_push(Emit *e, Frame *frame, Block next) {
    enum { CONSUMERS_MAX = 64 };
    Consumer consumers[CONSUMERS_MAX];
    uint32_t count = consumers_of(e, frame->op, consumers, CONSUMERS_MAX);
    if (!count) {
        emit_jump(e, next);
        return;
    }
    StageEmit *s = e->stage;
    bool goes_on = count > 1 || (op_multiplies(frame->op->kind) && !s->can_stop);
    size_t way = s->way_count;
    Block inside = s->inside;
    if (count > 1) s->inside = nullptr;  // The row would come to the other branches once more.
    for (uint32_t i = 0; i < count; i++) {
        Block after = i + 1 < count ? emit_block(e, "fork") : next;
        if (goes_on) skip_full_branch(e, consumers[i], after);
        count_in(e, frame->op, consumers[i]);
        deliver(e, frame, consumers[i], after);
        s->way_count = way;
        if (i + 1 < count) emit_at(e, after);
    }
    s->inside = inside;
}

// ---- the function -------------------------------------------------------------------------------

void stage_leave(Emit *e, SbStageStatus status) {
    emit_phi_add(e->stage->leave_status, emit_i32(e, (uint32_t)status), emit_here(e));
    emit_jump(e, e->stage->leave);
}

void stage_row_border(Emit *e, Block next) {
    Block full = e->stage->full;
    if (!full) {
        emit_jump(e, next);
        return;
    }
    Val is_full = emit_load_at(e, e->i32, e->task, offsetof(SbTask, full), "is_full");
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, is_full, emit_i32(e, 0), ""), next, full);
}

void stage_leave_full(Emit *e) {
    batches_flush(e);
    stage_leave(e, SB_STAGE_FULL);
}

// How far the rows are judged, for who watches: a partition may take long.
static void store_progress(Emit *e) {
    StageEmit *s = e->stage;
    emit_store_at(e, emit_load(e, e->i64, s->cursor, ""), e->task, offsetof(SbTask, cursor));
    if (s->stage->kind != STAGE_SCAN || s->asks) return;
    Val made = counter_slot(e, graph_op_at(e->graph, s->stage->root)->step.i, SB_MADE);
    emit_store_at(e, emit_load(e, e->i64, made, ""), e->task, offsetof(SbTask, made));
}

void stage_block_border(Emit *e, Block next) {
    const StageEmit *s = e->stage;
    Block full = emit_block(e, "full");
    batches_flush(e);
    store_progress(e);
    if (stage_kernel_groups(e, s->stage)) kernel_groups_border(e, next);
    Val is_full = emit_callv(e, "sb_task_border", e->i32, arg(e->task));
    for (uint32_t i = 0; i < s->stage->terminal_count; i++)
        if (s->only[i]) emit_store(e, LLVMConstNull(e->ptr), s->only[i]);
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, is_full, emit_i32(e, 0), ""), next, full);
    emit_at(e, full);
    stage_leave(e, SB_STAGE_FULL);
}

// May the stage return after any row? Only where rows are handed over, and not where a chunk of
// columns is added up before its rows go on.
static bool leaves_behind_rows(const Emit *e, const Stage *stage) {
    bool hands_over = e->stage->asks;
    for (uint32_t i = 0; i < stage->terminal_count; i++) {
        const Terminal *terminal = &stage->terminals[i];
        hands_over |= plan_is_limited(e->plan, terminal);
        if (stage->columns.op_count && stage->columns.takes[i]) return false;
    }
    return hands_over;
}

static void load_terminals(Emit *e) {
    StageEmit *s = e->stage;
    const Stage *stage = s->stage;
    s->terminals = arena_new_array(e->arena, Val, stage->terminal_count + 1);
    s->left = arena_new_array(e->arena, Val, stage->terminal_count + 1);
    s->only = arena_new_array(e->arena, Val, stage->terminal_count + 1);
    s->can_stop = stage->terminal_count > 0;
    Val all = emit_load_at(e, e->ptr, e->task, offsetof(SbTask, terminals), "terminals");
    for (uint32_t i = 0; i < stage->terminal_count; i++) {
        const Terminal *terminal = &stage->terminals[i];
        s->terminals[i] = emit_load_at(e, e->ptr, all, sizeof(void *) * i, "terminal");
        const Breaker *breaker = terminal->is_sink ? nullptr : &e->plan->breakers[terminal->index];
        if (breaker && breaker->kind == BREAK_GROUP && breaker->key_count == 0)
            s->only[i] = emit_alloca_of(e, LLVMConstNull(e->ptr), "only");
        bool limited = plan_is_limited(e->plan, terminal);
        s->can_stop = s->can_stop && limited;
        if (!limited) continue;
        Val limits = emit_load_at(e, e->ptr, e->task, offsetof(SbTask, limits), "limits");
        if (terminal->is_sink && stage->terminal_count == 1) {
            s->most = emit_load_at(e, e->i64, limits, 0, "most");
            continue;
        }
        s->left[i] = emit_alloca(e, e->i64, "left");
        emit_store(e, emit_load_at(e, e->i64, limits, sizeof(int64_t) * i, ""), s->left[i]);
    }
}

static void store_back(Emit *e) {
    StageEmit *s = e->stage;
    emit_store_at(e, emit_load(e, e->i64, s->order, ""), e->task, offsetof(SbTask, order));
    emit_store_at(e, emit_load(e, e->i64, s->cursor, ""), e->task, offsetof(SbTask, cursor));
    Val counts = emit_load_at(e, e->ptr, e->task, offsetof(SbTask, counts), "counts");
    for (size_t i = 0; i < s->counter_count; i++) {
        const Counter *counter = &s->counters[i];
        size_t at = sizeof(int64_t) * (counter->step * (size_t)SB_COUNTS + (size_t)counter->kind);
        Val sum = LLVMBuildAdd(e->b, emit_load_at(e, e->i64, counts, at, ""),
                               emit_load(e, e->i64, counter->slot, ""), "");
        emit_store_at(e, sum, counts, at);
    }
    Val limits = emit_load_at(e, e->ptr, e->task, offsetof(SbTask, limits), "limits");
    for (uint32_t i = 0; i < s->stage->terminal_count; i++)
        if (s->left[i])
            emit_store_at(e, emit_load(e, e->i64, s->left[i], ""), limits, sizeof(int64_t) * i);
}

static void emit_frame_of_function(Emit *e) {
    StageEmit *s = e->stage;
    s->leave = emit_block(e, "leave");
    s->stop = emit_block(e, "stop");
    emit_at(e, s->leave);
    s->leave_status = emit_phi(e, e->i32, "status");
    emit_at(e, s->stop);
    stage_leave(e, SB_STAGE_FAULT);
    emit_at(e, e->entry);
    s->order = emit_alloca(e, e->i64, "order");
    s->cursor = emit_alloca(e, e->i64, "cursor");
    emit_store(e, emit_load_at(e, e->i64, e->task, offsetof(SbTask, order), ""), s->order);
    emit_store(e, emit_load_at(e, e->i64, e->task, offsetof(SbTask, cursor), ""), s->cursor);
    load_terminals(e);
    batches_open(e);
    if (leaves_behind_rows(e, s->stage)) s->full = emit_block(e, "full_row");
    if (s->full && !s->asks && stage_splits_rows(e, s->stage))
        s->inside = emit_block(e, "inside_row");
    if (!s->can_stop) return;
    s->satisfied = emit_block(e, "satisfied");
    Block here = emit_here(e);
    emit_at(e, s->satisfied);
    emit_store_at(e, emit_i32(e, 1), e->task, offsetof(SbTask, stopped));
    // The loop that can be left so adds what it counts itself before it leaves.
    emit_at(e, here);
}

// Returns the column loops that the stage calls; null: none.
static struct ColumnEmit *loop_over_input(Emit *e) {
    const Stage *stage = e->stage->stage;
    const Op *root = graph_op_at(e->graph, stage->root);
    if (stage->kind != STAGE_SCAN) {
        stage_loop_entries(e);
        return nullptr;
    }
    if (root->source.kind == SOURCE_RANGE || text_width(root)) return stage_loop_numbers(e);
    if (text_format_of(&root->source)) stage_loop_text(e);
    else stage_loop_entries(e);
    return nullptr;
}

static Val stage_function(Emit *e, const Stage *what, const char *name, bool asks) {
    Ty type = LLVMFunctionType(e->i32, &e->ptr, 1, false);
    StageEmit stage = {.stage = what, .asks = asks};
    e->stage = &stage;
    emit_function_open(e, LLVMAddFunction(e->module, name, type));
    e->task = LLVMGetParam(e->fn, 0);
    e->faults_fail = false;
    e->undo_count = 0;
    emit_debug_function(e, graph_op_at(e->graph, what->root)->span, name);
    emit_frame_of_function(e);
    Val fn = e->fn;
    struct ColumnEmit *columns = loop_over_input(e);
    emit_at(e, stage.leave);
    store_back(e);
    LLVMBuildRet(e->b, stage.leave_status);
    batches_close(e);
    if (columns) stage_column_loop(e, columns);
    e->stage = nullptr;
    return fn;
}

Val emit_stage(Emit *e, uint32_t index) {
    char name[32];
    snprintf(name, sizeof name, "sb_stage_%u", index);
    return stage_function(e, &e->plan->stages[index], name, false);
}

// ---- what rows look up --------------------------------------------------------------------------

static bool is_probe(const Emit *e, const Stage *stage, uint32_t member) {
    return member > 0 && graph_op_at(e->graph, stage->ops[member])->kind == OP_JOIN;
}

bool stage_probes(const Emit *e, uint32_t index) {
    const Stage *stage = &e->plan->stages[index];
    for (uint32_t i = 1; i < stage->op_count; i++)
        if (is_probe(e, stage, i)) return true;
    return false;
}

// Of the members those that are joins, or on the way of rows to one; and the root.
static bool *ways_to_joins(const Emit *e, const Stage *stage) {
    bool *ways = arena_new_array(e->arena, bool, stage->op_count);
    ways[0] = true;
    for (uint32_t i = stage->op_count; i-- > 1;) {
        ways[i] |= is_probe(e, stage, i);
        OpId from = graph_op_at(e->graph, stage->ops[i])->inputs[0];
        for (uint32_t k = 0; k < i && ways[i]; k++)
            if (stage->ops[k].i == from.i) ways[k] = true;
    }
    return ways;
}

void emit_ask(Emit *e, uint32_t index) {
    char name[32];
    const Stage *whole = &e->plan->stages[index];
    const bool *ways = ways_to_joins(e, whole);
    Stage stage = *whole;
    snprintf(name, sizeof name, "sb_ask_%u", index);
    stage.ops = arena_new_array(e->arena, OpId, whole->op_count);
    stage.op_count = stage.terminal_count = 0;
    stage.columns = (ColumnPart){0};
    stage.kernels = (KernelPart){0};
    for (uint32_t i = 0; i < whole->op_count; i++)
        if (ways[i]) stage.ops[stage.op_count++] = whole->ops[i];
    stage_function(e, &stage, name, true);
}
