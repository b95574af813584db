// What a row carries of its source: spellings and its place.
#include "codegen/emit_scan.h"

Value frame_raw(Emit *e, Frame *frame, uint32_t column) {
    while (frame->op->kind != OP_SOURCE) frame = frame->input[0];
    return text_format_of(&frame->op->source)->raw(e, frame, column);
}

Frame *frame_root(Frame *frame) {
    while (frame->input[0]) frame = frame->input[0];
    return frame;
}

// The entry of an edge that the row passed; null: rows begin here, those of a zip too.
static Val passed_entry(Emit *e, Frame *frame) {
    const Frame *root = frame ? frame_root(frame) : nullptr;
    bool zip = e->stage->stage->zip_breaker != BREAKER_NONE;
    bool passed = root && root->breaker && root->breaker->kind == BREAK_EDGE && !zip;
    return passed ? root->entry : nullptr;
}

Val frame_origin(Emit *e, Frame *frame) {
    Val entry = passed_entry(e, frame);
    return entry ? emit_load_at(e, e->i64, entry, offsetof(SbEntry, hash), "origin")
                 : emit_load(e, e->i64, e->stage->order, "origin");
}

void frame_store_place(Emit *e, Frame *frame) {
    Val entry = passed_entry(e, frame);
    emit_store_at(e, frame_origin(e, frame), e->task, offsetof(SbTask, origin));
    emit_store_at(e, emit_load(e, e->i64, e->stage->order, ""), e->task, offsetof(SbTask, order));
    if (entry)
        emit_store_at(e, emit_load_at(e, e->i64, entry, offsetof(SbEntry, order), ""), e->task,
                      offsetof(SbTask, came));
}

static StepId step_of(const Emit *e, const Breaker *breaker) {
    return graph_op_at(e->graph, breaker->op)->step;
}

Val frame_order(Emit *e, Frame *frame, const Breaker *into) {
    Val entry = passed_entry(e, frame), next = stage_next_order(e);
    const Breaker *from = entry ? frame_root(frame)->breaker : nullptr;
    bool inside = from && from->keeps_op && into->kind == BREAK_EDGE && into->keeps_op &&
                  step_of(e, from).i == step_of(e, into).i;
    return inside ? emit_load_at(e, e->i64, entry, offsetof(SbEntry, order), "came") : next;
}

// All rows of a format without lines have line 1.
static Val text_line(Emit *e, const TextRow *row) {
    if (!format_info(row->op->source.format)->lines) return emit_i64(e, 1);
    return emit_callv(e, "sb_row_line", e->i64, arg(e->task), arg(row->begin));
}

static PlaceParts place_of_text(Emit *e, const TextRow *row) {
    Val input = emit_offset(e, e->task, offsetof(SbTask, input));
    Val base = emit_load_at(e, e->i64, input, offsetof(SbInput, offset), "");
    return (PlaceParts){
        .raw = emit_index(e, e->i8, row->text, row->begin),
        .length = LLVMBuildSub(e->b, row->end, row->begin, ""),
        .offset = LLVMBuildAdd(e->b, base, row->begin, ""),
        .line = text_line(e, row),
        .row = emit_callv(e, "sb_row_number", e->i64, arg(e->task), arg(row->begin)),
        .source = emit_i32(e, e->stage->stage->source),
        .file = emit_load_at(e, e->i32, input, offsetof(SbInput, source_file), ""),
    };
}

static bool is_file(const Frame *root) {
    return root->op->kind == OP_SOURCE && root->op->source.kind == SOURCE_FILES && !root->breaker;
}

Val frame_file(Emit *e, Frame *root) {
    return emit_load_at(e, e->i64, root->entry, offsetof(SbEntry, order), "file");
}

