// Crash states: whole jobs with --resume on a disk whose power fails (model_disk.h). A job dies at
// a random call of the disk, up to three times, and goes on. In the end its files hold the bytes of
// a job that was left alone, and nothing stands beside them.
//
//     crash_states_test [SHAPE]                        500 states, shared out among the shapes
//     SBC_CRASH_STATES=10000 SBC_CRASH_SEED=7 crash_states_test
//
// The jobs are written by hand; one thread runs them, so that a seed replays.
#define _GNU_SOURCE
#include "runtime/compress.h"
#include "stdlib/number.h"
#include "tests/unit/model_disk.h"
#include "tests/unit/unit.h"

#include <sys/mman.h>
#include <unistd.h>

#define STR(text) {text, sizeof(text) - 1}

// ---- jobs: the numbers below ROWS, some of them rejected ----------------------------------------

enum { STEP_RANGE, STEP_ROWS, STEP_WRITE, ROWS = 300, MORE_ROWS = 130, UNIT_ROWS = 20 };

typedef struct Row {
    SbEntry entry;
    int64_t number;
} Row;

static const SbType type_i64 = {.kind = SB_I64, .size = 8, .align = 8};
static const SbField fields[] = {{STR("number"), &type_i64, offsetof(Row, number)}};
static const SbType row_type = {.kind = SB_STRUCT, .size = sizeof(Row), .align = 8,
                                .fields = fields, .field_count = 1};

static bool put_row(SbTask *task, SbOut *out, int64_t number) {
    enum { ROOM = SB_NUMBER_MAX + 8 };
    if (out->end - out->at < ROOM && sb_out_grow(task, out, ROOM)) return false;
    memcpy(out->at, "row ", 4);
    out->at = sb_put_i64(out->at + 4, number * number * 7919);
    *out->at++ = '\n';
    out->rows++;
    return true;
}

static bool keep_row(SbTask *task, SbRows *rows, int64_t number) {
    Row *row = (Row *)(void *)rows->at;
    if (rows->end - rows->at < (ptrdiff_t)sizeof *row)
        row = (Row *)(void *)sb_rows_grow(task, rows, sizeof *row);
    else rows->at += sizeof *row;
    if (!row) return false;
    rows->count++;
    *row = (Row){{0, task->order}, number};
    return true;
}

// Each row of the range goes to all terminals: one that keeps rows, if `keeps`, then sinks.
static int32_t scan(SbTask *task, bool keeps, uint32_t sinks) {
    while (task->cursor < task->input.end) {
        int64_t number = task->cursor++;
        task->counts[STEP_RANGE * SB_COUNTS + SB_MADE]++;
        if (number % 23 == 11) {
            SbPlace place = {.row = number};
            if (sb_reject_made(task, 0, SB_FAULT_DIVIDE_BY_ZERO, &place, nullptr, nullptr, nullptr,
                               0)) {
                return SB_STAGE_FAULT;
            }
            continue;
        }
        bool good = !keeps || keep_row(task, task->terminals[0], number);
        for (uint32_t s = 0; s < sinks && good; s++)
            good = put_row(task, task->terminals[keeps + s], number);
        task->order++;
        if (!good) return SB_STAGE_FAULT;
        if (keeps && --task->limits[0] == 0) {
            task->stopped = 1;
            return SB_STAGE_DONE;
        }
        if (task->cursor < task->input.end && sb_task_border(task)) return SB_STAGE_FULL;
    }
    return SB_STAGE_DONE;
}

static int32_t scan_to_sink(SbTask *task) { return scan(task, false, 1); }
static int32_t scan_to_sinks(SbTask *task) { return scan(task, false, 3); }
static int32_t scan_to_rows(SbTask *task) { return scan(task, true, 0); }
static int32_t scan_to_rows_and_sink(SbTask *task) { return scan(task, true, 1); }

