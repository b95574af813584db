// Units: which units of the roots are done, with all that was made of them; what the dispatch tells
// commits of them (dispatch/observers.def).
//
// A unit is done when no task works on it and no partition is alive that was made of it, at
// whatever stage. Then sinks have its rows, and its counts and rejects are final. Done units are
// folded into the root's cut in their order (resume/cut.c), and commits are made of cuts
// (resume/commit.c).
#include "runtime/resume/run.h"

#include <stdlib.h>
#include <string.h>

// Of a root that goes on; nullptr: of another one, or nothing is committed any more.
static RootLog *log_of(const Resume *resume, uint32_t root) {
    bool open = !resume->closed && !resume->d->stop;
    return open && resume->roots[root].goes_on ? &resume->roots[root] : nullptr;
}

static UnitTally *tally_of(const RootLog *log, uint64_t unit) {
    return &log->tallies[unit % log->cap];
}

static void end_without_memory(Resume *resume) {
    if (!spill_trouble(resume->spill, resume->trouble))
        journal_no_memory(resume->trouble);
    dispatch_stop(resume->d);
}

// ---- folding ------------------------------------------------------------------------------------

// Rows of a side of a zip that are of units of the root: of its cut, or of one more.
static int64_t rows_to_zip(const Resume *resume, const int64_t *figures, uint32_t edge) {
    const SbJob *what = resume->what;
    uint32_t at = resume->state.passed_at;
    int64_t rows = 0;
    for (uint32_t s = 0; s < what->stage_count; s++)
        for (uint32_t t = 0; t < what->stages[s].terminal_count; t++, at++)
            if (what->stages[s].terminals[t] == edge) rows += figures[at];
    return rows;
}

// A unit of a side is folded when all pieces that have rows of it are: so a zip that goes on finds
// what it is to begin with.
static bool is_ahead(const Resume *resume, const RootLog *log, const UnitTally *tally) {
    if (log->zip == UINT32_MAX) return false;
    const SbStage *zip = &resume->what->stages[log->zip];
    const uint32_t sides[] = {zip->input_index, zip->right_index};
    bool ahead = false;
    for (int i = 0; i < 2; i++) {
        int64_t rows = rows_to_zip(resume, log->cut.figures, sides[i]) +
                       rows_to_zip(resume, tally->figures, sides[i]);
        ahead |= rows > resume->roots[log->zip].cut.rows;
    }
    return ahead;
}

// Pieces have none after the last.
static bool zip_is_over(const Resume *resume, uint32_t root, const RootLog *log) {
    return resume->d->plan->plan.stages[root].kind == STAGE_ZIP && log->cut.units == log->begun &&
           schedule_is_over(resume->d->schedule, (StageId){(uint16_t)root});
}

static void fold(Resume *resume, uint32_t root) {
    RootLog *log = &resume->roots[root];
    uint32_t figures = resume->state.figure_count;
    while (log->cut.units < log->begun && log->cut.units < log->target) {
        const UnitTally *tally = tally_of(log, log->cut.units);
        if (tally->alive > 0 || (tally->cut && is_ahead(resume, log, tally))) return;
        if (!tally->cut) {
            log->over = true;
            return;
        }
        if (!cut_fold(&resume->d->runs[root], log, tally, figures)) {
            end_without_memory(resume);
            return;
        }
    }
    log->over |= zip_is_over(resume, root, log);
}

static void closing_stage(void *self, uint32_t stage) {
    Resume *resume = self;
    const StageRun *run = &resume->d->runs[stage];
    if (resume->d->plan->plan.stages[stage].kind == STAGE_MAP && stage_is_open(run))
        resume->ordinals[stage] = run->units.ordinal;
}

// Folds what a commit that was packed held up, too.
static void fold_group(Resume *resume, const CommitGroup *group) {
    for (uint32_t r = group->root_count; r-- > 0 && !resume->d->stop;)
        fold(resume, group->roots[r]);
    for (uint32_t s = 0; s < resume->root_count; s++) closing_stage(resume, s);
    // Of a job that fails because of its data nothing is kept.
    if (verdict_ends(&resume->d->verdict)) resume->closed = true;
}

