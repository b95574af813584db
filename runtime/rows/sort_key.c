#include "runtime/rows/sort_key.h"

#include <string.h>

enum {
    TEXT_WORD = 7,    // Bytes of a text in a word.
    REST_BIAS = SB_SORT_KNOWN_MAX,
    GOES_ON = TEXT_WORD + 1,  // So many bytes are left, or more: the text has another word.
};

// Entries and texts lie anywhere: both are asked for before they are needed.
enum { ASK_TEXT = 8, ASK_ENTRY = 16 };

enum : uint32_t { STEP_PREFIX, STEP_MORE, STEP_PARTS };

uint64_t sb_entry_order(const SbEntry *entry) { return entry->order; }

bool sb_sort_less(const SbEntry *a, const SbEntry *b, const SbSortBy *by) {
    int32_t order = by->compare ? by->compare(a, b) : 0;
    return order ? order < 0 : a->order < b->order;
}

bool sb_sort_before(const SbEntry *a, const SbEntry *b, const SbSortBy *by) {
    uint64_t (*words[])(const SbEntry *) = {by->prefix, by->prefix_more};
    for (int i = 0; i < 2; i++) {
        uint64_t x = words[i] ? words[i](a) : 0, y = words[i] ? words[i](b) : 0;
        if (x != y) return x < y;
    }
    return sb_sort_less(a, b, by);
}

static uint32_t rest_count(const SbSortBy *by) {
    return by->part_count ? by->part_count : by->compare ? 1 : 0;
}

// False: there is no such step.
static bool part_of_step(const SbSortBy *by, uint32_t step, SbSortPart *part) {
    *part = (SbSortPart){.kind = SB_SORT_BITS};
    uint32_t parts = rest_count(by);
    if (step == STEP_PREFIX) part->bits = by->prefix;
    else if (step == STEP_MORE) part->bits = by->prefix_more;
    else if (step < STEP_PARTS + by->part_count) *part = by->parts[step - STEP_PARTS];
    else if (step < STEP_PARTS + parts) part->kind = SB_SORT_REST;
    else if (step == STEP_PARTS + parts) part->bits = sb_entry_order;
    else return false;
    return true;
}

static SortPlace begin_of_step(const SbSortBy *by, uint32_t step) {
    SbSortPart part;
    bool is_text = part_of_step(by, step, &part) && part.kind == SB_SORT_TEXT;
    return (SortPlace){step, is_text ? part.known : 0};
}

bool sort_key_part(const SbSortBy *by, SortPlace *place, SbSortPart *part) {
    while (part_of_step(by, place->step, part)) {
        if (part->kind != SB_SORT_BITS || part->bits) return true;
        *place = begin_of_step(by, place->step + 1);
    }
    return false;
}

static SbStr text_of(const SbSortPart *part, const SbEntry *entry) {
    const char *at = (const char *)entry;
    if (part->valid_offset != UINT32_MAX && !at[part->valid_offset]) return (SbStr){0};
    SbStr text;
    memcpy(&text, at + part->text_offset, sizeof text);
    return text;
}

static uint64_t eight_bytes(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return __builtin_bswap64(word);
}

// The first `count` > 0 bytes of a word; zeroes for those that lie after the end of a text.
static uint64_t first_bytes(uint64_t word, int64_t count) {
    return count < 8 ? word & ~UINT64_C(0) << (64 - 8 * count) : word;
}

// Seven bytes, zeroes after the last, then how many bytes are left. Of texts that are shorter than
// what is known of them the shorter ones come first.
static inline uint64_t text_word(const SbSortPart *part, int64_t offset, const SbEntry *entry) {
    SbStr text = text_of(part, entry);
    int64_t rest = text.len - offset;
    uint64_t word = 0;
    if (rest > 0) word = first_bytes(eight_bytes(text.ptr + offset), rest);
    if (rest > GOES_ON) rest = GOES_ON;
    if (rest < -REST_BIAS) rest = -REST_BIAS;
    word = (word & ~UINT64_C(255)) | (uint64_t)(rest + REST_BIAS);
    return part->descending ? ~word : word;
}

uint64_t sort_key_word(const SbSortPart *part, SortPlace place, const SbEntry *entry) {
    return part->kind == SB_SORT_TEXT ? text_word(part, place.offset, entry) : part->bits(entry);
}

