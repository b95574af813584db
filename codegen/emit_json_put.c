// Objects of JSON that are written: keys and values, with nothing between that is not needed.
#include "codegen/emit_json.h"

#include "stdlib/json.h"

Val json_put_value(Emit *e, const SinkEmit *sink, uint32_t i, Val at) {
    const Type *base = type_base(graph_at(e->graph, sink->op->sink.columns[i].value)->type);
    static const FloatPuts puts = {"sb_json_put_f16", "sb_json_put_bf16",
                                   "sb_json_put_f32", "sb_json_put_f64"};
    Value value = sink->values[i];
    Val end = sink_scalar(e, base, value, at, puts);
    if (end) return end;
    if (base->kind == TYPE_STR)
        return emit_callv(e, "sb_json_put", e->ptr, arg(at), arg(value.a), arg(value.b));
    value.valid = nullptr;
    return emit_callv(e, "sb_json_put_value", e->ptr, arg(at), arg(emit_sbtype(e, base)),
                      arg(emit_value_address(e, base, value)));
}

Val json_put_spelled(Emit *e, const SinkEmit *sink, uint32_t i, Val at) {
    Value raw = sink->spellings[i];
    return emit_callv(e, "sb_json_spelling", e->ptr, arg(at),
                      arg(emit_sbtype(e, sink_base(e, sink, i))), arg_pair(raw.a, raw.b));
}

Text json_null(const SinkEmit *) { return TEXT("null"); }

// `"key":` as it stands between two values.
static Text json_key(Emit *e, const SinkColumn *column, bool first) {
    TextBuf buf = {0};
    text_buf_add(&buf, first ? TEXT("\"") : TEXT(",\""));
    for (size_t i = 0; i < column->name.len; i++) {
        unsigned char c = (unsigned char)column->name.at[i];
        if (c == '"' || c == '\\') text_buf_format(&buf, "\\%c", c);
        else if (c < 0x20) text_buf_format(&buf, "\\u%04x", c);
        else text_buf_char(&buf, (char)c);
    }
    text_buf_add(&buf, TEXT("\":"));
    return text_buf_take(&buf, e->arena);
}

Val json_put_row(Emit *e, SinkEmit *sink, Val at, Text front, Text end) {
    const SinkOp *op = &sink->op->sink;
    at = sink_bytes(e, at, front);
    for (uint32_t i = 0; i < op->column_count; i++) {
        size_t mark = sink_column_begin(e, sink, i);
        at = sink_bytes(e, at, json_key(e, &op->columns[i], i == 0));
        at = sink_field(e, sink, i, at);
        sink_column_end(e, sink, i, mark);
    }
    return sink_bytes(e, at, end);
}
