#include "runtime/input/unit.h"

#include "runtime/input/feed.h"
#include "runtime/input/spill_units.h"
#include "runtime/rows.h"
#include "stdlib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS_A_UNIT = 1 << 15, NUMBERS_A_UNIT = 1 << 18, FILES_A_UNIT = 1024 };

static bool open_spilled(Units *units) {
    const UnitsSetup *what = &units->what;
    units->spilled = spill_units_open(&(SpillUnitsSetup){
        .breaker = what->breaker, .bytes = what->batch_bytes, .most = what->batch_most,
        .rows = what->rows_max, .tasks = what->tasks, .first = what->start.next});
    return units->spilled;
}

// Rows or bytes of a unit where there are so many, and a unit may have `most`.
static int64_t share_of(const UnitsSetup *what, int64_t all, int64_t most) {
    enum { UNITS_A_SLOT = 8 };
    int64_t units = UNITS_A_SLOT * what->slots;
    int64_t share = units > 0 ? (all + units - 1) / units : most;
    return share < most ? share : most;
}

// How long a stream is nobody knows. A unit of text is to have some rows.
static int64_t unit_bytes(const UnitsSetup *what) {
    enum { BYTES_MIN = 256 };
    const Source *source = what->source;
    int64_t all = 0;
    if (!source) return 0;
    for (uint32_t f = 0; f < source->file_count; f++)
        if (!source->files[f].stream) all += source->files[f].size;
    int64_t bytes = share_of(what, all, source->unit_bytes);
    int64_t least = source->unit_bytes < BYTES_MIN ? source->unit_bytes : BYTES_MIN;
    return bytes > least ? bytes : least;
}

bool units_open(Units *units, const UnitsSetup *what, Trouble *trouble) {
    const UnitsStart *start = &what->start;
    *units = (Units){.what = *what, .unit_bytes = unit_bytes(what),
                     .carry = {.memory = what->memory, .relief = what->relief},
                     .ordinal = start->ordinal, .file = start->file, .next = start->next,
                     .chain_end = UINT64_MAX, .chain_ordinal = start->ordinal};
    units->known[start->ordinal % UNIT_CHAIN_PLACES] =
        (UnitKnown){true, start->ordinal, {start->chain_begin, start->chain_lines}};
    if (what->sums && !(units->sum = checksum_open()))
        return trouble_no_memory(trouble, "for a checksum");
    if (pthread_mutex_init(&units->lock, nullptr) != 0) {
        checksum_close(units->sum);
        return trouble_no_memory(trouble, "for a lock");
    }
    for (int p = 0; p < UNIT_CHAIN_PLACES; p++) pthread_cond_init(&units->resolved[p], nullptr);
    if (what->breaker && !open_spilled(units)) {
        units_close(units);
        return trouble_no_memory(trouble, "to read spilled rows");
    }
    const Source *source = what->source;
    units->chained = what->input == SB_INPUT_TEXT &&
                     (source_spans_lines(source) || source->what->wants_lines);
    return true;
}

void units_close(Units *units) {
    stream_close(units->stream);
    spill_units_close(units->spilled);
    unit_buffer_close(&units->carry);
    checksum_close(units->sum);
    for (int p = 0; p < UNIT_CHAIN_PLACES; p++) pthread_cond_destroy(&units->resolved[p]);
    pthread_mutex_destroy(&units->lock);
}

// Where the task of a unit waits. If all waited at one place, each unit would wake all of them.
static pthread_cond_t *place_of(Units *units, uint64_t ordinal) {
    return &units->resolved[ordinal % UNIT_CHAIN_PLACES];
}

static void wake_all(Units *units) {
    for (uint64_t p = 0; p < UNIT_CHAIN_PLACES; p++) pthread_cond_broadcast(place_of(units, p));
}

void units_break(Units *units) {
    pthread_mutex_lock(&units->lock);
    units->chain_broken = true;
    wake_all(units);
    pthread_mutex_unlock(&units->lock);
}

