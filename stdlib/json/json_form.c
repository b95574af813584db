// Reads lines of a few forms fast. Lines of a log differ in their values, not in what stands
// between them: brackets, keys, colons, commas. A line may have the same texts between its values
// as a line whose grammar was checked. Then it is checked too once its values are, and its keys
// stand at the same places. So a form is learnt from a good line: the texts between its values,
// which are compared with wide loads, and which value fills which slot. Objects dissolve into their
// texts; an array is one value. What matches no form goes through sb_json_row, and may be learnt
// from.
//
// Programs write their kinds of lines in patterns, so the form that came after the last one before
// is tried first, then the others, the one that came last first. Forms whose last line had as many
// quotes as the one at hand go before those: members that may be missing make lines of many forms.
//
// All quotes of a line are found first. Each text between values holds the quotes of a key. So
// their places say where the next text begins before the value in front of that text is read. No
// value waits for another one.
#include "stdlib/json/json_text.h"
#include "stdlib/text.h"

#include <string.h>

enum { BLOCK = 64, REST_MAX = 64 };
static_assert((SB_JSON_FORM_QUOTES + BLOCK + SB_PLACES_AHEAD) * sizeof(uint32_t) <
              sizeof((SbJsonForms *)nullptr)->quotes);

// Slots of the shape's keys and of their members.
static uint32_t count_slots(const SbJsonShape *shape) {
    uint32_t count = shape->first + shape->count;
    for (uint32_t i = 0; i < shape->count; i++) {
        const SbJsonShape *members = shape->keys[i].members;
        const uint32_t inner = members ? count_slots(members) : 0;
        if (inner > count) count = inner;
    }
    return count;
}

void sb_json_forms_open(SbJsonForms *forms, const SbJsonShape *shape, SbJsonSlot *slots) {
    forms->shape = shape;
    forms->slots = slots;
    forms->slot_count = count_slots(shape);
    forms->count = forms->last = 0;
    forms->fills = SB_JSON_FORMS;
    forms->rest = forms->misses = forms->strangers = 0;
    forms->expected = forms->forms[0].count = 0;
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

// Which bytes stand for one character after a backslash: all of RFC 8259, section 7, but u.
static inline __m256i are_letters_of_escapes(__m256i bytes) {
    enum { HIGH_2 = 1, HIGH_5 = 2, HIGH_6 = 4, HIGH_7 = 8 };  // The upper halves of such bytes.
    const __m256i lower = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 0, HIGH_2 | HIGH_6 | HIGH_7, 0, HIGH_7, 0, HIGH_6, 0, 0, 0, 0, 0, HIGH_5, 0, HIGH_6,
        HIGH_2));
    const __m256i upper = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, HIGH_2, 0, 0, HIGH_5, HIGH_6, HIGH_7, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i half = _mm256_set1_epi8(0x0f);
    const __m256i low = _mm256_shuffle_epi8(lower, _mm256_and_si256(bytes, half));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half);
    const __m256i both = _mm256_and_si256(low, _mm256_shuffle_epi8(upper, high));
    return _mm256_cmpgt_epi8(both, _mm256_setzero_si256());
}

// Where a character stands that a backslash escapes, but for backslashes. *inside: the first one
// is escaped; set for the block after. A run of backslashes escapes what follows when its length is
// odd. A bit added to where it begins moves to its end. So runs are parted by whether they begin at
// even places (Langdale and Lemire, arXiv 1902.08318, 3.1.1).
static inline uint64_t escaped_in(uint64_t slashes, bool *inside) {
    const uint64_t even = 0x5555555555555555, first = *inside;
    slashes &= ~first;
    const uint64_t begins = slashes & ~(slashes << 1);
    uint64_t ends_of_even = slashes + (begins & even), ends_of_odd;
    *inside = __builtin_add_overflow(slashes, begins & ~even, &ends_of_odd);
    return (((ends_of_even & ~even) | (ends_of_odd & even)) & ~slashes) | first;
}

// The quotes of a line while they are looked for.
typedef struct Quotes {
    uint32_t *out;
    uint32_t  slash;   // Where the first backslash is; UINT32_MAX: there is none before here.
    bool      inside;  // The next character makes a pair with a backslash before it.
    bool      units;   // An escape is of a code unit, or of nothing that there is.
} Quotes;

