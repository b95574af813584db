// The graph as text. ir/read.c reads it back; docs/ir.md specifies the form.
#include "ir/form.h"
#include "ir/pass.h"
#include "ir/walk.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <inttypes.h>
#include <string.h>

typedef struct Frame {
    ExprId   id;
    uint32_t next;  // Argument to go to.
} Frame;

typedef struct Printer {
    TextBuf     *buf;
    const Graph *graph;
    uint32_t    *numbers;  // By node: number within the block being printed, counted from 1.
    ExprId      *order;    // Nodes of the block by number.
    size_t       count, cap;
    Frame       *frames;
    size_t       depth, frame_cap;
} Printer;

// ---- words and constants ----

static void print_name(TextBuf *buf, Text name) {
    bool word = name.len && !isdigit((unsigned char)name.at[0]);
    for (size_t i = 0; i < name.len; i++)
        word &= isalnum((unsigned char)name.at[i]) || name.at[i] == '_';
    if (word) text_buf_add(buf, name);
    else text_buf_quoted(buf, name);
}

static void print_span(TextBuf *buf, Span span) {
    if (span.file != SPAN_NONE)
        text_buf_format(buf, " @%u:%u-%u", span.file, span.start, span.end);
}

static void print_traits(TextBuf *buf, uint32_t traits, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (traits & 1u << i) text_buf_format(buf, " %s", names[i]);
}

// The fewest digits that read back; NaN with its bits.
static void print_float(TextBuf *buf, double value) {
    if (isnan(value)) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        text_buf_format(buf, "nan %llu", (unsigned long long)bits);
        return;
    }
    char digits[40];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, nullptr) == value) break;
    }
    text_buf_add(buf, text_of(digits));
}

static void print_items(TextBuf *buf, const Type *type, const Const *value) {
    bool list = type_is_sequence(type);
    text_buf_char(buf, list ? '[' : '{');
    for (uint32_t i = 0; i < value->item_count; i++) {
        if (i) text_buf_add(buf, TEXT(", "));
        graph_print_const(buf, list ? type->elem : type->fields[i].type, &value->items[i]);
    }
    text_buf_char(buf, list ? ']' : '}');
}

void graph_print_const(TextBuf *buf, const Type *type, const Const *value) {
    if (value->is_null) {
        text_buf_add(buf, TEXT("null"));
        return;
    }
    switch (type->kind) {
    case TYPE_BOOL: text_buf_add(buf, value->i ? TEXT("true") : TEXT("false")); break;
    case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
        text_buf_format(buf, "%lld", (long long)value->i);
        break;
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
        text_buf_format(buf, "%llu", (unsigned long long)value->u);
        break;
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64:
        print_float(buf, value->f);
        break;
    case TYPE_DECIMAL: text_buf_int128(buf, value->decimal); break;
    case TYPE_STR: case TYPE_BYTES: case TYPE_JSON: text_buf_quoted(buf, value->text); break;
    case TYPE_LIST: case TYPE_STRUCT: case TYPE_TENSOR: case TYPE_MAP:
        print_items(buf, type, value);
        break;
    case TYPE_NULL: case TYPE_ERROR: text_buf_add(buf, TEXT("null")); break;
    }
}

// ---- expressions ----

