#include "stdlib/field/field.h"

#include "stdlib/csv.h"
#include "stdlib/hash.h"
#include "stdlib/json.h"

#include <string.h>

static bool is_space(char c) { return c == ' ' || c == '\t'; }

// Without the spaces around a number.
static SbStr word_of(const SbFieldRules *rules, const char *ptr, int64_t len) {
    while (rules->number && len && is_space(ptr[0])) ptr++, len--;
    while (rules->number && len && is_space(ptr[len - 1])) len--;
    return (SbStr){ptr, len};
}

static bool is_null_word(const SbFieldRules *rules, SbStr word) {
    for (uint32_t i = 0; i < rules->null_count; i++)
        if (sb_str_equal(word, rules->nulls[i])) return true;
    return false;
}

bool sb_field_is_null(const SbFieldRules *rules, const char *ptr, int64_t len) {
    return is_null_word(rules, word_of(rules, ptr, len));
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The end of the groups of digits that begin at `at`: one to three digits, then three after each
// separator. 0: they are no such groups.
static int64_t groups_end(SbStr text, int64_t at, char separator) {
    int64_t end = at, digits = 0;
    for (;; end++) {
        bool digit = end < text.len && is_digit(text.ptr[end]);
        if (digit && ++digits > 3) return 0;
        if (digit) continue;
        bool first = end - at == digits;
        if (digits == 0 || (!first && digits != 3)) return 0;
        if (end == text.len || text.ptr[end] != separator) return end;
        digits = 0;
    }
}

// Takes out what stands between groups of digits in front of the point. Other texts stay as they
// are, and so are no numbers.
static int32_t ungroup(SbCall *call, const SbFieldRules *rules, SbStr *text) {
    if (!rules->thousands || !memchr(text->ptr, rules->thousands, (size_t)text->len)) return SB_OK;
    int64_t at = 0;
    while (at < text->len && is_space(text->ptr[at])) at++;
    if (at < text->len && (text->ptr[at] == '-' || text->ptr[at] == '+')) at++;
    int64_t end = groups_end(*text, at, rules->thousands);
    if (end == 0) return SB_OK;
    char *plain = sb_alloc(call, text->len + SB_SLACK);
    if (!plain) return SB_FAULT_TOO_LARGE;
    int64_t len = 0;
    for (int64_t i = 0; i < text->len; i++)
        if (i >= end || text->ptr[i] != rules->thousands || i < at) plain[len++] = text->ptr[i];
    *text = (SbStr){plain, len};
    return SB_OK;
}

int32_t sb_field_text(SbCall *call, const SbFieldRules *rules, const char *ptr, int64_t len,
                      SbStr *out) {
    if (rules->quote && len && ptr[0] == rules->quote) {
        *out = sb_csv_unquote(call, ptr, len, rules->quote);
        return out->ptr ? ungroup(call, rules, out) : SB_FAULT_TOO_LARGE;
    }
    *out = (SbStr){ptr, len};
    SbStr word = word_of(rules, ptr, len);
    if (is_null_word(rules, word)) return SB_NULL;
    return word.len || rules->is_text ? ungroup(call, rules, out) : SB_FAULT_MISSING;
}

int32_t sb_field_json(SbCall *call, SbJsonAs as, const char *ptr, int64_t len, void *out) {
    SbJsonSlot slot;
    int32_t status = sb_json_slot(call, ptr, len, &slot);
    if (!status) status = sb_json_check(&slot);
    return status ? status : sb_json_value(call, as, &slot, out);
}