// The same numbers from the lines of a file.
static int32_t scan_lines(SbTask *task) {
    const char *text = task->input.text;
    while (task->cursor < task->input.end) {
        int64_t begin = task->cursor, number = 0;
        const char *end = memchr(text + begin, '\n', (size_t)(task->input.end - begin));
        task->cursor = end + 1 - text;
        task->counts[STEP_RANGE * SB_COUNTS + SB_MADE]++;
        int32_t fault = sb_read_i64(text + begin, end - text - begin, &number);
        if (fault == SB_OK && number % 23 == 11) fault = SB_FAULT_DIVIDE_BY_ZERO;
        task->origin = task->order;
        if (fault != SB_OK &&
            sb_reject_text(task, 0, fault, begin, task->cursor - 1, nullptr, 0) != 0)
            return SB_STAGE_FAULT;
        if (fault == SB_OK && !put_row(task, task->terminals[0], number)) return SB_STAGE_FAULT;
        task->order++;
        if (task->cursor < task->input.end && sb_task_border(task)) return SB_STAGE_FULL;
    }
    return SB_STAGE_DONE;
}

static int32_t rows_to_sink(SbTask *task) {
    while (task->cursor < task->input.end) {
        const Row *row = (const Row *)(const void *)task->input.entries[task->cursor++];
        if (!put_row(task, task->terminals[0], row->number)) return SB_STAGE_FAULT;
        if (task->cursor < task->input.end && sb_task_border(task)) return SB_STAGE_FULL;
    }
    return SB_STAGE_DONE;
}

static int32_t rows_to_rows(SbTask *task) {
    while (task->cursor < task->input.end) {
        const Row *row = (const Row *)(const void *)task->input.entries[task->cursor++];
        if (!keep_row(task, task->terminals[0], row->number)) return SB_STAGE_FAULT;
        task->order++;
    }
    return SB_STAGE_DONE;
}

// ---- a join: each number looks up another; right rows that nothing matched come behind ----------

typedef struct Right {
    SbEntry        entry;
    int64_t        number;
    const SbEntry *next;
    uint8_t        matched;
} Right;

enum { RIGHT_BYTES = (sizeof(Right) + 15) / 16 * 16, UNMATCHED_FROM = 1000 };

static int64_t key_of(int64_t number) { return number * number % 171; }
static uint64_t hash_of(int64_t key) { return (uint64_t)key * UINT64_C(0x9e3779b97f4a7c15); }
static int32_t same_key(const SbEntry *a, const SbEntry *b) {
    return ((const Right *)a)->number == ((const Right *)b)->number;
}

static int32_t scan_to_table(SbTask *task) {
    SbRows *rows = task->terminals[0];
    for (; task->cursor < task->input.end; task->cursor++) {
        int64_t number = task->cursor;
        task->counts[STEP_RANGE * SB_COUNTS + SB_MADE]++;
        Right *right = (Right *)(void *)rows->at;
        if (rows->end - rows->at < RIGHT_BYTES)
            right = (Right *)(void *)sb_rows_grow(task, rows, RIGHT_BYTES);
        else rows->at += RIGHT_BYTES;
        if (!right) return SB_STAGE_FAULT;
        rows->count++;
        *right = (Right){.entry = {hash_of(number), task->order++}, .number = number};
    }
    return SB_STAGE_DONE;
}

static Right *look_up(const SbTable *table, int64_t key) {
    uint64_t hash = hash_of(key);
    for (uint64_t at = hash & table->mask; table->slots[at]; at = (at + 1) & table->mask) {
        Right *right = (Right *)(void *)(uintptr_t)sb_slot_entry(table->slots[at]);
        if (right->number == key) return right;
    }
    return nullptr;
}

static int32_t scan_and_look_up(SbTask *task) {
    while (task->cursor < task->input.end) {
        int64_t number = task->cursor++;
        task->counts[STEP_RANGE * SB_COUNTS + SB_MADE]++;
        Right *right = look_up(task->tables[0], key_of(number));
        if (right) right->matched = 1;
        if (!put_row(task, task->terminals[0], right ? right->number : -number))
            return SB_STAGE_FAULT;
        task->order++;
        if (task->cursor < task->input.end && sb_task_border(task)) return SB_STAGE_FULL;
    }
    return SB_STAGE_DONE;
}

static int32_t ask_for_rows(SbTask *task) {
    while (task->cursor < task->input.end && !task->full)
        sb_join_ask(task, hash_of(key_of(task->cursor++)));
    return SB_STAGE_DONE;
}

static int32_t unmatched_to_sink(SbTask *task) {
    while (task->cursor < task->input.end) {
        const Right *right = (const Right *)(const void *)task->input.entries[task->cursor++];
        if (!put_row(task, task->terminals[0], UNMATCHED_FROM + right->number))
            return SB_STAGE_FAULT;
        if (task->cursor < task->input.end && sb_task_border(task)) return SB_STAGE_FULL;
    }
    return SB_STAGE_DONE;
}

