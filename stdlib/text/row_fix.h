// What a rejected row itself says about the fix.
#ifndef SBC_STDLIB_ROW_FIX_H
#define SBC_STDLIB_ROW_FIX_H

#include "runtime/abi/value.h"

// `message` is that of the reject, `raw` the row as it was read. Null: the row says nothing.
const char *sb_fix_by_row(int32_t fault, SbStr message, SbStr raw);

#endif
