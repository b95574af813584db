// Feed: a growing window of a file, for finding where rows end.
#ifndef SBC_RUNTIME_FEED_H
#define SBC_RUNTIME_FEED_H

#include "runtime/host.h"
#include "runtime/input/unit.h"

typedef struct Feed {
    Source     *source;
    SourceFile *file;
    Stream     *stream;   // nullptr: the file can be read at any place.
    UnitBuffer *buffer;
    int64_t     offset;   // Of buffer->ptr[0] in the file.
    int64_t     len;
    bool        ended;    // buffer->ptr + len is the end of the file.
    ChecksumState *sum;   // Checksum of what rows over row_max cover, and of the window before; or
                          // nullptr.
    Trouble    *trouble;
} Feed;

// Bytes of the window, for the reader of the format.
Window feed_window(const Feed *feed);

bool unit_buffer_reserve(UnitBuffer *buffer, int64_t bytes, Trouble *trouble);

// Reads on until the window holds `want` bytes or the file ends.
bool feed_to(Feed *feed, int64_t want);

// The last byte of a stream so far that is no white space, for readers whose files have an end.
void feed_note_last(SourceFile *file, const char *text, int64_t len);

typedef enum FeedEnd { FEED_FOUND, FEED_UNSURE, FEED_TROUBLE } FeedEnd;

// Fixes unit->end and unit->next: the rows from the row start `begin` that start before `target`
// (both relative to the window). Without `exact` it gives up (FEED_UNSURE) rather than read far.
FeedEnd feed_rows(Feed *feed, Unit *unit, int64_t begin, int64_t target, bool exact);

#endif
