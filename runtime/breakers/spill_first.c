#include "runtime/breakers/spill_first.h"

#include "runtime/breakers/spill_sort.h"

typedef struct Choice {
    const FirstRows *first;
    const SpillRuns *from;
    SpillSort        sort;    // Writes what is chosen.
    SbRows           chosen;
    SbRows           before;  // A copy of the row before, or of the first one of its partition.
    const SbEntry   *row;     // It. nullptr: there is none.
    bool             good;
} Choice;

// Where memory lacks, what is chosen so far goes to disk.
static const SbEntry *copy_into(Choice *choice, SbRows *rows, const SbEntry *entry) {
    const SbBreaker *what = choice->first->what;
    const SbEntry *copy = spill_copy(rows, what, entry);
    if (!copy && sb_rows_relieve(&choice->chosen)) copy = spill_copy(rows, what, entry);
    return copy;
}

static bool hold(Choice *choice, const SbEntry *entry) {
    sb_rows_reset(&choice->before);
    choice->row = copy_into(choice, &choice->before, entry);
    return choice->row;
}

// `entry` may lie in `before`, and nowhere else of these.
static bool choose(Choice *choice, const SbEntry *entry) {
    return copy_into(choice, &choice->chosen, entry);
}

static bool go_along(Choice *choice, SpillMerge *merge) {
    const FirstRows *first = choice->first;
    bool last = first_rows_wants_last(first), good = true;
    int64_t number = 0, held;
    for (const SbEntry *entry; good && (entry = spill_merge_first(merge, &held));) {
        bool same = choice->row && first_rows_together(first, choice->row, entry);
        number = same ? number + 1 : 0;
        if (last && choice->row && !same) good = choose(choice, choice->row);
        if (last || !same) good = good && hold(choice, entry);
        if (!last && number < first->most) good = good && choose(choice, entry);
        spill_merge_pass(merge);
    }
    if (last && choice->row) good = good && choose(choice, choice->row);
    return good;
}

static void run_choice(void *arg, uint32_t index, uint32_t thread) {
    (void)index;
    Choice *choice = arg;
    const FirstRows *first = choice->first;
    Spill *spill = choice->from->spill;
    int64_t bytes = first->what->entry_bytes;
    if (!sb_rows_init(&choice->chosen, spill->memory, bytes) &&
        !sb_rows_init(&choice->before, spill->memory, bytes) &&
        spill_sort_watch(&choice->sort, thread, &choice->chosen)) {
        SpillMerge *merge = spill_merge_open(choice->from, first->what, first->by);
        choice->good = merge && go_along(choice, merge);
        spill_merge_close(merge);
    }
    if (!choice->good)
        spill_fail(spill, TROUBLE_MEMORY, "no memory for the first rows of a partition");
}

int32_t spill_first_rows(const FirstRows *first, const SpillRuns *from, SpillRuns *to,
                           const SbSortBy *by, SbParallel *parallel) {
    Choice choice = {.first = first, .from = from};
    if (!spill_sort_open(&choice.sort, first->what, by, to)) return SB_FAULT_TOO_LARGE;
    parallel->each(parallel, 1, run_choice, &choice);
    if (choice.good) spill_sort_rest(&choice.sort, &choice.chosen, parallel);
    sb_rows_fini(&choice.chosen);
    sb_rows_fini(&choice.before);
    spill_sort_close(&choice.sort);
    return to->spill->failed ? SB_FAULT_TOO_LARGE : SB_OK;
}
