// Parses steps: one function for each form, and a table of the words they begin with.
#include "frontend/foreign.h"
#include "frontend/parse_items.h"
#include "frontend/steps.h"

#include <stdlib.h>

// ---- columns -----------------------------------------------------------------------------------

// derive = "derive" item ("," item)*
static void parse_derive(Parser *p, AstStep *step) { parse_items(p, step, false); }

// `select *` keeps everything, which is what happens without it.
static bool blame_star(Parser *p, AstStep *step) {
    if (!parser_at(p, TOKEN_STAR)) return false;
    Diag *d =
        parser_error(p, DIAG_SQL_HABIT, parser_span(p, parser_token(p, 0)), "`*` names no column");
    diag_fix(p->in.diags, d, "leave out `%.*s`: all columns stay", TEXT_ARG(step->keyword.text));
    return true;
}

// select = "select" item ("," item)*
static void parse_select(Parser *p, AstStep *step) {
    if (!blame_star(p, step)) parse_items(p, step, true);
}

// names = NAME ("," NAME)*
static void parse_names(Parser *p, AstStep *step, const char *end) {
    Items items = {0};
    List list = parser_bare_list(p);
    while (!(parser_at_word(p, end) && items.count) && parser_more(p, &list)) {
        Name name = parser_expect_name(p, "the name of a column");
        items_push(p, &items, (AstItem){.value = parser_column(p, name), .span = name.span});
    }
    step->items = items.items;
    step->item_count = (uint32_t)items.count;
}

// drop = "drop" names
static void parse_drop(Parser *p, AstStep *step) {
    parse_names(p, step, "");
    if (!step->item_count && !p->panic) items_blame_none(p, step, "name the columns to drop");
}

// A word of SQL that the step has no use for.
static void skip_by(Parser *p, const char *step) {
    if (!parser_at_word(p, "by") || !parser_ahead(p, 1, TOKEN_WORD)) return;
    Diag *d = parser_slip(p, DIAG_SQL_HABIT, parser_span(p, parser_take(p)), "`%s` takes no `by`",
                          step);
    diag_fix(p->in.diags, d, "write `%s KEY`", step);
}


// rename = "rename" NAME "=" NAME ("," ...)*
static void parse_rename(Parser *p, AstStep *step) {
    Items items = {0};
    List list = parser_bare_list(p);
    while (parser_more(p, &list)) {
        AstItem item = {.span = parser_span(p, parser_token(p, 0))};
        Name first = parser_expect_name(p, "the new name");
        bool to =
            !p->panic && (parser_at(p, TOKEN_ARROW) || parser_at(p, TOKEN_COLON) ||
                          parser_word_is(p, parser_token(p, 0), "as") || parser_at_word(p, "to"));
        if (to) {
            Diag *d = parser_slip(p, DIAG_ITEM_ORDER, parser_span(p, parser_take(p)),
                                  "the new name stands in front of the old one");
            Name second = parser_expect_name(p, "the new name");
            diag_fix(p->in.diags, d, "write `%.*s = %.*s`", TEXT_ARG(second.text),
                     TEXT_ARG(first.text));
            item.name = second;
            item.value = parser_column(p, first);
        } else {
            if (!p->panic) parser_expect(p, TOKEN_ASSIGN, "the new name");
            item.name = first;
            Name old = parser_expect_name(p, "the old name");
            item.value = parser_column(p, old);
        }
        item.span = parser_since(p, item.span);
        items_push(p, &items, item);
    }
    if (!items.count && !p->panic) items_blame_none(p, step, "write `new = old`");
    step->items = items.items;
    step->item_count = (uint32_t)items.count;
}

// explode = "explode" ["outer"] NAME       (`explode outer` alone: of a column of that name)
static void parse_explode(Parser *p, AstStep *step) {
    bool named = parser_ahead(p, 1, TOKEN_WORD) || parser_ahead(p, 1, TOKEN_QUOTED);
    step->outer = parser_at_word(p, "outer") && named;
    if (step->outer) parser_take(p);
    Name name = parser_expect_name(p, "the name of a list column");
    items_be_one(p, step, (AstItem){.value = parser_column(p, name), .span = name.span});
}

// ---- rows --------------------------------------------------------------------------------------

// A step with one expression: where, limit, skip.
static void parse_one(Parser *p, AstStep *step) {
    AstItem item = {.span = parser_span(p, parser_token(p, 0))};
    item.value = parse_handled(p);
    item.span = parser_since(p, item.span);
    items_be_one(p, step, item);
}

