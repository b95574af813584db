// Reads lines of one form fast. Lines of a log differ in their values, not in what stands between
// them: brackets, keys, colons, commas. A line that has the same texts between its values as a line
// whose grammar was checked is checked too once its values are, and its keys stand at the same
// places. So a form is learnt from a good line: the texts between its values, which are compared
// with wide loads, and which value fills which slot. Objects dissolve into their texts; an array
// is one value. What does not match goes through sb_json_row.
//
// All quotes of a line are found first. Each text between values holds those of a key, so their
// places say where the next text begins before the value in front of it is read: no value waits for
// another one.
#include "stdlib/json/json_text.h"
#include "stdlib/text.h"

#include <string.h>

enum { BLOCK = 64, REST_MAX = 64 };
static_assert((SB_JSON_FORM_QUOTES + BLOCK + SB_PLACES_AHEAD) * sizeof(uint32_t) <
              sizeof((SbJsonForm *)nullptr)->quotes);

void sb_json_form_open(SbJsonForm *form, const SbJsonShape *shape, SbJsonSlot *slots) {
    form->shape = shape;
    form->slots = slots;
    form->count = form->object_count = 0;
    form->rest = form->misses = 0;
}

// ---- quotes ------------------------------------------------------------------------------------

static inline __m256i load(const char *at) { return _mm256_loadu_si256((const __m256i *)at); }

static inline uint64_t bits_where(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

static inline __m256i are(__m256i bytes, char c) {
    return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c));
}

static inline __m256i are_controls(__m256i bytes) {
    return _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
}

// A block's quotes without those after a backslash that is none after another. `inside`: the
// first character is, and out, the one after the block.
typedef struct Unescaped {
    uint64_t found;
    bool     inside;
} Unescaped;

[[gnu::noinline]]
static Unescaped without_escaped(uint64_t found, uint64_t slashes, bool inside) {
    uint64_t pairs = inside;  // Second characters of pairs.
    slashes &= ~pairs;
    inside = false;
    while (slashes) {
        const uint64_t first = slashes & -slashes, second = first << 1;
        inside = second == 0;
        pairs |= second;
        slashes &= ~(first | second);
    }
    return (Unescaped){found & ~pairs, inside};
}

// The quotes of a line while they are looked for.
typedef struct Quotes {
    uint32_t *out;
    bool      escaped;  // There is a backslash before here,
    bool      inside;   // and it makes a pair with the next character.
} Quotes;

// Appends the places of the quotes among the first `bytes` bytes of a block. False: there is a
// control character.
[[gnu::always_inline]] static inline bool put_quotes(Quotes *quotes, const char *block,
                                                     uint64_t bytes, uint32_t place) {
    const __m256i a = load(block), b = load(block + 32);
    uint64_t found = bits_where(are(a, '"'), are(b, '"'));
    const __m256i odd_a = _mm256_or_si256(are(a, '\\'), are_controls(a));
    const __m256i odd_b = _mm256_or_si256(are(b, '\\'), are_controls(b));
    const __m256i odd = _mm256_or_si256(odd_a, odd_b);
    if (bytes < BLOCK || quotes->inside || !_mm256_testz_si256(odd, odd)) {
        uint64_t slashes = bits_where(are(a, '\\'), are(b, '\\'));
        slashes = _bzhi_u64(slashes, (uint32_t)bytes);
        if (_bzhi_u64(bits_where(odd_a, odd_b), (uint32_t)bytes) != slashes) return false;
        found = _bzhi_u64(found, (uint32_t)bytes);
        if (slashes || quotes->inside) {
            const Unescaped rest = without_escaped(found, slashes, quotes->inside);
            found = rest.found;
            quotes->inside = rest.inside;
            quotes->escaped = true;
        }
    }
    const __m256i base = _mm256_set1_epi32((int)place);
    quotes->out = sb_put_places(quotes->out, (uint32_t)found, base);
    quotes->out = sb_put_places(quotes->out, (uint32_t)(found >> 32),
                                _mm256_add_epi32(base, _mm256_set1_epi32(32)));
    return true;
}

