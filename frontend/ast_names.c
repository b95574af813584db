// The names in an expression that are columns or params.
#include "frontend/ast.h"

typedef struct Bound {       // Parameters of the lambdas around.
    const AstExpr      *lambda;
    const struct Bound *outer;
} Bound;

typedef struct Find {
    bool (*see)(void *self, Name name);
    void  *self;
} Find;

static bool is_bound(const Bound *bound, Text name) {
    for (; bound; bound = bound->outer)
        for (uint32_t i = 0; i < bound->lambda->param_count; i++)
            if (text_eq(bound->lambda->params[i].text, name)) return true;
    return false;
}

// The parser bounds the height of the tree.
static bool find(const Find *to, const AstExpr *expr, const Bound *bound) {
    if (!expr) return false;
    if (expr->kind == AST_NAME)
        return !is_bound(bound, expr->name.text) && to->see(to->self, expr->name);
    const Bound here = {expr, bound};
    const Bound *inside = expr->kind == AST_LAMBDA ? &here : bound;
    bool found = find(to, expr->a, inside) || find(to, expr->b, inside) ||
                 find(to, expr->c, inside) || find(to, expr->where, inside);
    for (uint32_t i = 0; i < expr->arg_count && !found; i++)
        found = find(to, expr->args[i].value, inside) || find(to, expr->args[i].where, inside);
    for (uint32_t i = 0; i < expr->arm_count && !found; i++)
        found = find(to, expr->arms[i].condition, inside) || find(to, expr->arms[i].value, inside);
    return found;
}

bool ast_find_name(const AstExpr *expr, bool (*see)(void *self, Name name), void *self) {
    return find(&(Find){see, self}, expr, nullptr);
}
