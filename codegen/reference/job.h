// Job: a graph while it runs. Every operator is a list of rows that grows by demand; who asks for
// row i makes its operator go on until the row is there. So nothing after a `limit` is judged, and
// a flow used twice runs once.
#ifndef SBC_CODEGEN_REFERENCE_JOB_H
#define SBC_CODEGEN_REFERENCE_JOB_H

#include "codegen/reference/eval.h"
#include "codegen/reference/reference.h"

// What becomes of the rows of a step (docs/summary.md).
typedef struct Counts {
    int64_t in, made, on, filtered, rejected, merged;
} Counts;

typedef struct Node {
    const Op *op;
    Row     **rows;           // Delivered so far.
    size_t    count, cap;
    bool      done;           // There are no more rows.
    size_t    next[2];        // The next row of each input.
    Counts    counts;
    Counts   *filter_counts;  // SOURCE: of the filters after it, once there are some.
    int64_t  *words;          // SOURCE: by column, words of `null` that stay text.
    bool     *needed;         // By output column: something reads it.
    bool      reached;        // A sink, or what was asked for, depends on it.
    bool      feeds_zip;      // Every reject is a fail.
    uint32_t  source;         // SOURCE: its number.
    void     *state;          // The operator's own.
} Node;

// A rejected row (docs/rejects.md).
typedef struct Reject {
    const Origin *origin;     // Null after a meeting.
    StepId   step;
    uint64_t place;           // Among the rejects of equal origin and step.
    int64_t  weight;          // 1; of an open quote the lines it covers.
    int32_t  status;
    bool     computed;        // By an expression, not read of a column.
    Text     message, raw;
} Reject;

// What was read of a file.
typedef struct FileRead {
    uint32_t source;  // Its operator.
    size_t   file;    // Number among the source's files.
    Text     path;
    int64_t  rows, bytes;
} FileRead;

// A row as it counts for `limit P%`: in order for each source.
typedef struct RowMark {
    uint32_t source, file;
    int64_t  offset, weight;
} RowMark;

typedef struct FileWritten {
    Text    path;
    int64_t rows, bytes, files;
} FileWritten;

typedef struct Options {
    bool   overwrite;
    Text   rejects;           // --rejects=FILE; at null: not given.
    bool   has_rows, has_share;
    double share;
    int64_t rows;
    const char *python;       // --python=PATH; null: not given.
} Options;

typedef struct Job {
    const Graph *graph;
    Arena   *arena;
    Eval     eval;
    Value   *params;
    Options  options;
    Node    *nodes;
    Reject  *rejects;  size_t reject_count, reject_cap;
    RowMark *marks;    size_t mark_count, mark_cap;
    FileRead *reads;   size_t read_count, read_cap;
    FileWritten *writes; size_t write_count, write_cap;
    uint64_t places;          // Numbers rejects as they come.
    bool     by_key;          // An output has a file for each key: the summary counts files.
    bool     began;           // Nothing stopped it before its first row.
    int      exit_code;       // Not 0: the job failed; `error` says why.
    bool     in_trouble;      // It failed by something else than rejected rows.
    TextBuf  error;
    size_t   fix_at;         // In `error`: where the fix begins.
} Job;

// Makes a job of a graph; params must be set before anything runs.
bool job_open(Job *job, const Graph *graph, Arena *arena);
void job_close(Job *job);

// Marks what `op` depends on as reached and its columns as needed.
void job_want(Job *job, OpId op);

// Row `i` of an operator, or null after its last one (or when the job failed).
Row *job_row(Job *job, OpId op, size_t i);

typedef enum JobTrouble {
#define TROUBLE(name, code, exit, title, fix) JOB_##name,
#include "runtime/report/troubles.def"
#undef TROUBLE
} JobTrouble;

// Ends the job with a message (printf, without its code) and the fix of its kind.
void job_fail(Job *job, JobTrouble kind, const char *message, ...)
    __attribute__((format(printf, 3, 4)));
// Another fix than that of the kind, for the message that was just given.
void job_fix(Job *job, const char *fix, ...) __attribute__((format(printf, 2, 3)));

// The value of an expression over parameters; false after failing the job.
bool job_setting(Job *job, ExprId id, Value *out);

static inline Node *job_node(Job *job, OpId op) { return &job->nodes[op.i]; }

