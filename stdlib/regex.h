// Regex: RE2 syntax by automata, and by a program where groups are asked for.
//
// Called by generated code; patterns are compiled by the compiler into one block of bytes.
#ifndef SBC_STDLIB_ROOM_REGEX_H
#define SBC_STDLIB_ROOM_REGEX_H

#include "stdlib/regex/cut.h"
#include "stdlib/regex/regex.h"

#endif
