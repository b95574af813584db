// Reads JSON values whose grammar was checked: strings, compact text, and values of any type.
#include "stdlib/json/json_text.h"
#include "stdlib/number.h"
#include "stdlib/text.h"
#include "stdlib/time.h"
#include "stdlib/value.h"

#include <math.h>
#include <string.h>

// The character after a backslash, but u.
static char unescaped(char c) {
    switch (c) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return c;
    }
}

int32_t sb_json_string(SbCall *call, const SbJsonSlot *slot, SbStr *out) {
    if (slot->kind != SB_JSON_STRING) return SB_FAULT_JSON_TYPE;
    const char *at = slot->ptr + 1, *end = slot->ptr + slot->len - 1;
    *out = (SbStr){at, end - at};
    if (!slot->escapes) return SB_OK;
    char *to = sb_alloc(call, end - at);  // No escape is shorter than what it stands for.
    if (!to) return SB_FAULT_TOO_LARGE;
    out->ptr = to;
    while (at < end) {
        // Both texts may be passed by a vector: what is written after the end is written again.
        const __m256i bytes = _mm256_loadu_si256((const __m256i *)at);
        const __m256i slashes = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\'));
        const uint32_t found = (uint32_t)_mm256_movemask_epi8(slashes);
        const int64_t part = found ? (int64_t)_tzcnt_u32(found) : 32;
        _mm256_storeu_si256((__m256i *)to, bytes);
        if (part >= end - at) {
            to += end - at;
            break;
        }
        to += part;
        at += part;
        if (!found) continue;
        if (at[1] == 'u') {
            int32_t point = sb_json_escaped_point(&at);
            if (point < 0) return SB_FAULT_LONE_SURROGATE;
            to += sb_utf8_put(to, (uint32_t)point);
        } else {
            *to++ = unescaped(at[1]);
            at += 2;
        }
    }
    out->len = to - out->ptr;
    return SB_OK;
}

// Has the valid string at `at` half of a surrogate pair? Moves after it.
static bool skip_checked(const char **at) {
    const char *text = *at + 1;
    bool lone = false;
    while (*text != '"') {
        const uint32_t stops = sb_json_string_stops(text);
        text += stops ? _tzcnt_u32(stops) : 32;
        if (!stops || *text == '"') continue;
        if (text[1] == 'u') {
            lone |= sb_json_escaped_point(&text) < 0;
        } else {
            text += 2;
        }
    }
    *at = text + 1;
    return lone;
}

// Is there a backslash before a u? Without one there is no surrogate.
static bool has_units(const char *at, const char *end) {
    for (; at < end; at += 32) {
        const __m256i first = _mm256_loadu_si256((const __m256i *)at);
        const __m256i next = _mm256_loadu_si256((const __m256i *)(at + 1));
        const __m256i slashes = _mm256_cmpeq_epi8(first, _mm256_set1_epi8('\\'));
        const __m256i units = _mm256_cmpeq_epi8(next, _mm256_set1_epi8('u'));
        if (!_mm256_testz_si256(slashes, units)) return true;  // Perhaps after the end.
    }
    return false;
}

int32_t sb_json_check(const SbJsonSlot *slot) {
    if (slot->twice) return SB_FAULT_DUPLICATE_KEY;
    bool nested = slot->kind >= SB_JSON_ARRAY;
    if (!nested && (!slot->escapes || slot->whole)) return SB_OK;
    // Too short to be too deep.
    bool shallow = !nested || slot->len < 2 * SB_JSON_DEPTH_MAX;
    if (shallow && !has_units(slot->ptr, slot->ptr + slot->len)) return SB_OK;
    int64_t depth = 0;
    bool deep = false;
    for (const char *at = slot->ptr, *end = at + slot->len; at < end;) {
        if (*at == '"') {
            if (skip_checked(&at)) return SB_FAULT_LONE_SURROGATE;
            continue;
        }
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        deep |= depth > SB_JSON_DEPTH_MAX;
        at++;
    }
    return deep ? SB_FAULT_NESTED_TOO_DEEP : SB_OK;
}

static bool has_space(const char *at, const char *end) {
    while (at < end) {
        if (*at == '"') {
            at = sb_json_string_end(at);
        } else if ((uint8_t)*at++ <= ' ') {
            return true;
        }
    }
    return false;
}

