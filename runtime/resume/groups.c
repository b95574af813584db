// Resume groups: which roots go on in the middle, and what has to be committed together.
#include "runtime/resume/run.h"

#include <stdlib.h>
#include <string.h>

typedef struct Finder {
    const Resume *resume;
    const SbJob *what;
    const char **bad;      // By stage: why rows that come to it cannot be committed; nullptr: they
                           // can.
    uint32_t    *list;     // Of roots, `count` of them;
    uint32_t     count, cap;
    bool         failed;   // there is no memory for more.
} Finder;

static bool feeds(const SbStage *stage, uint32_t terminal) {
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        if (stage->terminals[t] == terminal) return true;
    return false;
}

static bool needs(const SbStage *stage, uint32_t breaker) {
    for (uint32_t n = 0; n < stage->need_count; n++)
        if (stage->needs[n] == breaker) return true;
    return false;
}

static bool is_zip(const SbStage *stage) {
    return stage->input == SB_INPUT_ROWS && stage->right_index != UINT32_MAX;
}

// ---- what can be committed ----------------------------------------------------------------------

static bool to_stream(const Resume *resume, uint32_t sink) {
    const SbStr path = resume->setup->sink_paths[sink];
    return resume->sinks[sink].to_stream || (path.len == 1 && path.ptr[0] == '-');
}

static const char unused[] = "nothing is made of its rows";
static const char zip_limited[] = "its rows are zipped, and the job has a limit";
static const char zip_mixed[] = "its rows are zipped, and go elsewhere or with those of others";
static const char streamed[] = "what it makes goes to a stream, which is written again";
static const char waiting[] = "its rows wait for others that are made of the same";
static const char shared[] = "what it makes goes where rows that run from the start go, too";

// Of what is in doubt in front of a limit it is not known how many rows came to a zip.
static bool has_limit(const Resume *resume) {
    bool any = resume->options->first_rows != INT64_MAX;
    for (uint32_t b = 0; b < resume->what->breaker_count; b++) any |= resume->edges[b].limited;
    return any;
}

// By itself: what its rows come from, and what they leave behind. nullptr: it can be committed.
static const char *is_bad(const Resume *resume, const SbStage *stage) {
    if (is_zip(stage) && has_limit(resume)) return zip_limited;
    if (stage->terminal_count == 0) return unused;
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        uint32_t terminal = stage->terminals[t];
        bool sink = terminal & SB_TERMINAL_SINK;
        if (sink && to_stream(resume, terminal & ~SB_TERMINAL_SINK)) return streamed;
    }
    return nullptr;
}

