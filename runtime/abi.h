// abi.h: everything that generated code, the standard library and the runtime share.
//
// Generated code calls the runtime through the functions at the end of this file only. The layouts
// are mirrored in codegen/abi_types.c; tests/unit/abi_test.c compares every offset. Rules:
//   - Every SbStr may be read up to SB_SLACK bytes past its end (the bytes there mean nothing).
//   - A value in memory has the C layout of its type; a nullable T is {T value; uint8_t valid}.
//   - Order keys are unique within a stage's input and grow in output order.
#ifndef SBC_RUNTIME_ABI_H
#define SBC_RUNTIME_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { SB_ABI_VERSION = 7, SB_SLACK = 64 };

// The owner and the type of the ELF note by which `sbc` knows a job; it holds SB_ABI_VERSION.
#define SB_MARK_OWNER "sbc"
enum { SB_MARK_TYPE = 1 };

// Before the name of an extern function, and of all else that a user's C files define, in a job.
#define SB_USER_PREFIX "sb_user_"

// Calls of a user's C files that a job answers itself, by functions of this prefix, so that it
// counts what they take (runtime/foreign.h).
#define SB_FOREIGN_PREFIX "sb_foreign_"
#define SB_FOREIGN_CALLS(X)                                                                    \
    X(malloc) X(calloc) X(realloc) X(reallocarray) X(aligned_alloc) X(memalign)                \
    X(posix_memalign) X(free)

void *sb_foreign_malloc(size_t bytes);
void *sb_foreign_calloc(size_t count, size_t bytes);
void *sb_foreign_realloc(void *block, size_t bytes);
void *sb_foreign_reallocarray(void *block, size_t count, size_t bytes);
void *sb_foreign_aligned_alloc(size_t align, size_t bytes);
void *sb_foreign_memalign(size_t align, size_t bytes);
int   sb_foreign_posix_memalign(void **block, size_t align, size_t bytes);
void  sb_foreign_free(void *block);

// ---- values -------------------------------------------------------------------------------

typedef struct SbStr {   // str, bytes, json: a view
    const char *ptr;
    int64_t     len;
} SbStr;

// A literal as a view, with the SB_SLACK bytes behind it that may be read.
#define SB_LITERAL(text) ((SbStr){text SB_LITERAL_SLACK SB_LITERAL_SLACK, sizeof(text) - 1})
#define SB_LITERAL_SLACK \
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
static_assert(sizeof SB_LITERAL_SLACK * 2 > SB_SLACK);

typedef struct SbList {  // len elements in memory layout
    const void *ptr;
    int64_t     len;
} SbList;

typedef __int128 SbDecimal;  // decimal of precision > 18; others are int64_t

// Mirrors TypeKind of ir/type.h, in its order.
typedef enum SbKind {
    SB_BOOL, SB_I8, SB_I16, SB_I32, SB_I64, SB_U8, SB_U16, SB_U32, SB_U64, SB_F16, SB_BF16,
    SB_F32, SB_F64, SB_DECIMAL, SB_STR, SB_BYTES, SB_DATE, SB_TIMESTAMP, SB_DURATION, SB_JSON,
    SB_LIST, SB_STRUCT,
} SbKind;

typedef struct SbType SbType;

typedef struct SbField {
    SbStr         name;
    const SbType *type;
    int64_t       offset;  // In the struct, bytes.
} SbField;

// What a value of unknown type is: for nested values, generic functions and rows as JSON.
struct SbType {
    uint8_t kind;              // SbKind
    uint8_t nullable;          // {T value; uint8_t valid} in memory
    uint8_t precision, scale;  // SB_DECIMAL
    uint8_t unit;              // SB_TIMESTAMP: 0 s, 1 ms, 2 us, 3 ns
    uint32_t size, align;      // In memory, nullable included.
    uint32_t valid_offset;     // Of the byte `valid` when nullable.
    const SbType  *elem;       // SB_LIST
    const SbField *fields;     // SB_STRUCT
    uint32_t       field_count;
};

// ---- status -------------------------------------------------------------------------------

typedef enum SbStatus : int32_t {
    SB_OK = 0,
    SB_NULL = 1,         // A T? function: no value.
    SB_FAULT_BEFORE = 15,
#define FAULT(name, ...) SB_FAULT_##name,
#include "runtime/faults.def"
#undef FAULT
    SB_FAULT_END,
    SB_FAULT_FIRST = SB_FAULT_BEFORE + 1,
} SbStatus;