// ---- a zip: two ranges that drop other numbers each, side by side -------------------------------

enum { LEFT_DROPS = 3, RIGHT_DROPS = 4 };  // Of each so many numbers one.

static int32_t scan_without(SbTask *task, int64_t drops) {
    while (task->cursor < task->input.end) {
        int64_t number = task->cursor++;
        task->counts[STEP_RANGE * SB_COUNTS + SB_MADE]++;
        if (number % drops == 0) continue;
        if (!keep_row(task, task->terminals[0], number)) return SB_STAGE_FAULT;
        task->order++;
        if (task->cursor < task->input.end && sb_task_border(task)) return SB_STAGE_FULL;
    }
    return SB_STAGE_DONE;
}

static int32_t scan_left(SbTask *task) { return scan_without(task, LEFT_DROPS); }
static int32_t scan_right(SbTask *task) { return scan_without(task, RIGHT_DROPS); }

static int32_t zip_to_sink(SbTask *task) {
    while (task->cursor < task->input.end) {
        const Row *left = (const Row *)(const void *)task->input.entries[task->cursor];
        const Row *right = (const Row *)(const void *)task->input.right[task->cursor++];
        if (!put_row(task, task->terminals[0], left->number * 1000 + right->number))
            return SB_STAGE_FAULT;
        task->order++;
        if (task->cursor < task->input.end && sb_task_border(task)) return SB_STAGE_FULL;
    }
    return SB_STAGE_DONE;
}

static uint64_t backwards(const SbEntry *entry) {
    return UINT64_MAX - (uint64_t)((const Row *)(const void *)entry)->number;
}

static const SbStr default_out = STR("out.csv");
static const SbParam params[] = {{.name = STR("out"),
                                  .type = &(const SbType){.kind = SB_STR, .size = 16, .align = 8},
                                  .value_text = STR("\"out.csv\""),
                                  .value = &default_out}};

static int32_t setup(SbSetup *setup) {
    setup->source_counts[0] = ROWS;
    setup->stage_rows[0] = UNIT_ROWS;
    setup->sink_paths[0] = *(const SbStr *)setup->params[0];
    setup->sink_bytes[0] = 600;
    return SB_OK;
}

static int32_t setup_sinks(SbSetup *sinks) {
    sinks->sink_paths[1] = (SbStr)STR("deep/er/more.csv.zst");
    sinks->sink_paths[2] = (SbStr)STR("many/");
    sinks->sink_bytes[2] = 900;
    return setup(sinks);
}

static int32_t setup_limit(SbSetup *s) {
    s->skip_rows[0] = 15;
    s->limit_rows[0] = 170;
    return setup(s);
}

static int32_t setup_union(SbSetup *sinks) {
    sinks->source_counts[1] = MORE_ROWS;
    sinks->stage_rows[1] = UNIT_ROWS;
    sinks->sink_paths[1] = (SbStr)STR("first.csv.gz");
    sinks->sink_paths[2] = (SbStr)STR("second/");
    sinks->sink_bytes[2] = 900;
    return setup(sinks);
}

static int32_t setup_join(SbSetup *s) {
    s->source_counts[1] = MORE_ROWS;
    for (int stage = 1; stage < 3; stage++) s->stage_rows[stage] = UNIT_ROWS;
    return setup(s);
}

// Both sides have 200 rows.
static int32_t setup_zip(SbSetup *s) {
    enum { ROWS_OF_A_SIDE = 200, RIGHT_UNIT_ROWS = 34 };
    static_assert(ROWS_OF_A_SIDE * LEFT_DROPS % (LEFT_DROPS - 1) == 0 &&
                  ROWS_OF_A_SIDE * LEFT_DROPS / (LEFT_DROPS - 1) == ROWS);
    setup(s);
    s->source_counts[1] = ROWS_OF_A_SIDE * RIGHT_DROPS / (RIGHT_DROPS - 1) + 1;
    s->stage_rows[1] = RIGHT_UNIT_ROWS;
    s->stage_rows[2] = UNIT_ROWS;
    return SB_OK;
}

