// The watch over threads and stages, and what follows from its figures.
#include "runtime/device/busy_time.h"
#include "runtime/observe/bound.h"
#include "runtime/report/log.h"
#include "runtime/report/table.h"
#include "runtime/observe/watch.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdlib.h>

static const BoundStage none = {.label = {"read", 4}};

// What is said of a job of 100 s on 8 threads.
static void bounded_by(const BoundResource *resources, uint32_t resource_count,
                       const BoundStage *stages, uint32_t stage_count, const char *expected) {
    Text text = {0};
    bound_explain(&(Bound){.seconds = 100, .threads = 8, .resources = resources,
                           .resource_count = resource_count, .stages = stages,
                           .stage_count = stage_count},
                  &text);
    sb_text_add(&text, "", 1);
    CHECK_SAYS(strcmp(text.ptr, expected) == 0, "%s", text.ptr);
    sb_text_close(&text);
}

// The same of one that has two GPUs besides.
static void bounded_with_gpus(const BoundResource *cpus, const BoundStage *stages,
                              BoundGpu gpu, const char *expected) {
    Text text = {0};
    bound_explain(&(Bound){.seconds = 100, .threads = 8, .resources = cpus, .resource_count = 1,
                           .stages = stages, .stage_count = 1, .gpu = gpu},
                  &text);
    sb_text_add(&text, "", 1);
    CHECK_SAYS(strcmp(text.ptr, expected) == 0, "%s", text.ptr);
    sb_text_close(&text);
}

#define CPUS(seconds) {.name = {"cpus", 4}, .supply = 8, .used = seconds}
#define ACCEL(seconds) {.name = {"accel", 5}, .supply = 4, .used = seconds}

static void what_bounds_a_job(void) {
    const BoundStage decode = {.label = {"decode", 6}, .at_work = 100, .cpus = 700};
    const BoundStage load = {.label = {"load", 4}, .at_work = 60, .cpus = 100};
    const BoundStage two[] = {load, decode};
    bounded_by((BoundResource[]){CPUS(800), ACCEL(236)}, 2, two, 2,
               "accel idle 41 %: decode is the bottleneck; 6 more cpus would saturate it");
    bounded_by((BoundResource[]){CPUS(800), ACCEL(356)}, 2, two, 2,
               "accel idle 11 %: decode is the bottleneck; 1 more cpu would saturate it");
    bounded_by((BoundResource[]){CPUS(700), ACCEL(396)}, 2, two, 2,
               "accel busy 99 %: more accel would help");
    bounded_by((BoundResource[]){CPUS(800)}, 1, two, 2,
               "cpus busy 100 %: decode takes 88 % of that; more cpus would help");
    bounded_by((BoundResource[]){CPUS(400)}, 1, two, 2,
               "cpus idle 50 %: decode was at work 100 % of the time, and had too few tasks at "
               "once, or slow input");
}

static void what_a_job_waits_for(void) {
    const BoundResource cpus = CPUS(200);
    BoundStage stages[] = {none, none};
    stages[1].label = (SbStr){"sort x", 6};
    stages[1].memory = 25;
    bounded_by(&cpus, 1, stages, 2,
               "sort x waited for memory 25 % of the time; more --memory would help");
    stages[1].memory = 0;
    stages[1].write = 240;
    bounded_by(&cpus, 1, stages, 2,
               "threads wrote 30 % of the time: the disk of the output is the bound");
    stages[1].write = 0;
    stages[1].finish = 30;
    bounded_by(&cpus, 1, stages, 2,
               "sorting and merging after sort x took 30.0 thread seconds while little else could "
               "run");
}

static void a_gpu_bounds_a_job(void) {
    const BoundStage read = {.label = {"read", 4}, .at_work = 100, .cpus = 700};
    const BoundResource busy = CPUS(800), idle = CPUS(80);
    bounded_with_gpus(&busy, &read, (BoundGpu){2, 190, 50, 180, 60},
                      "gpu busy 95 %: copies in 25 %, kernels 90 %, copies out 30 %; more GPUs "
                      "would help");
    bounded_with_gpus(&idle, &read, (BoundGpu){2, 190, 50, 180, 60},
                      "gpu busy 95 %: copies in 25 %, kernels 90 %, copies out 30 %; more GPUs "
                      "would help");
    bounded_with_gpus(&idle, &read, (BoundGpu){2, 190, 50, 80, 180},
                      "gpu busy 95 %: copies in 25 %, kernels 40 %, copies out 90 %; fewer "
                      "columns, or --device=cpu, would help");
    bounded_with_gpus(&busy, &read, (BoundGpu){2, 80, 50, 20, 30},
                      "gpu idle 60 %: read is the bottleneck; 12 more cpus would saturate it");
    bounded_with_gpus(&busy, &read, (BoundGpu){2, 4, 1, 1, 3},
                      "cpus busy 100 %: read takes 88 % of that; more cpus would help");
}