static inline void see(SortSeen *seen, uint64_t word, uint64_t before) {
    seen->differ |= word ^ before;
    seen->descents += word < before;
}

// Few, which the caches hold.
static SortSeen few_words(const SbSortPart *part, SortPlace place, SbSortItem *items,
                          int64_t count) {
    SortSeen seen = {0};
    for (int64_t i = 0; i < count; i++) {
        items[i].key = sort_key_word(part, place, items[i].entry);
        see(&seen, items[i].key, items[i > 0 ? i - 1 : 0].key);
    }
    return seen;
}

static SortSeen bit_words(const SbSortPart *part, SbSortItem *items, int64_t count) {
    enum { LINE = 64 };
    SortSeen seen = {0};
    uint64_t before = part->bits(items[0].entry);
    for (int64_t i = 0; i < count; i++) {
        const SbEntry *next = items[i + ASK_ENTRY < count ? i + ASK_ENTRY : i].entry;
        __builtin_prefetch(next);
        __builtin_prefetch((const char *)next + LINE);
        items[i].key = part->bits(items[i].entry);
        see(&seen, items[i].key, before);
        before = items[i].key;
    }
    return seen;
}

// A null text has no bytes, so that a place within it is a number only.
static void ask_text(const SbSortPart *part, SortPlace place, const SbEntry *entry) {
    const uintptr_t text = (uintptr_t)text_of(part, entry).ptr;
    __builtin_prefetch((const void *)(text + (uintptr_t)place.offset));
}

static SortSeen text_words(const SbSortPart *part, SortPlace place, SbSortItem *items,
                           int64_t count) {
    SortSeen seen = {0};
    uint64_t before = text_word(part, place.offset, items[0].entry);
    for (int64_t i = 0; i < count; i++) {
        if (i + ASK_ENTRY < count)
            __builtin_prefetch((const char *)items[i + ASK_ENTRY].entry + part->text_offset);
        if (i + ASK_TEXT < count) ask_text(part, place, items[i + ASK_TEXT].entry);
        items[i].key = text_word(part, place.offset, items[i].entry);
        see(&seen, items[i].key, before);
        before = items[i].key;
    }
    return seen;
}

SortSeen sort_key_words(const SbSortPart *part, SortPlace place, SbSortItem *items,
                        int64_t count) {
    if (count <= ASK_ENTRY) return few_words(part, place, items, count);
    return part->kind == SB_SORT_TEXT ? text_words(part, place, items, count)
                                      : bit_words(part, items, count);
}

SortSeen sort_key_list(const SbSortPart *part, SortPlace place, const SbEntry *const *entries,
                       int64_t count, uint64_t *words) {
    SortSeen seen = {0};
    bool is_text = part->kind == SB_SORT_TEXT;
    for (int64_t i = 0; i < count; i++) {
        if (is_text && i + ASK_TEXT < count) ask_text(part, place, entries[i + ASK_TEXT]);
        words[i] = sort_key_word(part, place, entries[i]);
        see(&seen, words[i], words[i > 0 ? i - 1 : 0]);
    }
    return seen;
}

SortPlace sort_key_after(const SbSortBy *by, SortPlace place, uint64_t word) {
    SbSortPart part;
    part_of_step(by, place.step, &part);
    if (part.descending) word = ~word;
    if (part.kind == SB_SORT_TEXT && (word & 255) == GOES_ON + REST_BIAS)
        return (SortPlace){place.step, place.offset + TEXT_WORD};
    return begin_of_step(by, place.step + 1);
}

int64_t sort_key_shared(const SbSortPart *part, SortPlace place, const SbEntry *first,
                        const SbEntry *entry, int64_t most) {
    if (part->kind != SB_SORT_TEXT) return 0;
    SbStr a = text_of(part, first), b = text_of(part, entry);
    int64_t left = (a.len < b.len ? a.len : b.len) - place.offset, i = 0;
    if (left < most) most = left;
    if (most <= 0) return 0;
    const char *x = a.ptr + place.offset, *y = b.ptr + place.offset;
    if (!memcmp(x, y, (size_t)most)) return most;
    for (; i < most; i += 8) {
        uint64_t differ = first_bytes(eight_bytes(x + i) ^ eight_bytes(y + i), most - i);
        if (differ) return i + __builtin_clzll(differ) / 8;
    }
    return most;
}
