// The local runtime, driven by a hand-written job that plays generated code: it reads CSV with the
// columns name and number, rejects rows whose number is none, and writes the two as CSV.
#define _GNU_SOURCE
#include "runtime/abi.h"
#include "runtime/format.h"
#include "stdlib/csv/csv.h"
#include "stdlib/number/number.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#define STR(text) {text, sizeof(text) - 1}

static const SbType type_str = {.kind = SB_STR, .size = 16, .align = 8};
static const SbType type_i64 = {.kind = SB_I64, .size = 8, .align = 8};
static const SbField columns[] = {{STR("name"), &type_str, 16}, {STR("number"), &type_i64, 32}};
static const SbType type_row = {
    .kind = SB_STRUCT, .size = 40, .align = 8, .fields = columns, .field_count = 2};

enum { STEP_READ, STEP_LIMIT, STEP_WRITE };

typedef struct Row {
    SbEntry entry;
    SbStr   name;
    int64_t number;
} Row;

static bool put_row(SbTask *task, SbOut *out, SbStr name, int64_t number) {
    if (out->end - out->at < name.len + SB_NUMBER_MAX + 2 &&
        sb_out_grow(task, out, name.len + SB_NUMBER_MAX + 2)) {
        return false;
    }
    memcpy(out->at, name.ptr, (size_t)name.len);
    out->at += name.len;
    *out->at++ = ',';
    out->at = sb_put_i64(out->at, number);
    *out->at++ = '\n';
    out->rows++;
    return true;
}

static bool keep_row(SbTask *task, SbRows *rows, SbStr name, int64_t number) {
    Row *row = (Row *)rows->at;
    if (rows->end - rows->at < (ptrdiff_t)sizeof *row)
        row = (Row *)sb_rows_grow(task, rows, sizeof *row);
    else rows->at += sizeof *row;
    if (!row) return false;
    rows->count++;
    const char *text = sb_rows_text(task, rows, name.ptr, name.len);
    *row = (Row){{0, task->order}, {text, name.len}, number};
    return text != nullptr;
}

static SbStr field(const SbInput *input, uint32_t row, uint32_t column) {
    const SbIndex *index = input->index;
    const uint32_t *ends = index->ends + (size_t)row * input->field_count;
    uint32_t f = input->fields[column], begin = f ? ends[f - 1] + 1 : index->starts[row];
    return (SbStr){input->text + begin, (int64_t)ends[f] - begin};
}

// One good row of the index. false: the unit ends.
static bool judge(SbTask *task, uint32_t row, bool edge) {
    const SbInput *input = &task->input;
    SbStr name = field(input, row, 0), number = field(input, row, 1);
    int64_t value;
    task->counts[STEP_READ * SB_COUNTS + SB_MADE]++;
    int32_t fault = sb_read_i64(number.ptr, number.len, &value);
    if (fault != SB_OK) {
        uint32_t end = input->index->ends[(size_t)(row + 1) * input->field_count - 1];
        task->origin = task->order;
        return sb_reject_text(task, 0, fault, input->index->starts[row], end, number.ptr,
                              number.len) == 0;
    }
    bool good = edge ? keep_row(task, task->terminals[0], name, value)
                     : put_row(task, task->terminals[0], name, value);
    task->order++;
    if (good && --task->limits[0] == 0) task->stopped = 1;
    return good;
}

static int32_t scan(SbTask *task, bool edge) {
    static const SbCsvDialect dialect = {.delimiter = ',', .quote = '"'};
    SbInput *input = &task->input;
    SbIndex *index = input->index;
    while (task->cursor < input->end) {
        sb_csv_index(index, input->text, task->cursor, input->end, input->field_count, &dialect);
        for (uint32_t r = 0; r < index->rows; r++) {
            bool good = judge(task, r, edge);
            if (good && !task->stopped) continue;
            task->cursor = index->ends[(size_t)(r + 1) * input->field_count - 1] + 1;
            return good ? SB_STAGE_DONE : SB_STAGE_FAULT;
        }
        task->cursor = index->next;
        if (index->fault == SB_OK) continue;
        task->counts[STEP_READ * SB_COUNTS + SB_MADE]++;
        task->origin = task->order;
        if (sb_reject_text(task, 1, index->fault, index->fault_begin, index->fault_end, nullptr,
                           0)) {
            return SB_STAGE_FAULT;
        }
    }
    return SB_STAGE_DONE;
}

