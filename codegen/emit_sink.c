// Sinks: a row becomes text in the unit's output buffer. Room for the whole row is taken once.
#include "codegen/emit_part.h"
#include "codegen/emit_stage.h"

#include "stdlib/field.h"

#include <string.h>

enum {
    SCALAR_ROOM = 64,
    COLUMNS_HELD = 64,  // Of a row with more, values in memory stay there until they are written.
};

typedef struct SinkEmit {
    const Op  *op;
    Frame     *frame;    // Over the input.
    Val        out;      // SbOut *
    Val        rules;    // CSV: SbSinkRules constant.
    Value     *values, *spellings;  // By column; spellings without `a` where there is none.
    bool      *late;     // By column: its values are loaded where they are needed.
    bool       plain;    // CSV of an ordinary dialect: numbers need no quotes.
} SinkEmit;

static bool is_nested_or_bytes(const Type *base) {
    return type_is_nested(base) || base->kind == TYPE_BYTES || base->kind == TYPE_JSON;
}

static Val sink_rules(Emit *e, const CsvOptions *csv) {
    static_assert(offsetof(SbSinkRules, delimiter) == 12 && offsetof(SbSinkRules, comment) == 16,
                  "");
    Val members[] = {
        emit_null_words(e, csv),
        emit_i32(e, csv->null_count),
        emit_int(e, e->i8, (uint8_t)csv->delimiter),
        emit_int(e, e->i8, (uint8_t)csv->quote),
        emit_int(e, e->i8, (uint8_t)csv->decimal),
        emit_int(e, e->i8, 0),
        emit_bytes(e, csv->comment, "comment"),
        emit_i64(e, (int64_t)csv->comment.len)};
    return emit_global(e, LLVMConstStructInContext(e->ctx, members, 8, false), "rules");
}

// Numbers, dates and words contain none of the dialect's special characters and are no null words.
static bool is_plain_dialect(const CsvOptions *csv) {
    bool ordinary = csv->delimiter && strchr(",;\t|", csv->delimiter) && csv->decimal == '.' &&
                    (csv->quote == '"' || csv->quote == '\'') && !csv->comment.len;
    for (uint32_t i = 0; i < csv->null_count; i++) {
        Text word = csv->nulls[i];
        if (word.len && strchr("0123456789+-tfin", word.at[0])) ordinary = false;
    }
    return ordinary;
}

// ---- values -------------------------------------------------------------------------------------

static bool needs_value(const Emit *e, const SinkColumn *column) {
    return expr_is_none(column->spelling) || !column->verbatim ||
           graph_at(e->graph, column->value)->type->nullable;
}

static bool is_late(const Emit *e, const SinkEmit *sink, const SinkColumn *column) {
    if (sink->op->sink.column_count <= COLUMNS_HELD) return false;
    if (needs_value(e, column) && !emit_reloads(e, sink->frame, column->value)) return false;
    return expr_is_none(column->spelling) || emit_reloads(e, sink->frame, column->spelling);
}

static void load_values(Emit *e, SinkEmit *sink, uint32_t i) {
    const SinkColumn *column = &sink->op->sink.columns[i];
    if (needs_value(e, column)) sink->values[i] = emit_expr(e, sink->frame, column->value);
    if (!expr_is_none(column->spelling))
        sink->spellings[i] = emit_expr(e, sink->frame, column->spelling);
}

// Around the code that needs the values of a column.
static size_t column_begin(Emit *e, SinkEmit *sink, uint32_t i) {
    part_split(e);
    size_t mark = emit_region_begin(e);
    if (sink->late[i]) load_values(e, sink, i);
    return mark;
}

static void column_end(Emit *e, SinkEmit *sink, uint32_t i, size_t mark) {
    if (sink->late[i]) sink->values[i] = sink->spellings[i] = (Value){0};
    emit_region_end(e, mark);
}

// ---- room ---------------------------------------------------------------------------------------

static Val text_room(Emit *e, Val len, bool json) {
    Val times = LLVMBuildMul(e->b, len, emit_i64(e, json ? 6 : 2), "");
    return LLVMBuildAdd(e->b, times, emit_i64(e, 2), "");
}