static void print_payload(TextBuf *buf, const Expr *node) {
    switch (node->op) {
    case EXPR_CONST:
        text_buf_char(buf, ' ');
        type_print(buf, node->type);
        text_buf_char(buf, ' ');
        graph_print_const(buf, type_base(node->type), &node->value);
        break;
    case EXPR_REGEX: case EXPR_ZONE: case EXPR_PRESENT:
        text_buf_char(buf, ' ');
        text_buf_quoted(buf, node->value.text);
        break;
    case EXPR_PARAM: case EXPR_FIELD: case EXPR_LOCAL: case EXPR_LIST_MAP: case EXPR_LIST_FILTER:
    case EXPR_LIST_ANY: case EXPR_LIST_ALL: case EXPR_LIST_REDUCE:
        text_buf_format(buf, " %u", node->index);
        break;
    case EXPR_COLUMN:
    case EXPR_RAW: text_buf_format(buf, " %u:%u", node->input, node->index); break;
    case EXPR_PLACE: text_buf_format(buf, " %s", form_places[node->index]); break;
    case EXPR_ELSE: text_buf_format(buf, " %s", form_handlers[node->handler]); break;
    case EXPR_CALL:
        text_buf_char(buf, ' ');
        print_name(buf, node->fn->name);
        break;
    case EXPR_SOME: case EXPR_NEG: case EXPR_ADD: case EXPR_SUB: case EXPR_MUL: case EXPR_DIV:
    case EXPR_IDIV: case EXPR_MOD: case EXPR_EQ: case EXPR_NE: case EXPR_LT: case EXPR_LE:
    case EXPR_GT: case EXPR_GE: case EXPR_IS_NULL: case EXPR_NOT: case EXPR_AND: case EXPR_OR:
    case EXPR_COALESCE: case EXPR_IF: case EXPR_IN: case EXPR_CAST: case EXPR_WIDEN:
    case EXPR_TO_F64: case EXPR_ROUND:
    case EXPR_CONCAT:
    case EXPR_TEXT:
    case EXPR_STRUCT:
    case EXPR_LIST:
    case EXPR_INDEX:
    case EXPR_EXPAND: case EXPR_CHOOSE: case EXPR_SIZE: case EXPR_AGREE:
    case EXPR_RESHAPE: case EXPR_PERMUTE: case EXPR_SLICE:
    case EXPR_APPEND: case EXPR_GATHER: case EXPR_REDUCE_SUM: case EXPR_REDUCE_PROD:
    case EXPR_REDUCE_MIN: case EXPR_REDUCE_MAX: case EXPR_REDUCE_ANY: case EXPR_REDUCE_ALL:
    case EXPR_REDUCE_ARGMIN: case EXPR_REDUCE_ARGMAX:
        break;
    }
}

static void print_range(TextBuf *buf, const ResultRange *range) {
    switch (range->of) {
    case RANGE_OF_TYPE: break;
    case RANGE_OF_BOUNDS:
        text_buf_format(buf, " range %lld %lld", (long long)range->min, (long long)range->max);
        break;
    case RANGE_OF_FIRST: text_buf_add(buf, TEXT(" range first")); break;
    case RANGE_OF_ARGS: text_buf_add(buf, TEXT(" range args")); break;
    }
}

static void print_fn(TextBuf *buf, const FnRef *fn) {
    text_buf_char(buf, ' ');
    print_name(buf, fn->symbol);
    print_traits(buf, fn->traits, form_fn_traits, countof(form_fn_traits));
    if (fn->pointers) text_buf_format(buf, " pointers %u", fn->pointers);
    if (fn->zones) text_buf_format(buf, " zones %u", fn->zones);
    print_range(buf, &fn->range);
    if (fn->file.len) {
        text_buf_add(buf, TEXT(" file "));
        text_buf_quoted(buf, fn->file);
    }
    if (fn->param_count) text_buf_format(buf, " params %u", fn->param_count);
    for (uint32_t i = 0; i < fn->param_count; i++) {
        text_buf_char(buf, ' ');
        text_buf_quoted(buf, fn->params[i]);
    }
}

// Appends the nodes below `root` to the block: arguments first, each once.
static void number(Printer *to, ExprId root) {
    Arena *arena = to->graph->arena;
    if (expr_is_none(root) || to->numbers[root.i]) return;
    arena_push(arena, to->frames, to->depth, to->frame_cap, ((Frame){root, 0}));
    while (to->depth) {
        Frame *frame = &to->frames[to->depth - 1];
        const Expr *node = graph_at(to->graph, frame->id);
        if (frame->next < node->arg_count) {
            ExprId arg = node->args[frame->next++];
            if (!to->numbers[arg.i])
                arena_push(arena, to->frames, to->depth, to->frame_cap, ((Frame){arg, 0}));
            continue;
        }
        to->depth--;
        if (to->numbers[frame->id.i]) continue;
        ExprId id = frame->id;
        arena_push(arena, to->order, to->count, to->cap, id);
        to->numbers[id.i] = (uint32_t)to->count;
    }
}