int32_t sb_json_compact(SbCall *call, const SbJsonSlot *slot, SbStr *out) {
    const char *at = slot->ptr, *end = at + slot->len;
    *out = (SbStr){at, slot->len};
    if (slot->kind < SB_JSON_ARRAY || !has_space(at, end)) return SB_OK;
    char *to = sb_alloc(call, slot->len);
    if (!to) return SB_FAULT_TOO_LARGE;
    out->ptr = to;
    while (at < end) {
        const char *start = at;
        if (*at == '"') {
            at = sb_json_string_end(at);
            memcpy(to, start, (size_t)(at - start));
            to += at - start;
        } else {
            if ((uint8_t)*at > ' ') *to++ = *at;
            at++;
        }
    }
    out->len = to - out->ptr;
    return SB_OK;
}

// ---- values by type --------------------------------------------------------------------------

// Fills the slot of a checked value at `at`. In place: a slot that was just filled byte by byte is
// copied slowly.
static void fill_slot(SbJsonSlot *slot, const char *at, const char *end) {
    *slot = (SbJsonSlot){.ptr = at};
    switch (*at) {
    case '"':
        slot->kind = SB_JSON_STRING;
        slot->len = sb_json_string_skip(at, &slot->escapes) - at;
        return;
    case '{': slot->kind = SB_JSON_OBJECT; break;
    case '[': slot->kind = SB_JSON_ARRAY; break;
    case 'n': slot->kind = SB_JSON_NULL; break;
    case 't': slot->kind = SB_JSON_TRUE; break;
    case 'f': slot->kind = SB_JSON_FALSE; break;
    default: slot->kind = SB_JSON_NUMBER;
    }
    slot->len = sb_json_value_end(at, end) - at;
    slot->whole = slot->kind == SB_JSON_NUMBER;
    for (int64_t i = 0; slot->kind == SB_JSON_NUMBER && i < slot->len; i++)
        if (at[i] == '.' || (at[i] | 0x20) == 'e') slot->whole = 0;
}

static int32_t read_integer(const SbType *type, const SbJsonSlot *slot, void *out) {
    if (slot->kind != SB_JSON_NUMBER || !slot->whole) return SB_FAULT_JSON_TYPE;
    const char *ptr = slot->ptr;
    const int64_t len = slot->len;
    switch (type->kind) {
    case SB_I8: return sb_read_i8(ptr, len, out);
    case SB_I16: return sb_read_i16(ptr, len, out);
    case SB_I32: return sb_read_i32(ptr, len, out);
    case SB_I64: return sb_read_i64(ptr, len, out);
    case SB_U8: return sb_read_u8(ptr, len, out);
    case SB_U16: return sb_read_u16(ptr, len, out);
    case SB_U32: return sb_read_u32(ptr, len, out);
    default: return sb_read_u64(ptr, len, out);
    }
}

// A number, or a string of nan or an infinity as floats are read.
static int32_t read_float(SbCall *call, const SbType *type, const SbJsonSlot *slot, void *out) {
    SbStr text = {slot->ptr, slot->len};
    if (slot->kind == SB_JSON_STRING) {
        int32_t status = sb_json_string(call, slot, &text);
        double value;
        if (status) return status;
        // Only the words: a number in quotes is a string.
        if (sb_read_f64(text.ptr, text.len, &value) || isfinite(value)) return SB_FAULT_JSON_TYPE;
    } else if (slot->kind != SB_JSON_NUMBER) {
        return SB_FAULT_JSON_TYPE;
    }
    return sb_read_float(type, text.ptr, text.len, out);
}

static int32_t read_decimal(const SbType *type, const SbJsonSlot *slot, void *out) {
    const SbDecimalForm form = {type->precision, type->scale, '.', true};
    if (slot->kind != SB_JSON_NUMBER) return SB_FAULT_JSON_TYPE;
    return type->precision > 18 ? sb_read_decimal(slot->ptr, slot->len, form, out)
                                : sb_read_decimal64(slot->ptr, slot->len, form, out);
}

