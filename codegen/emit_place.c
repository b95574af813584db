// What a row carries of its source: spellings and its place.
#include "codegen/emit_scan.h"

Value frame_raw(Emit *e, Frame *frame, uint32_t column) {
    while (frame->op->kind != OP_SOURCE) frame = frame->input[0];
    return text_format_of(frame->op->source.format)->raw(e, frame, column);
}

Value frame_place(Emit *e, Frame *frame, PlaceKind what) {
    while (frame->input[0]) frame = frame->input[0];
    Val input = emit_offset(e, e->task, offsetof(SbTask, input));
    switch (what) {
    case PLACE_SOURCE:
        return (Value){.a = emit_load_at(e, e->ptr, input, offsetof(SbInput, source_name), ""),
                       .b = emit_load_at(e, e->i64, input, offsetof(SbInput, source_name) + 8, "")};
    case PLACE_LINE:
        return (Value){.a = emit_callv(e, "sb_row_line", e->i64, arg(e->task), arg(frame->text->begin))};
    case PLACE_OFFSET: {
        Val base = emit_load_at(e, e->i64, input, offsetof(SbInput, offset), "");
        return (Value){.a = LLVMBuildAdd(e->b, base, frame->text->begin, "")};
    }
    }
    return (Value){0};
}
