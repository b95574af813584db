// Counting different values: sets of words and of texts, small enough to be inlined into stages.
#include "stdlib/aggregate/word_list.h"
#include "stdlib/hash.h"

#include <string.h>

enum : uint64_t { ROOM_MIN = 16, SEED = 0x13198a2e03707344 };

#define INLINE [[gnu::always_inline]] static inline

// Room for a table, all zeros, that begins with a line of the cache; null: out of memory.
static void *wider_room(SbCall *call, uint64_t room, size_t slot_bytes) {
    enum { LINE_BYTES = 64 };
    int64_t bytes = (int64_t)(room * slot_bytes);
    char *taken = sb_take(call, bytes + LINE_BYTES);
    if (!taken) return nullptr;
    void *slots = taken + (-(uintptr_t)taken & (LINE_BYTES - 1));
    return memset(slots, 0, (size_t)bytes);
}

// ---- words --------------------------------------------------------------------------------------

// A word stands in the line that its hash names or, where that is full, in the next with room. All
// words of a line are compared at once: which of them it is need not be guessed.
enum : uint64_t { LINE_WORDS = 8 };

typedef uint64_t Line __attribute__((vector_size(64)));
typedef bool LineMask __attribute__((ext_vector_type(8)));

INLINE uint64_t *home_line(const SbWordSet *set, uint64_t word) {
    return &set->slots[sb_hash_word(SEED, word) & (set->room - LINE_WORDS)];
}

// Bit i: the line's word i is `word`.
INLINE uint32_t find_in_line(const uint64_t *line, uint64_t word) {
    Line words;
    memcpy(&words, line, sizeof words);  // Read back from disk, lines begin at a multiple of 16.
    LineMask same = __builtin_convertvector(words == word, LineMask);
    uint8_t bits;
    memcpy(&bits, &same, sizeof bits);
    return bits;
}

// The slot of the word or the free one where it belongs.
static uint64_t *word_slot(const SbWordSet *set, uint64_t word) {
    uint64_t *line = home_line(set, word);
    for (;;) {
        uint32_t here = find_in_line(line, word), free = find_in_line(line, 0);
        if (here | free) return line + __builtin_ctz(here ? here : free);
        line += LINE_WORDS;
        if (line == set->slots + set->room) line = set->slots;
    }
}

static int32_t grow_words(SbCall *call, SbWordSet *set) {
    SbWordSet wider = *set;
    wider.room = set->room ? 2 * set->room : ROOM_MIN;
    wider.slots = wider_room(call, wider.room, sizeof *wider.slots);
    if (!wider.slots) return SB_FAULT_TOO_LARGE;
    for (uint64_t i = 0; i < set->room; i++)
        if (set->slots[i]) *word_slot(&wider, set->slots[i]) = set->slots[i];
    *set = wider;
    return SB_OK;
}

// The words of a list get slots.
static int32_t look_up_list(SbCall *call, SbWordSet *set) {
    uint64_t count = sb_word_list_count(set);
    SbWordSet wider = {.has_zero = set->has_zero, .used = set->has_zero, .room = ROOM_MIN};
    while (wider.room <= 2 * count) wider.room *= 2;
    wider.slots = wider_room(call, wider.room, sizeof *wider.slots);
    if (!wider.slots) return SB_FAULT_TOO_LARGE;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *slot = word_slot(&wider, set->slots[i]);
        wider.used += *slot == 0;
        *slot = set->slots[i];
    }
    *set = wider;
    return SB_OK;
}

// Room for one more word.
static int32_t more_words(SbCall *call, SbWordSet *set) {
    if (set->list_room) {
        bool differ = true;
        int32_t status = sb_word_list_count(set) == set->list_room
                             ? sb_word_list_more(call, set, &differ) : SB_OK;
        return status != SB_OK || differ ? status : look_up_list(call, set);
    }
    if (2 * set->used < set->room) return SB_OK;
    return set->room < SB_WORD_LIST_SLOTS ? grow_words(call, set) : sb_word_list_begin(call, set);
}

// A word that is not in its home line.
[[gnu::noinline]] static int32_t new_word(SbCall *call, SbWordSet *set, uint64_t word) {
    if (word == 0) {
        set->used += !set->has_zero;
        set->has_zero = 1;
        return SB_OK;
    }
    int32_t status = more_words(call, set);
    if (status != SB_OK) return status;
    if (set->list_room) {
        set->slots[sb_word_list_count(set)] = word;
        set->used++;
        return SB_OK;
    }
    uint64_t *slot = word_slot(set, word);
    set->used += *slot == 0;
    *slot = word;
    return SB_OK;
}

INLINE int32_t add_word(SbCall *call, SbWordSet *set, uint64_t word) {
    bool known = set->room && word && find_in_line(home_line(set, word), word);
    return __builtin_expect(known, 1) ? SB_OK : new_word(call, set, word);
}

int32_t sb_count_distinct_u64_add(SbCall *call, SbWordSet *set, uint64_t x) {
    return add_word(call, set, x);
}

