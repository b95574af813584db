// Reads the text form that ir/print.c writes. docs/ir.md specifies it.
//
// Lines are read into the same structures that the checker builds. Numbers that could lead outside
// an array while reading are checked here, everything else by graph_verify.
#include "ir/read.h"
#include "ir/form.h"
#include "ir/pass.h"

// The expressions of the block at hand, by their number there.
typedef struct Block {
    Reader  *reader;
    Graph   *graph;
    ExprId  *nodes;
    size_t   count, cap;
    Op      *op;          // Null in blocks that are no operator.
    size_t   caps[8];     // Of the operator's arrays, in the order of its lines.
} Block;

enum { CAP_OUT, CAP_FIRST, CAP_SECOND, CAP_NULLS, CAP_ROWS, CAP_FILTERS, CAP_RAW };

// ---- expressions ----

static ExprId read_use(Block *block) {
    Reader *reader = block->reader;
    if (reader_accept(reader, "none")) return EXPR_NONE;
    reader_expect(reader, "$");
    uint32_t number = reader_u32(reader);
    if (!reader->failed && number >= block->count)
        reader_fail(reader, "an expression defined above");
    return reader->failed ? EXPR_NONE : block->nodes[number];
}

static uint32_t read_traits(Reader *reader, const char *const *names, size_t count) {
    uint32_t traits = 0;
    for (size_t i = 0; i < count; i++)
        if (reader_accept(reader, names[i])) traits |= 1u << i;
    return traits;
}

static uint32_t read_choice(Reader *reader, const char *const *words, size_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (reader_accept(reader, words[i])) return i;
    reader_fail(reader, words[0]);
    return 0;
}

static ResultRange read_range(Block *block) {
    Reader *reader = block->reader;
    if (!reader_accept(reader, "range")) return (ResultRange){0};
    if (reader_accept(reader, "first")) return (ResultRange){.of = RANGE_OF_FIRST};
    if (reader_accept(reader, "args")) return (ResultRange){.of = RANGE_OF_ARGS};
    const Type *type = type_of(reader->types, TYPE_I64);
    ResultRange range = {.of = RANGE_OF_BOUNDS};
    range.min = reader_const(reader, type).i;
    range.max = reader_const(reader, type).i;
    if (range.min > range.max) reader_fail(reader, "a range that holds a number");
    return range;
}

static const FnRef *read_fn(Block *block) {
    Reader *reader = block->reader;
    FnRef *fn = arena_new_of(block->graph->arena, FnRef);
    fn->name = reader_name(reader);
    fn->symbol = reader_name(reader);
    fn->traits = read_traits(reader, form_fn_traits, countof(form_fn_traits));
    if (reader_accept(reader, "pointers")) fn->pointers = reader_u32(reader);
    if (reader_accept(reader, "zones")) fn->zones = reader_u32(reader);
    fn->range = read_range(block);
    if (reader_accept(reader, "file")) fn->file = reader_string(reader);
    uint32_t params = reader_accept(reader, "params") ? reader_u32(reader) : 0;
    size_t count = 0, cap = 0;
    while (count < params && !reader->failed)
        arena_push(block->graph->arena, fn->params, count, cap, reader_string(reader));
    fn->param_count = (uint32_t)count;
    return fn;
}

// Everything after the operator's name up to its arguments, but of constants.
static void read_payload(Block *block, Expr *node) {
    Reader *reader = block->reader;
    if (node->op == EXPR_COLUMN || node->op == EXPR_RAW) {
        node->input = reader_u32(reader);
        reader_expect(reader, ":");
        node->index = reader_u32(reader);
    } else if (node->op == EXPR_PARAM || node->op == EXPR_FIELD) {
        node->index = reader_u32(reader);
    } else if (node->op == EXPR_LOCAL || expr_has_lambda(node)) {
        uint32_t end = LOCALS_MAX - expr_local_count(node);
        node->index = reader_u32(reader);
        if (node->index > end) reader_fail(reader, "the number of a local");
        end = node->index + expr_local_count(node);
        if (end > block->graph->local_count) block->graph->local_count = end;
    } else if (node->op == EXPR_PLACE) {
        node->index = read_choice(reader, form_places, countof(form_places));
    } else if (node->op == EXPR_ELSE) {
        node->handler = (ElseKind)read_choice(reader, form_handlers, countof(form_handlers));
    } else if (node->op == EXPR_REGEX || node->op == EXPR_ZONE || node->op == EXPR_PRESENT) {
        node->value.text = reader_string(reader);
    } else if (node->op == EXPR_CALL) {
        node->fn = read_fn(block);
    }
}

