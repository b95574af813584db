// Resume groups: which roots go on in the middle, and what has to be committed together.
#include "runtime/resume_run.h"

#include <stdlib.h>

typedef struct Finder {
    const Job   *job;
    const SbJob *what;
    bool        *bad;      // By stage: rows that come to it cannot be committed.
    uint32_t    *list;     // Of roots, `count` of them;
    uint32_t     count, cap;
    bool         failed;   // there is no memory for more.
} Finder;

static bool feeds(const SbStage *stage, uint32_t terminal) {
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        if (stage->terminals[t] == terminal) return true;
    return false;
}

static bool is_edge(const SbJob *what, uint32_t terminal) {
    return !(terminal & SB_TERMINAL_SINK) && what->breakers[terminal].kind == SB_BREAK_EDGE;
}

static bool reads_edge(const SbJob *what, const SbStage *stage) {
    return stage->input == SB_INPUT_ROWS && is_edge(what, stage->input_index);
}

static bool is_zip(const SbStage *stage) {
    return stage->input == SB_INPUT_ROWS && stage->right_index != UINT32_MAX;
}

// ---- what can be committed ----------------------------------------------------------------------

static bool leaves_marks(const SbJob *what, const SbStage *stage) {
    for (uint32_t s = 0; s < what->stage_count; s++) {
        const SbStage *other = &what->stages[s];
        for (uint32_t n = 0; other->input == SB_INPUT_UNMATCHED && n < stage->need_count; n++)
            if (stage->needs[n] == other->input_index) return true;
    }
    return false;
}

static bool is_replayable(const Job *job, const SbStage *stage) {
    if (stage->input == SB_INPUT_RANGE || stage->input == SB_INPUT_RECORDS) return true;
    if (stage->input != SB_INPUT_TEXT) return false;
    const Source *source = &job->sources[stage->input_index];
    for (uint32_t f = 0; f < source->file_count; f++)
        if (source->files[f].stream) return false;
    return true;
}

// By itself: what its rows come from, and what they leave behind.
static bool is_bad(const Job *job, const SbStage *stage) {
    const SbJob *what = job->what;
    bool reads = reads_edge(what, stage) && !is_zip(stage);
    if ((!reads && !is_replayable(job, stage)) || leaves_marks(what, stage)) return true;
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        uint32_t terminal = stage->terminals[t];
        bool sink = terminal & SB_TERMINAL_SINK;
        if (sink && job->sinks[terminal & ~SB_TERMINAL_SINK].to_stream) return true;
        if (!sink && (!is_edge(what, terminal) || job->edges[terminal].limited)) return true;
    }
    return stage->terminal_count == 0;
}

// A stage whose rows come to a bad one is bad too. Stages stand in order.
static void find_bad(Finder *finder) {
    const SbJob *what = finder->what;
    for (uint32_t s = what->stage_count; s-- > 0;) {
        const SbStage *stage = &what->stages[s];
        finder->bad[s] = is_bad(finder->job, stage);
        for (uint32_t r = s + 1; r < what->stage_count; r++) {
            const SbStage *reader = &what->stages[r];
            bool behind = reads_edge(what, reader) &&
                          (feeds(stage, reader->input_index) ||
                           (is_zip(reader) && feeds(stage, reader->right_index)));
            finder->bad[s] |= behind && finder->bad[r];
        }
    }
}

// ---- the roots of a sink ------------------------------------------------------------------------

enum { ROOTS_MAX = 4096 };  // Of a sink, counted by path.

static void list_root(Finder *finder, uint32_t root) {
    if (finder->count == finder->cap) {
        uint32_t cap = finder->cap ? 2 * finder->cap : 16;
        uint32_t *list = cap <= ROOTS_MAX ? realloc(finder->list, cap * sizeof *list) : nullptr;
        finder->failed |= !list;
        if (!list) return;
        finder->list = list;
        finder->cap = cap;
    }
    finder->list[finder->count++] = root;
}

// In the order in which their rows come.
static void list_roots(Finder *finder, uint32_t terminal) {
    const SbJob *what = finder->what;
    uint64_t least = 0;  // (rank, number) of the next feeder, at least.
    while (!finder->failed) {
        uint64_t next = UINT64_MAX;
        for (uint32_t s = 0; s < what->stage_count; s++) {
            uint64_t place = (uint64_t)what->stages[s].rank << 32 | s;
            if (feeds(&what->stages[s], terminal) && place >= least && place < next) next = place;
        }
        if (next == UINT64_MAX) return;
        const SbStage *stage = &what->stages[(uint32_t)next];
        least = next + 1;
        if (!reads_edge(what, stage)) {
            list_root(finder, (uint32_t)next);
            continue;
        }
        list_roots(finder, stage->input_index);
        if (is_zip(stage)) list_roots(finder, stage->right_index);
    }
}

// Rows of a root that come to a sink by two ways come twice: its units are done at the end.
static bool is_twice(const uint32_t *roots, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (roots[i] == roots[j]) return true;
    return false;
}

// ---- groups -------------------------------------------------------------------------------------

// Roots that share a sink with one that does not go on do not either.
static bool spread_bad(Resume *resume, GroupSink *sinks, uint32_t count) {
    bool changed = false;
    for (uint32_t s = 0; s < count; s++) {
        const GroupSink *sink = &sinks[s];
        bool good = !is_twice(sink->roots, sink->root_count);
        for (uint32_t r = 0; r < sink->root_count; r++)
            good &= resume->roots[sink->roots[r]].goes_on;
        for (uint32_t r = 0; r < sink->root_count && !good; r++) {
            changed |= resume->roots[sink->roots[r]].goes_on;
            resume->roots[sink->roots[r]].goes_on = false;
        }
    }
    return changed;
}

