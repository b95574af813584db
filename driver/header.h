// Header: the C prototypes of a program's extern functions.
#ifndef SBC_DRIVER_HEADER_H
#define SBC_DRIVER_HEADER_H

#include "driver/session.h"

// A whole header file, for any checked program.
Text header_text(const Session *s);

int header_command(const Options *options);  // sbc header FILE

#endif
