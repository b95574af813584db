// reference_graph.h: small graphs by hand, interpreted over files in a folder of their own.
#ifndef SBC_TESTS_UNIT_REFERENCE_GRAPH_H
#define SBC_TESTS_UNIT_REFERENCE_GRAPH_H

#include "codegen/reference/reference.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const Span no_span = {.file = SPAN_NONE};

typedef struct Flow {
    Arena     *arena;
    TypeTable *types;
    Graph     *graph;
    OpId       last;
    char       folder[64];
    const char *args[8];
    size_t     arg_count;
    int        exit_code;
    Text       said;       // On standard error.
} Flow;

static inline Flow flow_new(void) {
    Flow flow = {.arena = arena_new(), .last = OP_NONE};
    flow.types = type_table_new(flow.arena);
    flow.graph = graph_new(flow.arena, flow.types);
    strcpy(flow.folder, "/tmp/sbc_reference_XXXXXX");
    if (!mkdtemp(flow.folder)) abort();
    return flow;
}

static inline const char *flow_path(const Flow *flow, const char *name) {
    return text_format(flow->arena, "%s/%s", flow->folder, name).at;
}

static inline void flow_put(const Flow *flow, const char *name, Text text) {
    FILE *file = fopen(flow_path(flow, name), "wb");
    if (!file) abort();
    fwrite(text.at, 1, text.len, file);
    fclose(file);
}

// The text of a file; at null: there is none.
static inline Text flow_get(const Flow *flow, const char *name) {
    FILE *file = fopen(flow_path(flow, name), "rb");
    TextBuf buf = {0};
    if (!file) return (Text){0};
    for (int c; (c = fgetc(file)) != EOF;) text_buf_char(&buf, (char)c);
    fclose(file);
    text_buf_char(&buf, 0);
    Text text = text_buf_take(&buf, flow->arena);
    return (Text){text.at, text.len - 1};
}

static inline const Type *flow_type(const Flow *flow, const char *name) {
    size_t len = strlen(name);
    bool nullable = name[len - 1] == '?';
    Text base = {name, len - nullable};
    TypeKind kind;
    const Type *type = type_kind_find(base, &kind) ? type_of(flow->types, kind) : nullptr;
    if (text_is(base, "timestamp")) type = type_timestamp(flow->types, UNIT_US);
    if (text_is(base, "decimal")) type = type_decimal(flow->types, 6, 2);
    if (text_is(base, "[i64]")) type = type_list(flow->types, type_of(flow->types, TYPE_I64));
    if (!type) abort();
    return nullable ? type_nullable(type) : type;
}

static inline ExprId flow_text(const Flow *flow, const char *text) {
    return graph_const_text(flow->graph, text_copy(flow->arena, text_of(text)), no_span);
}

static inline StepId flow_step(const Flow *flow, const char *label) {
    return graph_step(flow->graph, text_of(label), no_span);
}

// Adds an operator over the last one, with its columns.
static inline Op *flow_op(Flow *flow, OpKind kind, const char *label) {
    OpId before = flow->last;
    Op *op = graph_op(flow->graph, kind, flow_step(flow, label), no_span);
    flow->last = op->id;
    if (before.i == UINT32_MAX) return op;
    const Op *input = graph_op_at(flow->graph, before);
    op->inputs[0] = before;
    op->input_count = 1;
    op->columns = input->columns;
    op->column_count = input->column_count;
    return op;
}

// "a: i64, b: str?" as columns of a source.
static inline void flow_columns(Flow *flow, Op *op, const char *columns) {
    char *copy = strdup(columns);
    op->column_count = 0;
    op->columns = arena_new_array(flow->arena, Column, 16);
    op->source.columns = arena_new_array(flow->arena, SourceColumn, 16);
    for (char *word = strtok(copy, ", "); word; word = strtok(nullptr, ", ")) {
        word[strlen(word) - 1] = 0;
        Text name = text_copy(flow->arena, text_of(word));
        const Type *type = flow_type(flow, strtok(nullptr, ", "));
        op->columns[op->column_count] = (Column){name, type, false};
        op->source.columns[op->column_count++] =
            (SourceColumn){.name = name, .type = type, .read = true};
    }
    op->source.column_count = op->column_count;
    free(copy);
}

static inline Op *flow_read(Flow *flow, Format format, const char *file, const char *columns) {
    flow->last = OP_NONE;
    Op *op = flow_op(flow, OP_SOURCE, "read");
    op->source.format = format;
    op->source.path = flow_text(flow, flow_path(flow, file));
    op->source.options =
        file_options_none();
    op->source.options.csv =
        (CsvOptions){.delimiter = ',', .quote = '"', .header = true, .decimal = '.'};
    flow_columns(flow, op, columns);
    return op;
}

