#include "runtime/job/exchange.h"

#include <stdlib.h>

// Processes in which tasks of some stages run, and why some of these run in the job.
typedef struct Where {
    bool  home, far;
    SbStr why;
} Where;

static void add_stage(Where *where, const FlowPlan *flow, uint32_t stage) {
    bool far = !flow->plan.stages[stage].home;
    where->far |= far;
    where->home |= !far;
    if (!far && where->why.len == 0) where->why = flow->home[stage];
}

static Where who_fills(const SbJob *what, const FlowPlan *flow, uint32_t breaker) {
    Where where = {0};
    for (uint32_t s = 0; s < what->stage_count; s++)
        for (uint32_t t = 0; t < what->stages[s].terminal_count; t++)
            if (what->stages[s].terminals[t] == breaker) add_stage(&where, flow, s);
    return where;
}

static bool reads(const SbStage *stage, uint32_t breaker) {
    bool rows = stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED;
    bool any = rows && stage->input_index == breaker;
    for (uint32_t n = 0; n < stage->need_count; n++) any |= stage->needs[n] == breaker;
    return any;
}

static Where who_reads(const SbJob *what, const FlowPlan *flow, uint32_t breaker) {
    Where where = {0};
    for (uint32_t s = 0; s < what->stage_count; s++)
        if (reads(&what->stages[s], breaker)) add_stage(&where, flow, s);
    return where;
}

static const char *words(Where where) {
    if (where.home && where.far) return "workers and the job";
    return where.far ? "workers" : "the job";
}

// The words are those of --explain (ir/plan_exchange.c).
static void add_breaker(TextTable *table, const SbJob *what, const FlowPlan *flow, uint32_t b) {
    enum { LABEL_MAX = 40 };
    const SbBreaker *breaker = &what->breakers[b];
    SbStr step = what->steps[breaker->step].label;
    Where fills = who_fills(what, flow, b), reader = who_reads(what, flow, b);
    sb_text_add_short(sb_table_cell(table), step.ptr, step.len, LABEL_MAX);
    sb_table_word(table, words(fills));
    if (fills.far) sb_table_add(table, breaker->hands.ptr, breaker->hands.len);
    else sb_table_word(table, "nothing");
    sb_table_add(table, breaker->shares.ptr, breaker->shares.len);
    sb_table_word(table, words(reader));
    SbStr why = fills.home ? fills.why : reader.why;
    sb_table_add(table, why.ptr, why.len);
}

static void add_copies(const SbJob *what, Text *text) {
    for (uint32_t s = 0; s < what->stage_count; s++) {
        if (what->stages[s].need_count == 0) continue;
        sb_text_str(text, "workers of other machines get a copy of a join's table of up to an "
                          "eighth of a worker's memory, and 64 MiB; the job reads larger ones\n");
        return;
    }
}

static void print(const SbJob *what, const FlowPlan *flow, Text *text) {
    TextTable table = {.columns = 6, .left = 6};
    static const char *const heads[] = {"exchange", "filled by", "each hands over",
                                        "put together by", "read by", "the job, as"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) sb_table_word(&table, heads[i]);
    uint32_t count = 0;
    for (uint32_t b = 0; b < what->breaker_count; b++) {
        if (sb_is_edge(what, b)) continue;
        add_breaker(&table, what, flow, b);
        count++;
    }
    if (count > 0) sb_table_print(&table, text);
    sb_table_close(&table);
}

void exchange_print(const FlowParts *of, uint32_t threads, Text *text) {
    enum : int64_t { ENOUGH = INT64_C(1) << 40, PARTITION = 4 << 20 };
    // What memory there is does not matter here.
    JobMachine machine = *of->machine;
    FlowParts parts = *of;
    FlowSizes sizes = {.ledger = ENOUGH, .partition = PARTITION, .block_bytes = 1 << 20,
                       .threads = threads};
    parts.machine = &machine;
    machine.workers = flow_job_workers(of->ask);
    machine.workers.threads = machine.workers.own_cpus = machine.workers.place_threads = threads;
    machine.workers.ledger = ENOUGH;
    FlowPlan *plan = malloc(sizeof *plan);
    bool known = plan && machine.workers.count > 0 &&
                 flow_job_make(&parts, &sizes, plan) == FLOW_OK;
    if (known) print(of->ask->what, plan, text);
    if (known && of->ask->options.listen) add_copies(of->ask->what, text);
    free(plan);
}
