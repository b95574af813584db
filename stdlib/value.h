// Value: values of any type: comparing, hashing, lists, conditions.
//
// Called by generated code where a type is known at run time only, and by aggregates and JSON.
#ifndef SBC_STDLIB_ROOM_VALUE_H
#define SBC_STDLIB_ROOM_VALUE_H

#include "stdlib/value/generic.h"
#include "stdlib/value/map.h"
#include "stdlib/value/shape.h"

#endif
