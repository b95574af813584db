#include "runtime/disk/range.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// ---- cuts ---------------------------------------------------------------------------------------

// From mark to mark at most.
static int64_t bytes_a_mark(const SpillRun *run) { return run->index->every * run->block_max; }

bool spill_runs_can_cut(const SpillRuns *runs) {
    for (uint32_t r = 0; r < runs->count; r++)
        if (!runs->items[r].index) return false;
    return runs->count > 0;
}

int64_t spill_cut_waste(const SpillRuns *runs) {
    int64_t bytes = 0;
    for (uint32_t r = 0; r < runs->count; r++) bytes += bytes_a_mark(&runs->items[r]);
    return bytes;
}

int64_t spill_cut_bytes(const SpillRuns *runs) {
    int64_t bytes = 0;
    for (uint32_t r = 0; r < runs->count; r++)
        bytes += runs->items[r].index->count * bytes_a_mark(&runs->items[r]);
    return bytes;
}

bool spill_cutter_open(SpillCutter *cutter, const SpillRuns *runs, int64_t bytes) {
    *cutter = (SpillCutter){.runs = runs, .bytes = bytes,
                            .waste = runs->apart ? spill_cut_waste(runs) : 0,
                            .next = calloc(runs->count, sizeof *cutter->next),
                            .spans = calloc(runs->count, sizeof *cutter->spans)};
    return cutter->next && cutter->spans;
}

void spill_cutter_close(SpillCutter *cutter) {
    free(cutter->next);
    free(cutter->spans);
    *cutter = (SpillCutter){0};
}

// The mark that comes next of all runs, of the run *of. nullptr: there is none.
static const SpillMark *least(const SpillCutter *cutter, uint32_t *of) {
    const SpillMark *found = nullptr;
    for (uint32_t r = 0; r < cutter->runs->count; r++) {
        const SpillIndex *index = cutter->runs->items[r].index;
        if (cutter->next[r] == index->count) continue;
        const SpillMark *mark = &index->marks[cutter->next[r]];
        if (found && !spill_key_less(mark->key, found->key)) continue;
        found = mark;
        *of = r;
    }
    return found;
}

// Where several runs begin a block, what they have after it is not read twice. So a cut may be
// longer than it is to be, by a block of each run.
static bool is_good_end(const SpillCutter *cutter, uint32_t run, SpillKey key, int64_t bytes) {
    if (!cutter->runs->apart || bytes >= cutter->bytes + cutter->waste) return true;
    for (uint32_t r = 0; r < cutter->runs->count; r++) {
        const SpillIndex *index = cutter->runs->items[r].index;
        if (r != run && spill_index_has(index, cutter->next[r], key)) return true;
    }
    return false;
}

// Passes marks until they make up a cut.
static void find_end(SpillCutter *cutter, SpillCut *cut) {
    int64_t bytes = 0;
    uint32_t run = 0;
    SpillKey last = cutter->from;
    for (const SpillMark *mark; (mark = least(cutter, &run)); last = mark->key) {
        cut->ends = bytes >= cutter->bytes && spill_key_less(last, mark->key) &&
                    is_good_end(cutter, run, mark->key, bytes);
        cut->to = mark->key;
        if (cut->ends) return;
        bytes += bytes_a_mark(&cutter->runs->items[run]);
        cutter->next[run]++;
    }
}

static SpillSpan span_of(const SpillRun *run, int64_t first, int64_t next) {
    const SpillIndex *index = run->index;
    if (next == 0) return (SpillSpan){.begin = run->begin, .end = run->begin};
    const SpillMark *mark = &index->marks[first];
    int64_t end = next < index->count ? index->marks[next].at : run->end;
    return (SpillSpan){mark->at, end, mark->row, (next - first) * bytes_a_mark(run)};
}

// The mark of the first block that may have rows of the next cut.
static int64_t first_mark(const SpillCutter *cutter, uint32_t r) {
    int64_t next = cutter->next[r];
    bool begins = next == 0 || (cutter->runs->apart &&
                                spill_index_has(cutter->runs->items[r].index, next, cutter->from));
    return begins ? next : next - 1;
}

bool spill_cutter_next(SpillCutter *cutter, SpillCut *cut, SpillCutSize *size) {
    if (cutter->over) return false;
    *cut = (SpillCut){.spans = cutter->spans, .from = cutter->from};
    *size = (SpillCutSize){0};
    for (uint32_t r = 0; r < cutter->runs->count; r++)
        cutter->spans[r].row = first_mark(cutter, r);
    find_end(cutter, cut);
    for (uint32_t r = 0; r < cutter->runs->count; r++) {
        const SpillRun *run = &cutter->runs->items[r];
        const SpillIndex *index = run->index;
        int64_t first = cutter->spans[r].row, next = cutter->next[r];
        int64_t rows = next < index->count ? index->marks[next].row : run->rows;
        SpillSpan *span = &cutter->spans[r];
        *span = span_of(run, first, next);
        size->bytes += span->bytes;
        size->rows += rows - span->row;
        size->rows_before += rows;
    }
    cutter->from = cut->to;
    cutter->over = !cut->ends;
    return true;
}

// ---- rows ---------------------------------------------------------------------------------------

static int64_t round_up(int64_t bytes) { return (bytes + 15) & -16; }

