// JSON: grammar of a line, wanted keys, values of any type, both ways; access by paths.
//
// Called by generated code and by rooms for fields and casts.
//
// Circle: json_read, json_row: a row ends where its last value does, and a value may hold rows.
#ifndef SBC_STDLIB_ROOM_JSON_H
#define SBC_STDLIB_ROOM_JSON_H

#include "stdlib/json/json.h"
#include "stdlib/json/json_access.h"
#include "stdlib/json/json_pass.h"

#endif
