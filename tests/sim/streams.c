#include "tests/sim/streams.h"

int64_t stream_rows(const Stream *stream) {
    int64_t rows = 0;
    for (int i = 0; i < stream->count; i++) rows += stream->segments[i].rows;
    return rows;
}

static void append(Stream *stream, const Stream *more) {
    for (int i = 0; i < more->count; i++) {
        if (!more->segments[i].rows || stream->count == SEGMENTS_MAX) continue;
        stream->segments[stream->count++] = more->segments[i];
    }
}

static void append_root(Stream *stream, StageId root, int64_t rows) {
    append(stream, &(Stream){{{root, rows}}, 1});
}

static void cut(Stream *stream, int64_t rows) {
    int count = 0;
    for (; count < stream->count && rows > 0; count++) {
        Segment *segment = &stream->segments[count];
        if (segment->rows > rows) segment->rows = rows;
        rows -= segment->rows;
    }
    stream->count = count;
}

Stream stream_into(const Streams *streams, const Workload *load, StageId stage, int side) {
    const CorePlan *plan = &load->plan;
    const CoreStage *described = &plan->stages[stage.i];
    Stream all = {0};
    for (uint8_t i = 0; i < described->input_count; i++) {
        if (described->kind == STAGE_ZIP && i != side) continue;
        append(&all, &streams->made[plan->edges[described->inputs[i].i].from.i]);
    }
    return all;
}

int64_t row_sum(StageId root, int64_t row, int64_t rows) {
    return (root.i + 7) * (rows * row + rows * (rows - 1) / 2) + rows * (root.i + 3);
}

static void keep(Streams *streams, const CoreStage *stage, const Stream *rows) {
    for (uint8_t f = 0; f < stage->fill_count; f++) {
        streams->kept[stage->fills[f].i] += stream_rows(rows);
        for (int i = 0; i < rows->count; i++)
            streams->kept_sum[stage->fills[f].i] += row_sum(rows->segments[i].root, 0,
                                                            rows->segments[i].rows);
    }
}

void streams_make(Streams *streams, const Workload *load, bool most) {
    const CorePlan *plan = &load->plan;
    for (uint16_t b = 0; b < plan->breaker_count; b++) streams->kept[b] = streams->kept_sum[b] = 0;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        Stream *made = &streams->made[s];
        made->count = 0;
        switch (stage->kind) {
        case STAGE_SOURCE:
            append_root(made, (StageId){s}, stage->units * load->work[s].unit_rows);
            break;
        case STAGE_READER: append_root(made, (StageId){s}, streams->kept[stage->reads.i]); break;
        case STAGE_ZIP: {
            Stream left = stream_into(streams, load, (StageId){s}, 0);
            Stream right = stream_into(streams, load, (StageId){s}, 1);
            int64_t a = stream_rows(&left), b = stream_rows(&right);
            append_root(made, (StageId){s}, a < b ? a : b);
            break;
        }
        case STAGE_MAP:
        case STAGE_SINK:
            *made = stream_into(streams, load, (StageId){s}, 0);
            if (load->work[s].limits && !most) cut(made, load->work[s].limit_rows);
            break;
        }
        keep(streams, stage, made);
    }
}

bool cursor_take(Cursor *cursor, const Stream *stream, StageId root, int64_t row, int64_t rows) {
    if (!rows) return true;
    if (cursor->segment < stream->count && cursor->row == stream->segments[cursor->segment].rows)
        cursor->segment++, cursor->row = 0;
    if (cursor->segment == stream->count) return false;
    const Segment *segment = &stream->segments[cursor->segment];
    if (segment->root.i != root.i || cursor->row != row) return false;
    cursor->row += rows;
    return cursor->row <= segment->rows;
}

bool cursor_seek(Cursor *cursor, const Stream *stream, StageId root, int64_t row, int64_t rows) {
    if (!rows) return true;
    for (int i = cursor->segment; i < stream->count; i++) {
        const Segment *segment = &stream->segments[i];
        bool passed = i == cursor->segment && row < cursor->row;
        if (segment->root.i != root.i || passed || row + rows > segment->rows) continue;
        *cursor = (Cursor){i, row + rows};
        return true;
    }
    return false;
}

bool cursor_at_end(const Cursor *cursor, const Stream *stream) {
    if (!stream->count) return true;
    return cursor->segment >= stream->count - 1 &&
           cursor->row == stream->segments[stream->count - 1].rows;
}
