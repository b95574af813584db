// Parses the lists of steps: items with names, and the keys of an order.
#include "frontend/parse_items.h"

void items_push(Parser *p, Items *items, AstItem item) {
    arena_push(p->in.arena, items->items, items->count, items->cap, item);
}

// `expression as name` of SQL.
static void blame_as(Parser *p, AstItem *item) {
    if (p->panic || item->name.text.len || !parser_at(p, TOKEN_WORD)) return;
    if (!parser_word_is(p, parser_token(p, 0), "as") ||
        !(parser_ahead(p, 1, TOKEN_WORD) || parser_ahead(p, 1, TOKEN_QUOTED)))
        return;
    Span as = parser_span(p, parser_take(p));
    item->name = parser_take_name(p);
    Diag *d = parser_slip(p, DIAG_ITEM_ORDER, as, "the new name stands in front of its value");
    diag_fix(p->in.diags, d, "write `%.*s = ...`", TEXT_ARG(item->name.text));
}

// item = [NAME [":" type] "="] handled
AstItem parse_item(Parser *p) {
    AstItem item = {.span = parser_span(p, parser_token(p, 0))};
    bool assigns = parser_ahead(p, 1, TOKEN_ASSIGN) || parser_ahead(p, 1, TOKEN_FOREIGN_ASSIGN);
    if (parser_at_name(p) && (assigns || parser_ahead(p, 1, TOKEN_COLON))) {
        item.name = parser_take_name(p);
        if (parser_skip(p, TOKEN_COLON)) item.type = parse_type(p);
        if (!p->panic && parser_at(p, TOKEN_FOREIGN_ASSIGN)) {
            Diag *d = parser_slip(p, DIAG_FOREIGN_OPERATOR, parser_span(p, parser_take(p)),
                                  "`:=` is an operator of another language");
            diag_fix(p->in.diags, d, "write `=`");
        } else if (!p->panic) {
            parser_expect(p, TOKEN_ASSIGN, "the name of the item");
        }
    }
    item.value = parse_handled(p);
    blame_as(p, &item);
    item.span = parser_since(p, item.span);
    return item;
}

Diag *items_blame_none(Parser *p, const AstStep *step, const char *fix) {
    TokenKind next = parser_token(p, 1).kind;
    bool below = next == TOKEN_ASSIGN || next == TOKEN_COMMA;
    Diag *d = parser_error(p, DIAG_NOTHING_LISTED, parser_behind(p), "`%.*s` lists nothing",
                           TEXT_ARG(step->keyword.text));
    diag_fix(p->in.diags, d, "%s", below ? "begin the list on the line of the step" : fix);
    return d;
}

void items_want_name(Parser *p, const AstItem *item, bool bare_column_is_enough) {
    bool column = item->value->kind == AST_NAME && bare_column_is_enough;
    if (p->panic || item->name.text.len || column || item->value->kind == AST_ERROR) return;
    if (parser_token(p, 0).kind == TOKEN_BAD) return;  // Perhaps the `=`.
    Diag *d = parser_slip(p, DIAG_ITEM_NEEDS_NAME, item->span, "the item needs a name");
    uint32_t len = item->span.end - item->span.start;
    enum { SHOWN_MAX = 40 };
    Text text = {p->text.at + item->span.start, len};
    if (len <= SHOWN_MAX) diag_fix(p->in.diags, d, "write `NAME = %.*s`", TEXT_ARG(text));
    else diag_fix(p->in.diags, d, "write `NAME = ` in front of it");
    bool ends = parser_at(p, TOKEN_COMMA) || parser_at(p, TOKEN_PIPE) || parser_at_line_end(p) ||
                parser_at(p, TOKEN_CLOSE_BRACE) || parser_at(p, TOKEN_CLOSE_PAREN);
    if (!ends) parser_lose(p);  // `a b = 1`: a is no item.
}

