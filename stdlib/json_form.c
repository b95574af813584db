// Reads lines of one form fast. Lines of a log differ in their values, not in what stands between
// them: brackets, keys, colons, commas. A line that has the same texts between its values as a line
// whose grammar was checked is checked too once its values are, and its keys stand at the same
// places. So a form is learnt from a good line: the texts between its values, which are compared
// with wide loads, and which value fills which slot. Objects dissolve into their texts; an array
// is one value. What does not match goes through sb_json_row.
#include "stdlib/json_text.h"

#include <immintrin.h>

enum { NO_SLOT = UINT32_MAX, REST_MAX = 64 };

void sb_json_form_open(SbJsonForm *form, const SbJsonShape *shape, SbJsonSlot *slots) {
    form->shape = shape;
    form->slots = slots;
    form->count = form->object_count = 0;
    form->rest = form->misses = 0;
}

// ---- learning ----------------------------------------------------------------------------------

static uint32_t slot_at(const SbJsonForm *form, const char *value) {
    for (uint32_t i = 0; i < form->shape->count; i++)
        if (form->slots[i].kind != SB_JSON_MISSING && form->slots[i].ptr == value) return i;
    return NO_SLOT;
}

// Learns from a good line whose slots are filled. Leaves count 0 for one that gives no form: a
// wanted key that stands there twice, too many values.
static void learn(SbJsonForm *form, const char *line, int64_t len) {
    const char *end = line + len, *text = line;
    uint32_t count = 0, objects = 0;
    bool key = false;  // The next string is one.
    form->count = form->object_count = 0;
    for (uint32_t i = 0; i < form->shape->count; i++)
        if (form->slots[i].twice) return;
    for (const char *at = sb_json_space(line, end); at < end;) {
        uint32_t slot;
        switch (*at) {
        case '{':
            slot = slot_at(form, at);
            if (slot != NO_SLOT) {
                if (objects == SB_JSON_FORM_OBJECTS) return;
                const SbJsonSlot *object = &form->slots[slot];
                form->objects[objects++] = (SbJsonFormObject){
                    .slot = slot, .open = {count, (uint32_t)(at - text)},
                    .last = object->ptr + object->len};
            }
            key = true;
            at++;
            continue;
        case ',':
            key = true;
            at++;
            continue;
        case '}': case ':': case ' ': case '\t': case '\n': case '\r':
            at++;
            for (uint32_t i = 0; i < objects; i++)
                if (form->objects[i].last == at)
                    form->objects[i].close = (SbJsonFormPlace){count, (uint32_t)(at - text)};
            continue;
        default:
            break;
        }
        const char *behind = sb_json_value_end(at, end);
        if (!key) {
            if (count == SB_JSON_FORM_PARTS) return;
            form->parts[count++] = (SbJsonFormPart){text, (uint32_t)(at - text),
                                                    slot_at(form, at)};
            text = behind;
        }
        key = false;
        at = behind;
    }
    form->tail = (SbStr){text, end - text};
    form->count = count;
    form->object_count = objects;
}

// ---- matching ----------------------------------------------------------------------------------

static inline __m256i load(const char *at) { return _mm256_loadu_si256((const __m256i *)at); }

// Both are readable SB_SLACK past their ends.
static inline bool same(const char *a, const char *b, int64_t len) {
    for (; len > 32; a += 32, b += 32, len -= 32)
        if (_mm256_movemask_epi8(_mm256_cmpeq_epi8(load(a), load(b))) != -1) return false;
    uint32_t differ = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load(a), load(b)));
    return _bzhi_u32(differ, (uint32_t)len) == 0;
}

// Behind a string of up to 64 bytes without escapes; null for any other.
static inline const char *short_string(const char *at) {
    const char *stop = at + 1 + _tzcnt_u32(sb_json_string_stops(at + 1));  // 33 behind for none.
    if (stop == at + 33) stop += _tzcnt_u32(sb_json_string_stops(stop));
    return *stop == '"' ? stop + 1 : nullptr;
}

