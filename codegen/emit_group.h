// Rows on their way into groups, and the batches in which they wait while tables are large.
#ifndef SBC_CODEGEN_EMIT_GROUP_H
#define SBC_CODEGEN_EMIT_GROUP_H

#include "codegen/emit_stage.h"

typedef struct AggRow {    // What one aggregate needs of the row, judged before any state changes.
    Val   where;           // i1 or null.
    Value args[2];
    // What the argument is computed from where that is left for the batch: a text, by `late`.
    Value texts[2];
    const FnRef *late[2];  // Functions that compute an argument late; null: the argument is there.
} AggRow;

typedef struct GroupRow {
    const Breaker *breaker;
    Frame    *frame;       // For the identity that a new group keeps; null: it keeps none.
    Value    *columns;     // What a new group keeps, by the breaker's slots from key_count on.
    KeyParts *keys;
    AggRow   *aggs;        // By aggregate.
    Val       hash, order;
    Val       only;        // StageEmit.only; null in the function of a batch.
} GroupRow;

uint32_t group_agg_count(const Emit *e, const Breaker *breaker);

// Finds the row's group in the table or makes it, adds the row to its states, goes to `next`.
void group_add_row(Emit *e, GroupRow *row, Val groups, Block next);

// The entry of the row's group, made if it is not there: by hash, keys, columns and order.
Val group_find(Emit *e, GroupRow *row, Val groups);
// The group has a row of this order, before or after those that it has already.
void group_lower_order(Emit *e, Val entry, Val order);
// Adds the state at `from` to the one at `to`. Aggregates without AGG_CALL only.
void group_merge_state(Emit *e, const Agg *agg, Val to, Val from);

// ---- batches (emit_batch.c) ---------------------------------------------------------------------

// A large table lies in no cache: each row would wait for its slot and then for its entry. So while
// the table is large its rows ask for their slots and wait in a batch of the stage. A flush
// function asks for all entries and then adds the rows in their order. What a row needs are its
// registers: texts stay where they are, because scratch memory is wound back after a flush only.
// Rows of one group wait for what its aggregates look for: a short loop then keeps more misses on
// their way at once than the stage, whose rows do more.
struct Batch {
    const Breaker *breaker;
    Val      memory;       // {the free record; records from BATCH_HEAD on}, in the stage's frame.
    Val      flush;        // int32_t flush(SbTask *, SbGroups *, memory); null: there is no batch.
    GroupRow row;          // As the stage knows it; frame is null.
    Val     *kept;         // What a record holds, once each: the hash comes first.
    size_t   kept_count, kept_cap;
    size_t  *offsets;      // In the record, by kept.
    size_t   late_offset;  // In the record: what is computed when the batch is full.
    size_t   bytes;        // Of a record.
    Val      records, count;  // In the flush function: all records, and their number.
    Val      record;          // In the flush function: the record whose row is added.
};

// Do rows that are emitted now wait in the batch?
bool batch_takes(const Emit *e, const Batch *batch);
// Emits for a row: while the table is large, keeps it in the batch and goes to `next`. Goes on
// where the table is small.
void batch_row(Emit *e, Batch *batch, const GroupRow *row, Block next);

// May argument `i` of the aggregate, an expression over the columns of `over`'s input, be computed
// for all rows of a batch at once? Then row->late and row->texts say how.
bool batch_leaves_late(Emit *e, Frame *over, const Agg *agg, uint32_t i, AggRow *row);
// The argument after all, of a row that does not wait.
Value batch_late_now(Emit *e, const AggRow *row, uint32_t i);

#endif