void units_drop(Units *units, const Unit *unit) {
    pthread_mutex_lock(&units->lock);
    if (unit->ordinal < units->chain_end) units->chain_end = unit->ordinal;
    wake_all(units);
    pthread_mutex_unlock(&units->lock);
}

bool units_can_repeat(const Units *units) {
    if (units->what.input != SB_INPUT_TEXT) return true;
    const Source *source = units->what.source;
    for (uint32_t i = 0; i < source->file_count; i++) {
        if (source->files[i].stream) return false;
    }
    return true;
}

// ---- the chain ------------------------------------------------------------------------------

// Nothing comes between the start of a unit and its task here, as units after it wait for that
// task. In a worker other processes may have come further: see chain_passed. The lock is held.
static bool chain_find(const Units *units, uint64_t ordinal, UnitsChain *start) {
    const UnitKnown *known = &units->known[ordinal % UNIT_CHAIN_PLACES];
    if (!known->is || known->ordinal != ordinal) return false;
    *start = known->start;
    return true;
}

static void chain_know(Units *units, uint64_t ordinal, UnitsChain start) {
    UnitKnown *known = &units->known[ordinal % UNIT_CHAIN_PLACES];
    if (!known->is || known->ordinal <= ordinal) *known = (UnitKnown){true, ordinal, start};
    if (ordinal > units->chain_ordinal) units->chain_ordinal = ordinal;
    pthread_cond_broadcast(place_of(units, ordinal));
}

// Is the exact start of the unit known? `begin` is an offset in the file.
static bool chain_peek(Units *units, const Unit *unit, int64_t *begin) {
    UnitsChain start = {0};
    pthread_mutex_lock(&units->lock);
    bool known = chain_find(units, unit->ordinal, &start);
    *begin = start.begin;
    pthread_mutex_unlock(&units->lock);
    return known;
}

// Where no unit will hand on to this one there is nothing to wait for.
static bool chain_ends(const Units *units, const Unit *unit) {
    return units->chain_broken || unit->ordinal > units->chain_end;
}

// Its start was known, and its place has gone to a later one: who gave the unit knows the start.
static bool chain_passed(const Units *units, const Unit *unit) {
    return units->chain_ordinal >= unit->ordinal + UNIT_CHAIN_PLACES;
}

static bool is_canceled(const UnitBuffer *buffer) {
    return buffer->cancel && __atomic_load_n(buffer->cancel, __ATOMIC_RELAXED);
}

// False: the chain ends before, or the unit that stands first waits for memory (buffer->gives_way):
// nobody keeps a slot in the meantime.
static bool chain_wait(Units *units, const Unit *unit, UnitBuffer *buffer, int64_t *begin,
                       int64_t *lines) {
    UnitsChain start = {0};
    pthread_mutex_lock(&units->lock);
    bool known;
    while (!(known = chain_find(units, unit->ordinal, &start)) && !chain_ends(units, unit) &&
           !units->chain_asks && !chain_passed(units, unit) && !is_canceled(buffer)) {
        pthread_cond_wait(place_of(units, unit->ordinal), &units->lock);
    }
    bool good = known && !units->chain_broken;
    if (known && units->chain_ordinal == unit->ordinal) units->chain_asks = false;
    buffer->gives_way = !known && !chain_ends(units, unit);
    *begin = start.begin;
    *lines = start.lines;
    pthread_mutex_unlock(&units->lock);
    return good;
}

// The unit that stands first cannot go on before there is memory for it.
static void chain_ask(Units *units) {
    pthread_mutex_lock(&units->lock);
    units->chain_asks = true;
    wake_all(units);
    pthread_mutex_unlock(&units->lock);
}

static void chain_hand_on(Units *units, const Unit *unit, int64_t lines) {
    pthread_mutex_lock(&units->lock);
    chain_know(units, unit->ordinal + 1, (UnitsChain){unit->next, lines});
    pthread_mutex_unlock(&units->lock);
}