// sort = "sort" key ("," key)*
static void parse_sort(Parser *p, AstStep *step) {
    skip_by(p, "sort");
    Items keys = parse_sort_keys(p, step, "");
    step->items = keys.items;
    step->item_count = (uint32_t)keys.count;
}

// The order that a window, `top` or `distinct` goes by.
static void parse_order(Parser *p, AstStep *step, const char *end) {
    Items keys = parse_sort_keys(p, step, end);
    step->order = keys.items;
    step->order_count = (uint32_t)keys.count;
}

// distinct = "distinct" [names ["keep" ("first" | "last") "by" key ("," key)*]]
static void parse_distinct(Parser *p, AstStep *step) {
    skip_by(p, "distinct");
    parse_names(p, step, "keep");
    if (p->panic || !parser_skip_word(p, "keep")) return;
    step->keeps = true;
    step->keeps_last = parser_skip_word(p, "last");
    if (!step->keeps_last && !parser_skip_word(p, "first")) {
        Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, "`first` or `last`");
        diag_fix(p->in.diags, d, "write `distinct KEY keep last by TIME`, for example");
        return;
    }
    if (parser_expect_word(p, "by", "it and name what says which row is the first"))
        parse_order(p, step, "");
}

// seed = "seed" expr
static AstItem parse_seed(Parser *p) {
    AstItem item = {.span = parser_span(p, parser_token(p, 0))};
    if (!p->panic)
        parser_expect_word(p, "seed", "it and give a number: the same seed, the same rows");
    item.value = parse_expr(p);
    item.span = parser_since(p, item.span);
    return item;
}

// shuffle = "shuffle" seed
static void parse_shuffle(Parser *p, AstStep *step) { items_be_one(p, step, parse_seed(p)); }

// sample = "sample" expr seed
static void parse_sample(Parser *p, AstStep *step) {
    Items items = {0};
    AstItem share = {.span = parser_span(p, parser_token(p, 0))};
    share.value = parse_expr(p);
    share.span = parser_since(p, share.span);
    items_push(p, &items, share);
    items_push(p, &items, parse_seed(p));
    step->items = items.items;
    step->item_count = (uint32_t)items.count;
}

// repartition = "repartition" ("by" expr ("," expr)* | "rows" expr | "bytes" expr)
static void parse_repartition(Parser *p, AstStep *step) {
    if (parser_skip_word(p, "by")) {
        step->repartition = AST_BY;
        parse_items(p, step, true);
    } else if (parser_skip_word(p, "rows")) {
        step->repartition = AST_ROWS;
        parse_one(p, step);
    } else if (parser_skip_word(p, "bytes")) {
        step->repartition = AST_BYTES;
        parse_one(p, step);
    } else {
        Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, "`by`, `rows` or `bytes`");
        diag_fix(p->in.diags, d, "write `repartition rows 1000000`, for example");
    }
}

// ---- groups ------------------------------------------------------------------------------------

// aggs = "{" item ("," item)* [","] "}"
static void parse_results(Parser *p, AstStep *step, AstItem (*parse)(Parser *p)) {
    if (p->panic) return;
    if (parser_at_line_end(p) && parser_token(p, 0).kind == TOKEN_OPEN_BRACE) {
        Span brace = parser_span(p, parser_token(p, 0));
        Diag *d = parser_slip(p, DIAG_BLOCK_FORM, brace, "the line end before `{` closes the step");
        diag_fix(p->in.diags, d, "put the `{` on the line before");
    } else if (!parser_at(p, TOKEN_OPEN_BRACE)) {
        Diag *d = parser_unexpected(p, DIAG_BLOCK_FORM, "`{` and the aggregates");
        diag_fix(p->in.diags, d, "write { NAME = count() }, for example");
        return;
    }
    Items aggs = {0};
    p->aggregates++;
    List list = parser_open(p);
    while (parser_more(p, &list)) items_push(p, &aggs, parse(p));
    parser_close(p, &list);
    p->aggregates--;
    step->aggs = aggs.items;
    step->agg_count = (uint32_t)aggs.count;
    if (aggs.count || p->panic) return;
    Diag *d = parser_slip(p, DIAG_NOTHING_LISTED, parser_since(p, parser_span(p, list.opener)),
                          "the block holds no %s", p->windows ? "function" : "aggregate");
    diag_fix(p->in.diags, d, p->windows ? "write { NAME = row_number() }, for example"
                                        : "write { NAME = count() }; for the keys alone, "
                                          "`distinct`");
}

static AstItem parse_result(Parser *p) {
    AstItem item = parse_item(p);
    items_want_name(p, &item, false);
    return item;
}

static void parse_aggs(Parser *p, AstStep *step) { parse_results(p, step, parse_result); }

