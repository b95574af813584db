#include "runtime/plan/slots.h"

#include "runtime/device.h"

#include <string.h>

enum { THREADS_MAX = 1024 };

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

static uint32_t held(const Slots *slots, const SbDemand *demand) {
    return demand->resource == SB_CPUS ? least(demand->amount, slots->cpus) : demand->amount;
}

static SbStr resource_name(const void *self, uint32_t index) {
    const SbJob *job = self;
    return job->resources[index];
}

static bool is_named(const Supply *supply, const char *name) {
    return strlen(name) == supply->name_len && memcmp(name, supply->name, supply->name_len) == 0;
}

static bool supplies(const Supply *supply, SbStr name) {
    return (size_t)name.len == supply->name_len &&
           memcmp(name.ptr, supply->name, supply->name_len) == 0;
}

// The number of the resource; resource_count: no step asks for it, which *trouble says of `option`
// with its value.
static uint32_t find_resource(const SbJob *job, const Supply *supply, const char *option,
                              const char *value, Trouble *trouble) {
    for (uint32_t i = 0; i < job->resource_count; i++)
        if (supplies(supply, job->resources[i])) return i;
    int len = (int)supply->name_len;
    trouble_set(trouble, TROUBLE_RESOURCE, "--%s=%s: no step asks for '%.*s'", option, value, len,
                supply->name);
    SbStr near = nearest_name((SbStr){supply->name, len}, resource_name, job,
                                 job->resource_count);
    if (near.len) trouble_fix(trouble, "did you mean '%.*s'?", (int)near.len, near.ptr);
    else
        trouble_fix(trouble, "leave it out, or name it: with (%.*s = 1) { ... }", len,
                    supply->name);
    return job->resource_count;
}

static bool supply_one(Slots *slots, const Supply *supply, Trouble *trouble) {
    if (is_named(supply, "cpus")) {
        trouble_set(trouble, TROUBLE_RESOURCE, "--resource=%s: --threads says how many cpus there "
                    "are", supply->name);
        return trouble_fix(trouble, "--threads=%u", (supply->amount + WHOLE - 1) / WHOLE), false;
    }
    uint32_t i = find_resource(slots->job, supply, "resource", supply->name, trouble);
    if (i == slots->job->resource_count) return false;
    slots->supply[i] = slots->largest[i] = supply->amount;
    return true;
}

// ---- workers --------------------------------------------------------------------------------

uint32_t slots_of_kind(const SbJob *job, const WorkerKind *kind, uint32_t resource) {
    for (uint32_t i = 0; i < kind->supply_count; i++)
        if (supplies(&kind->supplies[i], job->resources[resource]))
            return kind->supplies[i].amount;
    return 0;
}

uint32_t slots_of_share(uint32_t supply, uint32_t workers, uint32_t worker) {
    uint32_t each = supply / WHOLE / workers * WHOLE;
    return worker == 0 ? supply - each * (workers - 1) : each;
}

static bool stands_twice(const Options *options, const WorkerKind *kind, const Supply *supply,
                         Trouble *trouble) {
    SbStr name = {supply->name, (int64_t)supply->name_len};
    for (uint32_t i = 0; i < options->supply_count; i++) {
        if (!supplies(&options->supplies[i], name)) continue;
        trouble_set(trouble, TROUBLE_RESOURCE, "--worker=%s: --resource=%s is given, too",
                    kind->text, options->supplies[i].name);
        trouble_fix(trouble, "leave --resource out: the job has what its workers have");
        return true;
    }
    return false;
}

