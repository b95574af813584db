// What a job is: constant data that the compiler emits, and the code that it points to.
//
// Used by code generation, which writes it, and by all rooms of the runtime, which read it.
#ifndef SBC_RUNTIME_ABI_PROGRAM_H
#define SBC_RUNTIME_ABI_PROGRAM_H

#include "runtime/abi/batch.h"
#include "runtime/abi/bits.h"
#include "runtime/abi/python.h"
#include "runtime/abi/task.h"

typedef struct SbReader SbReader;   // runtime/format.h
typedef struct SbWriter SbWriter;

typedef struct SbSource {
    SbStr    label;         // "read csv(input)"
    const SbReader *reader; // Null: a range or an inline table, which have no files.
    uint32_t step;
    // Formats with a dialect; zeros elsewhere.
    char     delimiter, quote, decimal;
    uint8_t  header;
    SbStr    comment;
    uint8_t  missing_null;  // A column that may be null need not be in a header.
    int64_t  skip;          // Lines in front of the header.
    const SbStr *nulls;
    uint32_t null_count;
    // Numbers of the columns of type str in which fields that are words of null are counted.
    const uint32_t *word_columns;
    uint32_t word_column_count;
    // Formats of text: an SbEncoding of stdlib/text.h.
    uint32_t encoding;
    SbStr    type_name;
    const SbField *columns; // Declared columns, in type order.
    uint32_t column_count;
    uint8_t  wants_lines;   // line() is used: number lines before the stage runs.
    uint8_t  fails;         // Stands upstream of a zip: a reject fails the job.
    // Range: the row count is in setup's `count`. Inline: constant rows.
    const SbEntry *const *rows;
    int64_t  row_count;
    const SbField *keys;    // Names of the keys in the paths of its files, which setup judges.
    uint32_t key_count;
} SbSource;

typedef struct SbSink {
    SbStr    label;
    const SbWriter *writer;
    uint32_t step;
    SbStr    header;        // What stands in front of the rows; empty for nothing.
    SbStr    shape;         // An output by key: how the key is written, which follows the path in
                            // the names of its files. Empty: it is none.
    char     quote;         // Formats with a dialect: 0 for none.
    uint8_t  apart;         // Each file is one row (FileOptions.apart).
    uint8_t  append;        // Rows come after those that the file has (FileOptions.append).
    const SbField *columns; // Names and types; offsets mean nothing.
    uint32_t column_count;
} SbSink;

// The form of the records of rejects.
typedef enum SbRecords { SB_RECORDS_JSONL, SB_RECORDS_CSV } SbRecords;

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

// How a part of the keys decides the order of rows that are equal by all before it.
typedef enum SbSortPartKind {
    SB_SORT_BITS,   // By 64 bits that order as the keys do.
    SB_SORT_TEXT,   // By the bytes of a text; all nulls are equal.
    SB_SORT_REST,   // By SbBreaker.compare. The last part.
} SbSortPartKind;

typedef struct SbSortPart {
    uint64_t (*bits)(const SbEntry *entry);  // BITS
    uint32_t text_offset;   // TEXT: offset of an SbStr in the entry.
    uint32_t valid_offset;  // TEXT: offset of a byte, 0 where the text is null; UINT32_MAX: none
                            // is.
    uint32_t known;         // TEXT: so many first bytes are equal already, with zeroes after
                            // shorter texts; at most SB_SORT_KNOWN_MAX.
    uint8_t  kind;          // SbSortPartKind
    bool     descending;    // TEXT
} SbSortPart;

enum { SB_SORT_KNOWN_MAX = 16 };

// What a window computes; the kinds of ir/windows.def, in their order.
typedef enum SbWindowKind {
    SB_WINDOW_ROW_NUMBER, SB_WINDOW_RANK, SB_WINDOW_DENSE_RANK, SB_WINDOW_NTILE, SB_WINDOW_LAG,
    SB_WINDOW_LEAD, SB_WINDOW_FIRST, SB_WINDOW_LAST, SB_WINDOW_NTH, SB_WINDOW_FILL,
    SB_WINDOW_SESSION, SB_WINDOW_COUNT, SB_WINDOW_SUM, SB_WINDOW_MEAN, SB_WINDOW_MIN,
    SB_WINDOW_MAX,
} SbWindowKind;

enum : int64_t { SB_FRAME_ALL = INT64_MAX };  // As far as the partition goes.

// What a frame counts: rows, a distance of sort keys in units of their type, or in months.
typedef enum SbFrameUnit { SB_FRAME_ROWS, SB_FRAME_RANGE, SB_FRAME_MONTHS } SbFrameUnit;

typedef struct SbWindowFn {
    uint8_t  kind;             // SbWindowKind
    uint8_t  unit;             // SbFrameUnit
    const SbType *type;        // Of the value at value_offset of an entry; null: it takes none.
    const SbType *result;      // Of what is put at result_offset.
    uint32_t value_offset, result_offset;
    int64_t  n;                // LAG, LEAD, NTH, NTILE: the number. SESSION: the gap.
    int64_t  back, ahead;      // The frame.
} SbWindowFn;

