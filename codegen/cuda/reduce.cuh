// Reductions in kernels: the tree of docs/ir.md, so that the bits are those of the CPU.
//
// A reduction goes over a segment of N elements. `element(i, k)` is element i, the k-th of the
// thread that asks. Who takes a segment:
//
//   P threads of a warp   each is a lane of the tree, or one that has no element
//   a block               its warps take blocks of the tree in turn, and leave results in memory
//   one thread            it has all lanes of the tree in registers
//
// Lanes begin with what changes nothing, as on the CPU.
#pragma once

enum { SB_TREE_LANES = 32, SB_TREE_BLOCK = 1024 };

// ---- what combines -----------------------------------------------------------------------------

// NaN is the greatest.
template <typename T> SB_FN bool sb_less(T a, T b) { return a < b || (a == a && b != b); }

// What comes before all others of a type, and what comes after them.
template <typename T> SB_FN T sb_least(T) {
    return (T)-1 > (T)0 ? (T)0 : (T)((u64)1 << (8 * sizeof(T) - 1));
}
SB_FN f32 sb_least(f32) { return sb_f32_of(0xff800000u); }
SB_FN f64 sb_least(f64) { return sb_f64_of(0xfff0000000000000ull); }

template <typename T> SB_FN T sb_most(T) { return (T)~sb_least(T()); }
SB_FN f32 sb_most(f32) { return sb_f32_of(0x7fc00000u); }
SB_FN f64 sb_most(f64) { return sb_f64_of(0x7ff8000000000000ull); }

// Of integers T is wide enough for the exact sum.
template <typename T> struct SbSum {
    typedef T Item;
    static Item none() { return (T)-0.0; }
    static Item item(T value, u32) { return value; }
    static Item combine(Item a, Item b) { return a + b; }
};

template <typename T> struct SbProduct {
    typedef T Item;
    static Item none() { return 1; }
    static Item item(T value, u32) { return value; }
    static Item combine(Item a, Item b) { return a * b; }
};

template <typename T> struct SbMin {
    typedef T Item;
    static Item none() { return sb_most(T()); }
    static Item item(T value, u32) { return value; }
    static Item combine(Item a, Item b) { return sb_less(b, a) ? b : a; }
};

template <typename T> struct SbMax {
    typedef T Item;
    static Item none() { return sb_least(T()); }
    static Item item(T value, u32) { return value; }
    static Item combine(Item a, Item b) { return sb_less(a, b) ? b : a; }
};

template <typename T> struct SbAny {
    typedef T Item;
    static Item none() { return 0; }
    static Item item(T value, u32) { return value; }
    static Item combine(Item a, Item b) { return a | b; }
};

template <typename T> struct SbAll {
    typedef T Item;
    static Item none() { return 1; }
    static Item item(T value, u32) { return value; }
    static Item combine(Item a, Item b) { return a & b; }
};

template <typename T> struct SbPlaced {
    T   value;
    u32 place;
};

// Of equal elements the one with the smaller place.
template <typename T, bool least> struct SbArg {
    typedef SbPlaced<T> Item;
    static Item none() { return Item{least ? sb_most(T()) : sb_least(T()), 0xffffffffu}; }
    static Item item(T value, u32 place) { return Item{value, place}; }
    static Item combine(Item a, Item b) {
        bool better = least ? sb_less(b.value, a.value) : sb_less(a.value, b.value);
        bool worse = least ? sb_less(a.value, b.value) : sb_less(b.value, a.value);
        return better || (!worse && b.place < a.place) ? b : a;
    }
};

template <typename T> struct SbArgMin : SbArg<T, true> {};
template <typename T> struct SbArgMax : SbArg<T, false> {};

// ---- a warp ------------------------------------------------------------------------------------

// An item as words, which go from lane to lane. All lanes of a warp come here together.
template <typename T> union SbCarried {
    T   item;
    u32 words[(sizeof(T) + 3) / 4];
    __device__ SbCarried() : words{} {}
};

template <typename T> SB_FN T sb_from_above(T item, u32 by, u32 width) {
    SbCarried<T> own, out;
    own.item = item;
    for (u32 i = 0; i < sizeof own.words / 4; i++)
        out.words[i] = __shfl_down_sync(0xffffffffu, own.words[i], by, width);
    return out.item;
}

template <typename T> SB_FN T sb_from_first(T item, u32 width) {
    SbCarried<T> own, out;
    own.item = item;
    for (u32 i = 0; i < sizeof own.words / 4; i++)
        out.words[i] = __shfl_sync(0xffffffffu, own.words[i], 0, width);
    return out.item;
}

// The upper half of the lanes goes into the lower one, until one is left. All of them learn what
// it has.
template <typename Op, u32 P> SB_FN typename Op::Item sb_tree(typename Op::Item item) {
#pragma unroll
    for (u32 half = P / 2; half; half /= 2)
        item = Op::combine(item, sb_from_above(item, half, P));
    return P > 1 ? sb_from_first(item, P) : item;
}