static int32_t scan_to_sink(SbTask *task) { return scan(task, false); }
static int32_t scan_to_edge(SbTask *task) { return scan(task, true); }

// The same, row by row: every row is a partition, and some ask for memory first.
static int32_t scan_by_rows(SbTask *task) {
    enum { ASKS_EVERY = 7 };
    static thread_local int64_t asked = -1;
    static const SbCsvDialect dialect = {.delimiter = ',', .quote = '"'};
    SbIndex *index = task->input.index;
    if (task->cursor >= task->input.end) return SB_STAGE_DONE;
    int64_t place = task->input.offset + task->cursor;
    if (place % ASKS_EVERY == 0 && asked != place) {
        asked = place;
        task->need = 64;
        return SB_STAGE_NEED;
    }
    asked = -1;
    sb_csv_index(index, task->input.text, task->cursor, task->input.end, task->input.field_count,
                 &dialect);
    if (index->rows == 0) {
        task->cursor = index->next;
        return SB_STAGE_FULL;
    }
    bool good = judge(task, 0, true);
    task->cursor = index->ends[task->input.field_count - 1] + 1;
    return !good ? SB_STAGE_FAULT : task->stopped ? SB_STAGE_DONE : SB_STAGE_FULL;
}

// Takes two rows at a time, which must come in the order of their keys.
static int32_t rows_by_pairs(SbTask *task) {
    for (int i = 0; i < 2 && task->cursor < task->input.end; i++, task->cursor++) {
        const SbEntry *const *entry = &task->input.entries[task->cursor];
        const Row *row = (const Row *)*entry;
        bool ordered = task->cursor == 0 || entry[-1]->order < entry[0]->order;
        if (!ordered || !put_row(task, task->terminals[0], row->name, row->number))
            return SB_STAGE_FAULT;
    }
    return task->cursor < task->input.end ? SB_STAGE_FULL : SB_STAGE_DONE;
}

static int32_t never_enough(SbTask *task) {
    task->need = INT64_MAX / 4;
    return SB_STAGE_NEED;
}

static int32_t rows_to_sink(SbTask *task) {
    for (; task->cursor < task->input.end; task->cursor++) {
        const Row *row = (const Row *)task->input.entries[task->cursor];
        if (!put_row(task, task->terminals[0], row->name, row->number)) return SB_STAGE_FAULT;
    }
    return SB_STAGE_DONE;
}

static const SbStr default_in = STR("in.csv"), default_out = STR("out.csv");
static const int64_t default_rows = 3;
static const SbParam params[] = {
    {.name = STR("input"),
     .type = &type_str,
     .value_text = STR("\"in.csv\""),
     .value = &default_in},
    {.name = STR("out"),
     .type = &type_str,
     .value_text = STR("\"out.csv\""),
     .value = &default_out},
    {.name = STR("rows"), .type = &type_i64, .value_text = STR("3"), .value = &default_rows},
};

static int32_t setup(SbSetup *setup) {
    setup->source_paths[0] = (SbList){setup->params[0], 1};
    setup->sink_paths[0] = *(const SbStr *)setup->params[1];
    return SB_OK;
}

static int32_t setup_small_rows(SbSetup *s) {
    s->source_row_max[0] = 100;
    return setup(s);
}

static int32_t setup_limit(SbSetup *s) {
    s->limit_rows[0] = *(const int64_t *)s->params[2];
    return setup(s);
}

extern const SbReader sb_reader_csv;
extern const SbWriter sb_writer_csv, sb_writer_json, sb_writer_jsonl;
static const SbSource sources[] = {{.label = STR("read csv(input)"),
                                    .reader = &sb_reader_csv,
                                    .step = STEP_READ,
                                    .delimiter = ',',
                                    .quote = '"',
                                    .decimal = '.',
                                    .header = 1,
                                    .columns = columns,
                                    .column_count = 2}};
static const SbSink sinks[] = {{.label = STR("write csv(out)"),
                                .writer = &sb_writer_csv,
                                .step = STEP_WRITE,
                                .header = STR("name,number\n"),
                                .quote = '"'}};
static const SbStepInfo copy_steps[] = {
    {.label = STR("read csv(input)"), .line = 1, .kind = 0, .from = {UINT32_MAX, UINT32_MAX}},
    {.label = STR("limit rows"), .line = 2, .kind = 6, .from = {STEP_READ, UINT32_MAX}},
    {.label = STR("write csv(out)"), .line = 3, .kind = 14, .from = {STEP_READ, UINT32_MAX}},
};
static const SbSite sites[] = {{.step = STEP_READ, .what = STR("column 'number'")},
                               {.step = STEP_READ, .what = STR("row")}};