// Which rows of a partition come out.
typedef enum SbWindowKeeps { SB_KEEPS_ALL, SB_KEEPS_FIRST, SB_KEEPS_LAST } SbWindowKeeps;

typedef struct SbWindow {
    // Not 0: the rows are of different partitions; the rows differ in a sort key. Null: none do.
    int32_t (*partition)(const SbEntry *a, const SbEntry *b);
    int32_t (*peers)(const SbEntry *a, const SbEntry *b);
    const SbWindowFn *fns;
    uint32_t fn_count;
    const SbType *key;         // Of the first sort key, for frames of a range; or null.
    uint32_t key_offset;
    bool     descending;       // That key descends.
    uint8_t  keeps;            // SbWindowKeeps; other than all where there are no functions.
} SbWindow;

typedef struct SbBreaker {
    uint8_t  kind;
    uint8_t  wants;            // JOIN: SbJoinWants
    uint8_t  indexed;          // JOIN: its table may have an index by its bounds.
    uint32_t asker;            // JOIN: the stage that can say which keys are looked up, before the
                               // right side is filled. UINT32_MAX: none.
    uint32_t step;
    uint32_t entry_bytes;
    uint32_t next_offset;      // JOIN: const SbEntry * in the entry.
    uint32_t matched_offset;   // JOIN: a byte in the entry: 0, 1 once a probe of a right or full
                               // join matched it, 2 when its key is null (never in the table).
    uint32_t jump_offset;      // JOIN: an SbJump in the entry; 0: none.
    uint32_t bound_count;      // JOIN: at most SB_BOUNDS_MAX.
    uint32_t identity_offset;  // Offset of a u64 in the entry; UINT32_MAX: none.
    uint32_t place_offset;     // EDGE: offset of an SbPlace in the entry; UINT32_MAX: none.
    const SbType *row;         // The entry's columns as a struct; offsets count from the entry.
    const SbHeld *held;        // All values of the entry that point elsewhere.
    uint32_t held_count;
    bool     narrow;           // Nothing in a row needs an address that is a multiple of 16.
    uint32_t key_count;        // GROUP: the first columns of `row`. Without keys one row comes out,
                               // whatever went in.
    uint8_t  keeps;            // EDGE: 1 for the step's own rows, 0 for the rows that the step
                               // takes.
    SbStr    hands, shares;    // What a process hands over of it, and by what the threads that put
                               // it together share it out (ir/plan_exchange.c). EDGE: empty.
    // GROUP: puts `from` into the slots of `into`, which has room. Of two entries of one key the
    // one of the earlier row stays and takes what the other one counted. The other one's order
    // becomes UINT64_MAX. Returns a status; nonzero fails the job.
    int32_t (*merge)(SbCall *call, SbGroups *into, SbEntry *from);
    // SORT: the first 64 bits of the keys, as a number that orders as the keys do; the 64 bits
    // after those (null: there are none). A comparison, < 0, 0, > 0, decides what these leave open
    // (null: nothing is open).
    uint64_t (*prefix)(const SbEntry *entry);
    uint64_t (*prefix_more)(const SbEntry *entry);
    int32_t (*compare)(const SbEntry *a, const SbEntry *b);
    // SORT: the same without a comparison: what decides after these bits. Without parts `compare`
    // does.
    const SbSortPart *parts;
    uint32_t part_count;
    // SORT: what rows get when they are sorted. They come out as they came in then. Null: nothing.
    const SbWindow *window;
    // JOIN: are the keys equal? Another function gives the key where it is one whole number (else
    // null): widened to 64 bits with its sign.
    int32_t (*equal)(const SbEntry *a, const SbEntry *b);
    uint64_t (*number)(const SbEntry *entry);
    // JOIN with bounds: gives the bits of the entry for each. No row matches whose bits of some
    // bound are less than those of the left row.
    void (*bounds)(const SbEntry *entry, uint64_t *bits);
} SbBreaker;

enum { SB_BOUNDS_MAX = 4 };

typedef enum SbInputKind {
    SB_INPUT_TEXT,       // Bytes of files, in which the stage finds rows.
    SB_INPUT_ROWS,       // The finished rows of a breaker.
    SB_INPUT_RANGE,      // A source `range`.
    SB_INPUT_UNMATCHED,  // Rows of a join's build side that nothing matched, and only those.
    SB_INPUT_RECORDS,    // Inline rows, read as SB_INPUT_ROWS.
    SB_INPUT_FILES,      // Whole files, a row each, read as SB_INPUT_ROWS.
} SbInputKind;

// What a task holds while it runs: thousandths of resource number `resource`. `resource` is SB_CPUS
// or an index into SbJob.resources.
typedef struct SbDemand {
    uint32_t resource, amount;
} SbDemand;

enum : uint32_t { SB_CPUS = UINT32_MAX };
enum {
    SB_RESOURCES_MAX = 7,  // Resources of a job, beside the cpus.
    SB_STAGES_MAX = BITS_MAX,  // Stages of a job, with its sinks.
};

