// Breakers that tasks of a worker fill. A stage has breakers of its own here, with a part for each
// lane. What is in them is the worker's alone until it is flushed: then it goes to the coordinator
// as it lies, in the arena, or as runs in files.
//
//   ASK ─▶ a lane ─▶ task_run ─▶ parts of the lane ──┐
//   FLUSH ───────────────────────────────────────────┴─▶ FLUSHED: spans of rows, runs
//
// The place of a group is that of the first row of it that its part sees. So a task of a unit takes
// a lane whose parts have rows of earlier units only, or none. It keeps the lane until its unit
// ends.
#include "runtime/serve/state.h"

#include "runtime/breakers.h"
#include "runtime/host.h"

#include <stdlib.h>
#include <string.h>

enum : uint32_t { LANE_NONE = UINT32_MAX };

// ---- opening and closing ------------------------------------------------------------------------

static bool is_breaker(const Serve *s, uint32_t terminal) {
    return !(terminal & SB_TERMINAL_SINK) && !sb_is_edge(s->job->ask.what, terminal);
}

static bool fills(const Serve *s, const SbStage *stage) {
    bool any = false;
    for (uint32_t t = 0; t < stage->terminal_count; t++) any |= is_breaker(s, stage->terminals[t]);
    return any;
}

// A worker of another machine has a folder of its own there. In its files rows begin where those of
// the workers before it have ended in the files of the job.
static bool open_folder(Serve *s, const Welcome *welcome, SpillPlace *place) {
    const char *root = s->job->ask.options.spill;
    Spill *folder = &s->folder;
    if (!spill_open(folder, root ? root : spill_default_root(), 1, &s->job->machine.memory))
        return trouble_no_memory(&s->job->trouble, "to spill");
    for (uint32_t i = 0; spill_make(folder) && i < welcome->lanes; i++)
        if (!spill_begin_file(folder, welcome->first_file + i, welcome->spill_from)) break;
    place->path = folder->path;
    return !spill_trouble(folder, &s->job->trouble);
}

bool fills_open(Serve *s, const Welcome *welcome) {
    Fills *all = &s->fills;
    SbMemory *memory = &s->job->machine.memory;
    all->lane_count = welcome->lanes;
    all->first_file = welcome->first_file;
    if (all->lane_count == 0) return true;
    all->of_set = welcome->lanes / welcome->sets;
    all->lanes = calloc(all->lane_count, sizeof *all->lanes);
    all->stages = calloc(s->job->ask.what->stage_count, sizeof *all->stages);
    if (!all->lanes || !all->stages) return trouble_no_memory(&s->job->trouble, "for breakers");
    for (uint32_t i = 0; i < all->lane_count; i++)
        pthread_mutex_init(&all->lanes[i].runs, nullptr);
    // The other half is for rows on their way.
    memory->short_at = memory->limit / 2;
    memory->eager = getenv("SBC_TEST_SPILL") != nullptr;
    SpillPlace place = {welcome->spill, welcome->first_file, welcome->lanes};
    all->spills = welcome->spill[0] != '\0';
    if (all->spills && s->joined && !open_folder(s, welcome, &place)) return false;
    return !all->spills || spill_enter(&all->spill, &place, memory, &s->job->trouble);
}

bool fills_open_stage(Serve *s, StageRun *run) {
    const SbJob *what = s->job->ask.what;
    const SbStage *stage = run->stage;
    Fills *all = &s->fills;
    if (!all->stages || !fills(s, stage)) return true;
    StageFills *mine = &all->stages[run->index];
    mine->states = calloc(what->breaker_count + 1, sizeof(SbBreakerState *));
    mine->after = calloc(all->lane_count, sizeof *mine->after);
    bool good = mine->states && mine->after;
    for (uint32_t t = 0; good && t < stage->terminal_count; t++) {
        uint32_t b = stage->terminals[t];
        if (!is_breaker(s, b) || mine->states[b]) continue;
        mine->groups |= what->breakers[b].kind == SB_BREAK_GROUP;
        mine->states[b] = sb_breaker_open(&what->breakers[b], all->lane_count,
                                          &s->job->machine.memory,
                                          all->spills ? &all->spill : nullptr);
        good = mine->states[b] &&
               sb_breaker_want_first(mine->states[b], s->job->breakers.first_rows[b]);
        if (good && s->filters && s->filters[b].words)
            sb_breaker_leave_out(mine->states[b], &s->filters[b]);
    }
    run->setup.breakers = mine->states;
    return good || stage_no_memory(run, &s->job->trouble);
}

