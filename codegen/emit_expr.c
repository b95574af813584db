// Expressions: demand-driven, each node once in a region of control flow.
#include "codegen/emit_part.h"
#include "codegen/emit_tensor.h"

Frame *frame_new(Emit *e, const Op *op, Frame *left, Frame *right) {
    Frame *frame = arena_new_of(e->arena, Frame);
    *frame = (Frame){.op = op, .step = op->step, .input = {left, right}};
    frame->columns = arena_new_array(e->arena, Value, op->column_count + 1);
    return frame;
}

Frame *frame_over(Emit *e, Frame *input, StepId step) {
    Frame *frame = arena_new_of(e->arena, Frame);
    *frame = (Frame){.op = input->op, .step = step, .input = {input}};
    return frame;
}

static Value computed_column(Emit *e, Frame *frame, uint32_t column) {
    const Op *op = frame->op;
    if (frame->load) return frame->load(e, frame, column);
    switch (op->kind) {
    case OP_PROJECT: return emit_expr(e, frame, op->project.items[column].expr);
    case OP_FILTER: case OP_HINT: case OP_SAMPLE: case OP_LIMIT: case OP_SORT: case OP_SHUFFLE:
    case OP_EXPLODE: case OP_SINK: case OP_DISTINCT: case OP_UNION:
        return frame_column(e, frame->input[0], column);
    case OP_SOURCE: case OP_GROUP: case OP_JOIN: case OP_ZIP: case OP_WINDOW:
        break;  // Their frames have a loader.
    }
    return (Value){0};
}

// Past the steps that only hand the column on, so that a long program does not keep it once a step.
static Frame *origin_of(const Emit *e, Frame *frame, uint32_t *column) {
    while (!frame->load && !frame->columns[*column].a) {
        if (frame->op->kind == OP_PROJECT) {
            const Expr *x = graph_at(e->graph, frame->op->project.items[*column].expr);
            if (x->op != EXPR_COLUMN) break;
            frame = frame->input[x->input];
            *column = x->index;
        } else if (op_passes_columns(frame->op)) {
            frame = frame->input[0];
        } else {
            break;
        }
    }
    return frame;
}

Value frame_column(Emit *e, Frame *frame, uint32_t column) {
    frame = origin_of(e, frame, &column);
    Value *slot = &frame->columns[column];
    if (!slot->a) emit_memo(e, slot, computed_column(e, frame, column));
    return *slot;
}

bool emit_reloads(const Emit *e, const Frame *frame, ExprId id) {
    const Expr *x = graph_at(e->graph, id);
    return x->op == EXPR_COLUMN && frame_reloads(e, frame->input[x->input], x->index);
}

bool frame_reloads(const Emit *e, const Frame *frame, uint32_t column) {
    if (frame->columns[column].a) return false;
    if (frame->load) return frame->reloads && frame->reloads(e, frame, column);
    if (frame->op->kind == OP_PROJECT)
        return emit_reloads(e, frame, frame->op->project.items[column].expr);
    return op_passes_columns(frame->op) && frame_reloads(e, frame->input[0], column);
}

Val frame_identity(Emit *e, Frame *frame) {
    while (!frame->identify) frame = frame->input[0];
    return frame->identify(e, frame);
}

Val frame_next_identity(Emit *e, Frame *frame) {
    return emit_callv(e, "sb_identity_next", e->i64, arg(frame_identity(e, frame->input[0])),
                      arg(frame->number));
}

// ---- lazy nodes ---------------------------------------------------------------------------------

// A value, and the block from which the builder goes on with it.
typedef struct Arm {
    Value value;
    Block end;
} Arm;

static Val join_arms(Emit *e, Ty type, const Val values[2], const Arm arms[2]) {
    Val out = emit_phi(e, type, "");
    for (int i = 0; i < 2; i++) emit_phi_add(out, values[i], arms[i].end);
    return out;
}