// Fills form->quotes with the places in the line of its quotes that no backslash stands before.
// Their number; -1: a control character, or too many.
static inline int64_t find_quotes(SbJsonForm *form, const char *line, int64_t len, bool *escaped) {
    Quotes quotes = {.out = form->quotes};
    int64_t at = 0;
    for (; len - at >= BLOCK; at += BLOCK) {
        if (!put_quotes(&quotes, line + at, BLOCK, (uint32_t)at)) return -1;
        if (quotes.out > form->quotes + SB_JSON_FORM_QUOTES) return -1;
    }
    if (!put_quotes(&quotes, line + at, (uint64_t)(len - at), (uint32_t)at)) return -1;
    *escaped = quotes.escaped;
    const int64_t count = quotes.out - form->quotes;
    return count > SB_JSON_FORM_QUOTES ? -1 : count;
}

// ---- learning ----------------------------------------------------------------------------------

// Fills the slots of members. False: there is no form of this line.
static bool fill_members(SbJsonForm *form, SbCall *call, const SbJsonShape *shape) {
    for (uint32_t i = 0; i < shape->count; i++) {
        const SbJsonShape *members = shape->keys[i].members;
        const SbJsonSlot *object = &form->slots[shape->first + i];
        if (object->twice) return false;
        if (!members) continue;
        SbJsonSlot *inner = form->slots + members->first;
        if (object->kind != SB_JSON_OBJECT) {
            for (uint32_t k = 0; k < members->count; k++) inner[k] = (SbJsonSlot){};
        } else if (sb_json_row(call, object->ptr, object->len, members, inner)) {
            return false;
        }
        if (!fill_members(form, call, members)) return false;
    }
    return true;
}

// The slot of the value, which is there once; null: nobody reads it. *members: it has slots too.
static SbJsonSlot *slot_at(const SbJsonForm *form, const SbJsonShape *shape, const char *value,
                           bool *members) {
    for (uint32_t i = 0; i < shape->count; i++) {
        const SbJsonShape *inner = shape->keys[i].members;
        SbJsonSlot *slot = &form->slots[shape->first + i];
        *members = inner != nullptr;
        if (slot->kind != SB_JSON_MISSING && slot->ptr == value) return slot;
        if (inner && (slot = slot_at(form, inner, value, members))) return slot;
    }
    return nullptr;
}

// Learns the texts; the slots are filled. False: too many values.
static bool learn_texts(SbJsonForm *form, const char *line, int64_t len) {
    const char *end = line + len, *text = line;
    uint32_t count = 0;
    bool key = false, members;  // The next string is one.
    for (const char *at = sb_json_space(line, end); at < end;) {
        switch (*at) {
        case '{': {
            SbJsonSlot *object = slot_at(form, form->shape, at, &members);
            if (object && form->object_count == SB_JSON_FORM_OBJECTS) return false;
            if (object)
                form->objects[form->object_count++] = (SbJsonFormObject){
                    .slot = object, .open = {count, (uint32_t)(at - text)},
                    .last = object->ptr + object->len, .whole = members};
            key = true;
            at++;
            continue;
        }
        case ',':
            key = true;
            at++;
            continue;
        case '}': case ':': case ' ': case '\t': case '\n': case '\r':
            at++;
            for (uint32_t i = 0; i < form->object_count; i++)
                if (form->objects[i].last == at)
                    form->objects[i].close = (SbJsonFormPlace){count, (uint32_t)(at - text)};
            continue;
        default:
            break;
        }
        const char *behind = sb_json_value_end(at, end);
        if (!key) {
            if (count == SB_JSON_FORM_PARTS) return false;
            SbJsonSlot *slot = slot_at(form, form->shape, at, &members);
            form->parts[count++] = (SbJsonFormPart){
                .text = text, .len = (uint32_t)(at - text), .slot = slot ? slot : &form->unread};
            text = behind;
        }
        key = false;
        at = behind;
    }
    form->parts[count] = (SbJsonFormPart){.text = text, .len = (uint32_t)(end - text)};
    form->count = count;
    return true;
}

