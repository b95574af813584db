#include "runtime/input/spool.h"

#include "runtime/disk.h"

#include <stdlib.h>

bool spool_write(Spill *spill, uint32_t thread, const SbBreaker *edge, const Batch *batch,
                 SpillRun *run) {
    if (!spill_begin(spill, thread)) return false;
    for (int64_t i = 0; i < batch->count; i++)
        if (!spill_put(spill, thread, edge, batch->entries[i])) return false;
    return spill_end(spill, thread, run);
}

// Addresses of the rows, then the rows.
static int64_t list_bytes(const SpillRun *run) {
    return (run->rows * (int64_t)sizeof(const SbEntry *) + 15) & -16;
}

int64_t spool_bytes(const SpillRun *run) { return list_bytes(run) + run->bytes + SB_SLACK; }

// Lists the rows of `len` bytes that were read. False: they do not end where the bytes do.
static bool link_rows(SpoolRows *rows, const SbBreaker *edge, const SpillRun *run, char *base,
                      int64_t len) {
    int64_t fixed = spill_entry_bytes(edge), at = 0, count = 0;
    while (at + fixed <= len && count < run->rows) {
        SbEntry *entry = (SbEntry *)(void *)(base + at);
        int64_t held = spill_link(edge, entry, base + at + fixed, len - at - fixed);
        if (held < 0) return false;
        rows->entries[count++] = entry;
        at += fixed + held;
    }
    return at == len && count == run->rows;
}

static bool read_blocks(SpoolRows *rows, const SpoolPlace *from, char *packed) {
    Spill *spill = from->spill;
    const SpillRun *run = from->run;
    char *base = (char *)rows->entries + list_bytes(run);
    SpillReader reader = {.spill = spill, .run = *run, .at = run->begin, .packed = packed};
    int64_t len = 0;
    bool more = true;
    while (len < run->bytes && more) {
        reader.block = base + len;
        reader.run.block_max = run->bytes - len;
        more = spill_read(&reader);
        len += reader.len;
    }
    return (more && link_rows(rows, from->edge, run, base, len)) ||
           spill_fail(spill, TROUBLE_SPILL_READ, "'%s/%u' is damaged at byte %lld", spill->path,
                      run->file, (long long)run->begin);
}

static bool charge(SbMemory *memory, int64_t bytes, const BufferRelief *relief) {
    while (!sb_memory_charge(memory, bytes))
        if (!relief || !relief->find(relief->self)) return false;
    return true;
}

// Room for the rows, where other processes may read them.
static const SbEntry **take_room(SbMemory *memory, int64_t bytes, const BufferRelief *relief) {
    void *room;
    while (!(room = sb_memory_take_shared(memory, bytes)))
        if (!relief || !relief->find(relief->self)) return nullptr;
    return room;
}

bool spool_read(SpoolRows *rows, const SpoolPlace *from, Trouble *trouble) {
    int64_t bytes = spool_bytes(from->run);
    *rows = (SpoolRows){0};
    if (!charge(from->spill->memory, from->run->packed_max, from->relief))
        return trouble_set(trouble, TROUBLE_MEMORY,
                           "reading spilled rows needs more than --memory leaves");
    rows->entries = take_room(from->spill->memory, bytes, from->relief);
    rows->bytes = rows->entries ? bytes : 0;
    if (!rows->entries) {
        sb_memory_release(from->spill->memory, from->run->packed_max);
        return trouble_set(trouble, TROUBLE_MEMORY,
                           "reading spilled rows needs more than --memory leaves");
    }
    char *packed = malloc((size_t)from->run->packed_max + 1);
    bool good = packed && read_blocks(rows, from, packed);
    free(packed);
    sb_memory_release(from->spill->memory, from->run->packed_max);
    if (good) return true;
    spool_close(rows, from->spill->memory);
    return !spill_trouble(from->spill, trouble) &&
           trouble_no_memory(trouble, "to read spilled rows");
}

void spool_close(SpoolRows *rows, SbMemory *memory) {
    if (rows->entries) sb_memory_give_shared(memory, rows->entries, rows->bytes);
    *rows = (SpoolRows){0};
}
