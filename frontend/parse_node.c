// Nodes of the tree of expressions, which all files parse*.c build.
#include "frontend/parser.h"

AstExpr *parser_node(Parser *p, AstExprKind kind, Span span) {
    AstExpr *e = arena_new_of(p->in.arena, AstExpr);
    e->kind = kind;
    e->span = span;
    e->height = 1;
    return e;
}

static uint32_t higher(uint32_t height, const AstExpr *below) {
    return below && below->height >= height ? below->height + 1 : height;
}

AstExpr *parser_done(Parser *p, AstExpr *e) {
    e->span = parser_since(p, e->span);
    uint32_t height = higher(higher(higher(higher(1, e->a), e->b), e->c), e->where);
    if (e->frame) height = higher(higher(height, e->frame->back), e->frame->ahead);
    for (uint32_t i = 0; i < e->arg_count; i++) height = higher(height, e->args[i].value);
    for (uint32_t i = 0; i < e->arm_count; i++) {
        height = higher(higher(height, e->arms[i].condition), e->arms[i].value);
    }
    e->height = height;
    if (height <= HEIGHT_MAX) return e;
    Diag *d = parser_error(p, DIAG_TOO_DEEP, e->span, "the expression has more than %d levels",
                           HEIGHT_MAX);
    diag_fix(p->in.diags, d, "name parts of it with `derive`");
    return parser_node(p, AST_ERROR, e->span);
}

AstExpr *parser_column(Parser *p, Name name) {
    AstExpr *e = parser_node(p, AST_NAME, name.span);
    e->name = name;
    return e;
}

Span parser_here(const Parser *p) { return parser_span(p, parser_token(p, 0)); }