// Joins two values that were computed in two blocks.
static Value join_values(Emit *e, const Type *type, Arm x, Arm y) {
    const Arm arms[2] = {x, y};
    Value out = {0};
    out.a = join_arms(e, emit_type(e, type_base(type)), (Val[]){x.value.a, y.value.a}, arms);
    if (x.value.b) out.b = join_arms(e, e->i64, (Val[]){x.value.b, y.value.b}, arms);
    if (type->nullable) {
        Val valid[2] = {x.value.valid, y.value.valid};
        for (int i = 0; i < 2; i++)
            if (!valid[i]) valid[i] = emit_i1(e, true);
        out.valid = join_arms(e, e->i1, valid, arms);
    }
    return out;
}

typedef Value Branch(Emit *e, Frame *frame, const Expr *x);

// The value of a branch in a column loop, where all branches are computed.
static Value emit_lane(Emit *e, Frame *frame, const Expr *x, Val condition, Branch *branch) {
    Val outer = emit_narrow(e, condition);
    size_t mark = emit_region_begin(e);
    Value value = branch(e, frame, x);
    emit_region_end(e, mark);
    e->lanes->active = outer;
    return value;
}

static Value select_value(Emit *e, const Type *type, Val condition, Value x, Value y) {
    Value out = {.a = LLVMBuildSelect(e->b, condition, x.a, y.a, "")};
    if (!type->nullable) return out;
    Val all = emit_i1(e, true);
    out.valid = LLVMBuildSelect(e->b, condition, x.valid ? x.valid : all,
                                y.valid ? y.valid : all, "");
    return out;
}

typedef struct Branches {
    Branch *yes, *no;
} Branches;

// The value of a branch in a region of its own, which goes on at `end`.
static Arm emit_arm(Emit *e, Frame *frame, const Expr *x, Branch *branch, Block end) {
    size_t mark = emit_region_begin(e);
    Value value = branch(e, frame, x);
    Arm arm = {value, emit_here(e)};
    emit_jump(e, end);
    emit_region_end(e, mark);
    return arm;
}

// if (condition) yes else no, each in its own region.
static Value emit_choice(Emit *e, Frame *frame, const Expr *x, Val condition, Branches branches) {
    if (e->lanes) {
        Value then_value = emit_lane(e, frame, x, condition, branches.yes);
        Value else_value = emit_lane(e, frame, x, LLVMBuildNot(e->b, condition, ""), branches.no);
        return select_value(e, x->type, condition, then_value, else_value);
    }
    Block then_block = emit_block(e, "then"), else_block = emit_block(e, "else");
    Block end = emit_block(e, "end");
    emit_branch(e, condition, then_block, else_block);
    emit_at(e, then_block);
    Arm then_arm = emit_arm(e, frame, x, branches.yes, end);
    emit_at(e, else_block);
    Arm else_arm = emit_arm(e, frame, x, branches.no, end);
    emit_at(e, end);
    return join_values(e, x->type, then_arm, else_arm);
}

static Value first_arg(Emit *e, Frame *frame, const Expr *x) {
    return emit_expr(e, frame, x->args[0]);
}
static Value second_arg(Emit *e, Frame *frame, const Expr *x) {
    return emit_expr(e, frame, x->args[1]);
}
static Value third_arg(Emit *e, Frame *frame, const Expr *x) {
    return emit_expr(e, frame, x->args[2]);
}
static Value no_value(Emit *e, Frame *frame, const Expr *x) {
    (void)frame, (void)x;
    return (Value){.a = emit_i1(e, false)};
}
static Value yes_value(Emit *e, Frame *frame, const Expr *x) {
    (void)frame, (void)x;
    return (Value){.a = emit_i1(e, true)};
}

