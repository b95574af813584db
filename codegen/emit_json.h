// Rows that are objects of JSON: what their formats have in common.
#ifndef SBC_CODEGEN_EMIT_JSON_H
#define SBC_CODEGEN_EMIT_JSON_H

#include "codegen/emit_format.h"

// As TextFormat's functions. `bad_row`: the fault of what is no object.
void     json_open(Emit *e, TextRow *row);
void     json_judge(Emit *e, Frame *frame, SbStatus bad_row);
Value    json_column(Emit *e, Frame *frame, uint32_t column);
Value    json_raw(Emit *e, Frame *frame, uint32_t column);
uint32_t json_number(const TextRow *row, uint32_t column);

// As SinkFormat's functions.
Text json_null(const SinkEmit *sink);
Val  json_put_value(Emit *e, const SinkEmit *sink, uint32_t i, Val at);
Val  json_put_spelled(Emit *e, const SinkEmit *sink, uint32_t i, Val at);
// The members of a row, between its front and its end.
Val  json_put_row(Emit *e, SinkEmit *sink, Val at, Text front, Text end);

#define JSON_PUTS                                                                                 \
    .widens = 6, .nested_room = "sb_json_size_max", .shares_fields = true,                        \
    .null_word = json_null, .value = json_put_value, .spelled = json_put_spelled

#endif