// A row of `files` has no text: a reject shows the path, which the runtime knows.
static PlaceParts place_of_file(Emit *e, Frame *root) {
    return (PlaceParts){
        .raw = root->entry, .length = emit_i64(e, 0), .offset = emit_i64(e, 0),
        .line = emit_i64(e, 1),
        .row = emit_load_at(e, e->i64, root->entry, offsetof(SbEntry, hash), "bytes"),
        .source = emit_i32(e, e->stage->stage->source),
        .file = LLVMBuildTrunc(e->b, frame_file(e, root), e->i32, ""),
    };
}

// A row of `range` or of an inline table, in the stage that makes it: its place is its number.
static PlaceParts place_of_number(Emit *e, Frame *root) {
    return (PlaceParts){
        .raw = LLVMConstNull(e->ptr), .length = emit_i64(e, 0), .offset = root->number,
        .line = emit_i64(e, 0), .row = root->number,
        .source = emit_i32(e, e->stage->stage->source),
        .file = emit_i32(e, 0),
    };
}

bool frame_has_place(const Frame *root) {
    if (root->breaker) return root->breaker->place_offset != SIZE_MAX;
    return root->op->kind == OP_SOURCE;
}

PlaceParts frame_place_parts(Emit *e, Frame *root) {
    if (root->text) return place_of_text(e, root->text);
    if (is_file(root)) return place_of_file(e, root);
    if (!root->breaker) return place_of_number(e, root);
    Val place = emit_offset(e, root->entry, root->breaker->place_offset);
    return (PlaceParts){
        .raw = emit_load_at(e, e->ptr, place, offsetof(SbPlace, raw), ""),
        .length = emit_load_at(e, e->i64, place, offsetof(SbPlace, raw) + 8, ""),
        .offset = emit_load_at(e, e->i64, place, offsetof(SbPlace, offset), ""),
        .line = emit_load_at(e, e->i64, place, offsetof(SbPlace, line), ""),
        .row = emit_load_at(e, e->i64, place, offsetof(SbPlace, row), ""),
        .source = emit_load_at(e, e->i32, place, offsetof(SbPlace, source), ""),
        .file = emit_load_at(e, e->i32, place, offsetof(SbPlace, file), ""),
    };
}

void place_store(Emit *e, const PlaceParts *parts, Val place) {
    emit_store_at(e, parts->raw, place, offsetof(SbPlace, raw));
    emit_store_at(e, parts->length, place, offsetof(SbPlace, raw) + 8);
    emit_store_at(e, parts->offset, place, offsetof(SbPlace, offset));
    emit_store_at(e, parts->line, place, offsetof(SbPlace, line));
    emit_store_at(e, parts->row, place, offsetof(SbPlace, row));
    emit_store_at(e, parts->source, place, offsetof(SbPlace, source));
    emit_store_at(e, parts->file, place, offsetof(SbPlace, file));
}

// Each asks for what it needs alone: a line is counted.
Value frame_place(Emit *e, Frame *frame, PlaceKind what) {
    Frame *root = frame_root(frame);
    Val input = emit_offset(e, e->task, offsetof(SbTask, input));
    if (what == PLACE_SOURCE && !root->text) {
        PlaceParts parts = frame_place_parts(e, root);
        Val pair = emit_callv(e, "sb_source_name", e->str_pair, arg(e->task), arg(parts.source),
                              arg(parts.file));
        return (Value){LLVMBuildExtractValue(e->b, pair, 0, ""),
                       LLVMBuildExtractValue(e->b, pair, 1, ""), nullptr};
    }
    if (!root->text) {
        PlaceParts parts = frame_place_parts(e, root);
        return (Value){.a = what == PLACE_LINE ? parts.line : parts.offset};
    }
    if (what == PLACE_SOURCE)
        return (Value){.a = emit_load_at(e, e->ptr, input, offsetof(SbInput, source_name), ""),
                       .b = emit_load_at(e, e->i64, input, offsetof(SbInput, source_name) + 8, "")};
    if (what == PLACE_LINE) return (Value){.a = text_line(e, root->text)};
    Val base = emit_load_at(e, e->i64, input, offsetof(SbInput, offset), "");
    return (Value){.a = LLVMBuildAdd(e->b, base, root->text->begin, "")};
}