// What workers of --worker have, in place of what the machine has.
static bool supply_kinds(Slots *slots, const Options *options, Trouble *trouble) {
    uint64_t given = 0;
    const WorkerKinds *workers = &options->workers;
    for (uint32_t w = 0; workers->kinds && w < workers->count; w++) {
        const WorkerKind *kind = &workers->kinds[w];
        for (uint32_t k = 0; k < kind->supply_count; k++) {
            const Supply *supply = &kind->supplies[k];
            uint32_t i = find_resource(slots->job, supply, "worker", kind->text, trouble);
            if (i == slots->job->resource_count) return false;
            if (stands_twice(options, kind, supply, trouble)) return false;
            if (!(given & UINT64_C(1) << i)) slots->supply[i] = slots->largest[i] = 0;
            given |= UINT64_C(1) << i;
            slots->supply[i] += supply->amount;
            if (slots->largest[i] < supply->amount) slots->largest[i] = supply->amount;
        }
    }
    return true;
}

// Do only stages of `on gpu` blocks hold it, which call no function over batches? The CPU can do
// their work.
static bool is_of_blocks(const SbJob *job, uint32_t resource) {
    for (uint32_t s = 0; s < job->stage_count; s++) {
        const SbStage *stage = &job->stages[s];
        for (uint32_t i = 0; i < stage->demand_count; i++)
            if (stage->demands[i].resource == resource && (!stage->gpu || stage->calls))
                return false;
    }
    return true;
}

// What the machine has without a word. Where it has none, cpus stand for those of blocks.
static void supply_devices(Slots *slots) {
    for (uint32_t i = 0; i < slots->job->resource_count; i++) {
        const Device *device = device_named(slots->job->resources[i]);
        if (!device) continue;
        uint32_t count = device->count() * WHOLE;
        if (!count && is_of_blocks(slots->job, i)) count = slots->cpus;
        slots->supply[i] = slots->largest[i] = count;
    }
}

// No worker has as much as a task holds, though all together have.
static bool no_worker(const Slots *slots, const SbDemand *demand, Trouble *trouble) {
    SbStr name = slots->job->resources[demand->resource];
    double wanted = (double)demand->amount / (double)WHOLE;
    trouble_set(trouble, TROUBLE_RESOURCE, "a task holds %g of '%.*s', and no worker has more than "
                "%g", wanted, (int)name.len, name.ptr,
                (double)slots->largest[demand->resource] / (double)WHOLE);
    return trouble_fix(trouble, "--worker=%.*s=%g, or more", (int)name.len, name.ptr, wanted),
           false;
}

static bool check_stage(const Slots *slots, const SbStage *stage, Trouble *trouble) {
    for (uint32_t i = 0; i < stage->demand_count; i++) {
        const SbDemand *demand = &stage->demands[i];
        if (demand->resource == SB_CPUS || demand->amount <= slots->largest[demand->resource])
            continue;
        if (demand->amount <= slots->supply[demand->resource])
            return no_worker(slots, demand, trouble);
        SbStr name = slots->job->resources[demand->resource];
        double wanted = (double)demand->amount / (double)WHOLE;
        trouble_set(trouble, TROUBLE_RESOURCE, "a task holds %g of '%.*s', and the job has %g",
                    wanted, (int)name.len, name.ptr,
                    (double)slots->supply[demand->resource] / (double)WHOLE);
        trouble_fix(trouble, "--resource=%.*s=%g, or more for more tasks at once", (int)name.len,
                    name.ptr, wanted);
        return false;
    }
    return true;
}

bool slots_open(Slots *slots, const SbJob *job, const Options *options, uint32_t cpus,
                Trouble *trouble) {
    *slots = (Slots){.job = job, .cpus = cpus * WHOLE};
    if (job->resource_count > SB_RESOURCES_MAX)  // Of a graph that was written as text.
        return trouble_set(trouble, TROUBLE_RESOURCE, "the job names %u resources, at most %d work",
                           job->resource_count, SB_RESOURCES_MAX);
    supply_devices(slots);
    for (uint32_t i = 0; i < options->supply_count; i++)
        if (!supply_one(slots, &options->supplies[i], trouble)) return false;
    if (!supply_kinds(slots, options, trouble)) return false;
    for (uint32_t s = 0; s < job->stage_count; s++)
        if (!check_stage(slots, &job->stages[s], trouble)) return false;
    return true;
}