void units_chain_set(Units *units, uint64_t ordinal, int64_t begin, int64_t lines) {
    pthread_mutex_lock(&units->lock);
    chain_know(units, ordinal, (UnitsChain){begin, lines});
    // Whoever gave way may come back: work goes on where it had stopped.
    units->chain_asks = false;
    pthread_mutex_unlock(&units->lock);
}

bool units_chain_get(Units *units, uint64_t ordinal, UnitsChain *start) {
    pthread_mutex_lock(&units->lock);
    const UnitsStart *first = &units->what.start;
    bool known = chain_find(units, ordinal, start);
    if (!known && ordinal == first->ordinal) {
        *start = (UnitsChain){first->chain_begin, first->chain_lines};
        known = true;
    }
    pthread_mutex_unlock(&units->lock);
    return known;
}

void units_chain_give_way(Units *units) { chain_ask(units); }

void units_chain_wake(Units *units) {
    pthread_mutex_lock(&units->lock);
    wake_all(units);
    pthread_mutex_unlock(&units->lock);
}

// ---- plain text -----------------------------------------------------------------------------

static UnitTake take_range(Units *units, Unit *unit, Trouble *trouble) {
    Source *source = units->what.source;
    SourceFile *file = &source->files[units->file];
    int64_t bytes = units->unit_bytes;
    if (!source_file_open(file, trouble)) return UNIT_TROUBLE;
    unit->file = units->file;
    unit->range_begin = units->next;
    unit->first = units->next == 0;
    // The first range ends after the byte order mark and the header, so that others have rows.
    unit->range_end = (unit->first ? file->begin : unit->range_begin) + bytes;
    unit->last = unit->range_end >= file->size;
    units->next = unit->range_end;
    if (unit->last) {
        units->file++;
        units->next = 0;
    }
    return UNIT_TAKEN;
}

static Feed feed_of(Units *units, const Unit *unit, UnitBuffer *buffer, Trouble *trouble) {
    Source *source = units->what.source;
    SourceFile *file = &source->files[unit->file];
    return (Feed){
        .source = source,
        .file = file,
        .buffer = buffer,
        // One byte more in front: a line end there makes the range's first byte a row start.
        .offset = unit->first ? file->begin : unit->range_begin - 1,
        .ended = file->size <= (unit->first ? file->begin : unit->range_begin - 1),
        .trouble = trouble,
    };
}

// Where a row of the range seems to begin, relative; -1: nowhere.
static int64_t guess(const Feed *feed, const Unit *unit) {
    if (unit->first) return 0;
    int64_t len = unit->range_end - 1 - feed->offset;
    if (len > feed->len) len = feed->len;
    Window window = feed_window(feed);
    return len > 0 ? feed->source->what->reader->row_start(&window, len) : -1;
}

static void place(Unit *unit, const Feed *feed) {
    unit->text = feed->buffer->ptr;
    unit->offset = feed->offset;
}

// A unit whose rows begin at the exact `begin`, an offset in the file.
static bool rows_from(Feed *feed, Unit *unit, int64_t begin) {
    if (begin < feed->offset || begin >= unit->range_end) {
        unit->begin = unit->end = 0;
        unit->next = begin;
        return true;
    }
    return feed_rows(feed, unit, begin - feed->offset, unit->range_end - feed->offset, true) ==
           FEED_FOUND;
}

// Of a unit whose rows are fixed: `lines` stand before them.
static void count_lines(const Units *units, Unit *unit, const Feed *feed, int64_t lines) {
    unit->lines = units->what.source->what->wants_lines ? lines : -1;
    if (unit->lines >= 0) {
        lines += sb_lines_count(feed->buffer->ptr + unit->begin, unit->end - unit->begin) +
                 unit->long_row.lines;
    }
    unit->next_lines = lines;
}