bool fills_take_filter(Serve *s, Unpack *from) {
    const SbJob *what = s->job->ask.what;
    SbKeyFilter filter;
    uint32_t breaker;
    if (!wire_get_filter(from, what, &breaker, &filter)) return false;
    if (!s->filters) s->filters = calloc(what->breaker_count, sizeof *s->filters);
    if (!s->filters) return trouble_no_memory(&s->job->trouble, "for filters");
    s->filters[breaker] = filter;
    return true;
}

void fills_close_stage(Serve *s, uint32_t stage) {
    StageFills *mine = s->fills.stages ? &s->fills.stages[stage] : nullptr;
    if (!mine) return;
    for (uint32_t b = 0; mine->states && b < s->job->ask.what->breaker_count; b++)
        if (mine->states[b]) sb_breaker_close(mine->states[b]);
    free(mine->states);
    free(mine->after);
    *mine = (StageFills){0};
}

void fills_close(Serve *s) {
    for (uint32_t i = 0; s->fills.stages && i < s->job->ask.what->stage_count; i++)
        fills_close_stage(s, i);
    for (uint32_t i = 0; s->fills.lanes && i < s->fills.lane_count; i++)
        pthread_mutex_destroy(&s->fills.lanes[i].runs);
    if (s->fills.spills) spill_close(&s->fills.spill);
    if (s->folder.writers) spill_close(&s->folder);
    free(s->fills.lanes);
    free(s->fills.stages);
}

// ---- lanes --------------------------------------------------------------------------------------

static StageFills *fills_of(Serve *s, const Served *task) {
    StageFills *mine = s->fills.stages ? &s->fills.stages[task->run->index] : nullptr;
    return mine && mine->states ? mine : nullptr;
}

// Of the set's lanes that are free and have only rows of units before this one, the fullest; else a
// free one, whose rows have to go first.
static uint32_t find_lane(const Fills *all, const StageFills *mine, uint32_t set,
                          uint64_t unit) {
    uint32_t found = LANE_NONE, other = LANE_NONE, first = set * all->of_set;
    for (uint32_t i = first; i < first + all->of_set; i++) {
        if (all->lanes[i].held) continue;
        if (mine->groups && mine->after[i] > unit) other = i;
        else if (found == LANE_NONE || mine->after[i] > mine->after[found]) found = i;
    }
    return found == LANE_NONE ? other : found;
}

static bool empty_lane(Serve *s, const StageFills *mine, uint32_t lane) {
    pthread_mutex_lock(&s->fills.lanes[lane].runs);
    for (uint32_t b = 0; b < s->job->ask.what->breaker_count; b++)
        if (mine->states[b]) sb_breaker_relieve(mine->states[b], lane);
    pthread_mutex_unlock(&s->fills.lanes[lane].runs);
    return !s->fills.spills || !s->fills.spill.failed;
}

bool fills_take_lane(Serve *s, Served *task, Trouble *trouble) {
    StageFills *mine = fills_of(s, task);
    uint64_t unit = task->unit.ordinal;
    task->fills = mine;
    if (!mine || task->holds_lane) return true;
    pthread_mutex_lock(&s->lock);
    uint32_t lane = find_lane(&s->fills, mine, task->set, unit);
    bool late = lane != LANE_NONE && mine->groups && mine->after[lane] > unit;
    if (lane != LANE_NONE) {
        task->lane = lane;
        task->holds_lane = s->fills.lanes[lane].held = true;
        mine->after[lane] = unit;
    }
    pthread_mutex_unlock(&s->lock);
    if (lane == LANE_NONE) return stage_no_memory(task->run, trouble);
    return !late || empty_lane(s, mine, lane) || !spill_trouble(&s->fills.spill, trouble);
}

void fills_let_go(Serve *s, Served *task) {
    if (task->holds_lane) s->fills.lanes[task->lane].held = false;
    task->holds_lane = false;
}

static void free_lane(Serve *s, Served *task) {
    pthread_mutex_lock(&s->lock);
    fills_let_go(s, task);
    pthread_mutex_unlock(&s->lock);
}

void fills_run(Serve *s, Served *task, Partition *partition) {
    if (!task->fills) {
        task_run(task->state, partition, 0);
        return;
    }
    Lane *lane = &s->fills.lanes[task->lane];
    pthread_mutex_lock(&lane->runs);
    task_run(task->state, partition, task->lane);
    pthread_mutex_unlock(&lane->runs);
}

