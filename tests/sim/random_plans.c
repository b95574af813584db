// Random plans: any graph of stages that the language can express.
#include "tests/sim/streams.h"

enum { OPEN_MAX = 6, STAGES_MOST = 14, LARGE_STAGES = 1000 };

// Stages whose rows somebody has still to take.
typedef struct Open {
    StageId stages[OPEN_MAX];
    int count;
} Open;

typedef struct Maker {
    Workload *load;
    CorePlan *plan;
    uint64_t *random;
    Open open;
    bool nodes;  // More than one: what limits take is not taken back.
    bool zips;
    bool large;  // As many stages as a plan of a large program has.
} Maker;

static StageId add_stage(Maker *m, StageKind kind) {
    StageId id = {m->plan->stage_count++};
    CoreStage *stage = &m->plan->stages[id.i];
    Work *work = &m->load->work[id.i];
    stage->name = "stage";
    stage->kind = kind;
    if (kind != STAGE_SINK || between(m->random, 0, 1))
        stage->demand[between(m->random, 0, m->plan->resource_count - 1)] = (uint32_t)between(
                                                                                m->random, 1, 4) *
                                                                            WHOLE / 4;
    stage->concurrency = (uint32_t)between(m->random, 0, 3);
    stage->scratch = between(m->random, 0, 1 << 20);
    int64_t row_bytes = between(m->random, 1, 1 << 18), cut_rows = between(m->random, 1, 20);
    stage->cut = row_bytes * (cut_rows - 1), stage->row_max = row_bytes;
    stage->seconds_per_byte = 1e-8, stage->bytes_per_byte = 1;
    if (kind == STAGE_MAP && draw(m->random) % 4 == 0)
        stage->coalesce = (uint32_t)between(m->random, 2, 8);
    *work = (Work){.row_seconds = (double)between(m->random, 0, 100) / 1000,
                   .row_bytes = row_bytes,
                   .cut_rows = cut_rows,
                   .unit_rows = between(m->random, 1, 60)};
    work->late_seconds = work->row_seconds;
    if (kind == STAGE_MAP && cut_rows % 4 == 0) {
        uint64_t own = (uint64_t)row_bytes;  // The plan is else what it would be without batches.
        stage->batch = (uint32_t)between(&own, 1, 100);
        work->batch_seconds = (double)between(&own, 0, 500) / 1000;
    }
    if (kind != STAGE_SINK && draw(m->random) % 6 == 0)
        work->atom_bytes = between(m->random, 1, 8 << 20);
    if (kind == STAGE_SOURCE) {
        stage->units = (uint32_t)between(m->random, 0, 30);
        stage->unit_bytes = work->unit_rows * row_bytes;
    }
    if (draw(m->random) % 6 == 0) work->long_bytes = between(m->random, 1, 8 << 20);
    if (draw(m->random) % 4 == 0) stage->open_max = (uint32_t)between(m->random, 1, 4);
    if (kind == STAGE_MAP) stage->in_order = draw(m->random) % 4 == 0;
    if (kind == STAGE_SOURCE || kind == STAGE_READER) {
        work->later = draw(m->random) % 4 == 0;
        stage->serial = draw(m->random) % 4 == 0;
    }
    return id;
}

static void add_edge(Maker *m, StageId from, StageId to) {
    EdgeId edge = {m->plan->edge_count++};
    CoreStage *above = &m->plan->stages[from.i], *below = &m->plan->stages[to.i];
    m->plan->edges[edge.i] = (CoreEdge){from, to};
    above->outputs[above->output_count++] = edge;
    below->inputs[below->input_count++] = edge;
}

static StageId take_open(Maker *m, bool keep) {
    if (!m->open.count) return add_stage(m, STAGE_SOURCE);
    int at = (int)between(m->random, 0, m->open.count - 1);
    StageId stage = m->open.stages[at];
    bool forks = keep && m->plan->stages[stage.i].output_count < 2;
    if (!forks) m->open.stages[at] = m->open.stages[--m->open.count];
    return stage;
}

static void give_open(Maker *m, StageId stage) {
    if (m->open.count < OPEN_MAX)
        m->open.stages[m->open.count++] = stage;
    else
        add_edge(m, stage, add_stage(m, STAGE_SINK));
}

static StageId behind(Maker *m, StageKind kind, StageId above) {
    StageId stage = add_stage(m, kind);
    add_edge(m, above, stage);
    return stage;
}