static int32_t read_string(SbCall *call, const SbJsonAs *as, const SbJsonSlot *slot, void *out) {
    const SbType *type = as->type;
    SbStr text;
    int32_t status = sb_json_string(call, slot, &text);
    if (status) return status;
    switch (type->kind) {
    case SB_DATE: return sb_read_date(text.ptr, text.len, out);
    case SB_TIMESTAMP: return sb_read_timestamp(text.ptr, text.len, type->unit, as->zone, out);
    case SB_DURATION: return sb_read_duration(text.ptr, text.len, out);
    case SB_BYTES: return sb_base64_read(call, text, out);
    default: *(SbStr *)out = text; return SB_OK;
    }
}

static int64_t count_elements(const char *first, const char *end) {
    int64_t count = 0;
    for (const char *at = first; *at != ']'; count++) {
        at = sb_json_space(sb_json_value_end(at, end), end);
        if (*at == ',') at = sb_json_space(at + 1, end);
    }
    return count;
}

// Elements are counted first, so that the list is allocated once.
static int32_t read_list(SbCall *call, const SbJsonAs *as, const SbJsonSlot *slot, SbList *out) {
    const SbType *type = as->type;
    if (slot->kind != SB_JSON_ARRAY) return SB_FAULT_JSON_TYPE;
    const char *end = slot->ptr + slot->len, *first = sb_json_space(slot->ptr + 1, end);
    int64_t count = count_elements(first, end);
    int64_t size = type->elem->size, bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return SB_FAULT_TOO_LARGE;
    char *elem = sb_alloc(call, bytes);
    if (!elem) return SB_FAULT_TOO_LARGE;
    *out = (SbList){elem, count};
    for (const char *at = first; *at != ']'; elem += size) {
        SbJsonSlot inner;
        fill_slot(&inner, at, end);
        int32_t status = sb_json_value(call, (SbJsonAs){type->elem, as->zone}, &inner, elem);
        if (status) return status;
        at = sb_json_space(at + inner.len, end);
        if (*at == ',') at = sb_json_space(at + 1, end);
    }
    return SB_OK;
}

// The sizes of a tensor's dimensions. `counted`: bits of dimensions whose next array is known to
// have that many elements.
typedef struct Sizes {
    int64_t  of[SB_RANK_MAX];
    uint32_t counted;
} Sizes;

// The sizes of open dimensions are those of the first array there; the arrays after it are as
// long. What is no array is left to read_dimension.
static int32_t open_sizes(SbCall *call, const SbType *type, const SbJsonSlot *slot,
                          Sizes *sizes) {
    SbJsonSlot part = *slot;
    for (uint32_t i = 0; i < type->rank && part.kind == SB_JSON_ARRAY; i++) {
        const char *end = part.ptr + part.len, *at = sb_json_space(part.ptr + 1, end);
        if (!sizes->of[i]) {
            sizes->of[i] = count_elements(at, end);
            sizes->counted |= 1u << i;
        }
        if (!sizes->of[i]) {
            call->detail = (SbStr){part.ptr, part.len};
            return SB_FAULT_NO_ELEMENTS;
        }
        if (*at == ']') return SB_OK;
        fill_slot(&part, at, end);
    }
    return SB_OK;
}

// The array of dimension `depth`, whose elements go to *to.
static int32_t read_dimension(SbCall *call, const SbJsonAs *as, Sizes *sizes,
                              const SbJsonSlot *slot, uint32_t depth, char **to) {
    const SbType *type = as->type;
    call->detail = (SbStr){slot->ptr, slot->len};
    if (slot->kind != SB_JSON_ARRAY) return SB_FAULT_JSON_TYPE;
    const char *end = slot->ptr + slot->len, *at = sb_json_space(slot->ptr + 1, end);
    bool known = sizes->counted >> depth & 1;
    sizes->counted &= ~(1u << depth);
    if (!known && count_elements(at, end) != sizes->of[depth]) return SB_FAULT_SHAPE;
    while (*at != ']') {
        SbJsonSlot inner;
        int32_t status;
        fill_slot(&inner, at, end);
        if (depth + 1 < type->rank) {
            status = read_dimension(call, as, sizes, &inner, depth + 1, to);
        } else {
            call->detail = (SbStr){0};
            status = sb_json_value(call, (SbJsonAs){type->elem, as->zone}, &inner, *to);
            *to += type->elem->size;
        }
        if (status) return status;
        at = sb_json_space(at + inner.len, end);
        if (*at == ',') at = sb_json_space(at + 1, end);
    }
    return SB_OK;
}

