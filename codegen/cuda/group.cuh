// What kernels call that fill groups.
//
// A group is a slot of a table: its key, its first row, then a word for each partial state. A key
// is a number of 64 bits, and never zero. All words are zero where nothing has been counted: some
// are added up, and of the others the greatest stays. The first row is kept as its complement.
//
// Each lane of a block has words of its own for the first few groups that the block meets. Lanes of
// other groups add to the table itself.
#pragma once

#define SB_MEMBER static __device__ __forceinline__

enum { SB_GROUP_KEY, SB_GROUP_FIRST, SB_GROUP_WORDS };

SB_FN u64 sb_most(u64 a, u64 b) { return a > b ? a : b; }

// What others may write at any time.
SB_FN u64 sb_now(const u64 *at) { return *(const volatile u64 *)at; }

// The slot of the key, which is taken if it is not there. Null: there is no room.
template <u32 slots, u32 stride> SB_FN u64 *sb_slot(u64 *table, u64 key) {
    const u32 tries = slots < 64 ? slots : 64;
    u32 at = (u32)(key * 0x9e3779b97f4a7c15ull >> 40) & (slots - 1);
    #pragma unroll 1
    for (u32 i = 0; i < tries; i++) {
        u64 *slot = table + at * stride;
        u64 there = sb_now(slot);
        if (!there) there = atomicCAS(slot, 0ull, key);
        if (!there || there == key) return slot;
        at = (at + 1) & (slots - 1);
    }
    return nullptr;
}

// A key that is not among those of the block: its number there, `hot` and the number of its slot
// where the lanes have no words for it, and -1 where the table has no room. Whatever the block counts
// has a slot. One copy of what is hardly ever needed.
template <int hot, u32 slots, u32 stride>
static __device__ __noinline__ int sb_hot_new(u64 *keys, u64 *table, u64 key) {
    const u64 *slot = nullptr;
    for (int i = 0; i < hot; i++) {
        u64 there = sb_now(keys + i);
        if (there == key) return i;
        if (there) continue;
        slot = sb_slot<slots, stride>(table, key);
        if (!slot) return -1;
        there = atomicCAS(keys + i, 0ull, key);
        if (!there || there == key) return i;
    }
    if (!slot) slot = sb_slot<slots, stride>(table, key);
    return slot ? hot + (int)((slot - table) / stride) : -1;
}

// Lanes of a warp have several groups: all of them look at all keys, so that none leaves the others.
template <int hot, u32 slots, u32 stride> SB_FN int sb_hot(u64 *keys, u64 *table, u64 key) {
    int at = hot;
    #pragma unroll
    for (int i = 0; i < hot; i++) at = sb_now(keys + i) == key ? i : at;
    return at < hot ? at : sb_hot_new<hot, slots, stride>(keys, table, key);
}

// Word number `word` of all lanes, as one.
template <u32 room> SB_FN u64 sb_of_lanes(const u64 *own, u32 word, bool greatest) {
    u64 all = 0;
    for (u32 i = 0; i < blockDim.x; i++) {
        const u64 one = own[word * room + (i + word) % blockDim.x];
        all = greatest ? sb_most(all, one) : all + one;
    }
    return all;
}

// How words of a slot combine, by bit of their number: the greatest stays, or they are added up.
// Sums of numbers with a sign have another word, for what is beyond 64 bits: these follow all others.
template <u32 words, u64 greatest, u64 wide> struct SbWords {
    SB_MEMBER constexpr u32 beyond(u32 word) {
        u32 at = words;
        for (u32 i = 0; i < word; i++) at += wide >> i & 1;
        return at;
    }
    static constexpr u32 count = beyond(64) + SB_GROUP_WORDS;

    SB_MEMBER bool is_greatest(u32 word) { return greatest >> word & 1; }

    // Adds to a word of a slot that other blocks add to.
    SB_MEMBER void into(u64 *slot, u32 word, u64 value) {
        u64 *to = slot + SB_GROUP_WORDS;
        if (is_greatest(word)) {
            atomicMax(to + word, value);
            return;
        }
        const u64 before = atomicAdd(to + word, value);
        if (!(wide >> word & 1)) return;
        const i64 more = (i64)(before + value < before) + ((i64)value >> 63);
        if (more) atomicAdd(to + beyond(word), (u64)more);
    }
};

// Puts what the lanes have counted into the table, which begins with `heads` numbers: then `hot`
// groups of so many words.
template <u32 heads, int hot, u32 words, u32 slots, typename Words, u32 room>
SB_FN void sb_flush(u64 *table, const u64 *keys, const u64 *firsts, const u64 *own) {
    constexpr u32 each = words ? words : 1;  // A group that nothing is counted of is one, too.
    for (u32 i = threadIdx.x; i < heads + hot * each; i += blockDim.x) {
        if (i < heads) {
            atomicAdd(table + i, sb_of_lanes<room>(own, i, false));
            continue;
        }
        const u32 group = (i - heads) / each, word = (i - heads) % each;
        if (!keys[group]) continue;
        u64 *slot = sb_slot<slots, Words::count>(table + heads, keys[group]);
        if (!word) atomicMax(slot + SB_GROUP_FIRST, firsts[group]);
        if (words) Words::into(slot, word, sb_of_lanes<room>(own, i, Words::is_greatest(word)));
    }
}

// The same of the one group there is without keys: numbers, the first row, words.
template <u32 heads, u32 words, typename Words, u32 room>
SB_FN void sb_flush_one(u64 *table, const u64 *own) {
    u64 *slot = table + heads;
    if (!threadIdx.x) slot[SB_GROUP_KEY] = 1;
    for (u32 i = threadIdx.x; i < heads + 1 + words; i += blockDim.x) {
        const u32 word = i - heads - 1;
        const bool most = i == heads || (i > heads && Words::is_greatest(word));
        const u64 all = sb_of_lanes<room>(own, i, most);
        if (i < heads) atomicAdd(table + i, all);
        else if (i == heads) atomicMax(slot + SB_GROUP_FIRST, all);
        else Words::into(slot, word, all);
    }
}