// Streams work beside each other, and their spans come out of order.
static void time_of_several_streams(void) {
    BusyTime busy = {0};
    busy_add(&busy, 10, 20);
    busy_add(&busy, 15, 30);
    busy_add(&busy, 40, 50);
    CHECK(busy_ns(&busy) == 30);
    busy_add(&busy, 32, 35);
    busy_add(&busy, 5, 12);
    CHECK(busy_ns(&busy) == 38 && busy.count == 3);
    busy_add(&busy, 25, 45);
    CHECK(busy_ns(&busy) == 45 && busy.count == 1);
    busy_add(&busy, 60, 60);
    CHECK(busy_ns(&busy) == 45);
    for (int64_t i = 0; i < 1000; i++) {
        int64_t at = 100 + 10 * (i ^ 1);  // Pairs in wrong order.
        busy_add(&busy, at, at + 4);
        busy_add(&busy, at + 2, at + 7);
    }
    CHECK(busy_ns(&busy) == 45 + 7 * 1000 && busy.count < BUSY_SPANS);
    busy_add(&busy, 0, 100);  // Much too late: what it covers is settled.
    CHECK(busy_ns(&busy) == 45 + 7 * 1000);
}

static void states_add_up_to_the_time(void) {
    Watch watch = {0};
    WatchFigures figures;
    CHECK(watch_open(&watch, 2, 1, log_clock_ns()));
    int64_t begun = watch.job_ns;  // Until its stages begin they are pending.
    watch_state(&watch, 0, WATCH_BUSY, begun + 10);
    watch_state(&watch, 0, WATCH_BUSY, begun + 20);
    watch_state(&watch, 0, WATCH_NO_INPUT, begun + 30);
    watch_state(&watch, 0, WATCH_NO_ROOM, begun + 70);
    watch_state(&watch, 0, WATCH_NO_SLOT, begun + 71);
    watch.closed_ns = begun + 100;
    watch_figures(&watch, 0, &figures);
    CHECK(figures.state == WATCH_NO_SLOT);
    CHECK(figures.class_ns[CLASS_ASIDE] == 10 && figures.class_ns[CLASS_BUSY] == 20);
    CHECK(figures.class_ns[CLASS_STARVED] == 40 && figures.class_ns[CLASS_BLOCKED] == 30);
    watch_figures(&watch, 1, &figures);
    CHECK(figures.state == WATCH_PENDING && figures.class_ns[CLASS_ASIDE] == 100);
    watch_stop(&watch);
    int64_t whole = watch_end_job(&watch);
    for (uint32_t s = 0; s < 2; s++) {
        int64_t sum = 0;
        watch_figures(&watch, s, &figures);
        for (int c = 0; c < WATCH_CLASSES; c++) sum += figures.class_ns[c];
        CHECK(figures.state == WATCH_DONE && sum == whole);
    }
    watch_close(&watch);
}

typedef struct Changing {
    Watch        watch;
    _Atomic bool over;
} Changing;

static void *change_states(void *arg) {
    Changing *changing = arg;
    while (!changing->over)
        for (int s = WATCH_BUSY; s <= WATCH_NO_ROOM; s++)
            watch_state(&changing->watch, 0, (WatchState)s, log_clock_ns());
    return nullptr;
}

// Whoever reads while a state changes sees all of the time, and no state that falls.
static void states_are_read_as_they_change(void) {
    enum : int64_t { READS = 200000 };
    Changing changing = {0};
    WatchFigures figures, before = {0};
    CHECK(watch_open(&changing.watch, 1, 1, log_clock_ns()));
    pthread_t thread;
    CHECK(pthread_create(&thread, nullptr, change_states, &changing) == 0);
    int64_t short_of = 0, fell = 0;
    for (int64_t i = 0; i < READS; i++) {
        int64_t begun = log_clock_ns() - changing.watch.job_ns, sum = 0;
        watch_figures(&changing.watch, 0, &figures);
        for (int s = 0; s < WATCH_STATES; s++) {
            sum += figures.state_ns[s];
            fell += figures.state_ns[s] < before.state_ns[s];
        }
        short_of += sum < begun;
        before = figures;
    }
    changing.over = true;
    pthread_join(thread, nullptr);
    CHECK_SAYS(fell == 0 && short_of == 0, "%ld fell, %ld are short", fell, short_of);
    watch_stop(&changing.watch);
    watch_close(&changing.watch);
}

