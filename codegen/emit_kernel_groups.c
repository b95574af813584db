// Groups that a kernel has filled: the table of a launch goes into the groups of the task, as the
// table of one thread goes into that of another.
//
//   launch ─▶ counts of filters ─▶ slot ─▶ keys ─▶ entry of the group ─▶ merge of each state
//
// A row has the order key that its place in the launch says, whoever counts it. So groups stand
// where their first rows do.
#include "codegen/emit_group.h"

static Val rows_field(Emit *e, Ty type, size_t offset) {
    return emit_load_at(e, type, e->task, offsetof(SbTask, kernel) + offset, "");
}

static void set_rows_field(Emit *e, Val value, size_t offset) {
    emit_store_at(e, value, e->task, offsetof(SbTask, kernel) + offset);
}

// ---- counts -------------------------------------------------------------------------------------

static Val number_at(Emit *e, Val table, uint32_t i) {
    return emit_load_at(e, e->i64, table, sizeof(uint64_t) * i, "");
}

// What came into each step, from the last one on: those that are in groups, and those that a filter
// after it took out.
static void count_rows(Emit *e, const CudaGroups *groups, Val table) {
    const Stage *stage = e->stage->stage;
    uint32_t filter = groups->heads - 1;
    Val rows = number_at(e, table, filter);
    const Op *to = graph_op_at(e->graph, groups->op);
    for (uint32_t m = stage->op_count; m-- > 0;) {
        const Op *op = graph_op_at(e->graph, stage->ops[m]);
        if (stage_counts_in(e, op, to)) stage_count(e, to->step, SB_IN, rows);
        if (m && op->kind == OP_FILTER) {
            Val out = number_at(e, table, --filter);
            stage_count(e, op->step, SB_FILTERED, out);
            rows = LLVMBuildAdd(e->b, rows, out, "");
        }
        to = op;
    }
}

// ---- keys ---------------------------------------------------------------------------------------

// The value in the lowest bits.
static Value key_value(Emit *e, const CudaKeyPart *part, Val bits) {
    const Type *base = type_base(part->type);
    Value value = {0};
    uint32_t width = part->bits;
    if (part->type->nullable) {
        value.valid = LLVMBuildTrunc(e->b, bits, e->i1, "");
        bits = LLVMBuildLShr(e->b, bits, emit_i64(e, 1), "");
        width--;
    }
    Val rest = emit_i64(e, 64 - width);
    bits = LLVMBuildShl(e->b, bits, rest, "");
    bits = type_is_signed(base) ? LLVMBuildAShr(e->b, bits, rest, "")
                                : LLVMBuildLShr(e->b, bits, rest, "");
    value.a = LLVMBuildTruncOrBitCast(e->b, bits, emit_type(e, base), "");
    return value;
}

static void read_keys(Emit *e, const CudaGroups *groups, GroupRow *row, Val key) {
    const Breaker *breaker = row->breaker;
    for (uint32_t k = breaker->key_count; k-- > 0;) {
        const CudaKeyPart *part = &groups->parts[k];
        row->keys[k] = key_parts(e, part->type, key_value(e, part, key));
        key = LLVMBuildLShr(e->b, key, emit_i64(e, part->bits), "");
    }
    for (uint32_t k = 0; k < breaker->key_count; k++)
        row->hash = key_hash(e, row->hash, breaker->slots[k].type, &row->keys[k]);
    if (!row->hash) row->hash = emit_i64(e, 0);
}

// ---- states -------------------------------------------------------------------------------------

static Val is_some(Emit *e, Val count) {
    Val some = LLVMBuildICmp(e->b, LLVMIntNE, count, emit_i64(e, 0), "");
    return LLVMBuildZExt(e->b, some, e->i8, "");
}

