// Text lines: one column, the line.
#include "codegen/emit_scan.h"

#include "stdlib/text.h"

static void open_lines(Emit *e, TextRow *row) { (void)e, (void)row; }

static void index_lines(Emit *e, TextRow *row, Val pos, Val end) {
    bool bytes = type_base(row->op->source.columns[0].type)->kind == TYPE_BYTES;
    emit_callv(e, "sb_lines_index", e->type_void, arg(row->index), arg(row->text), arg(pos),
               arg(end), arg(emit_i32(e, bytes ? SB_LINES_ANY_BYTES : 0)));
}

void text_begin_line(Emit *e, TextRow *row) {
    row->begin = emit_offset_at(e, row->starts, row->row);
    row->end = emit_offset_at(e, row->ends, row->row);
}

static Value line(Emit *e, Frame *frame, uint32_t column) {
    (void)column;
    const TextRow *row = frame->text;
    return (Value){.a = emit_index(e, e->i8, row->text, row->begin),
                   .b = LLVMBuildSub(e->b, row->end, row->begin, "")};
}

const TextFormat text_format_text = {open_lines, index_lines, text_begin_line, nullptr, line, line};