// Calls see(i, k) for the elements of a lane, from `first` on.
template <u32 N, u32 P, typename See> SB_FN void sb_each(u32 first, u32 lane, See see) {
    constexpr u32 turns = N < SB_TREE_BLOCK ? (N + P - 1) / P : SB_TREE_BLOCK / P;
#pragma unroll
    for (u32 k = 0; k < turns; k++) {
        const u32 i = first + k * P + lane;
        if ((N > SB_TREE_BLOCK ? N % SB_TREE_BLOCK == 0 : N % P == 0) || i < N) see(i, k);
    }
}

template <typename Op, u32 N, u32 P, typename Element>
SB_FN typename Op::Item sb_lane(u32 first, u32 lane, Element element) {
    typename Op::Item item = Op::none();
    sb_each<N, P>(first, lane,
                  [&](u32 i, u32 k) { item = Op::combine(item, Op::item(element(i, k), i)); });
    return item;
}

template <typename Op, u32 N, u32 P, typename Element>
SB_FN typename Op::Item sb_of_warp(u32 lane, Element element) {
    return sb_tree<Op, P>(sb_lane<Op, N, P>(0, lane, element));
}

// ---- a block -----------------------------------------------------------------------------------

template <u32 N, typename See> SB_FN void sb_each_of_block(See see) {
    constexpr u32 blocks = (N + SB_TREE_BLOCK - 1) / SB_TREE_BLOCK;
    for (u32 block = threadIdx.x / 32; block < blocks; block += blockDim.x / 32)
        sb_each<N, 32>(block * SB_TREE_BLOCK, threadIdx.x % 32, see);
}

// Leaves the results of the tree's blocks in memory of the block.
template <typename Op, u32 N, typename Element>
SB_FN void sb_to_parts(typename Op::Item *parts, Element element) {
    constexpr u32 blocks = (N + SB_TREE_BLOCK - 1) / SB_TREE_BLOCK;
    for (u32 block = threadIdx.x / 32; block < blocks; block += blockDim.x / 32) {
        typename Op::Item item = sb_tree<Op, 32>(
            sb_lane<Op, N, 32>(block * SB_TREE_BLOCK, threadIdx.x % 32, element));
        if (threadIdx.x % 32 == 0) parts[block] = item;
    }
}

// The items of a lane that are made already.
template <typename Op, u32 N> SB_FN typename Op::Item sb_of_parts(const typename Op::Item *parts) {
    typename Op::Item item = Op::none();
    for (u32 i = threadIdx.x % 32; i < N; i += 32) item = Op::combine(item, parts[i]);
    return sb_tree<Op, 32>(item);
}

// ---- one thread --------------------------------------------------------------------------------

// The lanes of the tree, of which L are used.
template <typename Op, u32 L> SB_FN typename Op::Item sb_of_lanes(typename Op::Item *lanes) {
#pragma unroll
    for (u32 half = SB_TREE_LANES / 2; half; half /= 2)
#pragma unroll
        for (u32 i = 0; i < half; i++)
            if (i + half < L) lanes[i] = Op::combine(lanes[i], lanes[i + half]);
    return lanes[0];
}

template <typename Op, u32 N, typename Element>
SB_FN typename Op::Item sb_of_run(u32 first, Element element) {
    constexpr u32 L = N < SB_TREE_LANES ? N : SB_TREE_LANES;
    const u32 end = N - first < SB_TREE_BLOCK ? N : first + SB_TREE_BLOCK;
    typename Op::Item lanes[L];
#pragma unroll
    for (u32 i = 0; i < L; i++) lanes[i] = Op::none();
    for (u32 at = first; at < end; at += L) {
#pragma unroll
        for (u32 i = 0; i < L; i++)
            if (N % L == 0 || at + i < end)
                lanes[i] = Op::combine(lanes[i], Op::item(element(at + i, i), at + i));
    }
    return sb_of_lanes<Op, L>(lanes);
}

template <typename Op, u32 N, typename Element>
SB_FN typename Op::Item sb_of_thread(Element element) {
    if (N <= SB_TREE_BLOCK) return sb_of_run<Op, N>(0, element);
    constexpr u32 blocks = (N + SB_TREE_BLOCK - 1) / SB_TREE_BLOCK;
    typename Op::Item lanes[SB_TREE_LANES];
    for (u32 i = 0; i < SB_TREE_LANES; i++) lanes[i] = Op::none();
    for (u32 block = 0; block < blocks; block++) {
        const u32 lane = block % SB_TREE_LANES;
        lanes[lane] = Op::combine(lanes[lane], sb_of_run<Op, N>(block * SB_TREE_BLOCK, element));
    }
    return sb_of_lanes<Op, SB_TREE_LANES>(lanes);
}

template <u32 N, typename See> SB_FN void sb_each_of_thread(See see) {
    if (N <= SB_TREE_LANES) {
#pragma unroll
        for (u32 i = 0; i < N; i++) see(i, i);
    } else {
        for (u32 i = 0; i < N; i++) see(i, 0);
    }
}
