#include "stdlib/text/foreign_text.h"

#include "stdlib/text/utf8.h"

int32_t sb_foreign_text(SbCall *call, const char *ptr, int64_t len) {
    if (len == 0 || (len > 0 && ptr && sb_utf8_valid(ptr, len))) return SB_OK;
    call->detail = len < 0 ? SB_LITERAL("the length of a text is negative")
                   : !ptr  ? SB_LITERAL("a text is nowhere")
                           : SB_LITERAL("a text is not valid UTF-8");
    return SB_FAULT_EXTERN_RESULT;
}