// Keys of a group, up to its block.
static void parse_keys(Parser *p, AstStep *step, const char *fix) {
    Items keys = {0};
    List list = parser_bare_list(p);
    while (!parser_at(p, TOKEN_OPEN_BRACE) && parser_more(p, &list)) {
        AstItem item = parse_item(p);
        items_want_name(p, &item, true);
        items_push(p, &keys, item);
    }
    if (!keys.count && !p->panic) items_blame_none(p, step, fix);
    step->items = keys.items;
    step->item_count = (uint32_t)keys.count;
}

// group = "group" "by" item ("," item)* aggs
static void parse_group(Parser *p, AstStep *step) {
    if (!parser_skip_word(p, "by")) {
        Diag *d = parser_slip(p, DIAG_EXPECTED_TOKEN, parser_span(p, parser_token(p, 0)),
                              "expected `by` after `group`");
        diag_fix(p->in.diags, d, "write `group by`");
    }
    parse_keys(p, step, "name the keys; for one row of all, `aggregate { ... }`");
    parse_aggs(p, step);
}

// aggregate = "aggregate" aggs
static void parse_aggregate(Parser *p, AstStep *step) { parse_aggs(p, step); }

// Keys of a partition, up to what ends them.
static void parse_partition(Parser *p, AstStep *step) {
    Items keys = {0};
    List list = parser_bare_list(p);
    bool none = parser_at_word(p, "sort") && parser_ahead(p, 1, TOKEN_WORD) &&
                !parser_ahead_word(p, 1, "sort");
    while (!none && !parser_at(p, TOKEN_OPEN_BRACE) && parser_more(p, &list)) {
        AstItem item = {.span = parser_span(p, parser_token(p, 0))};
        item.value = parse_handled(p);
        item.span = parser_since(p, item.span);
        items_push(p, &keys, item);
    }
    if (!keys.count && !p->panic) items_blame_none(p, step, "name the keys of the partitions");
    step->items = keys.items;
    step->item_count = (uint32_t)keys.count;
}

// window = "window" ["by" expr ("," expr)*] ["sort" key ("," key)*] aggs
static void parse_window(Parser *p, AstStep *step) {
    if (parser_skip_word(p, "by")) parse_partition(p, step);
    if (!p->panic && parser_skip_word(p, "sort")) {
        skip_by(p, "sort");
        parse_order(p, step, "");
    }
    p->windows++;
    parse_aggs(p, step);
    p->windows--;
}

// top = "top" expr "by" key ("," key)* ["per" expr ("," expr)*]
static void parse_top(Parser *p, AstStep *step) {
    AstItem count = {.span = parser_span(p, parser_token(p, 0))};
    count.value = parse_expr(p);
    count.span = parser_since(p, count.span);
    step->count = arena_copy(p->in.arena, &count, sizeof count, alignof(AstItem));
    if (p->panic || !parser_expect_word(p, "by", "the number of rows")) return;
    parse_order(p, step, "per");
    if (!p->panic && parser_skip_word(p, "per")) parse_partition(p, step);
}

// ---- columns and rows change places -------------------------------------------------------------

// item = (STRING | INT | "true" | "false") "=" handled
static AstItem parse_pivot_item(Parser *p) {
    AstItem item = {.span = parser_span(p, parser_token(p, 0))};
    item.key = parse_operand(p);
    AstExprKind kind = item.key->kind;
    Span span = item.key->span;
    bool literal = kind == AST_STR || kind == AST_INT || kind == AST_BOOL;
    Text text = kind == AST_STR ? item.key->text
                                : (Text){p->text.at + span.start, span.end - span.start};
    if (!p->panic && kind != AST_ERROR && (!literal || !text.len)) {
        Diag *d =
            parser_error(p, DIAG_PIVOT_VALUE, span, "a column of `pivot` is named by a value");
        diag_fix(p->in.diags, d, "write \"VALUE\" = sum(v), for example");
    }
    item.name = (Name){text, span};
    if (!p->panic) parser_expect(p, TOKEN_ASSIGN, "the value");
    item.value = parse_handled(p);
    item.span = parser_since(p, item.span);
    return item;
}

// pivot = "pivot" expr ["by" expr ("," expr)*] "{" item ("," item)* "}"
static void parse_pivot(Parser *p, AstStep *step) {
    AstItem subject = {.span = parser_span(p, parser_token(p, 0))};
    if (parser_at(p, TOKEN_OPEN_BRACE)) {
        items_blame_none(p, step, "name the column whose values become columns");
        return;
    }
    subject.value = parse_handled(p);
    subject.span = parser_since(p, subject.span);
    step->count = arena_copy(p->in.arena, &subject, sizeof subject, alignof(AstItem));
    if (!p->panic && parser_skip_word(p, "by")) parse_keys(p, step, "name the columns that stay");
    parse_results(p, step, parse_pivot_item);
}