void fills_ran(Serve *s, Served *task, const Partition *partition, Trouble *trouble) {
    if (!task->fills) return;
    if (s->fills.spills) spill_trouble(&s->fills.spill, trouble);
    if (partition->last) free_lane(s, task);
}

void fills_went_back(Serve *s, Served *task) {
    if (task->fills) free_lane(s, task);
}

// ---- flushing -----------------------------------------------------------------------------------

// May what the stage has stay in memory? There it is in the way of what comes next.
static bool may_stay(Serve *s, const SbBreakerState *state, const Flush *flush) {
    enum { SHARE = 4 };
    const SbMemory *memory = &s->job->machine.memory;
    if (flush->writes || memory->eager || sb_breaker_has_runs(state)) return false;
    return flush->last || memory->used <= memory->limit / SHARE;
}

static bool flush_part(SbBreakerState *state, uint32_t lane, uint32_t of_set, bool stays,
                       uint32_t t, Flushed *flushed) {
    FarPart part;
    bool good = (stays || !sb_breaker_relieve(state, lane)) &&
                sb_breaker_leave(state, lane, &part, wire_add_block, &flushed->blocks);
    if (good && part.span_count > 0) wire_add_part(flushed, t, lane / of_set, &part);
    else if (good) far_part_close(&part);
    // What found no memory to be copied is written.
    return good || !stays || sb_breaker_relieve(state, lane);
}

static void flush_breaker(Serve *s, const Flush *flush, uint32_t t, Flushed *flushed) {
    uint32_t breaker = s->job->ask.what->stages[flush->stage].terminals[t], count = 0;
    SbBreakerState *state = s->fills.stages[flush->stage].states[breaker];
    bool stays = may_stay(s, state, flush), good = true;
    for (uint32_t lane = 0; lane < s->fills.lane_count && good; lane++) {
        pthread_mutex_lock(&s->fills.lanes[lane].runs);
        good = flush_part(state, lane, s->fills.of_set, stays, t, flushed);
        flushed->left_out[t] += sb_breaker_take_left_out(state, lane);
        pthread_mutex_unlock(&s->fills.lanes[lane].runs);
    }
    SpillRun *runs = sb_breaker_leave_runs(state, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t file = s->fills.first_file + runs[i].file;
        good &= !s->joined || copies_send_run(s, &runs[i], file);
        wire_add_run(flushed, t, &runs[i], file);
        if (s->joined) spill_forget(&s->fills.spill, &runs[i]);
        else spill_index_close(runs[i].index);
    }
    free(runs);
    bool failed = s->fills.spills && spill_trouble(&s->fills.spill, &flushed->trouble);
    if (!good && !failed)
        trouble_set(&flushed->trouble, TROUBLE_MEMORY, "no memory to hand over '%.*s'",
                    (int)s->runs[flush->stage].stage->label.len,
                    s->runs[flush->stage].stage->label.ptr);
}

// Nothing where no task of the stage has come to its rows here, or the stage is closed.
static void flush_stage(Serve *s, const Flush *flush, Flushed *flushed) {
    const SbStage *stage = &s->job->ask.what->stages[flush->stage];
    StageFills *mine = &s->fills.stages[flush->stage];
    for (uint32_t t = 0; mine->states && t < stage->terminal_count; t++)
        if (is_breaker(s, stage->terminals[t])) flush_breaker(s, flush, t, flushed);
    if (mine->after) memset(mine->after, 0, s->fills.lane_count * sizeof *mine->after);
}

// None of the stage's tasks is within a unit: the coordinator has waited for that.
void serve_flush(Serve *s, const Order *order) {
    Unpack from = {order->bytes, order->bytes + order->len, false};
    Flush flush;
    bool good = wire_get_flush(&from, &flush) && flush.stage < s->job->ask.what->stage_count;
    if (!good || !s->fills.stages || !fills(s, &s->job->ask.what->stages[flush.stage])) {
        trouble_set(&s->job->trouble, TROUBLE_WORKER_OTHER, "a FLUSH that is none of this job");
        serve_fail(s);
        return;
    }
    failpoint("worker-flush");
    Flushed flushed = {.stage = flush.stage};
    flush_stage(s, &flush, &flushed);
    left_check(s, &flushed);
    Text text = {0};
    copies_send_blocks(s, &flushed.blocks);
    wire_put_flushed(&text, &flushed);
    wire_close_flushed(&flushed);
    serve_say(s, WIRE_FLUSHED, &text);
    failpoint("worker-flushed");
}
