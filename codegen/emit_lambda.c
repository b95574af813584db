// Functions over lists that take a lambda: a loop over the elements, with the lambda as its body.
//
//   what the lambda needs of the row ─▶ head ─▶ body: local = element; the lambda ─┐
//                                        ▲ │                                       │
//                                        │ └─▶ end                                 │
//                                        └──────────── next element ◀──────────────┘
#include "codegen/emit_row.h"

#include "ir/walk.h"

// ---- what does not change with the elements -----------------------------------------------------

// May the node be computed before the loop, though perhaps no element asks for it?
static bool is_constant(const Expr *x) {
    bool argument = x->op == EXPR_REGEX || x->op == EXPR_ZONE;  // Of a call, as it is.
    bool waits = x->faults || x->effects || x->foreign || x->batch;
    return !waits && !argument && x->op != EXPR_CONST && !expr_is_open(x);
}

// Computes in front of the loop what is the same for all elements. Filters of a reader parse a
// column when somebody asks for it, and that may fault: there all stays in its place.
static void emit_constants(Emit *e, Frame *frame, const Expr *x) {
    if (frame->op->kind == OP_SOURCE) return;
    if (!e->walk) {
        e->walk = arena_new_of(e->arena, Walk);
        *e->walk = walk_make(e->graph);
    }
    ExprId *found = nullptr;
    size_t count = 0, cap = 0;
    walk_start(e->walk);
    walk_add(e->walk, expr_lambda(x));
    for (ExprId id; walk_next(e->walk, &id);)
        if (is_constant(graph_at(e->graph, id))) arena_push(e->arena, found, count, cap, id);
    for (size_t i = 0; i < count; i++) emit_expr(e, frame, found[i]);
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
    emit_constants(e, frame, x);
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
