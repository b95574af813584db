#define _GNU_SOURCE
#include "runtime/output/sink_mark.h"

#include "runtime/compression.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct SinkLog {
    SbStr           step;
    ChecksumState  *file_sum;   // Of the part that is being filled.
    ChecksumState  *text_sum;   // Of all rows.
    int64_t         text;
    int64_t         again;      // Bytes of rows that are still to be made again...
    Checksum        again_sum;  // ...and the checksum of all of them.
    uint64_t        given;      // Extents.
    uint32_t        named;      // Parts whose names are safe.
    pthread_mutex_t lock;       // Of what is written:
    uint64_t        written;    // all extents below,
    uint8_t        *done;       // and number n, where done[n % cap].
    uint64_t        cap;
};

// ---- going on where an earlier run came to --------------------------------------------------

static bool is_damaged(const SinkPart *part, Trouble *trouble) {
    return trouble_set(trouble, TROUBLE_JOURNAL_DAMAGED,
                       "'%s', which an earlier run began, is gone or was changed",
                       part->file.temporary);
}

// Adds the first `len` bytes of the part to its checksum, as they are in its file. False: they are
// not there.
static bool add_front(Sink *sink, const SinkPart *part, int64_t len, Trouble *trouble) {
    enum { BLOCK_BYTES = 1 << 20 };
    char *block = malloc(BLOCK_BYTES);
    if (!block) return trouble_no_memory(trouble, "to write '%s'", sink->path);
    bool good = true;
    int64_t front = writer_header_bytes(sink->what);  // Not written before the part is full.
    for (int64_t at = front; good && at < len;) {
        int64_t want = len - at < BLOCK_BYTES ? len - at : BLOCK_BYTES;
        int64_t got = durable_read(&part->file, block, want, at, trouble);
        good = got > 0;
        if (good) checksum_add(sink->log->file_sum, block, got);
        at += got;
    }
    free(block);
    return good;
}

// Compares the bytes that stay, which the checksum of the whole part needs in any case.
static bool read_back(Sink *sink, SinkPart *part, const SinkPlace *from, Trouble *trouble) {
    bool same = add_front(sink, part, from->offset, trouble) &&
                checksum_same(checksum_value(sink->log->file_sum), from->sum);
    return same || is_damaged(part, trouble);
}

// A part that was filled; the file is left alone.
static bool name_part(Sink *sink, uint32_t number, const SinkSetup *setup, Trouble *trouble) {
    SinkPart *part = sink->parts[number];
    part->size = setup->from->parts[number].size;
    part->sum = setup->from->parts[number].sum;
    atomic_store(&part->pending, 0);
    return durable_size(part->file.temporary) == part->size || is_damaged(part, trouble);
}

// A part that appends goes on only while its base is as it was.
static bool same_base(SinkPart *part, const DurableBase *base, Trouble *trouble) {
    part->file.base = *base;
    if (!base->appends || durable_check_base(part->file.path, base, trouble)) return true;
    trouble_fix(trouble, "bring the file back, or begin anew with an empty folder: --resume=DIR");
    return false;
}

// Names the parts of the earlier run, opens the last and compares what is committed of them.
// Changes nothing.
static bool find_parts(Sink *sink, const SinkSetup *setup, Trouble *trouble) {
    const SinkPlace *from = setup->from;
    for (uint32_t i = 0; i <= from->part; i++) {
        bool last = i == from->part;
        SbStr key = last ? from->key : from->parts[i].key;
        const DurableBase *base = last ? &from->base : &from->parts[i].base;
        if (!sink_add_part(sink, key, false, trouble) ||
            !same_base(sink->parts[i], base, trouble)) {
            return false;
        }
        if (!last && !name_part(sink, i, setup, trouble)) return false;
    }
    SinkPart *part = sink->parts[from->part];
    if (!durable_find(&part->file)) return is_damaged(part, trouble);
    return read_back(sink, part, from, trouble);
}

static bool go_on(Sink *sink, const SinkSetup *setup, Trouble *trouble) {
    const SinkPlace *from = setup->from;
    SinkLog *log = sink->log;
    if (!find_parts(sink, setup, trouble) ||
        !durable_cut(&sink->parts[from->part]->file, from->offset, trouble)) {
        return false;
    }
    sink->offset = from->offset;
    sink->part_has_rows = from->part_has_rows;
    sink->bytes = from->bytes;
    if (from->replays) {
        log->again = from->text;
        log->again_sum = from->text_sum;
    } else {
        sink->rows = from->rows;
        log->text = from->text;
    }
    if (!sink->chunk || from->chunk.len > COMPRESS_CHUNK_BYTES) return true;
    sink->chunk_len = from->chunk.len;
    if (from->chunk.len > 0) memcpy(sink->chunk, from->chunk.ptr, (size_t)from->chunk.len);
    return true;
}

