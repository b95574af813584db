// write FORMAT(...): where rows go; and that no file is written twice, or read and written.
#include "frontend/checker.h"

void note_sink_path(Checker *checker, ExprId path, Span span) {
    Const value;
    typeof(*checker->sinks) sink = {.span = span, .id = path};
    if (const_of(checker, path, &value)) sink.path = value.text;
    arena_push(checker->arena, checker->sinks, checker->sink_count, checker->sink_cap, sink);
}

void write_sink(Checker *checker, Flow flow, const FileUse *use, StepId step, Span span) {
    const Op *input = graph_op_at(checker->graph, flow.op);
    uint32_t count = input->column_count;
    Column *columns = input->columns;
    Op *op = add_op(checker, OP_SINK, &flow, step, span);
    op->sink = (SinkOp){.format = use->format, .path = use->path, .options = use->options};
    op->sink.columns = arena_new_array(checker->arena, SinkColumn, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i].hidden || is_error(columns[i].type)) continue;
        ExprId value = graph_column(checker->graph, 0, i, columns[i].type, span);
        op->sink.columns[op->sink.column_count++] =
            (SinkColumn){.name = columns[i].name, .value = value, .spelling = EXPR_NONE};
    }
    note_sink_path(checker, use->path, span);
}

// Some formats take a certain number of columns, of certain types.
static bool writable(Checker *checker, Flow flow, const FileUse *use, Span span) {
    const FormatColumns *takes = &format_info(use->format)->write_columns;
    if (!takes->words || flow.broken) return true;
    const Op *op = graph_op_at(checker->graph, flow.op);
    bool counted = !takes->count || op->column_count == takes->count;
    const Column *bad = nullptr;
    for (uint32_t i = 0; counted && !bad && i < op->column_count; i++)
        if (!is_error(op->columns[i].type) && !takes->fits(op->columns[i].type))
            bad = &op->columns[i];
    if (counted && !bad) return true;
    Diag *diag = report(checker, DIAG_SINK_COLUMNS, span, "%s takes %s", use->name->name,
                        takes->words);
    if (bad)
        report_label(checker, diag, span, "the column '%.*s' is %s", TEXT_ARG(bad->name),
                     type_say(checker, bad->type));
    else report_label(checker, diag, span, "the flow has %u columns", op->column_count);
    report_fix(checker, diag, "%s", takes->fix);
    return false;
}

Flow step_write(Checker *checker, Flow flow, const AstStep *step) {
    FileCall call = {step->format, step->options, step->option_count, step->span};
    FileUse use;
    bool good = check_options(checker, &call, SIDE_WRITE, &use) &&
                writable(checker, flow, &use, step->span);
    if (good && !flow.broken)
        write_sink(checker, flow, &use, make_step(checker, step->span), step->span);
    flow.written = true;
    return flow;
}

// ---- paths --------------------------------------------------------------------------------------

static Text plain_path(Text path) {
    while (text_starts(path, TEXT("./"))) path = (Text){path.at + 2, path.len - 2};
    return path;
}

static void same_path(Checker *checker, Text path, Span span, Span first, const char *before) {
    Diag *diag = report(checker, DIAG_SAME_PATH, span, "'%.*s' is %s", TEXT_ARG(path), before);
    report_label(checker, diag, span, "and here");
    report_label(checker, diag, first, "here");
    report_fix(checker, diag, "write to another path");
}

static bool source_reads(Checker *checker, const Op *op, Text path) {
    Const value;
    if (op->kind != OP_SOURCE || op->source.kind != SOURCE_FILES) return false;
    if (!const_of(checker, op->source.path, &value)) return false;
    if (graph_at(checker->graph, op->source.path)->type->kind != TYPE_LIST)
        return text_eq(plain_path(value.text), path);
    for (uint32_t i = 0; i < value.item_count; i++)
        if (text_eq(plain_path(value.items[i].text), path)) return true;
    return false;
}

void check_paths(Checker *checker) {
    for (size_t i = 0; i < checker->sink_count; i++) {
        bool known = checker->sinks[i].path.len > 0;
        Text path = plain_path(checker->sinks[i].path);
        for (size_t j = 0; j < i; j++) {
            bool same = known ? text_eq(plain_path(checker->sinks[j].path), path)
                              : expr_same(checker->sinks[i].id, checker->sinks[j].id);
            if (!same) continue;
            Text say = known ? path : source_text(checker, graph_at(checker->graph,
                                                                     checker->sinks[i].id)->span);
            same_path(checker, say, checker->sinks[i].span, checker->sinks[j].span,
                      "written twice");
            break;
        }
        for (size_t j = 0; j < checker->graph->op_count && known && !text_is(path, "-"); j++) {
            const Op *op = &checker->graph->ops[j];
            if (source_reads(checker, op, path))
                same_path(checker, path, checker->sinks[i].span, op->span, "read and written");
        }
    }
}
