// CSV: where rows and fields end, fast by 64 bytes at a time, exact byte by byte.
//
// Called by generated code and by runtime/input, which cuts text into units.
#ifndef SBC_STDLIB_ROOM_CSV_H
#define SBC_STDLIB_ROOM_CSV_H

#include "stdlib/csv/csv.h"

#endif
