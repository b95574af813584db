// Sink mark: a place in what a sink was given, up to which the journal says that it is safe.
//
//   given ─▶ mark ─▶ written to its end ─▶ synced ─▶ in the journal
//
// A mark is taken between two calls of sink_take. It waits until all extents given before it are
// written (they are in any order), then its part is synced, and it may be recorded. A later run
// begins at the recorded place, and cuts off what stands after that place. Then it gives the sink
// the later rows only, or all rows again. Of all rows the sink drops those that it has, after it
// has compared their checksum.
#ifndef SBC_RUNTIME_SINK_MARK_H
#define SBC_RUNTIME_SINK_MARK_H

#include "runtime/output/sink.h"

typedef struct SinkPartPlace {
    int64_t  size;
    Checksum sum;
    SbStr    key;              // Outputs by key: that of the part.
    DurableBase base;          // As it was when the part began.
} SinkPartPlace;

typedef struct SinkPlace {
    int64_t  rows, bytes;      // As the sink counts them.
    int64_t  text;             // Bytes of rows, without headers.
    Checksum text_sum;         // Checksum of these bytes.
    uint32_t part;             // The part that is being filled.
    int64_t  offset;           // Bytes of that part that are there.
    Checksum sum;              // Checksum of the bytes of that part.
    bool     part_has_rows;
    bool     replays;          // The rows before are made again.
    SbStr    chunk;            // Text that waited for compression.
    SbStr    key;              // Outputs by key: that of the part that is being filled.
    DurableBase base;          // Of that part.
    const SinkPartPlace *parts;  // Those before `part`.
} SinkPlace;

typedef struct SinkMark {
    SinkPlace place;      // `chunk` is the mark's own; `parts` is empty.
    SinkPart *part;       // That is being filled.
    uint32_t  part_from;  // The number of the first of `parts`.
    SinkPartPlace *parts; // Parts from `part_from` on, the mark's own.
    SinkPart **files;     // The same, and `part` after them. Their names are to be safe.
    uint64_t  extents;    // Given before it.
} SinkMark;

// For sink_open: goes on where an earlier run came to.
bool sink_log_open(Sink *sink, const SinkSetup *setup, Trouble *trouble);
// Could it? Changes nothing. The sink was checked; sink_close gives back what this set.
bool sink_log_look(Sink *sink, const SinkSetup *setup, Trouble *trouble);
void sink_log_close(Sink *sink);

// The checksum of the last part has what stands there before it gets rows.
bool sink_log_base(Sink *sink, Trouble *trouble);
// What sink.c tells: rows that are given, bytes that go to the part, a part that is full, an extent
// that is written. Of rows that are given, those that are there already are taken off.
bool sink_log_rows(Sink *sink, const char **bytes, int64_t *len, Trouble *trouble);
void sink_log_bytes(Sink *sink, const char *bytes, int64_t len);
void sink_log_filled(Sink *sink);
uint64_t sink_log_extent(Sink *sink);
void sink_log_written(Sink *sink, uint64_t number);
// Of an output whose headers are written last, when all is written: reads the parts once more for
// their checksums. Until then those of filled parts leave the header out.
bool sink_log_seal(Sink *sink, Trouble *trouble);
// Were all rows of the earlier run made again?
bool sink_log_whole(const Sink *sink, Trouble *trouble);

// May a mark be taken here: are there bytes before it, and none that come again?
bool sink_can_mark(const Sink *sink);
// Takes a mark, by the thread that gives rows; parts before `part_from` are known. False: no
// memory.
bool sink_mark(Sink *sink, uint32_t part_from, SinkMark *mark);
bool sink_mark_written(Sink *sink, const SinkMark *mark);
// Makes safe what stands before the mark.
bool sink_mark_sync(Sink *sink, SinkMark *mark, Trouble *trouble);
bool sink_mark_close(SinkMark *mark, Trouble *trouble);

#endif
