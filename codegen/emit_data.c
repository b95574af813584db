// The job as constant data: SbJob and all that hangs on it (runtime/abi.h).
#include "codegen/emit_format.h"
#include "codegen/emit_group.h"
#include "codegen/emit_job.h"
#include "codegen/emit_scan.h"
#include "codegen/emit_sort.h"

#include "ir/pass.h"
#include "stdlib/text.h"

#include <stdio.h>

#define PART(parts, Struct, field, value) \
    part_add(e, (parts), offsetof(Struct, field), (value), sizeof(((Struct *)0)->field))

static Val byte(const Emit *e, uint64_t value) { return emit_int(e, e->i8, value); }

static Val numbers(Emit *e, const uint32_t *items, uint32_t count) {
    Val *values = arena_new_array(e->arena, Val, count + 1);
    for (uint32_t i = 0; i < count; i++) values[i] = emit_i32(e, items[i]);
    return emit_sequence(e, values, count, "numbers");
}

static Text step_label(const Emit *e, StepId step) {
    return step.i < e->graph->step_count ? e->graph->steps[step.i].label : TEXT("");
}

// ---- parameters, steps, sites -------------------------------------------------------------------

// As the program spells it; an IR file has no such text.
static Text default_text(Emit *e, const Param *param) {
    Span span = graph_at(e->graph, param->value)->span;
    if (span.file < e->graph->file_count && span.start < span.end &&
        span.end <= e->options->sources[span.file].len) {
        return (Text){e->options->sources[span.file].at + span.start, span.end - span.start};
    }
    TextBuf buf = {0};
    graph_print_expr(&buf, e->graph, param->value);
    return text_buf_take(&buf, e->arena);
}

static Val param_constant(Emit *e, const Param *param) {
    Parts parts = {0};
    bool required = expr_is_none(param->value);
    part_add_text(e, &parts, offsetof(SbParam, name), param->name);
    part_add_text(e, &parts, offsetof(SbParam, doc), param->doc);
    PART(&parts, SbParam, type, emit_sbtype(e, param->type));
    PART(&parts, SbParam, required, byte(e, required));
    if (!required) {
        const Expr *value = graph_at(e->graph, param->value);
        part_add_text(e, &parts, offsetof(SbParam, value_text), default_text(e, param));
        PART(&parts, SbParam, value,
             emit_global(e, emit_const_memory(e, param->type, &value->value), "default"));
    }
    return parts_struct(e, &parts, sizeof(SbParam));
}

uint32_t op_last_step(const Graph *graph, OpId id) {
    const Op *op = graph_op_at(graph, id);
    while (op->step.i == STEP_NONE.i && op->input_count) op = graph_op_at(graph, op->inputs[0]);
    if (op->kind == OP_SOURCE && op->source.filter_count)
        return op->source.filters[op->source.filter_count - 1].step.i;
    return op->step.i;
}

// The first operator of a step, and the steps that its rows come from.
static void step_inputs(const Emit *e, uint32_t step, uint32_t from[2], OpKind *kind) {
    from[0] = from[1] = UINT32_MAX;
    for (size_t i = 0; i < e->graph->op_count; i++) {
        const Op *op = &e->graph->ops[i];
        if (op->step.i != step) continue;
        *kind = op->kind;
        for (uint32_t side = 0; side < op->input_count; side++)
            from[side] = op_last_step(e->graph, op->inputs[side]);
        return;
    }
    // A filter that the reader runs: behind the filters before it.
    for (size_t i = 0; i < e->graph->op_count; i++) {
        const Op *op = &e->graph->ops[i];
        for (uint32_t f = 0; op->kind == OP_SOURCE && f < op->source.filter_count; f++) {
            if (op->source.filters[f].step.i != step) continue;
            *kind = OP_FILTER;
            from[0] = f ? op->source.filters[f - 1].step.i : op->step.i;
        }
    }
}

static Val step_constant(Emit *e, uint32_t index) {
    Parts parts = {0};
    const Step *step = &e->graph->steps[index];
    uint32_t from[2];
    OpKind kind = OP_HINT;
    step_inputs(e, index, from, &kind);
    part_add_text(e, &parts, offsetof(SbStepInfo, label), step->label);
    bool known = step->span.file < e->graph->file_count;
    PART(&parts, SbStepInfo, file, emit_i32(e, known ? step->span.file : UINT32_MAX));
    PART(&parts, SbStepInfo, begin, emit_i32(e, step->span.start));
    PART(&parts, SbStepInfo, end, emit_i32(e, step->span.end));
    PART(&parts, SbStepInfo, line, emit_i32(e, emit_locate(e, step->span).line));
    PART(&parts, SbStepInfo, kind, byte(e, (uint64_t)kind));
    part_add(e, &parts, offsetof(SbStepInfo, from), emit_i32(e, from[0]), 4);
    part_add(e, &parts, offsetof(SbStepInfo, from) + 4, emit_i32(e, from[1]), 4);
    PART(&parts, SbStepInfo, counts_in, byte(e, e->plan->counts_in[index]));
    return parts_struct(e, &parts, sizeof(SbStepInfo));
}

