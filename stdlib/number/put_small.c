#include "stdlib/number/put_small.h"

#include <string.h>

char *sb_put_copy(char *out, const char *ptr, int64_t len) {
    memcpy(out, ptr, 32);  // Both sides have SB_SLACK bytes after.
    if (__builtin_expect(len > 32, 0)) memcpy(out, ptr, (size_t)len);
    return out + len;
}

char *sb_put_bool(char *out, bool value) {
    memcpy(out, value ? "true " : "false", 5);
    return out + 5 - value;
}
