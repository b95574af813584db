// Explode: a row for each element of a list, or for each piece of a text that is cut as rows go on.
#include "codegen/emit_stage.h"

#include "stdlib/regex.h"

// The frame of the element number `i`.
static Frame *frame_of_element(Emit *e, Frame *frame, const Op *op, Val i) {
    Frame *out = frame_new(e, op, frame, nullptr);
    out->identify = frame_next_identity;
    out->number = i;
    return out;
}

static void count_none(Emit *e, const Op *op, Block none, Block next) {
    emit_at(e, none);
    stage_count(e, op->step, SB_FILTERED, emit_i64(e, 1));
    emit_jump(e, next);
}

// ---- lists --------------------------------------------------------------------------------------

static const Type *element_type(const Op *op, const Op *input) {
    return type_base(input->columns[op->explode.column].type)->elem;
}

// What an outer explode takes for the element of a list that has none: its bytes are those of null.
static Val no_element(Emit *e, const Type *elem) {
    char name[32];
    snprintf(name, sizeof name, "no_element_%zu", (size_t)type_size(elem));
    Val known = LLVMGetNamedGlobal(e->module, name);
    if (known) return known;
    return emit_global(e, LLVMConstNull(LLVMArrayType2(e->i8, type_size(elem))), name);
}

static Value load_exploded(Emit *e, Frame *frame, uint32_t column) {
    const Op *op = frame->op;
    if (column != op->explode.column) return frame_column(e, frame->input[0], column);
    const Type *elem = element_type(op, frame->input[0]->op);
    Value value = emit_load_value(e, elem, frame->entry);
    if (op->explode.outer && !elem->nullable)
        value.valid = LLVMBuildICmp(e->b, LLVMIntNE, frame->entry, no_element(e, elem), "");
    return value;
}

// A step after it may leave: then it goes on with element `number`.
static void leave_element(Emit *e, Inside *inside, Val number) {
    if (inside->leave) {
        Block here = emit_here(e);
        emit_at(e, inside->leave);
        stage_inside_leave(e, inside, number, emit_i64(e, 0));
        emit_at(e, here);
    }
    stage_inside_close(e, inside);
}

static void explode_list(Emit *e, Frame *frame, const Op *op, Block next) {
    Value list = frame_column(e, frame, op->explode.column);
    const Type *elem = element_type(op, frame->op);
    Val len = list.valid ? LLVMBuildSelect(e->b, list.valid, list.b, emit_i64(e, 0), "") : list.b;
    if (op->explode.outer) {
        Val empty = LLVMBuildICmp(e->b, LLVMIntEQ, len, emit_i64(e, 0), "");
        list.a = LLVMBuildSelect(e->b, empty, no_element(e, elem), list.a, "");
        len = LLVMBuildSelect(e->b, empty, emit_i64(e, 1), len, "");
    }
    Block some = emit_block(e, "some"), none = emit_block(e, "none"),
          head = emit_block(e, "element");
    Block latch = emit_block(e, "element_next");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntSGT, len, emit_i64(e, 0), ""), some, none);
    count_none(e, op, none, next);
    emit_at(e, head);
    Val i = emit_phi(e, e->i64, "element"), at = emit_phi(e, e->ptr, "at");
    emit_at(e, some);
    Inside inside;
    Block begin = emit_block(e, "elements");
    if (stage_inside_open(e, &inside, begin)) {
        emit_phi_add(i, inside.number, emit_here(e));
        Val bytes = LLVMBuildMul(e->b, inside.number, emit_i64(e, (int64_t)type_size(elem)), "");
        emit_phi_add(at, emit_index(e, e->i8, list.a, bytes), emit_here(e));
        emit_jump(e, head);
    }
    emit_at(e, begin);
    stage_count(e, op->step, SB_MADE, LLVMBuildSub(e->b, len, emit_i64(e, 1), ""));
    emit_phi_add(i, emit_i64(e, 0), begin);
    emit_phi_add(at, list.a, begin);
    emit_jump(e, head);
    emit_at(e, head);
    Frame *out = frame_of_element(e, frame, op, i);
    out->load = load_exploded;
    out->entry = at;
    stage_push(e, out, latch);
    leave_element(e, &inside, i);
    emit_at(e, latch);
    Val more = LLVMBuildAdd(e->b, i, emit_i64(e, 1), "");
    emit_phi_add(i, more, latch);
    emit_phi_add(at, emit_offset(e, at, type_size(elem)), latch);
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntSLT, more, len, ""), head, next);
}