static Val column_room(Emit *e, const SinkEmit *sink, uint32_t i, bool json) {
    const Type *type = graph_at(e->graph, sink->op->sink.columns[i].value)->type,
               *base = type_base(type);
    Val room = emit_i64(e, SCALAR_ROOM);
    const Value *value = &sink->values[i];
    if (value->a && is_nested_or_bytes(base)) {
        const char *symbol = json ? "sb_json_size_max" : "sb_sink_room";
        Value present = *value;
        present.valid = nullptr;
        Val bytes = emit_callv(e, symbol, e->i64, arg(emit_sbtype(e, base)),
                               arg(emit_value_address(e, base, present)));
        if (value->valid) bytes = LLVMBuildSelect(e->b, value->valid, bytes, emit_i64(e, 0), "");
        room = LLVMBuildAdd(e->b, room, bytes, "");
    } else if (value->a && type_is_bytes(base)) {
        room = LLVMBuildAdd(e->b, room, text_room(e, value->b, json), "");
    }
    if (sink->spellings[i].a)
        room = LLVMBuildAdd(e->b, room, text_room(e, sink->spellings[i].b, json), "");
    return room;
}

static Val take_room(Emit *e, SinkEmit *sink, bool json) {
    size_t fixed = SB_SLACK;
    const SinkOp *op = &sink->op->sink;
    Val need = emit_i64(e, 0);
    for (uint32_t i = 0; i < op->column_count; i++) {
        fixed += 2 * op->columns[i].name.len * 6 + 8 + op->options.csv.null_count;
        for (uint32_t n = 0; n < op->options.csv.null_count; n++)
            fixed += op->options.csv.nulls[n].len;
        size_t mark = column_begin(e, sink, i);
        need = LLVMBuildAdd(e->b, need, column_room(e, sink, i, json), "");
        column_end(e, sink, i, mark);
    }
    need = LLVMBuildAdd(e->b, need, emit_i64(e, (int64_t)fixed), "");
    Val at = emit_load_at(e, e->i64, sink->out, offsetof(SbOut, at), "at");
    Val end = emit_load_at(e, e->i64, sink->out, offsetof(SbOut, end), "end");
    Block grow = emit_block(e, "grow"), ready = emit_block(e, "ready");
    Val fits = LLVMBuildICmp(e->b, LLVMIntSLE, need, LLVMBuildSub(e->b, end, at, ""), "");
    emit_branch_likely(e, fits, ready, grow);
    emit_at(e, grow);
    Val failed = emit_callv(e, "sb_out_grow", e->i32, arg(e->task), arg(sink->out), arg(need));
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, failed, emit_i32(e, 0), ""), ready,
                       e->stage->stop);
    emit_at(e, ready);
    return emit_load_at(e, e->ptr, sink->out, offsetof(SbOut, at), "at");
}

// ---- fields -------------------------------------------------------------------------------------

static Val put_constant(Emit *e, Val at, Text text) {
    if (!text.len) return at;
    Val bytes = emit_bytes(e, text, "piece");
    LLVMBuildMemCpy(e->b, at, 1, bytes, 1, emit_i64(e, (int64_t)text.len));
    return emit_offset(e, at, text.len);
}

// The short ways of common types; null: none.
static Val put_scalar(Emit *e, const Type *base, Value value, Val at, bool json) {
    switch ((int)base->kind) {
    case TYPE_BOOL: return emit_callv(e, "sb_put_bool", e->ptr, arg(at), arg(value.a));
    case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
        return emit_callv(e, "sb_put_i64", e->ptr, arg(at),
                          arg(LLVMBuildIntCast2(e->b, value.a, e->i64, true, "")));
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
        return emit_callv(e, "sb_put_u64", e->ptr, arg(at),
                          arg(LLVMBuildIntCast2(e->b, value.a, e->i64, false, "")));
    case TYPE_F32:
        return emit_callv(e, json ? "sb_json_put_f32" : "sb_put_f32", e->ptr, arg(at),
                          arg(value.a));
    case TYPE_F64:
        return emit_callv(e, json ? "sb_json_put_f64" : "sb_put_f64", e->ptr, arg(at),
                          arg(value.a));
    default: return nullptr;
    }
}

// Without a quote not every field can be written; `end` is null then.
static void emit_unwritable(Emit *e, const SinkEmit *sink, const Type *base, Value value, Val end) {
    Block fault = emit_block(e, "unwritable"), go_on = emit_block(e, "");
    Val fine = LLVMBuildICmp(e->b, LLVMIntNE, end, LLVMConstNull(e->ptr), "");
    emit_branch_likely(e, fine, go_on, fault);
    emit_at(e, fault);
    Detail detail = {value.a, value.b};
    if (base->kind != TYPE_STR) {
        Val text = emit_callv(e, "sb_cast_detail", e->str_pair, arg(emit_call_context(e)),
                              arg(emit_sbtype(e, base)), arg(emit_value_address(e, base, value)));
        detail = (Detail){LLVMBuildExtractValue(e->b, text, 0, ""),
                          LLVMBuildExtractValue(e->b, text, 1, "")};
    }
    emit_fault_if(e, sink->frame, sink->op->span, emit_i1(e, true),
                  emit_i32(e, SB_FAULT_UNWRITABLE), detail);
    LLVMBuildUnreachable(e->b);
    emit_at(e, go_on);
}