// Behind a number of less than 32 bytes and without an exponent; null for any other.
static inline const char *short_number(const char *at, uint8_t *whole) {
    at += *at == '-';
    const __m256i value = _mm256_sub_epi8(load(at), _mm256_set1_epi8('0'));
    const __m256i digit = _mm256_cmpeq_epi8(_mm256_min_epu8(value, _mm256_set1_epi8(9)), value);
    const uint32_t others = ~(uint32_t)_mm256_movemask_epi8(digit);
    uint32_t digits = _tzcnt_u32(others);  // 32 for none.
    if (digits == 0 || digits == 32 || (*at == '0' && digits > 1)) return nullptr;
    *whole = at[digits] != '.';
    if (!*whole) {
        uint32_t behind = others & (others - 1);
        uint32_t last = _tzcnt_u32(behind);
        if (last == digits + 1 || last == 32) return nullptr;
        digits = last;
    }
    return (at[digits] | 0x20) == 'e' ? nullptr : at + digits;
}

// Behind an array of short strings and numbers without white space; null for any other.
static inline const char *short_array(const char *at) {
    for (at++;;) {
        uint8_t whole;
        at = *at == '"' ? short_string(at) : short_number(at, &whole);
        if (!at || *at == ']') return at ? at + 1 : nullptr;
        if (*at++ != ',') return nullptr;
    }
}

// Behind any value at `at`, its slot filled. Null: wrong. A string may seem to end behind the line.
static inline const char *take_value(SbCall *call, const char *at, const char *end,
                                     SbJsonSlot *slot) {
    const char *behind;
    *slot = (SbJsonSlot){.ptr = at};
    if (*at == '"') {
        slot->kind = SB_JSON_STRING;
        behind = short_string(at);
    } else if (*at == '[') {
        slot->kind = SB_JSON_ARRAY;
        behind = short_array(at);
    } else {
        slot->kind = SB_JSON_NUMBER;
        behind = short_number(at, &slot->whole);
    }
    if (!behind) return sb_json_skip(call, at, end, slot);
    slot->len = behind - at;
    return behind;
}

// Does the line have the form? Fills the slots then.
static bool matches(SbJsonForm *form, SbCall *call, const char *line, int64_t len) {
    const char *at = line, *const end = line + len;
    const char *starts[SB_JSON_FORM_PARTS + 1];  // Of the texts.
    SbJsonSlot unread;
    for (uint32_t i = 0; i < form->shape->count; i++) form->slots[i] = (SbJsonSlot){};
    for (uint32_t i = 0; i < form->count; i++) {
        const SbJsonFormPart *part = &form->parts[i];
        if (end - at <= part->len || !same(at, part->text, part->len)) return false;
        starts[i] = at;
        // In place: a slot that was just filled byte by byte is copied slowly.
        SbJsonSlot *slot = part->slot == NO_SLOT ? &unread : &form->slots[part->slot];
        at = take_value(call, at + part->len, end, slot);
        if (!at) return false;
    }
    starts[form->count] = at;
    if (end - at != form->tail.len || !same(at, form->tail.ptr, form->tail.len)) return false;
    for (uint32_t i = 0; i < form->object_count; i++) {
        const SbJsonFormObject *object = &form->objects[i];
        const char *open = starts[object->open.part] + object->open.offset;
        const char *close = starts[object->close.part] + object->close.offset;
        form->slots[object->slot] = (SbJsonSlot){open, close - open, .kind = SB_JSON_OBJECT};
    }
    return true;
}

int32_t sb_json_row_like(SbCall *call, const char *line, int64_t len, SbJsonForm *form) {
    if (__builtin_expect(form->count && matches(form, call, line, len), 1)) {
        form->misses = form->rest = 0;
        return SB_OK;
    }
    form->count = 0;
    int32_t status = sb_json_row(call, line, len, form->shape, form->slots);
    if (form->rest) {
        form->rest--;
    } else if (status == SB_OK) {
        learn(form, line, len);
        // Lines without a common form are not worth it: after each miss it rests longer.
        form->rest = form->misses;
        form->misses = form->misses < REST_MAX ? 2 * form->misses + 1 : REST_MAX;
    }
    return status;
}
