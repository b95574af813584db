#include "runtime/job/memory_plan.h"

#include "runtime/device.h"
#include "runtime/host.h"
#include "runtime/job/flow_job.h"
#include "runtime/memory.h"
#include "runtime/report.h"

#include <stdlib.h>

enum : int64_t { PARTITION_MAX = 4 << 20, PARTITION_MIN = 64 << 10 };

// What the job has with so much memory and partitions of that size, and what its tasks take.
typedef struct Sketch {
    FlowPlan   flow;
    FlowSizes  sizes;
    MemoryNeed need;
    int64_t    whole;
} Sketch;

// ---- sharing out ----------------------------------------------------------------------------

static void open_account(SbMemory *memory, int64_t whole, int64_t partition, uint32_t threads) {
    int64_t rest = sb_memory_rest(whole);
    sb_memory_open(memory, whole > rest ? whole - rest : 0);
    sb_memory_reserve(memory, 2 * partition * threads);
}

enum { REST_SHARE = 16, BACK_SHARE = 6, RECORDS_SHARE = 16 };

static bool has_breakers(const SbJob *job) {
    for (uint32_t b = 0; b < job->breaker_count; b++)
        if (job->breakers[b].kind != SB_BREAK_EDGE) return true;
    return false;
}

// Of records of rejects: those that stay in memory and as many that are being written, and those of
// the partition that makes them too many, with what it takes to write them.
static int64_t records_of(const RejectLimits *limits, const SbMemory *memory) {
    int64_t bytes = flow_job_record_bytes(limits);
    return bytes > 0 ? memory->limit / RECORDS_SHARE + 2 * bytes : 0;
}

// All but what nobody foresees, as a row that is longer than a partition, with breakers what it
// takes to read back what they have put on disk, and what is kept until limits have judged it.
static int64_t ledger_of(const FlowParts *of, const SbMemory *memory) {
    bool more = has_breakers(of->ask->what) || flow_job_keeps(of->ask, of->edges);
    int64_t rest = memory->limit / (more ? BACK_SHARE : REST_SHARE);
    return memory->limit - rest - records_of(&of->limits, memory);
}

int64_t memory_plan_ledger(const FlowParts *of) { return ledger_of(of, &of->machine->memory); }

// With how much the last charge that was refused would have been there is the least that can do:
// each thread goes on from there, and asks for more. Twice as much is a step that ends soon.
static void say_enough(const JobMachine *machine, Trouble *trouble) {
    enum : int64_t { MIB = 1 << 20, CHARGES = 8 };
    int64_t whole = machine->memory_whole, lacked = machine->memory.lacked;
    int64_t charges = CHARGES * slots_threads(&machine->slots), most = INT64_MAX / 4;
    int64_t more = lacked < most / charges ? charges * lacked : most;
    if (lacked > most) lacked = most;
    if (lacked > 0)
        trouble_fix(trouble, "raise --memory, to %lldMiB for a start; under %lldMiB it cannot do",
                    (long long)((whole + (more > whole ? more : whole) + MIB - 1) / MIB),
                    (long long)((whole + lacked + MIB - 1) / MIB));
}

bool memory_plan_lacks(const JobAsk *ask, const JobMachine *machine, SbStr who,
                       Trouble *trouble) {
    char whole[SIZE_TEXT], rows[SIZE_TEXT];
    if (trouble->kind != TROUBLE_NONE) return false;
    if (ask->options.memory) size_text(machine->memory_whole, whole);
    else size_say(machine->memory_whole, whole);
    size_say(machine->memory.limit, rows);
    trouble_set(trouble, TROUBLE_MEMORY,
                ask->options.memory
                    ? "'%.*s' needs more than the %s that --memory=%s leaves for rows"
                    : "'%.*s' needs more than the %s that 80 %% of the machine, %s, leave for rows",
                (int)who.len, who.ptr, rows, whole);
    say_enough(machine, trouble);
    return false;
}

