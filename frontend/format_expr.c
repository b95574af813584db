// Prints types and expressions.
#include "frontend/ast_print.h"
#include "frontend/formatter.h"

#include <string.h>

// ---- types -------------------------------------------------------------------------------------

static Span field_span(const void *item) {
    const AstField *field = item;
    return span_join(field->name.span, field->type->span);
}

static void emit_field(Page *page, const void *item) {
    const AstField *field = item;
    page_put_label(page, field->name);
    format_type(page, field->type);
}

static Span field_label(const void *item) { return ((const AstField *)item)->name.span; }

static void put_params(Page *page, const AstType *type) {
    for (uint32_t i = 0; i < type->param_count; i++) {
        if (i) page_put(page, ", ");
        text_buf_add(page->buf, type->params[i]);
    }
}

void format_type(Page *page, const AstType *type) {
    Span whole = type->span;
    if (type->nullable) whole.end--;
    switch (type->kind) {
    case AST_TYPE_ERROR: break;
    case AST_TYPE_NAME: page_put_name(page, type->name); break;
    case AST_TYPE_PARAMS:
    case AST_TYPE_TENSOR: {
        page_put_name(page, type->name);
        bool round = page->source.at[page_find(page, type->name.span.end, '(')] == '(' &&
                     page_find(page, type->name.span.end, '(') < type->span.end;
        page_put(page, round ? "(" : "[");
        put_params(page, type);
        page_put(page, round ? ")" : "]");
        break;
    }
    case AST_TYPE_LIST:
        page_put(page, "[");
        format_type(page, type->elem);
        page_put(page, "]");
        break;
    case AST_TYPE_STRUCT:
    case AST_TYPE_MAP:
        page_put_seq(page, &(Seq){.open = "{", .close = "}", .items = type->fields,
                                  .stride = sizeof *type->fields, .count = type->field_count,
                                  .span = field_span, .emit = emit_field, .whole = whole,
                                  .label = field_label, .keeps_break = true});
        break;
    }
    if (type->nullable) page_put(page, "?");
}

// ---- arguments and members ---------------------------------------------------------------------

// A name's span may be that of nothing; an expression's span leaves its parentheses out.
static Span arg_span(const void *item) {
    const AstArg *arg = item;
    return arg->name.text.len ? span_join(arg->name.span, arg->value->span) : arg->value->span;
}

static void emit_arg(Page *page, const void *item) {
    const AstArg *arg = item;
    if (arg->name.text.len) page_put_name(page, arg->name);
    if (arg->name.text.len) page_put(page, " = ");
    format_expr(page, arg->value);
}

static void emit_member(Page *page, const void *item) {
    const AstArg *arg = item;
    if (arg->spread) page_put(page, "...");
    else page_put_label(page, arg->name);
    format_expr(page, arg->value);
}

static Span member_label(const void *item) { return ((const AstArg *)item)->name.span; }

void format_arguments(Page *page, const AstArg *args, uint32_t count, Span whole) {
    page_put_seq(page, &(Seq){.open = "(", .close = ")", .items = args, .stride = sizeof *args,
                              .count = count, .span = arg_span, .emit = emit_arg, .whole = whole});
}

static bool same_name(const Page *page, Name a, Name b) {
    size_t len = a.span.end - a.span.start;
    return len == b.span.end - b.span.start &&
           memcmp(page->source.at + a.span.start, page->source.at + b.span.start, len) == 0;
}

// Is every item a struct with the names of the first one, in its order, and without a comment?
static bool is_table(const Page *page, const AstExpr *e) {
    const AstExpr *first = e->arg_count > 1 ? e->args[0].value : nullptr;
    for (uint32_t i = 0; first && i < e->arg_count; i++) {
        const AstExpr *row = e->args[i].value;
        if (!row || row->kind != AST_STRUCT || row->arg_count != first->arg_count) return false;
        if (page_has_comment(page, row->span)) return false;
        for (uint32_t k = 0; k < row->arg_count; k++)
            if (!same_name(page, row->args[k].name, first->args[k].name)) return false;
    }
    return first && first->arg_count;
}

