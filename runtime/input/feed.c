#include "runtime/input/feed.h"

#include "runtime/host.h"
#include "runtime/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOKAHEAD_BYTES = 64 * 1024, STREAM_BYTES = 64 * 1024, SKIP_BYTES = 256 * 1024 };

// Text begins in the middle of a page. At its start, where texts begin in the pages of a file,
// loads of the copy would wait for stores whose addresses end in the same twelve bits: up to four
// times as slow. The rest of a page is not charged.
static bool grow(UnitBuffer *buffer, int64_t cap) {
    enum : int64_t { PAGE = 4096 };
    const int64_t before = buffer->ptr - buffer->room;
    char *room = realloc(buffer->room, (size_t)(cap + PAGE));
    if (!room) return false;
    int64_t at = (PAGE / 2 - (intptr_t)room) & (PAGE - 1);
    if (buffer->cap > 0 && at != before) memmove(room + at, room + before, (size_t)buffer->cap);
    buffer->room = room;
    buffer->ptr = room + at;
    buffer->cap = cap;
    return true;
}

bool unit_buffer_reserve(UnitBuffer *buffer, int64_t bytes, Trouble *trouble) {
    int64_t cap = bytes + SB_SLACK;
    if (cap <= buffer->cap) return true;
    if (buffer->asks_from && bytes > buffer->asks_from) {
        buffer->asks = bytes;
        return false;
    }
    const BufferRelief *relief = buffer->relief;
    while (!sb_memory_charge(buffer->memory, cap - buffer->cap)) {
        if (relief && relief->find(relief->self)) continue;
        char lacks[SIZE_TEXT];
        size_say(cap - buffer->cap, lacks);
        return trouble_set(trouble, TROUBLE_MEMORY,
                           "reading input needs %s more than --memory leaves", lacks);
    }
    if (grow(buffer, cap)) return true;
    sb_memory_release(buffer->memory, cap - buffer->cap);
    return trouble_no_memory(trouble, "to read input");
}

void unit_buffer_close(UnitBuffer *buffer) {
    if (buffer->cap > 0) sb_memory_release(buffer->memory, buffer->cap);
    free(buffer->room);
    free(buffer->entries);
    *buffer = (UnitBuffer){.memory = buffer->memory, .relief = buffer->relief};
}

// Bytes of the file at its offset `at` (streams: the next ones). 0 at the end, -1 for trouble.
static int64_t read_some(Feed *feed, char *to, int64_t size, int64_t at) {
    if (feed->stream) return stream_read(feed->stream, to, size, feed->trouble);
    if (at + size > feed->file->size) size = feed->file->size - at;
    if (size <= 0) return 0;
    Retry retry = {.path = feed->file->path};
    ssize_t got;
    do got = failpoint_fails("source-read") ? -1 : pread(feed->file->fd, to, (size_t)size, at);
    while (got < 0 && retry_again(&retry));
    if (got < 0) {
        retry_fail(feed->trouble, errno, TROUBLE_READ_SOURCE, "read", feed->file->path);
        return -1;
    }
    if (got == 0) {
        trouble_set(feed->trouble, TROUBLE_SOURCE_CHANGED,
                    "'%s' became shorter while the job read it", feed->file->path);
        return -1;
    }
    return got;
}

bool feed_to(Feed *feed, int64_t want) {
    if (want <= feed->len || feed->ended) return true;
    if (!unit_buffer_reserve(feed->buffer, want, feed->trouble)) return false;
    while (feed->len < want) {
        int64_t got = read_some(feed, feed->buffer->ptr + feed->len, want - feed->len,
                                feed->offset + feed->len);
        if (got < 0) return false;
        if (got == 0) {
            feed->ended = true;
            break;
        }
        feed->len += got;
    }
    if (!feed->stream) feed->ended = feed->offset + feed->len >= feed->file->size;
    memset(feed->buffer->ptr + feed->len, 0, SB_SLACK);
    return true;
}

Window feed_window(const Feed *feed) {
    return (Window){feed->source, feed->file, feed->buffer->ptr, feed->len, feed->offset};
}

// From the row start `pos`: the end of the first row that ends at or after `from`; -1: none.
static int64_t row_end(const Feed *feed, int64_t pos, int64_t from) {
    Window window = feed_window(feed);
    return feed->source->what->reader->row_end(&window, pos, from);
}

// The start of the last row that starts before `target`; `begin` is a row start before it.
static int64_t last_row(const Feed *feed, int64_t begin, int64_t target) {
    for (;;) {
        int64_t end = row_end(feed, begin, begin + 1);
        if (end < 0 || end >= target) return begin;
        begin = end;
    }
}