bool memory_plan_over(const Options *options, Trouble *trouble) {
    char given[SIZE_TEXT], there[SIZE_TEXT];
    int64_t memory = device_of(DEVICE_CPU)->memory();
    if (options->memory <= memory) return false;
    size_text(options->memory, given);
    size_say(memory, there);
    trouble_set(trouble, TROUBLE_MEMORY_OVER,
                "--memory=%s is more than the %s that the machine or its cgroup has: a job that "
                "takes them is killed", given, there);
    return true;
}

// ---- what tasks take ------------------------------------------------------------------------

static bool make(const FlowParts *of, uint32_t threads, int64_t whole, int64_t partition,
                 Sketch *sketch) {
    SbMemory memory;
    open_account(&memory, whole, partition, threads);
    sketch->whole = whole;
    sketch->sizes = (FlowSizes){
        .ledger = ledger_of(of, &memory), .partition = partition,
        .block_bytes = memory.block_max, .threads = threads,
        .spill_bytes = spill_buffer_bytes(memory.limit,
                                          job_lanes(of->ask->what, &of->ask->options, threads))};
    return flow_job_make(of, &sketch->sizes, &sketch->flow) == FLOW_OK &&
           memory_need_least(&sketch->need, &sketch->flow.plan,
                             policy_of(job_policy(of->ask->what, &of->ask->options))->staged);
}

typedef enum Speed { SPEED_LEAST, SPEED_FULL } Speed;

static int64_t partition_of(const Options *options, Speed speed) {
    if (options->partition) return options->partition;
    return speed == SPEED_FULL ? PARTITION_MAX : PARTITION_MIN;
}

// The tasks that are busy at full speed, whatever memory there is: what --plan, the summary and the
// statistics mean. False: the job is too wide for a plan.
static bool find_busy(const FlowParts *of, uint32_t threads, Sketch *sketch, BusyTasks *busy) {
    int64_t partition = partition_of(&of->ask->options, SPEED_FULL);
    if (!make(of, threads, of->machine->memory_whole, partition, sketch)) return false;
    memory_need_busy(busy, &sketch->flow.plan);
    return true;
}

// The least memory for the speed, to the granule.
static bool find_least(const FlowParts *of, uint32_t threads, Speed speed, Sketch *sketch) {
    enum : int64_t { GRANULE = 512 << 10, GRANULES_MAX = INT64_C(1) << 28 };
    int64_t low = 0, high = GRANULES_MAX, partition = partition_of(&of->ask->options, speed);
    BusyTasks busy;
    if (!find_busy(of, threads, sketch, &busy)) return false;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (!make(of, threads, middle * GRANULE, partition, sketch)) return false;
        if (speed == SPEED_FULL)
            memory_need_tasks(&sketch->need, &sketch->flow.plan, &busy, INT64_MAX);
        if (sketch->need.total <= sketch->sizes.ledger) high = middle;
        else low = middle + 1;
    }
    if (!make(of, threads, high * GRANULE, partition, sketch)) return false;
    if (speed == SPEED_FULL) memory_need_tasks(&sketch->need, &sketch->flow.plan, &busy, INT64_MAX);
    return true;
}

// ---- what the job gets ----------------------------------------------------------------------

static double megabytes(int64_t bytes) { return (double)bytes / (1 << 20); }

// The stage whose tasks hold the most memory by what the program says.
static const SbStage *largest_task(const SbJob *job) {
    const SbStage *largest = nullptr;
    for (uint32_t s = 0; s < job->stage_count; s++)
        if (!largest || job->stages[s].memory > largest->memory) largest = &job->stages[s];
    return largest;
}

static void refuse_task(Trouble *trouble, const SbStage *stage, long long least) {
    char given[SIZE_TEXT];
    size_text(stage->memory, given);
    trouble_fix(trouble, "give it --memory=%lldMiB or more, or a task of '%.*s' less than "
                "with (memory = %s)", least, (int)stage->label.len, stage->label.ptr, given);
}