static bool prepare_chained(Units *units, Unit *unit, Feed *feed) {
    int64_t begin = 0, lines = 0, target = unit->range_end - feed->offset, guessed = -1;
    SourceFile *file = feed->file;
    bool found = false;
    if (unit->first || !chain_peek(units, unit, &begin)) {
        if (!feed_to(feed, target)) return false;
        guessed = guess(feed, unit);
        if (guessed >= 0) {
            FeedEnd end = feed_rows(feed, unit, guessed, target, false);
            if (end == FEED_TROUBLE) return false;
            found = end == FEED_FOUND;
        }
    }
    if (!chain_wait(units, unit, feed->buffer, &begin, &lines)) return false;
    if (unit->first) {
        begin = file->begin;
        lines = file->begin_lines;
    }
    if (!found || begin != feed->offset + guessed) {
        if (!feed_to(feed, target) || !rows_from(feed, unit, begin)) return false;
    }
    count_lines(units, unit, feed, lines);
    chain_hand_on(units, unit, unit->next_lines);
    return true;
}

static bool prepare_range(Units *units, Unit *unit, UnitBuffer *buffer, Trouble *trouble) {
    Feed feed = feed_of(units, unit, buffer, trouble);
    bool good;
    if (units->chained) {
        good = prepare_chained(units, unit, &feed);
        if (!good && buffer->asks) chain_ask(units);
        else if (!good && trouble->kind != TROUBLE_NONE) units_break(units);
    } else {
        int64_t target = unit->range_end - feed.offset;
        good = feed_to(&feed, target);
        int64_t begin = good ? guess(&feed, unit) : 0;
        begin = begin < 0 ? unit->range_end : feed.offset + begin;
        if (good) good = rows_from(&feed, unit, begin);
        unit->lines = -1;
    }
    place(unit, &feed);
    return good;
}

bool units_prepare_from(Units *units, Unit *unit, UnitBuffer *buffer, const UnitsChain *start,
                        Trouble *trouble) {
    Feed feed = feed_of(units, unit, buffer, trouble);
    int64_t begin = unit->first ? feed.file->begin : start->begin;
    bool good = feed_to(&feed, unit->range_end - feed.offset) && rows_from(&feed, unit, begin);
    if (good) count_lines(units, unit, &feed, unit->first ? feed.file->begin_lines : start->lines);
    place(unit, &feed);
    return good;
}

// ---- streams --------------------------------------------------------------------------------

static void carry_pass(Units *units, int64_t bytes) {
    feed_note_last(&units->what.source->files[units->file], units->carry.ptr, bytes);
    units->carry_len -= bytes;
    units->carry_offset += bytes;
    if (units->sum) checksum_add(units->sum, units->carry.ptr, bytes);
    memmove(units->carry.ptr, units->carry.ptr + bytes, (size_t)units->carry_len);
}

// Has an earlier run read a part of the stream that is next?
static bool goes_on(const Units *units) {
    return units->file == units->what.start.file && units->what.start.next > 0;
}

static bool other_text(const Units *units, const SourceFile *file, Trouble *trouble) {
    trouble_set(trouble, TROUBLE_JOURNAL_INPUT,
                "the first %lld bytes of the text of '%s' are not those that an earlier run read",
                (long long)units->what.start.next, file->path);
    trouble_fix(trouble, "give it the same bytes again, from the first one on: they are compared, "
                "and make no row twice");
    return false;
}

// Passes over the text in front of the first unit, which an earlier run has read.
static bool pass_to_start(Units *units, const SourceFile *file, Trouble *trouble) {
    enum { READ_BYTES = 64 * 1024 };
    const UnitsStart *start = &units->what.start;
    if (!goes_on(units)) return true;
    for (int64_t left; (left = start->next - units->carry_offset) > 0;) {
        carry_pass(units, left < units->carry_len ? left : units->carry_len);
        if (units->carry_len > 0 || units->stream_ended) break;
        if (!unit_buffer_reserve(&units->carry, READ_BYTES, trouble)) return false;
        units->carry_len = stream_read(units->stream, units->carry.ptr, READ_BYTES, trouble);
        if (units->carry_len < 0) return false;
        units->stream_ended = units->carry_len == 0;
    }
    units->carry_lines = start->chain_lines;
    bool same = units->carry_offset == start->next &&
                checksum_same(checksum_value(units->sum), start->sum);
    return same || other_text(units, file, trouble);
}

