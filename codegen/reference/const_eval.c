// Constants for the passes: a node whose arguments are constants, as the job would compute it.
#include "codegen/reference/eval.h"
#include "codegen/reference/reference.h"
#include "runtime/memory.h"

static bool is_known(const Graph *graph, ExprId id) {
    const Expr *expr = graph_at(graph, id);
    switch (expr->op) {
    case EXPR_PARAM: case EXPR_COLUMN: case EXPR_RAW: case EXPR_PLACE: return false;
    case EXPR_LOCAL: return false;  // Its value comes from around the node.
    case EXPR_CALL:
        if (expr->fn->traits & (FN_IMPURE | FN_EXTERN | FN_RANDOM)) return false;
        break;
    case EXPR_CONST: case EXPR_REGEX: case EXPR_ZONE: case EXPR_SOME: case EXPR_NEG: case EXPR_ADD:
    case EXPR_SUB: case EXPR_MUL: case EXPR_DIV: case EXPR_IDIV: case EXPR_MOD: case EXPR_EQ:
    case EXPR_NE: case EXPR_LT: case EXPR_LE: case EXPR_GT: case EXPR_GE: case EXPR_IS_NULL:
    case EXPR_NOT: case EXPR_AND: case EXPR_OR: case EXPR_COALESCE: case EXPR_PRESENT: case EXPR_IF:
    case EXPR_IN: case EXPR_ELSE: case EXPR_CAST: case EXPR_WIDEN: case EXPR_TO_F64:
    case EXPR_ROUND: case EXPR_CONCAT:
    case EXPR_TEXT: case EXPR_STRUCT: case EXPR_FIELD: case EXPR_LIST: case EXPR_INDEX:
    case EXPR_LIST_MAP: case EXPR_LIST_FILTER: case EXPR_LIST_ANY: case EXPR_LIST_ALL:
    case EXPR_LIST_REDUCE:
    case EXPR_EXPAND: case EXPR_CHOOSE: case EXPR_SIZE: case EXPR_AGREE:
    case EXPR_RESHAPE: case EXPR_PERMUTE: case EXPR_SLICE:
    case EXPR_APPEND: case EXPR_GATHER: case EXPR_REDUCE_SUM: case EXPR_REDUCE_PROD:
    case EXPR_REDUCE_MIN: case EXPR_REDUCE_MAX: case EXPR_REDUCE_ANY: case EXPR_REDUCE_ALL:
    case EXPR_REDUCE_ARGMIN: case EXPR_REDUCE_ARGMAX:
        break;
    }
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        if (!is_known(graph, expr->args[i])) return false;
    }
    return true;
}

// The texts in a value.
static size_t bytes_of(const Const *value) {
    size_t bytes = value->text.len;
    for (uint32_t i = 0; i < value->item_count; i++)
        bytes += sizeof *value + bytes_of(&value->items[i]);
    return bytes;
}

bool reference_const_eval(void *self, const Graph *graph, ExprId expr, Const *result) {
    enum { WORK_FACTOR = 16 };
    (void)self;
    // A tensor that moves or changes the elements of another one may be as large.
    size_t most = FOLD_BYTES_MAX;
    const Expr *node = graph_at(graph, expr);
    for (uint32_t i = 0; i < node->arg_count; i++) {
        size_t bytes = bytes_of(&graph_at(graph, node->args[i])->value);
        if (bytes > most) most = bytes;
    }
    Eval eval;
    SbMemory memory;
    if (!is_known(graph, expr) || !eval_open(&eval, graph, graph->arena)) return false;
    sb_memory_open(&memory, (int64_t)(WORK_FACTOR * most));
    sb_scratch_charge(&eval.call, &memory);
    eval_row(&eval, nullptr, nullptr);
    int32_t status = eval_expr(&eval, expr, result);
    eval_close(&eval);
    return status == SB_OK && bytes_of(result) <= most;
}