static Val site_constant(Emit *e, const Site *site) {
    Parts parts = {0};
    LineColumn at = emit_locate(e, site->span);
    PART(&parts, SbSite, step, emit_i32(e, site->step));
    PART(&parts, SbSite, line, emit_i32(e, at.line));
    PART(&parts, SbSite, column, emit_i32(e, at.column));
    part_add_text(e, &parts, offsetof(SbSite, file),
                  at.line ? e->graph->files[site->span.file] : TEXT(""));
    part_add_text(e, &parts, offsetof(SbSite, what), site->what);
    PART(&parts, SbSite, fails, byte(e, site->fails));
    PART(&parts, SbSite, merges, byte(e, (uint8_t)site->merges));
    return parts_struct(e, &parts, sizeof(SbSite));
}

static Val file_constant(Emit *e, uint32_t index) {
    Parts parts = {0};
    part_add_text(e, &parts, offsetof(SbFile, path), e->options->paths[index]);
    part_add_text(e, &parts, offsetof(SbFile, text), e->options->sources[index]);
    return parts_struct(e, &parts, sizeof(SbFile));
}

// ---- sources and sinks --------------------------------------------------------------------------

// sb_reader_NAME, sb_writer_NAME (runtime/format.h).
static Val format_part(Emit *e, const char *part, Format format) {
    const char *name = text_c(e->arena, text_format(e->arena, "sb_%s_%s", part,
                                                    format_folder(format)));
    Val there = LLVMGetNamedGlobal(e->module, name);
    return there ? there : LLVMAddGlobal(e->module, e->ptr, name);
}

static Val source_fields(Emit *e, const SourceOp *source) {
    Val *fields = arena_new_array(e->arena, Val, source->column_count + 1);
    for (uint32_t i = 0; i < source->column_count; i++) {
        Parts parts = {0};
        part_add_text(e, &parts, offsetof(SbField, name), source->columns[i].name);
        PART(&parts, SbField, type, emit_sbtype(e, source->columns[i].type));
        PART(&parts, SbField, offset, emit_i64(e, (int64_t)record_offset(source, i)));
        fields[i] = parts_struct(e, &parts, sizeof(SbField));
    }
    return emit_sequence(e, fields, source->column_count, "columns");
}

static Val null_words(Emit *e, const CsvOptions *csv) {
    Val *words = arena_new_array(e->arena, Val, csv->null_count + 1);
    for (uint32_t i = 0; i < csv->null_count; i++) {
        Parts parts = {0};
        part_add_text(e, &parts, 0, csv->nulls[i]);
        words[i] = parts_struct(e, &parts, sizeof(SbStr));
    }
    return emit_sequence(e, words, csv->null_count, "nulls");
}

// Inline rows: entries as load_record (emit_entries.c) reads them.
static Val inline_rows(Emit *e, const SourceOp *source) {
    Val *rows = arena_new_array(e->arena, Val, source->row_count + 1);
    for (uint32_t r = 0; r < source->row_count; r++) {
        Parts parts = {0};
        size_t end = sizeof(SbEntry);
        for (uint32_t c = 0; c < source->column_count; c++) {
            const Type *type = source->columns[c].type;
            end = record_offset(source, c) + type_size(type);
            part_add(e, &parts, record_offset(source, c),
                     emit_const_memory(e, type, &source->rows[r].items[c]), type_size(type));
        }
        rows[r] = emit_global(e, parts_struct(e, &parts, end), "row");
    }
    return emit_sequence(e, rows, source->row_count, "rows");
}

// Does an expression that the flow computes ask for the line of its row?
static bool wants_lines(const Emit *e) {
    for (size_t i = 0; i < e->graph->expr_count; i++)
        if (e->graph->exprs[i].op == EXPR_PLACE && e->graph->exprs[i].index == PLACE_LINE)
            return true;
    for (size_t i = 0; i < e->plan->breaker_count; i++)
        if (e->plan->breakers[i].place_offset != SIZE_MAX) return true;
    return false;
}

static Val key_fields(Emit *e, const SourceOp *source) {
    Val *fields = arena_new_array(e->arena, Val, source->key_count + 1);
    for (uint32_t i = 0; i < source->key_count; i++) {
        Parts parts = {0};
        part_add_text(e, &parts, offsetof(SbField, name), source->keys[i].name);
        fields[i] = parts_struct(e, &parts, sizeof(SbField));
    }
    return emit_sequence(e, fields, source->key_count, "keys");
}

static uint32_t encoding_of(const SourceOp *source) {
    Text name = source->options.encoding;
    return name.len ? sb_encoding_of((SbStr){name.at, (int64_t)name.len}) : SB_ENCODING_UTF8;
}