// Items up to the end of the step, each with a name unless it is a bare column.
Items parse_items(Parser *p, AstStep *step, bool bare_column_is_enough) {
    Items items = {0};
    List list = parser_bare_list(p);
    while (parser_more(p, &list)) {
        AstItem item = parse_item(p);
        items_want_name(p, &item, bare_column_is_enough);
        items_push(p, &items, item);
    }
    if (!items.count && !p->panic) items_blame_none(p, step, "name at least one column");
    step->items = items.items;
    step->item_count = (uint32_t)items.count;
    return items;
}

void items_be_one(Parser *p, AstStep *step, AstItem item) {
    Items items = {0};
    items_push(p, &items, item);
    step->items = items.items;
    step->item_count = 1;
}

// ---- the keys of an order ----------------------------------------------------------------------

// `desc` or `asc` in front of a key. True: it is reported.
static bool blame_early_direction(Parser *p) {
    bool word = parser_at_word(p, "desc") || parser_at_word(p, "asc");
    bool key = parser_ahead(p, 1, TOKEN_WORD) && !parser_token(p, 1).first;
    if (!word || !key || parser_ahead_word(p, 1, "desc") || parser_ahead_word(p, 1, "asc") ||
        parser_ahead_word(p, 1, "nulls"))
        return false;
    Diag *d = parser_slip(p, DIAG_SQL_HABIT, parser_span(p, parser_token(p, 0)),
                          "the direction stands behind the key");
    diag_fix(p->in.diags, d, "write `KEY desc`; ascending is the default");
    return true;
}

// key = expr ["desc"] ["nulls" "first"]       (of `top`: expr ["asc"] ["nulls" "first"])
static AstItem parse_sort_key(Parser *p, bool down) {
    AstItem item = {.span = parser_span(p, parser_token(p, 0))};
    if (parser_at(p, TOKEN_MINUS)) {
        Diag *d =
            parser_slip(p, DIAG_SQL_HABIT, parser_span(p, parser_take(p)), "descending is a word");
        diag_fix(p->in.diags, d, "write `desc` after the key");
    }
    if (blame_early_direction(p)) parser_take(p);
    item.value = parse_handled(p);
    bool up = down && !p->panic && parser_skip_word(p, "asc");
    bool ascending = !up && !p->panic &&
                     (parser_at_word(p, "asc") || parser_at_word(p, "ascending"));
    if (ascending) {
        Token word = parser_take(p);
        Diag *d = parser_slip(p, DIAG_SQL_HABIT, parser_span(p, word),
                              "ascending is the order without a word");
        diag_fix(p->in.diags, d, "leave out `%.*s`", TEXT_ARG(parser_text(p, word)));
    }
    bool spelled_out = !p->panic && parser_at_word(p, "descending");
    if (spelled_out) {
        Diag *d = parser_slip(p, DIAG_SQL_HABIT, parser_span(p, parser_take(p)),
                              "the word is `desc`");
        diag_fix(p->in.diags, d, "write `desc` after the key");
    }
    item.descending = spelled_out || (!p->panic && parser_skip_word(p, "desc")) || (down && !up);
    bool nulls = !p->panic && parser_at_word(p, "nulls") && parser_ahead(p, 1, TOKEN_WORD);
    if (nulls) {
        parser_take(p);
        Token where = parser_take(p);
        item.nulls_first = parser_word_is(p, where, "first");
        if (!item.nulls_first) {
            Diag *d =
                parser_slip(p, DIAG_EXPECTED_TOKEN, parser_span(p, where),
                            "expected `first`, found `%.*s`", TEXT_ARG(parser_text(p, where)));
            diag_fix(p->in.diags, d, "leave it out: nulls are last");
        }
    }
    item.span = parser_since(p, item.span);
    return item;
}

// key ("," key)*, up to a brace or the word `end`
Items parse_sort_keys(Parser *p, AstStep *step, const char *end) {
    bool down = step->kind == AST_TOP;
    Items items = {0};
    List list = parser_bare_list(p);
    while (!parser_at(p, TOKEN_OPEN_BRACE) && !parser_at_word(p, end) && parser_more(p, &list))
        items_push(p, &items, parse_sort_key(p, down));
    if (!items.count && !p->panic) items_blame_none(p, step, "name the columns to sort by");
    return items;
}
