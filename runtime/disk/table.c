#include "runtime/disk/table.h"

#include "runtime/disk/entries.h"
#include "stdlib/hash.h"

#include <stddef.h>

// What the directory says of a range.
typedef struct Part {
    uint64_t checksum;    // XXH64 of what follows here, seeded with the number of the range.
    int64_t  begin;       // As longest_at, from the table's beginning on.
    int64_t  bytes, block_max, longest_at;
    uint32_t rows, packed_max;
} Part;

static uint64_t block_sum(const Part *part, uint32_t range) {
    const char *bytes = (const char *)part + offsetof(Part, begin);
    return sb_xxh64(bytes, sizeof *part - offsetof(Part, begin), range);
}

static int64_t directory_bytes(const SpillTables *tables) {
    return tables->ranges * (int64_t)sizeof(Part);
}

bool spill_tables_open(SpillTables *tables, Spill *spill, SbMemory *memory) {
    bool opened = spill_runs_open(&tables->runs, spill, memory);
    if (!opened) tables->runs.spill = nullptr;
    return opened;
}

void spill_tables_close(SpillTables *tables) { spill_runs_close(&tables->runs); }

// ---- writing ------------------------------------------------------------------------------------

static uint32_t range_of(const SpillTables *tables, const SbEntry *entry) {
    return (uint32_t)(entry->hash >> tables->shift) & (tables->ranges - 1);
}

// Lists the rows by range; `ends` are those of ranges in the list.
static void list_ranges(const SpillTables *tables, const SbRows *rows, const SbEntry **list,
                        int64_t ends[SPILL_RANGES]) {
    int64_t at = 0;
    RowSpan span = {0};
    while (sb_rows_next_span(rows, &span))
        for (int64_t i = 0; i < span.count; i++) ends[range_of(tables, span_entry(&span, i))]++;
    for (uint32_t r = 0; r < tables->ranges; r++) {
        int64_t count = ends[r];
        ends[r] = at;
        at += count;
    }
    span = (RowSpan){0};
    while (sb_rows_next_span(rows, &span))
        for (int64_t i = 0; i < span.count; i++)
            list[ends[range_of(tables, span_entry(&span, i))]++] = span_entry(&span, i);
}

// A run of the range after those before it, which is what the table takes; and the range's part.
static bool write_range(const SpillTables *tables, SpillRun *table, Part *part,
                        const SbEntry *const *list, int64_t count) {
    Spill *spill = tables->runs.spill;
    const SpillPut put = {.spill = spill, .thread = table->file, .what = tables->what};
    SpillRun run;
    if (!spill_begin(spill, table->file) || !spill_put_all(&put, list, count) ||
        !spill_end(spill, table->file, &run)) {
        return false;
    }
    if (table->end == 0) table->begin = run.begin;
    *part = (Part){.begin = run.begin - table->begin, .bytes = run.bytes,
                   .block_max = run.block_max, .longest_at = run.longest_at - table->begin,
                   .rows = (uint32_t)run.rows, .packed_max = (uint32_t)run.packed_max};
    table->end = run.end;
    table->rows += run.rows;
    table->bytes += run.bytes;
    if (run.packed_max > table->packed_max) table->packed_max = run.packed_max;
    if (run.block_max <= table->block_max) return true;
    table->block_max = run.block_max;
    table->longest_at = run.longest_at;
    return true;
}

bool spill_tables_add(SpillTables *tables, uint32_t thread, const SbRows *rows,
                      const SbEntry **list) {
    Part parts[SPILL_RANGES];
    SpillRun table = {.file = thread};
    int64_t ends[SPILL_RANGES] = {0}, at = 0;
    list_ranges(tables, rows, list, ends);
    for (uint32_t r = 0; r < tables->ranges; at = ends[r++]) {
        if (!write_range(tables, &table, &parts[r], list + at, ends[r] - at)) return false;
        parts[r].checksum = block_sum(&parts[r], r);
    }
    int64_t bytes = directory_bytes(tables);
    table.end += bytes;
    return spill_copy_in(tables->runs.spill, thread, (const char *)parts, bytes) &&
           spill_runs_add(&tables->runs, &table);
}

// ---- reading ------------------------------------------------------------------------------------

// Parts of the ranges from..to-1.
static bool read_parts(const SpillTables *tables, const SpillRun *table, uint32_t from, uint32_t to,
                       Part parts[SPILL_RANGES]) {
    Spill *spill = tables->runs.spill;
    int64_t rows = table->end - table->begin - directory_bytes(tables), before = 0;
    int64_t at = rows + from * (int64_t)sizeof *parts, len = (to - from) * (int64_t)sizeof *parts;
    if (!spill_copy_out(spill, table, at, (char *)parts, len)) return false;
    for (uint32_t r = from; r < to; r++) {
        const Part *part = &parts[r - from];
        bool good = part->checksum == block_sum(part, r) && part->begin >= before &&
                    part->begin <= rows;
        if (!good)
            return spill_fail(spill, TROUBLE_SPILL_READ, "'%s/%u' is damaged at byte %lld",
                              spill->path, table->file, (long long)(table->begin + at));
        before = part->begin;
    }
    return true;
}

bool spill_tables_shares(const SpillTables *tables, SpillShare shares[SPILL_RANGES]) {
    Part parts[SPILL_RANGES];
    for (uint32_t r = 0; r < SPILL_RANGES; r++) shares[r] = (SpillShare){0};
    for (uint32_t t = 0; t < tables->runs.count; t++) {
        if (!read_parts(tables, &tables->runs.items[t], 0, tables->ranges, parts)) return false;
        for (uint32_t r = 0; r < tables->ranges; r++) {
            shares[r].rows += parts[r].rows;
            shares[r].bytes += parts[r].bytes;
        }
    }
    return true;
}

bool spill_tables_run(const SpillTables *tables, uint32_t table, uint32_t from, uint32_t to,
                      SpillRun *run) {
    Part parts[SPILL_RANGES];
    const SpillRun *whole = &tables->runs.items[table];
    bool last = to == tables->ranges;
    *run = (SpillRun){.file = whole->file};
    if (!read_parts(tables, whole, from, last ? to : to + 1, parts)) return false;
    run->begin = whole->begin + parts[0].begin;
    run->end = last ? whole->end - directory_bytes(tables) : whole->begin + parts[to - from].begin;
    for (uint32_t r = 0; r < to - from; r++) {
        const Part *part = &parts[r];
        run->rows += part->rows;
        run->bytes += part->bytes;
        if (part->packed_max > run->packed_max) run->packed_max = part->packed_max;
        if (part->block_max <= run->block_max) continue;
        run->block_max = part->block_max;
        run->longest_at = whole->begin + part->longest_at;
    }
    return true;
}
