// Prints flows and steps.
#include "frontend/formatter.h"

static EmitFn emit_flow_in_parens;
static void format_step(Page *page, const AstStep *step);

static Span item_span(const void *item) { return ((const AstItem *)item)->span; }

static void emit_item(Page *page, const void *pointer) {
    const AstItem *item = pointer;
    if (item->key) {
        format_expr(page, item->key);
        page_put(page, " = ");
    } else if (item->name.text.len && item->name.span.start != item->value->span.start) {
        page_put_name(page, item->name);
        if (item->type) page_put(page, ": ");
        if (item->type) format_type(page, item->type);
        page_put(page, " = ");
    }
    format_expr(page, item->value);
    if (item->descending) page_put(page, " desc");
    if (item->nulls_first) page_put(page, " nulls first");
}

// The greatest come first, unless it says `asc`.
static void emit_top_key(Page *page, const void *pointer) {
    const AstItem *item = pointer;
    format_expr(page, item->value);
    if (!item->descending) page_put(page, " asc");
    if (item->nulls_first) page_put(page, " nulls first");
}

static void put_list_of(Page *page, const AstItem *items, uint32_t count, EmitFn *emit) {
    if (!count) return;
    Span whole = span_join(items[0].span, items[count - 1].span);
    page_put_seq(page, &(Seq){.open = "", .close = "", .items = items, .stride = sizeof *items,
                              .count = count, .span = item_span, .emit = emit,
                              .whole = whole});
}

static void put_list(Page *page, const AstItem *items, uint32_t count) {
    put_list_of(page, items, count, emit_item);
}

static void put_items(Page *page, const AstStep *step) {
    put_list(page, step->items, step->item_count);
}

static uint32_t later(uint32_t end, const AstItem *items, uint32_t count) {
    return count && items[count - 1].span.end > end ? items[count - 1].span.end : end;
}

static void put_aggs(Page *page, const AstStep *step) {
    uint32_t from = later(step->keyword.span.end, step->items, step->item_count);
    from = later(from, step->order, step->order_count);
    if (step->count) from = later(from, step->count, 1);
    Span whole = {page_find(page, from, '{'), step->span.end, step->span.file};
    page_put_seq(page, &(Seq){.open = "{", .close = "}", .items = step->aggs,
                              .stride = sizeof *step->aggs, .count = step->agg_count,
                              .span = item_span, .emit = emit_item, .whole = whole,
                              .padded = true, .in_step = true, .keeps_break = true});
}

static void put_block(Page *page, const AstStep *step) {
    uint32_t from = step->option_count ? step->options[step->option_count - 1].value->span.end
                                       : step->keyword.span.end;
    uint32_t open = page_find(page, from, '{'), done = open + 1;
    size_t indent = page->indent;
    page_put(page, "{");
    for (uint32_t i = 0; i < step->step_count; i++) {
        const AstStep *inner = &step->steps[i];
        page->indent = indent + INDENT_ITEMS;
        page_break(page, done, inner->span.start);
        format_step(page, inner);
        done = inner->span.end;
    }
    page->indent = indent + INDENT_ITEMS;
    page_break(page, done, step->span.end);
    while (page->buf->at[page->buf->len - 1] == ' ') page->buf->len--;
    page->indent = indent;
    text_buf_pad(page->buf, indent + INDENT);
    page_put(page, "}");
}

static void put_options(Page *page, const AstStep *step, uint32_t from, bool last) {
    uint32_t open = page_find(page, from, '(');
    uint32_t end = last ? step->span.end : page_find(page, open, '{');
    format_arguments(page, step->options, step->option_count, (Span){open, end, step->span.file});
}

// Where the key or condition stands; past all where there is none left.
static uint32_t starts_at(AstExpr *const *list, uint32_t at, uint32_t count) {
    return at < count ? list[at]->span.start : UINT32_MAX;
}

static void put_asof(Page *page, const AstStep *step) {
    page_put(page, "asof ");
    format_expr(page, step->asof);
    if (!step->within) return;
    page_put(page, " within ");
    format_expr(page, step->within);
}