static Val source_constant(Emit *e, OpId id) {
    const Op *op = graph_op_at(e->graph, id);
    const SourceOp *source = &op->source;
    const CsvOptions *csv = &source->options.csv;
    Parts parts = {0};
    part_add_text(e, &parts, offsetof(SbSource, label), step_label(e, op->step));
    if (source->kind == SOURCE_FILES)
        PART(&parts, SbSource, reader, format_part(e, "reader", source->format));
    PART(&parts, SbSource, step, emit_i32(e, op->step.i));
    PART(&parts, SbSource, delimiter, byte(e, (uint8_t)csv->delimiter));
    PART(&parts, SbSource, quote, byte(e, (uint8_t)csv->quote));
    PART(&parts, SbSource, decimal, byte(e, (uint8_t)csv->decimal));
    PART(&parts, SbSource, header, byte(e, csv->header));
    part_add_text(e, &parts, offsetof(SbSource, comment), csv->comment);
    PART(&parts, SbSource, missing_null, byte(e, csv->missing_null));
    PART(&parts, SbSource, skip, emit_i64(e, csv->skip));
    PART(&parts, SbSource, nulls, null_words(e, csv));
    PART(&parts, SbSource, null_count, emit_i32(e, csv->null_count));
    WordColumns words = word_columns_of(e, op->id);
    if (words.count) PART(&parts, SbSource, word_columns, numbers(e, words.columns, words.count));
    PART(&parts, SbSource, word_column_count, emit_i32(e, words.count));
    PART(&parts, SbSource, encoding, emit_i32(e, encoding_of(source)));
    part_add_text(e, &parts, offsetof(SbSource, type_name), source->type_name);
    PART(&parts, SbSource, columns, source_fields(e, source));
    PART(&parts, SbSource, column_count, emit_i32(e, source->column_count));
    bool lines = source->kind == SOURCE_FILES && format_info(source->format)->lines;
    PART(&parts, SbSource, wants_lines, byte(e, lines && wants_lines(e)));
    PART(&parts, SbSource, fails, byte(e, e->plan->fails[op->id.i]));
    if (source->kind == SOURCE_INLINE) PART(&parts, SbSource, rows, inline_rows(e, source));
    PART(&parts, SbSource, row_count, emit_i64(e, source->row_count));
    if (source->key_count > 0) PART(&parts, SbSource, keys, key_fields(e, source));
    PART(&parts, SbSource, key_count, emit_i32(e, source->key_count));
    return parts_struct(e, &parts, sizeof(SbSource));
}

static Val sink_fields(Emit *e, const SinkOp *sink) {
    Val *fields = arena_new_array(e->arena, Val, sink->column_count + 1);
    for (uint32_t i = 0; i < sink->column_count; i++) {
        Parts parts = {0};
        const Type *type = graph_at(e->graph, sink->columns[i].value)->type;
        part_add_text(e, &parts, offsetof(SbField, name), sink->columns[i].name);
        PART(&parts, SbField, type, emit_sbtype(e, type));
        fields[i] = parts_struct(e, &parts, sizeof(SbField));
    }
    return emit_sequence(e, fields, sink->column_count, "columns");
}

static Val sink_constant(Emit *e, OpId id) {
    const Op *op = graph_op_at(e->graph, id);
    Parts parts = {0};
    part_add_text(e, &parts, offsetof(SbSink, label), step_label(e, op->step));
    PART(&parts, SbSink, writer, format_part(e, "writer", op->sink.format));
    PART(&parts, SbSink, step, emit_i32(e, op->step.i));
    const SinkFormat *format = sink_format_of(&op->sink);
    part_add_text(e, &parts, offsetof(SbSink, header),
                  format->header ? format->header(e, &op->sink) : TEXT(""));
    part_add_text(e, &parts, offsetof(SbSink, shape), op->sink.shape);
    PART(&parts, SbSink, quote, byte(e, (uint8_t)op->sink.options.csv.quote));
    PART(&parts, SbSink, apart, byte(e, op->sink.options.apart));
    PART(&parts, SbSink, append, byte(e, op->sink.options.append));
    PART(&parts, SbSink, columns, sink_fields(e, &op->sink));
    PART(&parts, SbSink, column_count, emit_i32(e, op->sink.column_count));
    return parts_struct(e, &parts, sizeof(SbSink));
}

// ---- breakers and stages ------------------------------------------------------------------------

// The columns of an entry, for rows shown as JSON.
static Val entry_type(Emit *e, const Breaker *breaker) {
    Val *fields = arena_new_array(e->arena, Val, breaker->slot_count + 1);
    for (uint32_t i = 0; i < breaker->slot_count; i++) {
        const Slot *slot = &breaker->slots[i];
        Parts parts = {0};
        part_add_text(e, &parts, offsetof(SbField, name), slot->name);
        PART(&parts, SbField, type, emit_sbtype(e, slot->type));
        PART(&parts, SbField, offset, emit_i64(e, (int64_t)slot->offset));
        fields[i] = parts_struct(e, &parts, sizeof(SbField));
    }
    Parts parts = {0};
    PART(&parts, SbType, kind, byte(e, SB_STRUCT));
    PART(&parts, SbType, size, emit_i32(e, (uint32_t)breaker->entry_bytes));
    PART(&parts, SbType, align, emit_i32(e, 16));
    PART(&parts, SbType, fields, emit_sequence(e, fields, breaker->slot_count, "fields"));
    PART(&parts, SbType, field_count, emit_i32(e, breaker->slot_count));
    return emit_global(e, parts_struct(e, &parts, sizeof(SbType)), "entry_type");
}