// "const TYPE VALUE": the type comes first, since it says how to read the value.
static void read_const_node(Block *block, Expr *node) {
    Reader *reader = block->reader;
    node->type = reader_type(reader);
    node->value = reader_const(reader, type_base(node->type));
}

static void read_node(Block *block) {
    Reader *reader = block->reader;
    uint32_t number = reader_u32(reader);
    if (number != block->count) reader_fail(reader, "expressions numbered from 0");
    reader_expect(reader, "=");
    Expr node = {.span = {.file = SPAN_NONE}};
    if (!expr_op_find(reader_name(reader), &node.op)) reader_fail(reader, "an expression operator");
    ExprId *args = nullptr;
    uint32_t count = 0;
    size_t cap = 0;
    if (node.op == EXPR_CONST) {
        read_const_node(block, &node);
    } else {
        read_payload(block, &node);
        while (!reader->failed && reader_is(reader, "$"))
            arena_push(reader->arena, args, count, cap, read_use(block));
        node.proven = reader_accept(reader, "proven");
        node.fits = reader_accept(reader, "fits");
        reader_expect(reader, ":");
        node.type = reader_type(reader);
    }
    node.span = reader_span(reader);
    reader_line_end(reader);
    int arity = expr_op_arity(node.op);
    if (arity >= 0 && count != (uint32_t)arity)
        reader_fail(reader, "as many arguments as it takes");
    if (reader->failed) return;
    ExprId id = graph_expr(block->graph, node, args, count);
    arena_push(reader->arena, block->nodes, block->count, block->cap, id);
}

// ---- lines of operators ----

static NamedExpr read_named(Block *block) {
    NamedExpr item = {.name = reader_name(block->reader)};
    item.expr = read_use(block);
    item.hidden = reader_accept(block->reader, "hidden");
    return item;
}

static char read_byte(Reader *reader) {
    Text text = reader_string(reader);
    if (text.len != 1) reader_fail(reader, "one byte");
    return text.len == 1 ? text.at[0] : '\0';
}

static bool read_option(Block *block, FileOptions *options) {
    Reader *reader = block->reader;
    CsvOptions *csv = &options->csv;
    if (reader_accept(reader, "delimiter")) csv->delimiter = read_byte(reader);
    else if (reader_accept(reader, "quote")) csv->quote = read_byte(reader);
    else if (reader_accept(reader, "decimal")) csv->decimal = read_byte(reader);
    else if (reader_accept(reader, "header")) csv->header = true;
    else if (reader_accept(reader, "strict_nulls")) csv->strict_nulls = true;
    else if (reader_accept(reader, "comment")) csv->comment = reader_string(reader);
    else if (reader_accept(reader, "missing_null")) csv->missing_null = true;
    else if (reader_accept(reader, "thousands")) csv->thousands = read_byte(reader);
    else if (reader_accept(reader, "skip")) csv->skip = reader_i64(reader);
    else if (reader_accept(reader, "null"))
        arena_push(reader->arena, csv->nulls, csv->null_count, block->caps[CAP_NULLS],
                   reader_string(reader));
    else if (reader_accept(reader, "zone")) options->zone = reader_string(reader);
    else if (reader_accept(reader, "encoding")) options->encoding = reader_string(reader);
    else if (reader_accept(reader, "row_max")) options->row_max = read_use(block);
    else if (reader_accept(reader, "bytes")) options->bytes = read_use(block);
    else if (reader_accept(reader, "files")) options->files = read_use(block);
    else if (reader_accept(reader, "apart")) options->apart = true;
    else if (reader_accept(reader, "append")) options->append = true;
    else return false;
    return true;
}

static SourceColumn read_source_column(Reader *reader) {
    SourceColumn column = {.name = reader_name(reader)};
    reader_expect(reader, ":");
    column.type = reader_type(reader);
    column.read = reader_accept(reader, "read");
    column.span = reader_span(reader);
    return column;
}

