// Probing the table of a join, and the right rows that nothing matched.
#include "codegen/emit_stage.h"

#include "ir/walk.h"

#include <string.h>

static const Breaker *breaker_of_join(const Emit *e, const Op *op, uint32_t *index) {
    for (uint32_t i = 0; i < e->plan->breaker_count; i++) {
        const Breaker *breaker = &e->plan->breakers[i];
        if (breaker->kind != BREAK_JOIN || breaker->op.i != op->id.i) continue;
        *index = i;
        return breaker;
    }
    return nullptr;
}

bool join_by_number(const Breaker *breaker) {
    const Type *base = type_base(breaker->slots[0].type);
    return breaker->key_count == 1 && (type_is_integer(base) || base->kind == TYPE_DATE);
}

Val join_number(Emit *e, const Type *type, Val key) {
    const Type *base = type_base(type);
    if (LLVMTypeOf(key) == e->i64) return key;
    return type_is_integer(base) && !type_is_signed(base) ? LLVMBuildZExt(e->b, key, e->i64, "")
                                                          : LLVMBuildSExt(e->b, key, e->i64, "");
}

typedef struct Lookup {
    const Breaker  *breaker;
    const KeyParts *keys;
    Val   table, slots;
    Block end;
    Val   found;      // Phi of `end`: the first entry of the row's key, or null.
} Lookup;

static Val keys_hash(Emit *e, const Breaker *breaker, const KeyParts *keys) {
    Val hash = nullptr;
    for (uint32_t k = 0; k < breaker->key_count; k++) {
        KeyParts present = keys[k];
        present.value.valid = nullptr;
        hash = key_hash(e, hash, type_base(breaker->slots[k].type), &present);
    }
    return hash;
}

static void looked_up(Emit *e, Lookup *lookup, Val entry, Block from) {
    emit_phi_add(lookup->found, entry ? entry : LLVMConstNull(e->ptr), from);
}

// Where each key has a slot of its own. Goes on where it has not.
static void look_up_number(Emit *e, Lookup *lookup) {
    Block direct = emit_block(e, "by_number"), inside = emit_block(e, "inside"),
          hashed = emit_block(e, "hashed");
    Val span = emit_load_at(e, e->i64, lookup->table, offsetof(SbTable, span), "span");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntNE, span, emit_i64(e, 0), ""), direct, hashed);
    emit_at(e, direct);
    Val number = join_number(e, lookup->breaker->slots[0].type, lookup->keys[0].value.a);
    Val least = emit_load_at(e, e->i64, lookup->table, offsetof(SbTable, least), "least");
    Val at = LLVMBuildSub(e->b, number, least, "");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntULT, at, span, ""), inside, lookup->end);
    looked_up(e, lookup, nullptr, direct);
    emit_at(e, inside);
    looked_up(e, lookup, emit_load(e, e->ptr, emit_index(e, e->i64, lookup->slots, at), "entry"),
              inside);
    emit_jump(e, lookup->end);
    emit_at(e, hashed);
}

// Entries in the table have no null keys.
static Val has_keys(Emit *e, const Lookup *lookup, Val entry) {
    Val same = nullptr;
    for (uint32_t k = 0; k < lookup->breaker->key_count; k++) {
        Slot slot = lookup->breaker->slots[k];
        KeyParts present = lookup->keys[k];
        present.value.valid = nullptr;
        slot.type = type_base(slot.type);
        Val one = key_equals_slot(e, slot.type, &present, &slot, entry);
        same = same ? LLVMBuildAnd(e->b, same, one, "") : one;
    }
    return same;
}