static void look(Resume *resume, CommitGroup *group, bool last) {
    Trouble trouble;
    trouble_clear(&trouble);
    fold_group(resume, group);
    bool open = !resume->closed && !resume->d->stop, times = open && group->due_ns == 0;
    if (times) group->due_ns = group_due(resume, group);
    if (open && !group_look(resume, group, last, &trouble))
        dispatch_trouble(resume->d, TROUBLE_JOURNAL_WRITE, &trouble);
    // What cannot be committed now is judged anew when more is done.
    if (group->due_ns <= log_clock_ns()) group->due_ns = 0;
    bool asks = group->waits && !group->asked;
    times &= group->due_ns > 0;
    if (group->state == COMMIT_READY || asks || times) pthread_cond_signal(&resume->d->changed);
}

// Rows that were lost with a worker are made once more, of units that were done.
static uint32_t *alive_of(RootLog *log, uint64_t unit) {
    return unit < log->cut.units ? &log->again : &tally_of(log, unit)->alive;
}

static void let_go(Resume *resume, uint32_t root, uint64_t unit) {
    RootLog *log = log_of(resume, root);
    if (log && --*alive_of(log, unit) == 0)
        look(resume, &resume->groups[log->group], false);
}

// ---- units --------------------------------------------------------------------------------------

// Does the flow begin one? So does a piece of a zip.
static bool is_unit(const Flow *flow) { return !flow->input || flow->other; }

static bool make_room(RootLog *log) {
    uint64_t first = log->cut.units;
    if (log->begun - first < log->cap) return true;
    uint32_t cap = log->cap ? 2 * log->cap : 64;
    UnitTally *tallies = calloc(cap, sizeof *tallies);
    if (!tallies) return false;
    for (uint64_t unit = first; unit < log->begun; unit++)
        tallies[unit % cap] = *tally_of(log, unit);
    free(log->tallies);
    log->tallies = tallies;
    log->cap = cap;
    return true;
}

static bool launched(void *self, Flow *flow) {
    Resume *resume = self;
    RootLog *log = is_unit(flow) ? log_of(resume, flow->root) : nullptr;
    if (!log) return true;
    uint32_t figures = resume->state.figure_count;
    UnitTally *tally = make_room(log) ? tally_of(log, flow->number) : nullptr;
    if (tally && !tally->figures) tally->figures = malloc((figures + 1) * sizeof *tally->figures);
    if (!tally || !tally->figures) {
        end_without_memory(resume);
        return true;
    }
    memset(tally->figures, 0, figures * sizeof *tally->figures);
    Text rejects = tally->rejects;
    rejects.len = 0;
    *tally = (UnitTally){.alive = 1 + (flow->doubt != nullptr), .figures = tally->figures,
                         .rejects = rejects, .rows = flow->other ? flow->rows : 0};
    log->begun = (uint64_t)flow->number + 1;
    return true;
}

static void ended(void *self, Flow *flow) {
    Resume *resume = self;
    RootLog *log = log_of(resume, flow->root);
    bool limited = limits_may_cancel(resume->limits, flow->run->index);
    if (log && flow->canceled && !limited) resume->closed = true;
    if (!log || !is_unit(flow) || (flow->canceled && !limited)) return;
    UnitTally *tally = tally_of(log, flow->number);
    tally->cut = flow->prepared;
    tally->unit = flow->unit;
    if (flow->prepared) input_add_block(flow->run, &flow->unit, tally);
    let_go(resume, flow->root, flow->number);
}

static void settled(void *self, uint32_t root, uint64_t unit, bool wanted) {
    Resume *resume = self;
    const RootLog *log = log_of(resume, root);
    if (!log) return;
    if (!wanted) tally_of(log, unit)->cut = false;
    let_go(resume, root, unit);
}

static void handed(void *self, LivePartition *live) {
    const Resume *resume = self;
    RootLog *log = log_of(resume, live->root);
    if (log) ++*alive_of(log, live->root_unit);
}

static void freed(void *self, LivePartition *live) {
    Resume *resume = self;
    let_go(resume, live->root, live->root_unit);
}

static void lost(void *self, const Flow *flow) {
    const Resume *resume = self;
    const RootLog *log = log_of(resume, flow->root);
    if (log) tally_of(log, flow->root_unit)->alive++;
}

// ---- what is made of them -----------------------------------------------------------------------

// Records of rows of the unit. False: no memory.
static bool add_rejects(UnitTally *tally, const RejectList *rejects, VerdictPlace place) {
    bool good = true;
    for (uint32_t i = 0; good && i < rejects->count; i++) {
        Reject reject = rejects->items[i];
        verdict_place(&reject, place);
        good = tally_reject(tally, &reject);
    }
    return good;
}