// Nothing can go wrong and nothing is expensive: both sides may be computed.
static bool is_plain(const Emit *e, ExprId id) {
    const Expr *x = graph_at(e->graph, id);
    if (graph_faults(e->graph, id) || x->op == EXPR_CALL || x->op == EXPR_TEXT ||
        x->op == EXPR_CONCAT || x->op == EXPR_LIST || x->op == EXPR_STRUCT || x->op == EXPR_ELSE)
        return false;
    if (expr_has_lambda(x)) return false;
    if (x->op == EXPR_COLUMN) return e->columns_are_plain || e->lanes;
    if (x->type->kind == TYPE_TENSOR) return x->op == EXPR_CONST;
    for (uint32_t i = 0; i < x->arg_count; i++)
        if (!is_plain(e, x->args[i])) return false;
    return true;
}

static Value emit_and_or(Emit *e, Frame *frame, const Expr *x) {
    Val left = emit_condition(e, frame, x->args[0]);
    bool both = x->op == EXPR_AND;
    if (is_plain(e, x->args[1])) {
        Val right = emit_condition(e, frame, x->args[1]);
        return (Value){.a = both ? LLVMBuildAnd(e->b, left, right, "")
                                 : LLVMBuildOr(e->b, left, right, "")};
    }
    return both ? emit_choice(e, frame, x, left, (Branches){second_arg, no_value})
                : emit_choice(e, frame, x, left, (Branches){yes_value, second_arg});
}

void emit_keep(Emit *e, Frame *frame, ExprId pred, Block gone) {
    const Expr *x = graph_at(e->graph, pred);
    if (x->op == EXPR_AND && !is_plain(e, x->args[1])) {
        emit_keep(e, frame, x->args[0], gone);
        part_split(e);
        emit_keep(e, frame, x->args[1], gone);
        return;
    }
    Val keep = emit_condition(e, frame, pred);
    Block kept = emit_block(e, "kept");
    emit_branch(e, keep, kept, gone);
    emit_at(e, kept);
}

static Value present(Emit *e, Frame *frame, const Expr *x) {
    Value value = emit_expr(e, frame, x->args[0]);
    if (!x->type->nullable) value.valid = nullptr;
    return value;
}

static Value emit_coalesce(Emit *e, Frame *frame, const Expr *x) {
    Value first = emit_expr(e, frame, x->args[0]);
    if (!first.valid) return first;
    return emit_choice(e, frame, x, first.valid, (Branches){present, second_arg});
}

static Value emit_present(Emit *e, Frame *frame, const Expr *x) {
    Value value = emit_expr(e, frame, x->args[0]);
    if (!value.valid) return value;
    if (x->proven) {
        value.valid = nullptr;
        return value;
    }
    Detail name = {emit_bytes(e, x->value.text, "name"), emit_i64(e, (int64_t)x->value.text.len)};
    emit_fault_if(e, frame, x->span, LLVMBuildNot(e->b, value.valid, ""),
                  emit_i32(e, SB_FAULT_IS_NULL), name);
    value.valid = nullptr;
    return value;
}

// ---- else handlers ------------------------------------------------------------------------------

static Value else_lane(Emit *e, Frame *frame, const Expr *x, FaultTarget *target) {
    FaultTarget *outer = e->faults;
    size_t mark = emit_region_begin(e);
    e->faults = target;
    Value value = emit_expr(e, frame, x->args[0]);
    e->faults = outer;
    emit_region_end(e, mark);
    if (!target->raised) return value;  // It cannot fault after all.
    Value instead = emit_lane(e, frame, x, target->raised, second_arg);
    return select_value(e, x->type, target->raised, instead, value);
}

static Value emit_else_value(Emit *e, Frame *frame, const Expr *x) {
    FaultTarget *outer = e->faults;
    FaultTarget target;
    fault_target_open(e, &target, outer, true);
    if (e->lanes) return else_lane(e, frame, x, &target);
    Block end = emit_block(e, "end");
    size_t mark = emit_region_begin(e);
    e->faults = &target;
    Value value = emit_expr(e, frame, x->args[0]);
    e->faults = outer;
    if (!target.block) {  // It cannot fault after all.
        emit_jump(e, end);
        emit_at(e, end);
        return value;
    }
    Block from = emit_here(e);
    emit_jump(e, end);
    emit_region_end(e, mark);
    emit_at(e, target.block);
    Value instead = emit_expr(e, frame, x->args[1]);
    Block instead_from = emit_here(e);
    emit_jump(e, end);
    emit_region_end(e, mark);
    emit_at(e, end);
    return join_values(e, x->type, (Arm){value, from}, (Arm){instead, instead_from});
}

