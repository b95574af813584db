#include "stdlib/field/field.h"

#include "stdlib/csv.h"
#include "stdlib/hash.h"
#include "stdlib/json.h"

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

int32_t sb_field_text(SbCall *call, const SbFieldRules *rules, const char *ptr, int64_t len,
                      SbStr *out) {
    if (rules->quote && len && ptr[0] == rules->quote) {
        *out = sb_csv_unquote(call, ptr, len, rules->quote);
        return out->ptr ? SB_OK : SB_FAULT_TOO_LARGE;
    }
    *out = (SbStr){ptr, len};
    SbStr word = word_of(rules, ptr, len);
    if (is_null_word(rules, word)) return SB_NULL;
    return word.len || rules->is_text ? SB_OK : SB_FAULT_MISSING;
}

int32_t sb_field_json(SbCall *call, SbJsonAs as, const char *ptr, int64_t len, void *out) {
    SbJsonSlot slot;
    int32_t status = sb_json_slot(call, ptr, len, &slot);
    if (!status) status = sb_json_check(&slot);
    return status ? status : sb_json_value(call, as, &slot, out);
}