static bool counted(void *self, const Flow *flow, const Partition *partition) {
    const Resume *resume = self;
    const RootLog *log = log_of(resume, flow->root);
    if (!log) return true;
    UnitTally *tally = tally_of(log, flow->root_unit);
    uint32_t stage = flow->run->index, at = resume->state.passed_at;
    if (!flow->input) tally->rows += partition->made;
    for (uint32_t s = 0; s < stage; s++) at += resume->what->stages[s].terminal_count;
    for (uint32_t t = 0; t < flow->run->stage->terminal_count; t++)
        tally->figures[at + t] += partition->rows[t];
    if (flow->run->stage->input == SB_INPUT_UNMATCHED)
        tally->figures[resume->state.taken_at + stage] += partition->end - partition->begin;
    VerdictPlace place = flow_verdict_place(resume->d, flow->root, flow->node);
    for (uint32_t i = 0; i < sb_figure_count(resume->what); i++)
        tally->figures[i] += partition->counts[i];
    return add_rejects(tally, &partition->rejects, place);
}

static bool counted_late(void *self, const LateCounts *late) {
    const Resume *resume = self;
    const RootLog *log = log_of(resume, late->root);
    if (!log) return true;
    UnitTally *tally = tally_of(log, late->number);
    if (late->of_root) {
        tally->rows += late->made;
        tally->part = !late->whole;
        tally->end = late->end;
    }
    uint32_t stage = late->place.stage;
    bool rest = resume->what->stages[stage].input == SB_INPUT_UNMATCHED;
    tally->figures[resume->state.taken_at + stage] += rest ? late->bytes : late->taken;
    for (uint32_t i = 0; i < late->count; i++) tally->figures[late->from + i] += late->counts[i];
    return add_rejects(tally, late->rejects, late->place);
}

static void rows(void *self, const Flow *flow, int64_t taken, int64_t came) {
    const Resume *resume = self;
    const RootLog *log = log_of(resume, flow->root);
    // Those of a unit that is folded were counted then.
    if (!log || flow->root_unit < log->cut.units) return;
    int64_t *figures = tally_of(log, flow->root_unit)->figures;
    const ResumeState *state = &resume->state;
    figures[state->taken_at + flow->run->index] += taken;
    figures[state->came_at + flow->run->index] += came;
}

static void taking(void *self, const Flow *flow) {
    Resume *resume = self;
    const LivePartition *input = flow->input;
    if (resume->closed || flow->canceled) return;
    Trouble trouble;
    trouble_clear(&trouble);
    if (!group_taking(resume, flow->sink, input->root, input->root_unit, &trouble))
        dispatch_trouble(resume->d, TROUBLE_JOURNAL_WRITE, &trouble);
}

// ---- verdicts -----------------------------------------------------------------------------------

// Once somebody has made rows by a verdict, another run makes the same rows.
static bool judged(void *self, const Text *cases) {
    Resume *resume = self;
    if (resume->closed) return true;
    pthread_mutex_lock(&resume->writing);
    sb_text_add(&resume->state.cases, cases->ptr, cases->len);
    bool good = !resume->state.cases.failed || journal_no_memory(resume->trouble);
    good = good && journal_append(&resume->journal, RECORD_CASES, cases->ptr, cases->len,
                                  resume->trouble);
    pthread_mutex_unlock(&resume->writing);
    return good;
}

// ---- commits ------------------------------------------------------------------------------------

// What workers had handed over is on disk.
static void let_far_go(const Resume *resume, const CommitGroup *group) {
    for (uint32_t b = 0; b < group->breaker_count; b++) {
        SbBreakerState *state = resume->breakers[group->breakers[b]];
        if (state) sb_breaker_let_far_go(state);
    }
}

static bool write(Resume *resume, CommitGroup *group) {
    Trouble trouble = {0};
    pthread_mutex_unlock(&resume->d->lock);
    bool good = group_write(resume, group, &trouble);
    good = group_done(group, &trouble) && good;
    pthread_mutex_lock(&resume->d->lock);
    let_far_go(resume, group);
    // After a failure no other commit of the group is tried.
    if (!good) dispatch_trouble(resume->d, TROUBLE_JOURNAL_WRITE, &trouble);
    else group->state = COMMIT_NONE;
    pthread_cond_broadcast(&resume->d->changed);
    return good;
}

// Of the group, or of what comes again to its sink.
static uint32_t first_root(const Resume *resume, const CommitGroup *group) {
    if (group->root_count > 0) return group->roots[0];
    return resume->ends[group->sinks[0].sink].roots[0];
}