static void look_up_hash(Emit *e, Lookup *lookup) {
    Block head = emit_block(e, "probe"), full = emit_block(e, "occupied"),
          candidate = emit_block(e, "candidate"), step = emit_block(e, "probe_next");
    Val hash = keys_hash(e, lookup->breaker, lookup->keys);
    Val mask = emit_load_at(e, e->i64, lookup->table, offsetof(SbTable, mask), "mask");
    Val first = LLVMBuildAnd(e->b, hash, mask, "");
    Val tag = LLVMBuildAnd(e->b, hash, emit_i64(e, (int64_t)~SB_SLOT_ADDRESS), "tag");
    Block from = emit_here(e);
    emit_jump(e, head);
    emit_at(e, head);
    Val at = emit_phi(e, e->i64, "at");
    emit_phi_add(at, first, from);
    Val slot = emit_load(e, e->i64, emit_index(e, e->i64, lookup->slots, at), "slot");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntEQ, slot, emit_i64(e, 0), ""), lookup->end, full);
    looked_up(e, lookup, nullptr, head);
    emit_at(e, full);
    Val rest = LLVMBuildXor(e->b, slot, tag, "");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntULE, rest, emit_i64(e, (int64_t)SB_SLOT_ADDRESS), ""),
                candidate, step);
    emit_at(e, candidate);
    Val entry = LLVMBuildIntToPtr(e->b, rest, e->ptr, "entry");
    Val same = has_keys(e, lookup, entry);
    looked_up(e, lookup, entry, emit_here(e));
    emit_branch(e, same, lookup->end, step);
    emit_at(e, step);
    emit_phi_add(at, LLVMBuildAnd(e->b, LLVMBuildAdd(e->b, at, emit_i64(e, 1), ""), mask, ""),
                 step);
    emit_jump(e, head);
}

// The first entry of the row's key, or null.
static Val emit_lookup(Emit *e, const Breaker *breaker, Val table, const KeyParts *keys,
                       Val all_valid) {
    Lookup lookup = {breaker, keys, .table = table, .end = emit_block(e, "looked_up")};
    Block start = emit_block(e, "lookup"), from = emit_here(e);
    emit_at(e, lookup.end);
    lookup.found = emit_phi(e, e->ptr, "match");
    emit_at(e, from);
    if (all_valid) {
        emit_branch(e, all_valid, start, lookup.end);
        looked_up(e, &lookup, nullptr, from);
    } else {
        emit_jump(e, start);
    }
    emit_at(e, start);
    lookup.slots = emit_load_at(e, e->ptr, table, offsetof(SbTable, slots), "slots");
    if (join_by_number(breaker)) look_up_number(e, &lookup);
    look_up_hash(e, &lookup);
    emit_at(e, lookup.end);
    return lookup.found;
}

static Value right_value(Emit *e, Frame *frame, uint32_t right, const Type *type) {
    const Breaker *breaker = frame->breaker;
    Value value = slot_load(e, &breaker->slots[breaker->slot_of[right]], frame->entry);
    if (frame->matched)
        value.valid = value.valid ? LLVMBuildAnd(e->b, value.valid, frame->matched, "")
                                  : frame->matched;
    return emit_as_type(e, type, value);
}

static Value load_joined(Emit *e, Frame *frame, uint32_t column) {
    const Op *op = frame->op;
    const JoinColumn *from = &op->join.columns[column];
    const Type *type = op->columns[column].type;
    if (from->side == 0)
        return emit_as_type(e, type, frame_column(e, frame->input[0], from->index));
    return right_value(e, frame, from->index, type);
}

static bool joined_reloads(const Emit *e, const Frame *frame, uint32_t column) {
    const JoinColumn *from = &frame->op->join.columns[column];
    return from->side == 1 || frame_reloads(e, frame->input[0], from->index);
}

// What a left row without a match is joined with: an entry of zero bytes, and with bounds that no
// row passes over.
static Val zero_entry(Emit *e, const Breaker *breaker) {
    char *bytes = arena_new_array(e->arena, char, breaker->entry_bytes + 1);
    if (breaker->bound_count)
        memset(bytes + breaker->jump_offset + sizeof(SbJump), UINT8_MAX,
               breaker->bound_count * sizeof(uint64_t));
    Val entry = LLVMConstStringInContext2(e->ctx, bytes, breaker->entry_bytes, true);
    return emit_global(e, entry, "no_match");
}

static void push_if(Emit *e, Frame *out, Val condition, Block next) {
    Block kept = emit_block(e, "kept"), dropped = emit_block(e, "dropped");
    emit_branch(e, condition, kept, dropped);
    emit_at(e, dropped);
    stage_count(e, out->op->step, SB_FILTERED, emit_i64(e, 1));
    emit_jump(e, next);
    emit_at(e, kept);
    stage_push(e, out, next);
}

