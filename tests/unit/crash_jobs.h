// crash_jobs.h: jobs written by hand, of every kind of sink and shape of plan, for
// crash_states_test.c.
#ifndef SBC_TESTS_UNIT_CRASH_JOBS_H
#define SBC_TESTS_UNIT_CRASH_JOBS_H

#include "runtime/abi.h"
#include "runtime/output.h"
#include "stdlib/number/number.h"

#include <stdio.h>
#include <string.h>

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

// Rows of outputs by key, as generated code writes them.
static bool put_by_key(SbTask *task, SbOut *out, int64_t number) {
    enum { ROWS_OF_A_KEY = 40 };
    char key[32];
    int len = snprintf(key, sizeof key, "%d.csv.gz", (int)number / ROWS_OF_A_KEY);
    return sb_out_key(task, out, key, len) == SB_OK && put_row(task, out, number);
}

static bool put_by_folder(SbTask *task, SbOut *out, int64_t number) {
    enum { ROWS_OF_A_KEY = 70 };
    char key[32];
    int len = snprintf(key, sizeof key, "k=%d/", (int)number / ROWS_OF_A_KEY);
    return sb_out_key(task, out, key, len) == SB_OK && put_row(task, out, number);
}

typedef bool PutRow(SbTask *task, SbOut *out, int64_t number);

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

// Each row of the range goes to all terminals: those that keep rows, then sinks. An edge whose
// limits have all their rows gets none; when nobody wants any, the task ends.
static int32_t scan_with(SbTask *task, uint32_t keeps, uint32_t sinks, PutRow *const *puts) {
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
        bool good = true, wanted = sinks > 0;
        for (uint32_t k = 0; k < keeps && good; k++) {
            if (task->limits[k] == 0) continue;
            good = keep_row(task, task->terminals[k], number);
            wanted |= --task->limits[k] > 0;
        }
        for (uint32_t s = 0; s < sinks && good; s++)
            good = puts[s](task, task->terminals[keeps + s], number);
        task->order++;
        if (!good) return SB_STAGE_FAULT;
        if (!wanted) {
            task->stopped = 1;
            return SB_STAGE_DONE;
        }
        if (task->cursor < task->input.end && sb_task_border(task)) return SB_STAGE_FULL;
    }
    return SB_STAGE_DONE;
}

static int32_t scan(SbTask *task, uint32_t keeps, uint32_t sinks) {
    static PutRow *const plain[] = {put_row, put_row, put_row};
    return scan_with(task, keeps, sinks, plain);
}

static int32_t scan_by_key(SbTask *task) {
    static PutRow *const keyed[] = {put_row, put_by_key, put_by_folder};
    return scan_with(task, 0, 3, keyed);
}

static int32_t scan_to_sink(SbTask *task) { return scan(task, 0, 1); }
static int32_t scan_to_sinks(SbTask *task) { return scan(task, 0, 3); }
static int32_t scan_to_rows(SbTask *task) { return scan(task, 1, 0); }
static int32_t scan_to_two_edges(SbTask *task) { return scan(task, 2, 0); }
static int32_t scan_to_rows_and_sink(SbTask *task) { return scan(task, 1, 1); }

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

// Of a left or full join each row comes out, of an inner one those that found another.
static int32_t look_all_up(SbTask *task, bool inner) {
    while (task->cursor < task->input.end) {
        int64_t number = task->cursor++;
        task->counts[STEP_RANGE * SB_COUNTS + SB_MADE]++;
        Right *right = look_up(task->tables[0], key_of(number));
        if (right) right->matched = 1;
        bool wanted = right || !inner;
        if (wanted && !put_row(task, task->terminals[0], right ? right->number : -number))
            return SB_STAGE_FAULT;
        task->order++;
        if (task->cursor < task->input.end && sb_task_border(task)) return SB_STAGE_FULL;
    }
    return SB_STAGE_DONE;
}

static int32_t scan_and_look_up(SbTask *task) { return look_all_up(task, false); }
static int32_t scan_and_match(SbTask *task) { return look_all_up(task, true); }

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

// ---- windows: the number of each row in its partition and the sum of some rows about it; or the
// first rows of each partition, without any of these ---------------------------------------------

enum { PARTITIONS = 7, MOST_OF_A_PARTITION = 9 };

