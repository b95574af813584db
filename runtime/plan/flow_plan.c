#include "runtime/plan/flow_plan.h"

#include "runtime/format.h"
#include "runtime/plan/slots.h"

#include <stdlib.h>
#include <string.h>

// Which of the stage's terminals it is; as many as there are: none.
static uint32_t place_of(const SbStage *stage, uint32_t terminal) {
    uint32_t t = 0;
    while (t < stage->terminal_count && stage->terminals[t] != terminal) t++;
    return t;
}

static bool feeds(const SbStage *stage, uint32_t terminal) {
    return place_of(stage, terminal) < stage->terminal_count;
}

bool flow_needs_lanes(const SbJob *job, const SbStage *stage) {
    bool groups = false, hands_over = false;
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        uint32_t terminal = stage->terminals[t];
        bool out = terminal & SB_TERMINAL_SINK || sb_is_edge(job, terminal);
        hands_over |= out;
        groups |= !out && job->breakers[terminal].kind == SB_BREAK_GROUP;
    }
    return groups && hands_over;
}

int64_t flow_row_copies(const SbJob *job, const SbStage *stage) {
    enum { KEPT = 3 };  // In a breaker, beside the row before, and while it is written to disk.
    bool rows = stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED;
    // Of rows that come back from disk two are compared, and a third is unpacked.
    int64_t copies = rows && !sb_is_edge(job, stage->input_index) ? 5 : 2;
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        uint32_t terminal = stage->terminals[t];
        bool sink = terminal & SB_TERMINAL_SINK;
        copies += sink ? job->sinks[terminal & ~SB_TERMINAL_SINK].writer->widens
                  : sb_is_edge(job, terminal) ? 1 : KEPT;
    }
    return copies;
}

// ---- stages ---------------------------------------------------------------------------------

typedef struct Maker {
    FlowPlan *flow;
    const SbJob *job;
    const FlowNumbers *numbers;
    BreakerId ids[2 * STAGES_MAX];  // By breaker of the job, where it is none of edges.
    bool full;                    // Something did not fit.
    bool repeats[STAGES_MAX];     // By stage: its rows can be made again.
} Maker;

static StageKind kind_of(const Maker *m, const SbStage *stage) {
    switch ((SbInputKind)stage->input) {
    case SB_INPUT_TEXT:
    case SB_INPUT_RANGE:
    case SB_INPUT_RECORDS:
    case SB_INPUT_FILES: return STAGE_SOURCE;
    case SB_INPUT_UNMATCHED: return STAGE_READER;
    case SB_INPUT_ROWS: break;
    }
    if (!sb_is_edge(m->job, stage->input_index)) return STAGE_READER;
    return stage->right_index != UINT32_MAX ? STAGE_ZIP : STAGE_MAP;
}

static void add_breaker(Maker *m, BreakerId *list, uint8_t *count, uint32_t max, uint32_t breaker) {
    if (*count == max) m->full = true;
    else list[(*count)++] = m->ids[breaker];
}

// Memory of a task beside what it hands over. A task that reads text holds that of its unit, and
// maybe as much again for the row at its end.
static int64_t scratch_of(const SbStage *stage, int64_t cut) {
    enum : int64_t { CALL_BYTES = 256 << 10 };
    int64_t bytes = CALL_BYTES + stage->memory;
    return stage->input == SB_INPUT_TEXT ? bytes + 2 * cut : bytes;
}

// What the last block of each terminal may hold beyond the cut.
static int64_t slack_of(const Maker *m, const SbStage *stage, int64_t cut) {
    int64_t bytes = PARTITION_BYTES_MIN;
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        uint32_t terminal = stage->terminals[t];
        if (sb_is_edge(m->job, terminal)) bytes += 2 * m->numbers->block_bytes;
        else if (terminal & SB_TERMINAL_SINK) bytes += cut / 2;
    }
    return bytes;
}

static void set_demand(const Maker *m, CoreStage *stage, const SbStage *what) {
    for (uint32_t i = 0; i < what->demand_count; i++) {
        const SbDemand *demand = &what->demands[i];
        if (demand->resource != SB_CPUS) {
            stage->demand[1 + demand->resource] = demand->amount;
            continue;
        }
        uint32_t cpus = m->numbers->cpus;
        stage->demand[0] = demand->amount < cpus ? demand->amount : cpus;
    }
}