static bool is_comment(const Feed *feed, int64_t at) {
    SbStr comment = feed->source->dialect.comment;
    return comment.len > 0 && at + comment.len <= feed->len &&
           memcmp(feed->buffer->ptr + at, comment.ptr, (size_t)comment.len) == 0;
}

// ---- rows over row_max ----------------------------------------------------------------------

typedef enum SkipState { SKIP_FIELD, SKIP_BARE, SKIP_QUOTED, SKIP_QUOTE, SKIP_CR } SkipState;

// Walks over one row, byte by byte, without keeping it.
typedef struct Skip {
    const SbReader *reader;
    uint64_t  of_reader[ROW_STATE_WORDS];  // What reader->pass knows.
    SkipState state;
    char      quote, delimiter;
    bool      done, cr;
    int64_t   bytes, lines;  // Passed, the line end included.
} Skip;

static void skip_byte(Skip *skip, char byte) {
    skip->bytes++;
    skip->lines += byte == '\n';
    bool quote = skip->quote != 0 && byte == skip->quote;
    switch (skip->state) {
    case SKIP_QUOTED:
        if (quote) skip->state = SKIP_QUOTE;
        return;
    case SKIP_QUOTE:
        if (quote) {
            skip->state = SKIP_QUOTED;
            return;
        }
        break;
    case SKIP_FIELD:
        if (quote) {
            skip->state = SKIP_QUOTED;
            return;
        }
        break;
    case SKIP_BARE:
    case SKIP_CR:
        break;
    }
    // Text after a closing quote, or a bare field: up to the line end, quotes are characters.
    bool bad = skip->state == SKIP_CR || (skip->state == SKIP_QUOTE && byte != skip->delimiter);
    skip->done = byte == '\n';
    if (!skip->done) skip->cr = byte == '\r';
    skip->state = bad ? SKIP_CR : byte == skip->delimiter ? SKIP_FIELD : SKIP_BARE;
}

static int64_t skip_some(Skip *skip, const char *text, int64_t len) {
    int64_t at = 0;
    if (skip->reader->pass) {
        if (len <= 0 || skip->done) return 0;
        at = skip->reader->pass(skip->of_reader, (SbStr){text, len}, &skip->done);
        skip->bytes += at;
        skip->lines += sb_lines_count(text, at);
        return at;
    }
    while (at < len && !skip->done) skip_byte(skip, text[at++]);
    return at;
}

// Bytes of the line end that the walk has passed.
static int64_t line_end_of(const Skip *skip) {
    return skip->done && !skip->reader->pass ? 1 + skip->cr : 0;
}

// What the stream gave after the row goes after the window's text, where leave_out made room:
// units.c carries it on.
static bool keep_rest(Feed *feed, const char *rest, int64_t len) {
    if (!unit_buffer_reserve(feed->buffer, feed->len + len, feed->trouble)) return false;
    memcpy(feed->buffer->ptr + feed->len, rest, (size_t)len);
    feed->len += len;
    return true;
}

// A walk over the row at `begin`, as far as the window goes.
static Skip skip_begin(const Feed *feed, int64_t begin) {
    const SbCsvDialect *dialect = &feed->source->dialect;
    Skip skip = {.reader = feed->source->what->reader,
                 .state = dialect->quote && !is_comment(feed, begin) ? SKIP_FIELD : SKIP_CR,
                 .quote = dialect->quote, .delimiter = dialect->delimiter};
    skip_some(&skip, feed->buffer->ptr + begin, feed->len - begin);
    return skip;
}

void feed_note_last(SourceFile *file, const char *text, int64_t len) {
    while (len > 0 && strchr(" \t\r\n", text[len - 1])) len--;
    if (len > 0) file->last = text[len - 1];
}

// Walks over the row at `begin`, which may go on beyond the window. *kept: how much of the window
// it takes. Of a stream, what comes after it in the meantime goes after the window.
static bool skip_row(Feed *feed, int64_t begin, Skip *skip, int64_t *kept) {
    *skip = skip_begin(feed, begin);
    *kept = begin + skip->bytes;
    char *block = skip->done || feed->ended ? nullptr : malloc(SKIP_BYTES);
    if (!skip->done && !feed->ended && !block)
        return trouble_no_memory(feed->trouble, "to read '%s'",
                           feed->file->path);
    bool good = true;
    if (feed->sum) checksum_add(feed->sum, feed->buffer->ptr, *kept);
    if (feed->stream) feed_note_last(feed->file, feed->buffer->ptr, *kept);
    while (block && !skip->done && good) {
        int64_t got = read_some(feed, block, SKIP_BYTES, feed->offset + begin + skip->bytes);
        if (got < 0) good = false;
        if (got <= 0) break;
        int64_t used = skip_some(skip, block, got);
        if (feed->sum) checksum_add(feed->sum, block, used);
        if (feed->stream) feed_note_last(feed->file, block, used);
        if (feed->stream && used < got) good = keep_rest(feed, block + used, got - used);
    }
    free(block);
    return good;
}

