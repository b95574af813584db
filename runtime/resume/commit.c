// Resume commit: when a group is committed, at which place of its sinks, and how that gets into the
// journal.
//
// Units of a root are done in any order. When a commit is due its targets are chosen: of each root
// the units that are done, and those after them of which a sink has been given rows. From now on a
// sink is marked when rows of a unit after the targets come to it. When all units before the
// targets are done, the other sinks are marked. So the marks stand where all rows of the units
// before the targets end.
#include "runtime/host.h"
#include "runtime/resume/run.h"

#include <stdlib.h>

enum : int64_t {
    SECOND = 1000000000,
    // A commit takes so small a part of the time. None comes sooner than after the least pause, and
    // one comes after the most at the latest.
    COMMIT_SHARE = 20,
    COMMIT_NS_LEAST = SECOND / 10,
    COMMIT_NS_MOST = SECOND / 2,
    COMMIT_BYTES = 64 << 20,
    // Units that end together are committed together: the first waits so long for the others, if
    // a thread is there to commit them then.
    COMMIT_GATHER_NS = SECOND / 100,
    // Where breakers or marks of joins belong to it, all of which are written: the first one early,
    // each other after as much time as the job had worked before the last one.
    RUNS_FIRST_NS = 2 * SECOND,
    RUNS_NS = 30 * SECOND,
    CHECKPOINT_BYTES = 64 << 20,
};

static int64_t group_bytes(const Sink *sinks, const CommitGroup *group) {
    int64_t bytes = 0;
    for (uint32_t s = 0; s < group->sink_count; s++)
        bytes += __atomic_load_n(&sinks[group->sinks[s].sink].bytes, __ATOMIC_RELAXED);
    return bytes;
}

// So a job that is killed has lost half of its time at most, and a short one makes few commits.
static int64_t runs_pause(const CommitGroup *group) {
    int64_t worked = group->last_ns - group->begun_ns;
    return worked < RUNS_FIRST_NS ? RUNS_FIRST_NS : worked < RUNS_NS ? worked : RUNS_NS;
}

// What it takes to write one is mostly the disk's time.
static int64_t rows_pause(const CommitGroup *group) {
    int64_t pause = COMMIT_SHARE * group->write_ns;
    return pause < COMMIT_NS_LEAST ? COMMIT_NS_LEAST
           : pause > COMMIT_NS_MOST ? COMMIT_NS_MOST : pause;
}

static bool has_rows_only(const CommitGroup *group) {
    return group->breaker_count == 0 && group->table_count == 0;
}

static bool is_due(const Resume *resume, const CommitGroup *group) {
    int64_t now = log_clock_ns(), elapsed = now - group->last_ns;
    if (resume->always || atomic_load(resume->drain)) return true;
    if (!has_rows_only(group)) return elapsed >= runs_pause(group);
    int64_t bytes = group_bytes(resume->sinks, group) - group->last_bytes;
    bool in_time = group->replays ? elapsed >= rows_pause(group)
                                  : group->due_ns > 0 && group->due_ns <= now;
    return in_time || bytes >= COMMIT_BYTES;
}

int64_t group_due(const Resume *resume, const CommitGroup *group) {
    bool any = false;
    if (group->state != COMMIT_NONE || group->replays || group->ended || !has_rows_only(group))
        return 0;
    for (uint32_t r = 0; r < group->root_count; r++) {
        const RootLog *root = &resume->roots[group->roots[r]];
        any |= root->cut.units > root->committed;
    }
    int64_t due = group->last_ns + rows_pause(group), soon = log_clock_ns();
    if (dispatch_idles(resume->d)) soon += COMMIT_GATHER_NS;
    return !any ? 0 : due > soon ? due : soon;
}

// ---- targets ------------------------------------------------------------------------------------

// Units before the target that are not done yet come to a sink after all units of roots that stand
// before theirs there; so these have to be over.
static bool is_in_order(const Resume *resume, const RootEnd *end) {
    for (uint32_t late = 1; late < end->root_count; late++) {
        const RootLog *root = &resume->roots[end->roots[late]];
        for (uint32_t r = 0; r < late && root->target > root->cut.units; r++)
            if (!resume->roots[end->roots[r]].over) return false;
    }
    return true;
}

// What a breaker has of units cannot be told apart but by lanes: all that have begun belong to it.
static uint64_t target_of(const CommitGroup *group, const RootLog *root) {
    if (root->over || root->zip != UINT32_MAX) return root->cut.units;
    if (group->breaker_count > 0) return root->begun;
    return root->taken > root->cut.units ? root->taken : root->cut.units;
}

static void forget_targets(Resume *resume, const CommitGroup *group) {
    for (uint32_t r = 0; r < group->root_count; r++)
        resume->roots[group->roots[r]].target = UINT64_MAX;
}

