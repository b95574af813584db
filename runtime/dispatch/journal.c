// Journal of a dispatch: which units of the roots are done, with all that was made of them.
//
// A unit is done when no task works on it and no partition is alive that was made of it, at
// whatever stage: then sinks have its rows and its counts and rejects are final. Done units are
// folded into the root's cut in their order (resume/cut.c), and commits are made of cuts
// (resume/commit.c). Without a journal each function returns at once.
#include "runtime/dispatch/state.h"
#include "runtime/resume/run.h"

#include <stdlib.h>
#include <string.h>

// Of a root that goes on; nullptr: of another one, or nothing is committed any more.
static RootLog *log_of(const Dispatch *d, uint32_t root) {
    const Resume *resume = d->job->resume;
    bool open = resume && !resume->closed && !d->stop;
    return open && resume->roots[root].goes_on ? &resume->roots[root] : nullptr;
}

static UnitTally *tally_of(const RootLog *log, uint64_t unit) {
    return &log->tallies[unit % log->cap];
}

static void no_memory(Dispatch *d) {
    if (!spill_trouble(&d->job->spill, &d->job->trouble))
        trouble_set(&d->job->trouble, TROUBLE_NO_MEMORY, "no memory for the journal");
    dispatch_stop(d);
}

// ---- folding ------------------------------------------------------------------------------------

// Rows of a side of a zip that are of units of the root: of its cut, or of one more.
static int64_t rows_to_zip(const Dispatch *d, const int64_t *figures, uint32_t edge) {
    const SbJob *what = d->job->what;
    uint32_t at = d->job->resume->state.passed_at;
    int64_t rows = 0;
    for (uint32_t s = 0; s < what->stage_count; s++)
        for (uint32_t t = 0; t < what->stages[s].terminal_count; t++, at++)
            if (what->stages[s].terminals[t] == edge) rows += figures[at];
    return rows;
}

// A unit of a side is folded when all pieces that have rows of it are: so a zip that goes on finds
// what it is to begin with.
static bool is_ahead(const Dispatch *d, const RootLog *log, const UnitTally *tally) {
    const Resume *resume = d->job->resume;
    if (log->zip == UINT32_MAX) return false;
    const SbStage *zip = &d->job->what->stages[log->zip];
    const uint32_t sides[] = {zip->input_index, zip->right_index};
    bool ahead = false;
    for (int i = 0; i < 2; i++) {
        int64_t rows = rows_to_zip(d, log->cut.figures, sides[i]) +
                       rows_to_zip(d, tally->figures, sides[i]);
        ahead |= rows > resume->roots[log->zip].cut.rows;
    }
    return ahead;
}

// Pieces have none behind the last.
static bool zip_is_over(const Dispatch *d, uint32_t root, const RootLog *log) {
    return d->plan->plan.stages[root].kind == STAGE_ZIP && log->cut.units == log->begun &&
           schedule_over(d->schedule) >> root & 1;
}

static void fold(Dispatch *d, uint32_t root) {
    RootLog *log = &d->job->resume->roots[root];
    uint32_t figures = d->job->resume->state.figure_count;
    while (log->cut.units < log->begun && log->cut.units < log->target) {
        const UnitTally *tally = tally_of(log, log->cut.units);
        if (tally->alive > 0 || (tally->cut && is_ahead(d, log, tally))) return;
        if (!tally->cut) {
            log->over = true;
            return;
        }
        if (!cut_fold(&d->runs[root], log, tally, figures)) {
            no_memory(d);
            return;
        }
    }
    log->over |= zip_is_over(d, root, log);
}

void commit_note_ordinal(Dispatch *d, uint32_t stage) {
    const StageRun *run = &d->runs[stage];
    if (d->job->resume && d->plan->plan.stages[stage].kind == STAGE_MAP && run->opened)
        d->job->resume->ordinals[stage] = run->units.ordinal;
}

// Folds what a commit that was packed held up, too.
static void fold_group(Dispatch *d, const CommitGroup *group) {
    Resume *resume = d->job->resume;
    for (uint32_t r = group->root_count; r-- > 0 && !d->stop;) fold(d, group->roots[r]);
    for (uint32_t s = 0; s < resume->root_count; s++) commit_note_ordinal(d, s);
    // Of a job that fails because of its data nothing is kept.
    if (verdict_ends(&d->verdict)) resume->closed = true;
}

