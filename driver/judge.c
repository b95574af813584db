#include "driver/judge.h"

#include "stdlib/date_parts.h"
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

static bool judge_form(Text text, bool reads, ConstantFault *fault) {
    int64_t at = sb_time_form_fault((SbStr){text.at, (int64_t)text.len}, reads);
    if (at < 0) return true;
    fault->position = (size_t)at;
    if (at == (int64_t)text.len) fault->message = TEXT("it reads no year");
    else if (text.at[at] == '%') fault->message = TEXT("a % without its letter");
    else fault->message = reads ? TEXT("no letter that is read") : TEXT("no letter of a format");
    return false;
}

static bool judge_unit(Arena *arena, Text text, bool of_date, ConstantFault *fault) {
    Text *names = nullptr;
    size_t count = 0, cap = 0;
    TextBuf all = {0};
    for (SbStr name; (name = sb_truncate_unit((uint32_t)count, of_date)).len;) {
        Text unit = {name.ptr, (size_t)name.len};
        if (text_eq(text, unit)) return text_buf_free(&all), true;
        text_buf_format(&all, "%s%.*s", count ? ", " : "", TEXT_ARG(unit));
        arena_push(arena, names, count, cap, unit);
    }
    fault->message = text_buf_take(&all, arena);
    fault->near = diag_did_you_mean(text, names, count);
    return false;
}

bool judge_constant_text(Arena *arena, DeclParamKind kind, Text text, ConstantFault *fault) {
    switch (kind) {
    case DECL_REGEX: return judge_pattern(arena, text, fault);
    case DECL_ZONE: return judge_zone(arena, text, fault);
    case DECL_READ_FORM: case DECL_WRITE_FORM:
        return judge_form(text, kind == DECL_READ_FORM, fault);
    case DECL_DATE_UNIT: case DECL_TIME_UNIT:
        return judge_unit(arena, text, kind == DECL_DATE_UNIT, fault);
    case DECL_VALUE: case DECL_CONST: break;
    }
    return true;
}
