// A stage function under construction: its loop, its counters and where its rows go.
#ifndef SBC_CODEGEN_EMIT_STAGE_H
#define SBC_CODEGEN_EMIT_STAGE_H

#include "codegen/emit_row.h"

typedef struct Counter {
    uint32_t step;
    SbCount  kind;
    Val      slot;    // i64 in the entry block.
} Counter;

typedef struct Batch Batch;   // Rows that wait for their groups: emit_group.h.

typedef struct StageEmit {
    const Stage *stage;
    Counter  *counters;
    size_t    counter_count, counter_cap;
    Val      *terminals;   // By terminal: SbGroups *, SbRows *, SbOut *.
    Val      *left;        // By terminal: slot of the rows that it still takes; null: all.
    Val       most;        // Rows that the only terminal takes, a sink; null: it is none.
    Val      *only;        // By terminal: slot of the one group of a group without keys; others
                           // null. The slot holds null before the group is known, and at the end
                           // of each block, where the group may go to disk.
    Batch    *batches;     // By terminal.
    bool      has_batches;
    bool      can_stop;    // Every terminal is an edge or a sink.
    Val       order;       // Slot of the order key of the next row.
    Val       cursor;      // Slot: what task->cursor gets when the stage leaves.
    Block     leave;       // Ends the call; takes the status.
    Val       leave_status;
    Block     stop;        // Leaves with SB_STAGE_FAULT.
    Block     satisfied;   // Leaves with SB_STAGE_DONE because no terminal wants more; null: none.
    Block     full;        // After a row: leaves with SB_STAGE_FULL; null: none.
    Block     inside;      // Inside a row: the same; null: none (emit_inside.c).
    uint32_t  inside_level;  // How many loops are open that the stage leaves in their midst.
    StepId   *way;         // Steps that have counted the row as SB_IN where the builder stands.
    size_t    way_count, way_cap;
    Val       column_site; // In a loop over columns: the site of the one it is at; null: no loop.
    struct TextRow *text;  // Of rows of one width, which are known by their places in it.
    struct ColumnEmit *behind;  // Rows are emitted that a column loop has worked on; else null.
    bool      by_kernel;   // Rows are emitted whose leading steps a kernel has done.
    bool      asks;        // The function only says which keys rows look up: emit_ask.
} StageEmit;

// Emits the function of stage number `index` and returns it.
Val emit_stage(Emit *e, uint32_t index);
// Does the stage look rows up in the table of a join?
bool stage_probes(const Emit *e, uint32_t index);
// Emits the function that says which keys rows of such a stage look up (SbStage.ask).
void emit_ask(Emit *e, uint32_t index);

// Hands a row of `frame`'s operator to its consumers, then goes to `next`.
void stage_push(Emit *e, Frame *frame, Block next);
// Emits the filters that stand directly after a source's read, from number `first` on; goes on
// with a row that they keep.
void stage_judge_filters(Emit *e, Frame *frame, uint32_t first, Block next);
void stage_count(Emit *e, StepId step, SbCount kind, Val rows);
// Does `op`, or its step, count the rows that come in from `from`?
bool stage_counts_in(const Emit *e, const Op *from, const Op *op);
Val  stage_next_order(Emit *e);      // Takes an order key.
void stage_leave(Emit *e, SbStageStatus status);

// The call of a function over batches that the first step of the stage makes; null: none.
const Expr *stage_batch_call(const Emit *e, const Stage *stage);
// Its SbBatchFn (emit_calls.c); null: none.
Val stage_batch(Emit *e, const Stage *stage);
// The SbPython of all stages whose SbBatchFn was made; null: none calls Python.
Val job_python(Emit *e);

