// Prints a program in the one true layout.
#include "frontend/formatter.h"

#include <string.h>

// ---- declarations ------------------------------------------------------------------------------

static Span param_span(const void *item) {
    const AstParam *param = item;
    return span_join(param->name.span, param->type->span);
}

static void emit_param(Page *page, const void *item) {
    const AstParam *param = item;
    page_put_label(page, param->name);
    format_type(page, param->type);
}

static Span param_label(const void *item) { return ((const AstParam *)item)->name.span; }

static void put_signature(Page *page, const AstStmt *stmt) {
    page_put_name(page, stmt->name);
    uint32_t open = stmt->name.span.end;
    uint32_t end = stmt->type ? stmt->type->span.start
                 : stmt->value ? stmt->value->span.start : stmt->from_span.start;
    page->reserve = stmt->type ? stmt->type->span.end - stmt->type->span.start + sizeof " ->  ="
                               : 2;
    page_put_seq(page, &(Seq){.open = "(", .close = ")", .items = stmt->params,
                              .stride = sizeof *stmt->params, .count = stmt->param_count,
                              .span = param_span, .emit = emit_param,
                              .label = param_label, .whole = {open, end, stmt->span.file}});
    page->reserve = 0;
    if (stmt->type) page_put(page, " -> ");
    if (stmt->type) format_type(page, stmt->type);
}

static void emit_value(Page *page, const void *item) { format_expr(page, item); }

// A value that does not fit after the signature stands below it.
static void put_fn(Page *page, const AstStmt *stmt) {
    page_put(page, "fn ");
    put_signature(page, stmt);
    page_put(page, " =");
    size_t len = page->buf->len;
    page_put(page, " ");
    if (page_try_flat(page, stmt->value->span, emit_value, stmt->value)) return;
    page->buf->len = len;
    page->indent = INDENT_ITEMS;
    uint32_t sign = page_find(page, stmt->type ? stmt->type->span.end : stmt->name.span.end, '=');
    page_break(page, sign, stmt->value->span.start);
    format_expr(page, stmt->value);
    page->indent = 0;
}

static void put_extern(Page *page, const AstStmt *stmt) {
    page_put(page, "extern fn ");
    put_signature(page, stmt);
    page_put(page, stmt->python ? " from python " : " from ");
    page_put_span(page, stmt->from_span);
    if (stmt->pure) page_put(page, " pure");
    if (stmt->impure) page_put(page, " impure");
    if (stmt->fallible) page_put(page, " fallible");
    if (stmt->per_batch) page_put(page, " batch");
    if (stmt->state) page_put(page, " state");
    if (stmt->alone) page_put(page, " alone");
}

static void put_rejects(Page *page, const AstStmt *stmt) {
    page_put(page, "rejects");
    if (stmt->format.text.len) {
        page_put(page, " write ");
        page_put_name(page, stmt->format);
        uint32_t end = stmt->limit ? stmt->limit->span.start : stmt->span.end;
        format_arguments(page, stmt->options, stmt->option_count,
                         (Span){stmt->format.span.end, end, stmt->span.file});
    }
    if (stmt->limit) page_put(page, " limit ");
    if (stmt->limit) format_expr(page, stmt->limit);
}

static void put_test(Page *page, const AstStmt *stmt) {
    page_put(page, "test ");
    page_put_span(page, stmt->title_span);
    page_put(page, " {");
    uint32_t done = page_find(page, stmt->title_span.end, '{') + 1;
    page->indent = INDENT;
    for (uint32_t i = 0; i < stmt->given_count; i++) {
        const AstGiven *given = &stmt->givens[i];
        page_break(page, done, given->span.start);
        page_put(page, given->expect ? "expect " : "given ");
        page_put_name(page, given->name);
        page_put(page, given->expect ? " == " : " = ");
        format_expr(page, given->table);
        done = given->span.end;
    }
    page_break(page, done, stmt->span.end);
    while (page->buf->at[page->buf->len - 1] == ' ') page->buf->len--;
    page->indent = 0;
    page_put(page, "}");
}

static void put_param(Page *page, const AstStmt *stmt) {
    page_put(page, "param ");
    page_put_label(page, stmt->name);
    format_type(page, stmt->type);
    if (stmt->value) page_put(page, " = ");
    if (stmt->value) format_expr(page, stmt->value);
}