static void refuse(const FlowParts *of, uint32_t threads, Sketch *sketch) {
    Trouble *trouble = of->trouble;
    const Options *options = &of->ask->options;
    int64_t whole = of->machine->memory_whole;
    if (!find_least(of, threads, SPEED_LEAST, sketch)) return;
    const char *from = options->memory ? "--memory gives" : "80 % of the machine are";
    trouble_set(trouble, TROUBLE_MEMORY_LEAST,
                "the job needs at least %.1f MiB of memory, and %s %.1f MiB",
                megabytes(sketch->whole), from, megabytes(whole));
    long long least = (sketch->whole + (1 << 20) - 1) >> 20;
    const SbStage *stage = largest_task(of->ask->what);
    if (options->memory > 0 && options->memory < 1 << 20)
        trouble_fix(trouble, "%lld are bytes: give it --memory=%lldMiB or more",
                    (long long)options->memory, least);
    else if (stage && stage->memory > whole / 2)
        refuse_task(trouble, stage, least);
    else
        trouble_fix(trouble, "give it --memory=%lldMiB or more%s; --plan shows what takes it",
                    least, options->partition > PARTITION_MIN ? ", or a smaller --partition"
                                                                 : "");
}

// Of a job that is too wide for a plan.
static int64_t guess_partition(const JobMachine *machine, uint32_t threads) {
    enum { SHARE = 32 };
    int64_t rest = sb_memory_rest(machine->memory_whole);
    int64_t bytes = (machine->memory_whole - rest) / SHARE / threads;
    if (bytes < PARTITION_MIN) return PARTITION_MIN;
    return bytes > PARTITION_MAX ? PARTITION_MAX : bytes;
}

// Where there are breakers, memory is worth more to them than to larger partitions. Rows that may
// have to wait on disk are an exception: of each of their partitions something stays in memory.
static int64_t tasks_share(const FlowParts *of, const Sketch *sketch) {
    enum { SHARE = 4 };
    bool whole = sketch->need.spools > 0 || !memory_plan_may_spill(of);
    return sketch->sizes.ledger / (whole ? 1 : SHARE);
}

// The largest partition with which all slots can be busy, else the smallest. False: even so there
// is too little.
static bool choose_partition(const FlowParts *of, uint32_t threads, Sketch *sketch,
                             JobMachine *machine, int64_t *partition) {
    bool given = of->ask->options.partition > 0;
    BusyTasks busy = {0};
    if (find_busy(of, threads, sketch, &busy)) machine->tasks_most = busy.count;
    for (*partition = partition_of(&of->ask->options, SPEED_FULL);; *partition /= 2) {
        if (!make(of, threads, machine->memory_whole, *partition, sketch)) {
            if (!given) *partition = guess_partition(machine, threads);
            return true;
        }
        MemoryNeed full = sketch->need;
        memory_need_tasks(&full, &sketch->flow.plan, &busy, INT64_MAX);
        const WorkerPlan *workers = &machine->workers;
        bool far = workers->count == 0 || sketch->need.total <= workers->ledger;
        bool fits = far && full.total <= tasks_share(of, sketch);
        if (fits || given || *partition <= PARTITION_MIN) break;
    }
    memory_need_tasks(&sketch->need, &sketch->flow.plan, &busy, sketch->sizes.ledger);
    machine->tasks_fit = sketch->need.tasks;
    return sketch->need.total <= sketch->sizes.ledger;
}

static Sketch *new_sketch(Trouble *trouble) {
    Sketch *sketch = malloc(sizeof *sketch);
    if (!sketch) trouble_no_memory(trouble, "to begin");
    return sketch;
}

// ---- workers --------------------------------------------------------------------------------

// A process has a program, stacks and what lies between blocks, which no account counts.
enum : int64_t { PROCESS = 12 << 20, MIB = 1 << 20, EACH_MIN = 4 << 20 };