// Opens the next stream and reads its header; what was read after it waits in `carry`.
static bool open_stream(Units *units, SourceFile *file, Trouble *trouble) {
    Source *source = units->what.source;
    units->stream = stream_open(file->path, source->what->encoding, source->cancel_fd, trouble);
    if (!units->stream) return false;
    Feed feed = {.source = source, .file = file, .stream = units->stream, .buffer = &units->carry,
                 .trouble = trouble};
    int64_t want = 4096;
    do {
        if (!feed_to(&feed, want)) return false;
        want *= 2;
    } while (!feed.ended && want <= 2 * source->row_max &&
             !source_header_whole(source, (SbStr){feed.buffer->ptr, feed.len}));
    if (feed.len == 0 && goes_on(units)) return other_text(units, file, trouble);
    // Of a stream that is read once more other tasks use the header.
    if (!file->begun &&
        !source_header(source, file, (SbStr){units->carry.ptr, feed.len}, trouble))
        return false;
    units->carry_len = feed.len;
    units->carry_offset = 0;
    units->carry_lines = file->begin_lines;
    units->stream_ended = feed.ended;
    units->stream_begun = false;
    if (units->sum) checksum_begin(units->sum);
    carry_pass(units, file->begin);
    return pass_to_start(units, file, trouble);
}

static UnitTake end_stream(Units *units, SourceFile *file, Trouble *trouble) {
    const Source *source = units->what.source;
    const SbReader *reader = source->what->reader;
    file->size = units->carry_offset;
    if (reader->ends && !reader->ends(source, file, file->size, trouble)) return UNIT_TROUBLE;
    stream_close(units->stream);
    units->stream = nullptr;
    units->file++;
    units->next = 0;
    return UNIT_NONE;
}

static void swap_texts(UnitBuffer *a, UnitBuffer *b) {
    UnitBuffer was = *a;
    a->room = b->room, a->ptr = b->ptr, a->cap = b->cap;
    b->room = was.room, b->ptr = was.ptr, b->cap = was.cap;
}

// The text after the last unit comes into `buffer`.
static bool take_carry(Units *units, UnitBuffer *buffer, Trouble *trouble) {
    int64_t len = units->carry_len;
    if (len > buffer->cap) swap_texts(buffer, &units->carry);
    else if (len > 0) memcpy(buffer->ptr, units->carry.ptr, (size_t)len);
    if (!unit_buffer_reserve(buffer, len, trouble)) return false;
    memset(buffer->ptr + len, 0, SB_SLACK);
    return true;
}

// The unit could not be cut yet: what was read for it stands after the last one now.
static UnitTake read_later(Units *units, const Feed *feed) {
    if (!feed->buffer->asks) return UNIT_TROUBLE;
    swap_texts(feed->buffer, &units->carry);
    units->carry_len = feed->len;
    units->stream_ended = feed->ended;
    return UNIT_LATER;
}

