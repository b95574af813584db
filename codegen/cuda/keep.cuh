// What kernels call that bring kept rows together: those which no filter has taken out, and which
// the CPU need not judge.
//
//   status of rows ─▶ a number for each segment of rows ─▶ where its kept rows begin ─▶ columns
//
// Rows keep their order. All numbers are whole, so that the order of additions does not matter.
#pragma once

// Of the rows from `from` up to `to`.
SB_FN u32 sb_count_kept(const u8 *status, i64 from, i64 to) {
    u32 count = 0;
    for (i64 i = from; i < to; i++) count += !sb_read(status + i);
    return count;
}

// The numbers of these rows, from `list` on.
SB_FN void sb_list_kept(u16 *list, const u8 *status, u32 from, u32 to) {
    for (u32 i = from; i < to; i++)
        if (!sb_read(status + i)) *list++ = (u16)i;
}

// The share of a lane in the first `count` numbers.
SB_FN u32 sb_share_of(const u32 *numbers, u32 count) {
    u32 sum = 0;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) sum += sb_read(numbers + i);
    return sum;
}

// Bytes of a column of so many values: the next one begins after them (runtime/device/gpu_layout.h).
template <typename T> SB_FN u64 sb_bytes_of(const T *, u64 count) {
    return (count * sizeof(T) + 255) / 256 * 256;
}

// Of numbers in memory of the block.
SB_FN u32 sb_sum_of(const u32 *numbers, u32 count) {
    u32 sum = 0;
    for (u32 i = 0; i < count; i++) sum += numbers[i];
    return sum;
}

// All lanes of a block move the listed rows of a column, N elements each, W at a time. `to` is where
// the first one goes, if the column has a place for each kept row.
template <u32 N, u32 W, typename T>
SB_FN void sb_move(u8 *column, u64 first, const T *from, const u16 *list, u32 count) {
    T *const to = (T *)column + first * N;
    constexpr u32 packs = N / W;
    for (u32 i = threadIdx.x; i < count * packs; i += blockDim.x) {
        const T *at = from + ((u64)list[i / packs] * packs + i % packs) * W;
        sb_store<T, W>(to + (u64)i * W, sb_load<T, W>(at));
    }
}
