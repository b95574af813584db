// The smallest writers, which stages inline. They return the end of what they wrote and may write
// up to SB_SLACK bytes after it.
#ifndef SBC_STDLIB_PUT_SMALL_H
#define SBC_STDLIB_PUT_SMALL_H

#include "runtime/abi/value.h"

char *sb_put_bool(char *out, bool value);                     // true, false
char *sb_put_copy(char *out, const char *ptr, int64_t len);   // Bytes as they are.

#endif