// A commit that waits for workers. Nothing tells that what they make once more has come to its end.
static void look_again(Resume *resume, bool now) {
    enum : int64_t { PAUSE_NS = 10'000'000 };
    if (!now && resume->d->now - resume->looked_ns < PAUSE_NS) return;
    for (uint32_t g = 0; g < resume->group_count && !resume->closed; g++) {
        CommitGroup *group = &resume->groups[g];
        if (group->state != COMMIT_CHOSEN || !group->waits) continue;
        resume->looked_ns = resume->d->now;
        group->asked = false;
        look(resume, group, false);
    }
}

static void settle(void *self) { look_again(self, false); }

static void flushed(void *self, uint32_t stage) {
    (void)stage;
    look_again(self, true);
}

static void flush_groups(Resume *resume) {
    for (uint32_t g = 0; g < resume->group_count && !resume->closed; g++)
        if (resume->groups[g].waits && !resume->groups[g].asked)
            group_flush(resume, &resume->groups[g]);
}

// The earliest commit of what is done already.
static int64_t wake(void *self) {
    const Resume *resume = self;
    int64_t least = INT64_MAX;
    for (uint32_t g = 0; g < resume->group_count && !resume->closed; g++) {
        int64_t due = resume->groups[g].due_ns;
        if (due > 0 && due < least) least = due;
    }
    return least;
}

// Units that end later may take long: what is done does not wait for them.
static void look_in_time(Resume *resume) {
    int64_t due = wake(resume);
    if (due == INT64_MAX || due > log_clock_ns()) return;
    for (uint32_t g = 0; g < resume->group_count; g++)
        if (resume->groups[g].due_ns == due) look(resume, &resume->groups[g], false);
}

static bool work_first(void *self, uint32_t thread) {
    Resume *resume = self;
    look_in_time(resume);
    flush_groups(resume);
    CommitGroup *group = !resume->closed ? group_ready(resume) : nullptr;
    if (!group) return false;
    tell_begin(&resume->d->observers, thread, WORK_WRITE, first_root(resume, group));
    if (write(resume, group) && !resume->d->stop) look(resume, group, false);
    dispatch_clock(resume->d);
    tell_done(&resume->d->observers, thread);
    return true;
}

// ---- the life of a job --------------------------------------------------------------------------

static uint32_t lane(void *self, const Flow *flow) {
    const Resume *resume = self;
    const RootLog *log = log_of(resume, flow->root);
    if (!log || resume->groups[log->group].breaker_count == 0) return 0;
    uint32_t parity = resume->groups[log->group].parity;
    return (flow->root_unit >= log->split ? parity : !parity) * resume->lanes;
}

static bool may_finish(void *self, uint32_t breaker) {
    Resume *resume = self;
    Trouble trouble = {0};
    CommitGroup *group = group_of_breaker(resume, breaker);
    if (!group || atomic_load(resume->drain)) return true;
    fold_group(resume, group);
    bool may = group_may_finish(resume, breaker, &trouble);
    // Tables of two flows may wait for each other's rows, and the commit for both.
    if (!may && group->state == COMMIT_CHOSEN && !dispatch_moves(resume->d)) {
        group_give_up(resume, group);
        may = true;
    }
    if (trouble.kind != TROUBLE_NONE) dispatch_trouble(resume->d, TROUBLE_JOURNAL_WRITE, &trouble);
    return may;
}

static bool uses_breaker(void *self, uint32_t breaker) {
    const Resume *resume = self;
    const CommitGroup *rows = group_of_breaker(resume, breaker);
    const CommitGroup *marks = group_of_table(resume, breaker);
    // A job that ends early does not finish its breakers: what came into them is for its last
    // commit.
    bool last = rows && atomic_load(resume->drain) && !rows->ended && !resume->closed;
    return last || (rows && rows->state == COMMIT_BUSY) || (marks && marks->state == COMMIT_BUSY);
}

static void closing_breaker(void *self, uint32_t breaker) {
    Resume *resume = self;
    Trouble trouble = {0};
    bool open = !resume->closed && !resume->d->stop;
    if (open && !marks_keep(resume, breaker, &trouble))
        dispatch_trouble(resume->d, TROUBLE_MEMORY, &trouble);
}

static bool finished(void *self, uint32_t breaker) {
    Resume *resume = self;
    return marks_restore(resume, breaker);
}