// unpivot = "unpivot" "(" NAME ("," NAME)* ")" "as" "(" NAME "," NAME ")"
static bool parse_name_list(Parser *p, Items *items, const char *what) {
    if (!parser_at(p, TOKEN_OPEN_PAREN)) {
        Diag *d = parser_unexpected(p, DIAG_UNPIVOT_FORM, what);
        diag_fix(p->in.diags, d, "write unpivot (a, b) as (name, value)");
        return false;
    }
    List list = parser_open(p);
    while (parser_more(p, &list)) {
        Name name = parser_expect_name(p, "the name of a column");
        items_push(p, items, (AstItem){.name = name, .value = parser_column(p, name),
                                      .span = name.span});
    }
    parser_close(p, &list);
    return !p->panic;
}

static void parse_unpivot(Parser *p, AstStep *step) {
    Items columns = {0}, names = {0};
    if (!parse_name_list(p, &columns, "`(` and the columns that become rows")) return;
    bool as = parser_word_is(p, parser_token(p, 0), "as");
    if (as) parser_take(p);
    if (!as || !parse_name_list(p, &names, "`(` and two names")) {
        if (p->panic) return;
        Diag *d = parser_unexpected(p, DIAG_UNPIVOT_FORM, "`as` and two names");
        diag_fix(p->in.diags, d, "write unpivot (a, b) as (name, value)");
        return;
    }
    if (!columns.count || names.count != 2) {
        Diag *d = parser_error(p, DIAG_UNPIVOT_FORM, parser_since(p, step->keyword.span),
                               "`unpivot` takes columns, and two names for what comes of them");
        diag_fix(p->in.diags, d, "write unpivot (a, b) as (name, value)");
        return;
    }
    step->items = columns.items;
    step->item_count = (uint32_t)columns.count;
    step->aggs = names.items;
    step->agg_count = 2;
}

// ---- two flows ---------------------------------------------------------------------------------


// union = "union" head;  zip = "zip" head
static void parse_other(Parser *p, AstStep *step) { step->other = parse_flow_head(p); }

// ---- where it runs, where it goes --------------------------------------------------------------

static void parse_options(Parser *p, AstStep *step) {
    if (parser_at(p, TOKEN_OPEN_PAREN)) {
        step->options = parse_arguments(p, &step->option_count);
        return;
    }
    Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, "`(`");
    diag_fix(p->in.diags, d, "write %.*s(...)",
             TEXT_ARG(step->format.text.len ? step->format.text : TEXT("with ")));
}

// with = "with" arguments block
static void parse_with(Parser *p, AstStep *step) {
    parse_options(p, step);
    step->block = true;
    if (!p->panic) step->steps = parse_block(p, &step->step_count);
}

// on = "on" ("cpu" | "gpu") ["with" arguments] block
static void parse_on(Parser *p, AstStep *step) {
    if (!parser_at_word(p, "cpu") && !parser_at_word(p, "gpu")) {
        Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, "`cpu` or `gpu`");
        diag_fix(p->in.diags, d, "write `on cpu { ... }` or `on gpu { ... }`");
        return;
    }
    step->device = parser_take_name(p);
    if (parser_skip_word(p, "with")) parse_options(p, step);
    step->block = true;
    if (!p->panic) step->steps = parse_block(p, &step->step_count);
}

// write = "write" FORMAT arguments
static void parse_write(Parser *p, AstStep *step) {
    const char *what = "a format, as in write csv(...)";
    if (parser_at(p, TOKEN_STRING)) {
        Diag *d = parser_unexpected(p, DIAG_EXPECTED_NAME, what);
        diag_fix(p->in.diags, d, "write csv(\"PATH\"), tsv(\"PATH\") or jsonl(\"PATH\")");
        parser_take(p);
        return;
    }
    step->format = parser_expect_name(p, what);
    if (p->panic) return;
    parse_options(p, step);
    parse_path(p, step->options, step->option_count, false);
}

// ---- the table ---------------------------------------------------------------------------------

typedef struct StepForm {
    const char *word;
    AstStepKind kind;
    void      (*parse)(Parser *p, AstStep *step);
} StepForm;

static const StepForm forms[] = {
#define STEP(kind, word, parse, ...) {word, AST_##kind, parse},
#include "frontend/steps.def"
};

const StepDoc step_docs[STEP_COUNT] = {
#define STEP(kind, word, parse, forms, doc, example) {word, forms, doc, example},
#include "frontend/steps.def"
};