// range, spans, entries, blocks, and a block as it lies on disk
SpillRange *spill_range_open(const SpillRuns *runs, const SpillCut *cut, const SpillCutSize *size) {
    int64_t spans = runs->count * (int64_t)sizeof *cut->spans, packed = 0;
    for (uint32_t r = 0; r < runs->count; r++)
        if (runs->items[r].packed_max > packed) packed = runs->items[r].packed_max;
    int64_t spans_at = round_up(sizeof(SpillRange)), entries_at = spans_at + round_up(spans);
    int64_t blocks_at = entries_at + round_up(size->rows * (int64_t)sizeof(SbEntry *));
    int64_t packed_at = blocks_at + size->bytes + SB_SLACK, bytes = packed_at + packed;
    SbMemory *memory = runs->spill->memory;
    char *base = sb_memory_shares(memory) ? sb_memory_take_shared(memory, bytes)
                                          : sb_memory_take_block(memory, &bytes);
    SpillRange *range = (SpillRange *)(void *)base;
    if (!range) return nullptr;
    *range = (SpillRange){.runs = runs, .cut = *cut, .bytes = bytes,
                          .blocks = base + blocks_at, .packed = base + packed_at,
                          .entries = (const SbEntry **)(void *)(base + entries_at)};
    range->cut.spans = (SpillSpan *)(void *)(base + spans_at);
    memcpy(range->cut.spans, cut->spans, (size_t)spans);
    return range;
}

void spill_range_close(SpillRange *range) {
    SbMemory *memory = range ? range->runs->spill->memory : nullptr;
    if (!range) return;
    if (sb_memory_shares(memory)) sb_memory_give_shared(memory, range, range->bytes);
    else sb_memory_give_block(memory, range, range->bytes);
}

bool spill_range_read(SpillRange *range, const SpillOrder *order) {
    const SpillMergeOf of = {*order, &range->cut, range->blocks, range->packed};
    SpillMerge *merge = spill_merge_open_of(&of);
    int64_t held;
    if (!merge) return false;
    for (const SbEntry *entry; (entry = spill_merge_first(merge, &held));) {
        range->entries[range->count++] = entry;
        spill_merge_pass(merge);
    }
    range->row = spill_merge_row(merge) - range->count;
    spill_merge_close(merge);
    return !range->runs->spill->failed;
}

// ---- pieces -------------------------------------------------------------------------------------

static void close_merges(SpillPieces *pieces) {
    for (uint32_t i = 0; i < pieces->count; i++) spill_merge_close(pieces->merges[i]);
    pieces->count = 0;
}

void spill_pieces_close(SpillPieces *pieces) {
    if (pieces->spill) atomic_fetch_sub(&pieces->spill->pieces, 1);
    close_merges(pieces);
    free(pieces->merges);
    free(pieces->bytes);
    *pieces = (SpillPieces){0};
}

static int64_t bytes_of(const SpillRuns *runs) {
    int64_t bytes = 0;
    for (uint32_t r = 0; r < runs->count; r++) bytes += runs->items[r].bytes;
    return bytes;
}

static void leave_open(SpillCut *cut, const SpillRuns *runs) {
    cut->ends = false;
    for (uint32_t r = 0; r < runs->count; r++) cut->spans[r].end = runs->items[r].end;
}

// Up to `count` of them. False: there is no memory for all of them.
static bool cut_pieces(SpillPieces *pieces, const SpillOrder *order, uint32_t count, bool go_on) {
    SpillCutter cutter;
    SpillCut cut;
    SpillCutSize size;
    int64_t all = bytes_of(order->runs);
    bool good = spill_cutter_open(&cutter, order->runs, spill_cut_bytes(order->runs) / count + 1);
    for (uint32_t i = 0; good && i < count; i++) {
        if (i + 1 == count) cutter.bytes = INT64_MAX;
        if (!spill_cutter_next(&cutter, &cut, &size)) break;
        if (go_on) leave_open(&cut, order->runs);
        pieces->merges[i] = spill_merge_open_of(&(SpillMergeOf){.order = *order, .cut = &cut});
        pieces->bytes[i] = size.bytes < all ? size.bytes : all;
        pieces->count = i + 1;
        good = pieces->merges[i];
    }
    spill_cutter_close(&cutter);
    return good;
}

bool spill_pieces_open(SpillPieces *pieces, const SpillOrder *order, uint32_t most, bool go_on) {
    enum : int64_t { BLOCKS_A_PIECE = 8 };
    const SpillRuns *runs = order->runs;
    const Spill *spill = runs->spill;
    int64_t bytes = bytes_of(runs);
    int64_t worth = bytes / (BLOCKS_A_PIECE * spill->block_bytes);
    uint32_t count = spill->memory->eager || worth >= most ? most : (uint32_t)worth;
    uint32_t fit = count > 1 ? spill_merges_most(runs) : 1;
    if (count > fit) count = fit;
    *pieces = (SpillPieces){.spill = runs->spill, .merges = calloc(most, sizeof *pieces->merges),
                            .bytes = calloc(most, sizeof *pieces->bytes)};
    atomic_fetch_add(&pieces->spill->pieces, 1);
    if (!pieces->merges || !pieces->bytes) return false;
    if (count > 1 && spill_runs_can_cut(runs) && cut_pieces(pieces, order, count, go_on))
        return true;
    close_merges(pieces);
    pieces->merges[0] = spill_merge_open(runs, order->what, order->by);
    pieces->bytes[0] = bytes;
    pieces->count = 1;
    return pieces->merges[0];
}