// Kernels of a stage for a GPU (emit_kernels.c).
bool  stage_has_kernels(const Emit *e, const Stage *stage);
// The SbKernels, with SbKernels.lay; null: none.
Val   stage_kernels(Emit *e, const Stage *stage, Val lay);
// Asks for what kernels give of the row, and says where it goes on: `judged` for rows that the CPU
// judges, `next` for those that a filter takes out. The builder goes on with the others.
void  kernels_ask(Emit *e, Val number, Block judged, Block next);
// The same of kernels that fill the groups of the stage: the builder goes on with rows that are in
// them, or that a filter took out.
const CudaGroups *stage_kernel_groups(const Emit *e, const Stage *stage);  // Null: there are none.
// Before a launch, and where it has been made (emit_kernel_groups.c). `judged` rows go on at
// the returned block, which leads to `next`.
void  kernel_groups_take(Emit *e, const CudaGroups *groups);
void  kernel_groups_judge(Emit *e);
Block kernel_groups_next(Emit *e, Block next);
// At a border between blocks: goes to `next` where more rows of the launch come.
void  kernel_groups_border(Emit *e, Block next);
bool  kernels_did(const Emit *e, const Op *op);    // As columns_did, of rows after a kernel.
bool  kernels_did_item(const Emit *e, const Op *op, uint32_t item);
Value kernels_load(Emit *e, Frame *frame, uint32_t column);

// The loops over the stage's input (emit_scan.c, emit_entries.c): for each row they fill the
// frame of the root operator and call stage_push.
void stage_loop_text(Emit *e);
void stage_loop_entries(Emit *e);
// Rows that are known by a number alone: of a range, or the place in a text of rows of one width.
struct ColumnEmit *stage_loop_numbers(Emit *e);
// A row of `frame`, the root of the stage: its filters, from number `filter` on, and consumers.
void stage_push_root(Emit *e, Frame *frame, uint32_t filter, Block next);
// The root of such a stage at a number, and what it grows by from row to row.
Frame *stage_number_row(Emit *e, Val number);
Val   stage_stride(Emit *e);         // i64
bool  stage_strides(const Emit *e);  // Is that more than 1?
// After a row: leaves when the outputs hold a partition, else goes to `next`.
void stage_row_border(Emit *e, Block next);
// Leaves at s->full, cursor stored.
void stage_leave_full(Emit *e);
// At a border between blocks of rows, cursor stored: polls cancellation and quotas, then `next`.
void stage_block_border(Emit *e, Block next);

// A loop over the rows that one row makes, in whose midst the stage may leave (emit_inside.c).
typedef struct Inside {
    uint32_t level;          // How many are around it.
    Block    leave, outer;   // Where the loop leaves, and those around do. `leave` null: none.
    Val      number, place;  // Where the loop goes on: as stage_inside_leave was told.
} Inside;

// May the stage leave inside a row?
bool stage_splits_rows(const Emit *e, const Stage *stage);
// Opens a loop that starts at `begin`. True: it may leave; the builder stands where it goes on.
bool stage_inside_open(Emit *e, Inside *inside, Block begin);
// After one of the loop's rows: goes on at `next`; where the partition is full, and if
// inside->leave is not null, in a block that stage_inside_leave has to end.
void stage_inside_border(Emit *e, const Inside *inside, Block next);
// The loop goes on with its row of that number, which is found by `place`. So ends inside->leave,
// too, whose builder stands where a loop within this one has left.
void stage_inside_leave(Emit *e, const Inside *inside, Val number, Val place);
void stage_inside_close(Emit *e, const Inside *inside);

// Column loops (emit_columns.c). Chunks of `count` rows from that with the number `first` on.
typedef struct Chunk {
    Val   first, count;   // i64; count is not 0.
    Val   row;            // Slot: the number of the row that the stage is at.
    Block rows;           // Pushes each row of the chunk by itself.
    Block done;           // After the chunk.
} Chunk;

// Do kernels take columns of the stage's source? emit_kernel_lay emits the function that lays them.
bool stage_lays_columns(const Emit *e, const Stage *stage);
void emit_kernel_lay(Emit *e, uint32_t index);
// The way of a chunk through kernels (emit_kernel_columns.c). What the CPU judges goes to `judged`;
// the builder goes on nowhere.
void kernels_take_chunk(Emit *e, const Chunk *chunk, Block judged);
// Emits, where the builder stands, the way of a chunk through the column loops.
struct ColumnEmit *stage_columns(Emit *e, const Chunk *chunk);
// Emits the loop as a function, once that of the stage is complete.
void stage_column_loop(Emit *e, struct ColumnEmit *columns);
// Of rows after a column loop: is the member's work done, but for what `columns_load` computes?
bool columns_did(const Emit *e, const Op *op);
bool columns_did_item(const Emit *e, const Op *op, uint32_t item);
bool columns_did_terminal(const Emit *e, uint32_t terminal);
Value columns_load(Emit *e, Frame *frame, uint32_t column);

