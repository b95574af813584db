// Checks JSON grammar, and finds the wanted keys of a line. A state machine over tokens; strings
// are searched with vectors; nesting is one bit a level.
#include "stdlib/json/json_text.h"

#include <string.h>

enum { WORDS_HERE = 16 };  // 64 levels each, before scratch memory is asked for.

typedef struct Reader {
    const char *end;
    SbCall     *call;
    bool        memory_out;
} Reader;

// Which of the open brackets are braces: the innermost in bit 0.
typedef struct Nesting {
    uint64_t  word;    // Of the innermost 64 or fewer levels.
    int64_t   depth;
    uint64_t *words;   // Full words, outermost first.
    int64_t   words_max;
    uint64_t  here[WORDS_HERE];
} Nesting;

static bool nesting_spill(Reader *reader, Nesting *nesting) {
    int64_t at = nesting->depth / 64 - 1;
    if (at == nesting->words_max) {
        uint64_t *words = sb_alloc(reader->call, nesting->words_max * 16);
        reader->memory_out = !words;
        if (!words) return false;
        memcpy(words, nesting->words, (size_t)nesting->words_max * 8);
        nesting->words = words;
        nesting->words_max *= 2;
    }
    nesting->words[at] = nesting->word;
    return true;
}

static inline bool nesting_push(Reader *reader, Nesting *nesting, bool brace) {
    if (nesting->depth && nesting->depth % 64 == 0 && !nesting_spill(reader, nesting)) return false;
    nesting->word = nesting->word << 1 | brace;
    nesting->depth++;
    return true;
}

static inline void nesting_pop(Nesting *nesting) {
    nesting->word >>= 1;
    nesting->depth--;
    if (nesting->depth && nesting->depth % 64 == 0) {
        nesting->word = nesting->words[nesting->depth / 64 - 1];
    }
}

// As skip_string, for any string.
[[gnu::noinline]]
static const char *skip_long_string(const Reader *reader, const char *at, uint8_t *escapes) {
    at++;
    while (at < reader->end) {
        uint32_t stops = sb_json_string_stops(at);
        if (!stops) {
            at += 32;
            continue;
        }
        at += _tzcnt_u32(stops);
        if (at >= reader->end) return nullptr;
        if (*at == '"') return at + 1;
        if (*at != '\\') return nullptr;
        *escapes = 1;
        at = sb_json_escape_end(at, reader->end);
        if (!at) return nullptr;
    }
    return nullptr;
}

// After the closing quote of the string whose opening quote is at `at`; null when it is none.
// Sets *escapes when there are any. Most strings are plain and short.
static inline const char *skip_string(const Reader *reader, const char *at, uint8_t *escapes) {
    const char *stop = at + 1 + _tzcnt_u32(sb_json_string_stops(at + 1));  // at + 33: none.
    if (stop < reader->end && *stop == '"') return stop + 1;
    return skip_long_string(reader, at, escapes);
}

static inline const char *skip_digits(const Reader *reader, const char *at) {
    while (at < reader->end && (uint8_t)(*at - '0') < 10) at++;
    return at;
}

// number = [-] (0 | 1-9 digits) [. digits] [e [+-] digits]
static const char *skip_number(const Reader *reader, const char *at, uint8_t *whole) {
    const char *end = reader->end;
    at += *at == '-';
    const char *digits = at;
    at = skip_digits(reader, at);
    if (at == digits || (*digits == '0' && at - digits > 1)) return nullptr;
    *whole = 1;
    if (at < end && *at == '.') {
        *whole = 0;
        digits = ++at;
        at = skip_digits(reader, at);
        if (at == digits) return nullptr;
    }
    if (at < end && (*at | 0x20) == 'e') {
        *whole = 0;
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        digits = at;
        at = skip_digits(reader, at);
        if (at == digits) return nullptr;
    }
    return at;
}

static inline const char *skip_word(const Reader *reader, const char *at, const char *word) {
    size_t len = strlen(word);
    if ((size_t)(reader->end - at) < len || memcmp(at, word, len) != 0) return nullptr;
    return at + len;
}