static void set_batch(CoreStage *stage, const SbStage *what) {
    if (what->batch <= 1) return;
    stage->batch = what->batch < UINT32_MAX ? (uint32_t)what->batch : UINT32_MAX;
    stage->batch_bytes = what->batch * what->row_bytes;
    stage->eager = what->kernels && what->kernels->eager;
}

static void add_stage(Maker *m, uint16_t s) {
    static const double SECONDS_PER_BYTE = 2e-9;  // Until more is known.
    const SbStage *what = &m->job->stages[s];
    const FlowNumbers *numbers = m->numbers;
    int64_t cut = numbers->cuts[s];
    CoreStage *stage = &m->flow->plan.stages[s];
    *stage = (CoreStage){.name = what->label.ptr,
                         .kind = kind_of(m, what),
                         .unmatched = what->input == SB_INPUT_UNMATCHED,
                         .concurrency = what->concurrency,
                         .scratch = scratch_of(what, cut) + numbers->record_bytes,
                         .cut = cut,
                         .row_max = slack_of(m, what, cut),
                         .units = UNITS_LATER,
                         .unit_bytes = cut,
                         .seconds_per_byte = SECONDS_PER_BYTE,
                         .bytes_per_byte = 1};
    set_demand(m, stage, what);
    for (uint32_t t = 0; t < what->terminal_count; t++) {
        uint32_t terminal = what->terminals[t];
        if (!(terminal & SB_TERMINAL_SINK) && !sb_is_edge(m->job, terminal))
            add_breaker(m, stage->fills, &stage->fill_count, FILLS_MAX, terminal);
    }
    for (uint32_t n = 0; n < what->need_count; n++) {
        if (!sb_is_edge(m->job, what->needs[n]))
            add_breaker(m, stage->needs, &stage->need_count, NEEDS_MAX, what->needs[n]);
    }
    if (stage->kind == STAGE_READER) stage->reads = m->ids[what->input_index];
    // A spilled breaker is read from its beginning to its end; whether it has spilled is not known.
    stage->serial = stage->kind == STAGE_READER ||
                    (stage->kind == STAGE_SOURCE && numbers->streams[what->input_index]);
    stage->chained = stage->kind == STAGE_SOURCE && what->input == SB_INPUT_TEXT &&
                     numbers->chained[what->input_index];
    // A limit takes its rows as tasks begin: none of them gives any back.
    bool limit = stage->kind == STAGE_MAP && numbers->limited[what->input_index];
    stage->in_order = limit || (stage->kind == STAGE_MAP && stage->fill_count > 0);
    if (stage->kind == STAGE_MAP && !limit) set_batch(stage, what);
    if (flow_needs_lanes(m->job, what)) stage->open_max = numbers->lanes;
}

static void add_sink(Maker *m, uint32_t sink) {
    const SbJob *job = m->job;
    m->flow->plan.stages[job->stage_count + sink] = (CoreStage){
        .name = job->sinks[sink].label.ptr, .kind = STAGE_SINK,
        .limit = m->numbers->leaves[sink], .unit_bytes = 1,
        .seconds_per_byte = 1e-10, .bytes_per_byte = 0};
}

static bool is_breaker(const Maker *m, uint32_t terminal) {
    return !(terminal & SB_TERMINAL_SINK) && !sb_is_edge(m->job, terminal);
}

static bool reads_stream(const Maker *m, const SbStage *stage) {
    bool files = stage->input == SB_INPUT_TEXT || stage->input == SB_INPUT_FILES;
    return files && m->numbers->streams[stage->input_index];
}

static bool fills_any(const Maker *m, const SbStage *stage) {
    bool any = false;
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        any |= is_breaker(m, stage->terminals[t]);
    return any;
}

// Can the rows of stage `s` be made again? Those of a stream cannot; the compiler knows what else
// cannot (ir/plan_exchange.c). Stages above come before.
static bool is_repeatable(const Maker *m, uint32_t s) {
    const SbJob *job = m->job;
    const SbStage *stage = &job->stages[s];
    bool good = !reads_stream(m, stage);
    for (uint32_t i = 0; m->flow->plan.stages[s].kind == STAGE_MAP && i < job->stage_count; i++)
        if (feeds(&job->stages[i], stage->input_index)) good &= m->repeats[i];
    return good;
}