// A stage whose rows come to a bad one is bad too. Stages stand in order.
static void find_bad(Finder *finder) {
    const SbJob *what = finder->what;
    for (uint32_t s = what->stage_count; s-- > 0;) {
        const SbStage *stage = &what->stages[s];
        finder->bad[s] = is_bad(finder->resume, stage);
        for (uint32_t r = s + 1; r < what->stage_count; r++) {
            const SbStage *reader = &what->stages[r];
            bool behind = sb_reads_edge(what, reader) &&
                          (feeds(stage, reader->input_index) ||
                           (is_zip(reader) && feeds(stage, reader->right_index)));
            if (behind && !finder->bad[s]) finder->bad[s] = finder->bad[r];
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

static void list_roots(Finder *finder, uint32_t terminal);

// In the order in which their rows come to the stage.
static void list_roots_of_stage(Finder *finder, uint32_t s) {
    const SbStage *stage = &finder->what->stages[s];
    if (!sb_reads_edge(finder->what, stage) || is_zip(stage)) list_root(finder, s);
    else list_roots(finder, stage->input_index);
}

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
        least = next + 1;
        list_roots_of_stage(finder, (uint32_t)next);
    }
}

// Those that look rows up in a join whose other rows come out, and then the one that reads these.
static void list_roots_of_table(Finder *finder, uint32_t breaker) {
    const SbJob *what = finder->what;
    uint32_t rest = 0;
    while (rest < what->stage_count && !(what->stages[rest].input == SB_INPUT_UNMATCHED &&
                                         what->stages[rest].input_index == breaker))
        rest++;
    if (rest == what->stage_count) return;
    for (uint32_t s = 0; s < what->stage_count; s++)
        if (needs(&what->stages[s], breaker)) list_roots_of_stage(finder, s);
    list_root(finder, rest);
}

static void list_roots_of_zip(Finder *finder, uint32_t s) {
    const SbStage *stage = &finder->what->stages[s];
    if (stage->input != SB_INPUT_ROWS || !is_zip(stage)) return;
    list_roots(finder, stage->input_index);
    list_roots(finder, stage->right_index);
    list_root(finder, s);
}

// ---- rows that wait -----------------------------------------------------------------------------

// Roots.
typedef struct Waits {
    Bits from[SB_STAGES_MAX];   // By stage: those that its rows come from,
    Bits until[SB_STAGES_MAX];  // those that are over when the stage is,
    Bits held[SB_STAGES_MAX];   // and those whose rows are kept while its rows wait.
} Waits;

// Adds those of all that feed the terminal.
static void add_feeders(const SbJob *what, const Bits *of, uint32_t terminal, Bits *roots) {
    for (uint32_t s = 0; s < what->stage_count; s++)
        if (feeds(&what->stages[s], terminal))
            bits_add_all(roots, &of[s], bits_words(what->stage_count));
}

// Of all that feed the terminal.
static Bits of_feeders(const SbJob *what, const Bits *of, uint32_t terminal) {
    Bits roots = {0};
    add_feeders(what, of, terminal, &roots);
    return roots;
}

// Adds what is in both.
static void add_both(Bits *roots, Bits a, const Bits *b) {
    bits_keep(&a, b, BITS_WORDS);
    bits_add_all(roots, &a, BITS_WORDS);
}

// Producers stand before consumers.
static void find_waits(const SbJob *what, Waits *waits) {
    for (uint32_t s = 0; s < what->stage_count; s++) {
        const SbStage *stage = &what->stages[s];
        bool rows = stage->input == SB_INPUT_ROWS, rest = stage->input == SB_INPUT_UNMATCHED;
        bool root = !sb_reads_edge(what, stage) || is_zip(stage);
        Bits *from = &waits->from[s], *held = &waits->held[s], *until = &waits->until[s];
        if (root) bits_add(from, s);
        else add_feeders(what, waits->from, stage->input_index, from);
        *held = *from;
        if (sb_reads_edge(what, stage)) add_feeders(what, waits->held, stage->input_index, held);
        if (is_zip(stage)) add_feeders(what, waits->held, stage->right_index, held);
        *until = *from;
        if (rows || rest) add_feeders(what, waits->until, stage->input_index, until);
        for (uint32_t n = 0; n < stage->need_count; n++)
            add_feeders(what, waits->until, stage->needs[n], until);
        for (uint32_t f = 0; rest && f < s; f++)
            if (needs(&what->stages[f], stage->input_index))
                bits_add_all(until, &waits->until[f], bits_words(what->stage_count));
    }
}

// Adds to `own` the roots whose rows wait for what is made of their own rows: at the stage for a
// table or the other side, or at a terminal after those of the stage.
static void wait_for_own(const SbJob *what, const Waits *waits, uint32_t s, Bits *own) {
    const SbStage *stage = &what->stages[s];
    for (uint32_t n = 0; n < stage->need_count; n++)
        if (!sb_is_edge(what, stage->needs[n]))
            add_both(own, of_feeders(what, waits->until, stage->needs[n]), &waits->held[s]);
    const uint32_t sides[] = {stage->input_index, stage->right_index};
    for (int i = 0; is_zip(stage) && i < 2; i++) {
        Bits first = of_feeders(what, waits->until, sides[i]);
        Bits held = of_feeders(what, waits->held, sides[i]);
        Bits other = of_feeders(what, waits->held, sides[1 - i]);
        bits_remove_all(&first, &held, BITS_WORDS);
        add_both(own, first, &other);
    }
    for (uint32_t l = 0; l < what->stage_count; l++) {
        const SbStage *late = &what->stages[l];
        bool behind = late->rank > stage->rank || (late->rank == stage->rank && l > s);
        for (uint32_t t = 0; behind && t < late->terminal_count; t++)
            if (feeds(stage, late->terminals[t]))
                add_both(own, waits->until[s], &waits->held[l]);
    }
}

// Units of such a root are done when breakers of its own group are, and these are finished when it
// is committed; or, where its rows come to one place by two ways, at the end.
static void find_waiting(Finder *finder) {
    const SbJob *what = finder->what;
    Bits own = {0};
    if (what->stage_count > SB_STAGES_MAX) return;
    Waits *waits = calloc(1, sizeof *waits);
    finder->failed |= !waits;
    if (!waits) return;
    find_waits(what, waits);
    for (uint32_t s = 0; s < what->stage_count; s++) wait_for_own(what, waits, s, &own);
    for (uint32_t s = 0; s < what->stage_count; s++)
        if (bits_have(&own, s) && !finder->bad[s]) finder->bad[s] = waiting;
    free(waits);
}

// ---- groups -------------------------------------------------------------------------------------

static uint32_t end_count(const SbJob *what) { return zip_end(what, what->stage_count); }

static void list_roots_of_end(Finder *finder, uint32_t e) {
    const SbJob *what = finder->what;
    uint32_t sinks = what->sink_count, breakers = what->breaker_count;
    if (e < sinks) {
        list_roots(finder, SB_TERMINAL_SINK | e);
    } else if (e < sinks + breakers) {
        if (!sb_is_edge(what, e - sinks)) list_roots(finder, e - sinks);
    } else if (e < zip_end(what, 0)) {
        list_roots_of_table(finder, e - sinks - breakers);
    } else {
        list_roots_of_zip(finder, e - zip_end(what, 0));
    }
}

static bool find_ends(Finder *finder, RootEnd *ends) {
    const SbJob *what = finder->what;
    for (uint32_t e = 0; e < end_count(what); e++) {
        list_roots_of_end(finder, e);
        ends[e] = (RootEnd){finder->list, finder->count};
        if (finder->failed) return false;
        *finder = (Finder){.resume = finder->resume, .what = what, .bad = finder->bad};
    }
    return true;
}

// Roots whose rows come to a zip go on where each side is of one root, and is nothing else.
static void judge_zip(Resume *resume, const SbJob *what, const RootEnd *ends, uint32_t zip) {
    const RootEnd *end = &ends[zip_end(what, zip)];
    bool good = end->root_count == 3;  // A root for each side, and the zip.
    for (uint32_t r = 0; r + 1 < end->root_count; r++) {
        RootLog *root = &resume->roots[end->roots[r]];
        good &= root->zip == UINT32_MAX || root->zip == zip;
        root->zip = zip;
        for (uint32_t e = 0; e < zip_end(what, 0); e++)
            for (uint32_t o = 0; o < ends[e].root_count; o++)
                good &= ends[e].roots[o] != end->roots[r];
    }
    for (uint32_t r = 0; r < end->root_count && !good; r++) {
        RootLog *root = &resume->roots[end->roots[r]];
        if (root->goes_on) root->why = zip_mixed;
        root->goes_on = false;
    }
}

// Roots that share an end with one that does not go on do not either.
static bool spread_bad(Resume *resume, const RootEnd *ends, uint32_t count) {
    bool changed = false;
    for (uint32_t e = 0; e < count; e++) {
        const RootEnd *end = &ends[e];
        const char *why = nullptr;
        for (uint32_t r = 0; r < end->root_count && !why; r++)
            if (!resume->roots[end->roots[r]].goes_on) why = shared;
        for (uint32_t r = 0; r < end->root_count && why; r++) {
            RootLog *root = &resume->roots[end->roots[r]];
            changed |= root->goes_on;
            if (root->goes_on) root->why = why;
            root->goes_on = false;
        }
    }
    return changed;
}

// One number for what hangs together: the least of its ends.
static void number_groups(Resume *resume, const RootEnd *ends, uint32_t count) {
    for (uint32_t e = 0; e < count; e++) resume->group_of[e] = e;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t e = 0; e < count; e++) {
            for (uint32_t r = 0; r < ends[e].root_count; r++) {
                RootLog *root = &resume->roots[ends[e].roots[r]];
                if (!root->goes_on) continue;
                uint32_t own = resume->group_of[e];
                uint32_t least = root->group < own ? root->group : own;
                changed |= root->group != least || own != least;
                root->group = resume->group_of[e] = least;
            }
        }
    }
}