// Of a word that orders as the value does, or as its complement.
static Val ordered_value(Emit *e, const Type *type, Val word, bool least) {
    if (least) word = LLVMBuildNot(e->b, word, "");
    if (type_is_signed(type)) word = LLVMBuildXor(e->b, word, emit_i64(e, INT64_MIN), "");
    return LLVMBuildTruncOrBitCast(e->b, word, emit_type(e, type), "");
}

// Writes what the library's aggregate would have (stdlib/aggregate.h).
static void write_state(Emit *e, const Agg *agg, const CudaGroupAgg *how, Val words, Val state) {
    enum : uint8_t { SEEN_FALSE = 1, SEEN_TRUE = 2 };  // Of any and all.
    const Type *type = agg->arg_count ? type_base(graph_at(e->graph, agg->args[0])->type) : nullptr;
    Val count = number_at(e, words, how->count);
    Val value = how->kind == KERNEL_COUNT ? count : number_at(e, words, how->value);
    switch (how->kind) {
    case KERNEL_NO_AGG: return;
    case KERNEL_COUNT: emit_store(e, count, state); return;
    case KERNEL_SUM:
        emit_store(e, value, state);
        emit_store_at(e, number_at(e, words, how->beyond), state, sizeof(uint64_t));
        emit_store_at(e, count, state, sizeof(__int128));
        return;
    case KERNEL_LEAST: case KERNEL_GREATEST:
        emit_store(e, ordered_value(e, type, value, how->kind == KERNEL_LEAST), state);
        emit_store_at(e, is_some(e, count), state, type_size(type));
        return;
    case KERNEL_BOOLS: {
        Val trues = LLVMBuildMul(e->b, is_some(e, value), emit_int(e, e->i8, SEEN_TRUE), "");
        Val falses = LLVMBuildMul(e->b, is_some(e, count), emit_int(e, e->i8, SEEN_FALSE), "");
        emit_store(e, LLVMBuildOr(e->b, trues, falses, ""), state);
        return;
    }
    }
}

static void add_states(Emit *e, const CudaGroups *groups, Val entry, Val words) {
    const Breaker *breaker = &e->plan->breakers[e->stage->stage->terminals[0].index];
    const Op *op = graph_op_at(e->graph, breaker->op);
    for (uint32_t i = 0; i < op->group.agg_count; i++) {
        if (!plan_owns_state(breaker, i)) continue;
        const Agg *agg = &op->group.aggs[i];
        uint32_t bytes = agg->fn ? agg->fn->state_bytes : sizeof(int64_t);
        Val state = emit_alloca(e, LLVMArrayType2(e->i128, (bytes + 15) / 16), "partial");
        write_state(e, agg, &groups->aggs[i], words, state);
        group_merge_state(e, agg, emit_offset(e, entry, breaker->state_offsets[i]), state);
    }
}

// ---- a launch -----------------------------------------------------------------------------------

static void take_slot(Emit *e, const CudaGroups *groups, Val slot, Val order) {
    const Breaker *breaker = &e->plan->breakers[e->stage->stage->terminals[0].index];
    GroupRow row = {.breaker = breaker,
                    .frame = frame_new(e, graph_op_at(e->graph, breaker->op), nullptr, nullptr),
                    .keys = arena_new_array(e->arena, KeyParts, breaker->key_count + 1),
                    .order = order};
    read_keys(e, groups, &row, number_at(e, slot, 0));
    Val entry = group_find(e, &row, e->stage->terminals[0]);
    enum { SLOT_WORDS = 2 };
    group_lower_order(e, entry, order);
    add_states(e, groups, entry, emit_offset(e, slot, SLOT_WORDS * sizeof(uint64_t)));
}

