// Grouping: find the row's group in the thread's table or make it, then add the row to its states.
#include "codegen/emit_group.h"
#include "codegen/emit_part.h"

#include <stdio.h>

// Probes `groups` from `hash`: emits the loop; `equal` is asked for candidates. Control arrives at
// `missing` when the key is not there; the entry found is returned as a phi of block `found`.
typedef struct Probe {
    Val   groups, hash;
    Block found, missing;
    Val   entry;   // Valid in `found`.
    Val   slot;    // Address of the slot of `entry`, in `missing` of the free one.
    Val   tag;
} Probe;

typedef Val EqualFn(Emit *e, void *self, Val entry);

static void emit_probe(Emit *e, Probe *probe, EqualFn *equal, void *self) {
    Block head = emit_block(e, "probe"), occupied = emit_block(e, "occupied");
    Block candidate = emit_block(e, "candidate"), step = emit_block(e, "probe_next"),
          from = emit_here(e);
    probe->found = emit_block(e, "found");
    probe->missing = emit_block(e, "missing");
    Val slots = emit_load_at(e, e->ptr, probe->groups, offsetof(SbGroups, slots), "slots");
    Val mask = emit_load_at(e, e->i64, probe->groups, offsetof(SbGroups, mask), "mask");
    Val start = LLVMBuildAnd(e->b, probe->hash, mask, "");
    probe->tag = LLVMBuildAnd(e->b, probe->hash, emit_i64(e, (int64_t)~SB_SLOT_ADDRESS), "tag");
    emit_jump(e, head);
    emit_at(e, head);
    Val at = emit_phi(e, e->i64, "at");
    emit_phi_add(at, start, from);
    probe->slot = emit_index(e, e->i64, slots, at);
    Val slot = emit_load(e, e->i64, probe->slot, "slot");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntEQ, slot, emit_i64(e, 0), ""), probe->missing,
                occupied);
    emit_at(e, occupied);
    Val rest = LLVMBuildXor(e->b, slot, probe->tag, "");
    Val tagged = LLVMBuildICmp(e->b, LLVMIntULE, rest, emit_i64(e, (int64_t)SB_SLOT_ADDRESS), "");
    emit_branch(e, tagged, candidate, step);
    emit_at(e, candidate);
    probe->entry = LLVMBuildIntToPtr(e->b, rest, e->ptr, "entry");
    size_t depth = part_depth(e);
    Val same = equal(e, self, probe->entry);
    emit_branch(e, same, probe->found, step);
    part_join(e, depth);
    emit_at(e, step);
    Val next = LLVMBuildAnd(e->b, LLVMBuildAdd(e->b, at, emit_i64(e, 1), ""), mask, "");
    emit_phi_add(at, next, step);
    emit_jump(e, head);
}

static Val row_equals(Emit *e, void *self, Val entry) {
    const GroupRow *row = self;
    Val same = nullptr;
    for (uint32_t k = 0; k < row->breaker->key_count; k++) {
        const Slot *slot = &row->breaker->slots[k];
        part_split(e);
        Val one = key_equals_slot(e, slot->type, &row->keys[k], slot, entry);
        same = same ? LLVMBuildAnd(e->b, same, one, "") : one;
    }
    return same ? same : emit_i1(e, true);
}

static void stop_if(Emit *e, Val bad) {
    Block fine = emit_block(e, "");
    emit_branch_likely(e, LLVMBuildNot(e->b, bad, ""), fine, e->stage->stop);
    emit_at(e, fine);
}

// Copies what a stored value points to into the table's memory; a text that is the one of the key
// `shared` (or null) is there already.
static void own_nested(Emit *e, Val groups, const Slot *slot, Val shared, Val entry) {
    const Type *base = type_base(slot->type);
    if (!type_is_nested(base) && !type_is_bytes(base)) return;
    Val status = emit_callv(e, "sb_groups_nested", e->i32, arg(groups),
                            arg(emit_sbtype(e, slot->type)),
                            arg(emit_offset(e, entry, slot->offset)),
                            arg(shared ? shared : LLVMConstNull(e->ptr)));
    stop_if(e, LLVMBuildICmp(e->b, LLVMIntNE, status, emit_i32(e, 0), ""));
}

