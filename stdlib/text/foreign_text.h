// What C functions of users give as text.
//
//   sb_foreign_text(call, "a\xff", 2)   SB_FAULT_EXTERN_RESULT, "a text is not valid UTF-8"
#ifndef SBC_STDLIB_FOREIGN_TEXT_H
#define SBC_STDLIB_FOREIGN_TEXT_H

#include "runtime/abi.h"

// SB_OK, or the fault, whose words are in call->detail. `ptr` may be null where `len` is 0.
int32_t sb_foreign_text(SbCall *call, const char *ptr, int64_t len);

#endif