// Threads may mark one entry at the same time, with the same value. Without a match there is none.
// Most rows are marked already.
static void mark_matched(Emit *e, Frame *out) {
    Block there = emit_block(e, "mark"), end = emit_block(e, "marked");
    if (out->matched) emit_branch(e, out->matched, there, end);
    else emit_jump(e, there);
    emit_at(e, there);
    Val at = emit_offset(e, out->entry, out->breaker->matched_offset);
    Val mark = LLVMBuildLoad2(e->b, e->i8, at, "mark");
    LLVMSetOrdering(mark, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(mark, 1);
    Block first = emit_block(e, "mark_first"), here = emit_block(e, "mark_here"),
          tell = emit_block(e, "mark_tell");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntEQ, mark, emit_int(e, e->i8, 0), ""), first, end);
    emit_at(e, first);
    Val tells = emit_load_at(e, e->i32, e->task, offsetof(SbTask, tells_marks), "tells_marks");
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, tells, emit_i32(e, 0), ""), here, tell);
    emit_at(e, here);
    Val store = LLVMBuildStore(e->b, emit_int(e, e->i8, 1), at);
    LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(store, 1);
    emit_jump(e, end);
    emit_at(e, tell);
    emit_callv(e, "sb_join_mark", e->type_void, arg(e->task), arg(at));
    emit_jump(e, end);
    emit_at(e, end);
}

static Val breaker_number(Emit *e, const Frame *out) {
    return emit_i32(e, (uint32_t)(out->breaker - e->plan->breakers));
}

// ---- conditions ---------------------------------------------------------------------------------

// Of a join with conditions: the left row and an entry of its key, for which they are computed.
typedef struct Pair {
    const Op *op;
    Frame *both, *right;
    Val    bits[JOIN_BOUNDS_MAX];  // By bound: right rows with less do not match.
    Val    listed;                 // Of a join with bounds: are those that may match listed?
} Pair;

static Value load_right(Emit *e, Frame *frame, uint32_t column) {
    const Breaker *breaker = frame->breaker;
    return slot_load(e, &breaker->slots[breaker->slot_of[column]], frame->entry);
}

// What the condition reads of the left row is read once, in front of the loops over entries.
static void read_left(Emit *e, Frame *left, ExprId where) {
    Walk walk = walk_make(e->graph);
    walk_start(&walk);
    walk_add(&walk, where);
    for (ExprId id; walk_next(&walk, &id);) {
        const Expr *x = graph_at(e->graph, id);
        if (x->op == EXPR_COLUMN && x->input == 0) frame_column(e, left, x->index);
    }
}

// Null: each entry of the key is a match.
static Pair *pair_open(Emit *e, Frame *left, const Op *op, const Breaker *breaker) {
    if (expr_is_none(op->join.where) && !join_is_nearest(op)) return nullptr;
    Pair *pair = arena_new_of(e->arena, Pair);
    pair->op = op;
    pair->right = frame_new(e, graph_op_at(e->graph, op->inputs[1]), nullptr, nullptr);
    pair->right->breaker = breaker;
    pair->right->load = load_right;
    pair->both = frame_new(e, op, left, pair->right);
    read_left(e, left, op->join.seek);
    read_left(e, left, op->join.within);
    read_left(e, left, op->join.where);
    for (uint32_t i = 0; i < breaker->bound_count; i++) {
        const JoinBound *bound = &breaker->bounds[i];
        Value value = emit_expr(e, pair->both, bound->left);
        const Type *type = graph_at(e->graph, bound->left)->type;
        Val bits = emit_order_bits(e, type_base(type), value);
        if (bound->at_most) bits = LLVMBuildNot(e->b, bits, "");
        // Nothing matches null.
        if (value.valid) bits = LLVMBuildSelect(e->b, value.valid, bits, emit_i64(e, -1), "");
        pair->bits[i] = bits;
    }
    return pair;
}

// Where no row between `entry` and the one that it jumps to can match: goes to `more` with that
// one, which becomes `next` there. Else goes on.
static void pass_over(Emit *e, const Frame *out, const Pair *pair, Val entry, Val next,
                      Block more) {
    const Breaker *breaker = out->breaker;
    if (!pair || !breaker->bound_count) return;
    size_t at = breaker->jump_offset;
    Block judged = emit_block(e, "judged"), over = emit_block(e, "over");
    Val less = nullptr;
    for (uint32_t i = 0; i < breaker->bound_count; i++) {
        Val most = emit_load_at(e, e->i64, entry, at + sizeof(SbJump) + sizeof(uint64_t) * i, "");
        Val one = LLVMBuildICmp(e->b, LLVMIntULT, most, pair->bits[i], "");
        less = less ? LLVMBuildOr(e->b, less, one, "") : one;
    }
    emit_branch(e, less, over, judged);
    emit_at(e, over);
    emit_phi_add(next, emit_load_at(e, e->ptr, entry, at + offsetof(SbJump, to), "jump"), over);
    emit_jump(e, more);
    emit_at(e, judged);
}