static void number_slot(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    (void)scope, (void)wanted;
    number(self, *slot);
}

static void print_use(Printer *to, ExprId id) {
    if (expr_is_none(id)) text_buf_add(to->buf, TEXT(" none"));
    else text_buf_format(to->buf, " $%u", to->numbers[id.i] - 1);
}

// "    $2 = add $0 $1 proven : i64 @0:10-15" for each node of the block.
static void print_nodes(Printer *to) {
    for (size_t i = 0; i < to->count; i++) {
        const Expr *node = graph_at(to->graph, to->order[i]);
        text_buf_format(to->buf, "    $%zu = %s", i, expr_op_name(node->op));
        print_payload(to->buf, node);
        if (node->op == EXPR_CALL) print_fn(to->buf, node->fn);
        for (uint32_t k = 0; k < node->arg_count; k++) print_use(to, node->args[k]);
        if (node->proven) text_buf_add(to->buf, TEXT(" proven"));
        if (node->fits) text_buf_add(to->buf, TEXT(" fits"));
        if (node->op != EXPR_CONST) {
            text_buf_add(to->buf, TEXT(" : "));
            type_print(to->buf, node->type);
        }
        print_span(to->buf, node->span);
        text_buf_char(to->buf, '\n');
    }
}

static void block_end(Printer *to) {
    text_buf_add(to->buf, TEXT("}\n"));
    for (size_t i = 0; i < to->count; i++) to->numbers[to->order[i].i] = 0;
    to->count = 0;
}

void graph_print_expr(TextBuf *buf, const Graph *graph, ExprId id) {
    const Expr *node = graph_at(graph, id);
    text_buf_add(buf, text_of(expr_op_name(node->op)));
    print_payload(buf, node);
    if (!node->arg_count) return;
    text_buf_char(buf, '(');
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (i) text_buf_add(buf, TEXT(", "));
        graph_print_expr(buf, graph, node->args[i]);
    }
    text_buf_char(buf, ')');
}

// ---- lines of operators ----

static void line(Printer *to, const char *word) { text_buf_format(to->buf, "    %s", word); }
static void line_end(Printer *to) { text_buf_char(to->buf, '\n'); }

static void print_text_line(Printer *to, const char *word, Text text) {
    line(to, word);
    text_buf_char(to->buf, ' ');
    text_buf_quoted(to->buf, text);
    line_end(to);
}

static void print_use_line(Printer *to, const char *word, ExprId id) {
    if (expr_is_none(id)) return;
    line(to, word);
    print_use(to, id);
    line_end(to);
}

static void print_typed(Printer *to, const char *word, Text name, const Type *type) {
    line(to, word);
    text_buf_char(to->buf, ' ');
    print_name(to->buf, name);
    text_buf_add(to->buf, TEXT(" : "));
    type_print(to->buf, type);
}

// A named expression: "    item fare $3 hidden".
static void print_named(Printer *to, const char *word, const NamedExpr *item) {
    line(to, word);
    text_buf_char(to->buf, ' ');
    print_name(to->buf, item->name);
    print_use(to, item->expr);
    if (item->hidden) text_buf_add(to->buf, TEXT(" hidden"));
    line_end(to);
}

static void print_byte(Printer *to, const char *word, char byte) {
    if (byte) print_text_line(to, word, (Text){&byte, 1});
}

