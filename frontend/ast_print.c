// Prints a program as an indented tree.
//
//     let tips
//       flow
//         name trips
//         where
//           item
//             binary >
//               name fare
//               float 0.0
#include "frontend/ast_print.h"

typedef struct Tree {
    TextBuf *buf;
    size_t   level;
} Tree;

const char *ast_op_text(AstOp op) {
    static const char *const texts[] = {"-", "not", "*", "/", "//", "%", "+", "-", "??",
                                        "==", "!=", "<", "<=", ">", ">=", "and", "or"};
    static_assert(countof(texts) == AST_OP_OR + 1);
    return texts[op];
}

static void line(Tree *t, const char *kind, Text text) {
    text_buf_pad(t->buf, 2 * t->level);
    text_buf_add(t->buf, text_of(kind));
    if (text.len) text_buf_char(t->buf, ' ');
    text_buf_add(t->buf, text);
    text_buf_char(t->buf, '\n');
}

static void quoted(Tree *t, const char *kind, Text text) {
    text_buf_pad(t->buf, 2 * t->level);
    text_buf_format(t->buf, "%s ", kind);
    text_buf_quoted(t->buf, text);
    text_buf_char(t->buf, '\n');
}

// ---- types -------------------------------------------------------------------------------------

static void print_type(Tree *t, const AstType *type) {
    static const char *const kinds[] = {"error", "type", "type", "list", "struct", "tensor"};
    line(t, type->nullable ? "nullable" : "plain", text_of(kinds[type->kind]));
    t->level++;
    if (type->name.text.len) line(t, "name", type->name.text);
    for (uint32_t i = 0; i < type->param_count; i++) line(t, "param", type->params[i]);
    if (type->elem) print_type(t, type->elem);
    for (uint32_t i = 0; i < type->field_count; i++) {
        line(t, "field", type->fields[i].name.text);
        t->level++;
        print_type(t, type->fields[i].type);
        t->level--;
    }
    t->level--;
}

// ---- expressions -------------------------------------------------------------------------------

static void print_expr(Tree *t, const AstExpr *e);

static void print_args(Tree *t, const AstArg *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        bool inside = args[i].spread || args[i].name.text.len;
        if (args[i].spread) line(t, "spread", (Text){0});
        else if (inside) line(t, "named", args[i].name.text);
        if (inside) t->level++;
        print_expr(t, args[i].value);
        if (inside) t->level--;
    }
}

static void print_arms(Tree *t, const AstExpr *e) {
    for (uint32_t i = 0; i < e->arm_count; i++) {
        line(t, "arm", e->arms[i].condition ? (Text){0} : TEXT("_"));
        t->level++;
        if (e->arms[i].condition) print_expr(t, e->arms[i].condition);
        print_expr(t, e->arms[i].value);
        t->level--;
    }
}

static void print_head_line(Tree *t, const AstExpr *e) {
    static const char *const handlers[] = {"value", "reject", "fail"};
    switch (e->kind) {
    case AST_NULL: line(t, "null", (Text){0}); break;
    case AST_REJECT: line(t, "reject", (Text){0}); break;
    case AST_BOOL: line(t, e->boolean ? "true" : "false", (Text){0}); break;
    case AST_INT: line(t, "int", e->text); break;
    case AST_FLOAT: line(t, "float", e->text); break;
    case AST_PERCENT: line(t, "percent", e->text); break;
    case AST_DURATION: line(t, "duration", e->text); break;
    case AST_MONTHS: line(t, "months", e->text); break;
    case AST_STR: quoted(t, "str", e->text); break;
    case AST_FSTRING: line(t, "fstring", (Text){0}); break;
    case AST_NAME: line(t, "name", e->name.text); break;
    case AST_CALL: line(t, "call", e->name.text); break;
    case AST_FIELD: line(t, "field", e->name.text); break;
    case AST_INDEX: line(t, "index", (Text){0}); break;
    case AST_UNARY: line(t, "unary", text_of(ast_op_text(e->op))); break;
    case AST_BINARY: line(t, "binary", text_of(ast_op_text(e->op))); break;
    case AST_IN: line(t, "in", e->c ? TEXT("range") : TEXT("list")); break;
    case AST_IF: line(t, "if", (Text){0}); break;
    case AST_CASE: line(t, "case", (Text){0}); break;
    case AST_ELSE: line(t, "else", text_of(handlers[e->handler])); break;
    case AST_LIST: line(t, "list", (Text){0}); break;
    case AST_STRUCT: line(t, "struct", (Text){0}); break;
    case AST_LAMBDA: line(t, "lambda", (Text){0}); break;
    case AST_ERROR: line(t, "error", (Text){0}); break;
    }
}

static void print_expr(Tree *t, const AstExpr *e) {
    print_head_line(t, e);
    t->level++;
    for (uint32_t i = 0; i < e->param_count; i++) line(t, "param", e->params[i].text);
    if (e->a) print_expr(t, e->a);
    if (e->b) print_expr(t, e->b);
    if (e->c) print_expr(t, e->c);
    print_args(t, e->args, e->arg_count);
    print_arms(t, e);
    if (e->where) {
        line(t, "where", (Text){0});
        t->level++;
        print_expr(t, e->where);
        t->level--;
    }
    if (e->frame) {
        line(t, e->frame->range ? "range" : "rows", !e->frame->all ? (Text){0}
                 : e->frame->to_here ? TEXT("all back") : TEXT("all"));
        t->level++;
        if (e->frame->back) line(t, "back", (Text){0}), print_expr(t, e->frame->back);
        if (e->frame->ahead) line(t, "ahead", (Text){0}), print_expr(t, e->frame->ahead);
        t->level--;
    }
    t->level--;
}