// The next entry that is listed. Goes on where there is one, else at `none`.
static Val next_listed(Emit *e, const Frame *out, Block none) {
    Block some = emit_block(e, "listed");
    Val entry = emit_callv(e, "sb_join_listed", e->ptr, arg(e->task), arg(breaker_number(e, out)));
    emit_branch(e, emit_is_nullptr(e, entry), none, some);
    emit_at(e, some);
    return entry;
}

// Where the table has an index, entries that may match are listed; pair->listed says whether they
// are. Goes on with the first one of these, else with `first` of the chain; at `none` if none may.
static Val list_matches(Emit *e, const Frame *out, Pair *pair, Val table, Val first, Block none) {
    uint32_t count = out->breaker->bound_count;
    if (!plan_join_indexed(pair->op, count)) return first;
    Block indexed = emit_block(e, "indexed"), list = emit_block(e, "list"),
          end = emit_block(e, "chosen"), from = emit_here(e);
    Val ranges = emit_load_at(e, e->ptr, table, offsetof(SbTable, ranges), "ranges");
    emit_branch(e, emit_is_nullptr(e, ranges), end, indexed);
    emit_at(e, indexed);
    Val bits = emit_alloca(e, LLVMArrayType2(e->i64, count), "bits");
    for (uint32_t i = 0; i < count; i++)
        emit_store_at(e, pair->bits[i], bits, sizeof(uint64_t) * i);
    Val is = emit_callv(e, "sb_join_list", e->i32, arg(e->task), arg(breaker_number(e, out)),
                        arg(first), arg(bits), arg(emit_i32(e, join_is_one(pair->op))));
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntNE, is, emit_i32(e, 0), ""), list, end);
    emit_at(e, list);
    Val entry = next_listed(e, out, none);
    Block listed = emit_here(e);
    emit_jump(e, end);
    emit_at(e, end);
    Val start = emit_phi(e, e->ptr, "candidate");
    pair->listed = emit_phi(e, e->i1, "is_listed");
    const Block chained[] = {from, indexed};
    for (size_t i = 0; i < countof(chained); i++) {
        emit_phi_add(start, first, chained[i]);
        emit_phi_add(pair->listed, emit_i1(e, false), chained[i]);
    }
    emit_phi_add(start, entry, listed);
    emit_phi_add(pair->listed, emit_i1(e, true), listed);
    return start;
}

static Val chain_cut(Emit *e) {
    return LLVMBuildIntToPtr(e->b, emit_i64(e, SB_CUT), e->ptr, "");
}

// The entry after `entry` in its chain, or in the list. Goes on where there is one, else at `none`.
// Of a join whose right side is on disk the chain may be cut: its last entry then has SB_CUT after
// it, and the runtime reads on.
static Val next_match(Emit *e, const Frame *out, const Pair *pair, Val entry, Block none) {
    Block some = emit_block(e, "behind"), cut = emit_block(e, "cut"), more = emit_block(e, "more"),
          from = emit_here(e);
    emit_at(e, more);
    Val next = emit_phi(e, e->ptr, "next");
    emit_at(e, from);
    if (pair && pair->listed) {
        Block chained = emit_block(e, "chained"), listed = emit_block(e, "in_list");
        emit_branch(e, pair->listed, listed, chained);
        emit_at(e, listed);
        Val one = next_listed(e, out, none);
        emit_phi_add(next, one, emit_here(e));
        emit_jump(e, more);
        emit_at(e, chained);
    }
    pass_over(e, out, pair, entry, next, more);
    Val behind = emit_load_at(e, e->ptr, entry, out->breaker->next_offset, "behind");
    emit_branch(e, emit_is_nullptr(e, behind), none, some);
    emit_at(e, some);
    Val whole = LLVMBuildICmp(e->b, LLVMIntNE, behind, chain_cut(e), "");
    emit_branch_likely(e, whole, more, cut);
    emit_at(e, cut);
    batches_flush(e);  // What waits there may lie in the entries that are read over.
    Val read = emit_callv(e, "sb_join_more", e->ptr, arg(e->task),
                          arg(breaker_number(e, out)), arg(entry));
    Block got = emit_block(e, "read_on");
    emit_branch(e, emit_is_nullptr(e, read), none, got);
    emit_at(e, got);
    emit_jump(e, more);
    emit_at(e, more);
    emit_phi_add(next, behind, some);
    emit_phi_add(next, read, got);
    return next;
}

