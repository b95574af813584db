// Manage: what somebody tells a job while it runs, and what it says of itself.
#include "runtime/dispatch/state.h"
#include "runtime/report.h"

// ---- pause --------------------------------------------------------------------------------------

static bool pause(Dispatch *d, Text *answer) {
    if (!d->own->paused) log_warn(&d->own->job->log, TROUBLE_PAUSED, "the job is paused");
    d->own->paused = true;
    atomic_store(&d->own->job->stop.paused, 1);
    sb_text_format(answer, "paused; --tell=resume goes on\n");
    return true;
}

static bool resume(Dispatch *d, Text *answer) {
    d->own->paused = false;
    atomic_store(&d->own->job->stop.paused, 0);
    pthread_cond_broadcast(&d->changed);
    sb_text_format(answer, "goes on\n");
    return true;
}

// ---- workers ------------------------------------------------------------------------------------

static bool has_workers(const Dispatch *d, Trouble *trouble) {
    if (d->own->workers) return true;
    trouble_set(trouble, TROUBLE_CONTROL, "the job runs its tasks itself: it has no workers");
    return trouble_fix(trouble, "start it with --workers=N; a job all of whose rows come to a "
                       "limit, or to standard output, has none"), false;
}

static bool drain(Dispatch *d, int64_t number, Text *answer, Trouble *trouble) {
    if (!has_workers(d, trouble) || !workers_drain(d->own->workers, number, trouble)) return false;
    sb_text_format(answer, "worker %lld ends once what it does is done\n", (long long)number);
    return true;
}

static bool set_count(Dispatch *d, int64_t count, Text *answer, Trouble *trouble) {
    if (!has_workers(d, trouble) || !workers_set_count(d->own->workers, count, trouble))
        return false;
    sb_text_format(answer, "%lld workers\n", (long long)count);
    return true;
}

// ---- memory -------------------------------------------------------------------------------------

// What the ledger of a node may give where its account has so much less than at first.
static int64_t ledger_of(const Dispatch *d, const MemoryShares *limits, uint32_t node) {
    const CorePlan *plan = &d->plan->plan;
    const MemoryShares *first = &d->own->first_limits;
    int64_t less = node == 0 ? first->limit - limits->limit
                             : first->worker_limit - limits->worker_limit;
    return plan_node(plan, (NodeId){(uint16_t)node})->memory - less;
}

static bool is_enough(const Dispatch *d, const MemoryShares *limits) {
    int64_t least = schedule_minimum(d->schedule);
    bool good = ledger_of(d, limits, 0) >= least;
    return good && (!d->own->workers || ledger_of(d, limits, 1) >= least);
}

// Of --memory, what Python processes and columns of GPUs have: it stays.
static int64_t others_of(const JobMachine *machine) {
    return machine->memory_python + machine->memory_gpu;
}

// The least that the job goes on with, to the MiB.
static int64_t find_least(const Dispatch *d) {
    enum : int64_t { MIB = 1 << 20 };
    const Job *job = d->own->job;
    int64_t low = 0, high = (job->machine.memory_total + MIB - 1) / MIB;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        MemoryShares limits = memory_plan_reshare(job, middle * MIB);
        if (is_enough(d, &limits)) high = middle;
        else low = middle + 1;
    }
    return low + (others_of(&job->machine) + MIB - 1) / MIB;
}

static bool refuse_memory(const Dispatch *d, int64_t bytes, Trouble *trouble) {
    char asked[SIZE_TEXT], total[SIZE_TEXT];
    const JobMachine *machine = &d->own->job->machine;
    int64_t least = find_least(d), most = machine->memory_total + others_of(machine);
    size_text(bytes, asked);
    size_say(most, total);
    if (bytes > most)
        trouble_set(trouble, TROUBLE_CONTROL, "the job began with %s: it cannot have %s", total,
                    asked);
    else
        trouble_set(trouble, TROUBLE_CONTROL, "%s is too little for the job to go on", asked);
    return trouble_fix(trouble, "--tell=memory=%lldMiB is the least, and what it began with the "
                       "most", (long long)least), false;
}

