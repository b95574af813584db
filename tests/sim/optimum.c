// Branch and bound. A state is a moment at which something may begin: the tasks that run, and what
// each unit waits for. The choices are every task that could begin, and to let time pass until the
// next one ends, which also covers leaving a slot idle on purpose.
#include "tests/sim/optimum.h"

#include "tests/sim/sim.h"

#include <stdio.h>

typedef struct Search {
    const Workload *load;
    double best;
    uint8_t stages, units;
} Search;

typedef struct Moment {
    double now;
    uint8_t stage[TINY_UNITS];  // That the unit is at,
    double ends[TINY_UNITS];    // and when it ends there; 0: it has not begun.
    uint32_t used[RESOURCES_MAX];
    uint8_t least;  // Units that may still begin at this moment.
} Moment;

static double work_of(const Search *s, uint8_t stage, uint8_t unit) {
    return s->load->seconds[stage][unit];
}

static uint8_t resource_of(const Search *s, uint8_t stage) {
    return s->load->plan.stages[stage].demand[0] ? 0 : 1;
}

// No way on from here can end sooner: each unit has its stages before it, each resource its work.
static double bound(const Search *s, const Moment *state) {
    double latest = state->now, left[RESOURCES_MAX] = {0};
    for (uint8_t u = 0; u < s->units; u++) {
        double end = state->now;
        for (uint8_t i = state->stage[u]; i < s->stages; i++) {
            bool runs = i == state->stage[u] && state->ends[u] > 0;
            double seconds = runs ? state->ends[u] - state->now : work_of(s, i, u);
            end += seconds;
            left[resource_of(s, i)] += seconds;
        }
        if (end > latest) latest = end;
    }
    for (uint8_t r = 0; r < 2; r++) {
        uint32_t slots = s->load->plan.nodes[0].capacity[r] / WHOLE;
        if (state->now + left[r] / slots > latest) latest = state->now + left[r] / slots;
    }
    return latest;
}

static void search(Search *s, Moment state);

// Lets the next task end, and all that end with it.
static void pass_time(Search *s, Moment state) {
    double next = 1e18;
    for (uint8_t u = 0; u < s->units; u++)
        if (state.ends[u] > 0 && state.ends[u] < next) next = state.ends[u];
    if (next == 1e18) return;
    state.now = next;
    state.least = 0;
    for (uint8_t u = 0; u < s->units; u++) {
        if (state.ends[u] <= 0 || state.ends[u] > next + 1e-9) continue;
        state.used[resource_of(s, state.stage[u])]--;
        state.ends[u] = 0;
        state.stage[u]++;
    }
    search(s, state);
}

static void search(Search *s, Moment state) {
    if (bound(s, &state) >= s->best - 1e-9) return;
    bool done = true;
    for (uint8_t u = 0; u < s->units; u++) done &= state.stage[u] == s->stages;
    if (done) {
        s->best = state.now;
        return;
    }
    // Those that begin at one moment do so in the order of their numbers: one way of many.
    for (uint8_t u = state.least; u < s->units; u++) {
        if (state.stage[u] == s->stages || state.ends[u] > 0) continue;
        uint8_t r = resource_of(s, state.stage[u]);
        if (state.used[r] == s->load->plan.nodes[0].capacity[r] / WHOLE) continue;
        Moment next = state;
        next.used[r]++;
        next.ends[u] = state.now + work_of(s, state.stage[u], u);
        next.least = (uint8_t)(u + 1);
        search(s, next);
    }
    pass_time(s, state);
}

double optimum_find(const Workload *load) {
    Search s = {.load = load,
                .best = 1e17,
                .stages = (uint8_t)(load->plan.stage_count - 1),
                .units = (uint8_t)load->plan.stages[0].units};
    search(&s, (Moment){0});
    return s.best;
}

unsigned optimum_print(unsigned count, unsigned *passed) {
    static const double MOST = 1.75, MEAN = 1.08;
    double sum = 0, most = 0;
    unsigned exact = 0, failed = 0;
    for (unsigned seed = 1; seed <= count; seed++) {
        uint64_t random = seed;
        Workload load = {0};
        workload_tiny(&load, &random);
        SimOptions options = {.policy = POLICY_FULL, .beyond = -1, .disk_rate = 1e9, .seed = seed};
        SimResult result = sim_run(&load, &options);
        double best = optimum_find(&load), ratio = result.seconds / best;
        bool wrong = result.wrong || ratio > MOST || ratio < 1 - 1e-6;
        if (wrong) fprintf(stderr, "sim: tiny workload %u: %.3f of the optimum\n", seed, ratio);
        failed += wrong;
        exact += ratio < 1 + 1e-6;
        sum += ratio;
        if (ratio > most) most = ratio;
    }
    printf("sim: %u tiny workloads: full takes %.3f of the optimum, at most %.3f; %u are optimal\n",
           count, sum / count, most, exact);
    failed += sum / count > MEAN;
    *passed += failed ? 0 : count;
    return failed;
}
