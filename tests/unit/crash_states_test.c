// Crash states: whole jobs with --resume on a disk whose power fails (model_disk.h). A job dies at
// a random call of the disk, up to three times, and goes on. In the end its files hold the bytes of
// a job that was left alone, and nothing stands beside them.
//
//     crash_states_test [SHAPE]                        500 states, shared out among the shapes
//     SBC_CRASH_STATES=10000 SBC_CRASH_SEED=7 crash_states_test
//
// One thread runs the jobs (crash_jobs.h), so that a seed replays.
#define _GNU_SOURCE
#include "runtime/compression/compress.h"
#include "tests/unit/crash_jobs.h"
#include "tests/unit/model_disk.h"
#include "tests/unit/unit.h"

#include <sys/mman.h>
#include <unistd.h>

// ---- a life -------------------------------------------------------------------------------------

typedef struct Shape {
    const char  *name;
    const SbJob *job;
    const char  *out;
    bool         goes_on;  // In the middle of its input.
    const char  *option;   // One more; or nullptr.
    const char  *old;      // An output of an earlier job, which has a manifest if it is replaced.
} Shape;

static int output, errors, said;  // Descriptors.

// Runs the job; standard output and error go to files in memory. What a journal holds depends on
// neither memory nor partitions, nor on what goes to disk: these differ from life to life.
static int life(const Shape *shape) {
    static char *const memories[] = {"--memory=48MiB", "--memory=64MiB", "--memory=2GiB"};
    static char *const partitions[] = {"--partition=60", "--partition=150", "--partition=1KiB"};
    char argument[96];
    snprintf(argument, sizeof argument, "--out=%s", shape->out);
    char *argv[] = {"job",           "--resume=journal",    "--threads=1",
                    "--retries=0",   memories[random_below(3)], partitions[random_below(3)],
                    "--progress=none", "--rejects=bad.jsonl", "--reject-limit=50%",
                    argument,        shape->option ? shape->option : "--grace=1s"};
    if (random_below(4) == 0) setenv("SBC_TEST_SPILL", "1", 1);
    else unsetenv("SBC_TEST_SPILL");
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

static const char old_bytes[] = "old\n", appended_to[] = "rows\nold\n", old_out[] = "out.csv",
                  old_manifest[] = "out.csv.manifest.json";

static bool appends(const Shape *shape) { return shape->job->sinks[0].append; }

// An output of an earlier job. That of a shape that replaces it has a manifest.
static bool plant_old(const Shape *shape) {
    const char *const paths[] = {old_out, old_manifest};
    int64_t len = shape->old ? (int64_t)strlen(shape->old) : 0;
    Trouble trouble = {0};
    for (int i = 0; i < (appends(shape) ? 1 : 2) && len > 0; i++) {
        int fd = durable_open(paths[i], true);
        if (fd < 0 || !durable_put(fd, shape->old, len, 0) || !durable_put_sync(fd)) return false;
        durable_shut(fd);
    }
    return durable_sync_folder_of(old_out, &trouble);
}

static bool is_old(const char *path) {
    int64_t len = 0;
    const char *bytes = durable_size(path) >= 0 ? model_holds(path, &len) : nullptr;
    if (!bytes) return false;
    bool replaced = len == sizeof old_bytes - 1 && memcmp(bytes, old_bytes, (size_t)len) == 0;
    bool kept = len == sizeof appended_to - 1 && memcmp(bytes, appended_to, (size_t)len) == 0;
    return replaced || kept;
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
    {"an_inner_join", &inner_join_job, "out.csv.gz", true},
    {"a_left_join", &left_join_job, "parts/", true},
    {"a_group", &group_job, "out.csv", true},
    {"a_group_to_parts", &group_job, "parts/", true},
    {"distinct_and_sorted", &distinct_job, "parts/", true},
    {"behind_itself", &itself_job, "out.csv", false},
    {"behind_itself_beside_groups", &beside_job, "out.csv", true},
    {"output_beside_groups", &beside_job, "-", true},
    {"replaced", &direct_job, "out.csv", true, "--overwrite", old_bytes},
    {"several_replaced", &several_job, "out.csv", true, "--overwrite", old_bytes},
    {"sealed", &sealed_job, "out.csv", true},
    {"sealed_and_replaced", &sealed_job, "out.csv", true, "--overwrite", old_bytes},
    {"by_key", &keyed_job, "out.csv", true},
    {"by_key_and_replaced", &keyed_job, "out.csv", true, "--overwrite", old_bytes},
    {"appended", &appending_job, "out.csv", true, nullptr, appended_to},
    {"appended_behind_a_sort", &appending_sort_job, "out.csv", true, nullptr, appended_to},
    {"appended_to_nothing", &appending_job, "out.csv", true},
    {"a_window", &window_job, "out.csv", true},
    {"a_window_to_parts", &window_job, "parts/", true},
    {"first_of_each_key", &top_job, "out.csv", true},
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
    if (!plant_old(shape)) return false;
    for (uint32_t i = 0; i < lives; i++) {
        if (random_below(8) == 0) model_fail_sync(1 + random_below(12));
        else model_arm(random_below((uint32_t)calls + 20));
        int code = life(shape);
        if (!printed_right(&printed) || (code == 0 && !printed)) return false;
        model_crash();
        if (!is_right(false)) return false;
    }
    int code = life(shape);
    read_said(text);
    // The files are published, and the same command says that the job is done.
    if (printed && code == 3 && strstr(text, "error[SB8136]")) code = life(shape);
    if (code != 0) show_said();
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
    random_state = 1;
    model_begin();
    CHECK(!appends(shape) || plant_old(shape));
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
static void an_inner_join(void) { run_shape(&shapes[22]); }
static void a_left_join(void) { run_shape(&shapes[23]); }
static void a_group(void) { run_shape(&shapes[24]); }
static void a_group_to_parts(void) { run_shape(&shapes[25]); }
static void distinct_and_sorted(void) { run_shape(&shapes[26]); }
static void behind_itself(void) { run_shape(&shapes[27]); }
static void behind_itself_beside_groups(void) { run_shape(&shapes[28]); }
static void output_beside_groups(void) { run_shape(&shapes[29]); }
static void replaced(void) { run_shape(&shapes[30]); }
static void several_replaced(void) { run_shape(&shapes[31]); }
static void sealed_sinks_kept(void) { run_shape(&shapes[32]); }
static void sealed_and_replaced(void) { run_shape(&shapes[33]); }
static void by_key(void) { run_shape(&shapes[34]); }
static void by_key_and_replaced(void) { run_shape(&shapes[35]); }
static void appended(void) { run_shape(&shapes[36]); }
static void appended_behind_a_sort(void) { run_shape(&shapes[37]); }
static void appended_to_nothing(void) { run_shape(&shapes[38]); }
static void a_window(void) { run_shape(&shapes[39]); }
static void a_window_to_parts(void) { run_shape(&shapes[40]); }
static void first_of_each_key(void) { run_shape(&shapes[41]); }

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
    {"an_inner_join", an_inner_join},
    {"a_left_join", a_left_join},
    {"a_group", a_group},
    {"a_group_to_parts", a_group_to_parts},
    {"distinct_and_sorted", distinct_and_sorted},
    {"behind_itself", behind_itself},
    {"behind_itself_beside_groups", behind_itself_beside_groups},
    {"output_beside_groups", output_beside_groups},
    {"replaced", replaced},
    {"several_replaced", several_replaced},
    {"sealed", sealed_sinks_kept},
    {"sealed_and_replaced", sealed_and_replaced},
    {"by_key", by_key},
    {"by_key_and_replaced", by_key_and_replaced},
    {"appended", appended},
    {"appended_behind_a_sort", appended_behind_a_sort},
    {"appended_to_nothing", appended_to_nothing},
    {"a_window", a_window},
    {"a_window_to_parts", a_window_to_parts},
    {"first_of_each_key", first_of_each_key},
};

UNIT_MAIN("crash_states_test", tests)