// Cuts the next range from the stream into `buffer`. UNIT_NONE: the stream has ended.
static UnitTake take_stream(Units *units, Unit *unit, UnitBuffer *buffer, Trouble *trouble) {
    Source *source = units->what.source;
    SourceFile *file = &source->files[units->file];
    if (!units->stream && !open_stream(units, file, trouble)) return UNIT_TROUBLE;
    if (!take_carry(units, buffer, trouble)) return UNIT_TROUBLE;
    unit->first = !units->stream_begun;
    unit->file = units->file;
    Feed feed = {.source = source, .file = file, .stream = units->stream, .buffer = buffer,
                 .offset = units->carry_offset, .len = units->carry_len,
                 .ended = units->stream_ended, .sum = units->sum, .trouble = trouble};
    unit->range_begin = units->carry_offset;
    unit->range_end = -1;
    int64_t bytes = source->unit_bytes;
    int64_t target = (feed.offset / bytes + 1) * bytes - feed.offset;
    if (feed_rows(&feed, unit, 0, target, true) == FEED_TROUBLE) return read_later(units, &feed);
    int64_t rest = unit->range_end >= 0 ? unit->range_end : unit->end;
    if (unit->range_end < 0) feed_note_last(file, buffer->ptr, rest);
    units->stream_begun = true;
    unit->lines = units->carry_lines;
    unit->text = buffer->ptr;
    unit->offset = feed.offset;
    if (feed.sum && unit->range_end < 0) checksum_add(feed.sum, buffer->ptr, rest);
    if (feed.sum) unit->sum = checksum_value(feed.sum);
    units->carry_lines += sb_lines_count(buffer->ptr, unit->end) + unit->long_row.lines;
    unit->next_lines = units->carry_lines;
    units->carry_len = feed.len - rest;
    units->carry_offset = unit->next;
    units->stream_ended = feed.ended;
    if (!unit_buffer_reserve(&units->carry, units->carry_len, trouble)) return UNIT_TROUBLE;
    memcpy(units->carry.ptr, buffer->ptr + rest, (size_t)units->carry_len);
    unit->last = feed.ended && units->carry_len == 0;
    // A header alone is a unit, too: its bytes count if the unit is wanted.
    bool empty = unit->end == 0 && !unit->long_row.is && !unit->first;
    if (empty && unit->last) return end_stream(units, file, trouble);
    if (unit->last && end_stream(units, file, trouble) == UNIT_TROUBLE) return UNIT_TROUBLE;
    return UNIT_TAKEN;
}

static UnitTake take_text(Units *units, Unit *unit, UnitBuffer *buffer, Trouble *trouble) {
    Source *source = units->what.source;
    while (units->file < source->file_count) {
        if (!source->files[units->file].stream) return take_range(units, unit, trouble);
        UnitTake taken = take_stream(units, unit, buffer, trouble);
        if (taken != UNIT_NONE) return taken;
    }
    return UNIT_NONE;
}

// ---- rows, numbers, files -------------------------------------------------------------------

static UnitTake take_rows(Units *units, Unit *unit, int64_t count, int64_t rows) {
    if (units->next >= count) return UNIT_NONE;
    const UnitsSetup *what = &units->what;
    rows = batches_unit_rows(what->batch, share_of(what, count, rows), count,
                             what->slots > 0 ? what->slots : what->tasks);
    if (rows > units->what.rows_max) rows = units->what.rows_max;
    unit->range_begin = unit->begin = units->next;
    units->next = count - units->next < rows ? count : units->next + rows;
    unit->range_end = unit->end = units->next;
    unit->entries = units->what.entries;
    return UNIT_TAKEN;
}

static UnitTake take_files(Units *units, Unit *unit) {
    const Source *source = units->what.source;
    if (units->file >= source->file_count) return UNIT_NONE;
    int64_t bytes = 0;
    unit->file = units->file;
    unit->range_begin = units->file;
    do {
        bytes += source->files[units->file++].size;
    } while (units->file < source->file_count && bytes < units->unit_bytes &&
             units->file - unit->file < FILES_A_UNIT);
    unit->range_end = units->file;
    return UNIT_TAKEN;
}

static UnitTake number(Units *units, Trouble *trouble) {
    if (++units->ordinal >> 24 == 0) return UNIT_TAKEN;
    trouble_set(trouble, TROUBLE_TOO_MANY, "the input has over 16,777,216 ranges");
    trouble_fix(trouble, "give a larger --partition");
    return UNIT_TROUBLE;
}

UnitTake units_take_slices(Units *units, Unit *unit, const Slice slices[2], Trouble *trouble) {
    *unit = (Unit){.ordinal = units->ordinal, .lines = -1, .end = slices[0].count,
                   .entries = slices[0].entries, .right = slices[1].entries,
                   .slices = {slices[0], slices[1]}};
    return number(units, trouble);
}