static Const read_row(Block *block) {
    const SourceOp *source = &block->op->source;
    Field *fields = arena_new_array(block->reader->arena, Field, source->column_count);
    for (uint32_t i = 0; i < source->column_count; i++)
        fields[i] = (Field){source->columns[i].name, source->columns[i].type};
    const Type *row = type_struct(block->graph->types, fields, source->column_count);
    return reader_const(block->reader, row);
}

static bool source_line(Block *block) {
    Reader *reader = block->reader;
    SourceOp *source = &block->op->source;
    if (reader_accept(reader, "path")) source->path = read_use(block);
    else if (reader_accept(reader, "type_name")) source->type_name = reader_string(reader);
    else if (reader_accept(reader, "column"))
        arena_push(reader->arena, source->columns, source->column_count, block->caps[CAP_FIRST],
                   read_source_column(reader));
    else if (reader_accept(reader, "raw_of")) {
        uint32_t *count = &block->op->column_count;  // Counts spellings until the columns are read.
        RawSpan raw = {.first = reader_u32(reader)};
        raw.last = reader_accept(reader, "to") ? reader_u32(reader) : raw.first;
        arena_push(reader->arena, source->raw_of, *count, block->caps[CAP_RAW], raw);
    } else if (reader_accept(reader, "key")) {
        NamedExpr key = {.name = reader_name(reader)};
        key.expr = read_use(block);
        arena_push(reader->arena, source->keys, source->key_count, block->caps[CAP_SECOND], key);
    } else if (reader_accept(reader, "filter")) {
        PreFilter filter = {.pred = read_use(block)};
        reader_expect(reader, "step");
        filter.step = (StepId){reader_u32(reader)};
        arena_push(reader->arena, source->filters, source->filter_count, block->caps[CAP_FILTERS],
                   filter);
    } else if (reader_accept(reader, "row")) {
        arena_push(reader->arena, source->rows, source->row_count, block->caps[CAP_ROWS],
                   read_row(block));
    } else return read_option(block, &source->options);
    return true;
}

static const AggRef *read_agg_fn(Block *block) {
    Reader *reader = block->reader;
    if (!reader_accept(reader, "fn")) return nullptr;
    AggRef *fn = arena_new_of(block->graph->arena, AggRef);
    fn->name = reader_name(reader);
    fn->symbol = reader_name(reader);
    fn->state_bytes = reader_u32(reader);
    fn->state_align = reader_u32(reader);
    bool aligned = fn->state_align == 1 || fn->state_align == 2 || fn->state_align == 4 ||
                   fn->state_align == 8 || fn->state_align == 16;
    if (!aligned) reader_fail(reader, "an alignment of 1, 2, 4, 8 or 16");
    if (reader_accept(reader, "held")) fn->held = reader_name(reader);
    fn->traits = read_traits(reader, form_agg_traits, countof(form_agg_traits));
    if (reader_accept(reader, "pointers")) fn->pointers = reader_u32(reader);
    fn->range = read_range(block);
    return fn;
}

static Agg read_agg(Block *block) {
    Reader *reader = block->reader;
    Agg agg = {.name = reader_name(reader), .args = {EXPR_NONE, EXPR_NONE}, .where = EXPR_NONE,
               .option = EXPR_NONE};
    reader_expect(reader, ":");
    agg.type = reader_type(reader);
    agg.fn = read_agg_fn(block);
    reader_expect(reader, "of");
    while (reader_is(reader, "$") && agg.arg_count < countof(agg.args))
        agg.args[agg.arg_count++] = read_use(block);
    if (reader_accept(reader, "where")) agg.where = read_use(block);
    if (reader_accept(reader, "option")) agg.option = read_use(block);
    agg.hidden = reader_accept(reader, "hidden");
    agg.span = reader_span(reader);
    return agg;
}

static bool group_line(Block *block) {
    Reader *reader = block->reader;
    Op *op = block->op;
    if (reader_accept(reader, "key"))
        arena_push(reader->arena, op->group.keys, op->group.key_count, block->caps[CAP_FIRST],
                   read_named(block));
    else if (reader_accept(reader, "agg"))
        arena_push(reader->arena, op->group.aggs, op->group.agg_count, block->caps[CAP_SECOND],
                   read_agg(block));
    else return false;
    return true;
}