void manage_settle(Dispatch *d) {
    const MemoryShares *limits = &d->own->limits;
    SbMemory *memory = d->own->memory;
    int64_t owed = schedule_ledger(d->schedule, (NodeId){0})->owed;
    if (memory->limit != limits->limit + owed) sb_memory_limit(memory, limits->limit + owed);
    for (uint32_t n = 1; d->own->workers && n < plan_node_count(&d->plan->plan); n++) {
        NodeId node = {(uint16_t)n};
        owed = schedule_ledger(d->schedule, node)->owed;
        workers_set_limit(d->own->workers, node, limits->worker_limit + owed);
    }
}

static bool set_memory(Dispatch *d, int64_t bytes, Text *answer, Trouble *trouble) {
    Job *job = d->own->job;
    if (!d->own->first_limits.whole)
        d->own->first_limits = memory_plan_reshare(job, job->machine.memory_total);
    int64_t rows = bytes - others_of(&job->machine);
    if (rows <= 0 || rows > job->machine.memory_total) return refuse_memory(d, bytes, trouble);
    MemoryShares limits = memory_plan_reshare(job, rows);
    if (!is_enough(d, &limits)) return refuse_memory(d, bytes, trouble);
    d->own->limits = limits;
    job->machine.memory_whole = limits.whole;
    job->machine.memory_now = bytes;
    uint32_t nodes = plan_node_count(&d->plan->plan);
    int64_t owed = 0;
    for (uint32_t n = 0; n < nodes; n++) {
        NodeId node = {(uint16_t)n};
        dispatch_tell(d, (Event){.kind = EVENT_MEMORY, .node = node,
                                 .bytes = ledger_of(d, &limits, n)});
        owed += schedule_ledger(d->schedule, node)->owed;
    }
    manage_settle(d);
    char now[SIZE_TEXT], later[SIZE_TEXT];
    size_say(bytes, now);
    size_say(owed, later);
    sb_text_format(answer, "memory %s", now);
    if (owed > 0) sb_text_format(answer, ", once %s of it that rows fill are free", later);
    sb_text_format(answer, "\n");
    return true;
}

// ---- status -------------------------------------------------------------------------------------

static bool status(const Dispatch *d, Text *answer) {
    const Job *job = d->own->job;
    char held[SIZE_TEXT], whole[SIZE_TEXT];
    size_say(job_memory_held(&job->machine, &job->figures), held);
    size_say(job->machine.memory_now, whole);
    const char *does = d->stop       ? "ends"
                       : d->draining ? "takes no more input"
                       : d->own->paused ? "is paused"
                                        : "runs";
    sb_text_format(answer, "job %.*s %s, memory %s of %s\n", (int)job->ask.what->name.len,
                   job->ask.what->name.ptr, does, held, whole);
    if (d->own->workers)
        worker_figures_print(job->figures.workers, job->machine.workers.count, answer);
    return true;
}

// ---- commands -----------------------------------------------------------------------------------

static bool manage(Dispatch *d, const Command *is, Text *answer, Trouble *trouble) {
    if (is->kind != COMMAND_STATUS && d->stop)
        return trouble_set(trouble, TROUBLE_CONTROL, "the job is at its end");
    switch (is->kind) {
    case COMMAND_STATUS: return status(d, answer);
    case COMMAND_PAUSE: return pause(d, answer);
    case COMMAND_RESUME: return resume(d, answer);
    case COMMAND_WORKERS: return set_count(d, is->value, answer, trouble);
    case COMMAND_DRAIN: return drain(d, is->value, answer, trouble);
    case COMMAND_MEMORY: return set_memory(d, is->value, answer, trouble);
    case COMMAND_KINDS: break;
    }
    return false;
}

bool dispatch_manage(Dispatch *d, const Command *command, Text *answer, Trouble *trouble) {
    pthread_mutex_lock(&d->lock);
    dispatch_clock(d);
    bool good = d->own->over    ? trouble_set(trouble, TROUBLE_CONTROL, "the job is at its end")
                : d->own->begun ? manage(d, command, answer, trouble)
                                : trouble_set(trouble, TROUBLE_CONTROL, "the job has not begun");
    pthread_mutex_unlock(&d->lock);
    return good;
}