// `else reject` and `else fail` pass over the values of handlers around them.
static Value emit_else_leave(Emit *e, Frame *frame, const Expr *x) {
    FaultTarget *before = e->faults;
    bool fail_before = e->faults_fail;
    while (e->faults->silent) e->faults = e->faults->outer;
    e->faults_fail = fail_before || x->handler == ELSE_FAIL;
    // What was computed before under another handler keeps its own faults; this is computed anew.
    Value value = emit_expr(e, frame, x->args[0]);
    e->faults = before;
    e->faults_fail = fail_before;
    return value;
}

static Value emit_else(Emit *e, Frame *frame, const Expr *x) {
    switch (x->handler) {
    case ELSE_VALUE: return emit_else_value(e, frame, x);
    case ELSE_REJECT: case ELSE_FAIL: return emit_else_leave(e, frame, x);
    }
    return (Value){0};
}

// ---- leaves -------------------------------------------------------------------------------------

static Value emit_param(Emit *e, const Expr *x) {
    Val params = emit_load_at(e, e->ptr, e->task, offsetof(SbTask, params), "params");
    Val address = emit_load_at(e, e->ptr, params, sizeof(void *) * x->index, "param");
    return emit_load_value(e, x->type, address);
}

static Value emit_not(Emit *e, Frame *frame, const Expr *x) {
    return (Value){.a = LLVMBuildNot(e->b, emit_condition(e, frame, x->args[0]), "")};
}

static Value emit_is_null(Emit *e, Frame *frame, const Expr *x) {
    Value value = emit_expr(e, frame, x->args[0]);
    return (Value){.a = value.valid ? LLVMBuildNot(e->b, value.valid, "") : emit_i1(e, false)};
}

static Value emit_some(Emit *e, Frame *frame, const Expr *x) {
    Value value = emit_expr(e, frame, x->args[0]);
    if (!value.valid) value.valid = emit_i1(e, true);
    return value;
}

// Of one element of tensors: nothing is left to judge.
static Value emit_choose(Emit *e, Frame *frame, const Expr *x) {
    Val mask = emit_condition(e, frame, x->args[0]);
    Val yes = emit_expr(e, frame, x->args[1]).a, no = emit_expr(e, frame, x->args[2]).a;
    return (Value){.a = LLVMBuildSelect(e->b, mask, yes, no, "")};
}