// A value that is no string, array or object; `at` < end. Sets kind and whole.
static const char *skip_bare(const Reader *reader, const char *at, SbJsonSlot *slot) {
    switch (*at) {
    case 't':
        slot->kind = SB_JSON_TRUE;
        return skip_word(reader, at, "true");
    case 'f':
        slot->kind = SB_JSON_FALSE;
        return skip_word(reader, at, "false");
    case 'n':
        slot->kind = SB_JSON_NULL;
        return skip_word(reader, at, "null");
    default:
        slot->kind = SB_JSON_NUMBER;
        return skip_number(reader, at, &slot->whole);
    }
}

// A value that is no array or object; `at` < end. Sets all of the slot that it has.
static inline const char *skip_scalar(const Reader *reader, const char *at, SbJsonSlot *slot) {
    if (*at != '"') return skip_bare(reader, at, slot);
    slot->kind = SB_JSON_STRING;
    return skip_string(reader, at, &slot->escapes);
}

// key = string :
static inline const char *skip_key(const Reader *reader, const char *at) {
    uint8_t escapes = 0;
    at = sb_json_space(at, reader->end);
    if (at == reader->end || *at != '"') return nullptr;
    at = skip_string(reader, at, &escapes);
    if (!at) return nullptr;
    at = sb_json_space(at, reader->end);
    return at < reader->end && *at == ':' ? sb_json_space(at + 1, reader->end) : nullptr;
}

// After the array or object at `at`; null when its grammar is wrong.
static const char *skip_nested(Reader *reader, const char *at) {
    Nesting nesting;
    nesting.word = 0;
    nesting.depth = 0;
    nesting.words = nesting.here;  // Which is left as it is: most values are shallow.
    nesting.words_max = WORDS_HERE;
    const char *end = reader->end;
    do {
        // A value starts at `at`.
        if (at >= end) return nullptr;
        bool brace = *at == '{';
        if (brace || *at == '[') {
            if (!nesting_push(reader, &nesting, brace)) return nullptr;
            at = sb_json_space(at + 1, end);
            if (at == end) return nullptr;
            if (*at != (brace ? '}' : ']')) {
                if (brace && !(at = skip_key(reader, at))) return nullptr;
                continue;
            }
        } else {
            SbJsonSlot slot;  // Nobody asks for it.
            at = skip_scalar(reader, at, &slot);
            if (!at) return nullptr;
            at = sb_json_space(at, end);
        }
        // After a value, or at the bracket that closes an empty one.
        while (at < end && *at == (nesting.word & 1 ? '}' : ']')) {
            nesting_pop(&nesting);
            if (nesting.depth == 0) return at + 1;
            at = sb_json_space(at + 1, end);
        }
        if (at >= end || *at != ',') return nullptr;
        at = sb_json_space(at + 1, end);
        if (nesting.word & 1 && !(at = skip_key(reader, at))) return nullptr;
    } while (true);
}

// Any value; `at` < end. Fills the slot.
static inline const char *skip_value(Reader *reader, const char *at, SbJsonSlot *slot) {
    const char *start = at;
    if (*at == '{' || *at == '[') {
        *slot = (SbJsonSlot){.kind = *at == '{' ? SB_JSON_OBJECT : SB_JSON_ARRAY};
        at = skip_nested(reader, at);
    } else {
        *slot = (SbJsonSlot){};
        at = skip_scalar(reader, at, slot);
    }
    slot->ptr = start;
    slot->len = at ? at - start : 0;
    return at;
}

// The wanted key of this spelling, or -1. Looks from *guess on: keys come in the same order mostly.
static inline int64_t find_key(const SbJsonShape *shape, SbStr name, uint32_t *guess) {
    if (!(shape->lengths >> (name.len < 63 ? name.len : 63) & 1)) return -1;
    const uint64_t head = sb_json_head_at(name);
    uint32_t at = *guess;
    for (uint32_t tried = 0; tried < shape->count; tried++) {
        if (at >= shape->count) at = 0;
        const SbJsonKey *key = &shape->keys[at];
        if (key->head == head && key->name.len == name.len &&
            (name.len <= 8 || memcmp(key->name.ptr + 8, name.ptr + 8, (size_t)name.len - 8) == 0)) {
            *guess = at + 1;
            return at;
        }
        at++;
    }
    return -1;
}