static char packed_path[] = "/tmp/crash_states.XXXXXX.gz";

static int32_t setup_packed(SbSetup *s) {
    static SbStr path;
    path = (SbStr){packed_path, sizeof packed_path - 1};
    s->source_paths[0] = (SbList){&path, 1};
    return setup(s);
}

static int32_t setup_union_limit(SbSetup *s) {
    s->limit_rows[0] = 350;  // Of the second source some.
    return setup_union(s);
}

#define RANGE {.label = STR("range(n)"), .format = SB_RANGE, .step = STEP_RANGE}
static const SbSource sources[] = {RANGE, RANGE};
static const SbSource packed_sources[] = {
    {.label = STR("read jsonl(packed)"), .format = SB_JSONL, .step = STEP_RANGE}};
#define SINK {.label = STR("write csv(out)"), .step = STEP_WRITE, .header = STR("rows\n")}
static const SbSink sinks[] = {SINK, SINK, SINK};
static const SbStepInfo steps[] = {
    {.label = STR("range(n)"), .line = 1, .from = {UINT32_MAX, UINT32_MAX}},
    {.label = STR("rows"), .line = 2, .kind = 6, .from = {STEP_RANGE, UINT32_MAX}},
    {.label = STR("write csv(out)"), .line = 3, .kind = 14, .from = {STEP_RANGE, UINT32_MAX}},
};
static const SbSite sites[] = {{.step = STEP_RANGE, .what = STR("number")}};
static const uint32_t to_sinks[] = {SB_TERMINAL_SINK | 0, SB_TERMINAL_SINK | 1,
                                    SB_TERMINAL_SINK | 2};
static const uint32_t to_rows[] = {0};
static const uint32_t to_sorted[] = {1};
static const uint32_t to_rows_and_first[] = {0, SB_TERMINAL_SINK | 1};
static const uint32_t to_rows_and_second[] = {0, SB_TERMINAL_SINK | 2};

#define SCAN_OF(source_, run_, terminals_, count_)                                                \
    {.run = run_, .label = STR("scan"), .input = SB_INPUT_RANGE, .input_index = source_,          \
     .right_index = UINT32_MAX, .rank = source_, .terminals = terminals_,                         \
     .terminal_count = count_}
#define SCAN(run_, terminals_, count_) SCAN_OF(0, run_, terminals_, count_)
#define REST                                                                                      \
    {.run = rows_to_sink, .label = STR("rows"), .input = SB_INPUT_ROWS, .right_index = UINT32_MAX, \
     .terminals = to_sinks, .terminal_count = 1}
static SbStage direct_stages[] = {SCAN(scan_to_sink, to_sinks, 1)};
static SbStage packed_stages[] = {
    {.run = scan_lines, .label = STR("scan"), .input = SB_INPUT_TEXT, .right_index = UINT32_MAX,
     .terminals = to_sinks, .terminal_count = 1}};
static SbStage several_stages[] = {SCAN(scan_to_sinks, to_sinks, 3)};
// Both sources go to the edge, one behind the other, and each to a sink of its own.
static SbStage union_stages[] = {SCAN_OF(0, scan_to_rows_and_sink, to_rows_and_first, 2),
                                 SCAN_OF(1, scan_to_rows_and_sink, to_rows_and_second, 2), REST};
// The same, sorted behind the edge.
static SbStage sorted_stages[] = {
    SCAN_OF(0, scan_to_rows_and_sink, to_rows_and_first, 2),
    SCAN_OF(1, scan_to_rows_and_sink, to_rows_and_second, 2),
    {.run = rows_to_rows, .label = STR("rows"), .input = SB_INPUT_ROWS, .right_index = UINT32_MAX,
     .terminals = to_sorted, .terminal_count = 1},
    {.run = rows_to_sink, .label = STR("sorted"), .input = SB_INPUT_ROWS, .input_index = 1,
     .right_index = UINT32_MAX, .terminals = to_sinks, .terminal_count = 1}};
static SbStage zip_stages[] = {
    SCAN_OF(0, scan_left, to_rows, 1), SCAN_OF(1, scan_right, to_sorted, 1),
    {.run = zip_to_sink, .label = STR("zip"), .input = SB_INPUT_ROWS, .right_index = 1,
     .terminals = to_sinks, .terminal_count = 1}};
