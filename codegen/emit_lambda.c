// Functions over lists that take a lambda: a loop over the elements, with the lambda as its body.
//
//   what the lambda needs of the row ─▶ head ─▶ body: local = element; the lambda ─┐
//                                        ▲ │                                       │
//                                        │ └─▶ end                                 │
//                                        └──────────── next element ◀──────────────┘
#include "codegen/emit_row.h"

#include "ir/walk.h"

// ---- what does not change with the elements -----------------------------------------------------

// Is the value the same for all elements, and more than a constant?
static bool is_same(const Expr *x) {
    bool argument = x->op == EXPR_REGEX || x->op == EXPR_ZONE;  // Of a call, as it is.
    bool counts = x->effects || x->foreign || x->batch;         // Whoever calls it.
    return !expr_is_open(x) && !counts && !argument && x->op != EXPR_CONST;
}

// May the value be computed though perhaps no element asks for it? Filters of a reader parse a
// column when somebody asks, and that may fault.
static bool is_early(const Frame *frame, const Expr *x) {
    return !x->faults && frame->op->kind != OP_SOURCE;
}

// Is it dear enough to be kept for the next element?
static bool is_dear(const Expr *x) {
    return x->op == EXPR_CALL || x->op == EXPR_CAST || x->op == EXPR_CONCAT || x->op == EXPR_TEXT ||
           x->op == EXPR_COLUMN || expr_has_lambda(x);
}

static void add_once(Emit *e, Frame *frame, ExprId id) {
    const Type *type = graph_at(e->graph, id)->type;
    Once once = {.slot = emit_slot(e, frame, id), .known = emit_alloca(e, e->i1, "known"),
                 .place = emit_alloca(e, LLVMArrayType2(e->i8, type_size(type)), "once")};
    if (once.slot->a) return;
    emit_store(e, emit_i1(e, false), once.known);
    arena_push(e->arena, e->onces, e->once_count, e->once_cap, once);
}

// Computes in front of the outermost loop what is the same for all elements, or has a place made
// for it.
static void emit_same(Emit *e, Frame *frame, const Expr *x) {
    if (e->loops) return;
    if (!e->walk) {
        e->walk = arena_new_of(e->arena, Walk);
        *e->walk = walk_make(e->graph);
    }
    ExprId *found = nullptr;
    size_t count = 0, cap = 0;
    walk_start(e->walk);
    walk_add(e->walk, expr_lambda(x));
    for (ExprId id; walk_next(e->walk, &id);)
        if (is_same(graph_at(e->graph, id))) arena_push(e->arena, found, count, cap, id);
    for (size_t i = 0; i < count; i++)
        if (is_early(frame, graph_at(e->graph, found[i]))) emit_expr(e, frame, found[i]);
    for (size_t i = 0; i < count; i++) {
        const Expr *node = graph_at(e->graph, found[i]);
        if (!is_early(frame, node) && is_dear(node)) add_once(e, frame, found[i]);
    }
}

const Once *emit_once_of(const Emit *e, const Value *slot) {
    for (size_t i = 0; i < e->once_count; i++)
        if (e->onces[i].slot == slot) return &e->onces[i];
    return nullptr;
}

Value emit_once(Emit *e, Frame *frame, ExprId id, const Once *once) {
    const Type *type = graph_at(e->graph, id)->type;
    Val place = once->place, is_known = once->known;
    Block known = emit_block(e, "known"), anew = emit_block(e, "once");
    emit_branch_likely(e, emit_load(e, e->i1, is_known, ""), known, anew);
    emit_at(e, anew);
    size_t mark = emit_region_begin(e);
    emit_store_value(e, type, emit_as_type(e, type, emit_anew(e, frame, id)), place);
    emit_store(e, emit_i1(e, true), is_known);
    emit_region_end(e, mark);
    emit_jump(e, known);
    emit_at(e, known);
    return emit_load_value(e, type, place);
}

// ---- the loop -----------------------------------------------------------------------------------

typedef struct Loop {
    const Type *elem;
    Value  list;
    Val    i, at;      // The number of the element, and its address.
    Block  head, next, end;
    size_t mark;
} Loop;

static void loop_open(Emit *e, Frame *frame, const Expr *x, Value list, Loop *loop) {
    emit_same(e, frame, x);
    e->loops++;
    *loop = (Loop){.elem = graph_at(e->graph, x->args[0])->type->elem, .list = list,
                   .head = emit_block(e, "element"), .next = emit_block(e, "element_next"),
                   .end = emit_block(e, "elements_end")};
    Block from = emit_here(e), body = emit_block(e, "lambda");
    emit_jump(e, loop->head);
    emit_at(e, loop->head);
    loop->i = emit_phi(e, e->i64, "i");
    emit_phi_add(loop->i, emit_i64(e, 0), from);
    Val more = LLVMBuildICmp(e->b, LLVMIntSLT, loop->i, list.b, "");
    emit_branch(e, more, body, loop->end);
    emit_at(e, body);
    loop->mark = emit_region_begin(e);
    Val offset = LLVMBuildMul(e->b, loop->i, emit_i64(e, (int64_t)type_size(loop->elem)), "");
    loop->at = emit_index(e, e->i8, list.a, offset);
    uint32_t local = x->index + expr_local_count(x) - 1;
    e->locals[local] = emit_load_value(e, loop->elem, loop->at);
}

