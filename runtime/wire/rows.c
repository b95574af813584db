#include "runtime/wire/rows.h"

#include "stdlib/aggregate.h"

#include <stdlib.h>
#include <string.h>

// Shorter gaps between ranges travel with them. Blocks begin at multiples of 1 KiB, so that a gap
// lies in the blocks of its two ranges, which somebody reads.
enum : int64_t { GAP_MAX = 128 };

// ---- ranges -------------------------------------------------------------------------------------

static bool joins(RowRange *range, char *at, int64_t bytes) {
    char *end = range->at + range->bytes, *to = at + bytes;
    if (at < range->at || at > end + GAP_MAX) return false;
    if (to > end) range->bytes = to - range->at;
    return true;
}

// Most rows lie one after the other, and so do their texts.
void row_ranges_add(RowRanges *ranges, const void *from, int64_t bytes) {
    char *at = (char *)(uintptr_t)from;
    if (bytes <= 0) return;
    for (int i = 0; i < 2; i++) {
        if (ranges->recent[i] >= ranges->count) continue;
        if (!joins(&ranges->items[ranges->recent[i]], at, bytes)) continue;
        if (i == 1) {
            uint32_t other = ranges->recent[0];
            ranges->recent[0] = ranges->recent[1];
            ranges->recent[1] = other;
        }
        return;
    }
    if (ranges->count == ranges->room) {
        uint32_t room = ranges->room ? 2 * ranges->room : 16;
        RowRange *items = realloc(ranges->items, room * sizeof *items);
        ranges->failed |= !items;
        if (!items) return;
        ranges->items = items;
        ranges->room = room;
    }
    ranges->recent[1] = ranges->recent[0];
    ranges->recent[0] = ranges->count;
    ranges->items[ranges->count++] = (RowRange){at, bytes};
}

// Goes along what a row points to.
typedef struct Finder {
    SbHolder   holder;
    RowRanges *ranges;
} Finder;

static bool leads_astray(RowRanges *ranges, const void *at, int64_t bytes) {
    const ArenaSpace *space = ranges->space;
    if (space) ranges->astray |= arena_space_find(space, at, bytes) >= space->count;
    return ranges->astray;
}

// What a row points to is no more than it says. Its own bytes may be: there are gaps in it.
static bool is_no_part(RowRanges *ranges, const void *at, int64_t bytes) {
    ranges->astray |= ranges->space && bytes > ranges->most;
    return leads_astray(ranges, at, bytes);
}

static void *found(SbHolder *self, void *field, int64_t bytes, bool aligned) {
    Finder *finder = (Finder *)(void *)self;
    char *here;
    (void)aligned;
    memcpy(&here, field, sizeof here);
    if (bytes != 0 && is_no_part(finder->ranges, here, bytes)) return nullptr;
    row_ranges_add(finder->ranges, here, bytes);
    return here;
}

void row_ranges_add_rows(RowRanges *ranges, const SbBreaker *what, const SbEntry *const *entries,
                         int64_t count) {
    Finder finder = {.holder.bytes = found, .ranges = ranges};
    row_ranges_add(ranges, entries, count * (int64_t)sizeof *entries);
    for (int64_t i = 0; i < count; i++) {
        if (leads_astray(ranges, entries[i], what->entry_bytes)) return;
        row_ranges_add(ranges, entries[i], what->entry_bytes);
        for (uint32_t h = 0; h < what->held_count; h++) {
            const SbHeld *held = &what->held[h];
            held->hold(&finder.holder, held->type, (char *)(uintptr_t)entries[i] + held->offset);
        }
    }
}

static int by_address(const void *a, const void *b) {
    const RowRange *one = a, *other = b;
    return one->at < other->at ? -1 : one->at > other->at;
}

void row_ranges_sort(RowRanges *ranges) {
    uint32_t kept = 0;
    if (ranges->count == 0) return;
    qsort(ranges->items, ranges->count, sizeof *ranges->items, by_address);
    for (uint32_t i = 1; i < ranges->count; i++) {
        RowRange *is = &ranges->items[i];
        if (!joins(&ranges->items[kept], is->at, is->bytes)) ranges->items[++kept] = *is;
    }
    ranges->count = kept + 1;
}

int64_t row_pages(const RowRange *ranges, uint32_t count) {
    enum : uintptr_t { PAGE = 4096 };
    uintptr_t pages = 0, seen = 0;
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t first = (uintptr_t)ranges[i].at / PAGE;
        uintptr_t end = ((uintptr_t)ranges[i].at + (uintptr_t)ranges[i].bytes - 1) / PAGE + 1;
        if (first < seen) first = seen;
        if (end <= first) continue;
        pages += end - first;
        seen = end;
    }
    return (int64_t)(pages * PAGE);
}

void row_ranges_close(RowRanges *ranges) {
    free(ranges->items);
    *ranges = (RowRanges){0};
}

// ---- messages -----------------------------------------------------------------------------------

static void put_piece(Text *text, const char *at, int64_t bytes) {
    pack_number(text, (int64_t)(uintptr_t)at);
    pack_bytes(text, at, bytes);
}

bool row_ranges_next(const RowRanges *ranges, uint32_t *range, int64_t *done, uint32_t task,
                     Text *text) {
    if (*range >= ranges->count) return false;
    pack_number(text, task);
    int64_t count_at = text->len, count = 0, sum = 0;
    pack_number(text, 0);
    while (*range < ranges->count && sum < ROW_FRAME_BYTES) {
        const RowRange *is = &ranges->items[*range];
        int64_t rest = is->bytes - *done, most = ROW_FRAME_BYTES - sum;
        int64_t bytes = rest < most ? rest : most;
        put_piece(text, is->at + *done, bytes);
        count++;
        sum += bytes;
        *done += bytes;
        if (*done < is->bytes) break;
        ++*range;
        *done = 0;
    }
    if (!text->failed) memcpy(text->ptr + count_at, &count, sizeof count);
    return true;
}

bool wire_get_rows(Unpack *from, RowsHead *head) {
    head->task = (uint32_t)unpack_number(from);
    head->count = unpack_count(from, 2 * sizeof(int64_t));
    return !from->bad;
}

bool wire_get_piece(Unpack *from, RowRange *piece, const char **bytes) {
    piece->at = (char *)(uintptr_t)unpack_number(from);
    SbStr is = unpack_bytes(from);
    piece->bytes = is.len;
    *bytes = is.ptr;
    return !from->bad;
}

void wire_put_block(Text *text, const WireBlock *block, const RowRange *piece) {
    pack_number(text, (int64_t)(uintptr_t)block->at);
    pack_number(text, block->bytes);
    pack_number(text, (int64_t)(uintptr_t)piece->at);
    pack_number(text, piece->bytes);
}

bool wire_get_block(Unpack *from, WireBlock *block, RowRange *piece, const char **bytes) {
    block->at = (void *)(uintptr_t)unpack_number(from);
    block->bytes = unpack_number(from);
    return wire_get_piece(from, piece, bytes);
}

void wire_put_run(Text *text, const WireRun *run) {
    pack_number(text, run->file);
    pack_number(text, run->at);
    pack_bytes(text, run->bytes.ptr, run->bytes.len);
}

bool wire_get_run(Unpack *from, WireRun *run) {
    run->file = (uint32_t)unpack_number(from);
    run->at = unpack_number(from);
    run->bytes = unpack_bytes(from);
    return !from->bad;
}