static bool choose(Resume *resume, CommitGroup *group) {
    bool any = false, good = true;
    for (uint32_t r = 0; r < group->root_count; r++) {
        RootLog *root = &resume->roots[group->roots[r]];
        root->target = target_of(group, root);
        any |= root->target > root->committed;
    }
    // The sides of a zip come beside each other.
    for (uint32_t e = 0; e < zip_end(resume->what, 0); e++)
        if (resume->group_of[e] == group - resume->groups)
            good &= is_in_order(resume, &resume->ends[e]);
    if (!any || !good) {
        forget_targets(resume, group);
        return false;
    }
    for (uint32_t s = 0; s < group->sink_count; s++)
        group->sinks[s].judged = group->sinks[s].marked = false;
    for (uint32_t r = 0; r < group->root_count; r++)
        resume->roots[group->roots[r]].split = resume->roots[group->roots[r]].target;
    group->parity ^= group->breaker_count > 0;
    group->state = COMMIT_CHOSEN;
    group->due_ns = 0;
    group->last_ns = log_clock_ns();
    group->last_bytes = group_bytes(resume->sinks, group);
    return true;
}

// ---- marks --------------------------------------------------------------------------------------

// A sink without bytes begins anew, which is where its roots have to begin then.
static bool judge_sink(Sink *sinks, GroupSink *sink, Trouble *trouble) {
    Sink *own = &sinks[sink->sink];
    if (sink->judged) return true;
    sink->judged = true;
    if (!sink_can_mark(own)) return true;
    sink->marked = sink_mark(own, sink->part_from, &sink->mark);
    return sink->marked || journal_no_memory(trouble);
}

static bool are_done(const Resume *resume, const CommitGroup *group) {
    for (uint32_t r = 0; r < group->root_count; r++) {
        const RootLog *root = &resume->roots[group->roots[r]];
        if (root->cut.units < root->target && !root->over) return false;
    }
    return true;
}

// The stages that fill breakers of the group, one after the other. False: there is none from
// `*stage` on.
static bool next_filler(const Resume *resume, const CommitGroup *group, uint32_t *stage) {
    for (; *stage < resume->what->stage_count; ++*stage) {
        const SbStage *is = &resume->what->stages[*stage];
        for (uint32_t t = 0; t < is->terminal_count; t++)
            for (uint32_t b = 0; b < group->breaker_count; b++)
                if (is->terminals[t] == group->breakers[b]) return true;
    }
    return false;
}

// Is what came into breakers of the units before the targets with this process?
static bool are_safe(const Resume *resume, const CommitGroup *group) {
    for (uint32_t s = 0; next_filler(resume, group, &s); s++) {
        for (uint32_t r = 0; r < group->root_count; r++) {
            uint32_t root = group->roots[r];
            if (!dispatch_is_safe(resume->d, s, root, resume->roots[root].target)) return false;
        }
    }
    return true;
}

void group_flush(const Resume *resume, CommitGroup *group) {
    group->asked = true;
    for (uint32_t s = 0; next_filler(resume, group, &s); s++) dispatch_flush(resume->d, s);
}

// What was folded since is in the record; folding goes on.
static void note_packed(Resume *resume, const CommitGroup *group) {
    for (uint32_t r = 0; r < group->root_count; r++) {
        RootLog *root = &resume->roots[group->roots[r]];
        root->committed = root->cut.units;
        root->file_from = root->cut.file_count > 0 ? root->cut.file_count - 1 : 0;
        root->cut.rejects.len = root->cut.blocks.len = 0;
        root->cut.reject_count = 0;
    }
    forget_targets(resume, group);
}

static bool pack(Resume *resume, CommitGroup *group, Trouble *trouble) {
    CommitCut *cuts = calloc((size_t)group->root_count + 1, sizeof *cuts);
    CommitSink *sinks = calloc((size_t)group->sink_count + 1, sizeof *sinks);
    Commit commit = {.cuts = cuts, .sinks = sinks, .cut_count = group->root_count,
                     .ordinals = resume->ordinals, .stage_count = resume->root_count};
    bool good = cuts && sinks;
    for (uint32_t r = 0; good && r < group->root_count; r++) {
        const RootLog *root = &resume->roots[group->roots[r]];
        cuts[r] = (CommitCut){group->roots[r], &root->cut, root->file_from};
    }
    for (uint32_t s = 0; good && s < group->sink_count; s++) {
        GroupSink *sink = &group->sinks[s];
        if (!sink->marked) continue;
        sink->mark.place.replays = group->replays;
        sinks[commit.sink_count++] = (CommitSink){sink->sink, &sink->mark.place,
                                                  sink->mark.part_from, sink->mark.parts};
        sink->part_from = sink->mark.place.part;
    }
    group->record.len = 0;
    if (good) commit_pack(&commit, resume->state.figure_count, &group->record);
    good = good && !group->record.failed;
    free(cuts);
    free(sinks);
    if (!good) return journal_no_memory(trouble);
    marks_choose(resume, group);
    note_packed(resume, group);
    group->state = COMMIT_READY;
    return true;
}