// What a stage returns.
typedef enum SbStageStatus : int32_t {
    SB_STAGE_DONE,   // The input is used up, or nobody wants more of it (task->stopped).
    SB_STAGE_FULL,   // An output reached its quota: take it and call again, behind a row or inside.
    SB_STAGE_NEED,   // task->need bytes more are wanted; call again when granted.
    SB_STAGE_FAULT,  // The job fails; task->failure says why.
} SbStageStatus;

// ---- context of a function call -------------------------------------------------------------

enum { SB_HOLDS_MAX = 4 };  // Others count with the last one.

// Emulated work of a task (stdlib/hold.h): nanoseconds.
typedef struct SbHold {
    int64_t  from;      // When the task was started or resumed; monotonic clock.
    int64_t  sum;       // What its rows have taken since.
    int64_t  next;      // The sum at which it waits next.
    // Rows of batches since the launch began, for calls with the same figures.
    struct { int64_t micros, size, rows; } counts[SB_HOLDS_MAX];
    const int32_t *cancel;
} SbHold;

// Scratch memory of a task. What is allocated lives until generated code winds `at` back, once
// a row or a batch. Terminals copy what they keep.
typedef struct SbCall {
    char *at, *end;     // The free part of the current block.
    char *begin;        // Where winding back goes: the start of the first block.
    SbStr detail;       // A failing function may name the offending text here.
    struct SbScratch *scratch;  // Runtime's.
    SbHold hold;
} SbCall;

// Starts the clock of emulated work; waits until its deadline or until *cancel.
void sb_hold_begin(SbCall *call, const int32_t *cancel);
void sb_hold_wait(SbCall *call);

// `bytes` of memory aligned to 16 with SB_SLACK readable bytes behind; nullptr: out of memory
// (return SB_FAULT_TOO_LARGE).
void *sb_alloc_slow(SbCall *call, int64_t bytes);

static inline void *sb_alloc(SbCall *call, int64_t bytes) {
    char *at = call->at;
    if (__builtin_expect(bytes > call->end - at - SB_SLACK - 16, 0))
        return sb_alloc_slow(call, bytes);
    call->at = at + ((bytes + 15) & ~(int64_t)15);
    return at;
}

// ---- rows kept by breakers and borders ------------------------------------------------------

// Begins every row that is kept in memory; the columns follow at offsets that the plan fixed.
typedef struct SbEntry {
    uint64_t hash;   // Of the key; of a row that passes an edge its origin (SbTask); else 0.
    uint64_t order;  // Order key of the row (of a group: its first row).
} SbEntry;

// A str that is a hash key, inside an entry. len <= 16: the bytes, zero-padded. Longer: bytes
// 0..7 of the text in `head`, and a counted copy at `ptr`.
typedef struct SbKeyStr {
    int64_t len;
    union {
        char bytes[16];
        struct { uint64_t head; const char *ptr; } far;
    };
} SbKeyStr;

enum { SB_KEY_INLINE = 16 };

// Where a kept row was read. Of a row of `range` or of an inline table the offset is its number.
typedef struct SbPlace {
    SbStr    raw;            // len: of the whole row; at ptr at most SB_PLACE_RAW bytes of it.
    int64_t  offset, line;   // line: from 1; 0: none.
    int64_t  row;            // Its number in the source, from 0, where a share limits the rejects.
    uint32_t source, file;
} SbPlace;

enum { SB_PLACE_RAW = 64 * 1024 + 4 };

// Hash table of groups of one thread. A slot holds the entry's address in its low 48 bits and the
// top 16 bits of its hash above; 0 is empty. Linear probing from hash & mask.
typedef struct SbGroups {
    uint64_t *slots;
    uint64_t  mask;
    int64_t   count;     // Entries.
    int64_t   count_max; // Grow beyond.
    struct SbGroupsState *state;  // Begins with the SbCall whose memory lives as long as the table,
                                  // for aggregate states. The rest is the runtime's.
} SbGroups;

enum { SB_BATCH_ROWS = 64 };   // That wait in a stage for their groups, at most.
enum : uint64_t { SB_SLOT_ADDRESS = (UINT64_C(1) << 48) - 1 };

static inline uint64_t sb_slot(const SbEntry *entry) {
    return (uint64_t)(uintptr_t)entry | (entry->hash & ~SB_SLOT_ADDRESS);
}

