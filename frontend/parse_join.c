// Parses `join`: keys that are equal, conditions, and the nearest row.
#include "frontend/parse_items.h"

typedef struct Keys {
    Items     items;         // Columns of both sides.
    AstExpr **left, **right;
    size_t    left_count, left_cap, right_count, right_cap;
    AstExpr **conditions;
    size_t    condition_count, condition_cap;
} Keys;

static void parse_using(Parser *p) {
    Diag *d = parser_unexpected(p, DIAG_JOIN_FORM, "`on` after the flow that is joined");
    diag_fix(p->in.diags, d, "write `join FLOW on KEY` or `join FLOW on a == b`");
}

// Is it a truth by its form, as conditions are?
static bool is_condition(const AstExpr *expr) {
    static const bool yields[] = {
        [AST_BOOL] = true, [AST_CALL] = true, [AST_FIELD] = true, [AST_IN] = true, [AST_IF] = true,
        [AST_CASE] = true, [AST_ELSE] = true, [AST_INDEX] = true, [AST_ERROR] = true,
    };
    if (expr->kind == AST_UNARY) return expr->op == AST_OP_NOT;
    if (expr->kind == AST_BINARY) return expr->op >= AST_OP_COALESCE;
    return (size_t)expr->kind < countof(yields) && yields[expr->kind];
}

// asof = "asof" operand ("<" | "<=" | ">" | ">=") operand ["within" operand]
static void parse_asof(Parser *p, AstStep *step) {
    Span word = parser_span(p, parser_token(p, 0));
    parser_take_operator(p);
    AstExpr *value = parse_not(p);
    bool compares = value->kind == AST_BINARY && value->op >= AST_OP_LT && value->op <= AST_OP_GE;
    if (!p->panic && !compares && value->kind != AST_ERROR) {
        Diag *d = parser_error(p, DIAG_JOIN_FORM, value->span, "`asof` says which row is nearest");
        diag_fix(p->in.diags, d, "write `asof a >= b` for the last b up to a, `asof a <= b` for "
                                 "the first b from a on");
    }
    if (!p->panic && parser_at_word(p, "within")) {
        parser_take_operator(p);
        step->within = parse_operand(p);
    }
    if (step->asof && !p->panic) {
        Diag *d = parser_error(p, DIAG_JOIN_FORM, word, "a second `asof`");
        diag_fix(p->in.diags, d, "leave one of them out, or make it a condition");
    }
    step->asof = value;
    step->asof_span = parser_since(p, word);
}

static bool at_asof(const Parser *p) {
    return parser_at_word(p, "asof") && parser_begins_operand(p, 1) &&
           !parser_ahead(p, 1, TOKEN_MINUS);
}

// on = NAME | operand "==" operand | not | asof
static void parse_key(Parser *p, AstStep *step, Keys *keys) {
    if (at_asof(p)) {
        parse_asof(p, step);
        return;
    }
    AstItem item = {.span = parser_span(p, parser_token(p, 0))};
    AstExpr *value = item.value = parse_not(p);
    if (value->kind == AST_BINARY && value->op == AST_OP_EQ) {
        arena_push(p->in.arena, keys->left, keys->left_count, keys->left_cap, value->a);
        arena_push(p->in.arena, keys->right, keys->right_count, keys->right_cap, value->b);
        return;
    }
    if (is_condition(value)) {
        arena_push(p->in.arena, keys->conditions, keys->condition_count, keys->condition_cap,
                   value);
        return;
    }
    if (!p->panic && value->kind != AST_NAME) {
        Diag *d = parser_error(p, DIAG_JOIN_FORM, value->span,
                               "neither a key nor a condition");
        diag_fix(p->in.diags, d, "write a column of both sides, `a == b`, or a condition as a < b");
    }
    item.span = parser_since(p, item.span);
    items_push(p, &keys->items, item);
}

static void parse_on_keys(Parser *p, AstStep *step) {
    Keys keys = {0};
    List list = parser_bare_list(p);
    bool more = parser_more(p, &list);
    if (!more && !p->panic) parse_using(p);
    while (more) {
        parse_key(p, step, &keys);
        bool joined = !p->panic && parser_at_word(p, "and");
        if (joined) parser_take_operator(p);
        if (!p->panic && parser_at_word(p, "or")) {
            Diag *d = parser_error(p, DIAG_JOIN_FORM, parser_span(p, parser_token(p, 0)),
                                   "keys and conditions of a join hold all together");
            diag_fix(p->in.diags, d, "put the alternatives into parentheses: (a < b or a < c)");
        }
        more = joined || parser_more(p, &list);
    }
    step->items = keys.items.items;
    step->item_count = (uint32_t)keys.items.count;
    step->on_left = keys.left;
    step->on_right = keys.right;
    step->on_count = (uint32_t)keys.left_count;
    step->conditions = keys.conditions;
    step->condition_count = (uint32_t)keys.condition_count;
}

// join = "join" ["left" | "right" | "full" | "semi" | "anti"] head "on" on (("," | "and") on)*
void parse_join(Parser *p, AstStep *step) {
    static const struct { const char *word; JoinKind kind; const char *slip, *fix; } kinds[] = {
        {"left", JOIN_LEFT, nullptr, nullptr}, {"right", JOIN_RIGHT, nullptr, nullptr},
        {"full", JOIN_FULL, nullptr, nullptr}, {"semi", JOIN_SEMI, nullptr, nullptr},
        {"anti", JOIN_ANTI, nullptr, nullptr},
        {"inner", JOIN_INNER, "`join` alone is the inner join", "leave out `inner`"},
        {"outer", JOIN_FULL, "the outer join of both sides is `full`", "write `join full`"},
    };
    for (size_t i = 0; i < countof(kinds); i++) {
        if (!parser_at_word(p, kinds[i].word) || parser_ahead_word(p, 1, "on")) continue;
        step->join = kinds[i].kind;
        Token word = parser_take(p);
        if (kinds[i].slip) {
            Diag *d = parser_slip(p, DIAG_JOIN_FORM, parser_span(p, word), "%s", kinds[i].slip);
            diag_fix(p->in.diags, d, "%s", kinds[i].fix);
        }
        break;
    }
    step->other = parse_flow_head(p);
    if (p->panic) return;
    if (!parser_at_word(p, "on")) {
        parse_using(p);
        return;
    }
    parser_take_operator(p);
    parse_on_keys(p, step);
}