bool group_look(Resume *resume, CommitGroup *group, bool last, Trouble *trouble) {
    bool due = group->state == COMMIT_NONE && !group->replays && !group->ended &&
               (last || is_due(resume, group));
    if (due) choose(resume, group);
    if (group->state != COMMIT_CHOSEN || !are_done(resume, group)) return true;
    group->waits = !are_safe(resume, group);
    group->asked &= group->waits;
    if (group->waits) return true;
    for (uint32_t s = 0; s < group->sink_count; s++)
        if (!judge_sink(resume->sinks, &group->sinks[s], trouble)) return false;
    return pack(resume, group, trouble);
}

// Of a sink whose rows come again any place is as good as another.
static bool replay_taking(Resume *resume, CommitGroup *group, Trouble *trouble) {
    GroupSink *sink = &group->sinks[0];
    if (group->state != COMMIT_NONE || !is_due(resume, group) ||
        !sink_can_mark(&resume->sinks[sink->sink]))
        return true;
    sink->judged = false;
    group->last_ns = log_clock_ns();
    group->last_bytes = group_bytes(resume->sinks, group);
    return judge_sink(resume->sinks, sink, trouble) && pack(resume, group, trouble);
}

bool group_taking(Resume *resume, uint32_t sink, uint32_t number, uint64_t unit, Trouble *trouble) {
    if (resume->group_of[sink] == UINT32_MAX) return true;
    CommitGroup *group = &resume->groups[resume->group_of[sink]];
    if (group->replays) return replay_taking(resume, group, trouble);
    RootLog *root = &resume->roots[number];
    bool good = true;
    for (uint32_t s = 0; s < group->sink_count; s++) {
        GroupSink *own = &group->sinks[s];
        bool behind = group->state == COMMIT_CHOSEN && unit >= root->target;
        if (own->sink == sink && behind) good = judge_sink(resume->sinks, own, trouble);
    }
    if (root->taken <= unit) root->taken = unit + 1;
    return good;
}

// ---- breakers -----------------------------------------------------------------------------------

bool group_may_finish(Resume *resume, uint32_t breaker, Trouble *trouble) {
    CommitGroup *group = group_of_breaker(resume, breaker);
    if (!group || group->ended) return true;
    // Of a job that fails, too, a thread may be at what its breakers hold.
    if (group->state == COMMIT_BUSY) return false;
    if (resume->closed) return true;
    if (group->state == COMMIT_NONE && (group->has_runs || is_due(resume, group)))
        if (!group_look(resume, group, true, trouble)) return false;
    group->ended = group->state == COMMIT_NONE;
    return group->ended;
}

void group_give_up(Resume *resume, CommitGroup *group) {
    forget_targets(resume, group);
    group->state = COMMIT_NONE;
    group->waits = group->asked = false;
    group->ended = true;
}

// ---- commits ------------------------------------------------------------------------------------

CommitGroup *group_ready(Resume *resume) {
    for (uint32_t g = 0; g < resume->group_count; g++) {
        CommitGroup *group = &resume->groups[g];
        bool ready = group->state == COMMIT_READY;
        for (uint32_t s = 0; ready && s < group->sink_count; s++) {
            const GroupSink *sink = &group->sinks[s];
            ready = !sink->marked || sink_mark_written(&resume->sinks[sink->sink], &sink->mark);
        }
        if (!ready) continue;
        group->state = COMMIT_BUSY;
        return group;
    }
    return nullptr;
}

static bool write_record(Resume *resume, const Text *text, Trouble *trouble) {
    pthread_mutex_lock(&resume->writing);
    bool good = (!text->failed && state_fold(&resume->state, text->ptr, text->len)) ||
                journal_no_memory(trouble);
    if (good && resume->journal.at > CHECKPOINT_BYTES + text->len)
        good = state_write(&resume->state, &resume->journal, trouble);
    else if (good)
        good = journal_append(&resume->journal, RECORD_COMMIT, text->ptr, text->len, trouble);
    pthread_mutex_unlock(&resume->writing);
    return good;
}

bool group_write(Resume *resume, CommitGroup *group, Trouble *trouble) {
    bool good = true;
    int64_t began = log_clock_ns();
    for (uint32_t s = 0; good && s < group->sink_count; s++) {
        GroupSink *sink = &group->sinks[s];
        if (sink->marked) good = sink_mark_sync(&resume->sinks[sink->sink], &sink->mark, trouble);
    }
    if (good) failpoint("commit-synced");
    good = good && marks_commit(resume, group, trouble);
    if (good && group->breaker_count > 0) {
        pthread_mutex_lock(&resume->flushing);
        good = breakers_commit(resume, group, trouble) &&
               write_record(resume, &group->record, trouble);
        pthread_mutex_unlock(&resume->flushing);
        group->has_runs |= good;
    } else if (good) {
        pack_number(&group->record, 0);
        good = write_record(resume, &group->record, trouble);
    }
    if (good) failpoint("committed");
    group->write_ns = log_clock_ns() - began;
    return good;
}

bool group_done(CommitGroup *group, Trouble *trouble) {
    bool good = true;
    for (uint32_t s = 0; s < group->sink_count; s++) {
        GroupSink *sink = &group->sinks[s];
        if (sink->marked) good &= sink_mark_close(&sink->mark, trouble);
        sink->marked = sink->judged = false;
    }
    return good;
}