// Where only some rows are made, the process knows which that gives them to the sink. Calls with a
// time limit are made in workers all the same, unless rows are counted.
bool flow_is_left(const SbJob *job, const SbStage *stage, const FlowLeaving *leaving) {
    bool any = false;
    for (uint32_t s = 0; s < job->stage_count; s++) {
        const SbStage *other = &job->stages[s];
        for (uint32_t t = 0; other->section == stage->section && t < other->terminal_count; t++) {
            uint32_t terminal = other->terminals[t];
            any |= terminal & SB_TERMINAL_SINK && leaving->sinks[terminal & ~SB_TERMINAL_SINK];
        }
    }
    return any && (leaving->first_rows || stage->timeout == 0);
}

static SbStr words(const char *text) { return (SbStr){text, (int64_t)strlen(text)}; }

// Why tasks of the stage run in this process. Empty: they may run in a worker, which has all that
// they read. What a worker has put into breakers and not handed over is made again when it is lost.
// Who reads a stream knows then how long it is.
static SbStr why_home(const Maker *m, uint32_t s) {
    const SbStage *stage = &m->job->stages[s];
    bool fills = fills_any(m, stage);
    if (stage->home.len > 0) return stage->home;
    if (reads_stream(m, stage)) return words("a pipe or compressed file is read once");
    if (fills && !m->repeats[s]) return words("its rows come of what is read once");
    if (m->numbers->timed_only && stage->timeout == 0)
        return words("workers only make calls with a time limit");
    FlowLeaving leaving = {m->numbers->leaves, m->numbers->first_rows};
    return flow_is_left(m->job, stage, &leaving) ? words("who takes its rows may leave")
                                                 : (SbStr){};
}

// A resource that a stage of the first node demands is there, and so are all stages that demand it.
static bool stay_together(Maker *m) {
    CorePlan *plan = &m->flow->plan;
    bool moved = false;
    for (uint8_t r = 1; r < plan->resource_count; r++) {
        bool home = false;
        for (uint32_t s = 0; s < m->job->stage_count; s++)
            home |= plan->stages[s].home && plan->stages[s].demand[r] > 0;
        for (uint32_t s = 0; s < m->job->stage_count; s++) {
            CoreStage *stage = &plan->stages[s];
            if (!home || stage->home || stage->demand[r] == 0) continue;
            stage->home = moved = true;
            m->flow->home[s] = words("what it asks for is there");
        }
    }
    return moved;
}

static bool is_far(const Maker *m, uint8_t resource) {
    const CorePlan *plan = &m->flow->plan;
    bool far = false;
    for (uint32_t s = 0; s < m->job->stage_count; s++)
        far |= !plan->stages[s].home && plan->stages[s].demand[resource] > 0;
    return far;
}

static uint32_t own_workers(const FlowNumbers *numbers) {
    return numbers->workers - numbers->places;
}

// A worker that joins has cpus. Other resources are those of this machine.
static NodeKind one_of_places(const FlowNumbers *numbers) {
    return (NodeKind){.count = 1, .capacity = {numbers->place_cpus},
                      .memory = numbers->worker_memory};
}

// Other resources are shared out among the workers.
static NodeKind one_of_alike(const Maker *m, uint32_t worker) {
    const CorePlan *plan = &m->flow->plan;
    const FlowNumbers *numbers = m->numbers;
    NodeKind one = {.count = 1, .capacity = {numbers->worker_cpus},
                    .memory = numbers->worker_memory};
    for (uint8_t r = 1; r < plan->resource_count; r++) {
        if (!is_far(m, r)) continue;
        uint32_t all = plan->nodes[0].capacity[r];
        one.capacity[r] = slots_of_share(all, own_workers(numbers), worker);
    }
    return one;
}

static NodeKind one_of_kind(const Maker *m, uint32_t worker) {
    const WorkerKind *kind = &m->numbers->kinds[worker];
    NodeKind one = {.count = 1, .capacity = {kind->cpus * WHOLE},
                    .memory = m->numbers->worker_memory};
    for (uint8_t r = 1; r < m->flow->plan.resource_count; r++)
        if (is_far(m, r)) one.capacity[r] = slots_of_kind(m->job, kind, r - 1);
    return one;
}

// As many as it has threads, so that each finds one. A worker of another machine reads rows that go
// there before: what waits for its turn would have copies.
static uint32_t tasks_ahead(const CorePlan *plan, const NodeKind *one) {
    enum : uint32_t { MOST = 64 };
    uint32_t slots = 0;
    for (uint8_t r = 0; r < plan->resource_count; r++) slots += one->capacity[r] / WHOLE;
    return slots < MOST ? slots : MOST;
}