// The columns of a table: the widest item of each; null where the rows would not fit.
static const size_t *table_cells(Page *page, const AstExpr *e) {
    if (page->flat || !is_table(page, e)) return nullptr;
    uint32_t count = e->args[0].value->arg_count;
    size_t *cells = arena_new_array(page->arena, size_t, count);
    size_t sum = page->indent + INDENT + sizeof "{  },";
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t i = 0; i < e->arg_count; i++) {
            size_t width = page_measure(page, emit_member, &e->args[i].value->args[k]);
            if (width > cells[k]) cells[k] = width;
        }
        sum += cells[k] + sizeof ", ";
    }
    return sum < COLUMNS_MAX ? cells : nullptr;
}

static void put_list(Page *page, const AstExpr *e, Span whole) {
    page_put_seq(page, &(Seq){.open = "[", .close = "]", .items = e->args,
                              .stride = sizeof *e->args, .count = e->arg_count, .span = arg_span,
                              .emit = emit_arg, .whole = whole, .cells = table_cells(page, e),
                              .keeps_break = true});
}

static Span arm_span(const void *item) {
    const AstArm *arm = item;
    return arm->condition ? span_join(arm->condition->span, arm->value->span) : arm->value->span;
}

static void emit_arm(Page *page, const void *item) {
    const AstArm *arm = item;
    if (arm->condition) format_expr(page, arm->condition);
    else page_put(page, "_");
    page_put(page, " => ");
    format_expr(page, arm->value);
}

// ---- operators ---------------------------------------------------------------------------------

// Chains of operators are broken together; brackets decide for themselves.
static bool breaks_itself(AstExprKind kind) {
    return kind == AST_LIST || kind == AST_STRUCT || kind == AST_CALL || kind == AST_CASE;
}

// Between two operands: a space, or where it does not fit a line end after the operator.
static void break_or_space(Page *page, bool broken, uint32_t done, const AstExpr *next) {
    if (!broken) {
        page_put(page, " ");
        return;
    }
    page->indent += INDENT_ITEMS;
    page_break(page, done, next->span.start);
    page->indent -= INDENT_ITEMS;
}

static void put_operand(Page *page, const void *item) {
    page_put(page, " ");
    format_expr(page, item);
}

// After a left side that takes several lines the right one stands on its last line if it fits.
static void put_binary(Page *page, const AstExpr *e, bool broken) {
    size_t from = page->buf->len;
    format_expr(page, e->a);
    bool lines = memchr(page->buf->at + from, '\n', page->buf->len - from) != nullptr;
    page_put(page, " ");
    page_put(page, ast_op_text(e->op));
    if (broken && lines && page_try_flat(page, e->b->span, put_operand, e->b)) return;
    break_or_space(page, broken, e->op_span.end, e->b);
    format_expr(page, e->b);
}

static void put_in(Page *page, const AstExpr *e) {
    format_expr(page, e->a);
    page_put(page, " in ");
    if (e->c) {
        format_expr(page, e->b);
        page_put(page, "..");
        format_expr(page, e->c);
        return;
    }
    uint32_t open = page_find(page, e->op_span.end, '[');
    put_list(page, e, (Span){open, e->span.end, e->span.file});
}

static void put_else(Page *page, const AstExpr *e, bool broken) {
    format_expr(page, e->a);
    page_put(page, " else");
    if (e->b) break_or_space(page, broken, e->op_span.end, e->b);
    if (e->handler == ELSE_VALUE) format_expr(page, e->b);
    else page_put(page, e->handler == ELSE_REJECT ? " reject" : " fail");
}

static void put_if(Page *page, const AstExpr *e, bool broken) {
    page_put(page, "if ");
    format_expr(page, e->a);
    page_put(page, " then");
    break_or_space(page, broken, e->a->span.end, e->b);
    format_expr(page, e->b);
    page_put(page, " else");
    break_or_space(page, broken, e->b->span.end, e->c);
    format_expr(page, e->c);
}

static void put_frame(Page *page, const AstFrame *frame) {
    page_put(page, frame->range ? " range" : " rows");
    if (frame->all) page_put(page, frame->to_here ? " all back" : " all");
    const AstExpr *ends[] = {frame->back, frame->ahead};
    for (unsigned i = 0; i < countof(ends); i++) {
        if (!ends[i]) continue;
        page_put(page, " ");
        format_expr(page, ends[i]);
        page_put(page, i ? " ahead" : " back");
    }
}

