// Judge: are constant patterns, time zones, formats and paths good? Asked of the library itself.
#ifndef SBC_DRIVER_JUDGE_H
#define SBC_DRIVER_JUDGE_H

#include "frontend/check.h"

JudgeFn judge_constant_text;

#endif