static void print_csv(Printer *to, const CsvOptions *csv) {
    print_byte(to, "delimiter", csv->delimiter);
    print_byte(to, "quote", csv->quote);
    print_byte(to, "decimal", csv->decimal);
    if (csv->header) text_buf_add(to->buf, TEXT("    header\n"));
    if (csv->strict_nulls) text_buf_add(to->buf, TEXT("    strict_nulls\n"));
    if (csv->comment.len) print_text_line(to, "comment", csv->comment);
    if (csv->missing_null) text_buf_add(to->buf, TEXT("    missing_null\n"));
    print_byte(to, "thousands", csv->thousands);
    if (csv->skip) text_buf_format(to->buf, "    skip %lld\n", (long long)csv->skip);
    for (uint32_t i = 0; i < csv->null_count; i++) print_text_line(to, "null", csv->nulls[i]);
}

static void print_options(Printer *to, const FileOptions *options) {
    print_csv(to, &options->csv);
    if (options->zone.len) print_text_line(to, "zone", options->zone);
    if (options->encoding.len) print_text_line(to, "encoding", options->encoding);
    print_use_line(to, "row_max", options->row_max);
    print_use_line(to, "bytes", options->bytes);
    print_use_line(to, "files", options->files);
    if (options->apart) text_buf_add(to->buf, TEXT("    apart\n"));
    if (options->append) text_buf_add(to->buf, TEXT("    append\n"));
}

static const Type *row_type(const Graph *graph, const SourceOp *source) {
    Field *fields = arena_new_array(graph->arena, Field, source->column_count);
    for (uint32_t i = 0; i < source->column_count; i++)
        fields[i] = (Field){source->columns[i].name, source->columns[i].type};
    return type_struct(graph->types, fields, source->column_count);
}

static void print_source(Printer *to, const Op *op) {
    const SourceOp *source = &op->source;
    print_use_line(to, "path", source->path);
    print_options(to, &source->options);
    if (source->type_name.len) print_text_line(to, "type_name", source->type_name);
    for (uint32_t i = 0; i < source->column_count; i++) {
        const SourceColumn *column = &source->columns[i];
        print_typed(to, "column", column->name, column->type);
        if (column->read) text_buf_add(to->buf, TEXT(" read"));
        print_span(to->buf, column->span);
        line_end(to);
    }
    for (uint32_t i = source->column_count; i < op->column_count; i++) {
        RawSpan raw = source->raw_of[i - source->column_count];
        text_buf_format(to->buf, "    raw_of %u", raw.first);
        if (raw.last != raw.first) text_buf_format(to->buf, " to %u", raw.last);
        line_end(to);
    }
    for (uint32_t i = 0; i < source->key_count; i++) {
        line(to, "key ");
        print_name(to->buf, source->keys[i].name);
        print_use(to, source->keys[i].expr);
        line_end(to);
    }
    for (uint32_t i = 0; i < source->filter_count; i++) {
        line(to, "filter");
        print_use(to, source->filters[i].pred);
        text_buf_format(to->buf, " step %u\n", source->filters[i].step.i);
    }
    const Type *row = source->row_count ? row_type(to->graph, source) : nullptr;
    for (uint32_t i = 0; i < source->row_count; i++) {
        text_buf_add(to->buf, TEXT("    row "));
        graph_print_const(to->buf, row, &source->rows[i]);
        line_end(to);
    }
}

static void print_agg(Printer *to, const Agg *agg) {
    print_typed(to, "agg", agg->name, agg->type);
    if (agg->fn) {
        text_buf_add(to->buf, TEXT(" fn "));
        print_name(to->buf, agg->fn->name);
        text_buf_char(to->buf, ' ');
        print_name(to->buf, agg->fn->symbol);
        text_buf_format(to->buf, " %u %u", agg->fn->state_bytes, agg->fn->state_align);
        if (agg->fn->held.len) {
            text_buf_add(to->buf, TEXT(" held "));
            print_name(to->buf, agg->fn->held);
        }
        print_traits(to->buf, agg->fn->traits, form_agg_traits, countof(form_agg_traits));
        if (agg->fn->pointers) text_buf_format(to->buf, " pointers %u", agg->fn->pointers);
        print_range(to->buf, &agg->fn->range);
    }
    text_buf_add(to->buf, TEXT(" of"));
    for (uint32_t i = 0; i < agg->arg_count; i++) print_use(to, agg->args[i]);
    if (!expr_is_none(agg->where)) {
        text_buf_add(to->buf, TEXT(" where"));
        print_use(to, agg->where);
    }
    if (!expr_is_none(agg->option)) {
        text_buf_add(to->buf, TEXT(" option"));
        print_use(to, agg->option);
    }
    if (agg->hidden) text_buf_add(to->buf, TEXT(" hidden"));
    print_span(to->buf, agg->span);
    line_end(to);
}