// Copies a key into a new entry.
static void store_key(Emit *e, Val groups, const Slot *slot, const KeyParts *key, Val entry) {
    if (!slot->key_str) {
        slot_store(e, slot, key->value, entry);
        own_nested(e, groups, slot, nullptr, entry);
        return;
    }
    Val address = emit_offset(e, entry, slot->offset);
    Val status = emit_callv(e, "sb_groups_key", e->i32, arg(groups), arg(address),
                            arg(key->value.a), arg(key->value.b));
    stop_if(e, LLVMBuildICmp(e->b, LLVMIntNE, status, emit_i32(e, 0), ""));
    if (slot->type->nullable)
        emit_store_at(e, LLVMBuildZExt(e->b, key->value.valid, e->i8, ""), address,
                      sizeof(SbKeyStr));
}

// ---- aggregates ---------------------------------------------------------------------------------

static const char *agg_symbol(Emit *e, const Agg *agg, const char *what) {
    return text_c(e->arena, text_format(e->arena, "%.*s_%s", TEXT_ARG(agg->fn->symbol), what));
}

// What the table's memory is taken from: the state begins with its SbCall.
static Arg groups_call(Emit *e, Val groups) {
    return arg(emit_load_at(e, e->ptr, groups, offsetof(SbGroups, state), "call"));
}

const Type *group_value_type(const Emit *e, const Agg *agg) {
    const Type *type = graph_at(e->graph, agg->args[0])->type;
    return agg->fn->traits & AGG_NULLS ? type : type_base(type);
}

static Arg agg_arg(Emit *e, const Agg *agg, const Type *type, uint32_t i, Value value) {
    if (!(agg->fn->traits & AGG_NULLS)) type = type_base(type), value.valid = nullptr;
    if (agg->fn->traits & AGG_NULLS || agg->fn->pointers >> i & 1) {
        if (!type->nullable || agg->fn->traits & AGG_TYPED)
            return arg(emit_value_address(e, type, value));
        Value present = value;
        present.valid = nullptr;
        Val address = emit_value_address(e, type_base(type), present);
        return arg(LLVMBuildSelect(e->b, value.valid, address, LLVMConstNull(e->ptr), ""));
    }
    const Type *base = type_base(type);
    if (type_is_bytes(base) || type_is_sequence(base)) return arg_pair(value.a, value.b);
    return (Arg){.a = value.a, .is_signed = type_is_signed(base)};
}

// Where a row is added.
typedef struct AggInto {
    Val groups;  // The table.
    Val state;
    Val order;   // Of the row.
} AggInto;

static void add_to_state(Emit *e, const Agg *agg, const AggRow *row, AggInto into) {
    if (!agg->fn) {
        Val rows = emit_load(e, e->i64, into.state, "rows");
        emit_store(e, LLVMBuildAdd(e->b, rows, emit_i64(e, 1), ""), into.state);
        return;
    }
    Arg args[8];
    unsigned count = 0;
    uint32_t traits = agg->fn->traits;
    if (traits & AGG_CALL)
        args[count++] = groups_call(e, into.groups);
    args[count++] = arg(into.state);
    if (traits & AGG_ORDER) args[count++] = arg(into.order);
    if (traits & AGG_TYPED) args[count++] = arg(emit_sbtype(e, group_value_type(e, agg)));
    for (uint32_t i = 0; i < agg->arg_count; i++)
        args[count++] = agg_arg(e, agg, graph_at(e->graph, agg->args[i])->type, i, row->args[i]);
    const char *symbol = agg_symbol(e, agg, "add");
    Val status = emit_call(e, symbol, traits & AGG_CALL ? e->i32 : e->type_void, args, count);
    emit_hot(e, status);
    if (traits & AGG_CALL) stop_if(e, LLVMBuildICmp(e->b, LLVMIntNE, status, emit_i32(e, 0), ""));
}