// What each worker gets, and what is left of the whole to this process. Breakers are this
// process's.
static int64_t share_out(const SbJob *what, int64_t whole, WorkerPlan *workers) {
    int64_t count = workers->count;
    int64_t parts = has_breakers(what) ? 2 * count : count + 1;
    int64_t each = whole / parts - PROCESS;
    workers->memory = each;
    int64_t account = each - arena_kept(each);
    workers->ledger = account - account / REST_SHARE;
    return whole - count * (each + PROCESS);
}

bool memory_plan_share_out(Job *job) {
    JobMachine *machine = &job->machine;
    WorkerPlan *workers = &machine->workers;
    const Options *options = &job->ask.options;
    machine->memory_total = machine->memory_whole;
    *workers = flow_job_workers(&job->ask);
    if (workers->count == 0) return true;
    uint32_t own = workers->count - workers->places, cpus = machine->slots.cpus / WHOLE;
    uint32_t place_cpus = options->workers.place_cpus;
    workers->own_cpus = own > 0 && cpus > own ? cpus / own : 1;
    workers->place_threads = place_cpus ? place_cpus : cpus;
    for (uint32_t w = 0; w < workers->count; w++) {
        uint32_t each = job_worker_threads(job, w + 1);
        if (each > workers->threads) workers->threads = each;
    }
    const char *flush = getenv("SBC_TEST_FLUSH");
    workers->covered_max = flush ? (uint32_t)strtoul(flush, nullptr, 10) : 0;
    machine->memory_whole = share_out(job->ask.what, machine->memory_total, workers);
    return true;
}

MemoryShares memory_plan_reshare(const Job *job, int64_t whole) {
    WorkerPlan workers = job->machine.workers;
    if (workers.count > 0) whole = share_out(job->ask.what, whole, &workers);
    int64_t rest = sb_memory_rest(whole);
    return (MemoryShares){.whole = whole, .limit = whole - rest, .worker_limit = workers.memory};
}

// Have as many processes what each needs? `need`: of one that has all tasks.
static bool workers_fit(const SbJob *what, uint32_t count, int64_t total, const Sketch *need) {
    WorkerPlan workers = {.count = count};
    int64_t whole = share_out(what, total, &workers);
    return workers.memory >= EACH_MIN && workers.ledger >= need->need.total &&
           whole >= need->whole;
}

// In MiB.
static int64_t least_for_workers(const SbJob *what, uint32_t count, const Sketch *need) {
    int64_t low = 0, high = INT64_C(1) << 30;  // MiB.
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (workers_fit(what, count, middle * MIB, need)) high = middle;
        else low = middle + 1;
    }
    return low;
}

// One plan says so where there is plenty, and the search for the least makes dozens: a process that
// has all tasks would do with half of what a worker has.
static bool is_plenty(const FlowParts *of, uint32_t threads, Sketch *sketch) {
    const JobMachine *machine = of->machine;
    const WorkerPlan *workers = &machine->workers;
    int64_t whole = workers->memory / 2;
    return workers->memory >= EACH_MIN && whole <= machine->memory_whole &&
           make(of, threads, whole, partition_of(&of->ask->options, SPEED_LEAST), sketch) &&
           sketch->need.total <= sketch->sizes.ledger && sketch->sizes.ledger <= workers->ledger;
}

// Is there enough for all workers of the job? The trouble says how much is, or how many have it.
static bool enough_for_workers(Job *job, uint32_t threads, Sketch *sketch) {
    FlowParts of = flow_parts(job);
    uint32_t count = job->machine.workers.count, fit = count;
    int64_t total = job->machine.memory_total;
    if (count == 0 || is_plenty(&of, threads, sketch)) return true;
    if (!find_least(&of, threads, SPEED_LEAST, sketch)) return true;
    while (fit > 0 && !workers_fit(job->ask.what, fit, total, sketch)) fit--;
    if (fit == count) return true;
    trouble_set(&job->trouble, TROUBLE_MEMORY_LEAST,
                "%u workers need more memory than --memory gives: %.1f MiB", count,
                megabytes(total));
    long long least = least_for_workers(job->ask.what, count, sketch);
    if (fit > 0)
        trouble_fix(&job->trouble, "give it --memory=%lldMiB or more, or --workers=%u", least, fit);
    else
        trouble_fix(&job->trouble, "give it --memory=%lldMiB or more, or leave --workers out",
                    least);
    return false;
}

