// The wide accumulator of exact sums, and the final rounding.
#include "stdlib/number/exact_sum.h"

#include <string.h>

enum { PENDING_MAX = 1 << 30 };

SbWide *sb_wide_new(SbCall *call, uint32_t chunks) {
    int64_t bytes = (int64_t)(sizeof(SbWide) + chunks * sizeof(int64_t));
    SbWide *wide = sb_alloc(call, bytes);
    if (!wide) return nullptr;
    memset(wide, 0, (size_t)bytes);
    wide->count = chunks;
    return wide;
}

void sb_wide_settle(SbWide *wide) {
    int64_t carry = 0;
    for (uint32_t i = 0; i + 1 < wide->count; i++) {
        int64_t chunk = wide->chunks[i] + carry;
        carry = chunk >> 32;
        wide->chunks[i] = chunk & 0xffffffff;
    }
    wide->chunks[wide->count - 1] += carry;
    wide->pending = 0;
}

void sb_wide_add(SbWide *wide, unsigned __int128 size, uint32_t place, bool minus) {
    if (wide->pending >= PENDING_MAX) sb_wide_settle(wide);
    wide->pending++;
    uint32_t at = place / 32, shift = place % 32;
    uint64_t rest = 0;  // Bits of the last piece that belong to the next chunk.
    for (; size || rest; at++, size >>= 32) {
        uint64_t piece = ((uint64_t)size & 0xffffffff) << shift | rest;
        rest = piece >> 32;
        int64_t chunk = (int64_t)(piece & 0xffffffff);
        wide->chunks[at] += minus ? -chunk : chunk;
    }
}

void sb_wide_merge(SbWide *into, const SbWide *from) {
    // Both hold chunks under 2^62 in size: PENDING_MAX additions of 32 bits.
    sb_wide_settle(into);
    int64_t carry = 0;
    for (uint32_t i = 0; i + 1 < into->count; i++) {
        int64_t chunk = from->chunks[i] + carry;
        carry = chunk >> 32;
        into->chunks[i] += chunk & 0xffffffff;
    }
    into->chunks[into->count - 1] += from->chunks[into->count - 1] + carry;
    into->pending = 2;
}

static int32_t add_wide(SbCall *call, SbExactSum *sum, unsigned __int128 size, int place,
                        bool minus) {
    if (!sum->wide) sum->wide = sb_wide_new(call, SB_WIDE_CHUNKS);
    if (!sum->wide) return SB_FAULT_TOO_LARGE;
    sb_wide_add(sum->wide, size, (uint32_t)(place - SB_WIDE_LOWEST), minus);
    return SB_OK;
}

// Empties the window into the wide accumulator.
static int32_t flush(SbCall *call, SbExactSum *sum) {
    bool minus = sum->window < 0;
    unsigned __int128 size = (unsigned __int128)sum->window;
    int32_t status = add_wide(call, sum, minus ? -size : size, SB_WINDOW_LOWEST, minus);
    if (status == SB_OK) sum->window = 0;
    return status;
}

int32_t sb_exact_add_any(SbCall *call, SbExactSum *sum, double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t biased = bits >> 52 & 0x7ff, size = bits & ((UINT64_C(1) << 52) - 1);
    bool minus = bits >> 63;
    sum->count++;
    if (biased == 0x7ff) {
        sum->special |= size ? SB_SEEN_NAN : minus ? SB_SEEN_MINUS_INF : SB_SEEN_PLUS_INF;
        return SB_OK;
    }
    if (biased) size |= UINT64_C(1) << 52;
    if (size == 0) return SB_OK;
    // Few digits may fit the window although the value is small: 2^-40.
    int place = (int)(biased ? biased : 1) - 1075, zeros = __builtin_ctzll(size);
    size >>= zeros;
    place += zeros;
    int shift = place - SB_WINDOW_LOWEST;
    if (shift >= 0 && shift + 64 - __builtin_clzll(size) <= 126) {
        __int128 term = (__int128)size << shift, total;
        if (!__builtin_add_overflow(sum->window, minus ? -term : term, &total)) {
            sum->window = total;
            return SB_OK;
        }
    }
    return add_wide(call, sum, size, place, minus);
}

int32_t sb_exact_merge(SbCall *call, SbExactSum *into, const SbExactSum *from) {
    __int128 total;
    if (__builtin_add_overflow(into->window, from->window, &total)) {
        int32_t status = flush(call, into);
        if (status != SB_OK) return status;
        total = from->window;
    }
    into->window = total;
    into->count += from->count;
    into->special |= from->special;
    if (!from->wide) return SB_OK;
    if (!into->wide) into->wide = sb_wide_new(call, SB_WIDE_CHUNKS);
    if (!into->wide) return SB_FAULT_TOO_LARGE;
    sb_wide_merge(into->wide, from->wide);
    return SB_OK;
}

static uint64_t bit(const int64_t *chunks, int at) {
    return at < 0 ? 0 : (uint64_t)chunks[at / 32] >> at % 32 & 1;
}

double sb_chunks_round(const int64_t *chunks, int count, int lowest) {
    int top = count - 1, smallest = -1074 - lowest;  // The bit that is worth the least float.
    while (top > 0 && chunks[top] == 0) top--;
    if (chunks[top] == 0) return 0;
    int high = 32 * top + 63 - __builtin_clzll((uint64_t)chunks[top]);
    if (high + lowest >= 1024) return (double)__builtin_inff();
    int low = high - 52 > smallest ? high - 52 : smallest;  // The last bit that is kept.
    uint64_t bits = 0;
    for (int i = high; i >= low; i--) bits = bits << 1 | bit(chunks, i);
    bool sticky = false;
    for (int i = 0; i < low - 1 && !sticky; i++) sticky = bit(chunks, i);
    bool half = low <= high + 1 && bit(chunks, low - 1);
    bits += half && (sticky || (bits & 1));
    bits += (uint64_t)(low - smallest)
            << 52;  // The leading bit counts as one more of the exponent.
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double sb_exact_value(const SbExactSum *sum) {
    double inf = (double)__builtin_inff();
    bool plus = sum->special & SB_SEEN_PLUS_INF, minus = sum->special & SB_SEEN_MINUS_INF;
    if ((sum->special & SB_SEEN_NAN) || (plus && minus)) return (double)__builtin_nanf("");
    if (plus || minus) return plus ? inf : -inf;
    if (!sum->wide) return (double)sum->window * 0x1p-80;
    enum { BYTES = sizeof(SbWide) + SB_WIDE_CHUNKS * sizeof(int64_t) };
    alignas(SbWide) char copy[BYTES];
    SbWide *wide = (SbWide *)memcpy(copy, sum->wide, BYTES);
    sb_wide_settle(wide);
    bool below = sum->window < 0;
    unsigned __int128 size = (unsigned __int128)sum->window;
    sb_wide_add(wide, below ? -size : size, SB_WINDOW_LOWEST - SB_WIDE_LOWEST, below);
    sb_wide_settle(wide);
    bool negative = wide->chunks[SB_WIDE_CHUNKS - 1] < 0;
    if (negative) {
        for (uint32_t i = 0; i < SB_WIDE_CHUNKS; i++) wide->chunks[i] = -wide->chunks[i];
        sb_wide_settle(wide);
    }
    double value = sb_chunks_round(wide->chunks, SB_WIDE_CHUNKS, SB_WIDE_LOWEST);
    return negative ? -value : value;
}