// The same of a stream, whose text stays in the window: to the end of the row, or as far as it says
// that the row is over row_max.
static bool read_row(Feed *feed, int64_t begin, Skip *skip) {
    enum { LINE_END = 2 };
    *skip = skip_begin(feed, begin);
    while (!skip->done && !feed->ended && skip->bytes <= feed->source->row_max + LINE_END) {
        if (!feed_to(feed, feed->len + STREAM_BYTES)) return false;
        int64_t at = begin + skip->bytes;
        skip_some(skip, feed->buffer->ptr + at, feed->len - at);
    }
    return true;
}

// Where a reject of the row at `begin` begins.
static int64_t row_shown(const Feed *feed, int64_t begin) {
    const SbReader *reader = feed->source->what->reader;
    if (!reader->row_begin) return begin;
    int64_t len = begin + RAW_BYTES_MAX < feed->len ? begin + RAW_BYTES_MAX : feed->len;
    return reader->row_begin((SbStr){feed->buffer->ptr, len}, begin);
}

// The row at `begin` is too long: the unit ends before it, and its own end is looked for.
static FeedEnd leave_out(Feed *feed, Unit *unit, int64_t begin) {
    Skip skip;
    int64_t kept;  // Of the window; after it stands what the next unit reads.
    if (!feed_to(feed, begin + RAW_BYTES_MAX + 16)) return FEED_TROUBLE;
    // What a stream gives after the row has to have room before it is read.
    if (feed->stream && !unit_buffer_reserve(feed->buffer, feed->len + SKIP_BYTES, feed->trouble))
        return FEED_TROUBLE;
    bool comment = is_comment(feed, begin);
    if (!skip_row(feed, begin, &skip, &kept)) return FEED_TROUBLE;
    int64_t line_end = line_end_of(&skip);
    unit->end = begin;
    unit->next = feed->offset + begin + skip.bytes;
    int64_t shown = row_shown(feed, begin);
    unit->long_row = (LongRow){
        .is = !comment,
        .begin = shown,
        .length = begin + skip.bytes - line_end - shown,
        .lines = skip.lines + !skip.done,
        .open = !skip.done && skip.state == SKIP_QUOTED,
    };
    if (feed->stream) {
        // The window keeps its text for the reject; the rest begins at `kept`.
        unit->range_end = kept;
    }
    return FEED_FOUND;
}

// How far to read for the end of the last row, which is not in the window. It is looked for first,
// so that the window is no larger than it has to be. *want is -1: the row is over row_max.
static bool look_for_end(Feed *feed, int64_t begin, int64_t target, int64_t *want) {
    int64_t most = target + feed->source->row_max + 4, len = feed->len, kept;
    int64_t row = last_row(feed, begin, target);
    Skip skip;
    if (!(feed->stream ? read_row(feed, row, &skip) : skip_row(feed, row, &skip, &kept)))
        return false;
    int64_t end = row + skip.bytes, line_end = line_end_of(&skip);
    if (skip.bytes - line_end > feed->source->row_max) *want = -1;
    else *want = end > len ? end : 2 * len < most ? 2 * len : most;
    return true;
}

FeedEnd feed_rows(Feed *feed, Unit *unit, int64_t begin, int64_t target, bool exact) {
    int64_t row_max = feed->source->row_max, end;
    unit->begin = unit->end = begin;
    unit->next = feed->offset + begin;
    unit->long_row = (LongRow){0};
    if (begin >= target) return FEED_FOUND;
    int64_t want = target + LOOKAHEAD_BYTES;
    for (;;) {
        if (!feed_to(feed, want)) return FEED_TROUBLE;
        if (begin >= feed->len) return FEED_FOUND;
        end = row_end(feed, begin, target < feed->len ? target : feed->len);
        if (end < 0 && feed->ended) end = feed->len;
        if (end >= 0) break;
        if (!exact) return FEED_UNSURE;
        if (feed->len - target > row_max + 2)
            return leave_out(feed, unit, last_row(feed, begin, target));
        if (!look_for_end(feed, begin, target, &want)) return FEED_TROUBLE;
        if (want < 0) return leave_out(feed, unit, last_row(feed, begin, target));
    }
    if (end - begin > row_max) {
        int64_t row = last_row(feed, begin, end < target ? end : target), stop = end;
        if (stop > row && feed->buffer->ptr[stop - 1] == '\n') stop--;
        if (stop > row && feed->buffer->ptr[stop - 1] == '\r') stop--;
        if (stop - row > row_max) {
            return exact ? leave_out(feed, unit, row) : FEED_UNSURE;
        }
    }
    unit->end = end;
    unit->next = feed->offset + end;
    return FEED_FOUND;
}