// Goes along the slots that hold something.
static void take_slots(Emit *e, const CudaGroups *groups, Val table, Val base) {
    Block from = emit_here(e), head = emit_block(e, "slot"), some = emit_block(e, "slot_taken");
    Block next = emit_block(e, "slot_next"), done = emit_block(e, "slots_done");
    const size_t stride = groups->stride * sizeof(uint64_t);
    emit_jump(e, head);
    emit_at(e, head);
    Val at = emit_phi(e, e->i64, "slot_at");
    emit_phi_add(at, emit_i64(e, (int64_t)(groups->heads * sizeof(uint64_t))), from);
    Val slot = emit_index(e, e->i8, table, at);
    Val first = number_at(e, slot, 1);
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntNE, first, emit_i64(e, 0), ""), some, next);
    emit_at(e, some);
    take_slot(e, groups, slot, LLVMBuildAdd(e->b, base, LLVMBuildNot(e->b, first, ""), "order"));
    emit_jump(e, next);
    emit_at(e, next);
    Val more = LLVMBuildAdd(e->b, at, emit_i64(e, (int64_t)stride), "");
    emit_phi_add(at, more, next);
    Val end = emit_i64(e, (int64_t)(groups->heads * sizeof(uint64_t) + groups->slots * stride));
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntULT, more, end, ""), head, done);
    emit_at(e, done);
}

void kernel_groups_take(Emit *e, const CudaGroups *groups) {
    Block given = emit_block(e, "groups_given"), done = emit_block(e, "groups_taken");
    Val table = rows_field(e, e->ptr, offsetof(SbKernelRows, groups));
    Val there = LLVMBuildICmp(e->b, LLVMIntNE, table, LLVMConstNull(e->ptr), "");
    emit_branch(e, there, given, done);
    emit_at(e, given);
    Val base = emit_load(e, e->i64, e->stage->order, "base");
    Val rows = rows_field(e, e->i64, offsetof(SbKernelRows, count));
    Val end = LLVMBuildAdd(e->b, base, rows, "");
    count_rows(e, groups, table);
    take_slots(e, groups, table, base);
    set_rows_field(e, base, offsetof(SbKernelRows, order));
    set_rows_field(e, end, offsetof(SbKernelRows, order_end));
    emit_store(e, end, e->stage->order);
    emit_jump(e, done);
    emit_at(e, done);
}

// A row of the launch that the CPU judges, at its own place in the order.
void kernel_groups_judge(Emit *e) {
    Val at = rows_field(e, e->i64, offsetof(SbKernelRows, at));
    Val order = LLVMBuildAdd(e->b, rows_field(e, e->i64, offsetof(SbKernelRows, order)), at, "");
    emit_store(e, order, e->stage->order);
}

Block kernel_groups_next(Emit *e, Block next) {
    Block here = emit_here(e), after = emit_block(e, "judged_next");
    emit_at(e, after);
    Val end = rows_field(e, e->i64, offsetof(SbKernelRows, order_end));
    Val order = emit_load(e, e->i64, e->stage->order, "");
    Val later = LLVMBuildICmp(e->b, LLVMIntUGT, end, order, "");
    emit_store(e, LLVMBuildSelect(e->b, later, end, order, ""), e->stage->order);
    emit_jump(e, next);
    emit_at(e, here);
    return after;
}

// All rows of a launch are in the groups at once. So a partition ends after one, and not in it: a
// job that goes on from its commits takes no row twice.
void kernel_groups_border(Emit *e, Block next) {
    Block ends = emit_block(e, "launch_ends");
    Val at = emit_load(e, e->i64, e->stage->cursor, "");
    Val first = rows_field(e, e->i64, offsetof(SbKernelRows, first));
    Val count = rows_field(e, e->i64, offsetof(SbKernelRows, count));
    Val inside = LLVMBuildICmp(e->b, LLVMIntULT, LLVMBuildSub(e->b, at, first, ""), count, "");
    Val table = rows_field(e, e->ptr, offsetof(SbKernelRows, groups));
    Val taken = LLVMBuildNot(e->b, emit_is_nullptr(e, table), "");
    emit_branch(e, LLVMBuildAnd(e->b, inside, taken, ""), next, ends);
    emit_at(e, ends);
}