// Learns from a good line whose slots are filled. Leaves count 0 for one that gives no form: a
// wanted key that stands there twice, too many values, white space that is a control character.
static void learn(SbJsonForm *form, SbCall *call, const char *line, int64_t len) {
    bool escaped;
    form->object_count = 0;
    if (!fill_members(form, call, form->shape)) return;
    const int64_t count = find_quotes(form, line, len, &escaped);
    if (count < 0 || !learn_texts(form, line, len)) return;
    const uint32_t *quote = form->quotes, *const last = quote + count;
    for (SbJsonFormPart *part = form->parts; part <= form->parts + form->count; part++) {
        const int64_t begin = part->text - line;
        while (quote < last && *quote < begin) quote++;  // In the value before.
        const uint32_t *first = quote;
        while (quote < last && *quote < begin + part->len) quote++;
        part->quotes = (uint32_t)(quote - first);
        part->first_quote = part->quotes ? (uint32_t)(*first - begin) : 0;
    }
}

// ---- matching ----------------------------------------------------------------------------------

// Both are readable SB_SLACK past their ends.
static inline bool same(const char *a, const char *b, int64_t len) {
    for (; len > 32; a += 32, b += 32, len -= 32)
        if (_mm256_movemask_epi8(_mm256_cmpeq_epi8(load(a), load(b))) != -1) return false;
    uint32_t differ = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load(a), load(b)));
    return _bzhi_u32(differ, (uint32_t)len) == 0;
}

static inline uint32_t bits_of_others(const char *at) {
    const __m256i value = _mm256_sub_epi8(load(at), _mm256_set1_epi8('0'));
    const __m256i digit = _mm256_cmpeq_epi8(_mm256_min_epu8(value, _mm256_set1_epi8(9)), value);
    return ~(uint32_t)_mm256_movemask_epi8(digit);
}

// Is [at, end) a number, of less than 32 bytes and without an exponent?
static inline bool is_short_number(const char *at, const char *end, uint8_t *whole) {
    at += *at == '-';
    const uint64_t len = (uint64_t)(end - at);
    if (len - 1 >= 31) return false;
    const uint32_t others = _bzhi_u32(bits_of_others(at), (uint32_t)len);
    const uint32_t digits = _tzcnt_u32(others | UINT32_C(1) << len);  // In front of a point.
    *whole = others == 0;
    if (digits == 0 || (*at == '0' && digits > 1)) return false;
    return others == 0 || (at[digits] == '.' && (others & (others - 1)) == 0 && digits + 1 < len);
}

// After a number of less than 32 bytes and without an exponent; null for any other.
static inline const char *short_number(const char *at) {
    at += *at == '-';
    const uint32_t others = bits_of_others(at);
    uint32_t digits = _tzcnt_u32(others);  // 32 for none.
    if (digits == 0 || digits == 32 || (*at == '0' && digits > 1)) return nullptr;
    if (at[digits] == '.') {
        uint32_t last = _tzcnt_u32(others & (others - 1));
        if (last == digits + 1 || last == 32) return nullptr;
        digits = last;
    }
    return (at[digits] | 0x20) == 'e' ? nullptr : at + digits;
}

// A line while it is compared with a form.
typedef struct Match {
    SbCall         *call;
    const char     *line, *end;
    const uint32_t *last;     // After all quotes: where a tail without quotes would begin.
    bool            escaped;  // There is a backslash in the line.
    const SbJsonSlot *unread;  // The slot of what nobody reads.
} Match;

// After a value: where the next text begins, null if the value is wrong; and the next quote.
typedef struct Behind {
    const char     *at;
    const uint32_t *quote;
} Behind;

// Where the text of the part begins, should its first quote be this one.
static inline const char *begin_of(const Match *match, const SbJsonFormPart *part,
                                   const uint32_t *quote) {
    return match->line + *quote - part->first_quote;
}

// After an array of strings and short numbers without white space, in a line without a backslash;
// null for any other.
static inline Behind short_array(const Match *match, Behind at) {
    for (at.at++;; at.at++) {
        if (*at.at == '"') {
            if (match->last - at.quote < 2) return (Behind){};
            at.at = match->line + at.quote[1] + 1;
            at.quote += 2;
        } else {
            at.at = short_number(at.at);
            if (!at.at) return (Behind){};
        }
        if (*at.at == ']') return (Behind){at.at + 1, at.quote};
        if (*at.at != ',') return (Behind){};
    }
}