typedef struct SbStage {
    SbStageFn *run;            // The entry chosen for this CPU is set at start: run_level.
    SbStageFn *run_level[2];   // x86-64-v3, x86-64-v4 (either may be null).
    SbStageFn *ask;            // Goes along the same rows and hands nothing on. Tells sb_join_ask
                               // what these rows look up in the table task->asked. Null: no join.
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
    int64_t    memory;         // Bytes that a task needs beside the bytes of its rows.
    int64_t    batch;          // Rows that a task takes together where there are as many; 0: not
                               // said.
    int64_t    timeout;        // Microseconds that a call of foreign code may take; 0: any time.
    int64_t    row_bytes;      // Bytes of a row that a task works on, about.
    const SbBatchFn *calls;    // Called for the rows of the input, batch by batch. Null: none.
    const SbKernels *kernels;  // Compute leading steps on a GPU. Null: the job has none.
    uint32_t   section;        // The same for all stages that hand rows to each other over edges.
    SbStr      home;           // Why its tasks run in the job itself, never in workers. Empty: they
                               // may, but for what a run knows.
    uint8_t    gpu;            // Its steps are meant for a GPU: as an SbGpu says. 0: they are not.
    uint8_t    impure;         // A function of it may answer otherwise when it is called again.
} SbStage;

// Who wants a GPU for the steps of a stage: a block, or an estimate of the compiler.
typedef enum SbGpu { SB_GPU_ASKED = 1, SB_GPU_PLACED } SbGpu;

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
    uint8_t  counts_in;        // Tasks count SB_IN of this step: not every row of the step before
                               // comes.
} SbStepInfo;

typedef struct SbParam {
    SbStr         name, doc;
    const SbType *type;
    uint8_t       required;
    SbStr         value_text;  // The default as the help shows it.
    const void   *value;       // The default, in memory layout.
} SbParam;

// What is known of a file by its path.
typedef enum SbPathVerdict : int32_t {
    SB_PATH_BAD,             // A key does not fit its type.
    SB_PATH_FITS,            // The keys do; a filter faults, which is for the rows to say.
    SB_PATH_OPENS,
    SB_PATH_REFUSED,         // A filter lets no row of the file pass.
} SbPathVerdict;

// Values that setup computes from the parameters, before anything is opened.
typedef struct SbSetup {
    SbCall  *call;
    const void *const *params;
    SbList  *source_paths;     // By source: [str]
    int64_t *source_counts;    // By source: range's rows.
    int64_t *source_row_max;   // By source: bytes.
    SbStr   *sink_paths;       // By sink.
    int64_t *sink_bytes;       // By sink: bytes a part.
    int64_t *sink_files;       // By sink: the most files of an output by key.
    int64_t *limit_rows;       // By breaker (an edge of a limit): rows kept, INT64_MAX for all. Of
                               // a sort: rows that are wanted of each partition.
    int64_t *skip_rows;        // By breaker: rows skipped first; 0.
    int64_t *stage_rows;       // By stage: rows that a task takes at most; INT64_MAX.
    int64_t *stage_bytes;      // By stage: bytes at which it hands its output over; INT64_MAX.
    SbStr    rejects_path;     // Empty: none.
    int64_t  reject_rows;      // -1: no such limit.
    double   reject_share;     // -1: no such limit.
    // Setup is asked for one file of a source with keys alone: the number of the source, and the
    // path. -1: it is asked for all that stands above.
    int32_t  asked;
    uint32_t asked_key;        // The number of the key that was judged last.
    SbStr    asked_path;
    SbPathVerdict verdict;
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
    uint8_t  rejects_form;     // SbRecords
    uint8_t  rejects_append;   // As SbSink.append, of the records.
    const SbPython *python;    // Null: the job calls no Python.
    uint32_t word_count;       // The word_column_count of all sources.
} SbJob;

// Figures that tasks count: SbCount of each step, then words of null that stay text, by source and
// word_columns.
static inline uint32_t sb_figure_count(const SbJob *job) {
    return job->step_count * SB_COUNTS + job->word_count;
}

// An edge is a terminal whose rows a stage takes as they come: a breaker that makes no order.
static inline bool sb_is_edge(const SbJob *job, uint32_t terminal) {
    return !(terminal & SB_TERMINAL_SINK) && job->breakers[terminal].kind == SB_BREAK_EDGE;
}

static inline bool sb_reads_edge(const SbJob *job, const SbStage *stage) {
    return stage->input == SB_INPUT_ROWS && sb_is_edge(job, stage->input_index);
}

// The step that began in the stages before and goes on in this one; UINT32_MAX: none.
static inline uint32_t sb_goes_on_step(const SbJob *job, const SbStage *stage) {
    if (!sb_reads_edge(job, stage) || stage->right_index != UINT32_MAX) return UINT32_MAX;
    const SbBreaker *edge = &job->breakers[stage->input_index];
    return edge->keeps ? edge->step : UINT32_MAX;
}

#endif