static void look(Dispatch *d, CommitGroup *group, bool last) {
    Trouble trouble;
    trouble_clear(&trouble);
    fold_group(d, group);
    bool open = !d->job->resume->closed && !d->stop;
    if (open && !group_look(d->job, group, last, &trouble))
        dispatch_trouble(d, TROUBLE_JOURNAL_WRITE, &trouble);
    if (group->state == COMMIT_READY) pthread_cond_signal(&d->changed);
}

static void let_go(Dispatch *d, uint32_t root, uint64_t unit) {
    const RootLog *log = log_of(d, root);
    if (log && --tally_of(log, unit)->alive == 0)
        look(d, &d->job->resume->groups[log->group], false);
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

void commit_unit(Dispatch *d, const Flow *flow) {
    RootLog *log = is_unit(flow) ? log_of(d, flow->root) : nullptr;
    if (!log) return;
    uint32_t figures = d->job->resume->state.figure_count;
    UnitTally *tally = make_room(log) ? tally_of(log, flow->number) : nullptr;
    if (tally && !tally->figures) tally->figures = malloc((figures + 1) * sizeof *tally->figures);
    if (!tally || !tally->figures) {
        no_memory(d);
        return;
    }
    memset(tally->figures, 0, figures * sizeof *tally->figures);
    Text rejects = tally->rejects;
    rejects.len = 0;
    *tally = (UnitTally){.alive = 1 + (flow->doubt != nullptr), .figures = tally->figures,
                         .rejects = rejects, .rows = flow->other ? flow->rows : 0};
    log->begun = (uint64_t)flow->number + 1;
}

void commit_unit_ends(Dispatch *d, const Flow *flow) {
    RootLog *log = log_of(d, flow->root);
    bool limited = doubt_may_cancel(d, flow->run->index);
    if (log && flow->canceled && !limited) d->job->resume->closed = true;
    if (!log || !is_unit(flow) || (flow->canceled && !limited)) return;
    UnitTally *tally = tally_of(log, flow->number);
    tally->cut = flow->prepared;
    tally->unit = flow->unit;
    if (flow->prepared) input_add_block(flow->run, &flow->unit, tally);
    let_go(d, flow->root, flow->number);
}

void commit_settled(Dispatch *d, uint32_t root, uint64_t unit, bool wanted) {
    const RootLog *log = log_of(d, root);
    if (!log) return;
    if (!wanted) tally_of(log, unit)->cut = false;
    let_go(d, root, unit);
}

void commit_made(Dispatch *d, const LivePartition *live) {
    const RootLog *log = log_of(d, live->root);
    if (log) tally_of(log, live->root_unit)->alive++;
}

void commit_freed(Dispatch *d, const LivePartition *live) {
    let_go(d, live->root, live->root_unit);
}

void commit_lost(Dispatch *d, const Flow *flow) {
    const RootLog *log = log_of(d, flow->root);
    if (log) tally_of(log, flow->root_unit)->alive++;
}

// ---- what is made of them -----------------------------------------------------------------------

// Records of rows of the unit. False: no memory.
static bool add_rejects(const Dispatch *d, UnitTally *tally, const RejectList *rejects,
                        VerdictPlace place) {
    bool good = true;
    for (uint32_t i = 0; good && i < rejects->count; i++) {
        Reject reject = rejects->items[i];
        reject.stage = place.stage;
        reject.way = place.way;
        good = tally_reject(tally, &reject);
    }
    return good;
}

bool commit_counts(Dispatch *d, const Flow *flow, const Partition *partition) {
    const RootLog *log = log_of(d, flow->root);
    if (!log) return true;
    UnitTally *tally = tally_of(log, flow->root_unit);
    uint32_t stage = flow->run->index, at = d->job->resume->state.passed_at;
    if (!flow->input) tally->rows += partition->made;
    for (uint32_t s = 0; s < stage; s++) at += d->job->what->stages[s].terminal_count;
    for (uint32_t t = 0; t < flow->run->stage->terminal_count; t++)
        tally->figures[at + t] += partition->rows[t];
    if (flow->run->stage->input == SB_INPUT_UNMATCHED)
        tally->figures[d->job->resume->state.taken_at + stage] += partition->end - partition->begin;
    VerdictPlace place = {stage, flow->root, doubt_way(d, flow->root, flow->node)};
    for (uint32_t i = 0; i < d->job->what->step_count * SB_COUNTS; i++)
        tally->figures[i] += partition->counts[i];
    return add_rejects(d, tally, &partition->rejects, place);
}

bool commit_slot(Dispatch *d, const DoubtUnit *unit, const DoubtSlot *slot, VerdictPlace place,
                 bool of_root) {
    const RootLog *log = log_of(d, unit->root);
    if (!log) return true;
    UnitTally *tally = tally_of(log, unit->number);
    if (of_root) {
        tally->rows += slot->made;
        tally->part = !slot->whole;
        tally->end = doubt_unit_input(unit).offset + slot->end;
    }
    bool rest = d->job->what->stages[place.stage].input == SB_INPUT_UNMATCHED;
    tally->figures[d->job->resume->state.taken_at + place.stage] +=
        rest ? slot->bytes : slot->taken;
    for (uint32_t i = 0; i < slot->count; i++) tally->figures[slot->from + i] += slot->counts[i];
    return add_rejects(d, tally, &slot->rejects, place);
}

void commit_rows(Dispatch *d, const Flow *flow, int64_t taken, int64_t came) {
    const RootLog *log = log_of(d, flow->root);
    if (!log) return;
    int64_t *figures = tally_of(log, flow->root_unit)->figures;
    const ResumeState *state = &d->job->resume->state;
    figures[state->taken_at + flow->run->index] += taken;
    figures[state->came_at + flow->run->index] += came;
}

void commit_taking(Dispatch *d, const Flow *flow) {
    const Resume *resume = d->job->resume;
    const LivePartition *input = flow->input;
    if (!resume || resume->closed || flow->canceled) return;
    Trouble trouble;
    trouble_clear(&trouble);
    if (!group_taking(d->job, flow->sink, input->root, input->root_unit, &trouble))
        dispatch_trouble(d, TROUBLE_JOURNAL_WRITE, &trouble);
}

// ---- commits ------------------------------------------------------------------------------------

static bool write(Dispatch *d, CommitGroup *group) {
    Trouble trouble = {0};
    pthread_mutex_unlock(&d->lock);
    bool good = group_write(d->job, group, &trouble);
    good = group_done(group, &trouble) && good;
    pthread_mutex_lock(&d->lock);
    // After a failure no other commit of the group is tried.
    if (!good) dispatch_trouble(d, TROUBLE_JOURNAL_WRITE, &trouble);
    else group->state = COMMIT_NONE;
    pthread_cond_broadcast(&d->changed);
    return good;
}

bool commit_work(Dispatch *d, uint32_t thread) {
    Resume *resume = d->job->resume;
    CommitGroup *group = resume && !resume->closed ? group_ready(d->job) : nullptr;
    if (!group) return false;
    uint32_t stage = group->root_count > 0 ? group->roots[0] : group->sinks[0].roots[0];
    watch_begin(d->job->watch, thread, WORK_WRITE, stage, d->now);
    if (write(d, group) && !d->stop) look(d, group, false);
    dispatch_clock(d);
    watch_end(d->job->watch, thread, d->now);
    return true;
}

// ---- the life of a job --------------------------------------------------------------------------

uint32_t commit_lane(const Dispatch *d, const Flow *flow) {
    const RootLog *log = log_of(d, flow->root);
    if (!log || d->job->resume->groups[log->group].breaker_count == 0) return 0;
    uint32_t parity = d->job->resume->groups[log->group].parity;
    return (flow->root_unit >= log->split ? parity : !parity) * d->job->resume->lanes;
}

// Does no thread but this one do anything, nor find anything to do?
static bool nothing_moves(const Dispatch *d) {
    bool any = d->busy > 1 || d->queue.count > 0 || d->spool_count > 0 ||
               d->doubt.due_count > 0 || d->timer > 0;
    for (uint32_t s = 0; s < d->job->what->sink_count; s++) any |= d->sinks[s].first != nullptr;
    return !any;
}

bool commit_may_finish(Dispatch *d, uint32_t breaker) {
    Trouble trouble = {0};
    CommitGroup *group = group_of_breaker(d->job, breaker);
    if (!group || atomic_load(&d->job->drain)) return true;
    fold_group(d, group);
    bool may = group_may_finish(d->job, breaker, &trouble);
    // Tables of two flows may wait for each other's rows, and the commit for both.
    if (!may && group->state == COMMIT_CHOSEN && nothing_moves(d)) {
        group_give_up(d->job, group);
        may = true;
    }
    if (trouble.kind != TROUBLE_NONE) dispatch_trouble(d, TROUBLE_JOURNAL_WRITE, &trouble);
    return may;
}

bool commit_holds(const Dispatch *d, uint32_t breaker) {
    const CommitGroup *rows = group_of_breaker(d->job, breaker);
    const CommitGroup *marks = group_of_table(d->job, breaker);
    // A job that ends early does not finish its breakers: what came into them is for its last
    // commit.
    bool last = rows && atomic_load(&d->job->drain) && !rows->ended && !d->job->resume->closed;
    return last || (rows && rows->state == COMMIT_BUSY) || (marks && marks->state == COMMIT_BUSY);
}

void commit_close(Dispatch *d, uint32_t breaker) {
    Trouble trouble = {0};
    bool open = d->job->resume && !d->job->resume->closed && !d->stop;
    if (open && !marks_keep(d->job, breaker, &trouble))
        dispatch_trouble(d, TROUBLE_MEMORY, &trouble);
}

bool commit_finished(Dispatch *d, uint32_t breaker) {
    return !d->job->resume || marks_restore(d->job, breaker);
}

// The sides of a zip begin at the units that its next piece begins with, or before these. Producers
// stand before consumers: their cuts are back.
static void count_again(const Dispatch *d, uint32_t zip, Event *event) {
    const Resume *resume = d->job->resume;
    const SbStage *stage = &d->job->what->stages[zip];
    const uint32_t sides[] = {stage->input_index, stage->right_index};
    for (int i = 0; i < 2; i++) {
        event->output_rows[i] = resume->roots[zip].cut.rows;
        for (uint32_t r = 0; r < zip; r++)
            if (resume->roots[r].goes_on)
                event->output_rows[i] -= rows_to_zip(d, resume->roots[r].cut.figures, sides[i]);
    }
}

// The records of these units know the numbers of their rows; behind them all rows are counted.
static void skip(Dispatch *d, uint32_t root, const RootLog *log) {
    uint64_t units = log->cut.units;
    Trouble trouble = {0};
    if (!flow_count_rows(&d->runs[root], units - 1, log->cut.rows, &trouble))
        dispatch_trouble(d, TROUBLE_MEMORY, &trouble);
    Event event = {.kind = EVENT_SKIP, .stage = {(uint16_t)root}, .count = (uint32_t)units};
    if (d->plan->plan.stages[root].kind == STAGE_ZIP) count_again(d, root, &event);
    dispatch_tell(d, event);
}

// What limits have taken, and what was counted where it was taken.
static void restore_taken(Dispatch *d, const int64_t *figures) {
    const ResumeState *state = &d->job->resume->state;
    for (uint32_t s = 0; s < state->stage_count; s++)
        doubt_restore(d, s, figures[state->taken_at + s], figures[state->came_at + s]);
}

void commit_start(Dispatch *d) {
    Resume *resume = d->job->resume;
    if (resume && !breakers_restore(d->job)) dispatch_stop(d);
    for (uint32_t r = 0; resume && r < resume->root_count && !d->stop; r++) {
        RootLog *log = &resume->roots[r];
        if (!log->goes_on) continue;
        if (!cut_restore(d->job, d->runs, r, d->doubt.by_taken) ||
            !cut_restore_records(d->job, r, &d->verdict))
            no_memory(d);
        else restore_taken(d, log->cut.figures);
        if (log->cut.units > 0) skip(d, r, log);
    }
}

void commit_end(Dispatch *d) {
    Resume *resume = d->job->resume;
    if (!resume) return;
    // What was on its way when the job was to end has come to its sinks.
    for (CommitGroup *group = nullptr; d->draining && !d->stop;) {
        for (uint32_t g = 0; g < resume->group_count; g++) look(d, &resume->groups[g], true);
        group = resume->closed || d->stop ? nullptr : group_ready(d->job);
        if (!group || !write(d, group)) break;
    }
    resume->closed = true;
    for (uint32_t g = 0; g < resume->group_count; g++) {
        Trouble trouble = {0};
        if (!group_done(&resume->groups[g], &trouble))
            dispatch_trouble(d, TROUBLE_JOURNAL_WRITE, &trouble);
    }
}