static Val put_csv_value(Emit *e, const SinkEmit *sink, uint32_t i, Val at) {
    const SinkOp *op = &sink->op->sink;
    const Type *type = graph_at(e->graph, op->columns[i].value)->type, *base = type_base(type);
    Value value = sink->values[i];
    uint32_t flags = (type->nullable ? SB_FIELD_NULLABLE : 0) | (i == 0 ? SB_FIELD_FIRST : 0);
    Val end = sink->plain ? put_scalar(e, base, value, at, false) : nullptr;
    if (end) return end;
    if (base->kind == TYPE_STR && !type->nullable && sink->plain)
        return emit_callv(e, "sb_csv_put", e->ptr, arg(at), arg(value.a), arg(value.b),
                          arg(emit_int(e, e->i8, (uint8_t)op->options.csv.delimiter)),
                          arg(emit_int(e, e->i8, (uint8_t)op->options.csv.quote)));
    if (base->kind == TYPE_STR) {
        end = emit_callv(e, "sb_sink_text", e->ptr, arg(at), arg(sink->rules),
                         arg_pair(value.a, value.b), arg(emit_i32(e, flags)));
    } else {
        value.valid = nullptr;
        end = emit_callv(e, "sb_sink_value", e->ptr, arg(at), arg(sink->rules),
                         arg(emit_sbtype(e, base)), arg(emit_value_address(e, base, value)),
                         arg(emit_i32(e, flags)));
    }
    if (!op->options.csv.quote) emit_unwritable(e, sink, base, value, end);
    return end;
}

static Val put_json_value(Emit *e, const SinkEmit *sink, uint32_t i, Val at) {
    const Type *base = type_base(graph_at(e->graph, sink->op->sink.columns[i].value)->type);
    Value value = sink->values[i];
    Val end = put_scalar(e, base, value, at, true);
    if (end) return end;
    if (base->kind == TYPE_STR)
        return emit_callv(e, "sb_json_put", e->ptr, arg(at), arg(value.a), arg(value.b));
    value.valid = nullptr;
    return emit_callv(e, "sb_json_put_value", e->ptr, arg(at), arg(emit_sbtype(e, base)),
                      arg(emit_value_address(e, base, value)));
}

// As spelled where that is usable, else canonical.
static Val put_spelled(Emit *e, const SinkEmit *sink, uint32_t i, Val at, bool json) {
    const SinkColumn *column = &sink->op->sink.columns[i];
    Value raw = sink->spellings[i];
    if (column->verbatim)
        return emit_callv(e, "sb_put_copy", e->ptr, arg(at), arg(raw.a), arg(raw.b));
    const Type *type = graph_at(e->graph, column->value)->type;
    uint32_t flags = (type->nullable ? SB_FIELD_NULLABLE : 0) | (i == 0 ? SB_FIELD_FIRST : 0);
    Arg base = arg(emit_sbtype(e, type_base(type)));
    Val end = json
                  ? emit_callv(e, "sb_json_spelling", e->ptr, arg(at), base, arg_pair(raw.a, raw.b))
                  : emit_callv(e, "sb_sink_spelling", e->ptr, arg(at), arg(sink->rules), base,
                               arg_pair(raw.a, raw.b), arg(emit_i32(e, flags)));
    Block from = emit_here(e), canonical = emit_block(e, "canonical"),
          done = emit_block(e, "spelled");
    Val usable = LLVMBuildICmp(e->b, LLVMIntNE, end, LLVMConstNull(e->ptr), "");
    emit_branch_likely(e, usable, done, canonical);
    emit_at(e, canonical);
    size_t mark = emit_region_begin(e);
    Val instead = json ? put_json_value(e, sink, i, at) : put_csv_value(e, sink, i, at);
    emit_region_end(e, mark);
    Block canonical_end = emit_here(e);
    emit_jump(e, done);
    emit_at(e, done);
    Val phi = emit_phi(e, e->ptr, "");
    emit_phi_add(phi, end, from);
    emit_phi_add(phi, instead, canonical_end);
    return phi;
}

static Val put_present(Emit *e, const SinkEmit *sink, uint32_t i, Val at, bool json) {
    size_t mark = emit_region_begin(e);
    Val end = sink->spellings[i].a ? put_spelled(e, sink, i, at, json)
              : json               ? put_json_value(e, sink, i, at)
                                   : put_csv_value(e, sink, i, at);
    emit_region_end(e, mark);
    return end;
}