// The body has ended; the builder stands after the loop.
static void loop_close(Emit *e, const Loop *loop) {
    if (!--e->loops) e->once_count = 0;
    emit_region_end(e, loop->mark);
    emit_jump(e, loop->next);
    emit_at(e, loop->next);
    emit_phi_add(loop->i, LLVMBuildAdd(e->b, loop->i, emit_i64(e, 1), ""), loop->next);
    emit_jump(e, loop->head);
    emit_at(e, loop->end);
}

static Val list_memory(Emit *e, Frame *frame, const Expr *x, Value list, const Type *elem) {
    Val stride = emit_i64(e, (int64_t)type_size(elem));
    return emit_scratch(e, frame, x->span, LLVMBuildMul(e->b, list.b, stride, ""));
}

static Value emit_map(Emit *e, Frame *frame, const Expr *x, Value list) {
    const Type *elem = x->type->elem;
    Val memory = list_memory(e, frame, x, list, elem);
    Loop loop;
    loop_open(e, frame, x, list, &loop);
    Value made = emit_expr(e, frame, expr_lambda(x));
    Val offset = LLVMBuildMul(e->b, loop.i, emit_i64(e, (int64_t)type_size(elem)), "");
    emit_store_value(e, elem, made, emit_index(e, e->i8, memory, offset));
    loop_close(e, &loop);
    return (Value){.a = memory, .b = list.b};
}

// Each element is written where the next one that is kept belongs.
static Value emit_filter(Emit *e, Frame *frame, const Expr *x, Value list) {
    Val memory = list_memory(e, frame, x, list, x->type->elem);
    Val slot = emit_alloca(e, e->i64, "kept");
    emit_store(e, emit_i64(e, 0), slot);
    Loop loop;
    loop_open(e, frame, x, list, &loop);
    Val keeps = emit_condition(e, frame, expr_lambda(x));
    Val count = emit_load(e, e->i64, slot, "kept");
    Val size = emit_i64(e, (int64_t)type_size(loop.elem));
    Val to = emit_index(e, e->i8, memory, LLVMBuildMul(e->b, count, size, ""));
    LLVMBuildMemCpy(e->b, to, 1, loop.at, 1, size);
    emit_store(e, LLVMBuildAdd(e->b, count, LLVMBuildZExt(e->b, keeps, e->i64, ""), ""), slot);
    loop_close(e, &loop);
    return (Value){.a = memory, .b = emit_load(e, e->i64, slot, "kept")};
}

// any and all leave at the first element that decides.
static Value emit_quantifier(Emit *e, Frame *frame, const Expr *x, Value list) {
    bool any = x->op == EXPR_LIST_ANY;
    Loop loop;
    loop_open(e, frame, x, list, &loop);
    Val holds = emit_condition(e, frame, expr_lambda(x));
    Block decided = emit_here(e), on = emit_block(e, "undecided"), done = emit_block(e, "decided");
    emit_branch(e, holds, any ? done : on, any ? on : done);
    emit_at(e, on);
    loop_close(e, &loop);
    Block end = emit_here(e);
    emit_jump(e, done);
    emit_at(e, done);
    Val out = emit_phi(e, e->i1, "holds");
    emit_phi_add(out, emit_i1(e, any), decided);
    emit_phi_add(out, emit_i1(e, !any), end);
    return (Value){.a = out};
}

// The value has a place of its own: a struct that the lambda makes may read the one before.
static Value emit_list_reduce(Emit *e, Frame *frame, const Expr *x, Value list) {
    Val slot = emit_alloca(e, LLVMArrayType2(e->i8, type_size(x->type)), "reduced");
    emit_store_value(e, x->type, emit_expr(e, frame, x->args[1]), slot);
    Loop loop;
    loop_open(e, frame, x, list, &loop);
    e->locals[x->index] = emit_load_value(e, x->type, slot);
    emit_store_value(e, x->type, emit_expr(e, frame, expr_lambda(x)), slot);
    loop_close(e, &loop);
    return emit_load_value(e, x->type, slot);
}

Value emit_lambda(Emit *e, Frame *frame, const Expr *x) {
    Value list = emit_expr(e, frame, x->args[0]);
    if (!e->locals) e->locals = arena_new_array(e->arena, Value, e->graph->local_count + 1);
    switch (x->op) {
    case EXPR_LIST_MAP: return emit_map(e, frame, x, list);
    case EXPR_LIST_FILTER: return emit_filter(e, frame, x, list);
    case EXPR_LIST_REDUCE: return emit_list_reduce(e, frame, x, list);
    default: return emit_quantifier(e, frame, x, list);
    }
}