// One more item of the list that `list` points to, with all bytes zero; nullptr: no memory.
static void *add_item(void *list, uint32_t *count, size_t bytes) {
    char *items;
    memcpy(&items, list, sizeof items);
    items = realloc(items, (*count + 1) * bytes);
    if (!items) return nullptr;
    memcpy(list, &items, sizeof items);
    return memset(items + (*count)++ * bytes, 0, bytes);
}

static bool add_sink(const Resume *resume, CommitGroup *group, uint32_t number) {
    GroupSink *sink = add_item(&group->sinks, &group->sink_count, sizeof *sink);
    if (!sink) return false;
    sink->sink = number;
    const SinkPlace *place = state_place(&resume->state, number);
    if (!place) return true;
    sink->part_from = place->part;
    group->last_bytes += place->bytes;
    return true;
}

static bool add_breaker(const Resume *resume, CommitGroup *group, uint32_t number) {
    uint32_t *breaker = add_item(&group->breakers, &group->breaker_count, sizeof *breaker);
    if (!breaker) return false;
    *breaker = number;
    group->has_runs = resume->state.run_file_count > 0;
    return true;
}

static bool add_table(CommitGroup *group, uint32_t breaker) {
    GroupTable *table = add_item(&group->tables, &group->table_count, sizeof *table);
    if (table) table->breaker = breaker;
    return table;
}

static bool add_root(Resume *resume, uint32_t root) {
    CommitGroup *group = &resume->groups[resume->roots[root].group];
    uint32_t *own = add_item(&group->roots, &group->root_count, sizeof *own);
    if (own) *own = root;
    return own;
}