static void print_join(Printer *to, const Op *op) {
    text_buf_format(to->buf, "    kind %s\n", join_kind_name(op->join.kind));
    for (uint32_t i = 0; i < op->join.key_count; i++) {
        line(to, "key");
        print_use(to, op->join.left[i]);
        print_use(to, op->join.right[i]);
        line_end(to);
    }
    print_use_line(to, "seek", op->join.seek);
    print_use_line(to, "within", op->join.within);
    print_use_line(to, "where", op->join.where);
    for (uint32_t i = 0; i < op->column_count; i++) {
        const JoinColumn *column = &op->join.columns[i];
        text_buf_format(to->buf, "    from %u:%u", column->side, column->index);
        if (column->merged) text_buf_format(to->buf, " merged %u", column->merged_index);
        line_end(to);
    }
}

static void print_sink(Printer *to, const SinkOp *sink) {
    print_use_line(to, "path", sink->path);
    if (!expr_is_none(sink->key)) {
        line(to, "key");
        print_use(to, sink->key);
        text_buf_char(to->buf, ' ');
        text_buf_quoted(to->buf, sink->shape);
        line_end(to);
    }
    print_options(to, &sink->options);
    for (uint32_t i = 0; i < sink->column_count; i++) {
        const SinkColumn *column = &sink->columns[i];
        line(to, "column ");
        print_name(to->buf, column->name);
        print_use(to, column->value);
        if (!expr_is_none(column->spelling)) {
            text_buf_add(to->buf, TEXT(" spelling"));
            print_use(to, column->spelling);
        }
        if (column->verbatim) text_buf_add(to->buf, TEXT(" verbatim"));
        if (column->within) text_buf_add(to->buf, TEXT(" within"));
        line_end(to);
    }
}

static void print_sort_key(Printer *to, const char *word, const SortKey *key) {
    line(to, word);
    print_use(to, key->key);
    if (key->descending) text_buf_add(to->buf, TEXT(" desc"));
    if (key->nulls_first) text_buf_add(to->buf, TEXT(" nulls_first"));
    line_end(to);
}

static void print_reach(Printer *to, int64_t reach) {
    if (reach == FRAME_ALL) text_buf_add(to->buf, TEXT(" all"));
    else text_buf_format(to->buf, " %" PRId64, reach);
}

static const char *const frame_units[] = {
    [FRAME_ROWS] = "rows", [FRAME_RANGE] = "range", [FRAME_MONTHS] = "months"};

static void print_window(Printer *to, const Op *op) {
    if (op->window.keeps == KEEPS_LAST) text_buf_add(to->buf, TEXT("    last\n"));
    if (op->window.keeps == KEEPS_FIRST) print_use_line(to, "first", op->window.most);
    for (uint32_t i = 0; i < op->window.key_count; i++)
        print_use_line(to, "key", op->window.keys[i]);
    for (uint32_t i = 0; i < op->window.sort_count; i++)
        print_sort_key(to, "sort", &op->window.sort[i]);
    for (uint32_t i = 0; i < op->window.fn_count; i++) {
        const WindowFn *fn = &op->window.fns[i];
        print_typed(to, "fn", fn->name, fn->type);
        text_buf_format(to->buf, " %s", window_kind_name(fn->kind));
        if (!expr_is_none(fn->arg)) print_use(to, fn->arg);
        if (fn->n) text_buf_format(to->buf, " n %" PRId64, fn->n);
        text_buf_format(to->buf, " %s", frame_units[fn->frame.unit]);
        print_reach(to, fn->frame.back);
        print_reach(to, fn->frame.ahead);
        print_span(to->buf, fn->span);
        line_end(to);
    }
    for (uint32_t i = 0; i < op->column_count; i++) {
        uint32_t from = op->window.from[i];
        text_buf_format(to->buf, from >= WINDOW_OWN ? "    from fn %u\n" : "    from %u\n",
                        from & ~WINDOW_OWN);
    }
}