static bool open_log(Sink *sink, const SinkSetup *setup, Trouble *trouble) {
    SinkLog *log = calloc(1, sizeof *log);
    if (!log || pthread_mutex_init(&log->lock, nullptr) != 0) {
        free(log);
        return trouble_no_memory(trouble, "to write '%s'", sink->path);
    }
    sink->log = log;
    log->step = setup->what->label;
    log->file_sum = checksum_open();
    log->text_sum = checksum_open();
    return (log->file_sum && log->text_sum) ||
           trouble_no_memory(trouble, "to write '%s'", sink->path);
}

bool sink_log_open(Sink *sink, const SinkSetup *setup, Trouble *trouble) {
    if (!open_log(sink, setup, trouble)) return false;
    if (setup->from) return go_on(sink, setup, trouble);
    return sink->front || sink_add_part(sink, (SbStr){0}, true, trouble);
}

bool sink_log_look(Sink *sink, const SinkSetup *setup, Trouble *trouble) {
    return !setup->from ||
           (open_log(sink, setup, trouble) && find_parts(sink, setup, trouble));
}

void sink_log_close(Sink *sink) {
    SinkLog *log = sink->log;
    if (!log) return;
    checksum_close(log->file_sum);
    checksum_close(log->text_sum);
    pthread_mutex_destroy(&log->lock);
    free(log->done);
    free(log);
    sink->log = nullptr;
}

bool sink_log_base(Sink *sink, Trouble *trouble) {
    const SinkPart *part = sink->parts[sink->part_count - 1];
    return add_front(sink, part, sink->offset, trouble) || is_damaged(part, trouble);
}

// ---- what is given --------------------------------------------------------------------------

static bool differs(const Sink *sink, const char *how, Trouble *trouble) {
    const SinkLog *log = sink->log;
    return trouble_set(trouble, TROUBLE_RESUME_DIFFERS,
                       "'%.*s' gave %s rows to '%s' than the earlier run that wrote its first "
                       "%lld bytes", (int)log->step.len, log->step.ptr, how, sink->path,
                       (long long)sink->bytes);
}

bool sink_log_rows(Sink *sink, const char **bytes, int64_t *len, Trouble *trouble) {
    SinkLog *log = sink->log;
    int64_t again = *len < log->again ? *len : log->again;
    bool ends = again > 0 && again == log->again;
    if (again > 0) checksum_add(log->text_sum, *bytes, again);
    if (ends && !checksum_same(checksum_value(log->text_sum), log->again_sum))
        return differs(sink, "other", trouble);
    log->again -= again;
    log->text += *len;
    *bytes += again;
    *len -= again;
    if (*len > 0) checksum_add(log->text_sum, *bytes, *len);
    return true;
}

// Reads a part that is whole and closed.
static bool seal_part(Sink *sink, SinkPart *part, char *block, int64_t len, Trouble *trouble) {
    if (!durable_find(&part->file)) return is_damaged(part, trouble);
    bool good = true;
    checksum_begin(sink->log->file_sum);
    for (int64_t at = 0, got; good && at < part->size; at += got) {
        got = durable_read(&part->file, block, len, at, trouble);
        if (got > 0) checksum_add(sink->log->file_sum, block, got);
        else good = got == 0 && is_damaged(part, trouble);
    }
    part->sum = checksum_value(sink->log->file_sum);
    durable_shut(part->file.fd);
    part->file.fd = -1;
    return good;
}

bool sink_log_seal(Sink *sink, Trouble *trouble) {
    enum { BLOCK_BYTES = 1 << 20 };
    char *block = malloc(BLOCK_BYTES);
    if (!block) return trouble_no_memory(trouble, "to write '%s'", sink->path);
    bool good = true;
    for (uint32_t p = 0; good && p < sink->part_count; p++)
        good = seal_part(sink, sink->parts[p], block, BLOCK_BYTES, trouble);
    free(block);
    return good;
}

bool sink_log_whole(const Sink *sink, Trouble *trouble) {
    return sink->log->again == 0 || differs(sink, "fewer", trouble);
}

void sink_log_bytes(Sink *sink, const char *bytes, int64_t len) {
    checksum_add(sink->log->file_sum, bytes, len);
}