// ---- pieces -------------------------------------------------------------------------------------

// Can SYMBOL_take do it?
static bool can_cut(const Emit *e, const Expr *call) {
    if (call->op != EXPR_CALL || !(call->fn->traits & FN_CUTS)) return false;
    const Expr *by = graph_at(e->graph, call->args[1]);
    if (by->op == EXPR_REGEX) return emit_regex_is_runs(by->value.text);
    return by->op == EXPR_CONST && by->value.text.len == 1;
}

bool explode_cuts(const Emit *e, const Op *op, uint32_t item) {
    const StageEmit *s = e->stage;
    if (!can_cut(e, graph_at(e->graph, op->project.items[item].expr))) return false;
    for (uint32_t i = 0; i < s->stage->terminal_count; i++)
        if (s->stage->terminals[i].op.i == op->id.i) return false;
    uint32_t consumers = 0, cutters = 0;
    for (uint32_t i = 1; i < s->stage->op_count; i++) {
        const Op *member = graph_op_at(e->graph, s->stage->ops[i]);
        if (member->inputs[0].i != op->id.i) continue;
        consumers++;
        cutters += member->kind == OP_EXPLODE && member->explode.column == item &&
                   !member->explode.outer;
    }
    return consumers == 1 && cutters == 1;
}

typedef struct Cut {
    const char *symbol;
    Val   state;       // SbCut
    Value text;
    Arg   by;          // What cuts it.
} Cut;

static Val call_cut(Emit *e, const Cut *cut, const char *what, Ty result) {
    const char *symbol = text_c(e->arena, text_format(e->arena, "%s_%s", cut->symbol, what));
    return emit_hotv(e, symbol, result, arg(cut->state), arg_pair(cut->text.a, cut->text.b),
                     cut->by);
}

static Cut start_cut(Emit *e, Frame *frame, const Expr *call) {
    const Expr *by = graph_at(e->graph, call->args[1]);
    Cut cut = {.symbol = text_c(e->arena, call->fn->symbol),
               .state = emit_alloca(e, LLVMArrayType2(e->i64, sizeof(SbCut) / sizeof(uint64_t)),
                                    "cut"),
               .text = emit_expr(e, frame, call->args[0])};
    if (by->op == EXPR_REGEX) {
        cut.by = arg(emit_regex(e, by->value.text, nullptr));
    } else {
        Value separator = emit_expr(e, frame, call->args[1]);
        cut.by = arg_pair(separator.a, separator.b);
    }
    emit_hotv(e, "sb_cut_start", e->type_void, arg(cut.state), arg_pair(cut.text.a, cut.text.b));
    return cut;
}

// Leaves the list between two pieces: those that nobody takes are counted too, as of a list that
// stands in memory.
static void count_pieces(Emit *e, const Op *op, const Cut *cut, Val i, Block leave) {
    Block head = emit_block(e, "rest"), look = emit_block(e, "rest_look"),
          take = emit_block(e, "rest_take"), end = emit_block(e, "rest_end"),
          from = emit_here(e);
    emit_jump(e, head);
    emit_at(e, head);
    Val behind = emit_phi(e, e->i64, "counted");
    emit_phi_add(behind, i, from);
    Val edges = emit_load_at(e, e->i64, cut->state, offsetof(SbCut, edges), "edges");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntNE, edges, emit_i64(e, 0), ""), take, look);
    emit_at(e, look);
    emit_branch(e, call_cut(e, cut, "look", e->i1), take, end);
    emit_at(e, take);
    call_cut(e, cut, "take", e->type_void);
    emit_phi_add(behind, LLVMBuildAdd(e->b, behind, emit_i64(e, 1), ""), emit_here(e));
    emit_jump(e, head);
    emit_at(e, end);
    stage_count(e, op->step, SB_MADE, behind);
    emit_jump(e, leave);
}

