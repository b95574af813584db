// JSON files: rows are values, which may span lines.
#include "codegen/emit_json.h"

static void index_values(Emit *e, TextRow *row, Val pos, Val end) {
    Val input = emit_offset(e, e->task, offsetof(SbTask, input));
    emit_callv(e, "sb_json_index", e->type_void, arg(row->index), arg(input), arg(pos), arg(end));
}

static void judge_value(Emit *e, Frame *frame) { json_judge(e, frame, SB_FAULT_NOT_OBJECT); }

static const TextFormat read_json = {json_open,   index_values, text_begin_line,
                                     judge_value, json_column,  json_raw,
                                     nullptr,     json_number};

static Text array_front(Emit *, const SinkOp *) { return TEXT("["); }

// The comma of the first row of a file is left out (SbWriter.between).
static Val put_element(Emit *e, SinkEmit *sink, Val at) {
    return json_put_row(e, sink, at, TEXT(",\n{"), TEXT("}"));
}

static const SinkFormat write_json = {JSON_PUTS, .header = array_front, .row = put_element};

const FormatEmit format_emit_json = {&read_json, &write_json};