// Tasks of the stage at once, as far as its concurrency and resources other than cpus allow.
static uint32_t width(const Slots *slots, const SbStage *stage) {
    uint32_t most = stage->concurrency ? stage->concurrency : THREADS_MAX;
    for (uint32_t i = 0; i < stage->demand_count; i++) {
        const SbDemand *demand = &stage->demands[i];
        if (demand->resource != SB_CPUS)
            most = least(most, slots->supply[demand->resource] / demand->amount);
    }
    return most;
}

// Of what stages hold of the cpus the least amount that is more than `than`; UINT32_MAX: none is.
static uint32_t next_amount(const Slots *slots, uint32_t than) {
    uint32_t next = UINT32_MAX;
    for (uint32_t s = 0; s < slots->job->stage_count; s++) {
        uint32_t amount = slots_held(slots, &slots->job->stages[s], SB_CPUS);
        if (amount > than) next = least(next, amount);
    }
    return next;
}

// Tasks that share the cpus at once: most are there when those that hold the least come first.
static uint32_t sharing(const Slots *slots) {
    uint32_t left = slots->cpus, tasks = 0;
    for (uint32_t amount = 0; (amount = next_amount(slots, amount)) <= left;) {
        for (uint32_t s = 0; s < slots->job->stage_count; s++) {
            const SbStage *stage = &slots->job->stages[s];
            if (slots_held(slots, stage, SB_CPUS) != amount) continue;
            uint32_t more = least(width(slots, stage), left / amount);
            tasks += more;
            left -= more * amount;
        }
    }
    return tasks;
}

uint32_t slots_threads(const Slots *slots) {
    uint32_t threads = sharing(slots);
    if (threads < slots->cpus / WHOLE) threads = slots->cpus / WHOLE;
    for (uint32_t s = 0; s < slots->job->stage_count; s++) {
        const SbStage *stage = &slots->job->stages[s];
        if (stage->demand_count > 0 && !slots_held(slots, stage, SB_CPUS))
            threads += width(slots, stage);
    }
    return least(threads, THREADS_MAX);
}

uint32_t slots_supply(const Slots *slots, uint32_t resource) {
    return resource == SB_CPUS ? slots->cpus : slots->supply[resource];
}

uint32_t slots_held(const Slots *slots, const SbStage *stage, uint32_t resource) {
    for (uint32_t i = 0; i < stage->demand_count; i++)
        if (stage->demands[i].resource == resource) return held(slots, &stage->demands[i]);
    return 0;
}

uint32_t slots_most(const Slots *slots, const SbStage *stage, uint32_t threads) {
    uint32_t most = stage->concurrency ? least(stage->concurrency, threads) : threads;
    for (uint32_t i = 0; i < stage->demand_count; i++) {
        const SbDemand *demand = &stage->demands[i];
        uint32_t all = slots_supply(slots, demand->resource);
        most = least(most, all / held(slots, demand));
    }
    return most;
}

static uint32_t more(uint32_t a, uint32_t b) { return a > b ? a : b; }

// The same through so many borders.
static uint32_t widest(const Slots *slots, const SbStage *stage, uint32_t threads, int borders) {
    const SbJob *job = slots->job;
    uint32_t most = slots_most(slots, stage, threads);
    for (uint32_t t = 0; borders > 0 && t < stage->terminal_count; t++) {
        uint32_t edge = stage->terminals[t];
        for (uint32_t s = 0; s < job->stage_count; s++) {
            const SbStage *reader = &job->stages[s];
            bool reads = reader->input_index == edge || reader->right_index == edge;
            if (reader->input == SB_INPUT_ROWS && reads)
                most = more(most, widest(slots, reader, threads, borders - 1));
        }
    }
    return most;
}

uint32_t slots_widest(const Slots *slots, const SbStage *stage, uint32_t threads) {
    enum { BORDERS_MAX = 8 };
    return widest(slots, stage, threads, BORDERS_MAX);
}