static inline SbEntry *sb_slot_entry(uint64_t slot) {
    return (SbEntry *)(uintptr_t)(slot & SB_SLOT_ADDRESS);
}

// Rows that a sort, a join's build side or a stage border keeps.
typedef struct SbRows {
    char   *at, *end;    // Room for entries in the current block.
    int64_t count;
    struct SbRowsState *state;
} SbRows;

// Something in an entry that points elsewhere, so that it can be written down and read back: a
// value, a SbKeyStr, the state of an aggregate. stdlib/held.h has the functions.
typedef struct SbHolder SbHolder;
typedef void SbHeldFn(SbHolder *holder, const SbType *type, void *at);

typedef struct SbHeld {
    uint32_t      offset;  // In the entry.
    const SbType *type;    // Of the value, or of what the aggregate takes; or null.
    SbHeldFn     *hold;
} SbHeld;

// The build side of a join; entries of equal key are chained in right order through the pointer at
// SbBreaker.next_offset. Slots are as in SbGroups, or, where `span` is not 0, the entry of the key
// least + i stands in slot i: keys are one whole number and lie close together.
typedef struct SbTable {
    const uint64_t *slots;
    uint64_t        mask;
    uint64_t        least, span;
} SbTable;

// What stands behind the last entry of a chain that goes on on disk, where sb_join_more finds it.
enum : uint64_t { SB_CUT = 1 };

// Bytes on their way to a text sink, of one unit.
typedef struct SbOut {
    char   *at, *end;   // Free room.
    int64_t rows;
    struct SbOutState *state;
} SbOut;

// ---- text input -------------------------------------------------------------------------------

// The field ends of a block of rows; see stdlib/csv.h.
typedef struct SbIndex {
    uint32_t *ends;      // Row r, field f: ends[r * field_count + f], relative to SbInput.text.
    uint32_t *starts;    // Row r begins here.
    uint32_t  ends_max, rows_max;  // Capacity.
    uint32_t  rows;      // Complete good rows found.
    int32_t   fault;     // The row behind them is bad: SbStatus, else SB_OK.
    int64_t   fault_begin, fault_end;  // Its bytes.
    int64_t   fault_lines;             // Lines it covers.
    int64_t   next;      // Where to go on.
    int64_t   lines;     // Line ends passed by this call.
    int64_t   rows_before;  // Rows of the calls before this one, bad ones too.
} SbIndex;

// What a scanner does first: the block before it is done.
static inline void sb_index_next(SbIndex *index) {
    index->rows_before += (int64_t)index->rows + (index->fault != SB_OK);
    index->rows = 0;
    index->fault = SB_OK;
    index->fault_begin = index->fault_end = index->fault_lines = 0;
    index->lines = 0;
}

typedef struct SbInput {
    // Text: rows that start in [begin, end); the last row ends at `end`. Rows are whole.
    const char *text;
    int64_t     begin, end;
    int64_t     offset;          // Of text[0] in the source, after decompression.
    int64_t     line;            // Line number of `begin`, when the stage asked for lines; else 0.
    const uint32_t *fields;      // CSV: the field number of each source column.
    uint32_t    field_count;     // CSV: fields a row.
    uint32_t    source_file;     // Number of the file within the source.
    SbStr       source_name;
    SbIndex    *index;
    // Rows: entries[begin..end). Range: the numbers begin..end-1.
    const SbEntry *const *entries;
    const SbEntry *const *right;  // Zip: the rows of the right side, by the same numbers.
} SbInput;

// ---- a task -----------------------------------------------------------------------------------

typedef struct SbFailure {
    uint32_t site;
    int32_t  fault;
    uint64_t order;
} SbFailure;

// Where a loop over what one row makes goes on: with its row of that number; a join finds the match
// by the place (sb_join_place).
typedef struct SbInside {
    int64_t number, place;
} SbInside;

enum { SB_INSIDE_MAX = 8 };   // Such loops, one inside the other, that a stage leaves.