static SbStage join_stages[] = {
    SCAN_OF(1, scan_to_table, to_rows, 1),
    {.run = scan_and_look_up, .ask = ask_for_rows, .label = STR("scan"), .input = SB_INPUT_RANGE,
     .right_index = UINT32_MAX, .terminals = to_sinks, .terminal_count = 1, .needs = to_rows,
     .need_count = 1},
    {.run = unmatched_to_sink, .label = STR("rest"), .input = SB_INPUT_UNMATCHED,
     .right_index = UINT32_MAX, .rank = 1, .terminals = to_sinks, .terminal_count = 1}};
static SbStage rows_stages[] = {SCAN(scan_to_rows, to_rows, 1), REST};
#define KEEPS(kind_, prefix_)                                                                     \
    {.kind = kind_, .step = STEP_ROWS, .entry_bytes = sizeof(Row), .row = &row_type,              \
     .identity_offset = UINT32_MAX, .place_offset = UINT32_MAX, .prefix = prefix_}
static const SbBreaker edge[] = {KEEPS(SB_BREAK_EDGE, nullptr)};
static const SbBreaker sort[] = {KEEPS(SB_BREAK_SORT, backwards)};
static const SbBreaker edge_and_sort[] = {KEEPS(SB_BREAK_EDGE, nullptr),
                                          KEEPS(SB_BREAK_SORT, backwards)};

static const SbBreaker edges[] = {KEEPS(SB_BREAK_EDGE, nullptr), KEEPS(SB_BREAK_EDGE, nullptr)};
static const SbBreaker join[] = {
    {.kind = SB_BREAK_JOIN, .wants = SB_JOIN_REST, .step = STEP_ROWS, .entry_bytes = RIGHT_BYTES,
     .next_offset = offsetof(Right, next), .matched_offset = offsetof(Right, matched),
     .identity_offset = UINT32_MAX, .place_offset = UINT32_MAX, .equal = same_key}};

#define JOB(setup_, stages_, sink_count_, breakers_, breaker_count_)                              \
    {                                                                                             \
        .abi_version = SB_ABI_VERSION, .name = STR("crash.sbd"), .plan = STR("plan\n"),           \
        .setup = setup_, .params = params, .param_count = 1, .steps = steps, .step_count = 3,     \
        .sources = setup_ == setup_packed ? packed_sources : sources,                             \
        .source_count = setup_ == setup_union || setup_ == setup_union_limit ||                   \
                                setup_ == setup_join || setup_ == setup_zip                       \
                            ? 2                                                                   \
                            : 1,                                                                  \
        .sinks = sinks,                                                                           \
        .sink_count = sink_count_,                                                                \
        .breakers = breakers_, .breaker_count = breaker_count_, .stages = stages_,                \
        .stage_count = sizeof stages_ / sizeof *stages_, .sites = sites, .site_count = 1,         \
        .rejects_format = SB_JSONL,                                                               \
    }
static const SbJob direct_job = JOB(setup, direct_stages, 1, nullptr, 0),
                   packed_job = JOB(setup_packed, packed_stages, 1, nullptr, 0),
                   several_job = JOB(setup_sinks, several_stages, 3, nullptr, 0),
                   limit_job = JOB(setup_limit, rows_stages, 1, edge, 1),
                   union_limit_job = JOB(setup_union_limit, union_stages, 3, edge, 1),
                   edge_job = JOB(setup, rows_stages, 1, edge, 1),
                   union_job = JOB(setup_union, union_stages, 3, edge, 1),
                   sorted_job = JOB(setup_union, sorted_stages, 3, edge_and_sort, 2),
                   zip_job = JOB(setup_zip, zip_stages, 1, edges, 2),
                   join_job = JOB(setup_join, join_stages, 1, join, 1),
                   sort_job = JOB(setup, rows_stages, 1, sort, 1);

// ---- a life -------------------------------------------------------------------------------------

typedef struct Shape {
    const char  *name;
    const SbJob *job;
    const char  *out;
    bool         goes_on;  // In the middle of its input.
    const char  *option;   // One more; or nullptr.
    bool         replaces; // An output of an earlier job and its manifest.
} Shape;

static int output, errors, said;  // Descriptors.