// Adds under the conditions that the row counts: its `where` holds, its arguments are not null.
static void add_if(Emit *e, const Agg *agg, const AggRow *row, AggInto into) {
    LLVMMetadataRef outside = emit_debug_enter(e, agg->span);
    Val condition = row->where;
    bool skips_null = agg->fn && !(agg->fn->traits & AGG_NULLS);
    for (uint32_t i = 0; i < agg->arg_count && skips_null; i++) {
        if (!row->args[i].valid) continue;
        condition = condition ? LLVMBuildAnd(e->b, condition, row->args[i].valid, "")
                              : row->args[i].valid;
    }
    Block end = condition ? emit_block(e, "added") : nullptr;
    if (condition) {
        Block there = emit_block(e, "add");
        emit_branch(e, condition, there, end);
        emit_at(e, there);
    }
    add_to_state(e, agg, row, into);
    if (condition) {
        emit_jump(e, end);
        emit_at(e, end);
    }
    emit_debug_leave(e, outside);
}

static Value where_args(Emit *e, Frame *over, const Agg *agg, uint32_t i) {
    return i < agg->arg_count ? emit_expr(e, over, agg->args[i]) : (Value){0};
}

// A row that `where` leaves out has no arguments to judge.
static void judge_agg(Emit *e, Frame *over, bool waits, const Agg *agg, AggRow *row) {
    if (expr_is_none(agg->where)) {
        for (uint32_t i = 0; i < agg->arg_count; i++)
            if (!waits || !batch_leaves_late(e, over, agg, i, row))
                row->args[i] = where_args(e, over, agg, i);
        return;
    }
    row->where = emit_condition(e, over, agg->where);
    if (!agg->arg_count) return;
    Block from = emit_here(e), there = emit_block(e, "where"), end = emit_block(e, "where_end");
    emit_branch(e, row->where, there, end);
    emit_at(e, there);
    size_t mark = emit_region_begin(e);
    Value inside[2] = {0};
    for (uint32_t i = 0; i < agg->arg_count; i++) inside[i] = where_args(e, over, agg, i);
    emit_region_end(e, mark);
    Block there_end = emit_here(e);
    emit_jump(e, end);
    emit_at(e, end);
    for (uint32_t i = 0; i < agg->arg_count; i++) {
        Val *parts[] = {&inside[i].a, &inside[i].b, &inside[i].valid};
        Val *out[] = {&row->args[i].a, &row->args[i].b, &row->args[i].valid};
        for (int p = 0; p < 3; p++) {
            if (!*parts[p]) continue;
            *out[p] = emit_phi(e, LLVMTypeOf(*parts[p]), "");
            emit_phi_add(*out[p], LLVMConstNull(LLVMTypeOf(*parts[p])), from);
            emit_phi_add(*out[p], *parts[p], there_end);
        }
    }
}

// The key of the entry whose text the column's value is, or null: of a row whose text was not
// quoted the spelling is the key. Of many keys the first are looked at: others are kept twice.
static Val find_shared(Emit *e, const GroupRow *row, Value column, Val entry) {
    enum { KEYS_MAX = 8, COMPARISON = 6 };
    Val shared = LLVMConstNull(e->ptr);
    for (uint32_t k = 0, seen = 0; k < row->breaker->key_count && seen < KEYS_MAX; k++) {
        if (!row->breaker->slots[k].key_str) continue;
        seen++;
        e->weight += COMPARISON;
        Value key = row->keys[k].value;
        Val same = LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, column.a, key.a, ""),
                                LLVMBuildICmp(e->b, LLVMIntEQ, column.b, key.b, ""), "");
        shared = LLVMBuildSelect(e->b, same, emit_offset(e, entry, row->breaker->slots[k].offset),
                                 shared, "");
    }
    return shared;
}

static void keep_first_row(Emit *e, const GroupRow *row, Val groups, Val entry) {
    const Breaker *breaker = row->breaker;
    for (uint32_t s = breaker->key_count; s < breaker->slot_count; s++) {
        const Slot *slot = &breaker->slots[s];
        part_split(e);
        Value value = row->columns[s - breaker->key_count];
        bool bytes = type_is_bytes(type_base(slot->type));
        slot_store(e, slot, value, entry);
        own_nested(e, groups, slot, bytes ? find_shared(e, row, value, entry) : nullptr, entry);
    }
}