// Does the condition hold for the entry? A fault rejects the left row.
static Val pair_holds(Emit *e, const Pair *pair, ExprId condition, Val entry) {
    size_t mark = emit_region_begin(e);
    pair->right->entry = entry;
    Val holds = emit_condition(e, pair->both, condition);
    emit_region_end(e, mark);
    return holds;
}

// The first match from `entry` on. Goes on where there is one, else at `none`.
static Val match_from(Emit *e, const Frame *out, const Pair *pair, Val entry, Block none) {
    if (!pair) return entry;
    const Op *op = pair->op;
    Block head = emit_block(e, "pair"), holds = emit_block(e, "holds"),
          pass = emit_block(e, "pair_next"), from = emit_here(e);
    emit_jump(e, head);
    emit_at(e, head);
    Val at = emit_phi(e, e->ptr, "right");
    emit_phi_add(at, entry, from);
    if (!expr_is_none(op->join.within)) {
        Block near = emit_block(e, "near");
        emit_branch(e, pair_holds(e, pair, op->join.within, at), near, none);
        emit_at(e, near);
    }
    if (expr_is_none(op->join.where)) emit_jump(e, holds);
    else emit_branch(e, pair_holds(e, pair, op->join.where, at), holds, pass);
    emit_at(e, pass);
    Val behind = next_match(e, out, pair, at, none);
    emit_phi_add(at, behind, emit_here(e));
    emit_jump(e, head);
    emit_at(e, holds);
    return at;
}

// Judges the pairs with `entry` and all after it: a row that one of them rejects makes none. Goes
// on with the first one.
static void judge_pairs(Emit *e, const Frame *out, const Pair *pair, Val entry) {
    Block head = emit_block(e, "judge"), end = emit_block(e, "judged"), from = emit_here(e);
    emit_jump(e, head);
    emit_at(e, head);
    Val at = emit_phi(e, e->ptr, "right");
    emit_phi_add(at, entry, from);
    pair_holds(e, pair, pair->op->join.where, at);
    Val behind = next_match(e, out, pair, at, end);
    emit_phi_add(at, behind, emit_here(e));
    emit_jump(e, head);
    emit_at(e, end);
}

// A row on disk: the first one of the key that has that number or a greater one, or null.
static Val row_on_disk(Emit *e, const Frame *out, Val first, Val row) {
    return emit_callv(e, "sb_join_row", e->ptr, arg(e->task), arg(breaker_number(e, out)),
                      arg(first), arg(row));
}