static void print_body(Printer *to, const Op *op) {
    switch (op->kind) {
    case OP_SOURCE: print_source(to, op); break;
    case OP_FILTER: print_use_line(to, "pred", op->filter.pred); break;
    case OP_PROJECT:
        for (uint32_t i = 0; i < op->project.count; i++)
            print_named(to, "item", &op->project.items[i]);
        break;
    case OP_EXPLODE:
        text_buf_format(to->buf, "    list %u%s\n", op->explode.column,
                        op->explode.outer ? " outer" : "");
        break;
    case OP_GROUP:
        for (uint32_t i = 0; i < op->group.key_count; i++)
            print_named(to, "key", &op->group.keys[i]);
        for (uint32_t i = 0; i < op->group.agg_count; i++) print_agg(to, &op->group.aggs[i]);
        break;
    case OP_SORT:
        for (uint32_t i = 0; i < op->sort.count; i++)
            print_sort_key(to, "key", &op->sort.keys[i]);
        break;
    case OP_WINDOW: print_window(to, op); break;
    case OP_LIMIT:
        print_use_line(to, "count", op->limit.count);
        print_use_line(to, "skip", op->limit.skip);
        break;
    case OP_DISTINCT:
        for (uint32_t i = 0; i < op->distinct.count; i++)
            print_use_line(to, "key", op->distinct.keys[i]);
        break;
    case OP_JOIN: print_join(to, op); break;
    case OP_UNION:
        for (uint32_t i = 0; i < op->column_count; i++)
            text_buf_format(to->buf, "    right %u\n", op->union_.right_columns[i]);
        break;
    case OP_ZIP: break;
    case OP_SHUFFLE: print_use_line(to, "seed", op->shuffle.seed); break;
    case OP_SAMPLE:
        print_use_line(to, "fraction", op->sample.fraction);
        print_use_line(to, "seed", op->sample.seed);
        break;
    case OP_HINT:
        for (uint32_t i = 0; i < op->hint.partition_key_count; i++)
            print_use_line(to, "partition_key", op->hint.partition_key[i]);
        print_use_line(to, "rows", op->hint.rows);
        print_use_line(to, "bytes", op->hint.bytes);
        if (op->hint.text.len) print_text_line(to, "text", op->hint.text);
        break;
    case OP_SINK: print_sink(to, &op->sink); break;
    }
}

static void print_op(Printer *to, const Op *op) {
    text_buf_format(to->buf, "%%%u = %s", op->id.i, op_kind_name(op->kind));
    if (op->kind == OP_SOURCE) text_buf_format(to->buf, " %s", source_name(&op->source));
    if (op->kind == OP_SINK) text_buf_format(to->buf, " %s", format_name(op->sink.format));
    for (uint32_t i = 0; i < op->input_count; i++)
        text_buf_format(to->buf, " %%%u", op->inputs[i].i);
    if (op->step.i != STEP_NONE.i) text_buf_format(to->buf, " step %u", op->step.i);
    if (op->resources.i) text_buf_format(to->buf, " with %u", op->resources.i);
    if (op->name.len) {
        text_buf_add(to->buf, TEXT(" name "));
        print_name(to->buf, op->name);
    }
    print_span(to->buf, op->span);
    text_buf_add(to->buf, TEXT(" {\n"));
    op_each_expr((Op *)op, to, number_slot);
    print_nodes(to);
    print_body(to, op);
    for (uint32_t i = 0; i < op->column_count; i++) {
        print_typed(to, "out", op->columns[i].name, op->columns[i].type);
        if (op->columns[i].hidden) text_buf_add(to->buf, TEXT(" hidden"));
        if (op->columns[i].unread) text_buf_add(to->buf, TEXT(" unread"));
        text_buf_char(to->buf, '\n');
    }
    block_end(to);
}