// Runs the job; standard output and error go to files in memory.
static int life(const Shape *shape) {
    char argument[96];
    snprintf(argument, sizeof argument, "--out=%s", shape->out);
    char *argv[] = {"job",           "--resume=journal",    "--threads=1",
                    "--retries=0",   "--memory=64MiB",      "--partition=150",
                    "--progress=none", "--rejects=bad.jsonl", "--reject-limit=50%",
                    argument,        shape->option ? shape->option : "--grace=1s"};
    fflush(nullptr);
    if (ftruncate(output, 0) != 0 || ftruncate(said, 0) != 0) abort();
    lseek(output, 0, SEEK_SET);
    lseek(said, 0, SEEK_SET);
    dup2(output, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    int code = sb_main(sizeof argv / sizeof *argv, argv, shape->job);
    fflush(nullptr);
    dup2(errors, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    return code;
}

enum { SAID_MAX = 600 };

static void read_said(char text[static SAID_MAX]) {
    ssize_t len = pread(said, text, SAID_MAX - 1, 0);
    text[len > 0 ? len : 0] = '\0';
}

static void show_said(void) {
    char text[SAID_MAX];
    read_said(text);
    fprintf(stderr, "it said: %s\n", text);
}

// ---- what is left -------------------------------------------------------------------------------

typedef struct Left {
    char path[96];
    char *bytes;
    int64_t len;
} Left;

enum { LEFT_MAX = 64 };

static Left wanted[LEFT_MAX];
static int wanted_count;
static char wanted_stdout[1 << 14];
static ssize_t wanted_stdout_len;

// The journal differs from run to run.
static bool is_output(const char *path) { return strncmp(path, "journal", 7) != 0; }

static void take_wanted(void) {
    for (int i = 0; i < wanted_count; i++) free(wanted[i].bytes);
    wanted_count = 0;
    for (int i = 0; i < model.now.count; i++) {
        const ModelName *name = &model.now.items[i];
        if (name->node < 0 || model.nodes[name->node]->folder || !is_output(name->path)) continue;
        Left *left = &wanted[wanted_count++];
        int64_t len = 0;
        const char *bytes = model_holds(name->path, &len);
        memcpy(left->path, name->path, sizeof left->path);
        left->bytes = malloc((size_t)len + 1);
        memcpy(left->bytes, bytes, (size_t)len);
        left->len = len;
    }
    wanted_stdout_len = pread(output, wanted_stdout, sizeof wanted_stdout, 0);
}

// The name of an output that is wanted, or of one that is not: -1.
static int find_wanted(const char *path) {
    for (int i = 0; i < wanted_count; i++)
        if (strcmp(wanted[i].path, path) == 0) return i;
    return -1;
}

static const char old_bytes[] = "old\n", old_out[] = "out.csv",
                  old_manifest[] = "out.csv.manifest.json";

// An output of an earlier job, and its manifest.
static bool plant_old(void) {
    const char *const paths[] = {old_out, old_manifest};
    Trouble trouble = {0};
    for (int i = 0; i < 2; i++) {
        int fd = durable_open(paths[i], true);
        if (fd < 0 || !durable_put(fd, old_bytes, sizeof old_bytes, 0) || !durable_put_sync(fd))
            return false;
        durable_shut(fd);
    }
    return durable_sync_folder_of(old_out, &trouble);
}

static bool is_old(const char *path) {
    int64_t len = 0;
    const char *bytes = durable_size(path) >= 0 ? model_holds(path, &len) : nullptr;
    return bytes && len == sizeof old_bytes && memcmp(bytes, old_bytes, sizeof old_bytes) == 0;
}

// Everything that stands under its own name is whole; with `all` it is all that there is. The old
// manifest stands beside the old output, and beside no other.
static bool is_right(bool all) {
    int found = 0;
    if (is_old(old_manifest) && !is_old(old_out)) {
        fprintf(stderr, "'%s' is that of an earlier job\n", old_manifest);
        return false;
    }
    for (int i = 0; i < model.now.count; i++) {
        const ModelName *name = &model.now.items[i];
        if (name->node < 0 || model.nodes[name->node]->folder || !is_output(name->path)) continue;
        int64_t len = 0;
        const char *bytes = model_holds(name->path, &len), *last = strrchr(name->path, '/');
        int want = find_wanted(name->path);
        bool hidden = (last ? last[1] : name->path[0]) == '.';
        bool same = want >= 0 && wanted[want].len == len &&
                    memcmp(wanted[want].bytes, bytes, (size_t)len) == 0;
        if (!all && is_old(name->path)) continue;
        if (!same && (all || !hidden)) {
            fprintf(stderr, "'%s' holds %lld bytes, %s\n", name->path, (long long)len,
                    want < 0 ? "and is not wanted" : "other ones");
            return false;
        }
        found += same;
    }
    if (all && found != wanted_count) fprintf(stderr, "%d of %d files\n", found, wanted_count);
    return !all || found == wanted_count;
}

// ---- states -------------------------------------------------------------------------------------

static const Shape shapes[] = {
    {"a_file", &direct_job, "out.csv", true},
    {"a_compressed_file", &direct_job, "out.csv.gz", true},
    {"parts", &direct_job, "parts/", true},
    {"standard_output", &direct_job, "-", false},
    {"several_sinks", &several_job, "out.csv", true},
    {"several_with_output", &several_job, "-", false},
    {"behind_an_edge", &edge_job, "out.csv", true},
    {"parts_behind_an_edge", &edge_job, "parts/", true},
    {"behind_a_union", &union_job, "out.csv", true},
    {"compressed_behind_a_union", &union_job, "out.csv.zst", true},
    {"output_behind_a_union", &union_job, "-", false},
    {"sorted_behind_a_union", &sorted_job, "out.csv", true},
    {"behind_a_sort", &sort_job, "out.csv", true},
    {"compressed_behind_a_sort", &sort_job, "out.csv.lz4", true},
    {"a_stream", &packed_job, "parts/", true},
    {"behind_a_limit", &limit_job, "parts/", true},
    {"behind_a_union_and_a_limit", &union_limit_job, "out.csv", true},
    {"first_rows", &several_job, "out.csv", true, "--first-rows=130"},
    {"a_full_join", &join_job, "out.csv", true},
    {"a_full_join_to_parts", &join_job, "parts/", true},
    {"a_zip", &zip_job, "out.csv", true},
    {"a_zip_to_parts", &zip_job, "parts/", true},
    {"replaced", &direct_job, "out.csv", true, "--overwrite", true},
    {"several_replaced", &several_job, "out.csv", true, "--overwrite", true},
};

enum { SHAPES = sizeof shapes / sizeof *shapes, LIVES_MAX = 3 };

// Standard output is a prefix; `whole` once it has all rows.
static bool printed_right(bool *whole) {
    char printed[sizeof wanted_stdout];
    ssize_t len = pread(output, printed, sizeof printed, 0);
    *whole |= len == wanted_stdout_len;
    return len <= wanted_stdout_len && memcmp(printed, wanted_stdout, (size_t)len) == 0;
}

// One state: the job dies up to three times, by power or by a sync that fails, and goes on: in the
// middle if it says so.
static bool survives(const Shape *shape, int64_t calls, bool *in_the_middle) {
    char text[SAID_MAX];
    bool printed = false;
    uint32_t lives = 1 + random_below(LIVES_MAX);
    model_begin();
    if (shape->replaces && !plant_old()) return false;
    for (uint32_t i = 0; i < lives; i++) {
        if (random_below(8) == 0) model_fail_sync(1 + random_below(12));
        else model_arm(random_below((uint32_t)calls + 20));
        int code = life(shape);
        if (!printed_right(&printed) || (code == 0 && !printed)) return false;
        model_crash();
        if (!is_right(false)) return false;
    }
    int code = life(shape);
    if (code != 0) show_said();
    read_said(text);
    *in_the_middle |= strstr(text, "goes on at") != nullptr;
    return printed_right(&printed) && code == 0 && printed && is_right(true);
}

// The model is no disk that jobs read from.
static bool write_packed(void) {
    char text[16 * ROWS], *packed = nullptr;
    int len = 0;
    for (int64_t i = 0; i < ROWS; i++) len += sprintf(text + len, "%lld\n", (long long)i);
    int64_t bytes = compress_member(COMPRESSION_GZ, text, len, &packed);
    int fd = mkstemps(packed_path, 3);
    bool good = fd >= 0 && bytes > 0 && write(fd, packed, (size_t)bytes) == bytes;
    if (fd >= 0) close(fd);
    free(packed);
    return good;
}

static void run_shape(const Shape *shape) {
    const char *states = getenv("SBC_CRASH_STATES"), *seed = getenv("SBC_CRASH_SEED");
    int64_t count = (states ? atoll(states) : 500) / SHAPES;
    errors = dup(STDERR_FILENO);
    output = memfd_create("output", 0);
    said = memfd_create("said", 0);
    setenv("SBC_TEST_COMMIT", "1", 1);
    model_begin();
    CHECK(life(shape) == 0);
    take_wanted();
    int64_t calls = model.calls;
    CHECK(wanted_count > 1 && calls > 20);
    bool in_the_middle = false;
    for (int64_t i = 0; i < count; i++) {
        uint64_t own = (seed ? strtoull(seed, nullptr, 0) : 1) + (uint64_t)i;
        random_state = own * 0x9e3779b97f4a7c15 | 1;
        bool good = survives(shape, calls, &in_the_middle);
        CHECK_SAYS(good, "%s: again: SBC_CRASH_STATES=%d SBC_CRASH_SEED=%llu", shape->name, SHAPES,
                   (unsigned long long)own);
        if (!good) break;
    }
    CHECK(in_the_middle == shape->goes_on || count < 10);
    dup2(errors, STDOUT_FILENO);
    durable_use(&durable_system);
    close(errors);
    close(output);
    close(said);
}

static void a_file(void) { run_shape(&shapes[0]); }
static void a_compressed_file(void) { run_shape(&shapes[1]); }
static void parts(void) { run_shape(&shapes[2]); }
static void standard_output(void) { run_shape(&shapes[3]); }
static void several_sinks(void) { run_shape(&shapes[4]); }
static void several_with_output(void) { run_shape(&shapes[5]); }
static void behind_an_edge(void) { run_shape(&shapes[6]); }
static void parts_behind_an_edge(void) { run_shape(&shapes[7]); }
static void behind_a_union(void) { run_shape(&shapes[8]); }
static void compressed_behind_a_union(void) { run_shape(&shapes[9]); }
static void output_behind_a_union(void) { run_shape(&shapes[10]); }
static void sorted_behind_a_union(void) { run_shape(&shapes[11]); }
static void behind_a_sort(void) { run_shape(&shapes[12]); }
static void compressed_behind_a_sort(void) { run_shape(&shapes[13]); }

static void a_stream(void) {
    CHECK(write_packed());
    run_shape(&shapes[14]);
    unlink(packed_path);
}

static void behind_a_limit(void) { run_shape(&shapes[15]); }
static void behind_a_union_and_a_limit(void) { run_shape(&shapes[16]); }
static void first_rows(void) { run_shape(&shapes[17]); }
static void a_full_join(void) { run_shape(&shapes[18]); }
static void a_full_join_to_parts(void) { run_shape(&shapes[19]); }
static void a_zip(void) { run_shape(&shapes[20]); }
static void a_zip_to_parts(void) { run_shape(&shapes[21]); }
static void replaced(void) { run_shape(&shapes[22]); }
static void several_replaced(void) { run_shape(&shapes[23]); }

static const UnitTest tests[] = {
    {"a_file", a_file},
    {"a_compressed_file", a_compressed_file},
    {"parts", parts},
    {"standard_output", standard_output},
    {"several_sinks", several_sinks},
    {"several_with_output", several_with_output},
    {"behind_an_edge", behind_an_edge},
    {"parts_behind_an_edge", parts_behind_an_edge},
    {"behind_a_union", behind_a_union},
    {"compressed_behind_a_union", compressed_behind_a_union},
    {"output_behind_a_union", output_behind_a_union},
    {"sorted_behind_a_union", sorted_behind_a_union},
    {"behind_a_sort", behind_a_sort},
    {"compressed_behind_a_sort", compressed_behind_a_sort},
    {"a_stream", a_stream},
    {"behind_a_limit", behind_a_limit},
    {"behind_a_union_and_a_limit", behind_a_union_and_a_limit},
    {"first_rows", first_rows},
    {"a_full_join", a_full_join},
    {"a_full_join_to_parts", a_full_join_to_parts},
    {"a_zip", a_zip},
    {"a_zip_to_parts", a_zip_to_parts},
    {"replaced", replaced},
    {"several_replaced", several_replaced},
};

UNIT_MAIN("crash_states_test", tests)