static inline ExprId flow_column(const Flow *flow, uint32_t index) {
    return graph_column(flow->graph, 0, index,
                        graph_op_at(flow->graph, flow->last)->columns[index].type, no_span);
}

static inline ExprId flow_expr(const Flow *flow, ExprOp op, const Type *type, ExprId a, ExprId b) {
    ExprId args[] = {a, b};
    return graph_expr(flow->graph, (Expr){.op = op, .type = type, .span = no_span}, args,
                      expr_is_none(b) ? 1 : 2);
}

static inline const Type *flow_i64(const Flow *flow) { return type_of(flow->types, TYPE_I64); }
static inline const Type *flow_bool(const Flow *flow) { return type_of(flow->types, TYPE_BOOL); }

static inline Op *flow_where(Flow *flow, const char *label, ExprId pred) {
    Op *op = flow_op(flow, OP_FILTER, label);
    op->filter.pred = pred;
    return op;
}

// derive NAME = expr, over all columns of the last operator.
static inline Op *flow_derive(Flow *flow, const char *name, ExprId expr) {
    const Op *input = graph_op_at(flow->graph, flow->last);
    uint32_t count = input->column_count;
    NamedExpr *items = arena_new_array(flow->arena, NamedExpr, count + 1);
    Column *columns = arena_new_array(flow->arena, Column, count + 1);
    for (uint32_t c = 0; c < count; c++) {
        columns[c] = input->columns[c];
        items[c] = (NamedExpr){columns[c].name, flow_column(flow, c), false};
    }
    items[count] = (NamedExpr){text_of(name), expr, false};
    columns[count] = (Column){text_of(name), graph_at(flow->graph, expr)->type, false};
    Op *op = flow_op(flow, OP_PROJECT, "derive");
    op->project.items = items;
    op->columns = columns;
    op->project.count = op->column_count = count + 1;
    return op;
}

static inline Op *flow_write(Flow *flow, Format format, const char *file) {
    const Op *input = graph_op_at(flow->graph, flow->last);
    uint32_t count = input->column_count;
    SinkColumn *columns = arena_new_array(flow->arena, SinkColumn, count + 1);
    for (uint32_t c = 0; c < count; c++)
        columns[c] = (SinkColumn){input->columns[c].name, flow_column(flow, c), EXPR_NONE, false};
    Op *op = flow_op(flow, OP_SINK, "write");
    op->sink = (SinkOp){.format = format,
                        .path = flow_text(flow, flow_path(flow, file)),
                        .columns = columns,
                        .column_count = count};
    op->sink.key = EXPR_NONE;
    op->sink.options = file_options_none();
    op->sink.options.csv =
        (CsvOptions){.delimiter = ',', .quote = '"', .header = true, .decimal = '.'};
    op->column_count = 0;
    return op;
}

// Up to 100 rejects go to rejects.jsonl.
static inline void flow_keep_rejects(Flow *flow) {
    flow->graph->rejects = (RejectsSink){.present = true,
                                         .format = FORMAT_JSONL,
                                         .has_rows = true,
                                         .limit_rows = graph_const_i64(flow->graph, 100),
                                         .limit_share = EXPR_NONE,
                                         .span = no_span};
    flow->graph->rejects.path = flow_text(flow, flow_path(flow, "rejects.jsonl"));
}

static inline void flow_run(Flow *flow) {
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    if (!freopen(flow_path(flow, "stderr"), "w", stderr)) abort();
    ReferenceRun run = {flow->graph, flow->args, flow->arg_count};
    flow->exit_code = reference_run(&run);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    flow->said = flow_get(flow, "stderr");
}

static inline void flow_end(Flow *flow) {
    Text command = text_format(flow->arena, "rm -rf %s", flow->folder);
    if (system(command.at) != 0) abort();
    arena_free(flow->arena);
}

#define CHECK_TEXT(text, expected)                                                                 \
    do {                                                                                           \
        Text check_text_ = (text);                                                                 \
        CHECK_SAYS(text_is(check_text_, expected), "\n%.*s", TEXT_ARG(check_text_));               \
    } while (0)

// Does the text hold the part?
static inline bool text_has(Text text, const char *part) {
    size_t len = strlen(part);
    for (size_t i = 0; i + len <= text.len; i++) {
        if (memcmp(text.at + i, part, len) == 0) return true;
    }
    return false;
}

#endif