// Where a chain is cut at `at`, for which `seek` is false: seeks among the rows on disk by their
// numbers, first in growing steps, then by halves. `first` is that of the chain. Goes on with the
// row found, or at `none`.
static Val seek_on_disk(Emit *e, const Frame *out, const Pair *pair, Val first, Val at,
                        Block none) {
    Block head = emit_block(e, "halve"), look = emit_block(e, "halve_look"),
          there = emit_block(e, "halve_there"), no = emit_block(e, "halve_false"),
          yes = emit_block(e, "halve_true"), end = emit_block(e, "halved"),
          found = emit_block(e, "on_disk"), from = emit_here(e);
    Val unknown = emit_i64(e, INT64_MAX), one = emit_i64(e, 1);
    Val begin = emit_load_at(e, e->i64, at, offsetof(SbEntry, order), "row");
    emit_jump(e, head);
    emit_at(e, head);
    Val low = emit_phi(e, e->i64, "low"), high = emit_phi(e, e->i64, "high"),
        step = emit_phi(e, e->i64, "step");
    emit_phi_add(low, begin, from);
    emit_phi_add(high, unknown, from);
    emit_phi_add(step, one, from);
    Val gap = LLVMBuildSub(e->b, high, low, "");
    Val wider = LLVMBuildMul(e->b, step, emit_i64(e, 4), "");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntULE, gap, one, ""), end, look);
    emit_at(e, look);
    Val grows = LLVMBuildICmp(e->b, LLVMIntEQ, high, unknown, "");
    Val half = LLVMBuildLShr(e->b, gap, one, "");
    Val row = LLVMBuildAdd(e->b, low, LLVMBuildSelect(e->b, grows, step, half, ""), "probed");
    Val entry = row_on_disk(e, out, first, row);
    emit_branch(e, emit_is_nullptr(e, entry), yes, there);
    emit_at(e, there);
    emit_branch(e, pair_holds(e, pair, out->op->join.seek, entry), yes, no);
    emit_at(e, no);
    Val last = emit_load_at(e, e->i64, entry, offsetof(SbEntry, order), "row");
    const Block backs[] = {no, yes};
    for (size_t i = 0; i < countof(backs); i++) {
        emit_at(e, backs[i]);
        emit_phi_add(low, i ? low : last, backs[i]);
        emit_phi_add(high, i ? row : high, backs[i]);
        emit_phi_add(step, wider, backs[i]);
        emit_jump(e, head);
    }
    emit_at(e, end);
    Val sought = row_on_disk(e, out, first, high);
    emit_branch(e, emit_is_nullptr(e, sought), none, found);
    emit_at(e, found);
    return sought;
}

// The first entry from `entry` on for which the join's `seek` is true, as it is for all after it.
// `entry` is the first of its key. Goes on where there is one, else at `none`.
//
//   head: true? ─▶ found    no ─▶ far: is it true where the entry jumps to?
//     ▲                            ▲   no ─▶ there ─┐
//     └── the entry after ◀─── yes ┴────────────────┘
static Val seek_entry(Emit *e, const Frame *out, const Pair *pair, Val entry, Block none) {
    ExprId seek = out->op->join.seek;
    Block head = emit_block(e, "seek"), far = emit_block(e, "seek_far"),
          look = emit_block(e, "seek_look"), step = emit_block(e, "seek_next"),
          some = emit_block(e, "seek_some"), cut = emit_block(e, "seek_cut"),
          found = emit_block(e, "sought"), from = emit_here(e);
    emit_jump(e, head);
    emit_at(e, far);
    Val at = emit_phi(e, e->ptr, "false_at");
    emit_at(e, found);
    Val sought = emit_phi(e, e->ptr, "nearest");
    emit_at(e, head);
    Val next = emit_phi(e, e->ptr, "sought");
    emit_phi_add(next, entry, from);
    Val holds = pair_holds(e, pair, seek, next);
    emit_phi_add(at, next, emit_here(e));
    emit_phi_add(sought, next, emit_here(e));
    emit_branch(e, holds, found, far);
    emit_at(e, far);
    Val to = emit_load_at(e, e->ptr, at, out->breaker->jump_offset + offsetof(SbJump, to), "jump");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntEQ, to, at, ""), step, look);
    emit_at(e, look);
    Val there = pair_holds(e, pair, seek, to);
    emit_phi_add(at, to, emit_here(e));
    emit_branch(e, there, step, far);
    emit_at(e, step);
    Val after = emit_load_at(e, e->ptr, at, out->breaker->next_offset, "after");
    emit_branch(e, emit_is_nullptr(e, after), none, some);
    emit_at(e, some);
    emit_phi_add(next, after, some);
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntNE, after, chain_cut(e), ""), head, cut);
    emit_at(e, cut);
    batches_flush(e);
    Val on_disk = seek_on_disk(e, out, pair, entry, at, none);
    emit_phi_add(sought, on_disk, emit_here(e));
    emit_jump(e, found);
    emit_at(e, found);
    return sought;
}

