// write FORMAT(...): where rows go; and that no file is written twice, or read and written.
#include "frontend/checker.h"

#include "ir/walk.h"

void note_sink_path(Checker *checker, const FileUse *use, Span span) {
    Const value;
    typeof(*checker->sinks) sink = {.shape = use->shape, .span = span, .id = use->path};
    sink.known = const_of(checker, use->path, &value);
    if (sink.known) sink.path = value.text;
    arena_push(checker->arena, checker->sinks, checker->sink_count, checker->sink_cap, sink);
}

// A column after the others that holds the key, by which the rows are sorted. Returns its number.
static uint32_t sort_by_key(Checker *checker, Flow *flow, ExprId key, StepId step, Span span) {
    Scope scope = scope_of_flow(checker, *flow);
    const Type *str = kind_type(checker, TYPE_STR);
    scope_bind(checker, &scope, TEXT("{path}"), (Value){key, str});
    *flow = project(checker, *flow, &scope, step, span);
    Op *op = graph_op_at(checker->graph, flow->op);
    uint32_t last = op->column_count - 1;
    op->columns[last].hidden = op->project.items[last].hidden = true;
    op = same_columns(checker, OP_SORT, flow, step, span);
    op->sort.keys = arena_new_array(checker->arena, SortKey, 1);
    op->sort.count = 1;
    op->sort.keys[0] = (SortKey){.key = graph_column(checker->graph, 0, last, str, span)};
    return last;
}

static const FormatColumns *columns_of(const FileUse *use) {
    const FormatInfo *info = format_info(use->format);
    return use->options.apart ? &info->apart_columns : &info->write_columns;
}

// Where a format takes a certain number of columns: those that only say to which file a row goes.
// They are the ones in the braces of the path, if the others are as many.
static const bool *names_of_files(Checker *checker, const Op *op, const FileUse *use) {
    const FormatColumns *takes = columns_of(use);
    bool *names = arena_new_array(checker->arena, bool, op->column_count + 1);
    bool *none = arena_new_array(checker->arena, bool, op->column_count + 1);
    uint32_t others = op->column_count;
    if (!takes->count || expr_is_none(use->key)) return none;
    Walk walk = walk_make(checker->graph);
    walk_start(&walk);
    walk_add(&walk, use->key);
    for (ExprId id; walk_next(&walk, &id);) {
        const Expr *x = graph_at(checker->graph, id);
        if (x->op != EXPR_COLUMN || x->index >= op->column_count || names[x->index]) continue;
        names[x->index] = true;
        others--;
    }
    return others == takes->count ? names : none;
}

void write_sink(Checker *checker, Flow flow, const FileUse *use, StepId step, Span span) {
    ExprId key = EXPR_NONE;
    const bool *names = names_of_files(checker, graph_op_at(checker->graph, flow.op), use);
    if (!expr_is_none(use->key)) {
        uint32_t last = sort_by_key(checker, &flow, use->key, step, span);
        key = graph_column(checker->graph, 0, last, kind_type(checker, TYPE_STR), span);
    }
    const Op *input = graph_op_at(checker->graph, flow.op);
    uint32_t count = input->column_count;
    Column *columns = input->columns;
    Op *op = add_op(checker, OP_SINK, &flow, step, span);
    op->sink = (SinkOp){.format = use->format, .path = use->path, .key = key,
                        .shape = use->shape, .options = use->options};
    op->sink.columns = arena_new_array(checker->arena, SinkColumn, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i].hidden || is_error(columns[i].type) || names[i]) continue;
        ExprId value = graph_column(checker->graph, 0, i, columns[i].type, span);
        op->sink.columns[op->sink.column_count++] =
            (SinkColumn){.name = columns[i].name, .value = value, .spelling = EXPR_NONE};
    }
    note_sink_path(checker, use, span);
}

// Some formats take a certain number of columns, of certain types.
static bool writable(Checker *checker, Flow flow, const FileUse *use, Span span) {
    const FormatColumns *takes = columns_of(use);
    if (!takes->words || flow.broken) return true;
    const Op *op = graph_op_at(checker->graph, flow.op);
    const bool *names = names_of_files(checker, op, use);
    uint32_t count = 0;
    const Column *bad = nullptr;
    for (uint32_t i = 0; i < op->column_count; i++) {
        if (names[i]) continue;
        count++;
        if (!bad && !is_error(op->columns[i].type) && !takes->fits(op->columns[i].type))
            bad = &op->columns[i];
    }
    bool counted = !takes->count || count == takes->count;
    if (!counted) bad = nullptr;
    if (counted && !bad) return true;
    Diag *diag = report(checker, DIAG_SINK_COLUMNS, span, "%s takes %s", use->name->name,
                        takes->words);
    if (bad)
        report_label(checker, diag, span, "the column '%.*s' is %s", TEXT_ARG(bad->name),
                     type_say(checker, bad->type));
    else report_label(checker, diag, span, "the flow has %u columns", op->column_count);
    bool half = bad && type_is_half(type_element(bad->type));
    if (half && takes->fits(kind_type(checker, TYPE_F32)))
        report_fix(checker, diag, "convert it: | derive %.*s = f32(%.*s)", TEXT_ARG(bad->name),
                   TEXT_ARG(bad->name));
    else report_fix(checker, diag, "%s", takes->fix);
    return false;
}

Flow step_write(Checker *checker, Flow flow, const AstStep *step) {
    Scope row = scope_of_flow(checker, flow);
    FileCall call = {step->format, step->options, step->option_count, step->span, &row};
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

// Do two outputs go by one name? Values in braces decide nothing here: what two outputs by key make
// of them, the job finds out.
static bool goes_same_way(Checker *checker, size_t a, size_t b) {
    const typeof(*checker->sinks) *one = &checker->sinks[a], *other = &checker->sinks[b];
    if (one->known != other->known || !text_eq(one->shape, other->shape)) return false;
    return one->known ? text_eq(plain_path(one->path), plain_path(other->path))
                      : expr_same(one->id, other->id);
}

static void check_path_of(Checker *checker, size_t i) {
    const typeof(*checker->sinks) *sink = &checker->sinks[i];
    Text path = plain_path(sink->path);
    for (size_t j = 0; j < i; j++) {
        if (!goes_same_way(checker, i, j)) continue;
        Text say = sink->known
            ? text_format(checker->arena, "%.*s%.*s", TEXT_ARG(path), TEXT_ARG(sink->shape))
            : source_text(checker, graph_at(checker->graph, sink->id)->span);
        same_path(checker, say, sink->span, checker->sinks[j].span, "written twice");
        break;
    }
    bool file = sink->known && !sink->shape.len && !text_is(path, "-");
    for (size_t j = 0; j < checker->graph->op_count && file; j++) {
        const Op *op = &checker->graph->ops[j];
        if (source_reads(checker, op, path))
            same_path(checker, path, sink->span, op->span, "read and written");
    }
}

void check_paths(Checker *checker) {
    for (size_t i = 0; i < checker->sink_count; i++) check_path_of(checker, i);
}