static SortKey read_sort_key(Block *block) {
    SortKey key = {.key = read_use(block)};
    key.descending = reader_accept(block->reader, "desc");
    key.nulls_first = reader_accept(block->reader, "nulls_first");
    return key;
}

static bool sort_line(Block *block) {
    Reader *reader = block->reader;
    if (!reader_accept(reader, "key")) return false;
    arena_push(reader->arena, block->op->sort.keys, block->op->sort.count, block->caps[CAP_FIRST],
               read_sort_key(block));
    return true;
}

static int64_t read_reach(Reader *reader) {
    return reader_accept(reader, "all") ? FRAME_ALL : reader_i64(reader);
}

static WindowFn read_window_fn(Block *block) {
    Reader *reader = block->reader;
    WindowFn fn = {.name = reader_name(reader), .arg = EXPR_NONE};
    reader_expect(reader, ":");
    fn.type = reader_type(reader);
    if (!window_kind_find(reader_name(reader), &fn.kind))
        reader_fail(reader, "a function of windows");
    if (reader_is(reader, "$")) fn.arg = read_use(block);
    if (reader_accept(reader, "n")) fn.n = reader_i64(reader);
    if (reader_accept(reader, "months")) fn.frame.unit = FRAME_MONTHS;
    else if (reader_accept(reader, "range")) fn.frame.unit = FRAME_RANGE;
    else reader_expect(reader, "rows");
    fn.frame.back = read_reach(reader);
    fn.frame.ahead = read_reach(reader);
    fn.span = reader_span(reader);
    return fn;
}

static bool window_line(Block *block) {
    Reader *reader = block->reader;
    WindowOp *window = &block->op->window;
    if (reader_accept(reader, "key"))
        arena_push(reader->arena, window->keys, window->key_count, block->caps[CAP_FIRST],
                   read_use(block));
    else if (reader_accept(reader, "sort"))
        arena_push(reader->arena, window->sort, window->sort_count, block->caps[CAP_SECOND],
                   read_sort_key(block));
    else if (reader_accept(reader, "fn"))
        arena_push(reader->arena, window->fns, window->fn_count, block->caps[CAP_NULLS],
                   read_window_fn(block));
    else if (reader_accept(reader, "from")) {
        uint32_t own = reader_accept(reader, "fn") ? WINDOW_OWN : 0;
        arena_push(reader->arena, window->from, block->op->column_count, block->caps[CAP_ROWS],
                   reader_u32(reader) | own);
    } else if (reader_accept(reader, "last")) window->keeps = KEEPS_LAST;
    else if (reader_accept(reader, "first")) {
        window->keeps = KEEPS_FIRST;
        window->most = read_use(block);
    } else return false;
    return true;
}

static JoinKind read_join_kind(Reader *reader) {
    for (JoinKind kind = JOIN_INNER; kind <= JOIN_ANTI; kind++)
        if (reader_accept(reader, join_kind_name(kind))) return kind;
    reader_fail(reader, "a kind of join");
    return JOIN_INNER;
}

// A line that is one word and one expression.
static bool use_line(Block *block, const char *word, ExprId *slot) {
    if (!reader_accept(block->reader, word)) return false;
    *slot = read_use(block);
    return true;
}

static bool join_line(Block *block) {
    Reader *reader = block->reader;
    Op *op = block->op;
    if (reader_accept(reader, "kind")) {
        op->join.kind = read_join_kind(reader);
    } else if (reader_accept(reader, "key")) {
        size_t cap = block->caps[CAP_FIRST];
        uint32_t count = op->join.key_count;
        arena_push(reader->arena, op->join.left, count, cap, read_use(block));
        arena_push(reader->arena, op->join.right, op->join.key_count, block->caps[CAP_FIRST],
                   read_use(block));
    } else if (use_line(block, "seek", &op->join.seek) ||
               use_line(block, "within", &op->join.within) ||
               use_line(block, "where", &op->join.where)) {
        return true;
    } else if (reader_accept(reader, "from")) {
        JoinColumn column = {.side = reader_u32(reader)};
        reader_expect(reader, ":");
        column.index = reader_u32(reader);
        column.merged = reader_accept(reader, "merged");
        if (column.merged) column.merged_index = reader_u32(reader);
        arena_push(reader->arena, op->join.columns, op->column_count, block->caps[CAP_SECOND],
                   column);
    } else return false;
    return true;
}

