// What kernels call that fill groups.
//
// A group is a slot of a table: its key, its first row, then a word for each partial state. A key
// is a number of 64 bits, and never zero. All words are zero where nothing has been counted: some
// are added up, and of the others the greatest stays. The first row is kept as its complement.
//
// Each lane of a block has words of its own for the first few groups that the block meets. Lanes of
// other groups add to the table itself.
#pragma once

enum { SB_GROUP_KEY, SB_GROUP_FIRST, SB_GROUP_WORDS };

SB_FN u64 sb_most(u64 a, u64 b) { return a > b ? a : b; }

// What others may write at any time.
SB_FN u64 sb_now(const u64 *at) { return *(const volatile u64 *)at; }

// The slot of the key, which is taken if it is not there. Null: there is no room.
template <u32 slots, u32 stride> SB_FN u64 *sb_slot(u64 *table, u64 key) {
    const u32 tries = slots < 64 ? slots : 64;
    u32 at = (u32)(key * 0x9e3779b97f4a7c15ull >> 40) & (slots - 1);
    for (u32 i = 0; i < tries; i++) {
        u64 *slot = table + at * stride;
        u64 there = sb_now(slot);
        if (!there) there = atomicCAS(slot, 0ull, key);
        if (!there || there == key) return slot;
        at = (at + 1) & (slots - 1);
    }
    return nullptr;
}

// The number of the key among those of the block, and `slot` its slot; `hot` where the lanes have
// no words for it, and -1 where the table has no room. Whatever the block counts has a slot.
template <int hot, u32 slots, u32 stride>
SB_FN int sb_hot(u64 *keys, u64 *table, u64 key, u64 *&slot) {
    for (int i = 0; i < hot; i++) {
        u64 there = sb_now(keys + i);
        if (there == key) return i;
        if (there) continue;
        slot = sb_slot<slots, stride>(table, key);
        if (!slot) return -1;
        there = atomicCAS(keys + i, 0ull, key);
        if (!there || there == key) return i;
    }
    slot = sb_slot<slots, stride>(table, key);
    return slot ? hot : -1;
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

SB_FN void sb_into(u64 *to, u64 value, bool greatest) {
    if (greatest) atomicMax(to, value);
    else atomicAdd(to, value);
}

// Puts what the lanes have counted into the table, which begins with `heads` numbers: then `hot`
// groups of so many words. Bit i of `greatest` says what word i is.
template <u32 heads, int hot, u32 words, u32 slots, u64 greatest, u32 room>
SB_FN void sb_flush(u64 *table, const u64 *keys, const u64 *firsts, const u64 *own) {
    const u32 stride = words + SB_GROUP_WORDS;
    for (u32 i = threadIdx.x; i < heads + hot * words; i += blockDim.x) {
        const u32 group = i < heads ? 0 : (i - heads) / words, word = (i - heads) % words;
        const bool most = i >= heads && greatest >> word & 1;
        u64 *to = table + i;
        if (i >= heads) {
            if (!keys[group]) continue;
            to = sb_slot<slots, stride>(table + heads, keys[group]);
            if (!word) atomicMax(to + SB_GROUP_FIRST, firsts[group]);
            to += SB_GROUP_WORDS + word;
        }
        sb_into(to, sb_of_lanes<room>(own, i, most), most);
    }
}

// The same of the one group there is without keys: numbers, the first row, words.
template <u32 heads, u32 words, u64 greatest, u32 room>
SB_FN void sb_flush_one(u64 *table, const u64 *own) {
    if (!threadIdx.x) table[heads] = 1;
    for (u32 i = threadIdx.x; i < heads + 1 + words; i += blockDim.x) {
        const bool most = i == heads || (i > heads && greatest >> (i - heads - 1) & 1);
        sb_into(table + (i < heads ? i : i + 1), sb_of_lanes<room>(own, i, most), most);
    }
}
