// Time: dates, timestamps, durations and time zones: text, parts, calendar arithmetic, formats.
//
// Called by generated code and by rooms for JSON, fields and casts.
#ifndef SBC_STDLIB_ROOM_TIME_H
#define SBC_STDLIB_ROOM_TIME_H

#include "stdlib/time/date.h"
#include "stdlib/time/date_parts.h"
#include "stdlib/time/zone.h"

#endif