static bool sink_line(Block *block) {
    Reader *reader = block->reader;
    SinkOp *sink = &block->op->sink;
    if (use_line(block, "path", &sink->path)) return true;
    if (reader_accept(reader, "key")) {
        sink->key = read_use(block);
        sink->shape = reader_string(reader);
        return true;
    }
    if (!reader_accept(reader, "column")) return read_option(block, &sink->options);
    SinkColumn column = {.name = reader_name(reader), .spelling = EXPR_NONE};
    column.value = read_use(block);
    if (reader_accept(reader, "spelling")) column.spelling = read_use(block);
    column.verbatim = reader_accept(reader, "verbatim");
    column.within = reader_accept(reader, "within");
    arena_push(reader->arena, sink->columns, sink->column_count, block->caps[CAP_FIRST], column);
    return true;
}

static bool hint_line(Block *block) {
    Reader *reader = block->reader;
    HintOp *hint = &block->op->hint;
    if (reader_accept(reader, "text")) {
        hint->text = reader_string(reader);
    } else if (reader_accept(reader, "partition_key")) {
        if (hint->partition_key_count == countof(hint->partition_key))
            reader_fail(reader, "fewer keys");
        else hint->partition_key[hint->partition_key_count++] = read_use(block);
    } else return use_line(block, "rows", &hint->rows) || use_line(block, "bytes", &hint->bytes);
    return true;
}

static bool op_line(Block *block) {
    Reader *reader = block->reader;
    Op *op = block->op;
    switch (op->kind) {
    case OP_SOURCE: return source_line(block);
    case OP_FILTER: return use_line(block, "pred", &op->filter.pred);
    case OP_PROJECT:
        if (!reader_accept(reader, "item")) return false;
        arena_push(reader->arena, op->project.items, op->project.count, block->caps[CAP_FIRST],
                   read_named(block));
        return true;
    case OP_EXPLODE:
        if (!reader_accept(reader, "list")) return false;
        op->explode.column = reader_u32(reader);
        op->explode.outer = reader_accept(reader, "outer");
        return true;
    case OP_GROUP: return group_line(block);
    case OP_SORT: return sort_line(block);
    case OP_WINDOW: return window_line(block);
    case OP_LIMIT:
        return use_line(block, "count", &op->limit.count) ||
               use_line(block, "skip", &op->limit.skip);
    case OP_DISTINCT:
        if (!reader_accept(reader, "key")) return false;
        arena_push(reader->arena, op->distinct.keys, op->distinct.count, block->caps[CAP_FIRST],
                   read_use(block));
        return true;
    case OP_JOIN: return join_line(block);
    case OP_UNION:
        if (!reader_accept(reader, "right")) return false;
        arena_push(reader->arena, op->union_.right_columns, op->column_count,
                   block->caps[CAP_FIRST], reader_u32(reader));
        return true;
    case OP_ZIP: return false;
    case OP_SHUFFLE: return use_line(block, "seed", &op->shuffle.seed);
    case OP_SAMPLE:
        return use_line(block, "fraction", &op->sample.fraction) ||
               use_line(block, "seed", &op->sample.seed);
    case OP_HINT: return hint_line(block);
    case OP_SINK: return sink_line(block);
    }
    return false;
}

static void clear_options(FileOptions *options) {
    *options = file_options_none();
    options->zone = (Text){0};
}

// Expressions that a line may leave out are none, not the node number 0.
static void clear_uses(Op *op) {
    switch (op->kind) {
    case OP_SOURCE:
        op->source.path = EXPR_NONE;
        clear_options(&op->source.options);
        break;
    case OP_FILTER: op->filter.pred = EXPR_NONE; break;
    case OP_LIMIT: op->limit.count = op->limit.skip = EXPR_NONE; break;
    case OP_SHUFFLE: op->shuffle.seed = EXPR_NONE; break;
    case OP_SAMPLE: op->sample.fraction = op->sample.seed = EXPR_NONE; break;
    case OP_SINK:
        op->sink.path = op->sink.key = EXPR_NONE;
        clear_options(&op->sink.options);
        break;
    case OP_HINT: op->hint.rows = op->hint.bytes = EXPR_NONE; break;
    case OP_WINDOW: op->window.most = EXPR_NONE; break;
    case OP_JOIN: op->join.where = op->join.seek = op->join.within = EXPR_NONE; break;
    case OP_PROJECT: case OP_EXPLODE: case OP_GROUP: case OP_SORT: case OP_DISTINCT: case OP_UNION:
    case OP_ZIP:
        break;
    }
}