// What the job needs with the workers that it has, of which its machine knows later. False: it is
// too wide for a plan.
static bool find_needs(Job *job, uint32_t threads, Sketch *least, Sketch *full,
                       MemoryNeeds *needs) {
    JobMachine *machine = &job->machine;
    FlowParts of = flow_parts(job);
    WorkerPlan workers = machine->workers;
    int64_t whole = machine->memory_whole, total = machine->memory_total;
    bool known = memory_plan_share_out(job) &&
                 find_least(&of, threads, SPEED_LEAST, least) &&
                 find_least(&of, threads, SPEED_FULL, full);
    uint32_t count = machine->workers.count;
    const SbJob *what = job->ask.what;
    machine->workers = workers;
    machine->memory_whole = whole;
    machine->memory_total = total;
    *needs = !known  ? (MemoryNeeds){0}
             : count ? (MemoryNeeds){least_for_workers(what, count, least) * MIB,
                                     least_for_workers(what, count, full) * MIB}
                     : (MemoryNeeds){least->whole, full->whole};
    return known;
}

MemoryNeeds memory_plan_needs(Job *job, uint32_t threads) {
    Sketch *least = new_sketch(&job->trouble), *full = new_sketch(&job->trouble);
    MemoryNeeds needs = {0};
    if (least && full) find_needs(job, threads, least, full, &needs);
    free(least);
    free(full);
    return needs;
}

// ---- the plan of a job ----------------------------------------------------------------------

bool memory_plan_set(Job *job, uint32_t threads) {
    FlowParts of = flow_parts(job);
    JobMachine *machine = &job->machine;
    Sketch *sketch = new_sketch(of.trouble);
    if (!sketch) return false;
    int64_t partition;
    if (!enough_for_workers(job, threads, sketch)) {
        free(sketch);
        return false;
    }
    bool enough = choose_partition(&of, threads, sketch, machine, &partition);
    if (!enough) refuse(&of, threads, sketch);
    job->ask.options.partition = partition;
    open_account(&machine->memory, machine->memory_whole, partition, threads);
    machine->memory.eager = getenv("SBC_TEST_SPILL") != nullptr;
    free(sketch);
    return enough;
}

// ---- what is said of it ---------------------------------------------------------------------

static void add_size(TextTable *table, int64_t bytes) {
    sb_text_format(sb_table_cell(table), "%.1f MiB", megabytes(bytes));
}

static void add_row(TextTable *table, const char *what, int64_t least, int64_t full) {
    if (least == 0 && full == 0) return;
    sb_table_word(table, what);
    add_size(table, least);
    add_size(table, full);
}

static void add_stage(TextTable *table, uint32_t number, const StageNeed *least,
                      const StageNeed *full) {
    char what[48];
    snprintf(what, sizeof what, "stage %u: scratch", number);
    add_row(table, what, least->scratch, full->scratch);
    snprintf(what, sizeof what, "stage %u: output", number);
    add_row(table, what, least->output, full->output);
    snprintf(what, sizeof what, "stage %u: input", number);
    add_row(table, what, least->input, full->input);
}