// Where the loop over pieces does not begin with the first one, those before it are passed over.
static Val first_piece(Emit *e, Inside *inside) {
    Block from = emit_here(e), begin = emit_block(e, "pieces");
    emit_at(e, begin);
    Val first = emit_phi(e, e->i64, "first");
    emit_phi_add(first, emit_i64(e, 0), from);
    emit_at(e, from);
    if (stage_inside_open(e, inside, begin)) {
        emit_phi_add(first, inside->number, emit_here(e));
        emit_jump(e, begin);
    }
    emit_at(e, begin);
    return first;
}

static void explode_pieces(Emit *e, Frame *frame, const Op *op, const Expr *call, Block next) {
    Cut cut = start_cut(e, frame, call);
    Inside inside;
    Val first = first_piece(e, &inside);
    Block head = emit_block(e, "piece"), look = emit_block(e, "look"),
          take = emit_block(e, "take"), latch = emit_block(e, "piece_next"),
          end = emit_block(e, "end"), none = emit_block(e, "none"), some = emit_block(e, "some"),
          from = emit_here(e);
    emit_jump(e, head);
    emit_at(e, head);
    Val i = emit_phi(e, e->i64, "element");
    emit_phi_add(i, emit_i64(e, 0), from);
    Val edges = emit_load_at(e, e->i64, cut.state, offsetof(SbCut, edges), "edges");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntNE, edges, emit_i64(e, 0), ""), take, look);
    emit_at(e, look);
    emit_branch(e, call_cut(e, &cut, "look", e->i1), take, end);
    emit_at(e, take);
    call_cut(e, &cut, "take", e->type_void);
    if (inside.leave) {
        Block piece = emit_block(e, "new_piece");
        emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntSGE, i, first, ""), piece, latch);
        emit_at(e, piece);
    }
    Frame *out = frame_of_element(e, frame, op, i);
    out->columns[op->explode.column] = (Value){
        .a = emit_load_at(e, e->ptr, cut.state, offsetof(SbCut, piece.ptr), "piece"),
        .b = emit_load_at(e, e->i64, cut.state, offsetof(SbCut, piece.len), "len")};
    Block satisfied = e->stage->satisfied;
    if (satisfied) e->stage->satisfied = emit_block(e, "piece_satisfied");
    stage_push(e, out, latch);
    if (satisfied) {
        emit_at(e, e->stage->satisfied);
        count_pieces(e, op, &cut, i, satisfied);
    }
    e->stage->satisfied = satisfied;
    leave_element(e, &inside, i);
    emit_at(e, latch);
    emit_phi_add(i, LLVMBuildAdd(e->b, i, emit_i64(e, 1), ""), latch);
    emit_jump(e, head);
    emit_at(e, end);
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntEQ, i, emit_i64(e, 0), ""), none, some);
    count_none(e, op, none, next);
    emit_at(e, some);
    stage_count(e, op->step, SB_MADE, LLVMBuildSub(e->b, i, emit_i64(e, 1), ""));
    emit_jump(e, next);
}

void stage_explode(Emit *e, Frame *frame, const Op *op, Block next) {
    const Op *from = frame->op;
    uint32_t column = op->explode.column;
    if (from->kind == OP_PROJECT && !frame->load && !frame->columns[column].a &&
        explode_cuts(e, from, column))
        explode_pieces(e, frame, op, graph_at(e->graph, from->project.items[column].expr), next);
    else explode_list(e, frame, op, next);
}