static const uint32_t to_sink[] = {SB_TERMINAL_SINK | 0}, to_edge[] = {0};
static SbStage copy_stages[] = {{.run = scan_to_sink, .label = STR("copy"), .input = SB_INPUT_TEXT,
                                 .right_index = UINT32_MAX, .terminals = to_sink,
                                 .terminal_count = 1}};
static SbStage limit_stages[] = {
    {.run = scan_to_edge,
     .label = STR("scan"),
     .input = SB_INPUT_TEXT,
     .right_index = UINT32_MAX,
     .terminals = to_edge,
     .terminal_count = 1},
    {.run = rows_to_sink,
     .label = STR("rows"),
     .input = SB_INPUT_ROWS,
     .right_index = UINT32_MAX,
     .terminals = to_sink,
     .terminal_count = 1},
};
static SbStage slow_stages[] = {
    {.run = scan_by_rows,
     .label = STR("scan"),
     .input = SB_INPUT_TEXT,
     .right_index = UINT32_MAX,
     .terminals = to_edge,
     .terminal_count = 1},
    {.run = rows_by_pairs,
     .label = STR("rows"),
     .input = SB_INPUT_ROWS,
     .right_index = UINT32_MAX,
     .terminals = to_sink,
     .terminal_count = 1},
};
static SbStage greedy_stages[] = {{.run = never_enough, .label = STR("greedy"),
                                   .input = SB_INPUT_TEXT, .right_index = UINT32_MAX,
                                   .terminals = to_sink, .terminal_count = 1}};
static const SbBreaker breakers[] = {
    {.kind = SB_BREAK_EDGE, .step = STEP_LIMIT, .entry_bytes = sizeof(Row), .row = &type_row}};

#define JOB(setup_, stages_, breaker_count_)                                                      \
    {                                                                                             \
        .abi_version = SB_ABI_VERSION, .name = STR("copy.sbd"), .plan = STR("plan\n"),            \
        .setup = setup_, .params = params, .param_count = 3, .steps = copy_steps, .step_count = 3, \
        .sources = sources, .source_count = 1, .sinks = sinks, .sink_count = 1,                   \
        .breakers = breakers, .breaker_count = breaker_count_, .stages = stages_,                 \
        .stage_count = sizeof stages_ / sizeof *stages_, .sites = sites, .site_count = 2,         \
        .rejects_form = SB_RECORDS_JSONL,                                                         \
    }
static const SbJob copy_job = JOB(setup, copy_stages, 0),
                   small_job = JOB(setup_small_rows, copy_stages, 0),
                   limit_job = JOB(setup_limit, limit_stages, 1),
                   slow_job = JOB(setup_limit, slow_stages, 1),
                   greedy_job = JOB(setup, greedy_stages, 0);

// ---- running jobs -------------------------------------------------------------------------------

static char folder[64];

// Runs the job with the words of `line` as its options, in the test's folder. The exit code.
static int run(const SbJob *job, const char *line) {
    char words[1024], *argv[32] = {"job"};
    int argc = 1;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word; word = strtok(nullptr, " ")) argv[argc++] = word;
    fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
        int log = open("log", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        dup2(log, 2);
        _exit(sb_main(argc, argv, job));
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *slurp(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) return strdup("(no file)");
    char *text = calloc(1, 32 << 20);
    size_t len = fread(text, 1, (32 << 20) - 1, file);
    text[len] = '\0';
    fclose(file);
    return text;
}

