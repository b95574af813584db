#include "codegen/reference/eval.h"

#include "runtime/memory.h"

#include <string.h>

enum { SCRATCH_BYTES = 64 * 1024 };

bool eval_open(Eval *eval, const Graph *graph, Arena *arena) {
    *eval = (Eval){.graph = graph, .arena = arena, .memo_count = graph->expr_count};
    eval->memo = arena_new_array(arena, Memo, graph->expr_count ? graph->expr_count : 1);
    eval->locals = arena_new_array(arena, Value, graph->local_count + 1);
    return sb_scratch_open(&eval->call, SCRATCH_BYTES) == SB_OK;
}

void eval_close(Eval *eval) {
    eval_call_close(eval);
    sb_scratch_close(&eval->call);
}

void eval_row(Eval *eval, const Row *left, const Row *right) {
    eval->rows[0] = left;
    eval->rows[1] = right;
    eval->detail = (Text){0};
    eval->settled = eval->fails = false;
    eval->round++;
}

int32_t eval_fault(Eval *eval, int32_t status, Text text) {
    eval->detail = text;
    return status;
}

Text eval_text(Arena *arena, const Type *type, const Value *value) {
    TextBuf buf = {0};
    value_print(&buf, type, value, '.');
    return text_buf_take(&buf, arena);
}

const Type *eval_type(const Eval *eval, ExprId id) {
    const Type *type = type_base(graph_at(eval->graph, id)->type);
    return eval->elements ? type_element(type) : type;
}

// The value of argument `i`, or its fault.
static int32_t argument(Eval *eval, const Expr *expr, uint32_t i, Value *out) {
    return eval_expr(eval, expr->args[i], out);
}

static int32_t eval_place(Eval *eval, const Expr *expr, Value *out) {
    const Origin *origin = eval->rows[expr->input]->origin;
    switch ((PlaceKind)expr->index) {
    case PLACE_SOURCE:
        *out = value_text(origin->path);
        return SB_OK;
    case PLACE_LINE:
        *out = value_i64(origin->has_line ? origin->line : 1);
        return SB_OK;
    case PLACE_OFFSET:
        *out = value_i64(origin->offset);
        return SB_OK;
    }
    return SB_FAULT_BAD_ARGUMENT;
}

static int32_t eval_compare(Eval *eval, const Expr *expr, Value *out) {
    Value a, b;
    int32_t status = argument(eval, expr, 0, &a);
    if (!status) status = argument(eval, expr, 1, &b);
    if (status) return status;
    if (a.is_null || b.is_null) {
        *out = value_bool(expr->op == EXPR_NE);
        return SB_OK;
    }
    const Type *type = eval_type(eval, expr->args[0]);
    *out = value_bool(eval_comparison(expr->op, type, &a, &b));
    return SB_OK;
}

static int32_t eval_in(Eval *eval, const Expr *expr, Value *out) {
    Value x, y;
    int32_t status = argument(eval, expr, 0, &x);
    if (status) return status;
    const Type *type = eval_type(eval, expr->args[0]);
    *out = value_bool(false);
    for (uint32_t i = 1; i < expr->arg_count && !out->i && !x.is_null; i++) {
        status = argument(eval, expr, i, &y);
        if (status) return status;
        if (!y.is_null && eval_comparison(EXPR_EQ, type, &x, &y)) out->i = true;
    }
    return SB_OK;
}

// and, or, ??, if: the first argument says which other one is judged.
static int32_t eval_choice(Eval *eval, const Expr *expr, Value *out) {
    Value first;
    int32_t status = argument(eval, expr, 0, &first);
    if (status) return status;
    if (expr->op == EXPR_IF) return argument(eval, expr, first.i ? 1 : 2, out);
    bool enough = expr->op == EXPR_AND ? !first.i : expr->op == EXPR_OR ? first.i : !first.is_null;
    if (!enough) return argument(eval, expr, 1, out);
    *out = first;
    return SB_OK;
}

// All three are judged; of an element they are.
static int32_t eval_choose(Eval *eval, const Expr *expr, Value *out) {
    Value mask;
    int32_t status = argument(eval, expr, 0, &mask);
    return status ? status : argument(eval, expr, mask.i ? 1 : 2, out);
}

static int32_t eval_else(Eval *eval, const Expr *expr, Value *out) {
    int32_t status = argument(eval, expr, 0, out);
    if (!status || eval->settled) return status;
    if (expr->handler == ELSE_VALUE) {
        eval->detail = (Text){0};
        return argument(eval, expr, 1, out);
    }
    eval->settled = true;
    eval->fails = expr->handler == ELSE_FAIL;
    return status;
}