UnitTake units_take(Units *units, Unit *unit, UnitBuffer *buffer, Trouble *trouble) {
    *unit = (Unit){.ordinal = units->ordinal, .lines = -1};
    UnitTake taken = UNIT_NONE;
    const Source *source = units->what.source;
    switch ((SbInputKind)units->what.input) {
    case SB_INPUT_TEXT: taken = take_text(units, unit, buffer, trouble); break;
    case SB_INPUT_ROWS:
    case SB_INPUT_UNMATCHED:
        taken = units->what.breaker
                    ? spill_units_take(units->spilled, unit, units->must, trouble)
                    : take_rows(units, unit, units->what.entry_count, ROWS_A_UNIT);
        break;
    case SB_INPUT_RANGE: taken = take_rows(units, unit, source->range_count, NUMBERS_A_UNIT); break;
    case SB_INPUT_RECORDS:
        taken = take_rows(units, unit, units->what.entry_count, ROWS_A_UNIT);
        break;
    case SB_INPUT_FILES: taken = take_files(units, unit); break;
    }
    return taken == UNIT_TAKEN ? number(units, trouble) : taken;
}

UnitPlace units_place(const Unit *unit) {
    return (UnitPlace){.is = true, .first = unit->first, .last = unit->last, .file = unit->file,
                       .range_begin = unit->range_begin, .range_end = unit->range_end,
                       .start = {unit->offset + unit->begin, unit->lines}};
}

UnitTake units_find(Units *units, const UnitPlace *place, uint64_t ordinal, Unit *unit,
                    Trouble *trouble) {
    bool files = units->what.input == SB_INPUT_TEXT || units->what.input == SB_INPUT_FILES;
    *unit = (Unit){.ordinal = ordinal, .lines = -1, .file = place->file, .first = place->first,
                   .last = place->last, .range_begin = place->range_begin,
                   .range_end = place->range_end};
    if (files) return UNIT_TAKEN;
    if (units->spilled) return spill_units_find(units->spilled, unit, units->must, trouble);
    unit->begin = unit->range_begin;
    unit->end = unit->range_end;
    unit->entries = units->what.entries;
    return UNIT_TAKEN;
}

int64_t units_row_max(const Units *units) {
    return units->what.breaker ? sb_breaker_row_max(units->what.breaker) : 0;
}

bool units_over(const Units *units) {
    const Source *source = units->what.source;
    switch ((SbInputKind)units->what.input) {
    case SB_INPUT_TEXT: return units->file >= source->file_count;
    case SB_INPUT_RANGE: return units->next >= source->range_count;
    case SB_INPUT_FILES: return units->file >= source->file_count;
    case SB_INPUT_RECORDS:
    case SB_INPUT_ROWS:
    case SB_INPUT_UNMATCHED: break;
    }
    return !units->what.breaker && units->next >= units->what.entry_count;
}

bool units_prepare(Units *units, Unit *unit, UnitBuffer *buffer, Trouble *trouble) {
    if (units->spilled) return spill_units_prepare(units->spilled, unit, trouble);
    if (units->what.input != SB_INPUT_TEXT) return true;
    if (!units->what.source->files[unit->file].stream) {
        return prepare_range(units, unit, buffer, trouble);
    }
    if (!units->chained) return true;
    // A source may have plain files after a stream: the chain goes on through it.
    int64_t begin, lines;
    if (!chain_wait(units, unit, buffer, &begin, &lines)) return false;
    chain_hand_on(units, unit, unit->lines);
    return true;
}

bool units_again(Units *units, Unit *unit, UnitBuffer *buffer, Trouble *trouble) {
    if (units->what.input != SB_INPUT_TEXT) return true;
    Feed feed = feed_of(units, unit, buffer, trouble);
    int64_t want = unit->end;
    if (unit->long_row.is) want += RAW_BYTES_MAX + 16;
    if (!feed_to(&feed, want)) return false;
    place(unit, &feed);
    return true;
}