static void put_call(Page *page, const AstExpr *e) {
    page_put_name(page, e->name);
    uint32_t end = e->where ? e->where->span.start
                 : e->frame ? e->frame->span.start : e->span.end;
    Span whole = {e->name.span.end, end, e->span.file};
    format_arguments(page, e->args, e->arg_count, whole);
    if (e->where) {
        page_put(page, " where ");
        format_expr(page, e->where);
    }
    if (e->frame) put_frame(page, e->frame);
}

// A body that does not fit beside the parameters stands below them.
static void put_lambda(Page *page, const AstExpr *e, bool broken) {
    bool bare = e->param_count == 1;
    if (!bare) page_put(page, "(");
    for (uint32_t i = 0; i < e->param_count; i++) {
        if (i) page_put(page, ", ");
        page_put_name(page, e->params[i]);
    }
    page_put(page, bare ? " ->" : ") ->");
    if (broken && page_try_flat(page, e->a->span, put_operand, e->a)) return;
    break_or_space(page, broken && !breaks_itself(e->a->kind), e->op_span.end, e->a);
    format_expr(page, e->a);
}

static void put_unary(Page *page, const AstExpr *e) {
    page_put(page, e->op == AST_OP_NOT ? "not " : "-");
    format_expr(page, e->a);
}

// ---- all of them -------------------------------------------------------------------------------

static void put_expr(Page *page, const AstExpr *e, bool broken) {
    Span brace = e->span;
    switch (e->kind) {
    case AST_NULL: page_put(page, "null"); break;
    case AST_REJECT: page_put(page, "reject"); break;
    case AST_BOOL: page_put(page, e->boolean ? "true" : "false"); break;
    case AST_INT:
    case AST_FLOAT:
    case AST_PERCENT:
    case AST_DURATION:
    case AST_MONTHS:
    case AST_STR:
    case AST_FSTRING:
    case AST_ERROR: page_put_span(page, e->span); break;
    case AST_NAME: page_put_name(page, e->name); break;
    case AST_CALL: put_call(page, e); break;
    case AST_FIELD:
        format_expr(page, e->a);
        page_put(page, ".");
        page_put_name(page, e->name);
        break;
    case AST_INDEX:
        format_expr(page, e->a);
        page_put(page, "[");
        format_expr(page, e->b);
        page_put(page, "]");
        break;
    case AST_UNARY: put_unary(page, e); break;
    case AST_BINARY: put_binary(page, e, broken); break;
    case AST_IN: put_in(page, e); break;
    case AST_IF: put_if(page, e, broken); break;
    case AST_CASE:
        page_put(page, "case ");
        brace.start = page_find(page, e->span.start, '{');
        page_put_seq(page, &(Seq){.open = "{", .close = "}", .items = e->arms,
                                  .stride = sizeof *e->arms, .count = e->arm_count,
                                  .span = arm_span, .emit = emit_arm, .whole = brace,
                                  .padded = true, .keeps_break = true});
        break;
    case AST_ELSE: put_else(page, e, broken); break;
    case AST_LAMBDA: put_lambda(page, e, broken); break;
    case AST_LIST: put_list(page, e, e->span); break;
    case AST_STRUCT:
        page_put_seq(page, &(Seq){.open = "{", .close = "}", .items = e->args,
                                  .stride = sizeof *e->args, .count = e->arg_count,
                                  .span = arg_span, .emit = emit_member, .whole = e->span,
                                  .label = member_label, .padded = true, .keeps_break = true});
        break;
    }
}

static void emit_flat(Page *page, const void *item) { put_expr(page, item, false); }

void format_expr(Page *page, const AstExpr *e) {
    if (e->parens) page_put(page, "(");
    if (breaks_itself(e->kind)) put_expr(page, e, true);
    else if (!page_try_flat(page, e->span, emit_flat, e)) put_expr(page, e, true);
    if (e->parens) page_put(page, ")");
}
