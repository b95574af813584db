#include "runtime/job/exchange.h"

#include <stdlib.h>

// By SbBreakKind: what a process hands over of what it has put there, and how the threads that put
// all of it together share it out.
typedef struct Exchange {
    const char *hands, *shares;
} Exchange;

static const Exchange exchanges[] = {
    [SB_BREAK_GROUP] = {"its own groups", "ranges of hashes"},
    [SB_BREAK_SORT] = {"rows", "sampled ranges of keys"},
    [SB_BREAK_JOIN] = {"rows", "ranges of hashes"},
};

// Processes in which tasks of some stages run.
typedef struct Where {
    bool home, far;
} Where;

static void add_stage(Where *where, const CorePlan *plan, uint32_t stage) {
    bool far = plan->node_kinds > 1 && !plan->stages[stage].home;
    where->far |= far;
    where->home |= !far;
}

static Where who_fills(const SbJob *what, const CorePlan *plan, uint32_t breaker) {
    Where where = {0};
    for (uint32_t s = 0; s < what->stage_count; s++)
        for (uint32_t t = 0; t < what->stages[s].terminal_count; t++)
            if (what->stages[s].terminals[t] == breaker) add_stage(&where, plan, s);
    return where;
}

static bool reads(const SbStage *stage, uint32_t breaker) {
    bool rows = stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED;
    bool any = rows && stage->input_index == breaker;
    for (uint32_t n = 0; n < stage->need_count; n++) any |= stage->needs[n] == breaker;
    return any;
}

static Where who_reads(const SbJob *what, const CorePlan *plan, uint32_t breaker) {
    Where where = {0};
    for (uint32_t s = 0; s < what->stage_count; s++)
        if (reads(&what->stages[s], breaker)) add_stage(&where, plan, s);
    return where;
}

static const char *words(Where where) {
    if (where.home && where.far) return "workers and the job";
    return where.far ? "workers" : "the job";
}

static void add_breaker(TextTable *table, const SbJob *what, const CorePlan *plan, uint32_t b) {
    enum { LABEL_MAX = 40 };
    const SbBreaker *breaker = &what->breakers[b];
    const Exchange *exchange = &exchanges[breaker->kind];
    SbStr step = what->steps[breaker->step].label;
    Where fills = who_fills(what, plan, b);
    sb_text_add_short(sb_table_cell(table), step.ptr, step.len, LABEL_MAX);
    sb_table_word(table, words(fills));
    sb_table_word(table, fills.far ? exchange->hands : "nothing");
    sb_table_word(table, exchange->shares);
    sb_table_word(table, words(who_reads(what, plan, b)));
}

static void print(const SbJob *what, const CorePlan *plan, Text *text) {
    TextTable table = {.columns = 5, .left = 5};
    static const char *const heads[] = {"exchange", "filled by", "each hands over",
                                        "put together by", "read by"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) sb_table_word(&table, heads[i]);
    uint32_t count = 0;
    for (uint32_t b = 0; b < what->breaker_count; b++) {
        if (sb_is_edge(what, b)) continue;
        add_breaker(&table, what, plan, b);
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
    parts.journaled = of->ask->options.resume;
    machine.workers = flow_job_workers(of->ask, of->edges);
    machine.workers.threads = threads;
    machine.workers.ledger = ENOUGH;
    FlowPlan *plan = malloc(sizeof *plan);
    bool known = plan && machine.workers.count > 0 &&
                 flow_job_make(&parts, &sizes, plan) == FLOW_OK;
    if (known) print(of->ask->what, &plan->plan, text);
    free(plan);
}
