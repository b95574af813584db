#include "runtime/edge.h"

#include "runtime/rows.h"

#include <assert.h>
#include <stdlib.h>

Batch *batch_open(SbRows *rows) {
    Batch *batch = malloc(sizeof *batch);
    const SbEntry *const *entries = batch ? sb_rows_entries(rows) : nullptr;
    if (!entries) {
        free(batch);
        return nullptr;
    }
    *batch = (Batch){.rows = rows, .entries = entries, .count = rows->count,
                     .bytes = sb_rows_bytes(rows), .holders = 1};
    return batch;
}

void batch_release(Batch *batch) {
    assert(batch->holders > 0);
    if (--batch->holders > 0) return;
    sb_rows_close(batch->rows);
    free(batch);
}

SbRows *batch_empty(Batch *batch) {
    SbRows *rows = batch->rows;
    assert(batch->holders == 1);
    sb_rows_reset(rows);
    free(batch);
    return rows;
}

// Item number `number` of those offered.
static LaneItem *item_at(const Lane *lane, uint64_t number) {
    return &lane->items[number & (lane->cap - 1)];
}

bool edge_open(Edge *edge, uint32_t lanes, uint32_t readers) {
    edge->lanes = calloc(lanes + 1, sizeof *edge->lanes);
    edge->readers = calloc(readers + 1, sizeof *edge->readers);
    edge->lane_count = lanes;
    edge->reader_count = readers;
    return edge->lanes && edge->readers;
}

void edge_close(Edge *edge) {
    for (uint32_t l = 0; edge->lanes && l < edge->lane_count; l++) {
        Lane *lane = &edge->lanes[l];
        for (uint32_t i = 0; i < lane->count; i++)
            batch_release(item_at(lane, lane->dropped + i)->batch);
        free(lane->items);
    }
    free(edge->lanes);
    free(edge->readers);
    edge->lanes = nullptr;
    edge->readers = nullptr;
}

// ---- the producers' side --------------------------------------------------------------------

// Rows of the lanes before; exact once these have ended.
static int64_t rows_before(const Edge *edge, uint32_t lane) {
    int64_t rows = 0;
    for (uint32_t l = 0; l < lane; l++) rows += edge->lanes[l].rows;
    return rows;
}

// Items that no reader will take any more.
static void drop_items(Edge *edge, uint32_t number) {
    Lane *lane = &edge->lanes[number];
    uint64_t keep = lane->dropped + lane->count;
    for (uint32_t r = 0; r < edge->reader_count; r++) {
        const EdgeReader *reader = &edge->readers[r];
        if (reader->stopped || reader->lane > number) continue;
        uint64_t from = reader->lane == number ? reader->item : lane->dropped;
        if (from < keep) keep = from;
    }
    for (; lane->dropped < keep; lane->dropped++, lane->count--) {
        Batch *batch = item_at(lane, lane->dropped)->batch;
        edge->bytes -= batch->bytes;
        batch_release(batch);
    }
}

static bool lane_grow(Lane *lane) {
    Lane grown = *lane;
    grown.cap = lane->cap ? 2 * lane->cap : 16;
    grown.items = malloc(grown.cap * sizeof *grown.items);
    if (!grown.items) return false;
    for (uint32_t i = 0; i < lane->count; i++)
        *item_at(&grown, lane->dropped + i) = *item_at(lane, lane->dropped + i);
    free(lane->items);
    *lane = grown;
    return true;
}

bool edge_offer(Edge *edge, uint32_t number, Batch *batch) {
    Lane *lane = &edge->lanes[number];
    assert(!lane->ended);
    if (lane->count == lane->cap && !lane_grow(lane)) return false;
    *item_at(lane, lane->dropped + lane->count++) = (LaneItem){batch, lane->rows};
    lane->rows += batch->count;
    edge->bytes += batch->bytes;
    drop_items(edge, number);
    return true;
}

void edge_end(Edge *edge, uint32_t lane) { edge->lanes[lane].ended = true; }

int64_t edge_need(const Edge *edge, uint32_t lane) {
    int64_t need = INT64_MAX;
    if (edge->limit != INT64_MAX) {
        int64_t before = rows_before(edge, lane);
        need = edge->limit > before ? edge->limit - before : 0;
    }
    int64_t most = 0;
    for (uint32_t r = 0; r < edge->reader_count; r++) {
        const EdgeReader *reader = &edge->readers[r];
        // Who judged rows of a later lane came to the end of this one.
        bool whole = reader->all || reader->done_lane > lane;
        if (!reader->stopped || reader->frozen || whole) return need;
        int64_t taken = reader->done_lane == lane ? reader->done : 0;
        if (taken > most) most = taken;
    }
    return most < need ? most : need;
}

// ---- the readers' side ----------------------------------------------------------------------

