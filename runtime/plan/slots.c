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

static bool supply_one(Slots *slots, const Supply *supply, Trouble *trouble) {
    const SbJob *job = slots->job;
    if (is_named(supply, "cpus")) {
        trouble_set(trouble, TROUBLE_RESOURCE, "--resource=%s: --threads says how many cpus there "
                    "are", supply->name);
        return trouble_fix(trouble, "--threads=%u", (supply->amount + WHOLE - 1) / WHOLE), false;
    }
    for (uint32_t i = 0; i < job->resource_count; i++) {
        SbStr name = job->resources[i];
        if ((size_t)name.len != supply->name_len ||
            memcmp(name.ptr, supply->name, supply->name_len))
            continue;
        slots->supply[i] = supply->amount;
        return true;
    }
    int len = (int)supply->name_len;
    trouble_set(trouble, TROUBLE_RESOURCE, "--resource=%s: no step asks for '%.*s'", supply->name,
                len, supply->name);
    SbStr near = nearest_name((SbStr){supply->name, len}, resource_name, job,
                                 job->resource_count);
    if (near.len) trouble_fix(trouble, "did you mean '%.*s'?", (int)near.len, near.ptr);
    else
        trouble_fix(trouble, "leave it out, or name it: with (%.*s = 1) { ... }", len,
                    supply->name);
    return false;
}

// What the machine has without a word.
static void supply_devices(Slots *slots) {
    for (uint32_t i = 0; i < slots->job->resource_count; i++) {
        const Device *device = device_named(slots->job->resources[i]);
        if (device) slots->supply[i] = device->count() * WHOLE;
    }
}

static bool check_stage(const Slots *slots, const SbStage *stage, Trouble *trouble) {
    for (uint32_t i = 0; i < stage->demand_count; i++) {
        const SbDemand *demand = &stage->demands[i];
        if (demand->resource == SB_CPUS || demand->amount <= slots->supply[demand->resource])
            continue;
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
