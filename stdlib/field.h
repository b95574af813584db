// Field: a value of a text source as a key, and a value on its way to a text sink.
//
// Called by generated code.
#ifndef SBC_STDLIB_ROOM_FIELD_H
#define SBC_STDLIB_ROOM_FIELD_H

#include "stdlib/field/field.h"
#include "stdlib/field/sink_field.h"

#endif