// Arrays of arrays, as many as the type has dimensions and as long as these are.
static int32_t read_tensor(SbCall *call, const SbJsonAs *as, const SbJsonSlot *slot, SbList *out) {
    const SbType *type = as->type;
    Sizes sizes = {.counted = 0};
    SbStr before = call->detail;
    for (uint32_t i = 0; i < type->rank; i++) sizes.of[i] = type->shape[i];
    int32_t status = type->names ? open_sizes(call, type, slot, &sizes) : SB_OK;
    if (status) return status;
    // What is no array has no sizes yet. Any do: it is a fault.
    for (uint32_t i = 0; type->names && i < type->rank; i++) sizes.of[i] += !sizes.of[i];
    char *to = sb_tensor_room(call, type, sizes.of, out);
    if (!to) return SB_FAULT_TOO_LARGE;
    status = read_dimension(call, as, &sizes, slot, 0, &to);
    if (!status) call->detail = before;
    return status;
}

// The field of this name, or -1.
static inline int64_t find_name(const SbType *type, SbStr name) {
    const uint64_t head = sb_json_head_at(name);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const SbStr wanted = type->fields[i].name;
        if (wanted.len != name.len || sb_json_head_at(wanted) != head) continue;
        if (name.len <= 8 || memcmp(wanted.ptr, name.ptr, (size_t)name.len) == 0) return i;
    }
    return -1;
}

// The field of a key (with its quotes) that has escapes, or -1.
static int32_t find_escaped(SbCall *call, const SbType *type, SbStr quoted, int64_t *field) {
    const SbJsonSlot key = {quoted.ptr, quoted.len, .kind = SB_JSON_STRING, .escapes = 1};
    SbStr name;
    *field = -1;
    int32_t status = sb_json_string(call, &key, &name);
    // A key with half of a surrogate pair is no field's.
    if (status) return status == SB_FAULT_LONE_SURROGATE ? SB_OK : status;
    *field = find_name(type, name);
    return SB_OK;
}

// Finds the members that are fields.
static int32_t find_members(SbCall *call, const SbType *type, const SbJsonSlot *slot,
                            SbJsonSlot *slots) {
    const char *end = slot->ptr + slot->len;
    for (const char *at = sb_json_space(slot->ptr + 1, end); *at != '}';) {
        const char *key = at;
        uint8_t escapes = 0;
        at = sb_json_string_skip(at, &escapes);
        int64_t field = find_name(type, (SbStr){key + 1, at - key - 2});
        if (escapes) {
            int32_t status = find_escaped(call, type, (SbStr){key, at - key}, &field);
            if (status) return status;
        }
        at = sb_json_space(sb_json_space(at, end) + 1, end);  // Over the colon.
        if (field < 0) {
            at = sb_json_value_end(at, end);
        } else {
            if (slots[field].kind != SB_JSON_MISSING) return SB_FAULT_DUPLICATE_KEY;
            fill_slot(&slots[field], at, end);
            at += slots[field].len;
        }
        at = sb_json_space(at, end);
        if (*at == ',') at = sb_json_space(at + 1, end);
    }
    return SB_OK;
}

static int32_t read_struct(SbCall *call, const SbJsonAs *as, const SbJsonSlot *slot, char *out) {
    enum { HERE = 8 };
    const SbType *type = as->type;
    if (slot->kind != SB_JSON_OBJECT) return SB_FAULT_JSON_TYPE;
    SbJsonSlot here[HERE], *slots = here;
    if (type->field_count > HERE)
        slots = sb_alloc(call, (int64_t)sizeof *slots * type->field_count);
    if (!slots) return SB_FAULT_TOO_LARGE;
    for (uint32_t i = 0; i < type->field_count; i++) slots[i] = (SbJsonSlot){};
    int32_t status = find_members(call, type, slot, slots);
    for (uint32_t i = 0; i < type->field_count && !status; i++) {
        const SbField *field = &type->fields[i];
        status = sb_json_value(call, (SbJsonAs){field->type, as->zone}, &slots[i],
                               out + field->offset);
    }
    return status;
}