static Val put_field(Emit *e, const SinkEmit *sink, uint32_t i, Val at, bool json) {
    const CsvOptions *csv = &sink->op->sink.options.csv;
    Val valid = sink->values[i].valid;
    if (!valid) return put_present(e, sink, i, at, json);
    Block none = emit_block(e, "null"), some = emit_block(e, "some"), done = emit_block(e, "field");
    emit_branch(e, valid, some, none);
    emit_at(e, some);
    Val end = put_present(e, sink, i, at, json);
    Block some_end = emit_here(e);
    emit_jump(e, done);
    emit_at(e, none);
    Text word = json ? TEXT("null") : csv->null_count ? csv->nulls[0] : TEXT("");
    Val null_end = put_constant(e, at, word);
    emit_jump(e, done);
    emit_at(e, done);
    Val phi = emit_phi(e, e->ptr, "");
    emit_phi_add(phi, end, some_end);
    emit_phi_add(phi, null_end, none);
    return phi;
}

// ---- rows ---------------------------------------------------------------------------------------

static Val put_csv_row(Emit *e, SinkEmit *sink, Val at) {
    const SinkOp *op = &sink->op->sink;
    char delimiter = op->options.csv.delimiter;
    for (uint32_t i = 0; i < op->column_count; i++) {
        size_t mark = column_begin(e, sink, i);
        if (!op->columns[i].within) at = put_field(e, sink, i, at, false);
        column_end(e, sink, i, mark);
        bool more = i + 1 < op->column_count;
        if (more && op->columns[i + 1].within) continue;
        at = put_constant(e, at, (Text){more ? &delimiter : "\n", 1});
    }
    return at;
}

// `"key":` as it stands between two values.
static Text json_key(Emit *e, const SinkColumn *column, bool first) {
    TextBuf buf = {0};
    text_buf_add(&buf, first ? TEXT("{\"") : TEXT(",\""));
    for (size_t i = 0; i < column->name.len; i++) {
        unsigned char c = (unsigned char)column->name.at[i];
        if (c == '"' || c == '\\') text_buf_format(&buf, "\\%c", c);
        else if (c < 0x20) text_buf_format(&buf, "\\u%04x", c);
        else text_buf_char(&buf, (char)c);
    }
    text_buf_add(&buf, TEXT("\":"));
    return text_buf_take(&buf, e->arena);
}

static Val put_json_row(Emit *e, SinkEmit *sink, Val at) {
    const SinkOp *op = &sink->op->sink;
    for (uint32_t i = 0; i < op->column_count; i++) {
        size_t mark = column_begin(e, sink, i);
        at = put_constant(e, at, json_key(e, &op->columns[i], i == 0));
        at = put_field(e, sink, i, at, true);
        column_end(e, sink, i, mark);
    }
    return put_constant(e, at, op->column_count ? TEXT("}\n") : TEXT("{}\n"));
}

static Val put_text_row(Emit *e, const SinkEmit *sink, Val at) {
    Value line = sink->values[0];
    return put_constant(e, emit_callv(e, "sb_put_copy", e->ptr, arg(at), arg(line.a), arg(line.b)),
                        TEXT("\n"));
}

void terminal_sink(Emit *e, Frame *frame, uint32_t terminal, Block next) {
    const Op *op = graph_op_at(e->graph, e->stage->stage->terminals[terminal].consumer);
    uint32_t count = op->sink.column_count;
    size_t depth = part_depth(e);
    SinkEmit sink = {
        .op = op, .frame = frame_new(e, op, frame, nullptr), .out = e->stage->terminals[terminal]};
    sink.values = arena_new_array(e->arena, Value, count + 1);
    sink.spellings = arena_new_array(e->arena, Value, count + 1);
    sink.late = arena_new_array(e->arena, bool, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const SinkColumn *column = &op->sink.columns[i];
        if (column->within) continue;
        part_split(e);
        sink.late[i] = is_late(e, &sink, column);
        if (!sink.late[i]) load_values(e, &sink, i);
    }
    bool json = op->sink.format == FORMAT_JSONL;
    sink.plain = is_plain_dialect(&op->sink.options.csv);
    if (op->sink.format == FORMAT_CSV) sink.rules = sink_rules(e, &op->sink.options.csv);
    Val at = take_room(e, &sink, json);
    if (json) at = put_json_row(e, &sink, at);
    else if (op->sink.format == FORMAT_CSV) at = put_csv_row(e, &sink, at);
    else at = put_text_row(e, &sink, at);
    emit_store_at(e, at, sink.out, offsetof(SbOut, at));
    Val rows = emit_load_at(e, e->i64, sink.out, offsetof(SbOut, rows), "");
    emit_store_at(e, LLVMBuildAdd(e->b, rows, emit_i64(e, 1), ""), sink.out, offsetof(SbOut, rows));
    emit_jump(e, next);
    part_join(e, depth);
}