// The sides of a zip begin at the units that its next piece begins with, or before these. Producers
// stand before consumers: their cuts are back.
static void count_again(const Resume *resume, uint32_t zip, Event *event) {
    const SbStage *stage = &resume->what->stages[zip];
    const uint32_t sides[] = {stage->input_index, stage->right_index};
    for (int i = 0; i < 2; i++) {
        event->output_rows[i] = resume->roots[zip].cut.rows;
        for (uint32_t r = 0; r < zip; r++)
            if (resume->roots[r].goes_on)
                event->output_rows[i] -=
                    rows_to_zip(resume, resume->roots[r].cut.figures, sides[i]);
    }
}

// The records of these units know the numbers of their rows; after them all rows are counted.
static void skip(Resume *resume, uint32_t root, const RootLog *log) {
    uint64_t units = log->cut.units;
    Trouble trouble = {0};
    if (!flow_count_rows(&resume->d->runs[root], units - 1, log->cut.rows, &trouble))
        dispatch_trouble(resume->d, TROUBLE_MEMORY, &trouble);
    Event event = {.kind = EVENT_SKIP, .stage = {(uint16_t)root}, .count = (uint32_t)units};
    if (resume->d->plan->plan.stages[root].kind == STAGE_ZIP) count_again(resume, root, &event);
    dispatch_tell(resume->d, event);
}

// What limits have taken, and what was counted where it was taken.
static void restore_taken(Resume *resume, const int64_t *figures) {
    const ResumeState *state = &resume->state;
    for (uint32_t s = 0; s < state->stage_count; s++)
        limits_restore(resume->limits, s, figures[state->taken_at + s],
                       figures[state->came_at + s]);
}

static bool restore_cases(const Resume *resume) {
    const Text *cases = &resume->state.cases;
    Unpack from = {cases->ptr, cases->ptr + cases->len, false};
    bool good = true;
    for (GuardCase is; good && wire_get_case(&from, &is);) good = guards_set(resume->guards, &is);
    return good;
}

static void restore(void *self) {
    Resume *resume = self;
    if (!restore_cases(resume)) end_without_memory(resume);
    if (!breakers_restore(resume)) dispatch_stop(resume->d);
    for (uint32_t r = 0; r < resume->root_count && !resume->d->stop; r++) {
        RootLog *log = &resume->roots[r];
        if (!log->goes_on) continue;
        if (!cut_restore(resume, resume->d->runs, r, resume->limits) ||
            !cut_restore_records(resume, r, &resume->d->verdict))
            end_without_memory(resume);
        else restore_taken(resume, log->cut.figures);
        if (log->cut.units > 0) skip(resume, r, log);
    }
}

static void end(void *self) {
    Resume *resume = self;
    // What was on its way when the job was to end has come to its sinks.
    for (CommitGroup *group = nullptr; resume->d->draining && !resume->d->stop;) {
        for (uint32_t g = 0; g < resume->group_count; g++) look(resume, &resume->groups[g], true);
        group = resume->closed || resume->d->stop ? nullptr : group_ready(resume);
        if (!group || !write(resume, group)) break;
    }
    resume->closed = true;
    for (uint32_t g = 0; g < resume->group_count; g++) {
        Trouble trouble = {0};
        if (!group_done(&resume->groups[g], &trouble))
            dispatch_trouble(resume->d, TROUBLE_JOURNAL_WRITE, &trouble);
    }
}

// ---- opening ------------------------------------------------------------------------------------

static bool open(void *self, Dispatch *d) {
    Resume *resume = self;
    resume->d = d;
    return true;
}

static void prepare(void *self, StageRun *run) {
    (void)self;
    resume_units(run, &run->start);
}

Observer resume_observer(Job *job, Limits *limits) {
    static const ObserverCalls calls = {
        .open = open, .judged = judged, .prepare = prepare, .restore = restore, .end = end,
        .work_first = work_first, .wake = wake, .settle = settle, .flushed = flushed,
        .launched = launched, .rows = rows, .lost = lost, .lane = lane,
        .counted = counted, .ended = ended, .counted_late = counted_late, .settled = settled,
        .handed = handed, .taking = taking, .freed = freed, .closing_stage = closing_stage,
        .uses_breaker = uses_breaker, .closing_breaker = closing_breaker,
        .may_finish = may_finish, .finished = finished,
    };
    Resume *resume = job->resume;
    resume->limits = limits;
    resume->fills = job->breakers.fills;
    return (Observer){&calls, resume};
}