// The keys and conditions of a join in the order in which they were written.
static void put_join_keys(Page *page, const AstStep *step) {
    bool plain = step->item_count && !step->condition_count && !step->asof;
    const char *between = plain ? ", " : " and ";
    uint32_t item = 0, pair = 0, condition = 0, asof = 0, asofs = step->asof != nullptr;
    while (item < step->item_count || pair < step->on_count || condition < step->condition_count ||
           asof < asofs) {
        uint32_t item_at = item < step->item_count ? step->items[item].span.start : UINT32_MAX;
        uint32_t pair_at = starts_at(step->on_left, pair, step->on_count);
        uint32_t condition_at = starts_at(step->conditions, condition, step->condition_count);
        uint32_t asof_at = starts_at(&step->asof, asof, asofs);
        if (item + pair + condition + asof) page_put(page, between);
        if (asof_at < item_at && asof_at < pair_at && asof_at < condition_at) {
            asof++;
            put_asof(page, step);
        } else if (item_at < pair_at && item_at < condition_at) {
            emit_item(page, &step->items[item++]);
        } else if (condition_at < pair_at) {
            format_expr(page, step->conditions[condition++]);
        } else {
            format_expr(page, step->on_left[pair]);
            page_put(page, " == ");
            format_expr(page, step->on_right[pair++]);
        }
    }
}

static void put_join(Page *page, const AstStep *step) {
    static const char *const kinds[] = {"", "left ", "right ", "full ", "semi ", "anti "};
    page_put(page, kinds[step->join]);
    format_flow(page, step->other, true);
    page_put(page, " on ");
    put_join_keys(page, step);
}

static void put_repartition(Page *page, const AstStep *step) {
    static const char *const cuts[] = {"by ", "rows ", "bytes "};
    page_put(page, cuts[step->repartition]);
    put_items(page, step);
}

static void put_sample(Page *page, const AstStep *step) {
    emit_item(page, &step->items[0]);
    page_put(page, " seed ");
    emit_item(page, &step->items[1]);
}

static void put_on(Page *page, const AstStep *step) {
    page_put_name(page, step->device);
    page_put(page, " ");
    if (step->option_count) {
        page_put(page, "with ");
        put_options(page, step, step->device.span.end, false);
        page_put(page, " ");
    }
    put_block(page, step);
}

static void put_window(Page *page, const AstStep *step) {
    if (step->item_count) page_put(page, "by ");
    put_items(page, step);
    if (step->order_count) page_put(page, step->item_count ? " sort " : "sort ");
    put_list(page, step->order, step->order_count);
    if (step->item_count || step->order_count) page_put(page, " ");
    put_aggs(page, step);
}

static void put_top(Page *page, const AstStep *step) {
    emit_item(page, step->count);
    page_put(page, " by ");
    put_list_of(page, step->order, step->order_count, emit_top_key);
    if (step->item_count) page_put(page, " per ");
    put_items(page, step);
}

static void put_pivot(Page *page, const AstStep *step) {
    emit_item(page, step->count);
    page_put(page, step->item_count ? " by " : "");
    put_items(page, step);
    page_put(page, " ");
    put_aggs(page, step);
}

static void put_unpivot(Page *page, const AstStep *step) {
    page_put(page, "(");
    put_items(page, step);
    page_put(page, ") as (");
    put_list(page, step->aggs, step->agg_count);
    page_put(page, ")");
}

static void put_distinct(Page *page, const AstStep *step) {
    put_items(page, step);
    if (!step->keeps) return;
    page_put(page, step->keeps_last ? " keep last by " : " keep first by ");
    put_list(page, step->order, step->order_count);
}