// The first match among the entries of the key in the table, of which `first` is the first; both
// may be null.
static Val first_match(Emit *e, const Frame *out, Pair *pair, Val table, Val first) {
    if (!pair) return first;
    bool one = join_is_one(out->op);
    Block some = emit_block(e, "candidates"), none = emit_block(e, "no_match"),
          end = emit_block(e, "matched");
    emit_branch(e, emit_is_nullptr(e, first), none, some);
    emit_at(e, some);
    if (join_is_nearest(out->op)) first = seek_entry(e, out, pair, first, none);
    else if (!one && graph_faults(e->graph, pair->op->join.where)) judge_pairs(e, out, pair, first);
    first = list_matches(e, out, pair, table, first, none);
    Val found = match_from(e, out, pair, first, none), listed = pair->listed;
    Block found_at = emit_here(e);
    emit_jump(e, end);
    emit_at(e, none);
    emit_jump(e, end);
    emit_at(e, end);
    Val match = emit_phi(e, e->ptr, "first_match");
    emit_phi_add(match, found, found_at);
    emit_phi_add(match, LLVMConstNull(e->ptr), none);
    if (!listed) return match;
    pair->listed = emit_phi(e, e->i1, "matches_listed");
    emit_phi_add(pair->listed, listed, found_at);
    emit_phi_add(pair->listed, emit_i1(e, false), none);
    return match;
}

// ---- matches ------------------------------------------------------------------------------------

// What a row makes counts as a whole: where the stage leaves in the middle of its matches, those
// after `entry` are counted before.
static void count_rest(Emit *e, Frame *out, const Pair *pair, Val entry, Block leave) {
    Block head = emit_block(e, "rest"), from = emit_here(e);
    emit_jump(e, head);
    emit_at(e, head);
    Val at = emit_phi(e, e->ptr, "counted");
    emit_phi_add(at, entry, from);
    Val behind = match_from(e, out, pair, next_match(e, out, pair, at, leave), leave);
    stage_count(e, out->op->step, SB_MADE, emit_i64(e, 1));
    emit_phi_add(at, behind, emit_here(e));
    emit_jump(e, head);
}

// The matches begin with `first`, or where the stage has left them.
static void begin_matches(Emit *e, Frame *out, Inside *inside, Val first, Block head, Block next) {
    Block from = emit_here(e);
    emit_at(e, head);
    out->entry = emit_phi(e, e->ptr, "joined");
    out->number = emit_phi(e, e->i64, "number");
    emit_phi_add(out->entry, first, from);
    emit_phi_add(out->number, emit_i64(e, 0), from);
    emit_at(e, from);
    if (stage_inside_open(e, inside, head)) {
        Block on = emit_block(e, "go_on");
        Val entry = emit_callv(e, "sb_join_go_on", e->ptr, arg(e->task),
                               arg(breaker_number(e, out)), arg(first), arg(inside->place));
        emit_branch(e, emit_is_nullptr(e, entry), next, on);
        emit_at(e, on);
        emit_phi_add(out->entry, entry, on);
        emit_phi_add(out->number, inside->number, on);
        emit_jump(e, head);
    }
    emit_at(e, head);
}

// Where the stage finds the match again.
static Val place_of_match(Emit *e, const Frame *out, Val entry) {
    return emit_callv(e, "sb_join_place", e->i64, arg(e->task), arg(breaker_number(e, out)),
                      arg(entry));
}

// After a match: the next one, with which the stage may also go on later.
static void end_match(Emit *e, Frame *out, const Pair *pair, const Inside *inside, Block head,
                      Block next) {
    Val behind = match_from(e, out, pair, next_match(e, out, pair, out->entry, next), next);
    stage_count(e, out->op->step, SB_MADE, emit_i64(e, 1));
    Val number = LLVMBuildAdd(e->b, out->number, emit_i64(e, 1), "");
    Block more = emit_block(e, "next_match");
    stage_inside_border(e, inside, more);
    if (inside->leave) {
        stage_inside_leave(e, inside, number, place_of_match(e, out, behind));
        emit_at(e, inside->leave);
        stage_inside_leave(e, inside, out->number, place_of_match(e, out, out->entry));
    }
    emit_at(e, more);
    emit_phi_add(out->entry, behind, more);
    emit_phi_add(out->number, number, more);
    emit_jump(e, head);
    stage_inside_close(e, inside);
}