// What takes so much.
static void add_rows(const SbJob *what, TextTable *table, const Sketch *least, const Sketch *full) {
    for (uint32_t s = 0; s < what->stage_count; s++)
        add_stage(table, s, &least->need.stages[s], &full->need.stages[s]);
    for (uint16_t b = 0; b < least->flow.plan.breaker_count; b++) {
        SbStr step = what->steps[what->breakers[least->flow.breakers[b]].step].label;
        enum { LABEL_MAX = 40 };
        sb_text_add_short(sb_table_cell(table), step.ptr, step.len, LABEL_MAX);
        add_size(table, least->need.floors[b]);
        add_size(table, full->need.floors[b]);
    }
    int64_t rest[] = {sb_memory_rest(least->whole), sb_memory_rest(full->whole)};
    add_row(table, "rows that spill, long rows", least->whole - rest[0] - least->need.total,
            full->whole - rest[1] - full->need.total);
    add_row(table, "program, stacks, tables", rest[0], rest[1]);
}

// The sums of both columns are what --memory has to be.
static void add_others(TextTable *table, const MemoryOthers *others, const MemoryNeeds *needs,
                       const Sketch *least, const Sketch *full) {
    add_row(table, "worker processes", needs->least - least->whole, needs->full - full->whole);
    add_row(table, "Python processes", others->python.least, others->python.full);
    add_row(table, "columns of GPUs", others->gpu.least, others->gpu.full);
    add_row(table, "--memory", needs->least + others->python.least + others->gpu.least,
            needs->full + others->python.full + others->gpu.full);
}

// What no one can know before: how long the longest row is.
static void say_long_rows(const SbJob *job, uint32_t threads, Text *text) {
    int64_t most = 0;
    for (uint32_t s = 0; s < job->stage_count; s++) {
        int64_t copies = flow_row_copies(job, &job->stages[s]);
        if (copies > most) most = copies;
    }
    // Each other thread may have one in its part of a breaker.
    if (has_breakers(job)) most += threads - 1;
    most += 1 + most / BACK_SHARE;  // Not all of the memory is the ledger's.
    sb_text_format(text, "a row longer than a partition waits until there is room for it: up to "
                   "%lld times its bytes beside the minimum\n", (long long)most);
}

void memory_plan_print(Job *job, uint32_t threads, const MemoryOthers *others, Text *text) {
    Sketch *least = new_sketch(&job->trouble), *full = new_sketch(&job->trouble);
    MemoryNeeds needs;
    if (least && full && find_needs(job, threads, least, full, &needs)) {
        TextTable table = {.columns = 3, .left = 1};
        sb_table_word(&table, "memory");
        sb_table_word(&table, "minimum");
        sb_table_word(&table, "full speed");
        add_rows(job->ask.what, &table, least, full);
        add_others(&table, others, &needs, least, full);
        sb_table_print(&table, text);
        sb_text_format(text, "minimum: one task at a time, partitions of %lld KiB; full speed: %u "
                       "at once, of %lld KiB\n",
                       (long long)least->sizes.partition >> 10, full->need.tasks,
                       (long long)full->sizes.partition >> 10);
        say_long_rows(job->ask.what, threads, text);
        sb_table_close(&table);
    }
    free(least);
    free(full);
}

void memory_plan_say_cut(const JobMachine *machine, Text *text) {
    if (machine->tasks_fit == machine->tasks_most) return;
    sb_text_format(text,
                   "slots were cut: the memory holds %u of %u tasks at once; --plan shows how much "
                   "all take\n",
                   machine->tasks_fit, machine->tasks_most);
}

bool memory_plan_spools(const FlowParts *of, uint32_t threads) {
    Sketch *sketch = new_sketch(of->trouble);
    bool spools = sketch && make(of, threads, of->machine->memory_whole, PARTITION_MAX, sketch) &&
                  sketch->need.spools > 0;
    free(sketch);
    return spools;
}

bool memory_plan_may_spill(const FlowParts *of) {
    for (uint32_t b = 0; b < of->ask->what->breaker_count; b++)
        if (of->ask->what->breakers[b].kind != SB_BREAK_EDGE) return true;
    return flow_job_keeps(of->ask, of->edges) ||
           memory_plan_spools(of, slots_threads(&of->machine->slots));
}