// One number for what hangs together: the least of its sinks.
static void number_groups(Resume *resume, const GroupSink *sinks, uint32_t count) {
    for (uint32_t s = 0; s < count; s++) resume->group_of[s] = s;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t s = 0; s < count; s++) {
            for (uint32_t r = 0; r < sinks[s].root_count; r++) {
                RootLog *root = &resume->roots[sinks[s].roots[r]];
                if (!root->goes_on) continue;
                uint32_t least = root->group < resume->group_of[s] ? root->group
                                                                   : resume->group_of[s];
                changed |= root->group != least || resume->group_of[s] != least;
                root->group = resume->group_of[s] = least;
            }
        }
    }
}

static bool add_sink(const Job *job, CommitGroup *group, const GroupSink *sink) {
    GroupSink *sinks = realloc(group->sinks, ((size_t)group->sink_count + 1) * sizeof *sinks);
    if (!sinks) return false;
    group->sinks = sinks;
    GroupSink *added = &sinks[group->sink_count++];
    *added = *sink;
    const SinkPlace *place = resume_place(job, sink->sink);
    if (!place) return true;
    added->part_from = place->part;
    group->last_bytes += place->bytes;
    return true;
}

static bool add_root(Resume *resume, uint32_t root) {
    CommitGroup *group = &resume->groups[resume->roots[root].group];
    uint32_t *roots = realloc(group->roots, ((size_t)group->root_count + 1) * sizeof *roots);
    if (!roots) return false;
    group->roots = roots;
    roots[group->root_count++] = root;
    return true;
}

// Takes possession of the lists of roots.
static bool make_groups(Job *job, GroupSink *sinks) {
    Resume *resume = job->resume;
    uint32_t count = job->what->sink_count;
    number_groups(resume, sinks, count);
    resume->groups = calloc(count + 1, sizeof *resume->groups);
    if (!resume->groups) return false;
    resume->group_count = count;
    bool good = true;
    for (uint32_t s = 0; s < count; s++) {
        CommitGroup *group = &resume->groups[resume->group_of[s]];
        group->last_ns = log_clock_ns();
        if (!job->sinks[s].log) resume->group_of[s] = UINT32_MAX;
        else if (add_sink(job, group, &sinks[s])) sinks[s].roots = nullptr;
        else good = false;
    }
    for (uint32_t r = 0; good && r < resume->root_count; r++)
        if (resume->roots[r].goes_on) good = add_root(resume, r);
    for (uint32_t g = 0; g < count; g++)
        resume->groups[g].replays = resume->groups[g].root_count == 0;
    return good;
}

bool resume_groups_open(Job *job) {
    Resume *resume = job->resume;
    const SbJob *what = job->what;
    uint32_t count = what->sink_count;
    Finder finder = {.job = job, .what = what, .bad = calloc(what->stage_count + 1, 1)};
    GroupSink *sinks = calloc(count + 1, sizeof *sinks);
    resume->roots = calloc(what->stage_count + 1, sizeof *resume->roots);
    resume->group_of = calloc(count + 1, sizeof *resume->group_of);
    bool good = finder.bad && sinks && resume->roots && resume->group_of;
    if (good) find_bad(&finder);
    resume->root_count = good ? what->stage_count : 0;
    bool limited = job->options.first_rows != INT64_MAX || job->limits.share >= 0;
    for (uint32_t s = 0; s < resume->root_count; s++)
        resume->roots[s] = (RootLog){.goes_on = !limited && !finder.bad[s] &&
                                                !reads_edge(what, &what->stages[s]),
                                     .group = UINT32_MAX, .target = UINT64_MAX};
    for (uint32_t s = 0; good && s < count; s++) {
        list_roots(&finder, SB_TERMINAL_SINK | s);
        sinks[s] = (GroupSink){.sink = s, .roots = finder.list, .root_count = finder.count};
        good = !finder.failed;
        finder = (Finder){.job = job, .what = what, .bad = finder.bad};
    }
    while (good && spread_bad(resume, sinks, count)) {}
    good = good && make_groups(job, sinks);
    for (uint32_t s = 0; sinks && s < count; s++) free(sinks[s].roots);
    free(sinks);
    free(finder.bad);
    return good;
}

static void close_root(RootLog *root) {
    for (uint32_t i = 0; i < root->cap; i++) {
        free(root->tallies[i].figures);
        sb_text_close(&root->tallies[i].rejects);
    }
    free(root->tallies);
    free(root->cut.figures);
    free(root->cut.files);
    sb_text_close(&root->cut.rejects);
    sb_text_close(&root->cut.blocks);
}

void resume_groups_close(Job *job) {
    Resume *resume = job->resume;
    for (uint32_t r = 0; r < resume->root_count; r++) close_root(&resume->roots[r]);
    for (uint32_t g = 0; g < resume->group_count; g++) {
        CommitGroup *group = &resume->groups[g];
        Trouble ignored = {0};
        for (uint32_t s = 0; s < group->sink_count; s++) {
            if (group->sinks[s].marked) sink_mark_close(&group->sinks[s].mark, &ignored);
            free(group->sinks[s].roots);
        }
        free(group->sinks);
        free(group->roots);
        sb_text_close(&group->record);
    }
    free(resume->roots);
    free(resume->groups);
    free(resume->group_of);
    resume->roots = nullptr;
    resume->groups = nullptr;
    resume->group_of = nullptr;
    resume->root_count = resume->group_count = 0;
}
