// CSV: rows as fields between delimiters, quoted where they have to be.
#include "codegen/emit_format.h"

#include "stdlib/field.h"

#include <string.h>

// What a CSV sink keeps of its dialect.
typedef struct CsvSink {
    Val  rules;  // SbSinkRules constant.
    bool plain;  // The dialect is an ordinary one: numbers need no quotes.
} CsvSink;

static const CsvSink *csv_of(const SinkEmit *sink) { return sink->own; }

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

static void open_csv(Emit *e, SinkEmit *sink) {
    const CsvOptions *csv = &sink->op->sink.options.csv;
    CsvSink *own = sink->own = arena_new_of(e->arena, CsvSink);
    *own = (CsvSink){.rules = sink_rules(e, csv), .plain = is_plain_dialect(csv)};
}

// ---- fields -------------------------------------------------------------------------------------

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
    static const FloatPuts puts = {"sb_put_f16", "sb_put_bf16", "sb_put_f32",
                                   "sb_put_f64"};
    Value value = sink->values[i];
    uint32_t flags = (type->nullable ? SB_FIELD_NULLABLE : 0) | (i == 0 ? SB_FIELD_FIRST : 0);
    Val end = csv_of(sink)->plain ? sink_scalar(e, base, value, at, puts) : nullptr;
    if (end) return end;
    if (base->kind == TYPE_STR && !type->nullable && csv_of(sink)->plain)
        return emit_callv(e, "sb_csv_put", e->ptr, arg(at), arg(value.a), arg(value.b),
                          arg(emit_int(e, e->i8, (uint8_t)op->options.csv.delimiter)),
                          arg(emit_int(e, e->i8, (uint8_t)op->options.csv.quote)));
    if (base->kind == TYPE_STR) {
        end = emit_callv(e, "sb_sink_text", e->ptr, arg(at), arg(csv_of(sink)->rules),
                         arg_pair(value.a, value.b), arg(emit_i32(e, flags)));
    } else {
        value.valid = nullptr;
        end = emit_callv(e, "sb_sink_value", e->ptr, arg(at), arg(csv_of(sink)->rules),
                         arg(emit_sbtype(e, base)), arg(emit_value_address(e, base, value)),
                         arg(emit_i32(e, flags)));
    }
    if (!op->options.csv.quote) emit_unwritable(e, sink, base, value, end);
    return end;
}

static Val put_csv_spelled(Emit *e, const SinkEmit *sink, uint32_t i, Val at) {
    const Type *type = graph_at(e->graph, sink->op->sink.columns[i].value)->type;
    Value raw = sink->spellings[i];
    uint32_t flags = (type->nullable ? SB_FIELD_NULLABLE : 0) | (i == 0 ? SB_FIELD_FIRST : 0);
    return emit_callv(e, "sb_sink_spelling", e->ptr, arg(at), arg(csv_of(sink)->rules),
                      arg(emit_sbtype(e, type_base(type))), arg_pair(raw.a, raw.b),
                      arg(emit_i32(e, flags)));
}

static Text csv_null(const SinkEmit *sink) {
    const CsvOptions *csv = &sink->op->sink.options.csv;
    return csv->null_count ? csv->nulls[0] : TEXT("");
}

// ---- rows ---------------------------------------------------------------------------------------

static Val put_csv_row(Emit *e, SinkEmit *sink, Val at) {
    const SinkOp *op = &sink->op->sink;
    char delimiter = op->options.csv.delimiter;
    for (uint32_t i = 0; i < op->column_count; i++) {
        size_t mark = sink_column_begin(e, sink, i);
        if (!op->columns[i].within) at = sink_field(e, sink, i, at);
        sink_column_end(e, sink, i, mark);
        bool more = i + 1 < op->column_count;
        if (more && op->columns[i + 1].within) continue;
        at = sink_bytes(e, at, (Text){more ? &delimiter : "\n", 1});
    }
    return at;
}

static bool header_quoted(const CsvOptions *csv, Text name) {
    for (size_t i = 0; i < name.len; i++)
        if (name.at[i] == csv->delimiter || (csv->quote && name.at[i] == csv->quote) ||
            name.at[i] == '\n' || name.at[i] == '\r')
            return csv->quote;
    return false;
}

static Text header_line(Emit *e, const SinkOp *sink) {
    const CsvOptions *csv = &sink->options.csv;
    if (!csv->header) return TEXT("");
    TextBuf buf = {0};
    for (uint32_t i = 0; i < sink->column_count; i++) {
        Text name = sink->columns[i].name;
        if (i) text_buf_char(&buf, csv->delimiter);
        bool quoted = header_quoted(csv, name);
        if (quoted) text_buf_char(&buf, csv->quote);
        for (size_t k = 0; k < name.len; k++) {
            text_buf_char(&buf, name.at[k]);
            if (quoted && name.at[k] == csv->quote) text_buf_char(&buf, csv->quote);
        }
        if (quoted) text_buf_char(&buf, csv->quote);
    }
    text_buf_char(&buf, '\n');
    return text_buf_take(&buf, e->arena);
}

const SinkFormat csv_sink = {
    .header = header_line, .open = open_csv, .widens = 2, .nested_room = "sb_sink_room",
    .row = put_csv_row, .null_word = csv_null, .value = put_csv_value, .spelled = put_csv_spelled,
};