static Value compute(Emit *e, Frame *frame, const Expr *x) {
    switch (x->op) {
    case EXPR_CONST: return emit_const(e, x->type, &x->value);
    case EXPR_PARAM: return emit_param(e, x);
    case EXPR_COLUMN: return frame_column(e, frame->input[x->input], x->index);
    case EXPR_SOME: return emit_some(e, frame, x);
    case EXPR_NEG: case EXPR_ADD: case EXPR_SUB: case EXPR_MUL: case EXPR_DIV: case EXPR_IDIV:
    case EXPR_MOD:
        return emit_arith(e, frame, x);
    case EXPR_EQ:
    case EXPR_NE:
    case EXPR_LT:
    case EXPR_LE:
    case EXPR_GT:
    case EXPR_GE:
    case EXPR_IN: return emit_compare(e, frame, x);
    case EXPR_IS_NULL: return emit_is_null(e, frame, x);
    case EXPR_NOT: return emit_not(e, frame, x);
    case EXPR_AND: case EXPR_OR: return emit_and_or(e, frame, x);
    case EXPR_COALESCE: return emit_coalesce(e, frame, x);
    case EXPR_PRESENT: return emit_present(e, frame, x);
    case EXPR_IF:
        return emit_choice(e, frame, x, first_arg(e, frame, x).a,
                           (Branches){second_arg, third_arg});
    case EXPR_ELSE: return emit_else(e, frame, x);
    case EXPR_CAST: case EXPR_WIDEN: case EXPR_TO_F64: case EXPR_ROUND:
        return emit_cast(e, frame, x);
    case EXPR_CALL: return emit_function(e, frame, x);
    case EXPR_RAW:
    case EXPR_PLACE:
    case EXPR_REGEX:
    case EXPR_ZONE:
    case EXPR_CONCAT:
    case EXPR_TEXT:
    case EXPR_STRUCT: case EXPR_FIELD: case EXPR_LIST: case EXPR_INDEX:
        return emit_compound(e, frame, x);
    case EXPR_LOCAL: return e->locals[x->index];
    case EXPR_LIST_MAP: case EXPR_LIST_FILTER: case EXPR_LIST_ANY: case EXPR_LIST_ALL:
    case EXPR_LIST_REDUCE:
        return emit_lambda(e, frame, x);
    case EXPR_EXPAND: return emit_expr(e, frame, x->args[0]);
    case EXPR_CHOOSE: return emit_choose(e, frame, x);
    case EXPR_SIZE: case EXPR_AGREE:
    case EXPR_RESHAPE: case EXPR_PERMUTE: case EXPR_SLICE: case EXPR_APPEND: case EXPR_GATHER:
    case EXPR_REDUCE_SUM: case EXPR_REDUCE_PROD: case EXPR_REDUCE_MIN: case EXPR_REDUCE_MAX:
    case EXPR_REDUCE_ANY: case EXPR_REDUCE_ALL: case EXPR_REDUCE_ARGMIN: case EXPR_REDUCE_ARGMAX:
        return emit_whole(e, frame, x);
    }
    return (Value){0};
}

static Value *new_memo(const Emit *e) {
    return arena_new_array(e->arena, Value, e->graph->expr_count);
}

// Operators that pass on the columns of their input compute over the same ones as what comes behind
// them: a filter's work is there for the next step.
static Value *memo_of(const Emit *e, Frame *frame) {
    Frame *input = frame->input[0];
    if (frame->memo) return frame->memo;
    if (!input || frame->input[1]) return frame->memo = new_memo(e);
    while (!input->load && input->input[0] && op_passes_columns(input->op)) input = input->input[0];
    if (!input->memo_behind) input->memo_behind = new_memo(e);
    return frame->memo = input->memo_behind;
}

// Where the code of a node belongs. A column is fetched by who asks for it; only parsing one is
// work of the source.
static Span place_of(const Frame *frame, const Expr *x) {
    const Frame *from = x->op == EXPR_COLUMN ? frame->input[x->input] : nullptr;
    if (x->op != EXPR_COLUMN || (from && from->text)) return x->span;
    return (Span){.file = SPAN_NONE};
}

Value *emit_slot(Emit *e, Frame *frame, ExprId id) { return &memo_of(e, frame)[id.i]; }

bool emit_is_known(Emit *e, Frame *frame, ExprId id) { return emit_slot(e, frame, id)->a; }

Value emit_anew(Emit *e, Frame *frame, ExprId id) {
    const Expr *x = graph_at(e->graph, id);
    bool loop = graph_is_elementwise(x) || graph_is_layout(x);
    return loop ? emit_tensor(e, frame, id) : compute(e, frame, x);
}

Value emit_expr(Emit *e, Frame *frame, ExprId id) {
    Value *slot = emit_slot(e, frame, id);
    if (slot->a) return *slot;
    const Expr *x = graph_at(e->graph, id);
    e->weight += x->op != EXPR_COLUMN;
    LLVMMetadataRef before = emit_debug_enter(e, place_of(frame, x));
    const Once *once = emit_once_of(e, slot);
    Value value = once ? emit_once(e, frame, id, once) : emit_anew(e, frame, id);
    emit_debug_leave(e, before);
    // Inside `else fail` a node's faults differ: nothing there may be taken for the outside.
    if (!e->faults_fail || !graph_faults(e->graph, id)) emit_memo(e, slot, value);
    return value;
}
