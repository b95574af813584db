// Flows: their heads, their steps in turn, and `let`.
#include "frontend/checker.h"
#include "frontend/lex.h"

#include <string.h>

Flow broken_flow(void) { return (Flow){.op = OP_NONE, .broken = true, .has_place = true}; }

// ---- steps as the summary counts them -----------------------------------------------------------

// Bytes of the string, f-string or quoted name that begins at `at`.
static size_t literal_length(Text text, size_t at) {
    uint32_t end = (uint32_t)text.len, open = (uint32_t)at;
    if (text.at[at] == '`') {
        const char *close = memchr(text.at + at + 1, '`', text.len - at - 1);
        return close ? (size_t)(close + 1 - (text.at + at)) : text.len - at;
    }
    char before = at ? text.at[at - 1] : ' ';
    bool word = at > 1 && (lex_is_letter(text.at[at - 2]) || lex_is_digit(text.at[at - 2]));
    uint32_t behind = before == 'f' && !word ? lex_skip_fstring(text, open, end, 0)
                                             : lex_skip_string(text, open, end,
                                                               before == 'r' && !word);
    return behind && behind != LEX_OPEN_BRACE ? behind - open : text.len - at;
}

// The source text on one line, cut to LABEL_BYTES_MAX at a character; comments are left out.
// Literals stay as they are written.
Text step_label(Checker *checker, Span span) {
    Text text = source_text(checker, span);
    TextBuf buf = {0};
    bool space = false;
    for (size_t i = 0, len; i < text.len; i += len) {
        char c = text.at[i];
        len = 1;
        if (c == '#') {
            while (i + len < text.len && text.at[i + len] != '\n') len++;
            c = '\n';
        }
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            space = buf.len > 0;
            continue;
        }
        if (c == '"' || c == '`') len = literal_length(text, i);
        if (space) text_buf_char(&buf, ' ');
        space = false;
        text_buf_add(&buf, (Text){text.at + i, len});
    }
    if (buf.len > LABEL_BYTES_MAX) {
        size_t end = LABEL_BYTES_MAX - 3;
        while (end && ((unsigned char)buf.at[end] & 0xc0) == 0x80) end--;
        buf.len = end;
        text_buf_add(&buf, TEXT("..."));
    }
    return text_buf_take(&buf, checker->arena);
}

StepId make_step(Checker *checker, Span span) {
    return graph_step(checker->graph, step_label(checker, span), span);
}

Op *add_op(Checker *checker, OpKind kind, Flow *flow, StepId step, Span span) {
    Op *op = graph_op(checker->graph, kind, step, span);
    op->resources = checker->resources;
    if (flow->op.i != OP_NONE.i) {
        op->inputs[0] = flow->op;
        op->input_count = 1;
    }
    flow->op = op->id;
    flow->fresh = false;
    flow->present = nullptr;
    return op;
}

void copy_columns(Checker *checker, Op *op, const Column *columns, uint32_t count) {
    op->columns = arena_copy(checker->arena, columns, sizeof *columns * count, alignof(Column));
    op->column_count = count;
}

Flow lose_place(Flow flow, const char *step) {
    if (flow.has_place && !flow.broken) flow.lost_place = step;
    if (!flow.broken) flow.has_place = false;
    return flow;
}

// ---- dispatch -----------------------------------------------------------------------------------

// Steps that take all columns by name make them what they are with their own projection.
static bool takes_as_is(Flow flow, const AstStep *step) {
    switch ((int)step->kind) {
    case AST_WHERE: return true;
    case AST_DERIVE: case AST_SELECT: case AST_DROP: case AST_RENAME: return !flow.keyed;
    }
    return false;
}

Flow check_step(Checker *checker, Flow flow, const AstStep *step) {
    if (!takes_as_is(flow, step)) flow = settle_columns(checker, flow);
    switch (step->kind) {
    case AST_WHERE: return step_where(checker, flow, step);
    case AST_DERIVE: return step_derive(checker, flow, step);
    case AST_SELECT: return step_select(checker, flow, step);
    case AST_DROP: return step_drop(checker, flow, step);
    case AST_RENAME: return step_rename(checker, flow, step);
    case AST_EXPLODE: return step_explode(checker, flow, step);
    case AST_WINDOW: return step_window(checker, flow, step);
    case AST_TOP: return step_top(checker, flow, step);
    case AST_PIVOT: return step_pivot(checker, flow, step);
    case AST_UNPIVOT: return step_unpivot(checker, flow, step);
    case AST_GROUP: case AST_AGGREGATE: return step_group(checker, flow, step);
    case AST_SORT: return step_sort(checker, flow, step);
    case AST_LIMIT: case AST_SKIP: return step_limit(checker, flow, step);
    case AST_DISTINCT: return step_distinct(checker, flow, step);
    case AST_JOIN: return step_join(checker, flow, step);
    case AST_UNION: return step_union(checker, flow, step);
    case AST_ZIP: return step_zip(checker, flow, step);
    case AST_SHUFFLE: return step_shuffle(checker, flow, step);
    case AST_SAMPLE: return step_sample(checker, flow, step);
    case AST_REPARTITION: return step_repartition(checker, flow, step);
    case AST_ON: case AST_WITH: return step_with(checker, flow, step);
    case AST_WRITE: return step_write(checker, flow, step);
    case AST_STEP_ERROR: break;
    }
    Flow broken = broken_flow();
    broken.written = flow.written;
    return broken;
}

