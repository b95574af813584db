#include "stdlib/field/sink_field.h"

#include "stdlib/hash.h"
#include "stdlib/number.h"
#include "stdlib/text.h"
#include "stdlib/time.h"

#include <immintrin.h>
#include <string.h>

enum { SCALAR_MAX = 64 };  // Bytes of any scalar that is no text.

static char *quoted_if_special(char *out, char *end) {
    bool special = end[-1] == 'n' || end[-1] == 'f';  // nan, inf, -inf
    if (!special) return end;
    memmove(out + 1, out, (size_t)(end - out));
    out[0] = end[1] = '"';
    return end + 2;
}

char *sb_json_put_f64(char *out, double value) {
    return quoted_if_special(out, sb_put_f64(out, value));
}
char *sb_json_put_f32(char *out, float value) {
    return quoted_if_special(out, sb_put_f32(out, value));
}
char *sb_json_put_f16(char *out, float value) {
    return quoted_if_special(out, sb_put_f16(out, value));
}
char *sb_json_put_bf16(char *out, float value) {
    return quoted_if_special(out, sb_put_bf16(out, value));
}

static bool is_null_word(const SbSinkRules *rules, SbStr text) {
    for (uint32_t i = 0; i < rules->null_count; i++)
        if (sb_str_equal(text, rules->nulls[i])) return true;
    return false;
}

static bool must_quote(const SbSinkRules *rules, SbStr text, uint32_t flags) {
    if (flags & SB_FIELD_NULLABLE && is_null_word(rules, text)) return true;
    bool comment = flags & SB_FIELD_FIRST && rules->comment.len && text.len >= rules->comment.len &&
                   memcmp(text.ptr, rules->comment.ptr, (size_t)rules->comment.len) == 0;
    return comment || sb_csv_must_quote(text.ptr, text.len, rules->delimiter, rules->quote);
}

char *sb_sink_text(char *out, const SbSinkRules *rules, SbStr text, uint32_t flags) {
    if (!must_quote(rules, text, flags)) return sb_put_copy(out, text.ptr, text.len);
    return rules->quote ? sb_csv_put_quoted(out, text.ptr, text.len, rules->quote) : nullptr;
}

static bool is_text(const SbType *type) { return type->kind == SB_STR || type->kind == SB_JSON; }

int64_t sb_text_room(const SbType *type, const void *value) {
    const SbStr *text = value;
    if (is_text(type)) return text->len + 32;
    if (type->kind == SB_BYTES) return sb_base64_size(text->len);
    if (sb_is_sequence(type) || type->kind == SB_STRUCT) return sb_json_size_max(type, value);
    return SCALAR_MAX;
}

int64_t sb_sink_room(const SbType *type, const void *value) {
    return 2 * sb_text_room(type, value) + 2;
}

static char *put_integer(char *out, const SbType *type, const void *value) {
    switch ((int)type->kind) {
    case SB_I8: return sb_put_i64(out, *(const int8_t *)value);
    case SB_I16: return sb_put_i64(out, *(const int16_t *)value);
    case SB_I32: return sb_put_i64(out, *(const int32_t *)value);
    case SB_U8: return sb_put_u64(out, *(const uint8_t *)value);
    case SB_U16: return sb_put_u64(out, *(const uint16_t *)value);
    case SB_U32: return sb_put_u64(out, *(const uint32_t *)value);
    case SB_U64: return sb_put_u64(out, *(const uint64_t *)value);
    default: return sb_put_i64(out, *(const int64_t *)value);
    }
}

static char *put_decimal(char *out, const SbType *type, const void *value) {
    SbDecimal unscaled;
    if (type->precision <= 18) unscaled = *(const int64_t *)value;
    else memcpy(&unscaled, value, sizeof unscaled);
    return sb_put_decimal(out, unscaled, type->scale, '.');
}

char *sb_put_text(char *out, const SbType *type, const void *value) {
    const SbStr *text = value;
    switch ((SbKind)type->kind) {
    case SB_BOOL: return sb_put_bool(out, *(const uint8_t *)value);
    case SB_F16: case SB_BF16: case SB_F32: case SB_F64: return sb_put_float(out, type, value);
    case SB_DECIMAL: return put_decimal(out, type, value);
    case SB_STR: case SB_JSON: return sb_put_copy(out, text->ptr, text->len);
    case SB_BYTES: return sb_base64_put(out, text->ptr, text->len);
    case SB_DATE: return sb_put_date(out, *(const int32_t *)value);
    case SB_TIMESTAMP: return sb_put_timestamp(out, *(const int64_t *)value, type->unit);
    case SB_DURATION: return sb_put_duration(out, *(const int64_t *)value);
    case SB_LIST: case SB_STRUCT: case SB_TENSOR: case SB_MAP:
        return sb_json_put_value(out, type, value);
    case SB_I8:
    case SB_I16:
    case SB_I32:
    case SB_I64:
    case SB_U8:
    case SB_U16:
    case SB_U32:
    case SB_U64:
        break;
    }
    return put_integer(out, type, value);
}