// One stage on one unit of input. The runtime owns it; generated code keeps its cursor here.
typedef struct SbTask {
    SbCall   call;
    SbInput  input;
    int64_t  cursor;           // Text: next byte relative to input.text. Others: next row number.
    uint64_t order;            // Order key of the next row this unit delivers.
    uint64_t origin;           // Of the row that is rejected: the order key of the row of a source
                               // or a breaker that it was made of, however many edges lie between.
    const void *const *params; // Value of each parameter, in memory layout.
    void   **terminals;        // By SbStage.terminals: SbGroups *, SbRows * or SbOut *.
    int64_t *limits;           // By terminal: rows it still takes; INT64_MAX for all.
    const SbTable *const *tables;  // By breaker number: finished join tables.
    int64_t *counts;           // [step][SbCount]
    int64_t  made;             // Of the partition, at the last border between blocks: rows of the
                               // source.
    int64_t  need;
    int32_t  stopped;          // No terminal wants more rows.
    int32_t  cancel;           // Set by others; polled once a block.
    int32_t  full;             // The outputs hold a partition: the stage returns behind the row,
    int32_t  splits;           // or where this is set inside it, in a loop over what it makes.
    uint32_t insides;          // Loops in which it goes on inside the row at the cursor, the outer
    SbInside inside[SB_INSIDE_MAX];  // one first; 0: it begins with that row.
    uint32_t asked;            // SbStage.ask: breaker number of a join.
    SbFailure failure;
    struct SbTaskState *state; // Runtime's.
} SbTask;

// Accounting: in + made = on + filtered + rejected + merged, for each step. Generated code counts
// MADE (the rows of a source, good and bad, that were judged; elements of an explode and matches of
// a join beyond the first) and FILTERED (of filters, also those of a source; samples; empty
// explodes; left rows that a join drops). sb_reject_* count REJECTED. The runtime fills in the
// rest: IN of a step is the sum of ON of the steps in `from`; a group or distinct has as many ON as
// groups, the others are MERGED; a join MERGES its right rows but those that come out unmatched; a
// zip its right rows; a limit FILTERS what it skips. Both ways of merging know only what a breaker
// keeps: what their own step rejects of it, or in front of it, corrects MERGED by SbSite.merges.
typedef enum SbCount {
    SB_IN,
    SB_MADE,
    SB_ON,
    SB_FILTERED,
    SB_REJECTED,
    SB_MERGED,
    SB_COUNTS
} SbCount;

typedef int32_t SbStageFn(SbTask *task);

// ---- what a job is: constant data emitted by the compiler -------------------------------------

typedef struct SbSource {
    SbStr    label;         // "read csv(input)"
    uint8_t  format;        // SbFormat
    uint32_t step;
    // CSV
    char     delimiter, quote, decimal;
    uint8_t  header;
    SbStr    comment;
    const SbStr *nulls;
    uint32_t null_count;
    SbStr    type_name;
    const SbField *columns; // Declared columns, in type order.
    uint32_t column_count;
    uint8_t  wants_lines;   // line() is used: number lines before the stage runs.
    uint8_t  fails;         // Upstream of a zip: a reject fails the job.
    // Range: the row count is in setup's `count`. Inline: constant rows.
    const SbEntry *const *rows;
    int64_t  row_count;
} SbSource;

typedef enum SbFormat { SB_CSV, SB_JSONL, SB_TEXT, SB_FILES, SB_RANGE, SB_INLINE } SbFormat;

typedef struct SbSink {
    SbStr    label;
    uint8_t  format;        // SB_CSV, SB_JSONL, SB_TEXT
    uint32_t step;
    SbStr    header;        // CSV: the header line with its line end; empty for none.
    char     quote;         // CSV: 0 for none. Parts of a folder are cut at row ends.
} SbSink;

typedef enum SbBreakerKind {
    SB_BREAK_GROUP,  // Groups and distinct.
    SB_BREAK_SORT,   // Sort and shuffle.
    SB_BREAK_JOIN,   // The build side.
    SB_BREAK_EDGE,   // No order to make: rows wait for limit, union, zip, a spool.
} SbBreakerKind;

// Which right rows a join hands on.
typedef enum SbJoinWants {
    SB_JOIN_MATCHES,
    SB_JOIN_ONE,     // Whether there is one for a key (semi, anti).
    SB_JOIN_REST,    // Matches, and those that nothing matched (right, full).
} SbJoinWants;