static bool make_groups(Resume *resume) {
    const RootEnd *ends = resume->ends;
    uint32_t sinks = resume->what->sink_count, count = resume->end_count;
    number_groups(resume, ends, count);
    resume->groups = calloc(count + 1, sizeof *resume->groups);
    if (!resume->groups) return false;
    resume->group_count = count;
    bool good = true;
    for (uint32_t e = 0; good && e < count; e++) {
        CommitGroup *group = &resume->groups[resume->group_of[e]];
        group->begun_ns = group->last_ns = log_clock_ns();
        if (e >= zip_end(resume->what, 0)) break;
        bool goes_on = ends[e].root_count > 0 && resume->roots[ends[e].roots[0]].goes_on;
        if (e < sinks ? !resume->sinks[e].log : !goes_on) {
            resume->group_of[e] = UINT32_MAX;
            continue;
        }
        uint32_t marks = sinks + resume->what->breaker_count;
        good = e < sinks   ? add_sink(resume, group, e)
               : e < marks ? add_breaker(resume, group, e - sinks)
                           : add_table(group, e - marks);
    }
    for (uint32_t r = 0; good && r < resume->root_count; r++)
        if (resume->roots[r].goes_on) good = add_root(resume, r);
    for (uint32_t g = 0; g < count; g++)
        resume->groups[g].replays = resume->groups[g].root_count == 0;
    return good;
}

static bool open_roots(Resume *resume, const char *const *bad) {
    const SbJob *what = resume->what;
    resume->roots = calloc(what->stage_count + 1, sizeof *resume->roots);
    resume->ordinals = calloc(what->stage_count + 1, sizeof *resume->ordinals);
    if (!resume->roots || !resume->ordinals) return false;
    resume->root_count = what->stage_count;
    for (uint32_t s = 0; s < what->stage_count; s++) {
        const SbStage *stage = &what->stages[s];
        bool root = !sb_reads_edge(what, stage) || is_zip(stage);
        resume->roots[s] = (RootLog){.goes_on = !bad[s] && root, .why = bad[s],
                                     .group = UINT32_MAX, .zip = UINT32_MAX,
                                     .target = UINT64_MAX};
        resume->ordinals[s] = resume->state.ordinals[s];
    }
    return true;
}

bool resume_groups_open(Resume *resume) {
    const SbJob *what = resume->what;
    uint32_t count = resume->end_count = end_count(what);
    Finder finder = {.resume = resume, .what = what,
                     .bad = calloc(what->stage_count + 1, sizeof(char *))};
    RootEnd *ends = resume->ends = calloc(count + 1, sizeof *ends);
    resume->group_of = calloc(count + 1, sizeof *resume->group_of);
    bool good = finder.bad && ends && resume->group_of;
    if (good) find_bad(&finder);
    if (good) find_waiting(&finder);
    good = good && !finder.failed && open_roots(resume, finder.bad) && find_ends(&finder, ends);
    for (uint32_t s = 0; good && s < what->stage_count; s++) judge_zip(resume, what, ends, s);
    while (good && spread_bad(resume, ends, count)) {}
    good = good && make_groups(resume);
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

void resume_groups_close(Resume *resume) {
    for (uint32_t r = 0; r < resume->root_count; r++) close_root(&resume->roots[r]);
    for (uint32_t g = 0; g < resume->group_count; g++) {
        CommitGroup *group = &resume->groups[g];
        Trouble ignored = {0};
        for (uint32_t s = 0; s < group->sink_count; s++)
            if (group->sinks[s].marked) sink_mark_close(&group->sinks[s].mark, &ignored);
        for (uint32_t t = 0; t < group->table_count; t++) sb_text_close(&group->tables[t].last);
        free(group->tables);
        free(group->sinks);
        free(group->breakers);
        free(group->roots);
        sb_text_close(&group->record);
    }
    for (uint32_t e = 0; resume->ends && e < resume->end_count; e++) free(resume->ends[e].roots);
    free(resume->ends);
    free(resume->roots);
    free(resume->groups);
    free(resume->group_of);
    free(resume->ordinals);
    resume->ends = nullptr;
    resume->ordinals = nullptr;
    resume->roots = nullptr;
    resume->groups = nullptr;
    resume->group_of = nullptr;
    resume->root_count = resume->group_count = 0;
}

// ---- who belongs to them -----------------------------------------------------------------------

static CommitGroup *group_of_end(const Resume *resume, uint32_t end) {
    uint32_t group = resume && resume->groups ? resume->group_of[end] : UINT32_MAX;
    return group != UINT32_MAX ? &resume->groups[group] : nullptr;
}

CommitGroup *group_of_breaker(const Resume *resume, uint32_t breaker) {
    return group_of_end(resume, resume->what->sink_count + breaker);
}

CommitGroup *group_of_table(const Resume *resume, uint32_t breaker) {
    return group_of_end(resume, resume->what->sink_count + resume->what->breaker_count + breaker);
}