static void put_stmt(Page *page, const AstStmt *stmt) {
    switch (stmt->kind) {
    case AST_USE:
        page_put(page, "use ");
        format_expr(page, stmt->value);
        break;
    case AST_PARAM: put_param(page, stmt); break;
    case AST_TYPE:
        page_put(page, "type ");
        page_put_name(page, stmt->name);
        page_put(page, " = ");
        format_type(page, stmt->type);
        break;
    case AST_FN: put_fn(page, stmt); break;
    case AST_EXTERN: put_extern(page, stmt); break;
    case AST_LET:
        page_put(page, "let ");
        page_put_name(page, stmt->name);
        page_put(page, " = ");
        format_flow(page, stmt->flow, stmt->flow->step_count == 0);
        break;
    case AST_FLOW: format_flow(page, stmt->flow, stmt->flow->step_count <= 1); break;
    case AST_REJECTS: put_rejects(page, stmt); break;
    case AST_TEST: put_test(page, stmt); break;
    case AST_STMT_ERROR: page_put_span(page, stmt->span); break;
    }
}

// ---- the file ----------------------------------------------------------------------------------

// Is the line above the one that `offset` stands on empty?
static bool blank_above(const Page *page, uint32_t offset) {
    uint32_t newlines = 0;
    while (offset > 0 && strchr(" \t\r\n", page->source.at[offset - 1])) {
        newlines += page->source.at[--offset] == '\n';
    }
    return newlines > 1 && offset > 0;
}

// Is there an empty line between two places?
static bool blank_between(const Page *page, uint32_t from, uint32_t to) {
    uint32_t newlines = 0;
    for (uint32_t i = from; i < to; i++) {
        char c = page->source.at[i];
        newlines = c == '\n' ? newlines + 1 : strchr(" \t\r", c) ? newlines : 0;
        if (newlines > 1) return true;
    }
    return false;
}

static void begin_line(Page *page, uint32_t offset) {
    if (!page->buf->len || !blank_above(page, offset)) return;
    page_align_comments(page);
    text_buf_char(page->buf, '\n');
}

// The widest name of the params that follow each other without an empty line, from `first` on.
static size_t params_width(const Page *page, size_t first) {
    const AstFile *file = page->file;
    size_t widest = 0;
    for (size_t i = first; i < file->stmt_count && file->stmts[i].kind == AST_PARAM; i++) {
        const AstStmt *stmt = &file->stmts[i];
        if (i > first && blank_between(page, file->stmts[i - 1].span.end, stmt->span.start)) break;
        size_t width = stmt->name.span.end - stmt->name.span.start;
        if (width > widest) widest = width;
    }
    return widest;
}

// Comments on lines of their own, up to `end`; empty lines between them stay, one at a time.
static void put_comments(Page *page, uint32_t end) {
    const AstFile *file = page->file;
    for (; page->comment < file->comment_count; page->comment++) {
        Span span = file->comments[page->comment].span;
        if (span.start >= end) break;
        while (span.end > span.start + 1 && strchr(" \t\r", page->source.at[span.end - 1]))
            span.end--;
        begin_line(page, span.start);
        page_put_span(page, span);
        text_buf_char(page->buf, '\n');
    }
}

// The comment after a statement on its last line.
static void end_line(Page *page, const AstStmt *stmt) {
    uint32_t done = stmt->span.end, next = done;
    const AstFile *file = page->file;
    if (page->comment < file->comment_count) {
        const AstComment *comment = &file->comments[page->comment];
        bool behind = !comment->own_line && comment->span.start >= done &&
                      !memchr(page->source.at + done, '\n', comment->span.start - done);
        if (behind || comment->span.start < done) next = comment->span.start + 1;
    }
    page_break(page, done, next);
}

void format_file(TextBuf *buf, const SourceSet *sources, const AstFile *file) {
    Page page = {.arena = arena_new(), .buf = buf, .source = sources->files[file->file].text,
                 .file = file};
    size_t width = 0;
    for (size_t i = 0; i < file->stmt_count; i++) {
        const AstStmt *stmt = &file->stmts[i], *above = i ? stmt - 1 : nullptr;
        bool begins = !above || above->kind != AST_PARAM ||
                      blank_between(&page, above->span.end, stmt->span.start);
        put_comments(&page, stmt->span.start);
        begin_line(&page, stmt->span.start);
        if (stmt->kind == AST_PARAM && begins) width = params_width(&page, i);
        if (stmt->kind == AST_PARAM) page.label = width;
        put_stmt(&page, stmt);
        end_line(&page, stmt);
    }
    put_comments(&page, (uint32_t)page.source.len);
    page_align_comments(&page);
    arena_free(page.arena);
}