// The rows go into a breaker. `direct`: without a stage of their own, if there can be none.
static BreakerId fill(Maker *m, StageId above) {
    BreakerId breaker = {m->plan->breaker_count++};
    m->plan->breakers[breaker.i] = (CoreBreaker){"breaker", between(m->random, 1, 4) << 20};
    StageId filler = above;
    const CoreStage *stage = &m->plan->stages[above.i];
    bool own = stage->output_count || draw(m->random) % 2;
    if (own) filler = behind(m, STAGE_MAP, above);
    CoreStage *fills = &m->plan->stages[filler.i];
    fills->fills[fills->fill_count++] = breaker;
    m->load->work[filler.i].fill_bytes = between(m->random, 1, 1 << 17);
    m->load->work[filler.i].holds = draw(m->random) % 2;
    if (!own && draw(m->random) % 2) give_open(m, above);
    return breaker;
}

static StageId read_breaker(Maker *m, BreakerId breaker, bool unmatched) {
    StageId reader = add_stage(m, STAGE_READER);
    m->plan->stages[reader.i].reads = breaker;
    m->plan->stages[reader.i].unmatched = unmatched;
    return reader;
}

static void add_step(Maker *m) {
    bool fork = draw(m->random) % (m->large ? 24 : 3) == 0;
    StageId stage;
    switch (draw(m->random) % 8) {
    case 0:
    case 1: give_open(m, behind(m, STAGE_MAP, take_open(m, fork))); break;
    case 2: {
        StageId left = take_open(m, fork), right = take_open(m, false);
        stage = behind(m, STAGE_MAP, left);
        add_edge(m, right, stage);
        give_open(m, stage);
        break;
    }
    case 3: {
        if (!m->zips) break;
        StageId left = take_open(m, fork), right = take_open(m, false);
        stage = behind(m, STAGE_ZIP, left);
        add_edge(m, right, stage);
        give_open(m, stage);
        break;
    }
    case 4:
        stage = behind(m, STAGE_MAP, take_open(m, fork));
        // What takes its rows as it begins cannot give them back.
        m->plan->stages[stage.i].limit = m->nodes || m->load->failing || draw(m->random) % 2;
        m->plan->stages[stage.i].in_order = !m->plan->stages[stage.i].limit;
        m->load->work[stage.i].limits = true;
        m->load->work[stage.i].limit_rows = between(m->random, 0, 300);
        give_open(m, stage);
        break;
    case 5: give_open(m, read_breaker(m, fill(m, take_open(m, fork)), false)); break;
    case 6: {
        StageId build = take_open(m, fork);
        BreakerId table = fill(m, build);
        stage = behind(m, STAGE_MAP, take_open(m, false));
        CoreStage *probe = &m->plan->stages[stage.i];
        probe->needs[probe->need_count++] = table;
        give_open(m, stage);
        if (draw(m->random) % 2) give_open(m, read_breaker(m, table, true));
        break;
    }
    default: add_edge(m, take_open(m, true), add_stage(m, STAGE_SINK)); break;
    }
}

static void finish(Maker *m) {
    while (m->open.count) {
        StageId last = m->open.stages[--m->open.count];
        add_edge(m, last, add_stage(m, STAGE_SINK));
    }
}

static void make(Maker *m) {
    Workload *load = m->load;
    CorePlan *plan = m->plan;
    load->spread = true;
    load->failing = draw(m->random) % 4 ? 0 : 20;
    plan->resource_count = (uint8_t)between(m->random, 1, 3);
    plan->node_kinds = 1;
    plan->nodes[0].count = 1;
    for (uint8_t r = 0; r < plan->resource_count; r++)
        plan->nodes[0].capacity[r] = (uint32_t)between(m->random, 1, 16) * WHOLE;
    give_open(m, add_stage(m, STAGE_SOURCE));
    int64_t stages = m->large ? LARGE_STAGES : between(m->random, 2, STAGES_MOST);
    while (plan->stage_count < stages) add_step(m);
    finish(m);
}

// As much as a partition in some plans, so that they fill the memory.
static void add_stubs(CorePlan *plan, uint64_t *random) {
    plan->stub_bytes = draw(random) % 2 ? between(random, 1, 64 << 10) : 0;
    plan->stubs_free = between(random, 0, 4) * plan->stub_bytes;
}

void workload_random(Workload *load, uint64_t *random) {
    make(&(Maker){.load = load, .plan = &load->plan, .random = random, .zips = true});
    if (draw(random) % 3 == 0) load->bounds = (uint32_t)between(random, 1, 5);
    load->plan.completes = draw(random) % 4 == 0;
    add_stubs(&load->plan, random);
}

void workload_large(Workload *load, uint64_t *random) {
    make(&(Maker){.load = load,
                  .plan = &load->plan,
                  .random = random,
                  .zips = true,
                  .large = true});
    add_stubs(&load->plan, random);
}

static void drop_limit(Workload *load, uint16_t s) {
    load->plan.stages[s].limit = load->work[s].limits = false;
}