// Frees the scratch memory of the rows before; while rows wait in batches only now and then.
void stage_rewind(Emit *e);                                                  // emit_batch.c
// Batches of a stage: made at its begin, flushed at borders between blocks; their functions are
// emitted when the stage is complete.
void batches_open(Emit *e);
void batches_flush(Emit *e);
void batches_close(Emit *e);

// Terminals.
void terminal_sink(Emit *e, Frame *frame, uint32_t terminal, Block next);    // emit_sink.c
void terminal_keep(Emit *e, Frame *frame, uint32_t index, Block next);       // emit_keep.c
void terminal_group(Emit *e, Frame *frame, uint32_t terminal, Block next);   // emit_group.c
// Of a terminal without keys: the entry of its one group, made if it is not there.
Val  terminal_only_group(Emit *e, uint32_t terminal);
// Adds a column to an aggregate's state in `entry`: by its P_column or P_column_f32, or the count
// of rows.
typedef struct AggColumn {
    Val values;     // Address of the argument's values; null: counts rows.
    Val counts;     // Address of a byte for each row; null: all count.
    Val rows;       // i64
    bool narrow;    // Are the values f32, and the aggregate one of f64?
} AggColumn;
void terminal_add_column(Emit *e, uint32_t terminal, uint32_t agg, Val entry,
                         const AggColumn *column);
void stage_probe(Emit *e, Frame *frame, const Op *join, Block next);         // emit_join.c
void stage_explode(Emit *e, Frame *frame, const Op *op, Block next);         // emit_explode.c
// Does the one step after the project `op` explode item number `item`, and cut it piece by piece?
// Then nobody needs its list.
bool explode_cuts(const Emit *e, const Op *op, uint32_t item);
// Is a join's key one whole number? Then its table may have a slot for each (SbTable), and this is
// the number of a key.
bool join_by_number(const Breaker *breaker);
Val  join_number(Emit *e, const Type *type, Val key);

// Where a column of `files` and inline rows stands in its entry (emit_entries.c).
size_t record_offset(const SourceOp *source, uint32_t column);

// Keys (emit_key.c): values, their hash, and comparison with stored slots. Floats are brought to
// one form first: -0.0 is 0.0, and all NaNs are one.
typedef struct KeyParts {
    Value value;
    Val   head, tail;   // Of a text.
} KeyParts;

KeyParts key_parts(Emit *e, const Type *type, Value value);
Val  key_hash(Emit *e, Val hash, const Type *type, const KeyParts *key);
Val  key_equals_slot(Emit *e, const Type *type, const KeyParts *key, const Slot *slot, Val entry);
Val  slots_equal(Emit *e, const Slot *slot, Val a, Val b);  // In two entries.
Value slot_load(Emit *e, const Slot *slot, Val entry);
void  slot_store(Emit *e, const Slot *slot, Value value, Val entry);

// Functions of breakers (emit_breaker.c): merge, prefix, compare, equal, those of a window; null
// where a breaker has none.
typedef struct BreakerFns {
    Val merge, prefix, prefix_more, compare, equal, number, bounds, partition, peers;
} BreakerFns;

// A number that orders as the value does, unsigned; NaN greatest, -0.0 as 0.0. Null: no such
// number of at most 64 bits (texts: of their first bytes, which decides only where it differs).
Val emit_order_bits(Emit *e, const Type *base, Value value);

BreakerFns emit_breaker(Emit *e, uint32_t index);
Val emit_group_merge(Emit *e, uint32_t index);  // emit_group.c
// What a typed aggregate holds values of: its argument's type, null left out where it is skipped.
const Type *group_value_type(const Emit *e, const Agg *agg);

#endif