static int32_t eval_concat(Eval *eval, const Expr *expr, Value *out) {
    TextBuf buf = {0};
    int32_t status = SB_OK;
    for (uint32_t i = 0; i < expr->arg_count && !status; i++) {
        Value part;
        status = argument(eval, expr, i, &part);
        if (!status) text_buf_add(&buf, part.text);
    }
    *out = value_text(text_buf_take(&buf, eval->arena));
    return status;
}

static int32_t eval_items(Eval *eval, const Expr *expr, Value *out) {
    Value *items = arena_new_array(eval->arena, Value, expr->arg_count ? expr->arg_count : 1);
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        int32_t status = argument(eval, expr, i, &items[i]);
        if (status) return status;
    }
    *out = (Value){.items = items, .item_count = expr->arg_count};
    return SB_OK;
}

static int32_t eval_index(Eval *eval, const Expr *expr, Value *out) {
    Value list, index;
    int32_t status = argument(eval, expr, 0, &list);
    if (!status) status = argument(eval, expr, 1, &index);
    if (status) return status;
    __int128 at = value_integer(eval_type(eval, expr->args[1]), &index);
    const Type *type = eval_type(eval, expr->args[0]);
    if (type->kind == TYPE_TENSOR) type = value_shape(eval->arena, type, &list);
    uint32_t count = type->kind == TYPE_TENSOR ? type->shape[0] : list.item_count;
    if (at < 0 || at >= count) return eval_fault(eval, SB_FAULT_OUT_OF_BOUNDS, (Text){0});
    uint32_t part = type->kind == TYPE_TENSOR ? list.item_count / count : 1;
    *out = type->kind == TYPE_TENSOR && type->rank > 1
               ? (Value){.items = list.items + at * part, .item_count = part,
                         .sizes = list.sizes ? list.sizes + 1 : nullptr}
               : list.items[at];
    return SB_OK;
}

static int32_t eval_field(Eval *eval, const Expr *expr, Value *out) {
    Value whole;
    int32_t status = argument(eval, expr, 0, &whole);
    if (status) return status;
    *out = whole.is_null ? value_null() : whole.items[expr->index];
    return SB_OK;
}

// CAST, WIDEN, TO_F64, ROUND, TEXT: one argument, null stays null.
static int32_t eval_convert(Eval *eval, const Expr *expr, Value *out) {
    Value value;
    int32_t status = argument(eval, expr, 0, &value);
    if (status) return status;
    if (value.is_null) {
        *out = value;
        return SB_OK;
    }
    const Type *from = eval_type(eval, expr->args[0]), *to = type_base(expr->type);
    if (expr->op == EXPR_TEXT) {
        *out = value_text(eval_text(eval->arena, from, &value));
        return SB_OK;
    }
    if (expr->op == EXPR_TO_F64) {
        if (from->kind == TYPE_DECIMAL)
            *out = value_f64(decimal_to_f64(value.decimal, from->scale));
        else *out = value_f64(integer_to_f64(value_integer(from, &value)));
        return SB_OK;
    }
    if (expr->op == EXPR_ROUND) {
        *out = value_f64(type_round(to, value.f));
        return SB_OK;
    }
    return eval_cast(eval, from, to, &value, out);
}

static int32_t eval_operation(Eval *eval, const Expr *expr, Value *out) {
    Value args[2];
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        int32_t status = argument(eval, expr, i, &args[i]);
        if (status) return status;
        if (args[i].is_null) {
            *out = value_null();
            return SB_OK;
        }
    }
    return eval_arithmetic(eval, expr, args, out);
}

static int32_t eval_unary(Eval *eval, const Expr *expr, Value *out) {
    Value value;
    int32_t status = argument(eval, expr, 0, &value);
    if (status) return status;
    if (expr->op == EXPR_IS_NULL) *out = value_bool(value.is_null);
    else if (expr->op == EXPR_PRESENT && value.is_null)
        return eval_fault(eval, SB_FAULT_IS_NULL, expr->value.text);
    else if (expr->op == EXPR_NOT) *out = value_bool(!value.i);
    else *out = value;
    return SB_OK;
}

static int32_t eval_raw(Eval *eval, const Expr *expr, Value *out) {
    const Row *row = eval->rows[expr->input];
    *out = value_text(row->raws ? row->raws[expr->index] : (Text){0});
    return SB_OK;
}