// `name`: of a function of stdlib/aggregate/held.h.
static Val held_constant(Emit *e, size_t offset, const Type *type, Text name) {
    const char *symbol = text_c(e->arena, text_format(e->arena, "sb_held_%.*s", TEXT_ARG(name)));
    Ty params[] = {e->ptr, e->ptr, e->ptr};
    Val fn = LLVMGetNamedFunction(e->module, symbol);
    if (!fn)
        fn = LLVMAddFunction(e->module, symbol, LLVMFunctionType(e->type_void, params, 3, false));
    Parts parts = {0};
    PART(&parts, SbHeld, offset, emit_i32(e, (uint32_t)offset));
    if (type) PART(&parts, SbHeld, type, emit_sbtype(e, type));
    PART(&parts, SbHeld, hold, fn);
    return parts_struct(e, &parts, sizeof(SbHeld));
}

// Texts lie anywhere; elements of lists and most states want multiples of 16.
static bool is_narrow(Emit *e, const Breaker *breaker) {
    bool narrow = breaker->entry_align <= sizeof(uint64_t);
    const Op *op = graph_op_at(e->graph, breaker->op);
    for (uint32_t i = 0; i < breaker->slot_count; i++)
        narrow &= !type_is_nested(type_base(breaker->slots[i].type));
    for (uint32_t i = 0; i < group_agg_count(e, breaker); i++) {
        const AggRef *fn = op->group.aggs[i].fn;
        if (!fn || !fn->held.len || !plan_owns_state(breaker, i)) continue;
        narrow &= text_eq(fn->held, TEXT("extreme_str"));
    }
    return narrow;
}

// What an entry of the breaker points to: keys, columns, states of aggregates, its place.
static Val held_table(Emit *e, const Breaker *breaker, uint32_t *count) {
    uint32_t aggs = group_agg_count(e, breaker);
    const Op *op = graph_op_at(e->graph, breaker->op);
    Val *items = arena_new_array(e->arena, Val, breaker->slot_count + aggs + 2);
    *count = 0;
    for (uint32_t i = 0; i < breaker->slot_count; i++) {
        const Slot *slot = &breaker->slots[i];
        const Type *base = type_base(slot->type);
        if (type_is_bytes(base) || type_is_nested(base))
            items[(*count)++] = held_constant(e, slot->offset, slot->type,
                                              slot->key_str ? TEXT("key") : TEXT("value"));
    }
    for (uint32_t i = 0; i < aggs; i++) {
        const Agg *agg = &op->group.aggs[i];
        if (!agg->fn || !agg->fn->held.len || !plan_owns_state(breaker, i)) continue;
        items[(*count)++] = held_constant(e, breaker->state_offsets[i], group_value_type(e, agg),
                                          agg->fn->held);
    }
    if (breaker->place_offset != SIZE_MAX)
        items[(*count)++] = held_constant(e, breaker->place_offset, nullptr, TEXT("place"));
    return emit_sequence(e, items, *count, "held");
}

static Val external(Emit *e, const char *format, uint32_t index, const char *level) {
    char name[64];
    int len = snprintf(name, sizeof name, format, index);
    snprintf(name + len, sizeof name - (size_t)len, "_%s", level);
    Val fn = LLVMGetNamedFunction(e->module, name);
    return fn ? fn : LLVMAddFunction(e->module, name, LLVMFunctionType(e->i32, &e->ptr, 1, false));
}

// The names of functions for bits are those of emit_breaker.c.
static Val sort_table(Emit *e, uint32_t index, const char *level, uint32_t *count) {
    const Breaker *breaker = &e->plan->breakers[index];
    const Op *op = graph_op_at(e->graph, breaker->op);
    const SortParts parts = sort_parts(e->arena, breaker);
    Val *items = arena_new_array(e->arena, Val, parts.count + 1);
    *count = parts.count;
    for (uint32_t i = 0; i < parts.count; i++) {
        const SortPart *from = &parts.items[i];
        const Slot *slot = &breaker->slots[from->key];
        char name[32];
        snprintf(name, sizeof name, "sb_" SORT_PART_NAME "_%%u", i);
        uint64_t valid = slot->type->nullable ? slot->offset + type_size(type_base(slot->type))
                                              : UINT32_MAX;
        Parts part = {0};
        if (from->kind == SB_SORT_BITS)
            PART(&part, SbSortPart, bits, external(e, name, index, level));
        if (from->kind == SB_SORT_TEXT) {
            PART(&part, SbSortPart, text_offset, emit_i32(e, (uint32_t)slot->offset));
            PART(&part, SbSortPart, valid_offset, emit_i32(e, (uint32_t)valid));
            PART(&part, SbSortPart, known, emit_i32(e, from->known));
        }
        PART(&part, SbSortPart, kind, byte(e, from->kind));
        if (from->kind == SB_SORT_TEXT)
            PART(&part, SbSortPart, descending, byte(e, op_sort_key(op, from->key).descending));
        items[i] = parts_struct(e, &part, sizeof(SbSortPart));
    }
    return emit_sequence(e, items, parts.count, "sort");
}

