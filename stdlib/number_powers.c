// The table of powers of ten that reading and printing floats share.
#include "stdlib/number.h"

const SbPower sb_powers_of_ten[SB_POWER_MAX - SB_POWER_MIN + 1] = {
#include "stdlib/number_powers.def"
};