// A new row with room for the operator's columns.
Row *row_new(Job *job, const Op *op);
void node_add(Job *job, Node *node, Row *row);
// The next row of input `side`, counted as in; null at its end.
Row *node_take(Job *job, Node *node, unsigned side);
// The row `from` with the columns of another operator: same identity and origin.
Row *row_like(Job *job, const Op *op, const Row *from);
// From here on, rejects show this row.
void row_meet(Row *row, const Op *op);

// ---- operators, each going on by at least one step or setting node->done ----------------------

void source_advance(Job *job, Node *node);                                  // source.c
// Before the job begins: finds the files, and reads the headers of plain ones.
void source_check(Job *job, Node *node);
// A column of a good row of a source: is its field a word of `null` that stays text?
void null_words_count(Job *job, Node *node, uint32_t column, Text raw);     // null_words.c
void null_words_print(const Job *job, FILE *to);  // The warnings.
void filter_advance(Job *job, Node *node);                                  // relational.c
void project_advance(Job *job, Node *node);
void explode_advance(Job *job, Node *node);
void limit_advance(Job *job, Node *node);
void distinct_advance(Job *job, Node *node);
void union_advance(Job *job, Node *node);
void zip_advance(Job *job, Node *node);
void sample_advance(Job *job, Node *node);
void pass_advance(Job *job, Node *node);
void sort_advance(Job *job, Node *node);                                    // sort.c
void shuffle_advance(Job *job, Node *node);
void window_advance(Job *job, Node *node);                                  // window.c
void group_advance(Job *job, Node *node);                                   // group.c
void join_advance(Job *job, Node *node);                                    // join.c

// Evaluates keys of a row; false: the row was rejected.
bool keys_of(Job *job, Node *node, const ExprId *keys, uint32_t count, Value *out);

// ---- python.c ---------------------------------------------------------------------------------

// Starts what the Python functions of the graph need, unless it runs.
void reference_python_open(Job *job);

// ---- rejects.c --------------------------------------------------------------------------------

// The row is rejected by `node` with the fault that job->eval holds.
void reject_row(Job *job, Node *node, const Row *row, int32_t status);

// The filter `step` that a source runs for itself rejects the row.
void reject_filter(Job *job, Node *node, StepId step, const Row *row, int32_t status);

// A fault in reading a row: `column` is null for one of its structure.
typedef struct ReadFault {
    int32_t status;
    const Text *column;
    Text    detail;
    bool    bare;     // The detail is no text of the row.
    int64_t weight;
} ReadFault;
void reject_read(Job *job, Node *node, const Origin *origin, ReadFault fault);

// A fault that no row can take: fails the job.
void fail_fault(Job *job, StepId step, int32_t status, Text detail);

// Sorts the rejects and judges them by the limits; fails the job when they pass one.
void rejects_judge(Job *job);
void rejects_print(const Job *job, TextBuf *buf, bool csv);

const char *fault_code(int32_t status);
const char *fault_message(int32_t status);
Text        figure(Arena *arena, int64_t number);  // With commas between thousands; summary.c.

// ---- outputs ----------------------------------------------------------------------------------

// Runs a sink to its end, into a temporary file.
void sink_run(Job *job, Node *node);                                        // write.c
void sinks_check(Job *job);
void sinks_publish(Job *job);
void rejects_publish(Job *job);
void summary_print(const Job *job, TextBuf *buf);                           // summary.c

// A column of a row on its way into a sink.
typedef struct Cell {
    Value       value;
    Text        spelling;  // That counts, or at null.
    const Type *type;      // Not null.
    bool        nullable;
} Cell;

// A row of a sink; false: the fault is in job->eval.
bool line_print(Job *job, const Op *op, const Row *row, TextBuf *buf, int32_t *status); // lines.c

// ---- inputs -----------------------------------------------------------------------------------

// Paths that a value of a source's `path` names, sorted; false after failing the job.
bool paths_find(Job *job, const Type *type, const Value *value, Text **paths, size_t *count);
// The whole text of a file, decompressed; false after failing the job.
bool file_load(Job *job, Text path, Text encoding, Text *text);             // files.c
// Its bytes as they are.
bool file_bytes(Job *job, Text path, Text *bytes);                          // files.c
bool file_ends(Text path, const char *suffix);                                 // files.c
// Does the name say that the file is compressed?
bool file_is_packed(Text path);

#endif
