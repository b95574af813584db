// Inside a row: a stage leaves between two of the rows that one row makes, and goes on there.
//
//   row ─▶ loop of level 0 ─▶ loop of level 1 ─▶ ... terminals
//             │  ▲                │  ▲ border: the partition is full
//             │  └─ inside[0] ────│──┴─ inside[1]      where each loop goes on
//             ◀──── leave ◀───────┘
//
// The cursor stays at the row: its steps are gone through once more, up to the place in each loop.
// So they must do nothing twice (stage_splits_rows, stage_push), and what they have counted is
// taken back.
#include "codegen/emit_stage.h"

#include "ir/walk.h"

static bool makes_many(const Op *op) {
    return op->kind == OP_JOIN && !join_is_nearest(op) && !join_is_one(op);
}

// All rows that a row of an edge makes have its origin. After another edge only the number in the
// task says which of their records comes first: so one task has to take them.
static bool hands_origins_on(const Emit *e, const Stage *stage) {
    if (stage->kind != STAGE_ROWS || stage->zip_breaker != BREAKER_NONE) return false;
    bool hands_on = false;
    for (uint32_t i = 0; i < stage->terminal_count; i++)
        hands_on |= plan_feeds_edge(e->plan, &stage->terminals[i]);
    return hands_on && e->plan->breakers[stage->breaker].kind == BREAK_EDGE;
}

bool stage_splits_rows(const Emit *e, const Stage *stage) {
    bool many = false;
    for (uint32_t i = 1; i < stage->op_count; i++)
        many |= makes_many(graph_op_at(e->graph, stage->ops[i]));
    return many && !hands_origins_on(e, stage) &&
           !ops_have_effects(e->graph, stage->ops, stage->op_count);
}

static size_t place_of(const Inside *inside) {
    return offsetof(SbTask, inside) + inside->level * sizeof(SbInside);
}

bool stage_inside_open(Emit *e, Inside *inside, Block begin) {
    StageEmit *s = e->stage;
    *inside = (Inside){.level = s->inside_level, .outer = s->inside};
    if (inside->level == SB_INSIDE_MAX) s->inside = nullptr;
    if (!s->inside) {
        emit_jump(e, begin);
        return false;
    }
    inside->leave = s->inside = emit_block(e, "leave_inside");
    s->inside_level++;
    Block on = emit_block(e, "inside");
    Val level = emit_i32(e, inside->level);
    Val insides = emit_load_at(e, e->i32, e->task, offsetof(SbTask, insides), "insides");
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntULE, insides, level, ""), begin, on);
    emit_at(e, on);
    Val behind = emit_i32(e, inside->level + 1);
    Val last = LLVMBuildICmp(e->b, LLVMIntEQ, insides, behind, "");
    Val left = LLVMBuildSelect(e->b, last, emit_i32(e, 0), insides, "");
    emit_store_at(e, left, e->task, offsetof(SbTask, insides));
    size_t at = place_of(inside);
    inside->number = emit_load_at(e, e->i64, e->task, at + offsetof(SbInside, number), "number");
    inside->place = emit_load_at(e, e->i64, e->task, at + offsetof(SbInside, place), "place");
    return true;
}

void stage_inside_border(Emit *e, const Inside *inside, Block next) {
    StageEmit *s = e->stage;
    if (!inside->leave) {
        emit_jump(e, next);
        return;
    }
    Block full = emit_block(e, "full_inside"), leave = emit_block(e, "border_inside");
    Val is_full = emit_load_at(e, e->i32, e->task, offsetof(SbTask, full), "is_full");
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, is_full, emit_i32(e, 0), ""), next, full);
    emit_at(e, full);
    Val splits = emit_load_at(e, e->i32, e->task, offsetof(SbTask, splits), "splits");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntNE, splits, emit_i32(e, 0), ""), leave, next);
    emit_at(e, leave);
    emit_store_at(e, emit_i32(e, inside->level + 1), e->task, offsetof(SbTask, insides));
    for (size_t i = 0; i < s->way_count; i++) stage_count(e, s->way[i], SB_IN, emit_i64(e, -1));
}

void stage_inside_leave(Emit *e, const Inside *inside, Val number, Val place) {
    size_t at = place_of(inside);
    emit_store_at(e, number, e->task, at + offsetof(SbInside, number));
    emit_store_at(e, place, e->task, at + offsetof(SbInside, place));
    emit_jump(e, inside->outer);
}

void stage_inside_close(Emit *e, const Inside *inside) {
    StageEmit *s = e->stage;
    s->inside = inside->outer;
    s->inside_level = inside->level;
}