// Pushes the row with `first` and the matches chained after it.
static void push_matches(Emit *e, Frame *out, const Pair *pair, Val first, Block next) {
    const Op *op = out->op;
    Inside inside;
    Block head = emit_block(e, "match"), latch = emit_block(e, "match_next");
    begin_matches(e, out, &inside, first, head, next);
    bool marks = op->join.kind == JOIN_RIGHT || op->join.kind == JOIN_FULL;
    if (marks && !e->stage->asks) mark_matched(e, out);
    Block satisfied = e->stage->satisfied;
    if (satisfied) e->stage->satisfied = emit_block(e, "match_satisfied");
    stage_push(e, out, latch);
    if (satisfied) {
        emit_at(e, e->stage->satisfied);
        count_rest(e, out, pair, out->entry, satisfied);
    }
    e->stage->satisfied = satisfied;
    emit_at(e, latch);
    end_match(e, out, pair, &inside, head, next);
}

static bool has_join_behind(const Emit *e, const Op *op) {
    const Stage *stage = e->stage->stage;
    for (uint32_t i = 1; i < stage->op_count; i++)
        if (graph_op_at(e->graph, stage->ops[i])->inputs[0].i == op->id.i) return true;
    return false;
}

// Says which key the row looks up, if this is the join that is asked for. Goes on where it is not:
// then there is another one after it.
static void ask(Emit *e, const Op *op, const Breaker *breaker, const KeyParts *keys, Val all_valid,
                Block next) {
    Block asked = emit_block(e, "asked"), other = next, tell = emit_block(e, "tell");
    if (has_join_behind(e, op)) other = emit_block(e, "other_join");
    Val number = emit_i32(e, (uint32_t)(breaker - e->plan->breakers));
    Val which = emit_load_at(e, e->i32, e->task, offsetof(SbTask, asked), "");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntEQ, which, number, ""), asked, other);
    emit_at(e, asked);
    if (all_valid) emit_branch(e, all_valid, tell, next);
    else emit_jump(e, tell);
    emit_at(e, tell);
    emit_callv(e, "sb_join_ask", e->type_void, arg(e->task), arg(keys_hash(e, breaker, keys)));
    emit_jump(e, next);
    if (other != next) emit_at(e, other);
}

void stage_probe(Emit *e, Frame *frame, const Op *op, Block next) {
    uint32_t index = 0;
    const Breaker *breaker = breaker_of_join(e, op, &index);
    Frame *out = frame_new(e, op, frame, nullptr);
    out->breaker = breaker;
    out->load = load_joined;
    out->reloads = joined_reloads;
    if (!join_is_one(op)) out->identify = frame_next_identity;
    KeyParts *keys = arena_new_array(e->arena, KeyParts, breaker->key_count + 1);
    Val all_valid = nullptr;
    for (uint32_t k = 0; k < breaker->key_count; k++) {
        Value value = emit_expr(e, out, op->join.left[k]);
        keys[k] = key_parts(e, graph_at(e->graph, op->join.left[k])->type, value);
        if (value.valid)
            all_valid = all_valid ? LLVMBuildAnd(e->b, all_valid, value.valid, "") : value.valid;
    }
    if (e->stage->asks) {
        ask(e, op, breaker, keys, all_valid, next);
        if (!has_join_behind(e, op)) return;
    }
    Val tables = emit_load_at(e, e->ptr, e->task, offsetof(SbTask, tables), "tables");
    Val table = emit_load_at(e, e->ptr, tables, sizeof(void *) * index, "table");
    Pair *pair = pair_open(e, frame, op, breaker);
    Val first = first_match(e, out, pair, table, emit_lookup(e, breaker, table, keys, all_valid));
    Val found = LLVMBuildICmp(e->b, LLVMIntNE, first, LLVMConstNull(e->ptr), "found");
    switch (op->join.kind) {
    case JOIN_SEMI: push_if(e, out, found, next); return;
    case JOIN_ANTI: push_if(e, out, LLVMBuildNot(e->b, found, ""), next); return;
    case JOIN_INNER: case JOIN_RIGHT: {
        Block some = emit_block(e, "some"), none = emit_block(e, "none");
        emit_branch(e, found, some, none);
        emit_at(e, none);
        stage_count(e, op->step, SB_FILTERED, emit_i64(e, 1));
        emit_jump(e, next);
        emit_at(e, some);
        break;
    }
    case JOIN_LEFT: case JOIN_FULL:
        first = LLVMBuildSelect(e->b, found, first, zero_entry(e, breaker), "");
        out->matched = found;
        break;
    }
    if (join_is_nearest(op)) {
        out->entry = first;
        out->number = emit_i64(e, 0);
        stage_push(e, out, next);
        return;
    }
    push_matches(e, out, pair, first, next);
}