static Val new_group(Emit *e, const GroupRow *row, const Probe *probe) {
    const Breaker *breaker = row->breaker;
    Val entry = emit_callv(e, "sb_groups_insert", e->ptr, arg(emit_call_context(e)),
                           arg(probe->groups), arg(probe->hash), arg(row->order));
    stop_if(e, emit_is_nullptr(e, entry));
    size_t depth = part_depth(e);
    for (uint32_t k = 0; k < breaker->key_count; k++) {
        part_split(e);
        store_key(e, probe->groups, &breaker->slots[k], &row->keys[k], entry);
    }
    keep_first_row(e, row, probe->groups, entry);
    if (breaker->identity_offset != SIZE_MAX)
        emit_store_at(e, frame_identity(e, row->frame), entry, breaker->identity_offset);
    part_leave(e, depth);
    return entry;
}

uint32_t group_agg_count(const Emit *e, const Breaker *breaker) {
    const Op *op = graph_op_at(e->graph, breaker->op);
    return op->kind == OP_GROUP ? op->group.agg_count : 0;
}

Val group_find(Emit *e, GroupRow *row, Val groups) {
    Probe probe = {.groups = groups, .hash = row->hash};
    emit_probe(e, &probe, row_equals, row);
    Block join = emit_block(e, "group");
    emit_at(e, probe.missing);
    Val fresh = new_group(e, row, &probe);
    Block fresh_end = emit_here(e);
    emit_jump(e, join);
    emit_at(e, probe.found);
    emit_jump(e, join);
    emit_at(e, join);
    Val entry = emit_phi(e, e->ptr, "group");
    emit_phi_add(entry, fresh, fresh_end);
    emit_phi_add(entry, probe.entry, probe.found);
    return entry;
}

// Without keys: the one group, found once in each block of rows, or in each flush of a batch.
static Val find_only_group(Emit *e, GroupRow *row, Val groups) {
    Val slot = row->only ? row->only : emit_alloca_of(e, LLVMConstNull(e->ptr), "only");
    Block find = emit_block(e, "find"), have = emit_block(e, "have");
    Val known = emit_load(e, e->ptr, slot, "known");
    emit_branch_likely(e, LLVMBuildNot(e->b, emit_is_nullptr(e, known), ""), have, find);
    emit_at(e, find);
    Val found = group_find(e, row, groups);
    emit_store(e, found, slot);
    emit_jump(e, have);
    emit_at(e, have);
    return emit_load(e, e->ptr, slot, "group");
}

void group_lower_order(Emit *e, Val entry, Val order) {
    Val before = emit_load_at(e, e->i64, entry, offsetof(SbEntry, order), "");
    Val earlier = LLVMBuildICmp(e->b, LLVMIntULT, order, before, "");
    emit_store_at(e, LLVMBuildSelect(e->b, earlier, order, before, ""), entry,
                  offsetof(SbEntry, order));
}

void group_add_row(Emit *e, GroupRow *row, Val groups, Block next) {
    const Breaker *breaker = row->breaker;
    const Op *op = graph_op_at(e->graph, breaker->op);
    Val entry = breaker->key_count ? group_find(e, row, groups) : find_only_group(e, row, groups);
    if (e->stage && stage_kernel_groups(e, e->stage->stage))
        group_lower_order(e, entry, row->order);
    size_t depth = part_depth(e);
    for (uint32_t i = 0; i < group_agg_count(e, breaker); i++) {
        if (!plan_owns_state(breaker, i)) continue;
        part_split(e);
        Val state = emit_offset(e, entry, breaker->state_offsets[i]);
        add_if(e, &op->group.aggs[i], &row->aggs[i], (AggInto){groups, state, row->order});
    }
    emit_jump(e, next);
    part_join(e, depth);
}