// Do rows of a root come into the stage more than once?
static bool comes_twice(const Workload *load, StageId stage) {
    Streams streams;
    streams_make(&streams, load, false);
    Stream into = stream_into(&streams, load, stage, 0);
    for (int i = 0; i < into.count; i++)
        for (int k = 0; k < i; k++)
            if (into.segments[i].root.i == into.segments[k].root.i) return true;
    return false;
}

// A limit over rows that come twice could not be told what it took of which; here there is none.
static void drop_limits(Workload *load) {
    for (uint16_t s = 0; s < load->plan.stage_count; s++)
        if (comes_twice(load, (StageId){s})) drop_limit(load, s);
}

bool workload_told_apart(const Workload *load) {
    for (uint16_t s = 0; s < load->plan.stage_count; s++) {
        bool sink = load->plan.stages[s].kind == STAGE_SINK;
        if (sink && comes_twice(load, (StageId){s})) return false;
    }
    return true;
}

// Without what depends on when things happen, and with rows that can be told apart in the sinks.
void workload_restarted(Workload *load, uint64_t *random) {
    const Workload none = *load;
    do {
        *load = none;
        make(&(Maker){.load = load, .plan = &load->plan, .random = random, .nodes = true});
        for (uint16_t s = 0; s < load->plan.stage_count; s++) drop_limit(load, s);
    } while (!workload_told_apart(load));
}

// One open task for most stages, no memory to spare, and more losses.
static void make_tight(Workload *load, uint64_t *random) {
    CorePlan *plan = &load->plan;
    for (uint16_t s = 0; s < plan->stage_count; s++)
        if (draw(random) % 4) plan->stages[s].open_max = draw(random) % 4 ? 1 : 2;
    load->losses = (uint32_t)between(random, 2, 20);
    load->tight = true;
}

// The nodes are workers of one machine: most of these plans lead and share, some do one of both.
static void make_workers(Workload *load, uint64_t *random) {
    CorePlan *plan = &load->plan;
    plan->leads = draw(random) % 4 > 0;
    plan->shares = draw(random) % 4 > 0;
    if (plan->nodes[0].count < 2) plan->nodes[0].count = 2;
    for (uint16_t s = 0; s < plan->stage_count; s++) plan->stages[s].home = draw(random) % 8 == 0;
}

// Tasks beyond slots, for stages of which any number may run. What is drawn next does not depend on
// that: other plans of a seed stay the same.
static void add_ahead(Workload *load, uint64_t random) {
    CorePlan *plan = &load->plan;
    if (draw(&random) % 2) return;
    for (uint8_t k = 0; k < plan->node_kinds; k++)
        if (draw(&random) % 4) plan->nodes[k].ahead = (uint32_t)between(&random, 1, 4);
    plan->step_ahead = between(&random, 0, 10000) * 1'000'000;
    for (uint16_t s = 0; s < plan->stage_count; s++)
        if (draw(&random) % 4) plan->stages[s].concurrency = plan->stages[s].open_max = 0;
    load->roomy = draw(&random) % 4 > 0;
}

// Nodes of two kinds, of which the second has less of everything.
static void add_nodes(Workload *load, uint64_t *random) {
    CorePlan *plan = &load->plan;
    plan->nodes[0].count = (uint32_t)between(random, 1, 4);
    plan->node_kinds = 2;
    plan->nodes[1].count = (uint32_t)between(random, 1, 3);
    for (uint8_t r = 0; r < plan->resource_count; r++)
        plan->nodes[1].capacity[r] = (uint32_t)between(random, 0, 4) * WHOLE;
    add_ahead(load, *random);
    load->losses = (uint32_t)between(random, 0, 6);
    add_stubs(plan, random);
    if (draw(random) % 2) make_tight(load, random);
    if (draw(random) % 2) make_workers(load, random);
    if (draw(random) % 2) load->drains = (uint32_t)between(random, 1, 8);
    if (draw(random) % 2) load->corrupt = (uint32_t)between(random, 1, 20);
    if (draw(random) % 2) load->resizes = (uint32_t)between(random, 1, 12);
}

void workload_random_nodes(Workload *load, uint64_t *random) {
    make(&(Maker){.load = load,
                  .plan = &load->plan,
                  .random = random,
                  .nodes = true,
                  .zips = true});
    add_nodes(load, random);
    drop_limits(load);
    if (draw(random) % 3 == 0) load->bounds = (uint32_t)between(random, 1, 5);
    load->plan.completes = draw(random) % 4 == 0;
    load->homely = (uint32_t)between(random, 0, 3);
}

void workload_cluster(Workload *load, uint64_t *random) {
    workload_restarted(load, random);
    add_nodes(load, random);
    if (draw(random) % 6 == 0) load->bounds = (uint32_t)between(random, 1, 5);
    load->homely = (uint32_t)between(random, 0, 3);
}