typedef struct SbBreaker {
    uint8_t  kind;
    uint8_t  wants;            // JOIN: SbJoinWants
    uint32_t step;
    uint32_t entry_bytes;
    uint32_t next_offset;      // JOIN: const SbEntry * in the entry.
    uint32_t matched_offset;   // JOIN: a byte in the entry: 0, 1 once a probe of a right or full
                               // join matched it, 2 when its key is null (never in the table).
    uint32_t identity_offset;  // u64 in the entry; UINT32_MAX: none.
    uint32_t place_offset;     // EDGE: SbPlace in the entry; UINT32_MAX: none.
    const SbType *row;         // The entry's columns as a struct; offsets count from the entry.
    const SbHeld *held;        // All that the entry points to.
    uint32_t held_count;
    uint32_t key_count;        // GROUP: the first columns of `row`. Without keys one row comes out
                               // whatever went in.
    uint8_t  keeps;            // EDGE of the step's own rows; else of the rows that it takes.
    // GROUP: puts `from` into the slots of `into`, which has room. Of two entries of one key that
    // of the earlier row stays there and takes what the other counted; the order of the other
    // becomes UINT64_MAX. A status; nonzero fails the job.
    int32_t (*merge)(SbCall *call, SbGroups *into, SbEntry *from);
    // SORT: the first 64 bits of the keys as a number that orders the same way, the 64 behind them
    // (null: there are none), and a comparison, < 0, 0, > 0, that decides what those leave open
    // (null: nothing).
    uint64_t (*prefix)(const SbEntry *entry);
    uint64_t (*prefix_more)(const SbEntry *entry);
    int32_t (*compare)(const SbEntry *a, const SbEntry *b);
    // JOIN: are the keys equal? And the key, where it is one whole number (else null): widened to
    // 64 bits with its sign.
    int32_t (*equal)(const SbEntry *a, const SbEntry *b);
    uint64_t (*number)(const SbEntry *entry);
} SbBreaker;

typedef enum SbInputKind {
    SB_INPUT_TEXT,       // A source of CSV, JSON lines or text.
    SB_INPUT_ROWS,       // The finished rows of a breaker.
    SB_INPUT_RANGE,      // A source `range`.
    SB_INPUT_UNMATCHED,  // A join's build side: the rows that nothing matched, and only those.
    SB_INPUT_RECORDS,    // A source of entries: files, inline rows. Read as SB_INPUT_ROWS.
} SbInputKind;

// What a task holds while it runs: thousandths of resource number `resource`; SB_CPUS or an index
// into SbJob.resources.
typedef struct SbDemand {
    uint32_t resource, amount;
} SbDemand;

enum : uint32_t { SB_CPUS = UINT32_MAX };
enum {
    SB_RESOURCES_MAX = 7,  // Of a job, beside the cpus.
    SB_STAGES_MAX = 64,    // Of a job, with its sinks.
};

typedef struct SbStage {
    SbStageFn *run;            // The entry chosen for this CPU is set at start: run_level.
    SbStageFn *run_level[2];   // x86-64-v3, x86-64-v4 (either may be null).
    SbStageFn *ask;            // Goes along the same rows and hands nothing on: tells sb_join_ask
                               // what they look up in the table task->asked. Null: no join.
    SbStr      label;
    uint8_t    input;          // SbInputKind
    uint32_t   input_index;    // Source number, or breaker number.
    uint32_t   right_index;    // Zip: the breaker of the right side, else UINT32_MAX; and the site
    uint32_t   zip_site;       // of what is wrong when its rows are more or fewer.
    // Breakers that must be finished before the stage starts (join tables).
    const uint32_t *needs;
    uint32_t   need_count;
    // Terminals: sinks come as SB_TERMINAL_SINK | number, breakers as the number.
    const uint32_t *terminals;
    uint32_t   terminal_count;
    uint8_t    keeps_order;    // A terminal is a sink or an edge: outputs are taken in unit order.
    uint32_t   rank;           // Of the stage among those that feed one terminal (union).
    const SbDemand *demands;
    uint32_t   demand_count;
    uint32_t   concurrency;    // Tasks that may run at once; 0: as many as fit.
    int64_t    memory;         // Bytes that a task needs beside its rows.
    int64_t    batch;          // Rows that it takes together where there are as many; 0: not said.
    int64_t    row_bytes;      // About, of a row that it works on.
} SbStage;

enum : uint32_t { SB_TERMINAL_SINK = 1u << 31 };