void terminal_group(Emit *e, Frame *frame, uint32_t terminal, Block next) {
    StageEmit *s = e->stage;
    const Breaker *breaker = &e->plan->breakers[s->stage->terminals[terminal].index];
    const Op *op = graph_op_at(e->graph, breaker->op);
    Frame *over = frame_new(e, op, frame, nullptr);
    uint32_t agg_count = group_agg_count(e, breaker);
    bool waits = batch_takes(e, &s->batches[terminal]);
    GroupRow row = {.breaker = breaker,
                    .frame = frame,
                    .only = s->only[terminal],
                    .keys = arena_new_array(e->arena, KeyParts, breaker->key_count + 1),
                    .columns = arena_new_array(e->arena, Value, breaker->slot_count + 1),
                    .aggs = arena_new_array(e->arena, AggRow, agg_count + 1)};
    size_t depth = part_depth(e);
    for (uint32_t k = 0; k < breaker->key_count; k++) {
        part_split(e);
        row.keys[k] = key_parts(e, breaker->slots[k].type, emit_expr(e, over, breaker->keys[k]));
        row.hash = key_hash(e, row.hash, breaker->slots[k].type, &row.keys[k]);
    }
    if (!row.hash) row.hash = emit_i64(e, 0);
    for (uint32_t i = 0; i < agg_count; i++) {
        if (!plan_owns_state(breaker, i)) continue;
        part_split(e);
        judge_agg(e, over, waits, &op->group.aggs[i], &row.aggs[i]);
    }
    for (uint32_t c = 0; breaker->slot_of && c < frame->op->column_count; c++) {
        uint32_t slot = breaker->slot_of[c];
        if (slot != SLOT_NONE && slot >= breaker->key_count)
            row.columns[slot - breaker->key_count] = frame_column(e, frame, c);
    }
    row.order = stage_next_order(e);
    if (waits) batch_row(e, &s->batches[terminal], &row, next);
    for (uint32_t i = 0; i < agg_count; i++)
        for (uint32_t a = 0; a < countof(row.aggs[i].late); a++)
            if (row.aggs[i].late[a]) row.aggs[i].args[a] = batch_late_now(e, &row.aggs[i], a);
    group_add_row(e, &row, s->terminals[terminal], next);
    part_join(e, depth);
}

// ---- columns ------------------------------------------------------------------------------------

Val terminal_only_group(Emit *e, uint32_t terminal) {
    const Breaker *breaker = &e->plan->breakers[e->stage->stage->terminals[terminal].index];
    GroupRow row = {.breaker = breaker,
                    .frame = frame_new(e, graph_op_at(e->graph, breaker->op), nullptr, nullptr),
                    .hash = emit_i64(e, 0),
                    .order = stage_next_order(e)};
    return group_find(e, &row, e->stage->terminals[terminal]);
}

void terminal_add_column(Emit *e, uint32_t terminal, uint32_t index, Val entry,
                         const AggColumn *column) {
    const Breaker *breaker = &e->plan->breakers[e->stage->stage->terminals[terminal].index];
    const Agg *agg = &graph_op_at(e->graph, breaker->op)->group.aggs[index];
    Val groups = e->stage->terminals[terminal], null = LLVMConstNull(e->ptr);
    Arg args[8];
    unsigned count = 0;
    bool called = agg->fn && agg->fn->traits & AGG_CALL;
    if (called) args[count++] = groups_call(e, groups);
    args[count++] = arg(emit_offset(e, entry, breaker->state_offsets[index]));
    args[count++] = arg(column->values ? column->values : null);
    args[count++] = arg(column->counts ? column->counts : null);
    args[count++] = arg(column->rows);
    const char *form = column->narrow ? "column_f32" : "column";
    const char *symbol = agg->fn ? agg_symbol(e, agg, form) : "sb_count_column";
    Val status = emit_call(e, symbol, called ? e->i32 : e->type_void, args, count);
    if (called) stop_if(e, LLVMBuildICmp(e->b, LLVMIntNE, status, emit_i32(e, 0), ""));
}

// ---- merging tables of threads ------------------------------------------------------------------

typedef struct EntryKeys {
    const Breaker *breaker;
    Val            from;
} EntryKeys;

static Val entry_equals(Emit *e, void *self, Val entry) {
    const EntryKeys *keys = self;
    Val same = nullptr;
    for (uint32_t k = 0; k < keys->breaker->key_count; k++) {
        part_split(e);
        Val one = slots_equal(e, &keys->breaker->slots[k], entry, keys->from);
        same = same ? LLVMBuildAnd(e->b, same, one, "") : one;
    }
    return same ? same : emit_i1(e, true);
}