static SbJoinWants join_wants(const Op *op) {
    switch (op->join.kind) {
    // Of several rows of a key the condition may hold for any.
    case JOIN_SEMI: case JOIN_ANTI:
        return expr_is_none(op->join.where) && !join_is_nearest(op) ? SB_JOIN_ONE : SB_JOIN_MATCHES;
    case JOIN_RIGHT: case JOIN_FULL: return SB_JOIN_REST;
    case JOIN_INNER: case JOIN_LEFT: break;
    }
    return SB_JOIN_MATCHES;
}

// ---- windows ----

static_assert((int)SB_WINDOW_ROW_NUMBER == (int)WINDOW_ROW_NUMBER);
static_assert((int)SB_WINDOW_SESSION == (int)WINDOW_SESSION);
static_assert((int)SB_WINDOW_MAX == (int)WINDOW_MAX);
static_assert((int)SB_KEEPS_LAST == (int)KEEPS_LAST);
static_assert((int)SB_BOUNDS_MAX == (int)JOIN_BOUNDS_MAX);
static_assert((int64_t)SB_FRAME_ALL == (int64_t)FRAME_ALL);
static_assert((int)SB_FRAME_MONTHS == (int)FRAME_MONTHS);

static Val window_fn_constant(Emit *e, const Breaker *breaker, uint32_t i) {
    const WindowFn *fn = &graph_op_at(e->graph, breaker->op)->window.fns[i];
    const Slot *result = &breaker->slots[breaker->result_slots[i]];
    Parts parts = {0};
    PART(&parts, SbWindowFn, kind, byte(e, fn->kind));
    PART(&parts, SbWindowFn, unit, byte(e, fn->frame.unit));
    const Slot *value = breaker->value_slots[i] == SLOT_NONE
                            ? nullptr : &breaker->slots[breaker->value_slots[i]];
    if (value) PART(&parts, SbWindowFn, type, emit_sbtype(e, value->type));
    PART(&parts, SbWindowFn, result, emit_sbtype(e, result->type));
    if (value) PART(&parts, SbWindowFn, value_offset, emit_i32(e, (uint32_t)value->offset));
    PART(&parts, SbWindowFn, result_offset, emit_i32(e, (uint32_t)result->offset));
    PART(&parts, SbWindowFn, n, emit_i64(e, fn->n));
    PART(&parts, SbWindowFn, back, emit_i64(e, fn->frame.back));
    PART(&parts, SbWindowFn, ahead, emit_i64(e, fn->frame.ahead));
    return parts_struct(e, &parts, sizeof(SbWindowFn));
}

// The functions whose results somebody reads.
static Val window_table(Emit *e, const JobData *data, uint32_t index) {
    const Breaker *breaker = &e->plan->breakers[index];
    const WindowOp *window = &graph_op_at(e->graph, breaker->op)->window;
    Val *items = arena_new_array(e->arena, Val, window->fn_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < window->fn_count; i++)
        if (breaker->result_slots[i] != SLOT_NONE)
            items[count++] = window_fn_constant(e, breaker, i);
    Parts parts = {0};
    if (data->breakers[index].partition)
        PART(&parts, SbWindow, partition, external(e, "sb_partition_%u", index,
                                                   data->lowest_level));
    if (data->breakers[index].peers)
        PART(&parts, SbWindow, peers, external(e, "sb_peers_%u", index, data->lowest_level));
    PART(&parts, SbWindow, fns, emit_sequence(e, items, count, "window_fns"));
    PART(&parts, SbWindow, fn_count, emit_i32(e, count));
    if (window->sort_count) {
        const Slot *key = &breaker->slots[window->key_count];
        PART(&parts, SbWindow, key, emit_sbtype(e, key->type));
        PART(&parts, SbWindow, key_offset, emit_i32(e, (uint32_t)key->offset));
        PART(&parts, SbWindow, descending, byte(e, window->sort[0].descending));
    }
    PART(&parts, SbWindow, keeps, byte(e, window->keeps));
    return emit_global(e, parts_struct(e, &parts, sizeof(SbWindow)), "window");
}