// Workers that are alike and stand side by side are nodes of one kind.
static void add_worker(CorePlan *plan, const NodeKind *one) {
    NodeKind *last = &plan->nodes[plan->node_kinds - 1];
    bool alike = plan->node_kinds > 1 && last->ahead == one->ahead &&
                 memcmp(last->capacity, one->capacity, sizeof one->capacity) == 0;
    if (alike) last->count++;
    else plan->nodes[plan->node_kinds++] = *one;
}

static uint32_t most_cpus(const CorePlan *plan) {
    uint32_t most = 0;
    for (uint8_t k = 1; k < plan->node_kinds; k++)
        if (plan->nodes[k].capacity[0] > most) most = plan->nodes[k].capacity[0];
    return most;
}

// Does the stage demand anything but cpus?
static bool asks(const CorePlan *plan, uint32_t s) {
    bool any = false;
    for (uint8_t r = 1; r < plan->resource_count; r++) any |= plan->stages[s].demand[r] > 0;
    return any;
}

static void add_workers(Maker *m) {
    CorePlan *plan = &m->flow->plan;
    const FlowNumbers *numbers = m->numbers;
    if (numbers->workers == 0) return;
    enum : int64_t { SHORT = 5'000'000 };
    plan->leads = plan->shares = true;
    plan->step_ahead = SHORT;
    plan->covered_max = numbers->covered_max;
    memset(m->flow->moves, 0, sizeof m->flow->moves);
    for (uint32_t s = 0; s < m->job->stage_count; s++) m->repeats[s] = is_repeatable(m, s);
    for (uint32_t s = 0; s < m->job->stage_count; s++) {
        SbStr *why = &m->flow->home[s];
        *why = why_home(m, s);
        // What it asks for is of this machine, and here no worker has it.
        if (why->len == 0 && own_workers(numbers) == 0 && asks(plan, s))
            *why = words("no worker of this machine has what it asks for");
        plan->stages[s].home = why->len > 0;
    }
    while (stay_together(m)) {}
    for (uint32_t s = 0; s < m->job->stage_count; s++)
        m->flow->moves[m->job->stages[s].section] |= !plan->stages[s].home;
    for (uint32_t w = 0; w < numbers->workers; w++) {
        NodeKind one = w >= own_workers(numbers) ? one_of_places(numbers)
                       : numbers->kinds          ? one_of_kind(m, w)
                                                 : one_of_alike(m, w);
        if (w < own_workers(numbers)) one.ahead = tasks_ahead(plan, &one);
        add_worker(plan, &one);
    }
    for (uint8_t r = 1; r < plan->resource_count; r++)
        if (is_far(m, r)) plan->nodes[0].capacity[r] = 0;
    uint32_t most = most_cpus(plan);
    for (uint32_t s = 0; s < m->job->stage_count; s++) {
        uint32_t *cpus = &plan->stages[s].demand[0];
        if (!plan->stages[s].home && *cpus > most) *cpus = most;
    }
}

// ---- edges ----------------------------------------------------------------------------------

static void add_edge(Maker *m, uint32_t terminal, uint32_t from, uint32_t to) {
    CorePlan *plan = &m->flow->plan;
    CoreStage *producer = &plan->stages[from], *reader = &plan->stages[to];
    if (plan->edge_count == EDGES_MAX || producer->output_count == OUTPUTS_MAX ||
        reader->input_count == INPUTS_MAX) {
        m->full = true;
        return;
    }
    EdgeId id = {plan->edge_count++};
    plan->edges[id.i] = (CoreEdge){{(uint16_t)from}, {(uint16_t)to}};
    m->flow->terminals[id.i] = place_of(&m->job->stages[from], terminal);
    producer->outputs[producer->output_count++] = id;
    reader->inputs[reader->input_count++] = id;
}

// Edges from all that feed a terminal, in the order of their ranks.
static void add_edges(Maker *m, uint32_t terminal, uint32_t to) {
    const SbJob *job = m->job;
    uint32_t done = 0, rank = 0;
    for (uint32_t s = 0; s < job->stage_count; s++) done += !feeds(&job->stages[s], terminal);
    for (; done < job->stage_count; rank++) {
        for (uint32_t s = 0; s < job->stage_count; s++) {
            if (!feeds(&job->stages[s], terminal) || job->stages[s].rank != rank) continue;
            add_edge(m, terminal, s, to);
            done++;
        }
    }
}