// Takes the value at at.at, whatever it is, should the text of `next` follow: fills the slot.
static Behind take_any(const Match *match, Behind at, const SbJsonFormPart *next,
                       SbJsonSlot *slot) {
    Behind behind = {};
    *slot = (SbJsonSlot){.ptr = at.at, .kind = SB_JSON_ARRAY};
    if (*at.at == '[' && !match->escaped) behind = short_array(match, at);
    if (behind.at) {
        slot->len = behind.at - at.at;
    } else {
        behind = (Behind){sb_json_skip(match->call, at.at, match->end, slot), at.quote};
        if (!behind.at) return behind;
        while (behind.quote < match->last && match->line + *behind.quote < behind.at)
            behind.quote++;
    }
    if (behind.at != begin_of(match, next, behind.quote)) behind.at = nullptr;
    return behind;
}

// As take_any, and without a call for the usual strings and numbers.
[[gnu::always_inline]] static inline Behind take_value(const Match *match, Behind at,
                                                       const SbJsonFormPart *next,
                                                       SbJsonSlot *slot) {
    if (*at.at == '"' && !match->escaped && match->last - at.quote > 1) {
        const char *behind = match->line + at.quote[1] + 1;
        if (slot != match->unread)
            *slot = (SbJsonSlot){.ptr = at.at, .len = behind - at.at, .kind = SB_JSON_STRING};
        at.quote += 2;
        return (Behind){behind == begin_of(match, next, at.quote) ? behind : nullptr, at.quote};
    }
    if ((uint8_t)*at.at <= '9') {  // A digit or a sign, if it is a number at all.
        const char *behind = begin_of(match, next, at.quote);
        uint8_t whole;
        if (is_short_number(at.at, behind, &whole)) {
            if (slot != match->unread)
                *slot = (SbJsonSlot){.ptr = at.at, .len = behind - at.at,
                                     .kind = SB_JSON_NUMBER, .whole = whole};
            return (Behind){behind, at.quote};
        }
    }
    return take_any(match, at, next, slot);
}

static void fill_objects(const SbJsonForm *form, const Match *match, const char *const *begins) {
    for (uint32_t i = 0; i < form->object_count; i++) {
        const SbJsonFormObject *object = &form->objects[i];
        const char *open = begins[object->open.part] + object->open.offset;
        const char *close = begins[object->close.part] + object->close.offset;
        // Escapes, and depth as of a long object, are judged where the whole object is read.
        const bool plain = close - open < 2 * SB_JSON_DEPTH_MAX &&
                           (!match->escaped || !memchr(open, '\\', (size_t)(close - open)));
        *object->slot = (SbJsonSlot){open, close - open, .kind = SB_JSON_OBJECT,
                                     .whole = object->whole && plain};
    }
}

// Does the line have the form? Fills the slots then; those of keys that the form does not have are
// as it was learnt.
static bool matches(SbJsonForm *form, SbCall *call, const char *line, int64_t len) {
    bool escaped = false;
    const int64_t count = find_quotes(form, line, len, &escaped);
    const SbJsonFormPart *part = form->parts, *const tail = part + form->count;
    if (count < 0) return false;
    const Match match = {call, line, line + len, form->quotes + count, escaped,
                         &form->unread};
    form->quotes[count] = (uint32_t)(len - tail->len);
    const char *begins[SB_JSON_FORM_PARTS + 1], **begin = begins;  // Of the texts.
    Behind at = {line, form->quotes};
    for (; part < tail; part++) {
        if (match.end - at.at <= part->len || !same(at.at, part->text, part->len)) return false;
        *begin++ = at.at;
        at = take_value(&match, (Behind){at.at + part->len, at.quote + part->quotes}, part + 1,
                        part->slot);
        if (!at.at) return false;
    }
    *begin = at.at;
    if (match.end - at.at != tail->len || !same(at.at, tail->text, tail->len)) return false;
    fill_objects(form, &match, begins);
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
        learn(form, call, line, len);
        // Lines without a common form are not worth it: after each miss it rests longer.
        form->rest = form->misses;
        form->misses = form->misses < REST_MAX ? 2 * form->misses + 1 : REST_MAX;
    }
    return status;
}