static void merge_counts(Emit *e, Val to, Val from) {
    Val sum = LLVMBuildAdd(e->b, emit_load(e, e->i64, to, ""), emit_load(e, e->i64, from, ""), "");
    emit_store(e, sum, to);
}

void group_merge_state(Emit *e, const Agg *agg, Val to, Val from) {
    if (!agg->fn) return merge_counts(e, to, from);
    Arg args[] = {arg(to), arg(from)};
    emit_call(e, agg_symbol(e, agg, "merge"), e->type_void, args, countof(args));
}

static void merge_states(Emit *e, const Breaker *breaker, Val into, Val from) {
    const Op *op = graph_op_at(e->graph, breaker->op);
    Val call = LLVMGetParam(e->fn, 0);  // Before a part is.
    for (uint32_t i = 0; op->kind == OP_GROUP && i < op->group.agg_count; i++) {
        if (!plan_owns_state(breaker, i)) continue;
        const Agg *agg = &op->group.aggs[i];
        part_split(e);
        Val to = emit_offset(e, into, breaker->state_offsets[i]);
        Val other = emit_offset(e, from, breaker->state_offsets[i]);
        if (!agg->fn) {
            merge_counts(e, to, other);
            continue;
        }
        Arg args[4];
        unsigned count = 0;
        if (agg->fn->traits & AGG_CALL) args[count++] = arg(call);
        args[count++] = arg(to);
        if (agg->fn->traits & AGG_TYPED)
            args[count++] = arg(emit_sbtype(e, group_value_type(e, agg)));
        args[count++] = arg(other);
        bool fails = agg->fn->traits & AGG_CALL;
        Val status = emit_call(e, agg_symbol(e, agg, "merge"), fails ? e->i32 : e->type_void, args,
                               count);
        if (!fails) continue;
        Block bad = emit_block(e, "bad"), fine = emit_block(e, "");
        emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, status, emit_i32(e, 0), ""), fine,
                           bad);
        emit_at(e, bad);
        LLVMBuildRet(e->b, status);
        emit_at(e, fine);
    }
}

static void fill_slot(Emit *e, const Probe *probe, Val entry) {
    Val address = LLVMBuildPtrToInt(e->b, entry, e->i64, "");
    emit_store(e, LLVMBuildOr(e->b, address, probe->tag, ""), probe->slot);
}

Val emit_group_merge(Emit *e, uint32_t index) {
    const Breaker *breaker = &e->plan->breakers[index];
    char name[40];
    snprintf(name, sizeof name, "sb_merge_%u", index);
    Ty params[] = {e->ptr, e->ptr, e->ptr};
    emit_function_open(e, LLVMAddFunction(e->module, name,
                                          LLVMFunctionType(e->i32, params, 3, false)));
    emit_at(e, e->entry);
    Block begin = emit_block(e, "begin");
    emit_jump(e, begin);
    emit_at(e, begin);
    Val from = LLVMGetParam(e->fn, 2);
    EntryKeys keys = {breaker, from};
    Probe probe = {.groups = LLVMGetParam(e->fn, 1),
                   .hash = emit_load_at(e, e->i64, from, offsetof(SbEntry, hash), "hash")};
    emit_probe(e, &probe, entry_equals, &keys);
    emit_at(e, probe.missing);
    fill_slot(e, &probe, from);
    LLVMBuildRet(e->b, emit_i32(e, SB_OK));
    emit_at(e, probe.found);
    Val from_order = emit_load_at(e, e->i64, from, offsetof(SbEntry, order), ""),
        order = emit_load_at(e, e->i64, probe.entry, offsetof(SbEntry, order), "");
    Val earlier = LLVMBuildICmp(e->b, LLVMIntULT, from_order, order, "earlier");
    Val stays = LLVMBuildSelect(e->b, earlier, from, probe.entry, "stays"),
        leaves = LLVMBuildSelect(e->b, earlier, probe.entry, from, "leaves");
    fill_slot(e, &probe, stays);
    merge_states(e, breaker, stays, leaves);
    emit_store_at(e, emit_i64(e, -1), leaves, offsetof(SbEntry, order));  // It is merged.
    LLVMBuildRet(e->b, emit_i32(e, SB_OK));
    part_join(e, 0);
    return e->fn;
}