// Outputs stand in the order of edges: all edges into a reader are made together.
static void add_all_edges(Maker *m) {
    const SbJob *job = m->job;
    for (uint32_t s = 0; s < job->stage_count; s++) {
        StageKind kind = m->flow->plan.stages[s].kind;
        if (kind != STAGE_MAP && kind != STAGE_ZIP) continue;
        add_edges(m, job->stages[s].input_index, s);
        if (kind != STAGE_ZIP) continue;
        add_edges(m, job->stages[s].right_index, s);
        m->full |= m->flow->plan.stages[s].input_count != 2;
    }
    for (uint32_t i = 0; i < job->sink_count; i++)
        add_edges(m, SB_TERMINAL_SINK | i, job->stage_count + i);
}

// ---- the plan -------------------------------------------------------------------------------

// What a breaker works with at least: each of its parts has a block of rows and one of texts, a
// group a table that is worth writing, and what it takes to write them.
static int64_t floor_of(const Maker *m, const SbBreaker *what) {
    enum : int64_t { BLOCK_BYTES = 64 << 10, TABLE_BYTES = 256 << 10 };
    enum { SHARE = 32, SHARES = 8 };  // What is written at once is no shorter than that.
    int64_t bytes = 2 * BLOCK_BYTES + m->numbers->part_bytes, parts = m->job->breaker_count;
    int64_t share = m->numbers->memory / SHARE;
    if (what->kind == SB_BREAK_GROUP) bytes += TABLE_BYTES;
    if (parts > SHARES) share = share * SHARES / parts;
    bytes *= m->numbers->parts;
    return bytes > share ? bytes : share;
}

static bool add_breakers(Maker *m) {
    FlowPlan *flow = m->flow;
    const SbJob *job = m->job;
    if (job->breaker_count > 2 * STAGES_MAX) return false;
    for (uint32_t b = 0; b < job->breaker_count; b++) {
        if (sb_is_edge(job, b)) continue;
        if (flow->plan.breaker_count == BREAKERS_MAX) return false;
        BreakerId id = {flow->plan.breaker_count++};
        m->ids[b] = id;
        flow->breakers[id.i] = b;
        flow->plan.breakers[id.i] = (CoreBreaker){
            .name = job->steps[job->breakers[b].step].label.ptr,
            .floor = floor_of(m, &job->breakers[b])};
    }
    return true;
}

static FlowFault judge(const Maker *m) {
    Shape *shape = malloc(sizeof *shape);
    if (!shape) return FLOW_NO_MEMORY;
    bool good = shape_make(shape, &m->flow->plan, false);
    free(shape);
    return good ? FLOW_OK : FLOW_TOO_WIDE;
}

FlowFault flow_plan_make(FlowPlan *flow, const SbJob *job, const FlowNumbers *numbers) {
    Maker m = {.flow = flow, .job = job, .numbers = numbers};
    uint32_t stages = job->stage_count + job->sink_count;
    static_assert(SB_RESOURCES_MAX + 1 == RESOURCES_MAX && (int)SB_STAGES_MAX == STAGES_MAX);
    if (stages > STAGES_MAX) return FLOW_TOO_WIDE;
    CorePlan *plan = &flow->plan;
    memset(plan, 0, offsetof(CorePlan, stages));
    memset(plan->stages, 0, stages * sizeof *plan->stages);
    if (!add_breakers(&m))
        return FLOW_TOO_WIDE;
    plan->stage_count = (uint16_t)stages;
    plan->resource_count = (uint8_t)(1 + job->resource_count);
    plan->node_kinds = 1;
    plan->completes = numbers->completes;
    plan->stub_bytes = numbers->stub_bytes;
    plan->stubs_free = numbers->stubs_free;
    NodeKind *node = &plan->nodes[0];
    *node = (NodeKind){.count = 1, .capacity = {numbers->cpus}, .memory = numbers->memory};
    for (uint32_t r = 0; r < job->resource_count; r++) node->capacity[1 + r] = numbers->supply[r];
    for (uint32_t s = 0; s < job->stage_count; s++) add_stage(&m, (uint16_t)s);
    for (uint32_t i = 0; i < job->sink_count; i++) add_sink(&m, i);
    add_workers(&m);
    add_all_edges(&m);
    return m.full ? FLOW_TOO_WIDE : judge(&m);
}

static uint32_t lane_stages(const SbJob *job) {
    uint32_t count = 0;
    for (uint32_t s = 0; s < job->stage_count; s++)
        count += flow_needs_lanes(job, &job->stages[s]);
    return count;
}

uint32_t flow_lanes(const SbJob *job, uint32_t threads) {
    return threads + lane_stages(job) * threads;
}