// ---- the document ----

static void print_param(Printer *to, const Param *param) {
    text_buf_add(to->buf, TEXT("param "));
    print_name(to->buf, param->name);
    text_buf_add(to->buf, TEXT(" : "));
    type_print(to->buf, param->type);
    print_span(to->buf, param->span);
    text_buf_add(to->buf, TEXT(" {\n"));
    number(to, param->value);
    print_nodes(to);
    print_use_line(to, "value", param->value);
    if (param->doc.len) print_text_line(to, "doc", param->doc);
    block_end(to);
}

static void print_rejects(Printer *to, const RejectsSink *rejects) {
    text_buf_format(to->buf, "rejects %s", format_name(rejects->format));
    print_span(to->buf, rejects->span);
    text_buf_add(to->buf, TEXT(" {\n"));
    number(to, rejects->path);
    number(to, rejects->limit_rows);
    number(to, rejects->limit_share);
    print_nodes(to);
    print_use_line(to, "path", rejects->path);
    if (rejects->append) text_buf_add(to->buf, TEXT("    append\n"));
    if (rejects->has_rows) print_use_line(to, "rows", rejects->limit_rows);
    if (rejects->has_share) print_use_line(to, "share", rejects->limit_share);
    block_end(to);
}

// The first ones, one cpu, are there without a line.
static void print_resources(TextBuf *buf, const Resources *resources) {
    static const char *const devices[] = {"", " cpu", " gpu", " placed"};  // By OnDevice.
    text_buf_format(buf, "resources cpus %u", resources->cpus);
    text_buf_add(buf, text_of(devices[resources->on]));
    if (resources->approx) text_buf_add(buf, TEXT(" approx"));
    if (resources->concurrency) text_buf_format(buf, " concurrency %u", resources->concurrency);
    if (resources->memory) text_buf_format(buf, " memory %" PRId64, resources->memory);
    if (resources->batch) text_buf_format(buf, " batch %" PRId64, resources->batch);
    if (resources->timeout) text_buf_format(buf, " timeout %" PRId64, resources->timeout);
    for (uint32_t i = 0; i < resources->custom_count; i++) {
        text_buf_add(buf, TEXT(" custom "));
        print_name(buf, resources->customs[i].name);
        text_buf_format(buf, " %u", resources->customs[i].amount);
    }
    text_buf_char(buf, '\n');
}

void graph_print(TextBuf *buf, const Graph *graph) {
    Printer to = {.buf = buf, .graph = graph,
                  .numbers = arena_new_array(graph->arena, uint32_t, graph->expr_count)};
    if (graph->passed) text_buf_format(buf, "passed %s\n", passes[graph->passed - 1].name);
    for (size_t i = 0; i < graph->file_count; i++) {
        text_buf_add(buf, TEXT("file "));
        text_buf_quoted(buf, graph->files[i]);
        text_buf_char(buf, '\n');
    }
    for (size_t i = 0; i < graph->step_count; i++) {
        text_buf_add(buf, TEXT("step "));
        text_buf_quoted(buf, graph->steps[i].label);
        print_span(buf, graph->steps[i].span);
        text_buf_char(buf, '\n');
    }
    for (size_t i = 1; i < graph->resources_count; i++) print_resources(buf, &graph->resources[i]);
    for (size_t i = 0; i < graph->param_count; i++) print_param(&to, &graph->params[i]);
    if (graph->rejects.present) print_rejects(&to, &graph->rejects);
    for (size_t i = 0; i < graph->op_count; i++) print_op(&to, &graph->ops[i]);
}