// Goes on to the next row that the reader may see. The item there, or nullptr: none yet, or none.
static const LaneItem *seek(Edge *edge, EdgeReader *reader) {
    for (;;) {
        Lane *lane = &edge->lanes[reader->lane];
        assert(reader->item >= lane->dropped);
        if (reader->item < lane->dropped + lane->count) {
            const LaneItem *item = item_at(lane, reader->item);
            int64_t number = rows_before(edge, reader->lane) + item->first + reader->at;
            if (number >= edge->limit) return nullptr;
            int64_t skip = edge->skip - number, left = item->batch->count - reader->at;
            if (skip <= 0) return item;
            reader->at += skip < left ? skip : left;
            if (skip < left) return item;
        } else if (!lane->ended || reader->lane + 1 == edge->lane_count) {
            return nullptr;
        } else {
            reader->lane++;
            reader->item = 0;
            reader->at = 0;
            continue;
        }
        reader->item++;
        reader->at = 0;
        drop_items(edge, reader->lane);
    }
}

int64_t edge_ready(Edge *edge, uint32_t number) {
    EdgeReader *reader = &edge->readers[number];
    const LaneItem *item = reader->stopped ? nullptr : seek(edge, reader);
    if (!item) return 0;
    int64_t rows = item->batch->count - reader->at;
    int64_t left = edge->limit - (rows_before(edge, reader->lane) + item->first + reader->at);
    return rows < left ? rows : left;
}

bool edge_over(Edge *edge, uint32_t number) {
    EdgeReader *reader = &edge->readers[number];
    if (reader->stopped) return true;
    if (seek(edge, reader)) return false;
    const Lane *lane = &edge->lanes[reader->lane];
    bool at_end = reader->item == lane->dropped + lane->count;
    // A row is there and not to be seen: the limit is reached.
    return !at_end || rows_before(edge, reader->lane) + lane->rows >= edge->limit ||
           (lane->ended && reader->lane + 1 == edge->lane_count);
}

EdgeSlice edge_take(Edge *edge, uint32_t number, int64_t count) {
    EdgeReader *reader = &edge->readers[number];
    assert(count > 0 && count <= edge_ready(edge, number));
    const LaneItem *item = seek(edge, reader);
    EdgeSlice slice = {item->batch, item->batch->entries + reader->at, reader->lane,
                       item->first + reader->at, count};
    item->batch->holders++;
    reader->pending++;
    reader->at += count;
    if (reader->at == item->batch->count) {
        reader->item++;
        reader->at = 0;
        drop_items(edge, reader->lane);
    }
    return slice;
}

static void let_go(EdgeReader *reader, const EdgeSlice *slice) {
    assert(reader->pending > 0);
    reader->pending--;
    batch_release(slice->batch);
}

void edge_consume(Edge *edge, uint32_t number, const EdgeSlice *slice, int64_t count, bool whole) {
    EdgeReader *reader = &edge->readers[number];
    reader->done_lane = slice->lane;
    reader->done = slice->first + count;
    if (!whole) return;
    reader->gives_up |= count < slice->count;
    let_go(reader, slice);
}

void edge_untake(Edge *edge, uint32_t number, const EdgeSlice *slice) {
    EdgeReader *reader = &edge->readers[number];
    reader->gives_up = true;
    let_go(reader, slice);
}

// Rows of the lane before the first that the reader still has to judge.
static int64_t reader_consumed(const Edge *edge, const EdgeReader *reader, uint32_t number) {
    const Lane *lane = &edge->lanes[number];
    if (reader->pending > 0 || reader->gives_up) {
        return reader->done_lane > number ? lane->rows : reader->done_lane == number ? reader->done
                                                                                     : 0;
    }
    if (reader->lane != number) return reader->lane > number ? lane->rows : 0;
    if (reader->item == lane->dropped + lane->count) return lane->rows;
    return item_at(lane, reader->item)->first + reader->at;
}

int64_t edge_consumed(const Edge *edge, uint32_t lane) {
    int64_t least = INT64_MAX;
    for (uint32_t r = 0; r < edge->reader_count; r++) {
        const EdgeReader *reader = &edge->readers[r];
        bool ended = reader->stopped && !reader->frozen;
        int64_t rows = ended ? INT64_MAX : reader_consumed(edge, reader, lane);
        if (rows < least) least = rows;
    }
    return least;
}

static void stop_reader(Edge *edge, EdgeReader *reader) {
    reader->stopped = true;
    for (uint32_t l = 0; l < edge->lane_count; l++) drop_items(edge, l);
}

void edge_stop(Edge *edge, uint32_t number, bool whole) {
    EdgeReader *reader = &edge->readers[number];
    if (reader->stopped && !reader->frozen) return;
    reader->frozen = false;
    reader->all = whole;
    stop_reader(edge, reader);
}

void edge_freeze(Edge *edge, uint32_t number) {
    EdgeReader *reader = &edge->readers[number];
    if (reader->stopped) return;
    reader->frozen = reader->gives_up = true;
    stop_reader(edge, reader);
}

void edge_forget(Edge *edge, uint32_t number) {
    EdgeReader *reader = &edge->readers[number];
    reader->frozen = false;
    reader->done_lane = 0;
    reader->done = 0;
    stop_reader(edge, reader);
}

int64_t edge_rows(const Edge *edge) {
    int64_t rows = 0;
    for (uint32_t l = 0; l < edge->lane_count; l++) {
        int64_t need = edge_need(edge, l);
        rows += need < edge->lanes[l].rows ? need : edge->lanes[l].rows;
    }
    return rows;
}
