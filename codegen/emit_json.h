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

#endif