int32_t sb_value_text(SbCall *call, const SbType *type, const void *value, SbStr *out) {
    char *memory = sb_alloc(call, sb_text_room(type, value) + SB_SLACK);
    if (!memory) return SB_FAULT_TOO_LARGE;
    *out = (SbStr){memory, sb_put_text(memory, type, value) - memory};
    return SB_OK;
}

SbStr sb_cast_detail(SbCall *call, const SbType *type, const void *value) {
    SbStr text = {nullptr, 0};
    return sb_value_text(call, type, value, &text) ? (SbStr){nullptr, 0} : text;
}

char *sb_sink_value(char *out, const SbSinkRules *rules, const SbType *type, const void *value,
                    uint32_t flags) {
    int64_t room = sb_text_room(type, value);
    char *text = out + room + 2;  // Written after, then quoted forward over itself.
    char *end = sb_put_text(text, type, value);
    bool fraction = sb_is_float(type) || type->kind == SB_DECIMAL;
    for (char *at = text; fraction && rules->decimal != '.' && at < end; at++)
        if (*at == '.') *at = rules->decimal;
    SbStr view = {text, end - text};
    if (must_quote(rules, view, flags))
        return rules->quote ? sb_csv_put_quoted(out, text, view.len, rules->quote) : nullptr;
    memmove(out, text, (size_t)view.len);
    return out + view.len;
}

static __m256i is_from(__m256i text, char first, uint8_t count) {
    const __m256i place = _mm256_sub_epi8(text, _mm256_set1_epi8(first));
    const __m256i last = _mm256_set1_epi8((char)(count - 1));
    return _mm256_cmpeq_epi8(_mm256_min_epu8(place, last), place);
}

// A bit for each of 32 bytes that stands in no spelling of a number or a time.
static uint32_t not_spelling(const char *at) {
    const __m256i text = _mm256_loadu_si256((const __m256i *)at);
    __m256i good = is_from(text, '0', 10);
    good = _mm256_or_si256(good, is_from(_mm256_or_si256(text, _mm256_set1_epi8(32)), 'a', 26));
    for (const char *other = " \t+-.,:/="; *other; other++)
        good = _mm256_or_si256(good, _mm256_cmpeq_epi8(text, _mm256_set1_epi8(*other)));
    return ~(uint32_t)_mm256_movemask_epi8(good);
}

static SbStr without_quotes(SbStr raw) {
    if (raw.len >= 2 && raw.ptr[0] == '"' && raw.ptr[raw.len - 1] == '"')
        return (SbStr){raw.ptr + 1, raw.len - 2};
    return raw;
}

// What of a spelling can stand in another text, without its pair of quotes; empty: nothing.
static SbStr usable_spelling(SbStr raw) {
    enum { BLOCK = 32 };
    raw = without_quotes(raw);
    for (int64_t i = 0; i < raw.len; i += BLOCK) {
        uint32_t wrong = not_spelling(raw.ptr + i);
        if (raw.len - i < BLOCK) wrong &= (UINT32_C(1) << (raw.len - i)) - 1;
        if (wrong) return (SbStr){raw.ptr, 0};
    }
    return raw;
}

char *sb_sink_spelling(char *out, const SbSinkRules *rules, const SbType *type, SbStr raw,
                       uint32_t flags) {
    SbStr text = usable_spelling(raw);
    if (!text.len) return nullptr;
    bool fraction = sb_is_float(type) || type->kind == SB_DECIMAL;
    char wrong = rules->decimal == ',' ? '.' : ',';
    for (int64_t i = 0; fraction && i < text.len; i++)
        if (text.ptr[i] == wrong) return nullptr;
    return sb_sink_text(out, rules, text, flags);
}

char *sb_json_spelling(char *out, const SbType *type, SbStr raw) {
    const SbStr number = without_quotes(raw);
    if (type->kind >= SB_I8 && type->kind <= SB_DECIMAL)
        return sb_is_json_number(number.ptr, number.len) ? sb_put_copy(out, number.ptr, number.len)
                                                         : nullptr;
    raw = usable_spelling(raw);
    if (!raw.len) return nullptr;
    if (type->kind == SB_BOOL) {
        bool plain = sb_str_equal(raw, (SbStr){"true" "\0\0\0\0\0\0\0\0\0\0\0\0", 4}) ||
                     sb_str_equal(raw, (SbStr){"false" "\0\0\0\0\0\0\0\0\0\0\0\0", 5});
        return plain ? sb_put_copy(out, raw.ptr, raw.len) : nullptr;
    }
    return sb_json_put(out, raw.ptr, raw.len);
}