int32_t sb_count_distinct_i64_add(SbCall *call, SbWordSet *set, int64_t x) {
    return add_word(call, set, (uint64_t)x);
}

int32_t sb_count_distinct_f64_add(SbCall *call, SbWordSet *set, double x) {
    uint64_t word;
    x += 0.0;  // -0.0 becomes 0.0.
    memcpy(&word, &x, sizeof word);
    return add_word(call, set, x == x ? word : UINT64_C(0x7ff8000000000000));
}

int32_t sb_count_distinct_u64_merge(SbCall *call, SbWordSet *into, const SbWordSet *from) {
    int32_t status = from->has_zero ? add_word(call, into, 0) : SB_OK;
    for (uint64_t i = 0; i < from->room && status == SB_OK; i++)
        if (from->slots[i]) status = add_word(call, into, from->slots[i]);
    uint64_t listed = from->list_room ? sb_word_list_count(from) : 0;
    for (uint64_t i = 0; i < listed && status == SB_OK; i++)
        status = add_word(call, into, from->slots[i]);
    return status;
}

int32_t sb_count_distinct_i64_merge(SbCall *call, SbWordSet *into, const SbWordSet *from) {
    return sb_count_distinct_u64_merge(call, into, from);
}

int32_t sb_count_distinct_f64_merge(SbCall *call, SbWordSet *into, const SbWordSet *from) {
    return sb_count_distinct_u64_merge(call, into, from);
}

int64_t sb_count_distinct_u64_end(SbCall *call, const SbWordSet *set) {
    return sb_words_count(call, set);
}

int64_t sb_count_distinct_i64_end(SbCall *call, const SbWordSet *set) {
    return sb_words_count(call, set);
}

int64_t sb_count_distinct_f64_end(SbCall *call, const SbWordSet *set) {
    return sb_words_count(call, set);
}

// ---- texts --------------------------------------------------------------------------------------

typedef struct Text {
    SbStr    text;
    uint64_t head, tail, hash;
} Text;

INLINE Text text_of(SbStr text) {
    Text t = {text, sb_key_head(text.ptr, text.len), sb_key_tail(text.ptr, text.len), 0};
    t.hash = sb_key_hash(SEED, t.head, t.tail, text) | 1;  // 0 marks a free slot.
    return t;
}

INLINE SbTextSlot *text_slot(const SbTextSet *set, const Text *text) {
    for (uint64_t at = text->hash >> 1;; at++) {
        SbTextSlot *slot = &set->slots[at & (set->room - 1)];
        if (slot->hash == 0) return slot;
        if (slot->hash == text->hash &&
            sb_key_equal(&slot->key, text->head, text->tail, text->text)) return slot;
    }
}

[[gnu::noinline]] static int32_t grow_texts(SbCall *call, SbTextSet *set) {
    SbTextSet wider = {.room = set->room ? 2 * set->room : ROOM_MIN, .used = set->used};
    wider.slots = wider_room(call, wider.room, sizeof *wider.slots);
    if (!wider.slots) return SB_FAULT_TOO_LARGE;
    for (uint64_t i = 0; i < set->room; i++) {
        if (!set->slots[i].hash) continue;
        uint64_t at = set->slots[i].hash >> 1;
        while (wider.slots[at & (wider.room - 1)].hash) at++;
        wider.slots[at & (wider.room - 1)] = set->slots[i];
    }
    *set = wider;
    return SB_OK;
}

[[gnu::noinline]] static int32_t new_text(SbCall *call, SbTextSlot *slot, const Text *text) {
    SbKeyStr key = {.len = text->text.len};
    memcpy(key.bytes, &text->head, sizeof text->head);
    memcpy(key.bytes + sizeof text->head, &text->tail, sizeof text->tail);
    if (key.len > SB_KEY_INLINE) {
        char *copy = sb_take(call, key.len);
        if (!copy) return SB_FAULT_TOO_LARGE;
        memcpy(copy, text->text.ptr, (size_t)key.len);
        key.far.ptr = copy;
    }
    *slot = (SbTextSlot){text->hash, key};
    return SB_OK;
}

int32_t sb_count_distinct_str_add(SbCall *call, SbTextSet *set, SbStr x) {
    if (__builtin_expect(2 * set->used >= set->room, 0)) {
        int32_t status = grow_texts(call, set);
        if (status != SB_OK) return status;
    }
    Text text = text_of(x);
    SbTextSlot *slot = text_slot(set, &text);
    if (__builtin_expect(slot->hash != 0, 1)) return SB_OK;
    int32_t status = new_text(call, slot, &text);
    set->used += status == SB_OK;
    return status;
}

int32_t sb_count_distinct_str_merge(SbCall *call, SbTextSet *into, const SbTextSet *from) {
    int32_t status = SB_OK;
    for (uint64_t i = 0; i < from->room && status == SB_OK; i++)
        if (from->slots[i].hash)
            status = sb_count_distinct_str_add(call, into, sb_key_text(&from->slots[i].key));
    return status;
}

int64_t sb_count_distinct_str_end(SbCall *, const SbTextSet *set) { return (int64_t)set->used; }