static Val breaker_constant(Emit *e, const JobData *data, uint32_t index) {
    const Breaker *breaker = &e->plan->breakers[index];
    const Op *op = graph_op_at(e->graph, breaker->op);
    const char *level = data->lowest_level;
    Parts parts = {0};
    PART(&parts, SbBreaker, kind, byte(e, (uint64_t)breaker->kind));
    if (breaker->kind == BREAK_JOIN) {
        PART(&parts, SbBreaker, wants, byte(e, join_wants(op)));
        PART(&parts, SbBreaker, indexed, byte(e, plan_join_indexed(op, breaker->bound_count)));
        PART(&parts, SbBreaker, asker, emit_i32(e, breaker->asker));
    }
    PART(&parts, SbBreaker, step, emit_i32(e, op->step.i));
    PART(&parts, SbBreaker, entry_bytes, emit_i32(e, (uint32_t)breaker->entry_bytes));
    PART(&parts, SbBreaker, next_offset, emit_i32(e, (uint32_t)breaker->next_offset));
    PART(&parts, SbBreaker, matched_offset, emit_i32(e, (uint32_t)breaker->matched_offset));
    if (breaker->jump_offset != SIZE_MAX)
        PART(&parts, SbBreaker, jump_offset, emit_i32(e, (uint32_t)breaker->jump_offset));
    PART(&parts, SbBreaker, bound_count, emit_i32(e, breaker->bound_count));
    PART(&parts, SbBreaker, identity_offset, emit_i32(e, (uint32_t)breaker->identity_offset));
    PART(&parts, SbBreaker, place_offset, emit_i32(e, (uint32_t)breaker->place_offset));
    PART(&parts, SbBreaker, row, entry_type(e, breaker));
    uint32_t held_count;
    PART(&parts, SbBreaker, held, held_table(e, breaker, &held_count));
    PART(&parts, SbBreaker, held_count, emit_i32(e, held_count));
    PART(&parts, SbBreaker, narrow, byte(e, is_narrow(e, breaker)));
    PART(&parts, SbBreaker, key_count, emit_i32(e, breaker->key_count));
    PART(&parts, SbBreaker, keeps, byte(e, breaker->keeps_op));
    part_add_text(e, &parts, offsetof(SbBreaker, hands), breaker->hands);
    part_add_text(e, &parts, offsetof(SbBreaker, shares), breaker->shares);
    if (data->breakers[index].merge)
        PART(&parts, SbBreaker, merge, external(e, "sb_merge_%u", index, level));
    if (data->breakers[index].prefix)
        PART(&parts, SbBreaker, prefix, external(e, "sb_prefix_%u", index, level));
    if (data->breakers[index].prefix_more)
        PART(&parts, SbBreaker, prefix_more, external(e, "sb_prefix_more_%u", index, level));
    if (data->breakers[index].compare)
        PART(&parts, SbBreaker, compare, external(e, "sb_compare_%u", index, level));
    if (breaker->kind == BREAK_SORT && breaker->ordered) {
        uint32_t count;
        PART(&parts, SbBreaker, parts, sort_table(e, index, level, &count));
        PART(&parts, SbBreaker, part_count, emit_i32(e, count));
    }
    if (breaker->kind == BREAK_SORT && op->kind == OP_WINDOW)
        PART(&parts, SbBreaker, window, window_table(e, data, index));
    if (data->breakers[index].equal)
        PART(&parts, SbBreaker, equal, external(e, "sb_equal_%u", index, level));
    if (data->breakers[index].number)
        PART(&parts, SbBreaker, number, external(e, "sb_number_%u", index, level));
    if (data->breakers[index].bounds)
        PART(&parts, SbBreaker, bounds, external(e, "sb_bounds_%u", index, level));
    return parts_struct(e, &parts, sizeof(SbBreaker));
}

static SbInputKind input_kind(const Emit *e, const Stage *stage) {
    if (stage->kind == STAGE_ROWS) return SB_INPUT_ROWS;
    if (stage->kind == STAGE_UNMATCHED) return SB_INPUT_UNMATCHED;
    const SourceOp *source = &graph_op_at(e->graph, stage->root)->source;
    switch (source->kind) {
    case SOURCE_RANGE: return SB_INPUT_RANGE;
    case SOURCE_INLINE: return SB_INPUT_RECORDS;
    case SOURCE_FILES: break;
    }
    return format_info(source->format)->input == FORMAT_SCANNED ? SB_INPUT_TEXT : SB_INPUT_FILES;
}

static Val stage_terminals(Emit *e, const Stage *stage, bool *keeps_order) {
    uint32_t *items = arena_new_array(e->arena, uint32_t, stage->terminal_count + 1);
    for (uint32_t i = 0; i < stage->terminal_count; i++) {
        const Terminal *terminal = &stage->terminals[i];
        items[i] = terminal->is_sink ? terminal->index | SB_TERMINAL_SINK : terminal->index;
        *keeps_order |= plan_is_limited(e->plan, terminal);
    }
    return numbers(e, items, stage->terminal_count);
}

// Pairs of a resource's number and an amount.
static Val stage_demands(Emit *e, const Stage *stage, uint32_t *count) {
    static_assert((int)CUSTOMS_MAX == (int)SB_RESOURCES_MAX);
    const Resources *all = &e->graph->resources[stage->resources.i];
    uint32_t *pairs = arena_new_array(e->arena, uint32_t, 2 * (all->custom_count + 1));
    *count = 0;
    if (all->cpus) pairs[(*count)++] = SB_CPUS, pairs[(*count)++] = all->cpus;
    for (uint32_t i = 0; i < all->custom_count; i++) {
        uint32_t number = 0;
        while (!text_eq(e->plan->resources[number], all->customs[i].name)) number++;
        pairs[(*count)++] = number;
        pairs[(*count)++] = all->customs[i].amount;
    }
    Val demands = numbers(e, pairs, *count);
    *count /= 2;
    return demands;
}