void sink_log_filled(Sink *sink) {
    SinkPart *part = sink->parts[sink->part_count - 1];
    part->size = sink->offset;
    part->sum = checksum_value(sink->log->file_sum);
    checksum_begin(sink->log->file_sum);
}

// ---- what is written ------------------------------------------------------------------------

uint64_t sink_log_extent(Sink *sink) {
    SinkLog *log = sink->log;
    pthread_mutex_lock(&log->lock);
    if (log->given - log->written == log->cap) {
        uint64_t cap = log->cap ? 2 * log->cap : 64;
        uint8_t *done = calloc(cap, 1);
        if (!done) abort();
        for (uint64_t n = log->written; n < log->given; n++)
            done[n % cap] = log->done[n % log->cap];
        free(log->done);
        log->done = done;
        log->cap = cap;
    }
    uint64_t number = log->given++;
    log->done[number % log->cap] = 0;
    pthread_mutex_unlock(&log->lock);
    return number;
}

void sink_log_written(Sink *sink, uint64_t number) {
    SinkLog *log = sink->log;
    pthread_mutex_lock(&log->lock);
    log->done[number % log->cap] = 1;
    while (log->written < log->given && log->done[log->written % log->cap]) log->written++;
    pthread_mutex_unlock(&log->lock);
}

// ---- marks ----------------------------------------------------------------------------------

bool sink_can_mark(const Sink *sink) { return sink->log->again == 0 && sink->bytes > 0; }

// Lives as long as the sink.
static SbStr key_of(const SinkPart *part) {
    return (SbStr){part->key, part->key ? (int64_t)strlen(part->key) : 0};
}

bool sink_mark(Sink *sink, uint32_t part_from, SinkMark *mark) {
    SinkLog *log = sink->log;
    uint32_t part = sink->part_count - 1;
    char *chunk = malloc((size_t)sink->chunk_len + 1);
    size_t count = (size_t)part - part_from + 1;
    SinkPartPlace *parts = malloc(count * sizeof *parts);
    SinkPart **files = malloc(count * sizeof(SinkPart *));
    if (!chunk || !parts || !files) {
        free(chunk);
        free(parts);
        free(files);
        return false;
    }
    memcpy(files, sink->parts + part_from, count * sizeof(SinkPart *));
    if (sink->chunk_len > 0) memcpy(chunk, sink->chunk, (size_t)sink->chunk_len);
    for (uint32_t p = part_from; p < part; p++)
        parts[p - part_from] = (SinkPartPlace){sink->parts[p]->size, sink->parts[p]->sum,
                                               key_of(sink->parts[p]), sink->parts[p]->file.base};
    atomic_fetch_add(&sink->parts[part]->pending, 1);
    *mark = (SinkMark){
        .place = {.rows = sink->rows, .bytes = sink->bytes, .text = log->text,
                  .text_sum = checksum_value(log->text_sum), .part = part, .offset = sink->offset,
                  .sum = checksum_value(log->file_sum), .part_has_rows = sink->part_has_rows,
                  .chunk = {chunk, sink->chunk_len}, .key = key_of(sink->parts[part]),
                  .base = sink->parts[part]->file.base},
        .part = sink->parts[part],
        .part_from = part_from,
        .parts = parts,
        .files = files,
        .extents = log->given,
    };
    return true;
}

bool sink_mark_written(Sink *sink, const SinkMark *mark) {
    SinkLog *log = sink->log;
    pthread_mutex_lock(&log->lock);
    bool written = log->written >= mark->extents;
    pthread_mutex_unlock(&log->lock);
    return written;
}

bool sink_mark_sync(Sink *sink, SinkMark *mark, Trouble *trouble) {
    SinkLog *log = sink->log;
    uint32_t part = mark->place.part;
    if (!durable_flush(&mark->part->file, trouble)) return false;
    // Others may add parts to the sink meanwhile. Each folder is synced once.
    for (uint32_t p = part + 1; p-- > mark->part_from && p >= log->named;) {
        SinkPart *const *file = &mark->files[p - mark->part_from];
        const char *name = file[0]->file.temporary;
        bool done = p < part && sink_same_folder(name, file[1]->file.temporary);
        if (!done && !durable_sync_folder_of(name, trouble)) return false;
    }
    if (part >= log->named) log->named = part + 1;
    return true;
}

bool sink_mark_close(SinkMark *mark, Trouble *trouble) {
    SinkPart *part = mark->part;
    free((char *)(uintptr_t)mark->place.chunk.ptr);
    free(mark->parts);
    free(mark->files);
    *mark = (SinkMark){0};
    return sink_part_release(part, trouble);
}
