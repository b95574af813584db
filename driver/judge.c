#include "driver/judge.h"

#include "stdlib/regex.h"
#include "stdlib/zone.h"


static bool judge_pattern(Arena *arena, Text text, ConstantFault *fault) {
    SbRegexError error = {0};
    SbRegex *regex = sb_regex_compile(text.at, (int64_t)text.len, &error);
    sb_regex_free(regex);
    if (regex) return true;
    fault->message = text_of(text_c(arena, text_of(error.message)));
    fault->position = error.position > 0 ? (size_t)error.position : 0;
    return false;
}

static bool judge_zone(Arena *arena, Text text, ConstantFault *fault) {
    if (sb_zone_find(text.at, (int64_t)text.len)) return true;
    Text *names = nullptr;
    size_t count = 0, cap = 0;
    for (SbStr name; (name = sb_zone_name((uint32_t)count)).len;) {
        Text copy = {name.ptr, (size_t)name.len};
        arena_push(arena, names, count, cap, copy);
    }
    fault->near = diag_did_you_mean(text, names, count);
    return false;
}

bool judge_constant_text(Arena *arena, DeclParamKind kind, Text text, ConstantFault *fault) {
    switch (kind) {
    case DECL_REGEX: return judge_pattern(arena, text, fault);
    case DECL_ZONE: return judge_zone(arena, text, fault);
    case DECL_VALUE: case DECL_CONST: break;
    }
    return true;
}