typedef struct Windowed {
    SbEntry entry;
    int64_t number, place, sum;
} Windowed;

static const SbField windowed_fields[] = {{STR("number"), &type_i64, offsetof(Windowed, number)},
                                          {STR("place"), &type_i64, offsetof(Windowed, place)},
                                          {STR("sum"), &type_i64, offsetof(Windowed, sum)}};
static const SbType windowed_type = {.kind = SB_STRUCT, .size = sizeof(Windowed), .align = 8,
                                     .fields = windowed_fields, .field_count = 3};
static_assert(offsetof(Windowed, number) == offsetof(Row, number));

static int64_t number_of(const SbEntry *entry) {
    return ((const Row *)(const void *)entry)->number;
}
static int32_t compare_partitions(const SbEntry *a, const SbEntry *b) {
    int64_t x = number_of(a) % PARTITIONS, y = number_of(b) % PARTITIONS;
    return (x > y) - (x < y);
}

// By partition, and then the other way around.
static uint64_t by_partition(const SbEntry *entry) {
    int64_t number = number_of(entry);
    return (uint64_t)(number % PARTITIONS) << 32 | (uint32_t)(ROWS - number);
}

static int32_t scan_to_windowed(SbTask *task) {
    SbRows *rows = task->terminals[0];
    for (; task->cursor < task->input.end; task->cursor++) {
        task->counts[STEP_RANGE * SB_COUNTS + SB_MADE]++;
        Windowed *row = (Windowed *)(void *)rows->at;
        if (rows->end - rows->at < (ptrdiff_t)sizeof *row)
            row = (Windowed *)(void *)sb_rows_grow(task, rows, sizeof *row);
        else rows->at += sizeof *row;
        if (!row) return SB_STAGE_FAULT;
        rows->count++;
        *row = (Windowed){.entry = {0, task->order++}, .number = task->cursor};
    }
    return SB_STAGE_DONE;
}

static int32_t windowed_to_sink(SbTask *task) {
    enum { ROOM_OF_SUMS = 10000 };
    while (task->cursor < task->input.end) {
        const Windowed *row =
            (const Windowed *)(const void *)task->input.entries[task->cursor++];
        if (!put_row(task, task->terminals[0], row->place * ROOM_OF_SUMS + row->sum))
            return SB_STAGE_FAULT;
        if (task->cursor < task->input.end && sb_task_border(task)) return SB_STAGE_FULL;
    }
    return SB_STAGE_DONE;
}

// ---- groups: rows and sums by key, and the first number of each, as distinct keeps it -----------

typedef struct Group {
    SbEntry entry;
    int64_t key, rows, sum, first;
} Group;

static const SbField group_fields[] = {{STR("key"), &type_i64, offsetof(Group, key)}};
static const SbType group_type = {.kind = SB_STRUCT, .size = sizeof(Group), .align = 8,
                                  .fields = group_fields, .field_count = 1};

// The slot of the key, or the free one where it belongs.
static uint64_t *find_group(SbGroups *groups, int64_t key) {
    uint64_t at = hash_of(key) & groups->mask;
    for (; groups->slots[at]; at = (at + 1) & groups->mask)
        if (((const Group *)sb_slot_entry(groups->slots[at]))->key == key) break;
    return &groups->slots[at];
}

static int32_t merge_group(SbCall *call, SbGroups *into, SbEntry *entry) {
    (void)call;
    Group *stays = (Group *)entry, *leaves;
    uint64_t *slot = find_group(into, stays->key);
    leaves = (Group *)sb_slot_entry(*slot);
    if (leaves && leaves->entry.order < stays->entry.order) {
        stays = leaves;
        leaves = (Group *)entry;
    }
    *slot = sb_slot(&stays->entry);
    if (!leaves) return SB_OK;
    stays->rows += leaves->rows;
    stays->sum += leaves->sum;
    leaves->entry.order = UINT64_MAX;
    return SB_OK;
}

static int32_t scan_to_groups(SbTask *task) {
    SbGroups *groups = task->terminals[0];
    while (task->cursor < task->input.end) {
        int64_t number = task->cursor++, key = key_of(number) % 40;
        task->counts[STEP_RANGE * SB_COUNTS + SB_MADE]++;
        Group *group = (Group *)sb_slot_entry(*find_group(groups, key));
        if (!group) {
            group = (Group *)sb_groups_insert(nullptr, groups, hash_of(key), task->order);
            if (!group) return SB_STAGE_FAULT;
            group->key = key;
            group->first = number;
        }
        group->rows++;
        group->sum += number;
        task->order++;
        if (task->cursor < task->input.end && sb_task_border(task)) return SB_STAGE_FULL;
    }
    return SB_STAGE_DONE;
}

