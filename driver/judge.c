#include "driver/judge.h"

#include "stdlib/time.h"
#include "stdlib/text.h"
#include "stdlib/json.h"
#include "stdlib/regex.h"

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

static bool judge_encoding(Arena *arena, Text text, ConstantFault *fault) {
    if (sb_encoding_of((SbStr){text.at, (int64_t)text.len}) != SB_ENCODINGS) return true;
    Text *names = nullptr;
    size_t count = 0, cap = 0;
    TextBuf all = {0};
    for (SbEncoding encoding = 0; encoding < SB_ENCODINGS; encoding++) {
        SbStr name = sb_encoding_name(encoding);
        Text copy = {name.ptr, (size_t)name.len};
        text_buf_format(&all, "%s%.*s", count ? ", " : "", TEXT_ARG(copy));
        arena_push(arena, names, count, cap, copy);
    }
    fault->message = text_buf_take(&all, arena);
    fault->near = diag_did_you_mean(text, names, count);
    return false;
}

static bool judge_form(Text text, bool clock, bool reads, ConstantFault *fault) {
    SbStr format = {text.at, (int64_t)text.len};
    int64_t at = clock ? sb_clock_form_fault(format, reads) : sb_time_form_fault(format, reads);
    if (at < 0) return true;
    fault->position = (size_t)at;
    if (at == (int64_t)text.len)
        fault->message = clock ? TEXT("it reads no time") : TEXT("it reads no year");
    else if (text.at[at] == '%') fault->message = TEXT("a % without its letter");
    else if (clock) fault->message = TEXT("no letter of a duration: %H %I %p %M %S %f %T %R");
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

// Says which groups there are to choose from.
static void say_groups(Arena *arena, const SbRegex *regex, ConstantFault *fault) {
    const char *base = (const char *)regex;
    const SbRegexName *names = (const SbRegexName *)(base + regex->names);
    TextBuf all = {0};
    text_buf_format(&all, "the pattern has %s", regex->group_count ? "" : "no groups");
    if (regex->group_count)
        text_buf_format(&all, "%u group%s", regex->group_count, regex->group_count > 1 ? "s" : "");
    for (uint32_t i = 0; i < regex->name_count; i++)
        text_buf_format(&all, "%s%.*s", i ? ", " : ": ", (int)names[i].len, base + names[i].text);
    fault->message = text_buf_take(&all, arena);
}

static bool judge_group(Arena *arena, const ConstantText *asked, ConstantFault *fault) {
    SbRegexError error;
    SbRegex *regex = sb_regex_compile(asked->pattern.at, (int64_t)asked->pattern.len, &error);
    if (!regex) return true;  // Blamed itself.
    SbStr text = {asked->text.at, (int64_t)asked->text.len};
    bool good, has_groups;
    if (asked->domain == DOMAIN_REPLACEMENT) {
        int64_t at = sb_regex_replacement_fault(regex, text, &has_groups);
        good = at < 0;
        fault->position = good ? 0 : (size_t)at;
    } else if (asked->is_number) good = sb_regex_has_group(regex, asked->number);
    else good = sb_regex_group_named(regex, text) >= 0;
    if (!good) say_groups(arena, regex, fault);
    sb_regex_free(regex);
    return good;
}

static bool judge_path(SbStr path, bool many, ConstantFault *fault) {
    int64_t at = sb_json_path_fault(path, many);
    if (at < 0) return true;
    bool all = !many && sb_json_path_fault(path, true) < 0;
    fault->position = (size_t)at;
    fault->message = all ? TEXT("* stands for many values: json_all gives them")
                         : TEXT("the path goes wrong here");
    return false;
}

bool judge_constant_text(Arena *arena, const ConstantText *asked, ConstantFault *fault) {
    Text text = asked->text;
    SbStr str = {text.at, (int64_t)text.len};
    switch (asked->domain) {
    case DOMAIN_PATTERN: return judge_pattern(arena, text, fault);
    case DOMAIN_ZONE: return judge_zone(arena, text, fault);
    case DOMAIN_ENCODING: return judge_encoding(arena, text, fault);
    case DOMAIN_READ_FORM: return judge_form(text, false, true, fault);
    case DOMAIN_WRITE_FORM: return judge_form(text, false, false, fault);
    case DOMAIN_READ_CLOCK: return judge_form(text, true, true, fault);
    case DOMAIN_WRITE_CLOCK: return judge_form(text, true, false, fault);
    case DOMAIN_DATE_UNIT: return judge_unit(arena, text, true, fault);
    case DOMAIN_TIME_UNIT: return judge_unit(arena, text, false, fault);
    case DOMAIN_WHOLE_FORM: return sb_format_is_good(str, true);
    case DOMAIN_NUMBER_FORM: return sb_format_is_good(str, false);
    case DOMAIN_JSON_PATH: return judge_path(str, false, fault);
    case DOMAIN_JSON_PATHS: return judge_path(str, true, fault);
    case DOMAIN_CHARACTER: return sb_utf8_count(str.ptr, str.len) == 1;
    case DOMAIN_SOME_TEXT: return text.len > 0;
    case DOMAIN_GROUP: case DOMAIN_REPLACEMENT: return judge_group(arena, asked, fault);
    case DOMAIN_ALL: case DOMAIN_RANGE: case DOMAIN_FROM: case DOMAIN_SAID: break;
    }
    return true;
}