static void note_lacking(Eval *eval, const Param *param) {
    if (eval->wants_defaults && expr_is_none(param->value)) eval->lacked = param;
}

int32_t eval_node(Eval *eval, const Expr *expr, Value *out) {
    switch (expr->op) {
    case EXPR_CONST: case EXPR_REGEX: case EXPR_ZONE:
        *out = expr->value;
        return SB_OK;
    case EXPR_PARAM:
        note_lacking(eval, &eval->graph->params[expr->index]);
        *out = eval->params[expr->index];
        return SB_OK;
    case EXPR_COLUMN:
        if (eval->judge) return eval->judge(eval->judge_self, expr->index, out);
        *out = eval->rows[expr->input]->values[expr->index];
        return SB_OK;
    case EXPR_RAW: return eval_raw(eval, expr, out);
    case EXPR_PLACE: return eval_place(eval, expr, out);
    case EXPR_SOME: case EXPR_PRESENT: case EXPR_NOT: case EXPR_IS_NULL:
        return eval_unary(eval, expr, out);
    case EXPR_NEG: case EXPR_ADD: case EXPR_SUB: case EXPR_MUL: case EXPR_DIV: case EXPR_IDIV:
    case EXPR_MOD: return eval_operation(eval, expr, out);
    case EXPR_EQ: case EXPR_NE: case EXPR_LT: case EXPR_LE: case EXPR_GT: case EXPR_GE:
        return eval_compare(eval, expr, out);
    case EXPR_AND: case EXPR_OR: case EXPR_COALESCE: case EXPR_IF:
        return eval_choice(eval, expr, out);
    case EXPR_IN: return eval_in(eval, expr, out);
    case EXPR_ELSE: return eval_else(eval, expr, out);
    case EXPR_CAST: case EXPR_WIDEN: case EXPR_TO_F64: case EXPR_ROUND: case EXPR_TEXT:
        return eval_convert(eval, expr, out);
    case EXPR_CALL: return eval_call(eval, expr, out);
    case EXPR_CONCAT: return eval_concat(eval, expr, out);
    case EXPR_STRUCT: case EXPR_LIST: return eval_items(eval, expr, out);
    case EXPR_FIELD: return eval_field(eval, expr, out);
    case EXPR_INDEX: return eval_index(eval, expr, out);
    case EXPR_LOCAL:
        *out = eval->locals[expr->index];
        return SB_OK;
    case EXPR_LIST_MAP: case EXPR_LIST_FILTER: case EXPR_LIST_ANY: case EXPR_LIST_ALL:
    case EXPR_LIST_REDUCE:
        return eval_lambda(eval, expr, out);
    case EXPR_EXPAND: return argument(eval, expr, 0, out);
    case EXPR_CHOOSE: return eval_choose(eval, expr, out);
    case EXPR_SIZE: case EXPR_AGREE:
    case EXPR_RESHAPE: case EXPR_PERMUTE: case EXPR_SLICE: case EXPR_APPEND: case EXPR_GATHER:
    case EXPR_REDUCE_SUM: case EXPR_REDUCE_PROD: case EXPR_REDUCE_MIN: case EXPR_REDUCE_MAX:
    case EXPR_REDUCE_ANY: case EXPR_REDUCE_ALL: case EXPR_REDUCE_ARGMIN: case EXPR_REDUCE_ARGMAX:
        return eval_whole(eval, expr, out);
    }
    return SB_FAULT_BAD_ARGUMENT;
}

// Nodes are pure, so a node that faulted once faults again; what the fault left behind is only
// kept while nothing has handled it, and then the row is over.
int32_t eval_expr(Eval *eval, ExprId id, Value *out) {
    Memo *memo = &eval->memo[id.i];
    const Expr *expr = graph_at(eval->graph, id);
    bool current = !expr_is_open(expr) || memo->element == eval->element;
    if (memo->round == eval->round && current && memo->status == SB_OK) {
        *out = memo->value;
        return SB_OK;
    }
    uint64_t element = eval->element;
    int32_t status = graph_is_elementwise(expr) ? eval_elements(eval, expr, out)
                                                : eval_node(eval, expr, out);
    memo->round = eval->round;
    memo->element = element == eval->element ? element : 0;  // A lambda inside took it on.
    memo->status = status;
    if (!status) memo->value = *out;
    return status;
}