// The wanted key, or -1, of the string at `quoted`. A key with a lone surrogate is none of them.
static int64_t wanted_key(Reader *reader, const SbJsonShape *shape, SbStr quoted, uint32_t *guess) {
    SbJsonSlot slot = {.ptr = quoted.ptr, .len = quoted.len, .kind = SB_JSON_STRING, .escapes = 1};
    SbStr name;
    int32_t status = sb_json_string(reader->call, &slot, &name);
    reader->memory_out |= status == SB_FAULT_TOO_LARGE;
    return status == SB_OK ? find_key(shape, name, guess) : -1;
}

// After the members and the closing brace of a row; `at` is after its opening brace.
static const char *read_members(Reader *reader, const char *at, const SbJsonShape *shape,
                                SbJsonSlot *slots) {
    const char *end = reader->end;
    uint32_t guess = 0;
    at = sb_json_space(at, end);
    if (at < end && *at == '}') return at + 1;
    while (at < end && *at == '"') {
        const char *quote = at;
        uint8_t escapes = 0;
        at = skip_string(reader, at, &escapes);
        if (!at) return nullptr;
        SbStr name = {quote + 1, at - quote - 2};
        int64_t found = escapes ? wanted_key(reader, shape, (SbStr){quote, at - quote}, &guess)
                                : find_key(shape, name, &guess);
        at = sb_json_space(at, end);
        if (at == end || *at != ':') return nullptr;
        at = sb_json_space(at + 1, end);
        if (at == end) return nullptr;
        SbJsonSlot slot;
        at = skip_value(reader, at, &slot);
        if (!at) return nullptr;
        if (found >= 0) {
            slot.twice = slots[found].kind != SB_JSON_MISSING;
            slots[found] = slot;
        }
        at = sb_json_space(at, end);
        if (at == end) return nullptr;
        if (*at == '}') return at + 1;
        if (*at != ',') return nullptr;
        at = sb_json_space(at + 1, end);
    }
    return nullptr;
}

int32_t sb_json_row(SbCall *call, const char *line, int64_t len, const SbJsonShape *shape,
                    SbJsonSlot *slots) {
    Reader reader = {.end = line + len, .call = call};
    for (uint32_t i = 0; i < shape->count; i++) slots[i] = (SbJsonSlot){};
    const char *at = sb_json_space(line, reader.end);
    if (at == reader.end || *at != '{') return SB_FAULT_BAD_JSON;
    at = read_members(&reader, at + 1, shape, slots);
    if (reader.memory_out) return SB_FAULT_TOO_LARGE;
    return at && sb_json_space(at, reader.end) == reader.end ? SB_OK : SB_FAULT_BAD_JSON;
}

const char *sb_json_skip(SbCall *call, const char *at, const char *end, SbJsonSlot *slot) {
    Reader reader = {.end = end, .call = call};
    return skip_value(&reader, at, slot);
}

int32_t sb_json_slot(SbCall *call, const char *ptr, int64_t len, SbJsonSlot *slot) {
    Reader reader = {.end = ptr + len, .call = call};
    const char *at = sb_json_space(ptr, reader.end);
    if (at == reader.end) return SB_FAULT_JSON_TYPE;
    at = skip_value(&reader, at, slot);
    if (reader.memory_out) return SB_FAULT_TOO_LARGE;
    return at && sb_json_space(at, reader.end) == reader.end ? SB_OK : SB_FAULT_JSON_TYPE;
}

const char *sb_json_value_end(const char *at, const char *end) {
    if (*at == '"') return sb_json_string_end(at);
    if (*at != '{' && *at != '[') {
        while (at < end && *at != ',' && *at != '}' && *at != ']' && (uint8_t)*at > ' ') at++;
        return at;
    }
    int64_t depth = 0;
    do {
        if (*at == '"') {
            at = sb_json_string_end(at);
            continue;
        }
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        at++;
    } while (depth);
    return at;
}
