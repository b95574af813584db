// Foreign: what functions of other tools are called here (foreign.def).
#ifndef SBC_FRONTEND_FOREIGN_H
#define SBC_FRONTEND_FOREIGN_H

#include "ir/text.h"

typedef enum ForeignKind : uint8_t {
    FOREIGN_ROW, FOREIGN_AGG, FOREIGN_STEP, FOREIGN_HEAD, FOREIGN_PARAM, FOREIGN_NONE,
} ForeignKind;

// What to do instead of calling a function of this name, or an empty text. In the arena.
Text foreign_function(Arena *arena, Text name);

#endif