// Does a step of the stage call impure functions, or a sink that it feeds?
static bool is_impure(const Emit *e, const Stage *stage) {
    bool impure = false;
    for (uint32_t i = 0; i < stage->op_count; i++)
        impure |= op_has_effects(e->graph, graph_op_at(e->graph, stage->ops[i]));
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        impure |= op_has_effects(e->graph, graph_op_at(e->graph, stage->terminals[t].consumer));
    return impure;
}

static Val stage_constant(Emit *e, const JobData *data, uint32_t index) {
    const Stage *stage = &e->plan->stages[index];
    Parts parts = {0};
    bool keeps_order = false;
    for (int level = 0; level < 2; level++)
        if (data->level_names[level])
            part_add(e, &parts, offsetof(SbStage, run_level) + sizeof(void *) * (size_t)level,
                     external(e, "sb_stage_%u", index, data->level_names[level]), 8);
    if (stage_probes(e, index))
        PART(&parts, SbStage, ask, external(e, "sb_ask_%u", index, data->lowest_level));
    part_add_text(e, &parts, offsetof(SbStage, label), stage->label);
    PART(&parts, SbStage, input, byte(e, input_kind(e, stage)));
    PART(&parts, SbStage, input_index,
         emit_i32(e, stage->kind == STAGE_SCAN ? stage->source : stage->breaker));
    PART(&parts, SbStage, right_index, emit_i32(e, stage->zip_breaker));
    PART(&parts, SbStage, zip_site, emit_i32(e, data->zip_sites[index]));
    PART(&parts, SbStage, needs, numbers(e, stage->needs, stage->need_count));
    PART(&parts, SbStage, need_count, emit_i32(e, stage->need_count));
    Val terminals = stage_terminals(e, stage, &keeps_order);
    PART(&parts, SbStage, terminals, terminals);
    PART(&parts, SbStage, terminal_count, emit_i32(e, stage->terminal_count));
    PART(&parts, SbStage, keeps_order, byte(e, keeps_order));
    PART(&parts, SbStage, rank, emit_i32(e, stage->rank));
    uint32_t demand_count;
    PART(&parts, SbStage, demands, stage_demands(e, stage, &demand_count));
    PART(&parts, SbStage, demand_count, emit_i32(e, demand_count));
    PART(&parts, SbStage, concurrency,
         emit_i32(e, e->graph->resources[stage->resources.i].concurrency));
    PART(&parts, SbStage, memory, emit_i64(e, stage->memory));
    PART(&parts, SbStage, batch, emit_i64(e, stage->batch));
    PART(&parts, SbStage, timeout, emit_i64(e, stage->timeout));
    PART(&parts, SbStage, row_bytes, emit_i64(e, (int64_t)stage->row_bytes));
    PART(&parts, SbStage, calls, stage_batch(e, stage));
    Val lay = stage_lays_columns(e, stage) ? external(e, "sb_lay_%u", index, data->lowest_level)
                                           : LLVMConstNull(e->ptr);
    PART(&parts, SbStage, kernels, stage_kernels(e, stage, lay));
    PART(&parts, SbStage, section, emit_i32(e, stage->section));
    part_add_text(e, &parts, offsetof(SbStage, home), stage->home);
    OnDevice on = e->graph->resources[stage->resources.i].on;
    PART(&parts, SbStage, gpu, byte(e, on == ON_GPU ? SB_GPU_ASKED
                                                    : on == ON_PLACED ? SB_GPU_PLACED : 0));
    PART(&parts, SbStage, impure, byte(e, is_impure(e, stage)));
    return parts_struct(e, &parts, sizeof(SbStage));
}

// ---- the job ------------------------------------------------------------------------------------

#define TABLE(Item, list, count, call)                                                            \
    Val *list = arena_new_array(e->arena, Val, (count) + 1);                                      \
    for (uint32_t i = 0; i < (count); i++) list[i] = (call);

static void list_parts(Emit *e, Parts *parts, size_t offset, Val *items, size_t count,
                       const char *name) {
    part_add(e, parts, offset, emit_sequence(e, items, (uint32_t)count, name), 8);
    part_add(e, parts, offset + 8, emit_i32(e, (uint32_t)count), 4);
}

static Val resource_names(Emit *e) {
    const Plan *plan = e->plan;
    Val *names = arena_new_array(e->arena, Val, plan->resource_count + 1);
    for (size_t i = 0; i < plan->resource_count; i++) {
        Parts parts = {0};
        part_add_text(e, &parts, 0, plan->resources[i]);
        names[i] = parts_struct(e, &parts, sizeof(SbStr));
    }
    return emit_sequence(e, names, (uint32_t)plan->resource_count, "resources");
}