static void spill(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static bool holds(const char *path, const char *want) {
    char *text = slurp(path);
    bool same = strcmp(text, want) == 0;
    if (!same) fprintf(stderr, "%s: %.400s\n", path, text);
    free(text);
    return same;
}

static bool says(const char *part) {
    char *text = slurp("log");
    bool found = strstr(text, part) != nullptr;
    if (!found) fprintf(stderr, "log: %s\n", text);
    free(text);
    return found;
}

static void enter(void) {
    strcpy(folder, "/tmp/sbrt-XXXXXX");
    if (!mkdtemp(folder) || chdir(folder) != 0) abort();
}

static void leave(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (chdir("/") != 0 || system(command) != 0) abort();
}

static void copies_a_file(void) {
    enter();
    spill("in.csv", "\xef\xbb\xbfnumber,extra,name\r\n1,x,a\r\n2,\"y\n,\",b\n\n3,z,c");
    CHECK(run(&copy_job, "--out=out/x.csv") == 0);
    CHECK(holds("out/x.csv", "name,number\na,1\nb,2\nc,3\n"));
    CHECK(says("read csv(input)   0     3   3         0         0       0\n"));
    CHECK(says("in.csv     3     45\n"));
    CHECK(run(&copy_job, "--out=out/x.csv") == 2 && says("SB8007"));
    CHECK(run(&copy_job, "--out=out/x.csv --overwrite") == 0);
    CHECK(run(&copy_job, "--out=in.csv --overwrite") == 2 && says("SB8008"));
    leave();
}

// Rows whose quoted fields hold line ends, quotes and what looks like rows.
static void write_quoted(const char *path, int rows) {
    FILE *file = fopen(path, "w");
    fputs("name,number,text\n", file);
    for (int i = 0; i < rows; i++) {
        if (i % 7 == 3) fprintf(file, "n%d,%d,\"a\nb\"\",1,2\nc,3,\"\"x\n\"\n", i, i);
        else fprintf(file, "n%d,%d,plain %d\n", i, i, i);
    }
    fclose(file);
}

static void same_bytes_for_any_threads_and_partition(void) {
    enter();
    write_quoted("in.csv", 20000);
    CHECK(run(&copy_job, "--threads=1 --out=want.csv") == 0);
    char *want = slurp("want.csv");
    CHECK(strstr(want, "\nn19999,19999\n") != nullptr);
    static const char *const options[] = {
        "--threads=2 --partition=1000", "--threads=4 --partition=333",
        "--threads=4 --partition=64KiB", "--threads=1 --partition=4097", "--threads=3"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s --overwrite", options[i]);
        CHECK_SAYS(run(&copy_job, line) == 0 && holds("out.csv", want), "%s", line);
    }
    free(want);
    leave();
}

static void compressed_files_come_and_go(void) {
    enter();
    write_quoted("plain.csv", 3000);
    char *text = slurp("plain.csv");
    gzFile gz = gzopen("in.csv.gz", "wb");
    gzwrite(gz, text, (unsigned)strlen(text));
    gzclose(gz);
    free(text);
    CHECK(run(&copy_job, "--input=plain.csv --out=want.csv") == 0);
    char *want = slurp("want.csv");
    CHECK(run(&copy_job, "--input=in.csv.gz --threads=2 --partition=1000") == 0 &&
          holds("out.csv", want));
    static const char *const extensions[] = {"gz", "zst", "lz4"};
    for (int i = 0; i < 3; i++) {
        char line[256];
        snprintf(line, sizeof line, "--input=plain.csv --out=packed.csv.%s", extensions[i]);
        CHECK(run(&copy_job, line) == 0);
        snprintf(line, sizeof line, "--input=packed.csv.%s --overwrite", extensions[i]);
        CHECK(run(&copy_job, line) == 0 && holds("out.csv", want));
        char path[64];
        struct stat about;
        snprintf(path, sizeof path, "packed.csv.%s", extensions[i]);
        CHECK(stat(path, &about) == 0 && truncate(path, about.st_size - 9) == 0);
        CHECK(run(&copy_job, line) == 1 && says("SB8015"));
    }
    free(want);
    leave();
}

static void rejects_are_recorded(void) {
    enter();
    spill("in.csv", "name,number\na,1\nb,x1\nc,2,3\nd,4\n");
    CHECK(run(&copy_job, "") == 1);
    CHECK(says("error[SB7002]: column 'number': 'x1' is no integer of this type\n  --> in.csv:3, "
               "byte 16\n   | b,x1\n"));
    CHECK(says("1 row rejected, the limit is 0") && access("out.csv", F_OK) != 0);
    static const char want[] =
        "{\"step\":\"read "
        "csv(input)\",\"source\":\"in.csv\",\"line\":3,\"offset\":16,\"length\":4,\"code\":"
        "\"SB7002\","
        "\"message\":\"column 'number': 'x1' is no integer of this type\",\"raw\":\"b,x1\"}\n"
        "{\"step\":\"read "
        "csv(input)\",\"source\":\"in.csv\",\"line\":4,\"offset\":21,\"length\":5,\"code\":"
        "\"SB7012\","
        "\"message\":\"the row has 3 instead of 2 fields\",\"raw\":\"c,2,3\"}\n";
    CHECK(run(&copy_job, "--reject-limit=2 --rejects=bad.jsonl") == 0);
    CHECK(holds("bad.jsonl", want) && holds("out.csv", "name,number\na,1\nd,4\n"));
    CHECK(run(&copy_job, "--reject-limit=10% --overwrite --rejects=bad.jsonl") == 1 &&
          holds("bad.jsonl", want));
    leave();
}

static void long_rows_are_rejected(void) {
    enter();
    FILE *file = fopen("in.csv", "w");
    fputs("name,number\n", file);
    for (int i = 0; i < 200; i++) {
        if (i % 50 == 7) fprintf(file, "\"%0300d\n\",%d\n", i, i);
        else fprintf(file, "n%d,%d\n", i, i);
    }
    fclose(file);
    CHECK(run(&small_job, "--threads=1 --reject-limit=4 --rejects=r1 --out=o1") == 0);
    CHECK(run(&small_job, "--threads=4 --partition=50 --reject-limit=4 --rejects=r2 --out=o2") ==
          0);
    char *rejects = slurp("r1"), *rows = slurp("o1");
    CHECK(strstr(rejects, "\"line\":9,") && strstr(rejects, "\"length\":305,\"code\":\"SB7015\""));
    CHECK(strstr(rows, "n8,8\n") && !strstr(rows, ",7\n") && holds("r2", rejects) &&
          holds("o2", rows));
    free(rejects);
    free(rows);
    leave();
}

static void limit_stops_where_it_must(void) {
    enter();
    FILE *file = fopen("in.csv", "w");
    fputs("name,number\n", file);
    for (int i = 0; i < 1000; i++) fprintf(file, "n%d,%d\n", i, i);
    fputs("bad,bad\n", file);
    fclose(file);
    for (int threads = 1; threads <= 4; threads *= 2) {
        char line[128];
        snprintf(line, sizeof line, "--rows=500 --threads=%d --partition=700 --overwrite", threads);
        CHECK(run(&limit_job, line) == 0 && says("read csv(input)    0   500  500"));
        char *text = slurp("out.csv");
        CHECK(strstr(text, "\nn499,499\n") && !strstr(text, "n500,"));
        free(text);
    }
    CHECK(run(&limit_job, "--rows=0 --overwrite") == 0 && holds("out.csv", "name,number\n"));
    leave();
}

// A task that hands over every row by itself, on any thread, makes what one does that never stops.
static void tasks_yield_and_go_on(void) {
    enter();
    write_quoted("in.csv", 3000);
    CHECK(run(&copy_job, "--out=want.csv") == 0);
    char *want = slurp("want.csv");
    for (int threads = 1; threads <= 4; threads *= 2) {
        char line[128];
        for (int partition = 100; partition <= 100000; partition *= 10) {
            snprintf(line, sizeof line,
                     "--rows=10000 --threads=%d --partition=%d --memory=48MiB --overwrite", threads,
                     partition);
            CHECK_SAYS(run(&slow_job, line) == 0 && holds("out.csv", want), "%s", line);
            CHECK(says("read csv(input)      0  3,000  3,000"));
        }
        snprintf(line, sizeof line, "--rows=501 --threads=%d --partition=700 --overwrite", threads);
        CHECK(run(&slow_job, line) == 0 && says("read csv(input)    0   501  501"));
    }
    CHECK(run(&greedy_job, "--memory=48MiB --overwrite") == 3);
    CHECK(says("needs more than the 16.0 MiB that --memory=48MiB leaves for rows"));
    free(want);
    leave();
}

// What a failed job says depends neither on threads nor on partitions.
static void a_fault_is_the_same_everywhere(void) {
    enter();
    FILE *file = fopen("in.csv", "w");
    fputs("name,number\n", file);
    for (int i = 0; i < 2000; i++) fprintf(file, i % 100 == 57 ? "bad,x%d\n" : "n%d,1\n", i);
    fclose(file);
    const SbJob *jobs[] = {&copy_job, &limit_job, &slow_job};
    for (int j = 0; j < 3; j++) {
        char *want = nullptr;
        for (int threads = 1; threads <= 4; threads *= 2) {
            for (int partition = 100; partition <= 100000; partition *= 10) {
                char line[128];
                snprintf(line, sizeof line,
                         "--rows=9999 --reject-limit=4 --threads=%d --partition=%d --overwrite",
                         threads, partition);
                CHECK(run(jobs[j], line) == 1 && says("in.csv:59") && says("5 rows rejected"));
                char *log = slurp("log"), *figures = strstr(log, "\nstep");
                if (figures) *figures = '\0';  // How far the job came is no promise.
                CHECK_SAYS(!want || strcmp(want, log) == 0, "%s: %s", line, log);
                if (!want) want = log;
                else free(log);
            }
        }
        free(want);
    }
    leave();
}

static void parts_fill_a_folder(void) {
    enter();
    write_quoted("in.csv", 100);
    CHECK(run(&copy_job, "--out=parts/") == 0 && access("parts/part-00000.csv", F_OK) == 0);
    CHECK(run(&copy_job, "--out=parts/") == 2 && says("not empty"));
    leave();
}

// Ends of rows: `ends`, and the end of the text.
static void check_writer(const SbWriter *writer, SbStr rows, const int64_t *ends, int count) {
    const SbSink what = {.writer = writer, .quote = '"'};
    for (int64_t from = 1; from <= rows.len; from++) {
        int i = 0;
        while (ends[i] < from) i++;
        CHECK(writer->row_end(&what, rows, from) == ends[i]);
    }
    for (int64_t room = 1; room <= rows.len; room++) {
        int64_t within = 0;
        for (int i = 0; i < count && ends[i] <= room; i++) within = ends[i];
        CHECK(writer->rows_within(&what, rows, room) == within);
    }
    for (int i = 0; i < count; i++) CHECK(writer->rows_end(&what, rows, i + 1) == ends[i]);
}

static void writers_know_where_rows_end(void) {
    check_writer(&sb_writer_csv, (SbStr)STR("1,2\n\"a\nb\",3\n4,\n"), (int64_t[]){4, 12, 15}, 3);
    check_writer(&sb_writer_jsonl, (SbStr)STR("{}\n{\"a\":1}\n"), (int64_t[]){3, 11}, 2);
    check_writer(&sb_writer_json, (SbStr)STR(",\n{}" ",\n{\"a\":\",\"}" ",\n{}"),
                 (int64_t[]){4, 15, 19}, 3);
    // The first row of a file has lost its comma.
    check_writer(&sb_writer_json, (SbStr)STR("\n{\"a\":1}" ",\n{}"), (int64_t[]){8, 12}, 2);
}

static void usage_is_checked(void) {
    enter();
    spill("in.csv", "name,number\na,1\n");
    CHECK(run(&copy_job, "--inputt=x") == 2 && says("did you mean '--input'?"));
    CHECK(run(&copy_job, "--rows=x") == 2 && says("'x' is no i64"));
    CHECK(run(&copy_job, "--threads=0") == 2 && run(&copy_job, "--memory=x") == 2);
    CHECK(run(&copy_job, "--input=none.csv") == 1 && says("SB8010"));
    CHECK(run(&copy_job, "--input=*.tsv") == 1 && says("SB8010"));
    spill("bad.csv", "nome,number\na,1\n");
    CHECK(run(&copy_job, "--input=bad.csv") == 1 && says("did you mean 'nome'?"));
    spill("twice.csv", "name,number,name\na,1,b\n");
    CHECK(run(&copy_job, "--input=twice.csv") == 1 && says("two columns 'name'"));
    spill("run.yaml", "out: from.csv\nrows: many\n");
    CHECK(run(&copy_job, "--config=run.yaml") == 2 &&
          says("run.yaml:2:7\n   |\n 2 | rows: many\n   |       ^"));
    spill("run.yaml", "out: from.csv\nthreads: 2\n");
    CHECK(run(&copy_job, "--config=run.yaml") == 0 && holds("from.csv", "name,number\na,1\n"));
    leave();
}

static const UnitTest tests[] = {
    {"copies_a_file", copies_a_file},
    {"same_bytes_for_any_threads_and_partition", same_bytes_for_any_threads_and_partition},
    {"compressed_files_come_and_go", compressed_files_come_and_go},
    {"rejects_are_recorded", rejects_are_recorded},
    {"long_rows_are_rejected", long_rows_are_rejected},
    {"limit_stops_where_it_must", limit_stops_where_it_must},
    {"tasks_yield_and_go_on", tasks_yield_and_go_on},
    {"a_fault_is_the_same_everywhere", a_fault_is_the_same_everywhere},
    {"parts_fill_a_folder", parts_fill_a_folder},
    {"writers_know_where_rows_end", writers_know_where_rows_end},
    {"usage_is_checked", usage_is_checked},
};

UNIT_MAIN("runtime", tests)
