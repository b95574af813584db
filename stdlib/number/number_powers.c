// The table of powers of ten that reading and printing floats share.
#include "stdlib/number/number.h"

const SbPower sb_powers_of_ten[SB_POWER_MAX - SB_POWER_MIN + 1] = {
#include "stdlib/number/number_powers.def"
};