static void what_waits_for_outputs(void) {
    Watch watch = {0};
    WatchFigures figures;
    CHECK(watch_open(&watch, 1, 1, log_clock_ns()));
    watch_unwritten(&watch, 0, 30);
    watch_unwritten(&watch, 0, -10);
    watch_begin(&watch, 0, WORK_WRITE, 0, watch.begun_ns);
    watch_figures(&watch, 0, &figures);
    CHECK(figures.unwritten == 20 && figures.writing == 1 && figures.running == 0);
    watch_end(&watch, 0, watch.begun_ns + 10);
    watch_figures(&watch, 0, &figures);
    CHECK(figures.writing == 0 && figures.work_ns[WORK_WRITE] == 10);
    watch_close(&watch);
}

static void rows_at_work_count_and_never_fall(void) {
    Watch watch = {0};
    WatchFigures figures;
    CHECK(watch_open(&watch, 1, 1, log_clock_ns()));
    watch_begin(&watch, 0, WORK_TASK, 0, watch.begun_ns);
    atomic_store(&watch.threads[0].live.rows, 5);
    atomic_store(&watch.threads[0].live.bytes, 50);
    watch_figures(&watch, 0, &figures);
    CHECK(figures.rows_in == 5 && figures.rows_live == 5 && figures.bytes_in == 50);
    watch_made(&watch, 0, &(WatchMade){4, 4, 40, 40});  // The fifth row is judged again.
    watch_figures(&watch, 0, &figures);
    CHECK(figures.rows_in == 5 && figures.rows_live == 0 && figures.bytes_in == 50);
    watch_end(&watch, 0, watch.begun_ns + 10);
    watch_stop(&watch);
    watch_figures(&watch, 0, &figures);
    CHECK(figures.rows_in == 4 && figures.bytes_in == 40);
    watch_close(&watch);
}

static void work_is_counted_by_kind(void) {
    Watch watch = {.keeps_spans = true};
    WatchFigures figures;
    CHECK(watch_open(&watch, 2, 2, log_clock_ns()));
    watch_begin(&watch, 1, WORK_READ, 1, watch.begun_ns);
    watch_figures(&watch, 1, &figures);
    CHECK(figures.running == 1 && figures.pieces[WORK_READ] == 0);
    watch_turn(&watch, 1, WORK_TASK);
    watch_from(&watch, 1, 0, (MadeBy){0, 7});
    MadeBy from = watch_made(&watch, 1, &(WatchMade){3, 2, 30, 20});
    watch_made(&watch, 1, &(WatchMade){1, 1, 10, 10});
    CHECK(from.thread == 1 && from.at_ns > 0);
    watch_end(&watch, 1, from.at_ns);
    watch_figures(&watch, 1, &figures);
    CHECK(figures.running == 0 && figures.pieces[WORK_READ] == 1 && figures.pieces[WORK_TASK] == 1);
    CHECK(figures.rows_in == 4 && figures.rows_out == 3);
    CHECK(figures.bytes_in == 40 && figures.bytes_out == 30);
    int64_t lost;
    WatchSpans taken = watch_take_spans(&watch, &lost);
    const WatchSpan *spans = taken.items;
    CHECK(taken.count == 2 && lost == 0);
    CHECK(spans[0].work == WORK_READ && spans[1].work == WORK_TASK && spans[1].rows == 4);
    CHECK(spans[0].end_ns == spans[1].begin_ns && spans[1].from[0].at_ns == 7);
    free(taken.items);
    taken = watch_take_spans(&watch, &lost);
    CHECK(taken.count == 0);
    free(taken.items);
    watch_close(&watch);
}

static void tables_have_columns(void) {
    TextTable table = {.columns = 3, .left = 2};
    const char *const cells[] = {"a", "bb", "c", "\xc3\xa4\xc3\xa4", "b", ""};
    for (int i = 0; i < 6; i++) sb_table_word(&table, cells[i]);
    sb_table_word(&table, "x");
    sb_table_word(&table, "");
    sb_table_figure(&table, 1234);
    Text text = {0};
    sb_table_print(&table, &text);
    sb_text_add(&text, "", 1);
    CHECK_SAYS(strcmp(text.ptr, "a   bb      c\n\xc3\xa4\xc3\xa4  b \n"
                                "x       1,234\n") == 0, "%s", text.ptr);
    sb_text_close(&text);
    sb_table_close(&table);
}

static const UnitTest tests[] = {
    {"what_bounds_a_job", what_bounds_a_job},
    {"what_a_job_waits_for", what_a_job_waits_for},
    {"a_gpu_bounds_a_job", a_gpu_bounds_a_job},
    {"time_of_several_streams", time_of_several_streams},
    {"states_add_up_to_the_time", states_add_up_to_the_time},
    {"states_are_read_as_they_change", states_are_read_as_they_change},
    {"rows_at_work_count_and_never_fall", rows_at_work_count_and_never_fall},
    {"work_is_counted_by_kind", work_is_counted_by_kind},
    {"tables_have_columns", tables_have_columns},
};

UNIT_MAIN("watch", tests)
