// Text lines: one column, the line.
#include "codegen/emit_format.h"

#include "stdlib/text.h"

static void open_lines(Emit *e, TextRow *row) { (void)e, (void)row; }

static void index_lines(Emit *e, TextRow *row, Val pos, Val end) {
    bool bytes = type_base(row->op->source.columns[0].type)->kind == TYPE_BYTES;
    emit_callv(e, "sb_lines_index", e->type_void, arg(row->index), arg(row->text), arg(pos),
               arg(end), arg(emit_i32(e, bytes ? SB_LINES_ANY_BYTES : 0)));
}

static Value line(Emit *e, Frame *frame, uint32_t column) {
    (void)column;
    const TextRow *row = frame->text;
    return (Value){.a = emit_index(e, e->i8, row->text, row->begin),
                   .b = LLVMBuildSub(e->b, row->end, row->begin, "")};
}

static Val put_line(Emit *e, SinkEmit *sink, Val at) {
    Value line = sink->values[0];
    return sink_bytes(e,
                         emit_callv(e, "sb_put_copy", e->ptr, arg(at), arg(line.a), arg(line.b)),
                         TEXT("\n"));
}

static const TextFormat read_text = {open_lines, index_lines, text_begin_line, nullptr, line, line};
static const SinkFormat write_text = {.widens = 2, .nested_room = "sb_sink_room", .row = put_line};

const FormatEmit format_emit_text = {&read_text, &write_text};
