// JSON lines: rows are lines.
#include "codegen/emit_json.h"

#include "stdlib/text.h"

static void index_lines(Emit *e, TextRow *row, Val pos, Val end) {
    emit_callv(e, "sb_lines_index", e->type_void, arg(row->index), arg(row->text), arg(pos),
               arg(end), arg(emit_i32(e, SB_LINES_SKIP_BLANK)));
}

static void judge_line(Emit *e, Frame *frame) { json_judge(e, frame, SB_FAULT_BAD_JSON); }

static const TextFormat read_jsonl = {
    .open = json_open, .index = index_lines, .begin_row = text_begin_line, .judge = judge_line,
    .column = json_column, .raw = json_raw, .raw_reloads = true, .number = json_number};

static Val put_line(Emit *e, SinkEmit *sink, Val at) {
    return json_put_row(e, sink, at, TEXT("{"), TEXT("}\n"));
}

static const SinkFormat write_jsonl = {JSON_PUTS, .row = put_line};

const FormatEmit format_emit_jsonl = {&read_jsonl, &write_jsonl};