// ---- blocks ----

static Block block_begin(Reader *reader, Graph *graph) {
    reader_expect(reader, "{");
    reader_line_end(reader);
    return (Block){.reader = reader, .graph = graph};
}

static void block_end(Block *block) {
    reader_expect(block->reader, "}");
    reader_line_end(block->reader);
}

static void read_nodes(Block *block) {
    while (reader_accept(block->reader, "$")) read_node(block);
}

static Column read_out(Reader *reader) {
    Column column = {.name = reader_name(reader)};
    reader_expect(reader, ":");
    column.type = reader_type(reader);
    column.hidden = reader_accept(reader, "hidden");
    column.unread = reader_accept(reader, "unread");
    reader_line_end(reader);
    return column;
}

// How many columns the payload speaks of must be how many there are.
static bool counts_fit(const Op *op, uint32_t payload, uint32_t outs) {
    if (op->kind == OP_SOURCE) return outs == op->source.column_count + payload;
    bool tells = op->kind == OP_JOIN || op->kind == OP_UNION || op->kind == OP_WINDOW;
    return !tells || payload == outs;
}

static void read_op_body(Reader *reader, Graph *graph, Op *op) {
    Block block = block_begin(reader, graph);
    block.op = op;
    clear_uses(op);
    read_nodes(&block);
    while (!reader->failed && !reader_is(reader, "out") && !reader_is(reader, "}")) {
        if (!op_line(&block)) reader_fail(reader, "a line of this operator");
        reader_line_end(reader);
    }
    uint32_t outs = 0;
    while (!reader->failed && reader_accept(reader, "out"))
        arena_push(reader->arena, op->columns, outs, block.caps[CAP_OUT], read_out(reader));
    if (!counts_fit(op, op->column_count, outs))
        reader_fail(reader, "as many columns as the payload has");
    op->column_count = outs;
    block_end(&block);
}

static Format read_format(Reader *reader) {
    for (Format format = 0; format < FORMAT_COUNT; format++)
        if (reader_accept(reader, format_name(format))) return format;
    reader_fail(reader, "a format");
    return 0;
}

static void read_origin(Reader *reader, SourceOp *source) {
    if (reader_accept(reader, "range")) source->kind = SOURCE_RANGE;
    else if (reader_accept(reader, "inline")) source->kind = SOURCE_INLINE;
    else source->format = read_format(reader);
}

static OpKind read_kind(Reader *reader) {
    Text name = reader_name(reader);
    for (OpKind kind = OP_SOURCE; kind <= OP_SINK; kind++)
        if (text_is(name, op_kind_name(kind))) return kind;
    reader_fail(reader, "an operator");
    return OP_SOURCE;
}

static void read_op(Reader *reader, Graph *graph) {
    if (reader_u32(reader) != graph->op_count) reader_fail(reader, "operators numbered from 0");
    reader_expect(reader, "=");
    OpKind kind = read_kind(reader);
    Op *op = graph_op(graph, kind, STEP_NONE, (Span){.file = SPAN_NONE});
    if (kind == OP_SOURCE) read_origin(reader, &op->source);
    if (kind == OP_SINK) op->sink.format = read_format(reader);
    for (uint32_t i = 0; i < op->input_count; i++) {
        reader_expect(reader, "%");
        op->inputs[i] = (OpId){reader_u32(reader)};
        if (!reader->failed && op->inputs[i].i >= op->id.i)
            reader_fail(reader, "an operator above");
    }
    if (reader_accept(reader, "step")) op->step = (StepId){reader_u32(reader)};
    if (reader_accept(reader, "with")) {
        op->resources = (ResourcesId){reader_u32(reader)};
        if (op->resources.i >= graph->resources_count) reader_fail(reader, "resources above");
    }
    if (reader_accept(reader, "name")) op->name = reader_name(reader);
    op->span = reader_span(reader);
    read_op_body(reader, graph, op);
}

