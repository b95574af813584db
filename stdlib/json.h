// JSON: grammar of a line, wanted keys, values of any type, both ways; access by paths.
//
// Called by generated code and by rooms for fields and casts.
#ifndef SBC_STDLIB_ROOM_JSON_H
#define SBC_STDLIB_ROOM_JSON_H

#include "stdlib/json/json.h"
#include "stdlib/json/json_access.h"

#endif