static const StepForm *find_form(Text word) {
    for (size_t i = 0; i < countof(forms); i++) if (text_is(word, forms[i].word)) return &forms[i];
    return nullptr;
}

bool parse_is_step_word(Text word) { return find_form(word) != nullptr; }

// What other languages call a step.
static const struct { const char *word, *ours; } foreign_steps[] = {
    {"filter", "where"}, {"having", "where"}, {"map", "derive"}, {"mutate", "derive"},
    {"assign", "derive"}, {"let", "derive"}, {"extend", "derive"}, {"with_columns", "derive"},
    {"project", "select"}, {"order", "sort"}, {"order_by", "sort"}, {"orderby", "sort"},
    {"arrange", "sort"}, {"take", "limit"}, {"head", "limit"}, {"first", "limit"},
    {"offset", "skip"}, {"unique", "distinct"}, {"uniq", "distinct"}, {"dedup", "distinct"},
    {"groupby", "group by"}, {"group_by", "group by"}, {"summarize", "aggregate"},
    {"summarise", "aggregate"}, {"agg", "aggregate"}, {"flatten", "explode"}, {"unnest", "explode"},
    {"concat", "union"}, {"append", "union"}, {"merge", "join"}, {"lookup", "join left"},
    {"melt", "unpivot"}, {"pivot_longer", "unpivot"}, {"pivot_wider", "pivot"},
    {"pivot_table", "pivot"}, {"save", "write"}, {"output", "write"}, {"into", "write"},
    {"to", "write"}, {"remove", "drop"}, {"dedupe", "distinct"}, {"deduplicate", "distinct"},
    {"flat_map", "explode"}, {"flatmap", "explode"}, {"count", "aggregate"}, {"tee", "let"},
};

static void blame_step(Parser *p, Token token) {
    Text word = parser_text(p, token), near = {0};
    Span span = parser_span(p, token);
    static const char *const kinds[] = {"left",  "right", "full", "inner",
                                        "outer", "cross", "semi", "anti"};
    for (size_t i = 0; i < countof(kinds); i++) {
        if (!parser_word_is(p, token, kinds[i])) continue;
        Diag *d = parser_error(p, DIAG_SQL_HABIT, span, "`join` comes first");
        bool cross = parser_word_is(p, token, "cross");
        diag_fix(p->in.diags, d, "%s", cross
            ? "derive a column that is 1 in both flows, and join on it: | join FLOW on all"
            : "write `join left FLOW on KEY`");
        return;
    }
    for (size_t i = 0; i < countof(foreign_steps) && !near.len; i++) {
        if (parser_word_is(p, token, foreign_steps[i].word)) near = text_of(foreign_steps[i].ours);
    }
    Text names[countof(forms)];
    for (size_t i = 0; i < countof(forms); i++) names[i] = text_of(forms[i].word);
    if (!near.len) near = diag_did_you_mean(word, names, countof(names));
    Text ours = near.len ? (Text){0} : foreign_function(p->in.arena, word);
    Diag *d = parser_error(p, DIAG_UNKNOWN_STEP, span, "unknown step `%.*s`", TEXT_ARG(word));
    if (ours.len) diag_fix(p->in.diags, d, "%.*s", TEXT_ARG(ours));
    else if (near.len) diag_fix(p->in.diags, d, "did you mean `%.*s`?", TEXT_ARG(near));
    else diag_fix(p->in.diags, d, "write one of the steps: where, derive, select, group by, ...");
}

// step = WORD and what its form says
void parse_step(Parser *p, AstStep *step) {
    Token token = parser_token(p, 0);
    p->border = token.start;
    step->kind = AST_STEP_ERROR;
    step->span = parser_span(p, token);
    if (!parser_at(p, TOKEN_WORD)) {
        Diag *d = parser_unexpected(p, DIAG_UNKNOWN_STEP, "a step after `|`");
        bool comment = token.kind == TOKEN_SLASHES || token.kind == TOKEN_MINUS;
        if (comment) diag_fix(p->in.diags, d, "begin a comment with `#`");
        else diag_fix(p->in.diags, d, "write a step, such as where, derive, select or write");
        return;
    }
    step->keyword = (Name){parser_text(p, token), parser_span(p, token)};
    const StepForm *form = find_form(step->keyword.text);
    if (form) {
        parser_take(p);
        step->kind = form->kind;
        form->parse(p, step);
    } else {
        blame_step(p, token);
    }
    if (p->panic) step->kind = AST_STEP_ERROR;
    step->span = parser_since(p, step->span);
}