static void read_param(Reader *reader, Graph *graph) {
    Param param = {.name = reader_name(reader), .value = EXPR_NONE};
    reader_expect(reader, ":");
    param.type = reader_type(reader);
    param.span = reader_span(reader);
    Block block = block_begin(reader, graph);
    read_nodes(&block);
    if (use_line(&block, "value", &param.value)) reader_line_end(reader);
    if (reader_accept(reader, "doc")) {
        param.doc = reader_string(reader);
        reader_line_end(reader);
    }
    block_end(&block);
    arena_push(graph->arena, graph->params, graph->param_count, graph->param_cap, param);
}

static void read_rejects(Reader *reader, Graph *graph) {
    RejectsSink *rejects = &graph->rejects;
    if (rejects->present) reader_fail(reader, "one rejects statement");
    rejects->present = true;
    rejects->format = read_format(reader);
    rejects->span = reader_span(reader);
    Block block = block_begin(reader, graph);
    read_nodes(&block);
    if (use_line(&block, "path", &rejects->path)) reader_line_end(reader);
    rejects->append = reader_accept(reader, "append");
    if (rejects->append) reader_line_end(reader);
    rejects->has_rows = use_line(&block, "rows", &rejects->limit_rows);
    if (rejects->has_rows) reader_line_end(reader);
    rejects->has_share = use_line(&block, "share", &rejects->limit_share);
    if (rejects->has_share) reader_line_end(reader);
    block_end(&block);
}

static void read_resources(Reader *reader, Graph *graph) {
    Resources resources = {0};
    size_t cap = 0;
    reader_expect(reader, "cpus");
    resources.cpus = reader_u32(reader);
    if (reader_accept(reader, "cpu")) resources.on = ON_CPU;
    else if (reader_accept(reader, "gpu")) resources.on = ON_GPU;
    else if (reader_accept(reader, "placed")) resources.on = ON_PLACED;
    resources.approx = reader_accept(reader, "approx");
    if (reader_accept(reader, "concurrency")) resources.concurrency = reader_u32(reader);
    if (reader_accept(reader, "memory")) resources.memory = reader_i64(reader);
    if (reader_accept(reader, "batch")) resources.batch = reader_i64(reader);
    if (reader_accept(reader, "timeout")) resources.timeout = reader_i64(reader);
    while (reader_accept(reader, "custom")) {
        Resource custom = {.name = reader_name(reader)};
        custom.amount = reader_u32(reader);
        arena_push(reader->arena, resources.customs, resources.custom_count, cap, custom);
    }
    size_t count = graph->resources_count;
    if (graph_resources(graph, resources).i != count) reader_fail(reader, "other resources");
    reader_line_end(reader);
}

static void read_passed(Reader *reader, Graph *graph) {
    graph->passed = pass_find(reader->token.text);
    graph->facts = pass_facts(graph->passed);
    if (graph->passed) reader_next(reader);
    else reader_fail(reader, "a pass");
    reader_line_end(reader);
}

static void read_statement(Reader *reader, Graph *graph) {
    if (reader_accept(reader, "passed")) {
        read_passed(reader, graph);
    } else if (reader_accept(reader, "file")) {
        Text file = reader_string(reader);
        arena_push(graph->arena, graph->files, graph->file_count, graph->file_cap, file);
        reader_line_end(reader);
    } else if (reader_accept(reader, "step")) {
        Text label = reader_string(reader);
        graph_step(graph, label, reader_span(reader));
        reader_line_end(reader);
    } else if (reader_accept(reader, "param")) {
        read_param(reader, graph);
    } else if (reader_accept(reader, "resources")) {
        read_resources(reader, graph);
    } else if (reader_accept(reader, "rejects")) {
        read_rejects(reader, graph);
    } else if (reader_accept(reader, "%")) {
        read_op(reader, graph);
    } else {
        reader_fail(reader, "a statement");
    }
}

Graph *graph_read(Arena *arena, TypeTable *types, Text text, GraphFault *fault) {
    Graph *graph = graph_new(arena, types);
    Reader reader = reader_make(arena, types, text, &fault->message);
    while (reader.token.kind == TOKEN_LINE) reader_next(&reader);
    while (reader.token.kind != TOKEN_END) read_statement(&reader, graph);
    fault->place = reader.place;
    return reader.failed ? nullptr : graph;
}