// The escapes of a block with backslashes: takes quotes out that are escaped.
static inline uint64_t pass_block(Quotes *quotes, uint64_t found, uint64_t slashes, uint64_t simple,
                                  uint32_t place) {
    const uint64_t escaped = escaped_in(slashes, &quotes->inside);
    if (slashes && quotes->slash == UINT32_MAX)
        quotes->slash = place + (uint32_t)_tzcnt_u64(slashes);
    quotes->units |= (escaped & ~simple) != 0;
    return found & ~escaped;
}

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
            const __m256i one = are_letters_of_escapes(a), two = are_letters_of_escapes(b);
            found = pass_block(quotes, found, slashes, bits_where(one, two), place);
        }
    }
    const __m256i base = _mm256_set1_epi32((int)place);
    quotes->out = sb_put_places(quotes->out, (uint32_t)found, base);
    quotes->out = sb_put_places(quotes->out, (uint32_t)(found >> 32),
                                _mm256_add_epi32(base, _mm256_set1_epi32(32)));
    return true;
}

// Fills forms->quotes with the places in the line of its quotes that no backslash stands before.
// Their number; -1: a control character, or too many. *found: what else was seen.
static inline int64_t find_quotes(SbJsonForms *forms, const char *line, int64_t len,
                                  Quotes *found) {
    Quotes quotes = {.out = forms->quotes, .slash = UINT32_MAX};
    int64_t at = 0;
    for (; len - at >= BLOCK; at += BLOCK) {
        if (!put_quotes(&quotes, line + at, BLOCK, (uint32_t)at)) return -1;
        if (quotes.out > forms->quotes + SB_JSON_FORM_QUOTES) return -1;
    }
    if (!put_quotes(&quotes, line + at, (uint64_t)(len - at), (uint32_t)at)) return -1;
    *found = quotes;
    const int64_t count = quotes.out - forms->quotes;
    return count > SB_JSON_FORM_QUOTES ? -1 : count;
}

// Is there a backslash between the two?
static inline bool has_escapes(const char *at, const char *end) {
    for (; end - at > 32; at += 32)
        if (_mm256_movemask_epi8(are(load(at), '\\'))) return true;
    const uint32_t found = (uint32_t)_mm256_movemask_epi8(are(load(at), '\\'));
    return _bzhi_u32(found, (uint32_t)(end - at)) != 0;
}

// ---- learning ----------------------------------------------------------------------------------

// Fills the slots of members. False: there is no form of this line.
static bool fill_members(SbJsonForms *forms, SbCall *call, const SbJsonShape *shape) {
    for (uint32_t i = 0; i < shape->count; i++) {
        const SbJsonShape *members = shape->keys[i].members;
        const SbJsonSlot *object = &forms->slots[shape->first + i];
        if (object->twice) return false;
        if (!members) continue;
        SbJsonSlot *inner = forms->slots + members->first;
        if (object->kind != SB_JSON_OBJECT) {
            for (uint32_t k = 0; k < members->count; k++) inner[k] = (SbJsonSlot){};
        } else if (sb_json_row(call, object->ptr, object->len, members, inner)) {
            return false;
        }
        if (!fill_members(forms, call, members)) return false;
    }
    return true;
}

// The slot of the value, which is there once; null: nobody reads it. *members: it has slots too.
static SbJsonSlot *slot_at(const SbJsonForms *forms, const SbJsonShape *shape, const char *value,
                           bool *members) {
    for (uint32_t i = 0; i < shape->count; i++) {
        const SbJsonShape *inner = shape->keys[i].members;
        SbJsonSlot *slot = &forms->slots[shape->first + i];
        *members = inner != nullptr;
        if (slot->kind != SB_JSON_MISSING && slot->ptr == value) return slot;
        if (inner && (slot = slot_at(forms, inner, value, members))) return slot;
    }
    return nullptr;
}