// An ELF note: the lengths of owner and content, a type, the owner, the content.
static void emit_job_mark(Emit *e) {
    static const char owner[] = SB_MARK_OWNER;
    static_assert(sizeof owner % 4 == 0);
    Val parts[] = {
        emit_i32(e, sizeof owner), emit_i32(e, sizeof(uint32_t)), emit_i32(e, SB_MARK_TYPE),
        LLVMConstStringInContext2(e->ctx, owner, sizeof owner, true), emit_i32(e, SB_ABI_VERSION)};
    Val mark = emit_global(e, LLVMConstStructInContext(e->ctx, parts, countof(parts), true),
                           "sb_job_mark");
    LLVMSetLinkage(mark, LLVMExternalLinkage);  // Else it goes: nothing refers to it.
    LLVMSetAlignment(mark, 4);
    LLVMSetSection(mark, ".note.sbc");
}

void emit_job_data(Emit *e, const JobData *data) {
    const Graph *graph = e->graph;
    const Plan *plan = e->plan;
    TABLE(SbParam, params, graph->param_count, param_constant(e, &graph->params[i]))
    TABLE(SbStepInfo, steps, graph->step_count, step_constant(e, i))
    TABLE(SbSource, sources, plan->source_count, source_constant(e, plan->sources[i]))
    TABLE(SbSink, sinks, plan->sink_count, sink_constant(e, plan->sinks[i]))
    TABLE(SbBreaker, breakers, plan->breaker_count, breaker_constant(e, data, i))
    TABLE(SbStage, stages, plan->stage_count, stage_constant(e, data, i))
    TABLE(SbSite, sites, data->site_count, site_constant(e, &data->sites[i]))
    TABLE(SbFile, files, graph->file_count, file_constant(e, i))
    Parts parts = {0};
    PART(&parts, SbJob, abi_version, emit_i32(e, SB_ABI_VERSION));
    part_add_text(e, &parts, offsetof(SbJob, name), text_of(e->options->job_name));
    part_add_text(e, &parts, offsetof(SbJob, plan), text_of(e->options->plan_text));
    part_add_text(e, &parts, offsetof(SbJob, source_hash), text_of(e->options->source_hash));
    PART(&parts, SbJob, setup,
         LLVMAddFunction(e->module, data->setup_name, LLVMFunctionType(e->i32, &e->ptr, 1, false)));
    list_parts(e, &parts, offsetof(SbJob, params), params, graph->param_count, "params");
    list_parts(e, &parts, offsetof(SbJob, steps), steps, graph->step_count, "steps");
    list_parts(e, &parts, offsetof(SbJob, sources), sources, plan->source_count, "sources");
    list_parts(e, &parts, offsetof(SbJob, sinks), sinks, plan->sink_count, "sinks");
    list_parts(e, &parts, offsetof(SbJob, breakers), breakers, plan->breaker_count, "breakers");
    Val stage_table = emit_sequence(e, stages, (uint32_t)plan->stage_count, "stages");
    LLVMSetGlobalConstant(stage_table, false);  // The runtime sets `run` at start.
    part_add(e, &parts, offsetof(SbJob, stages), stage_table, 8);
    PART(&parts, SbJob, stage_count, emit_i32(e, (uint32_t)plan->stage_count));
    list_parts(e, &parts, offsetof(SbJob, sites), sites, data->site_count, "sites");
    list_parts(e, &parts, offsetof(SbJob, files), files, graph->file_count, "files");
    part_add(e, &parts, offsetof(SbJob, resources), resource_names(e), 8);
    PART(&parts, SbJob, resource_count, emit_i32(e, (uint32_t)plan->resource_count));
    bool csv = format_info(graph->rejects.format)->records == FORMAT_RECORDS_CSV;
    PART(&parts, SbJob, rejects_form, byte(e, csv ? SB_RECORDS_CSV : SB_RECORDS_JSONL));
    PART(&parts, SbJob, rejects_append, byte(e, graph->rejects.append));
    PART(&parts, SbJob, python, job_python(e));  // Of the stages above.
    PART(&parts, SbJob, word_count, emit_i32(e, word_columns_of_all(e)));
    Val job = emit_global(e, parts_struct(e, &parts, sizeof(SbJob)), "sb_job");
    LLVMSetLinkage(job, LLVMExternalLinkage);
    emit_job_mark(e);
}

// int main(int argc, char **argv) { return sb_main(argc, argv, &sb_job); }
void emit_job_main(Emit *e) {
    Ty params[] = {e->i32, e->ptr};
    emit_function_open(e, LLVMAddFunction(e->module, "main",
                                          LLVMFunctionType(e->i32, params, 2, false)));
    emit_at(e, e->entry);
    Val status = emit_callv(e, "sb_main", e->i32, arg(LLVMGetParam(e->fn, 0)),
                            arg(LLVMGetParam(e->fn, 1)),
                            arg(LLVMGetNamedGlobal(e->module, "sb_job")));
    LLVMBuildRet(e->b, status);
}