static int64_t sum_of(const SbEntry *entry) {
    const Group *group = (const Group *)entry;
    return group->key + 1000 * group->rows + group->sum;
}

static int32_t groups_to_sink(SbTask *task) {
    while (task->cursor < task->input.end) {
        const SbEntry *group = task->input.entries[task->cursor++];
        if (!put_row(task, task->terminals[0], sum_of(group))) return SB_STAGE_FAULT;
        if (task->cursor < task->input.end && sb_task_border(task)) return SB_STAGE_FULL;
    }
    return SB_STAGE_DONE;
}

static int32_t distinct_to_rows(SbTask *task) {
    for (; task->cursor < task->input.end; task->order++) {
        const Group *group = (const Group *)task->input.entries[task->cursor++];
        if (!keep_row(task, task->terminals[0], group->first)) return SB_STAGE_FAULT;
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

static int32_t setup_appends(SbSetup *appends) { return setup(appends); }

static int32_t setup_sinks(SbSetup *sinks) {
    sinks->sink_paths[1] = (SbStr)STR("deep/er/more.csv.zst");
    sinks->sink_paths[2] = (SbStr)STR("many/");
    sinks->sink_bytes[2] = 900;
    return setup(sinks);
}

static int32_t setup_sealed(SbSetup *sealed) {
    setup_sinks(sealed);
    sealed->sink_paths[1] = (SbStr)STR("deep/er/more.csv");
    return SB_OK;
}

static int32_t setup_keyed(SbSetup *keyed) {
    keyed->sink_paths[1] = (SbStr)STR("deep/er/");
    keyed->sink_paths[2] = (SbStr)STR("many/");
    keyed->sink_bytes[2] = 300;
    keyed->sink_files[1] = keyed->sink_files[2] = ROWS;
    return setup(keyed);
}

static int32_t setup_limit(SbSetup *s) {
    s->skip_rows[0] = 15;
    s->limit_rows[0] = 170;
    return setup(s);
}

static int32_t setup_top(SbSetup *s) {
    s->limit_rows[0] = MOST_OF_A_PARTITION;
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

static int32_t setup_itself(SbSetup *s) {
    s->source_counts[1] = MORE_ROWS;
    s->stage_rows[3] = UNIT_ROWS;
    s->sink_paths[1] = (SbStr)STR("groups.csv.gz");
    return setup(s);
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

extern const SbReader sb_reader_jsonl;
extern const SbWriter sb_writer_csv;
#define RANGE {.label = STR("range(n)"), .step = STEP_RANGE}
static const SbSource sources[] = {RANGE, RANGE};
static const SbSource packed_sources[] = {
    {.label = STR("read jsonl(packed)"), .reader = &sb_reader_jsonl, .step = STEP_RANGE}};
#define SINK_OF(append_, ...)                                                                     \
    {.label = STR("write csv(out)"), .writer = &sb_writer_csv, .step = STEP_WRITE,                \
     .header = STR("rows\n"), .append = append_, .shape = __VA_ARGS__}
#define SINK_BY(shape_) SINK_OF(false, shape_)
#define SINK SINK_BY({})
static const SbSink appending_sinks[] = {SINK_OF(true, {})};
static const SbSink sinks[] = {SINK, SINK, SINK};
static const SbSink keyed_sinks[] = {SINK, SINK_BY(STR("{k}.csv.gz")), SINK_BY(STR("k={k}/"))};

// Outputs whose header is written last: how many bytes of rows the part has.
enum { SEAL_BYTES = 16 };
static void seal(const SbSink *, int64_t body, char *header) {
    char text[SEAL_BYTES + 1];
    snprintf(text, sizeof text, "%15lld\n", (long long)body);
    memcpy(header, text, SEAL_BYTES);
}
static const SbWriter sealed = {.extension = "csv", .widens = 2, .row_end = lines_row_end,
                                .rows_within = lines_rows_within, .rows_end = lines_rows_end,
                                .header_bytes = SEAL_BYTES, .finish = seal};
#define SEALED {.label = STR("write sealed(out)"), .writer = &sealed, .step = STEP_WRITE}
static const SbSink sealed_sinks[] = {SEALED, SEALED, SEALED};
static const SbStepInfo steps[] = {
    {.label = STR("range(n)"), .line = 1, .from = {UINT32_MAX, UINT32_MAX}},
    {.label = STR("rows"), .line = 2, .kind = 6, .from = {STEP_RANGE, UINT32_MAX}},
    {.label = STR("write csv(out)"), .line = 3, .kind = 14, .from = {STEP_RANGE, UINT32_MAX}},
};
static const SbSite sites[] = {{.step = STEP_RANGE, .what = STR("number")}};
static const uint32_t to_sinks[] = {SB_TERMINAL_SINK | 0, SB_TERMINAL_SINK | 1,
                                    SB_TERMINAL_SINK | 2};
static const uint32_t to_rows[] = {0};
static const uint32_t to_second[] = {1};
static const uint32_t to_both[] = {0, 1};
static const uint32_t to_third[] = {2};
static const uint32_t to_rows_and_first[] = {0, SB_TERMINAL_SINK | 1};
static const uint32_t to_rows_and_second[] = {0, SB_TERMINAL_SINK | 2};

#define SCAN_OF(source_, run_, terminals_, count_)                                                \
    {.run = run_, .label = STR("scan"), .input = SB_INPUT_RANGE, .input_index = source_,          \
     .right_index = UINT32_MAX, .rank = source_, .terminals = terminals_,                         \
     .terminal_count = count_}
#define SCAN(run_, terminals_, count_) SCAN_OF(0, run_, terminals_, count_)
#define READER(run_, breaker_, terminals_)                                                        \
    {.run = run_, .label = STR("rows"), .input = SB_INPUT_ROWS, .input_index = breaker_,          \
     .right_index = UINT32_MAX, .terminals = terminals_, .terminal_count = 1}
#define REST READER(rows_to_sink, 0, to_sinks)
static SbStage direct_stages[] = {SCAN(scan_to_sink, to_sinks, 1)};
static SbStage packed_stages[] = {
    {.run = scan_lines, .label = STR("scan"), .input = SB_INPUT_TEXT, .right_index = UINT32_MAX,
     .terminals = to_sinks, .terminal_count = 1}};
static SbStage several_stages[] = {SCAN(scan_to_sinks, to_sinks, 3)};
static SbStage keyed_stages[] = {SCAN(scan_by_key, to_sinks, 3)};
// Both sources go to the edge, one behind the other, and each to a sink of its own.
static SbStage union_stages[] = {SCAN_OF(0, scan_to_rows_and_sink, to_rows_and_first, 2),
                                 SCAN_OF(1, scan_to_rows_and_sink, to_rows_and_second, 2), REST};
// The same, sorted behind the edge.
static SbStage sorted_stages[] = {
    SCAN_OF(0, scan_to_rows_and_sink, to_rows_and_first, 2),
    SCAN_OF(1, scan_to_rows_and_sink, to_rows_and_second, 2),
    {.run = rows_to_rows, .label = STR("rows"), .input = SB_INPUT_ROWS, .right_index = UINT32_MAX,
     .terminals = to_second, .terminal_count = 1},
    {.run = rows_to_sink, .label = STR("sorted"), .input = SB_INPUT_ROWS, .input_index = 1,
     .right_index = UINT32_MAX, .terminals = to_sinks, .terminal_count = 1}};
static SbStage zip_stages[] = {
    SCAN_OF(0, scan_left, to_rows, 1), SCAN_OF(1, scan_right, to_second, 1),
    {.run = zip_to_sink, .label = STR("zip"), .input = SB_INPUT_ROWS, .right_index = 1,
     .terminals = to_sinks, .terminal_count = 1}};
static SbStage join_stages[] = {
    SCAN_OF(1, scan_to_table, to_rows, 1),
    {.run = scan_and_look_up, .ask = ask_for_rows, .label = STR("scan"), .input = SB_INPUT_RANGE,
     .right_index = UINT32_MAX, .terminals = to_sinks, .terminal_count = 1, .needs = to_rows,
     .need_count = 1},
    {.run = unmatched_to_sink, .label = STR("rest"), .input = SB_INPUT_UNMATCHED,
     .right_index = UINT32_MAX, .rank = 1, .terminals = to_sinks, .terminal_count = 1}};
static SbStage left_stages[] = {
    SCAN_OF(1, scan_to_table, to_rows, 1),
    {.run = scan_and_look_up, .ask = ask_for_rows, .label = STR("scan"), .input = SB_INPUT_RANGE,
     .right_index = UINT32_MAX, .terminals = to_sinks, .terminal_count = 1, .needs = to_rows,
     .need_count = 1}};
static SbStage inner_stages[] = {
    SCAN_OF(1, scan_to_table, to_rows, 1),
    {.run = scan_and_match, .ask = ask_for_rows, .label = STR("scan"), .input = SB_INPUT_RANGE,
     .right_index = UINT32_MAX, .terminals = to_sinks, .terminal_count = 1, .needs = to_rows,
     .need_count = 1}};
// A flow behind itself: its rows wait for the first of them to be written.
#define ITSELF                                                                                    \
    SCAN(scan_to_two_edges, to_both, 2),                                                          \
        {.run = rows_to_rows, .label = STR("again"), .input = SB_INPUT_ROWS, .input_index = 1,    \
         .right_index = UINT32_MAX, .rank = 1, .terminals = to_rows, .terminal_count = 1},        \
        REST
static SbStage itself_stages[] = {ITSELF};
static SbStage beside_stages[] = {ITSELF, SCAN_OF(1, scan_to_groups, to_third, 1),
                                  READER(groups_to_sink, 2, to_sinks + 1)};
static SbStage group_stages[] = {SCAN(scan_to_groups, to_rows, 1),
                                 READER(groups_to_sink, 0, to_sinks)};
static SbStage distinct_stages[] = {SCAN(scan_to_groups, to_rows, 1),
                                    READER(distinct_to_rows, 0, to_second),
                                    READER(rows_to_sink, 1, to_sinks)};
static SbStage windowed_stages[] = {SCAN(scan_to_windowed, to_rows, 1),
                                    READER(windowed_to_sink, 0, to_sinks)};
static SbStage rows_stages[] = {SCAN(scan_to_rows, to_rows, 1), REST};
#define KEEPS(kind_, prefix_)                                                                     \
    {.kind = kind_, .step = STEP_ROWS, .entry_bytes = sizeof(Row), .row = &row_type,              \
     .identity_offset = UINT32_MAX, .place_offset = UINT32_MAX, .prefix = prefix_}
static const SbBreaker edge[] = {KEEPS(SB_BREAK_EDGE, nullptr)};
static const SbBreaker sort[] = {KEEPS(SB_BREAK_SORT, backwards)};
static const SbWindowFn window_fns[] = {
    {.kind = SB_WINDOW_ROW_NUMBER, .result = &type_i64,
     .result_offset = offsetof(Windowed, place)},
    {.kind = SB_WINDOW_SUM, .type = &type_i64, .result = &type_i64, .back = 3, .ahead = 2,
     .value_offset = offsetof(Windowed, number), .result_offset = offsetof(Windowed, sum)}};
static const SbWindow numbering = {.partition = compare_partitions, .fns = window_fns,
                                   .fn_count = 2},
                      first_of_each = {.partition = compare_partitions, .keeps = SB_KEEPS_FIRST};
static const SbBreaker windowed[] = {
    {.kind = SB_BREAK_SORT, .step = STEP_ROWS, .entry_bytes = sizeof(Windowed),
     .row = &windowed_type, .identity_offset = UINT32_MAX, .place_offset = UINT32_MAX,
     .prefix = by_partition, .window = &numbering}};
static const SbBreaker top[] = {
    {.kind = SB_BREAK_SORT, .step = STEP_ROWS, .entry_bytes = sizeof(Row), .row = &row_type,
     .identity_offset = UINT32_MAX, .place_offset = UINT32_MAX, .prefix = by_partition,
     .window = &first_of_each}};
static const SbBreaker edge_and_sort[] = {KEEPS(SB_BREAK_EDGE, nullptr),
                                          KEEPS(SB_BREAK_SORT, backwards)};

static const SbBreaker edges[] = {KEEPS(SB_BREAK_EDGE, nullptr), KEEPS(SB_BREAK_EDGE, nullptr)};
#define TABLE(wants_)                                                                             \
    {.kind = SB_BREAK_JOIN, .wants = wants_, .asker = UINT32_MAX, .step = STEP_ROWS,              \
     .entry_bytes = RIGHT_BYTES,                                                                  \
     .next_offset = offsetof(Right, next), .matched_offset = offsetof(Right, matched),            \
     .identity_offset = UINT32_MAX, .place_offset = UINT32_MAX, .equal = same_key}
static const SbBreaker full_join[] = {TABLE(SB_JOIN_REST)};
static const SbBreaker join[] = {TABLE(SB_JOIN_MATCHES)};
#define GROUPS                                                                                    \
    {.kind = SB_BREAK_GROUP, .step = STEP_ROWS, .entry_bytes = sizeof(Group), .row = &group_type, \
     .key_count = 1, .identity_offset = UINT32_MAX, .place_offset = UINT32_MAX,                   \
     .merge = merge_group}
static const SbBreaker groups[] = {GROUPS, KEEPS(SB_BREAK_SORT, backwards)};
static const SbBreaker edges_and_groups[] = {KEEPS(SB_BREAK_EDGE, nullptr),
                                             KEEPS(SB_BREAK_EDGE, nullptr), GROUPS};

#define JOB(setup_, source_count_, stages_, sink_count_, breakers_, breaker_count_)               \
    {                                                                                             \
        .abi_version = SB_ABI_VERSION, .name = STR("crash.sbd"), .plan = STR("plan\n"),           \
        .setup = setup_, .params = params, .param_count = 1, .steps = steps, .step_count = 3,     \
        .sources = setup_ == setup_packed ? packed_sources : sources,                             \
        .source_count = source_count_,                                                            \
        .sinks = setup_ == setup_sealed    ? sealed_sinks                                         \
                 : setup_ == setup_keyed   ? keyed_sinks                                          \
                 : setup_ == setup_appends ? appending_sinks                                      \
                                           : sinks,                                               \
        .sink_count = sink_count_,                                                                \
        .breakers = breakers_, .breaker_count = breaker_count_, .stages = stages_,                \
        .stage_count = sizeof stages_ / sizeof *stages_, .sites = sites, .site_count = 1,         \
        .rejects_form = SB_RECORDS_JSONL,                                                         \
    }
static const SbJob direct_job = JOB(setup, 1, direct_stages, 1, nullptr, 0),
                   appending_job = JOB(setup_appends, 1, direct_stages, 1, nullptr, 0),
                   appending_sort_job = JOB(setup_appends, 1, rows_stages, 1, sort, 1),
                   packed_job = JOB(setup_packed, 1, packed_stages, 1, nullptr, 0),
                   several_job = JOB(setup_sinks, 1, several_stages, 3, nullptr, 0),
                   sealed_job = JOB(setup_sealed, 1, several_stages, 3, nullptr, 0),
                   keyed_job = JOB(setup_keyed, 1, keyed_stages, 3, nullptr, 0),
                   limit_job = JOB(setup_limit, 1, rows_stages, 1, edge, 1),
                   union_limit_job = JOB(setup_union_limit, 2, union_stages, 3, edge, 1),
                   edge_job = JOB(setup, 1, rows_stages, 1, edge, 1),
                   union_job = JOB(setup_union, 2, union_stages, 3, edge, 1),
                   itself_job = JOB(setup, 1, itself_stages, 1, edges, 2),
                   beside_job = JOB(setup_itself, 2, beside_stages, 2, edges_and_groups, 3),
                   zip_job = JOB(setup_zip, 2, zip_stages, 1, edges, 2),
                   sorted_job = JOB(setup_union, 2, sorted_stages, 3, edge_and_sort, 2),
                   group_job = JOB(setup, 1, group_stages, 1, groups, 1),
                   window_job = JOB(setup, 1, windowed_stages, 1, windowed, 1),
                   top_job = JOB(setup_top, 1, rows_stages, 1, top, 1),
                   distinct_job = JOB(setup, 1, distinct_stages, 1, groups, 2),
                   inner_join_job = JOB(setup_join, 2, inner_stages, 1, join, 1),
                   left_join_job = JOB(setup_join, 2, left_stages, 1, join, 1),
                   join_job = JOB(setup_join, 2, join_stages, 1, full_join, 1),
                   sort_job = JOB(setup, 1, rows_stages, 1, sort, 1);

#endif