typedef struct SbSite {        // A place in the program that can fault.
    uint32_t step;
    uint32_t line, column;     // In the .sbd file.
    SbStr    file;
    SbStr    what;             // "column 'fare'", or the expression's text.
    uint8_t  fails;            // `else fail`, or upstream of a zip.
    int8_t   merges;           // What a reject adds to its step's MERGED: 1 for a finished group,
                               // whose rows all are; -1 for a right row of a join, which is not.
} SbSite;

typedef struct SbFile {        // A file of the program, as it was when it was compiled.
    SbStr path, text;
} SbFile;

typedef struct SbStepInfo {
    SbStr    label;
    uint32_t file;             // Number; UINT32_MAX: not known.
    uint32_t begin, end;       // Bytes of its text.
    uint32_t line;
    uint8_t  kind;             // OpKind of ir/graph.h, for the summary's wording.
    uint32_t from[2];          // Steps before it: left and right; UINT32_MAX for none.
    uint8_t  counts_in;        // Tasks count its SB_IN: not every row of the step before comes.
} SbStepInfo;

typedef struct SbParam {
    SbStr         name, doc;
    const SbType *type;
    uint8_t       required;
    SbStr         value_text;  // The default as the help shows it.
    const void   *value;       // The default, in memory layout.
} SbParam;

// Values that setup computes from the parameters, before anything is opened.
typedef struct SbSetup {
    SbCall  *call;
    const void *const *params;
    SbList  *source_paths;     // By source: [str]
    int64_t *source_counts;    // By source: range's rows.
    int64_t *source_row_max;   // By source: bytes.
    SbStr   *sink_paths;       // By sink.
    int64_t *sink_bytes;       // By sink: bytes a part.
    int64_t *limit_rows;       // By breaker (an edge of a limit): rows kept, INT64_MAX for all.
    int64_t *skip_rows;        // By breaker: rows skipped first; 0.
    int64_t *stage_rows;       // By stage: rows that a task takes at most; INT64_MAX.
    int64_t *stage_bytes;      // By stage: bytes at which it hands its output over; INT64_MAX.
    SbStr    rejects_path;     // Empty: none.
    int64_t  reject_rows;      // -1: no such limit.
    double   reject_share;     // -1: no such limit.
} SbSetup;

typedef struct SbJob {
    uint32_t abi_version;
    SbStr    name;             // Of the pipeline file.
    SbStr    plan;             // Text of `--plan`.
    SbStr    source_hash;      // Identifies program and compiler.
    int32_t (*setup)(SbSetup *setup);  // A status; `call->detail` names the culprit.
    const SbParam   *params;   uint32_t param_count;
    const SbStepInfo *steps;   uint32_t step_count;
    const SbSource  *sources;  uint32_t source_count;
    const SbSink    *sinks;    uint32_t sink_count;
    const SbBreaker *breakers; uint32_t breaker_count;
    SbStage         *stages;   uint32_t stage_count;  // In an order in which needs come first.
    const SbSite    *sites;    uint32_t site_count;
    const SbFile    *files;    uint32_t file_count;
    const SbStr     *resources; uint32_t resource_count;  // Names that --resource supplies.
    uint8_t  rejects_format;   // SbFormat
} SbJob;

extern const SbJob sb_job;     // Defined by generated code.

// ---- what generated code calls ----------------------------------------------------------------

int sb_main(int argc, char **argv, const SbJob *job);

// The row [begin, end) of the input text is rejected at `site`.
// Records it and counts it as SB_REJECTED at the site's step; the caller goes on with the next
// row. Nonzero: stop the unit (SB_STAGE_FAULT). Counts of the steps of a limit are the runtime's.
int32_t sb_reject_text(SbTask *task, uint32_t site, int32_t fault, int64_t begin, int64_t end,
                       const char *detail, int64_t detail_len);
// The same for a row without a text: a file of `files`, or an entry, which raw shows as JSON.
// `place`: of a row of `range` or of an inline table, its number; null behind a meeting
// (docs/rejects.md). `entry` null: nothing can be shown.
int32_t sb_reject_row(SbTask *task, uint32_t site, int32_t fault, const SbPlace *place,
                      const SbEntry *entry, const char *detail, int64_t detail_len);
// The same; raw is `memory`, a struct of type `row`, as JSON.
int32_t sb_reject_made(SbTask *task, uint32_t site, int32_t fault, const SbPlace *place,
                       const SbType *row, const void *memory, const char *detail,
                       int64_t detail_len);
// The same for a row of a text or a file that waited at a stage border.
int32_t sb_reject_kept(SbTask *task, uint32_t site, int32_t fault, const SbPlace *place,
                       const char *detail, int64_t detail_len);