static void format_step(Page *page, const AstStep *step) {
    page_put_name(page, step->keyword);
    if (step->kind == AST_GROUP) page_put(page, " by");
    bool bare = step->kind == AST_DISTINCT && !step->item_count;
    if (!bare) page_put(page, " ");
    switch (step->kind) {
    case AST_EXPLODE:
        if (step->outer) page_put(page, "outer ");
        put_items(page, step);
        break;
    case AST_WHERE: case AST_DERIVE: case AST_SELECT: case AST_DROP: case AST_RENAME:
    case AST_SORT: case AST_LIMIT: case AST_SKIP:
        put_items(page, step);
        break;
    case AST_DISTINCT: put_distinct(page, step); break;
    case AST_WINDOW: put_window(page, step); break;
    case AST_TOP: put_top(page, step); break;
    case AST_PIVOT: put_pivot(page, step); break;
    case AST_UNPIVOT: put_unpivot(page, step); break;
    case AST_GROUP:
        put_items(page, step);
        page_put(page, " ");
        put_aggs(page, step);
        break;
    case AST_AGGREGATE: put_aggs(page, step); break;
    case AST_JOIN: put_join(page, step); break;
    case AST_UNION:
    case AST_ZIP: format_flow(page, step->other, true); break;
    case AST_SHUFFLE:
        page_put(page, "seed ");
        put_items(page, step);
        break;
    case AST_SAMPLE: put_sample(page, step); break;
    case AST_REPARTITION: put_repartition(page, step); break;
    case AST_ON: put_on(page, step); break;
    case AST_WITH:
        put_options(page, step, step->keyword.span.end, false);
        page_put(page, " ");
        put_block(page, step);
        break;
    case AST_WRITE:
        page_put_name(page, step->format);
        put_options(page, step, step->format.span.end, true);
        break;
    case AST_STEP_ERROR: break;
    }
}

// ---- flows -------------------------------------------------------------------------------------

// A flow in parentheses that does not fit stands in them on lines of its own.
static void put_inner(Page *page, const AstFlow *flow) {
    size_t indent = page->indent;
    Span whole = flow->head_span;
    if (page_try_flat(page, whole, emit_flow_in_parens, flow)) return;
    page_put(page, "(");
    page->indent += INDENT;
    page_break(page, whole.start + 1, flow->inner->span.start);
    format_flow(page, flow->inner, false);
    page->indent = indent;
    page_break(page, flow->inner->span.end, whole.end);
    page_put(page, ")");
}

static void put_head(Page *page, const AstFlow *flow) {
    uint32_t open, end;
    switch (flow->kind) {
    case AST_HEAD_READ:
        page_put(page, "read ");
        page_put_name(page, flow->name);
        open = flow->name.span.end;
        end = flow->as ? flow->as->span.start : flow->head_span.end;
        format_arguments(page, flow->options, flow->option_count,
                         (Span){open, end, flow->span.file});
        if (flow->as) page_put(page, " as ");
        if (flow->as) format_type(page, flow->as);
        break;
    case AST_HEAD_NAME: page_put_name(page, flow->name); break;
    case AST_HEAD_FLOW: put_inner(page, flow); break;
    case AST_HEAD_RANGE:
        page_put(page, "range");
        open = page_find(page, flow->head_span.start, '(');
        format_arguments(page, flow->options, flow->option_count,
                         (Span){open, flow->head_span.end, flow->span.file});
        break;
    case AST_HEAD_TABLE: format_expr(page, flow->table); break;
    case AST_HEAD_ERROR: break;
    }
}

static void emit_flow_flat(Page *page, const void *item) {
    const AstFlow *flow = item;
    put_head(page, flow);
    for (uint32_t i = 0; i < flow->step_count; i++) {
        page_put(page, " | ");
        format_step(page, &flow->steps[i]);
    }
}

static void emit_flow_in_parens(Page *page, const void *item) {
    const AstFlow *flow = item;
    page_put(page, "(");
    emit_flow_flat(page, flow->inner);
    page_put(page, ")");
}

static bool has_block(const AstFlow *flow) {
    for (uint32_t i = 0; i < flow->step_count; i++) if (flow->steps[i].block) return true;
    return false;
}

void format_flow(Page *page, const AstFlow *flow, bool may_be_one_line) {
    bool one_line = page->flat || (may_be_one_line && !has_block(flow));
    if (one_line && page_try_flat(page, flow->span, emit_flow_flat, flow)) return;
    put_head(page, flow);
    uint32_t done = flow->head_span.end;
    for (uint32_t i = 0; i < flow->step_count; i++) {
        page_break(page, done, flow->steps[i].span.start);
        page_put(page, "| ");
        format_step(page, &flow->steps[i]);
        done = flow->steps[i].span.end;
    }
}