// ---- flows -------------------------------------------------------------------------------------

static void print_flow(Tree *t, const AstFlow *flow);

static void print_items(Tree *t, const char *kind, const AstItem *items, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        line(t, kind, items[i].name.text);
        t->level++;
        if (items[i].key) print_expr(t, items[i].key);
        if (items[i].type) print_type(t, items[i].type);
        if (items[i].value) print_expr(t, items[i].value);
        if (items[i].descending) line(t, "desc", (Text){0});
        if (items[i].nulls_first) line(t, "nulls first", (Text){0});
        t->level--;
    }
}

static void print_step(Tree *t, const AstStep *step) {
    static const char *const joins[] = {"inner", "left", "right", "full", "semi", "anti"};
    static const char *const cuts[] = {"by", "rows", "bytes"};
    line(t, step->kind == AST_STEP_ERROR ? "error" : "step", step->keyword.text);
    t->level++;
    if (step->kind == AST_JOIN) line(t, joins[step->join], (Text){0});
    if (step->kind == AST_REPARTITION) line(t, cuts[step->repartition], (Text){0});
    if (step->device.text.len) line(t, "device", step->device.text);
    if (step->format.text.len) line(t, "format", step->format.text);
    print_args(t, step->options, step->option_count);
    print_items(t, "item", step->items, step->item_count);
    if (step->count) print_items(t, "count", step->count, 1);
    if (step->outer) line(t, "outer", (Text){0});
    if (step->keeps) line(t, step->keeps_last ? "keep last" : "keep first", (Text){0});
    print_items(t, "order", step->order, step->order_count);
    const char *results = step->kind == AST_WINDOW    ? "window"
                          : step->kind == AST_UNPIVOT ? "as"
                                                      : "aggregate";
    print_items(t, results, step->aggs, step->agg_count);
    if (step->other) print_flow(t, step->other);
    for (uint32_t i = 0; i < step->on_count; i++) {
        line(t, "on", (Text){0});
        t->level++;
        print_expr(t, step->on_left[i]);
        print_expr(t, step->on_right[i]);
        t->level--;
    }
    if (step->asof) {
        line(t, "asof", (Text){0});
        t->level++;
        print_expr(t, step->asof);
        if (step->within) print_expr(t, step->within);
        t->level--;
    }
    for (uint32_t i = 0; i < step->condition_count; i++) {
        line(t, "condition", (Text){0});
        t->level++;
        print_expr(t, step->conditions[i]);
        t->level--;
    }
    for (uint32_t i = 0; i < step->step_count; i++) print_step(t, &step->steps[i]);
    t->level--;
}

static void print_flow(Tree *t, const AstFlow *flow) {
    static const char *const heads[] = {"read", "name", "flow", "range", "table", "error"};
    line(t, "flow", (Text){0});
    t->level++;
    line(t, heads[flow->kind], flow->name.text);
    t->level++;
    print_args(t, flow->options, flow->option_count);
    if (flow->as) print_type(t, flow->as);
    if (flow->inner) print_flow(t, flow->inner);
    if (flow->table) print_expr(t, flow->table);
    t->level--;
    for (uint32_t i = 0; i < flow->step_count; i++) print_step(t, &flow->steps[i]);
    t->level--;
}

// ---- statements --------------------------------------------------------------------------------

static void print_extern(Tree *t, const AstStmt *stmt) {
    quoted(t, stmt->python ? "from python" : "from", stmt->from);
    if (stmt->pure) line(t, "pure", (Text){0});
    if (stmt->impure) line(t, "impure", (Text){0});
    if (stmt->fallible) line(t, "fallible", (Text){0});
    if (stmt->per_batch) line(t, "batch", (Text){0});
    if (stmt->state) line(t, "state", (Text){0});
    if (stmt->alone) line(t, "alone", (Text){0});
}

static void print_stmt(Tree *t, const AstStmt *stmt) {
    static const char *const kinds[] = {"use", "param", "type", "fn", "extern", "let", "flow",
                                        "rejects", "test", "error"};
    static_assert(countof(kinds) == AST_STMT_ERROR + 1);
    if (stmt->kind == AST_TEST) quoted(t, "test", stmt->title);
    else line(t, kinds[stmt->kind], stmt->name.text);
    t->level++;
    for (uint32_t i = 0; i < stmt->param_count; i++) {
        line(t, "param", stmt->params[i].name.text);
        t->level++;
        print_type(t, stmt->params[i].type);
        t->level--;
    }
    if (stmt->type) print_type(t, stmt->type);
    if (stmt->value) print_expr(t, stmt->value);
    if (stmt->kind == AST_EXTERN) print_extern(t, stmt);
    if (stmt->flow) print_flow(t, stmt->flow);
    if (stmt->format.text.len) line(t, "format", stmt->format.text);
    print_args(t, stmt->options, stmt->option_count);
    if (stmt->limit) {
        line(t, "limit", (Text){0});
        t->level++;
        print_expr(t, stmt->limit);
        t->level--;
    }
    for (uint32_t i = 0; i < stmt->given_count; i++) {
        line(t, stmt->givens[i].expect ? "expect" : "given", stmt->givens[i].name.text);
        t->level++;
        print_expr(t, stmt->givens[i].table);
        t->level--;
    }
    t->level--;
}

void ast_print(TextBuf *buf, const AstFile *file) {
    Tree tree = {buf, 0};
    for (size_t i = 0; i < file->stmt_count; i++) print_stmt(&tree, &file->stmts[i]);
}