// An output has got more memory, not used yet: sets task->full when the partition is large enough.
void sb_task_grew(SbTask *task);
// With the row that is being put together, its `rows`th for an edge, a piece of a reader's batch
// ends, and the next one with row `next`: sets task->full if the partition has no room for that.
void sb_task_piece(SbTask *task, int64_t rows, int64_t next);

// At a border between blocks of rows, the cursor stored: nonzero when the task was cancelled or an
// output reached its quota; the stage then returns SB_STAGE_FULL.
int32_t sb_task_border(SbTask *task);

// Frees what was allocated in the task's scratch memory; called between rows when a first block
// did not suffice.
void sb_scratch_rewind(SbCall *call);

// A row looks up a key with this hash in the table of the join task->asked.
void sb_join_ask(SbTask *task, uint64_t hash);
// What comes behind `entry`, the last of a chain that is cut. It lives until the next call for this
// join. nullptr: nothing does.
const SbEntry *sb_join_more(SbTask *task, uint32_t breaker, const SbEntry *entry);
// Where the stage finds a match again when it goes on inside a row, maybe with another table.
int64_t sb_join_place(const SbTask *task, uint32_t breaker, const SbEntry *entry);
// Finds it: `first` is the first match of the same row. It lives as long as what sb_join_more
// returns. nullptr: it could not be read, and the stage is to go on with the next row.
const SbEntry *sb_join_go_on(SbTask *task, uint32_t breaker, const SbEntry *first, int64_t place);

// The path of a file of a source.
SbStr sb_source_name(SbTask *task, uint32_t source, uint32_t file);

// The line of the row that begins at `offset` of the input text; offsets of one unit come
// ascending.
int64_t sb_row_line(SbTask *task, int64_t offset);
// The number of that row in its partition, from 0, where a share limits the rejects; else 0.
int64_t sb_row_number(SbTask *task, int64_t offset);

// `bytes` of scratch memory: sb_alloc as a call.
void *sb_take(SbCall *call, int64_t bytes);

// Makes room for `bytes` more in `out`. Nonzero: out of memory.
int32_t sb_out_grow(SbTask *task, SbOut *out, int64_t bytes);

// A new, zeroed entry with `hash` and `order` for a key that is not in the table; grows the table
// when it is full. nullptr: over the memory limit (the task's failure is set).
SbEntry *sb_groups_insert(SbCall *call, SbGroups *groups, uint64_t hash, uint64_t order);
// A deep copy of a nested key or kept column (in place) into the table's memory. `shared`: a key of
// the entry whose text the value is, so that one copy serves both; else null. A status.
int32_t sb_groups_nested(SbGroups *groups, const SbType *type, void *value,
                         const SbKeyStr *shared);
// Fills a key string in an entry of the table from `ptr`, copying when it is long.
int32_t sb_groups_key(SbGroups *groups, SbKeyStr *key, const char *ptr, int64_t len);
// Records of rows that wait: a hash first.
typedef struct SbWaiting {
    int64_t record_bytes;
    int64_t text_offset;  // Of the SbKeyStr in entries; -1: there is none.
    int64_t len_offset;   // Of the length of that key's text in records.
} SbWaiting;

// Asks for the entries of `count` rows, whose slots were asked for when they came, so that all is
// there when the rows are added.
void sb_groups_ask(const SbGroups *groups, const void *records, int64_t count,
                   const SbWaiting *waiting);

// Records of rows that wait: where a function with the trait `each` finds their texts, and where
// its results go: void SYMBOL_each(char *records, int64_t count, const SbEach *each).
typedef struct SbEach {
    int64_t record_bytes;
    int64_t ptr_offset, len_offset;
    int64_t out_offset;
} SbEach;

// A new block of entries for `rows`; returns the entry's address, not zeroed. nullptr: over the
// limit.
SbEntry *sb_rows_grow(SbTask *task, SbRows *rows, int64_t entry_bytes);
// A copy of bytes that lives as long as the rows. nullptr: over the limit.
const char *sb_rows_text(SbTask *task, SbRows *rows, const char *ptr, int64_t len);
// A deep copy of a nested value (in place): lists and strings inside are copied. A status.
int32_t sb_rows_nested(SbTask *task, SbRows *rows, const SbType *type, void *value);

#endif
