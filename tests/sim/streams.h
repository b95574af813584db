// Streams: which rows must come along each edge, in which order, found without the cores.
//
// Every row has a name for ever: its root and its number there. A stream is a list of segments, the
// rows 0.. of a root; a root can come several times, by different ways.
#ifndef SBC_TESTS_SIM_STREAMS_H
#define SBC_TESTS_SIM_STREAMS_H

#include "tests/sim/workloads.h"

enum { SEGMENTS_MAX = 128 };

typedef struct Segment {
    StageId root;
    int64_t rows;
} Segment;

typedef struct Stream {
    Segment segments[SEGMENTS_MAX];
    int count;
} Stream;

// What every stage makes, and what comes into every breaker. Calculated in the order of the stages.
typedef struct Streams {
    Stream made[STAGES_MAX];
    int64_t kept[BREAKERS_MAX];      // Rows,
    int64_t kept_sum[BREAKERS_MAX];  // and the sum of row_sum over them.
} Streams;

// `most`: all rows that could come, as if limits took everything.
void streams_make(Streams *streams, const Workload *load, bool most);
int64_t stream_rows(const Stream *stream);
// What comes into a stage: its inputs one after the other; of a zip, one side.
Stream stream_into(const Streams *streams, const Workload *load, StageId stage, int side);
// A number that tells rows apart, summed over `rows` rows from `row` on.
int64_t row_sum(StageId root, int64_t row, int64_t rows);

// Follows a stream while it is taken.
typedef struct Cursor {
    int segment;
    int64_t row;
} Cursor;
// False: these rows are not the next ones.
bool cursor_take(Cursor *cursor, const Stream *stream, StageId root, int64_t row, int64_t rows);
// False: they do not come any more.
bool cursor_seek(Cursor *cursor, const Stream *stream, StageId root, int64_t row, int64_t rows);
bool cursor_at_end(const Cursor *cursor, const Stream *stream);

#endif