Flow check_steps(Checker *checker, Flow flow, const AstStep *steps, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (flow.written) {
            Diag *diag = report(checker, DIAG_AFTER_WRITE, steps[i].keyword.span,
                                "a step after `write`");
            report_label(checker, diag, steps[i].keyword.span, "the flow has ended before");
            report_fix(checker, diag, "name the flow with `let`, and start a second one from it");
            return broken_flow();
        }
        // An error in the last step of a flow is not an excuse to call the flow unwritten.
        flow = check_step(checker, flow, &steps[i]);
    }
    return flow;
}

// ---- heads --------------------------------------------------------------------------------------

static Flow check_name(Checker *checker, const AstFlow *flow) {
    LetDecl *let = find_let(checker, flow->name.text);
    if (let) {
        let->used = true;
        if (let->state != STATE_BUSY) return check_let(checker, let);
        Diag *diag = report(checker, DIAG_RECURSIVE_LET, flow->name.span,
                            "flow '%.*s' reads itself",
                            TEXT_ARG(flow->name.text));
        report_label(checker, diag, flow->name.span, "here it comes back");
        report_fix(checker, diag, "read from another flow; flows have no loops");
        return broken_flow();
    }
    if (may_be_declared(checker, flow->name.text)) return broken_flow();
    Diag *diag = report(checker, DIAG_UNKNOWN_FLOW, flow->name.span, "unknown flow '%.*s'",
                        TEXT_ARG(flow->name.text));
    report_label(checker, diag, flow->name.span, "no `let` declares it");
    Text *names = arena_new_array(checker->arena, Text, checker->let_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < checker->let_count; i++)
        if (checker->lets[i].state != STATE_BUSY) names[count++] = checker->lets[i].stmt->name.text;
    if (count) fix_names(checker, diag, flow->name.text, names, count);
    else report_fix(checker, diag, "declare it: let %.*s = read csv(...) as TYPE",
                    TEXT_ARG(flow->name.text));
    return broken_flow();
}

Flow check_flow(Checker *checker, const AstFlow *ast) {
    if (!ast || checker->depth >= DEPTH_MAX) return broken_flow();
    checker->depth++;
    Flow flow = broken_flow();
    switch (ast->kind) {
    case AST_HEAD_READ: flow = check_read(checker, ast); break;
    case AST_HEAD_NAME: flow = check_name(checker, ast); break;
    case AST_HEAD_FLOW: flow = check_flow(checker, ast->inner); break;
    case AST_HEAD_RANGE: flow = check_range(checker, ast); break;
    case AST_HEAD_TABLE: flow = check_table(checker, ast); break;
    case AST_HEAD_ERROR: break;
    }
    if (ast->kind != AST_HEAD_READ) flow.fresh = false;
    flow = check_steps(checker, flow, ast->steps, ast->step_count);
    checker->depth--;
    return settle_columns(checker, flow);
}

Flow check_let(Checker *checker, LetDecl *let) {
    if (let->state == STATE_DONE) return let->flow;
    let->state = STATE_BUSY;
    Checker around = *checker;
    checker->resources = (ResourcesId){0};
    checker->cpus_given = false;
    let->flow = check_flow(checker, let->stmt->flow);
    if (let->stmt->lost.end) let->flow = broken_flow();
    checker->depth = around.depth;
    checker->resources = around.resources;
    checker->cpus_given = around.cpus_given;
    let->flow.fresh = false;
    let->state = STATE_DONE;
    if (let->flow.written) {
        Diag *diag = report(checker, DIAG_LET_WRITE, let->stmt->name.span,
                            "flow '%.*s' is written inside its `let`",
                            TEXT_ARG(let->stmt->name.text));
        report_label(checker, diag, let->stmt->name.span, "nothing is left for this name");
        report_fix(checker, diag, "end the `let` before `write`, then: %.*s | write ...",
                   TEXT_ARG(let->stmt->name.text));
        let->flow = broken_flow();
    }
    if (!let->flow.broken && !graph_op_at(checker->graph, let->flow.op)->name.len)
        graph_op_at(checker->graph, let->flow.op)->name = let->stmt->name.text;
    return let->flow;
}