// Learns the texts; the slots are filled. False: too many values.
static bool learn_texts(SbJsonForms *forms, SbJsonForm *form, const char *line, int64_t len) {
    const char *end = line + len, *text = line;
    uint32_t count = 0;
    bool key = false, members;  // The next string is one.
    for (const char *at = sb_json_space(line, end); at < end;) {
        switch (*at) {
        case '{': {
            SbJsonSlot *object = slot_at(forms, forms->shape, at, &members);
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
            SbJsonSlot *slot = slot_at(forms, forms->shape, at, &members);
            form->parts[count++] = (SbJsonFormPart){
                .text = text, .len = (uint32_t)(at - text), .slot = slot ? slot : &forms->unread};
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
static void learn(SbJsonForms *forms, SbJsonForm *form, SbCall *call, SbStr line) {
    Quotes found;
    form->count = form->object_count = form->next = 0;
    form->paid = form->slashes = false;
    if (!fill_members(forms, call, forms->shape)) return;
    const int64_t count = find_quotes(forms, line.ptr, line.len, &found);
    form->line_quotes = count;
    if (count < 0 || !learn_texts(forms, form, line.ptr, line.len)) return;
    const uint32_t *quote = forms->quotes, *const last = quote + count;
    for (SbJsonFormPart *part = form->parts; part <= form->parts + form->count; part++) {
        const int64_t begin = part->text - line.ptr;
        while (quote < last && *quote < begin) quote++;  // In the value before.
        const uint32_t *first = quote;
        while (quote < last && *quote < begin + part->len) quote++;
        part->quotes = (uint32_t)(quote - first);
        part->first_quote = part->quotes ? (uint32_t)(*first - begin) : 0;
        form->slashes |= has_escapes(part->text, part->text + part->len);
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

// A line while it is compared with forms. Escapes of one letter are judged with the quotes. Those
// of code units, and what is no escape, are judged when their string is passed. `slash` may lie in
// front of the value at hand, in a key for one.
typedef struct Match {
    SbCall           *call;
    const char       *line, *end;
    uint32_t         *last;    // After all quotes: where a tail without quotes would begin.
    uint32_t          escapes; // Where the first backslash is; UINT32_MAX for none.
    uint32_t          slash;   // The first one whose escape may be wrong, and is not passed yet.
    bool              halves;  // A value that was passed may hold half of a surrogate pair.
    const SbJsonSlot *unread;  // The slot of what nobody reads.
} Match;

// Moves match->slash to the first backslash at or after `at`.
[[gnu::noinline]]
static void find_slash(Match *match, const char *at) {
    match->slash = UINT32_MAX;
    for (; at < match->end; at += 32) {
        const uint32_t found = (uint32_t)_mm256_movemask_epi8(are(load(at), '\\'));
        if (!found) continue;
        at += _tzcnt_u32(found);
        if (at < match->end) match->slash = (uint32_t)(at - match->line);
        return;
    }
}

// Passes the escapes of the string [at, end), whose quotes are right. False: one is wrong.
[[gnu::noinline]]
static bool pass_escapes(Match *match, const char *at, const char *end) {
    if (match->slash < at - match->line) find_slash(match, at);
    while (match->slash < end - match->line) {
        const char *slash = match->line + match->slash, *after = sb_json_escape_end(slash, end);
        if (!after) return false;
        match->halves |= slash[1] == 'u' && (slash[2] | 0x20) == 'd' && slash[3] > '7';
        find_slash(match, after);
    }
    return true;
}

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

// After an array of short numbers and of strings, with a space after each comma at most; null for
// any other. `escapes`: those of strings are judged.
[[gnu::always_inline]] static inline Behind short_array(Match *match, Behind at, bool escapes) {
    for (at.at++;; at.at += 1 + (at.at[1] == ' ')) {
        if (*at.at == '"') {
            if (match->last - at.quote < 2) return (Behind){};
            const char *behind = match->line + at.quote[1] + 1;
            const bool clean = at.quote[1] < match->slash;
            if (!clean && !(escapes && pass_escapes(match, at.at, behind))) return (Behind){};
            at = (Behind){behind, at.quote + 2};
        } else {
            at.at = short_number(at.at);
            if (!at.at) return (Behind){};
        }
        if (*at.at == ']') return (Behind){at.at + 1, at.quote};
        if (*at.at != ',') return (Behind){};
    }
}

// What the four bytes at `at` are, or with the fifth one: true, false or null; MISSING for others.
static inline SbJsonKind literal_kind(const char *at) {
    enum : uint32_t { TRUE_WORD = 0x65757274, FALS_WORD = 0x736c6166, NULL_WORD = 0x6c6c756e };
    uint32_t word;
    __builtin_memcpy(&word, at, sizeof word);
    if (word == TRUE_WORD) return SB_JSON_TRUE;
    if (word == NULL_WORD) return SB_JSON_NULL;
    return word == FALS_WORD && at[4] == 'e' ? SB_JSON_FALSE : SB_JSON_MISSING;
}

[[gnu::noinline]]
static Behind escaped_array(Match *match, Behind at) { return short_array(match, at, true); }

// After a string in a line with code units as escapes, which may be in it; null for none.
[[gnu::noinline]]
static Behind any_string(Match *match, Behind at, SbJsonSlot *slot) {
    if (match->last - at.quote < 2) return (Behind){};
    const char *behind = match->line + at.quote[1] + 1;
    if (!pass_escapes(match, at.at, behind)) return (Behind){};
    slot->escapes = has_escapes(at.at, behind);
    slot->whole = slot->escapes && !match->halves;
    return (Behind){behind, at.quote + 2};
}

// Takes the value at at.at, whatever it is, should the text of `next` follow: fills the slot.
static Behind take_any(Match *match, Behind at, const SbJsonFormPart *next, SbJsonSlot *slot) {
    Behind behind = {};
    *slot = (SbJsonSlot){.ptr = at.at, .kind = *at.at == '"' ? SB_JSON_STRING : SB_JSON_ARRAY};
    if (*at.at == '[')
        behind = match->slash < UINT32_MAX ? escaped_array(match, at)
                                           : short_array(match, at, false);
    if (*at.at == '"') behind = any_string(match, at, slot);
    if (behind.at) {
        slot->len = behind.at - at.at;
    } else {
        behind = (Behind){sb_json_skip(match->call, at.at, match->end, slot), at.quote};
        if (!behind.at) return behind;
        while (behind.quote < match->last && match->line + *behind.quote < behind.at)
            behind.quote++;
        match->halves |= match->slash < UINT32_MAX;
    }
    if (behind.at != begin_of(match, next, behind.quote)) behind.at = nullptr;
    return behind;
}

// As take_any, and without a call for the usual strings and numbers.
[[gnu::always_inline]] static inline Behind take_value(Match *match, Behind at,
                                                       const SbJsonFormPart *next,
                                                       SbJsonSlot *slot) {
    if (*at.at == '"' && match->last - at.quote > 1) {
        const char *behind = match->line + at.quote[1] + 1;
        if (__builtin_expect(at.quote[1] > match->slash, 0)) return take_any(match, at, next, slot);
        if (slot != match->unread) {
            *slot = (SbJsonSlot){.ptr = at.at, .len = behind - at.at, .kind = SB_JSON_STRING};
            if (__builtin_expect(at.quote[1] > match->escapes, 0))
                slot->escapes = slot->whole = has_escapes(at.at, behind);
        }
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
    } else if (*at.at >= 'a') {
        const SbJsonKind kind = literal_kind(at.at);
        const char *behind = at.at + 4 + (kind == SB_JSON_FALSE);
        if (kind != SB_JSON_MISSING && behind == begin_of(match, next, at.quote)) {
            if (slot != match->unread)
                *slot = (SbJsonSlot){.ptr = at.at, .len = behind - at.at, .kind = kind};
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
        // Halves of surrogate pairs, and depth as of a long object, are judged where the whole
        // object is read.
        const bool may_have_halves = match->escapes < UINT32_MAX &&
                                     (match->halves || form->slashes);
        const bool plain = close - open < 2 * SB_JSON_DEPTH_MAX &&
                           !(may_have_halves && memchr(open, '\\', (size_t)(close - open)));
        *object->slot = (SbJsonSlot){open, close - open, .kind = SB_JSON_OBJECT,
                                     .whole = object->whole && plain};
    }
}

// Slots of keys that a form does not have are empty, whatever another form has put there.
static void empty_slots(SbJsonForms *forms) {
    for (uint32_t i = 0; i < forms->slot_count; i++) forms->slots[i] = (SbJsonSlot){};
}

// Does the line have the form of this number? Fills the slots then.
[[gnu::always_inline]] static inline bool matches(SbJsonForms *forms, uint32_t number,
                                                  Match *match) {
    const SbJsonForm *form = &forms->forms[number];
    const SbJsonFormPart *part = form->parts, *const tail = part + form->count;
    const char *line = match->line;
    if (part == tail) return false;
    if (forms->fills != number) empty_slots(forms);
    forms->fills = number;
    *match->last = (uint32_t)(match->end - line - tail->len);
    const char *begins[SB_JSON_FORM_PARTS + 1], **begin = begins;  // Of the texts.
    Behind at = {line, forms->quotes};
    for (; part < tail; part++) {
        if (match->end - at.at <= part->len || !same(at.at, part->text, part->len)) return false;
        *begin++ = at.at;
        at = take_value(match, (Behind){at.at + part->len, at.quote + part->quotes}, part + 1,
                        part->slot);
        if (!at.at) return false;
    }
    *begin = at.at;
    if (match->end - at.at != tail->len || !same(at.at, tail->text, tail->len)) return false;
    fill_objects(form, match, begins);
    return true;
}

// The number of a form that the line has, its slots filled, but for the one that was tried;
// SB_JSON_FORMS: there is none. Those of as many quotes come first.
[[gnu::noinline]]
static uint32_t find_other(SbJsonForms *forms, uint32_t tried, Match begin, int64_t quotes) {
    for (uint32_t i = 0; i < 2 * forms->count; i++) {
        const bool alike = i < forms->count;
        const uint32_t number = forms->recent[alike ? i : i - forms->count];
        const SbJsonForm *form = &forms->forms[number];
        if (number == tried || (form->line_quotes == quotes) != alike) continue;
        const SbJsonFormPart *first = form->parts;
        Match match = begin;
        const bool may = form->count && match.end - match.line > first->len &&
                         same(match.line, first->text, first->len);
        if (may && matches(forms, number, &match)) return number;
    }
    return SB_JSON_FORMS;
}

// Puts the form at a place of the recent ones in front of them.
static void bring_forward(SbJsonForms *forms, uint32_t place) {
    const uint8_t number = forms->recent[place];
    for (; place > 0; place--) forms->recent[place] = forms->recent[place - 1];
    forms->recent[0] = number;
}

// A line has the form.
static inline void note_form(SbJsonForms *forms, uint32_t number) {
    const bool again = number == forms->last && number == forms->expected;
    if (__builtin_expect(again && !forms->strangers, 1)) return;
    forms->forms[forms->last].next = number;
    forms->last = number;
    forms->expected = forms->forms[number].next;
    forms->strangers = 0;
    if (!forms->forms[number].paid) forms->misses = forms->rest = 0;
    forms->forms[number].paid = true;
    if (forms->recent[0] == number) return;
    uint32_t place = 1;
    while (forms->recent[place] != number) place++;
    bring_forward(forms, place);
}

// Learns a form in place of the one that no line has had for longest.
static void learn_form(SbJsonForms *forms, SbCall *call, SbStr line) {
    const bool room = forms->count < SB_JSON_FORMS;
    const uint32_t place = room ? forms->count++ : SB_JSON_FORMS - 1;
    if (room) forms->recent[place] = (uint8_t)place;
    bring_forward(forms, place);
    const uint32_t number = forms->recent[0];
    learn(forms, &forms->forms[number], call, line);
    if (forms->forms[number].count) forms->fills = number;
    // Lines without a common form are not worth it: after each miss it rests longer.
    forms->rest = forms->misses;
    forms->misses = forms->misses < REST_MAX ? 2 * forms->misses + 1 : REST_MAX;
}

// A line that no form fits, or that is not compared with any.
[[gnu::noinline]]
static int32_t read_stranger(SbJsonForms *forms, SbCall *call, SbStr line) {
    forms->fills = SB_JSON_FORMS;
    forms->strangers++;
    int32_t status = sb_json_row(call, line.ptr, line.len, forms->shape, forms->slots);
    if (forms->rest) forms->rest--;
    else if (status == SB_OK) learn_form(forms, call, line);
    return status;
}

// The number of the line's form, its slots filled; SB_JSON_FORMS: it has none that is known.
static inline uint32_t find_form(SbJsonForms *forms, SbCall *call, SbStr line) {
    Quotes found;
    const int64_t count = find_quotes(forms, line.ptr, line.len, &found);
    if (count < 0) return SB_JSON_FORMS;
    const uint32_t slash = found.units ? found.slash : UINT32_MAX;
    Match match = {.call = call, .line = line.ptr, .end = line.ptr + line.len,
                   .last = forms->quotes + count, .escapes = found.slash, .slash = slash,
                   .unread = &forms->unread};
    uint32_t number = forms->expected;
    const bool alike = forms->count < 2 || forms->forms[number].line_quotes == count;
    if (__builtin_expect(!alike || !matches(forms, number, &match), 0)) {
        match.slash = slash;
        match.halves = false;
        number = find_other(forms, alike ? number : SB_JSON_FORMS, match, count);
        if (number == SB_JSON_FORMS) return number;
    }
    forms->forms[number].line_quotes = count;
    return number;
}

int32_t sb_json_row_like(SbCall *call, const char *line, int64_t len, SbJsonForms *forms) {
    // After many lines without a form only one now and then is compared.
    if (__builtin_expect(forms->strangers < REST_MAX || !forms->rest, 1)) {
        const uint32_t number = find_form(forms, call, (SbStr){line, len});
        if (__builtin_expect(number < SB_JSON_FORMS, 1)) {
            note_form(forms, number);
            return SB_OK;
        }
    }
    return read_stranger(forms, call, (SbStr){line, len});
}
