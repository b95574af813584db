#include "stdlib/aggregate/word_list.h"

#include "runtime/abi/calls.h"
#include "stdlib/hash.h"

#include <string.h>

// Words are shared out by their hashes into parts, and each part is looked through with a table
// that stays in the first cache. The table has numbers of words, from 1; 0: free.
enum : uint64_t {
    SEED = 0xa4093822299f31d0,
    PART_WORDS = 512,     // Of most parts.
    PART_BITS_MAX = 12,
    TABLE_BITS = 14,
    DIFFERENT_MAX = 1 << (TABLE_BITS - 1),
    LIST_MAX = 1 << 24,   // Parts of more would fill their tables.
};

static uint64_t hash_of(uint64_t word) { return sb_hash_word(SEED, word); }

// Brings the words of a part that differ to its front. Returns how many; -1: too many.
static int64_t take_out_repeats(uint64_t *words, uint64_t count, uint16_t *table) {
    uint64_t room = 16, different = 0;
    while (room < 2 * count && room < UINT64_C(1) << TABLE_BITS) room *= 2;
    memset(table, 0, room * sizeof *table);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = hash_of(words[i]) & (room - 1);
        while (table[at] && words[table[at] - 1] != words[i]) at = (at + 1) & (room - 1);
        if (table[at]) continue;
        if (different == DIFFERENT_MAX) return -1;
        words[different++] = words[i];
        table[at] = (uint16_t)different;
    }
    return (int64_t)different;
}

// Puts the words that differ into `to`, which has room for all. Returns how many; -1: a part has
// too many.
static int64_t gather(uint64_t *to, const uint64_t *words, uint64_t count) {
    uint32_t ends[1 << PART_BITS_MAX] = {0}, bits = 1;
    while (count >> bits > PART_WORDS && bits < PART_BITS_MAX) bits++;
    uint32_t shift = 64 - bits, parts = 1u << bits, end = 0;
    for (uint64_t i = 0; i < count; i++) ends[hash_of(words[i]) >> shift]++;
    for (uint32_t p = 0; p < parts; p++) {
        uint32_t here = ends[p];
        ends[p] = end;
        end += here;
    }
    for (uint64_t i = 0; i < count; i++) to[ends[hash_of(words[i]) >> shift]++] = words[i];
    uint16_t table[1 << TABLE_BITS];
    uint64_t different = 0, begin = 0;
    for (uint32_t p = 0; p < parts; begin = ends[p++]) {
        int64_t here = take_out_repeats(to + begin, ends[p] - begin, table);
        if (here < 0) return -1;
        memmove(to + different, to + begin, (size_t)here * sizeof *to);
        different += (uint64_t)here;
    }
    return (int64_t)different;
}

int32_t sb_word_list_begin(SbCall *call, SbWordSet *set) {
    uint64_t *list = sb_take(call, (int64_t)(set->room * sizeof *list)), count = 0;
    if (!list) return SB_FAULT_TOO_LARGE;
    for (uint64_t i = 0; i < set->room; i++)
        if (set->slots[i]) list[count++] = set->slots[i];
    set->slots = list;
    set->list_room = (uint32_t)set->room;
    set->room = 0;
    return SB_OK;
}

int32_t sb_word_list_more(SbCall *call, SbWordSet *set, bool *differ) {
    enum : uint64_t { NEARLY_ALL = 7, OF = 8 };
    uint64_t count = sb_word_list_count(set);
    *differ = false;
    if (count > LIST_MAX) return SB_OK;
    uint64_t *list = sb_take(call, (int64_t)(2 * count * sizeof *list));
    if (!list) return SB_FAULT_TOO_LARGE;
    int64_t different = gather(list, set->slots, count);
    if (different < 0) return SB_OK;
    set->slots = list;
    set->used = (uint64_t)different + set->has_zero;
    set->list_room = (uint32_t)(2 * count);
    *differ = (uint64_t)different * OF >= count * NEARLY_ALL;
    return SB_OK;
}

// Looks for words of one share of the hashes after the other.
static int64_t count_in_turn(const uint64_t *words, uint64_t count) {
    enum : uint64_t { ROOM = 4096, SHARE_WORDS = 1024 };
    uint64_t table[ROOM], bits = 0, different = 0;
    while (count >> bits > SHARE_WORDS) bits++;
    for (uint64_t share = 0; share >> bits == 0; share++) {
        uint64_t here = 0;
        memset(table, 0, sizeof table);
        for (uint64_t i = 0; i < count && here < ROOM / 2; i++) {
            uint64_t hash = hash_of(words[i]), at = hash >> 52;
            if ((hash & ((UINT64_C(1) << bits) - 1)) != share) continue;
            while (table[at] && table[at] != words[i]) at = (at + 1) % ROOM;
            here += !table[at];
            table[at] = words[i];
        }
        different += here;
        if (here < ROOM / 2) continue;
        bits++;  // Too many: again, with smaller shares.
        share = UINT64_MAX;
        different = 0;
    }
    return (int64_t)different;
}

int64_t sb_words_count(SbCall *call, const SbWordSet *set) {
    if (!set->list_room) return (int64_t)set->used;
    uint64_t count = sb_word_list_count(set);
    uint64_t *copy = call ? sb_alloc(call, (int64_t)(count * sizeof *copy)) : nullptr;
    int64_t different = copy ? gather(copy, set->slots, count) : -1;
    if (different < 0) different = count_in_turn(set->slots, count);
    return different + (int64_t)set->has_zero;
}