static int64_t count_members(const char *first, const char *end) {
    int64_t count = 0;
    for (const char *at = first; *at != '}'; count++) {
        at = sb_json_space(sb_json_string_end(at), end);
        at = sb_json_space(sb_json_value_end(sb_json_space(at + 1, end), end), end);
        if (*at == ',') at = sb_json_space(at + 1, end);
    }
    return count;
}

// The member at *at as an entry; moves to the next one.
static int32_t read_entry(SbCall *call, const SbJsonAs *as, const char **at, const char *end,
                          char *entry) {
    const SbField *value = &as->type->elem->fields[1];
    SbJsonSlot key, inner;
    fill_slot(&key, *at, end);
    int32_t status = sb_json_string(call, &key, (SbStr *)(void *)entry);
    if (status) return status;
    fill_slot(&inner, sb_json_space(sb_json_space(*at + key.len, end) + 1, end), end);
    *at = sb_json_space(inner.ptr + inner.len, end);
    if (**at == ',') *at = sb_json_space(*at + 1, end);
    return sb_json_value(call, (SbJsonAs){value->type, as->zone}, &inner, entry + value->offset);
}

// Members are counted first, as the elements of a list are.
static int32_t read_map(SbCall *call, const SbJsonAs *as, const SbJsonSlot *slot, SbList *out) {
    if (slot->kind != SB_JSON_OBJECT) return SB_FAULT_JSON_TYPE;
    const char *end = slot->ptr + slot->len, *at = sb_json_space(slot->ptr + 1, end);
    const int64_t count = count_members(at, end), size = as->type->elem->size;
    char *entry = sb_alloc(call, count * size);
    if (!entry) return SB_FAULT_TOO_LARGE;
    *out = (SbList){entry, count};
    for (; *at != '}'; entry += size) {
        int32_t status = read_entry(call, as, &at, end, entry);
        if (status) return status;
    }
    return sb_map_check(call, as->type, *out);
}

static int32_t read_base(SbCall *call, const SbJsonAs *as, const SbJsonSlot *slot, void *out) {
    const SbType *type = as->type;
    switch ((SbKind)type->kind) {
    case SB_BOOL:
        if (slot->kind != SB_JSON_TRUE && slot->kind != SB_JSON_FALSE) return SB_FAULT_JSON_TYPE;
        *(uint8_t *)out = slot->kind == SB_JSON_TRUE;
        return SB_OK;
    case SB_I8: case SB_I16: case SB_I32: case SB_I64:
    case SB_U8: case SB_U16: case SB_U32: case SB_U64:
        return read_integer(type, slot, out);
    case SB_F16: case SB_BF16: case SB_F32: case SB_F64:
        return read_float(call, type, slot, out);
    case SB_DECIMAL:
        return read_decimal(type, slot, out);
    case SB_STR: case SB_BYTES: case SB_DATE: case SB_TIMESTAMP: case SB_DURATION:
        return read_string(call, as, slot, out);
    case SB_JSON:
        return sb_json_compact(call, slot, out);
    case SB_LIST:
        return read_list(call, as, slot, out);
    case SB_STRUCT:
        return read_struct(call, as, slot, out);
    case SB_MAP:
        return read_map(call, as, slot, out);
    case SB_TENSOR:
        return read_tensor(call, as, slot, out);
    }
    return SB_FAULT_JSON_TYPE;
}

int32_t sb_json_value(SbCall *call, SbJsonAs as, const SbJsonSlot *slot, void *out) {
    const SbType *type = as.type;
    if (slot->kind == SB_JSON_MISSING || slot->kind == SB_JSON_NULL) {
        if (!type->nullable) return SB_FAULT_MISSING;
        memset(out, 0, type->size);
        return SB_OK;
    }
    if (type->nullable) ((uint8_t *)out)[type->valid_offset] = 1;
    int32_t status = read_base(call, &as, slot, out);
    // The innermost value that is wrong, not what holds it.
    bool object = type->kind == SB_STRUCT || type->kind == SB_MAP;
    bool went_in = object ? slot->kind == SB_JSON_OBJECT
                          : sb_is_sequence(type) && slot->kind == SB_JSON_ARRAY;
    if (status && !went_in) {
        call->detail = (SbStr){slot->ptr, slot->len};
    }
    return status;
}
