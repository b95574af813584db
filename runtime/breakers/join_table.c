#include "runtime/breakers/join_table.h"

#include <stdlib.h>
#include <string.h>

// The slots are shared out in ranges, so that each is filled by one thread, and the entries by the
// range in which they begin. An entry whose range is full from there to its end would go on in the
// next one: such entries wait until all ranges are done, and with them all others of their keys.
// Where each key has a slot of its own none has to wait.
enum { RANGES = 64, LISTERS_PER_THREAD = 2, AHEAD = 16 };

static const uint64_t SIGN = UINT64_C(1) << 63;  // Inverted, signed numbers order as unsigned ones.

typedef struct Fill {
    SbJoinBuild *build;
    uint32_t  listers;
    int       range_bits;       // Of the number of a slot, those below its range.
    int64_t  *begins;           // [range * listers + lister]: where its entries lie in the lists.
    int64_t   left[RANGES];     // How many wait; they lie at the end of its list.
} Fill;

static bool has_key(const SbJoinBuild *build, const SbEntry *entry) {
    enum { NULL_KEY = 2 };
    return ((const char *)entry)[build->what->matched_offset] != NULL_KEY;
}

// Where the entry's slot is, or where looking for it begins.
static uint64_t home_of(const SbJoinBuild *build, const SbEntry *entry) {
    const SbTable *table = &build->table;
    return table->span ? build->what->number(entry) - table->least : entry->hash & table->mask;
}

static uint32_t range_of(const Fill *fill, const SbEntry *entry) {
    return (uint32_t)(home_of(fill->build, entry) >> fill->range_bits);
}

static void lister_span(const Fill *fill, uint32_t lister, int64_t *begin, int64_t *end) {
    *begin = fill->build->count * lister / fill->listers;
    *end = fill->build->count * (lister + 1) / fill->listers;
}

static void count_span(void *arg, uint32_t lister, uint32_t thread) {
    (void)thread;
    Fill *fill = arg;
    int64_t begin, end, counts[RANGES] = {0};
    lister_span(fill, lister, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const SbEntry *entry = fill->build->entries[i];
        if (has_key(fill->build, entry)) counts[range_of(fill, entry)]++;
    }
    for (uint32_t r = 0; r < RANGES; r++) fill->begins[r * fill->listers + lister] = counts[r];
}

static void list_span(void *arg, uint32_t lister, uint32_t thread) {
    (void)thread;
    Fill *fill = arg;
    int64_t begin, end, at[RANGES];
    for (uint32_t r = 0; r < RANGES; r++) at[r] = fill->begins[r * fill->listers + lister];
    lister_span(fill, lister, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const SbEntry *entry = fill->build->entries[i];
        if (has_key(fill->build, entry))
            fill->build->lists[at[range_of(fill, entry)]++] = entry;
    }
}

static uint64_t *bounds_of(const SbBreaker *what, const SbEntry *entry) {
    return (uint64_t *)(void *)(join_jump_of(what, entry) + 1);
}

void sb_join_jump_nowhere(const SbBreaker *what, const SbEntry *entry) {
    if (!what->jump_offset) return;
    *join_jump_of(what, entry) = (SbJump){entry, 0};
    memset(bounds_of(what, entry), UINT8_MAX, what->bound_count * sizeof(uint64_t));
}

static void widen(const SbBreaker *what, uint64_t *most, const uint64_t *bits) {
    for (uint32_t i = 0; i < what->bound_count; i++)
        if (bits[i] > most[i]) most[i] = bits[i];
}

// The greatest bits of the entries between `entry` and the one that it jumps to. Those of a few are
// not worth a look: no row is ever greater then.
static void bound_block(const SbBreaker *what, const SbEntry *entry) {
    enum { FEW = 15 };
    const SbJump *jump = join_jump_of(what, entry);
    uint64_t own[SB_BOUNDS_MAX], *most = bounds_of(what, entry);
    if (jump->rest - join_jump_of(what, jump->to)->rest <= FEW) {
        memset(most, UINT8_MAX, what->bound_count * sizeof *most);
        return;
    }
    memset(most, 0, what->bound_count * sizeof *most);
    for (const SbEntry *at = join_next_of(what, entry), *to; at != jump->to; at = to) {
        what->bounds(at, own);
        widen(what, most, own);
        bool few = bounds_of(what, at)[0] == UINT64_MAX;
        to = few ? join_next_of(what, at) : join_jump_of(what, at)->to;
        if (!few) widen(what, most, bounds_of(what, at));
    }
}

// Two jumps of one length become one over both, as in a skew binary number. So from any entry each
// one after it is reached in steps and jumps of the order of the logarithm.
static void jump_over(const SbBreaker *what, const SbEntry *entry, const SbEntry *head) {
    const SbJump *one = join_jump_of(what, head), *two = join_jump_of(what, one->to);
    uint64_t last = join_jump_of(what, two->to)->rest;
    bool equal = one->to != head && one->rest - two->rest == two->rest - last;
    *join_jump_of(what, entry) = (SbJump){equal ? two->to : head, one->rest + 1};
    if (what->bound_count) bound_block(what, entry);
}

static void put_before(const SbJoinBuild *build, const SbEntry *entry, const SbEntry *head) {
    memcpy((char *)(uintptr_t)entry + build->what->next_offset, &head, sizeof head);
    if (build->what->jump_offset) jump_over(build->what, entry, head);
}

// Puts `entry` before the entries of its key, so that going backwards gives right order. False: no
// slot before `end` (of all slots: after the last one comes the first).
static bool chain(const SbJoinBuild *build, const SbEntry *entry, uint64_t end) {
    uint64_t *slots = build->slots, at = home_of(build, entry);
    sb_join_jump_nowhere(build->what, entry);
    if (build->table.span) {
        if (slots[at]) put_before(build, entry, (const SbEntry *)(uintptr_t)slots[at]);
        slots[at] = (uintptr_t)entry;
        return true;
    }
    for (; slots[at]; at = (at + 1) & build->table.mask) {
        if (((slots[at] ^ entry->hash) & ~SB_SLOT_ADDRESS) == 0) {
            const SbEntry *head = sb_slot_entry(slots[at]);
            if (build->what->equal(head, entry)) {
                put_before(build, entry, head);
                break;
            }
        }
        if (at + 1 == end) return false;
    }
    slots[at] = sb_slot(entry);
    return true;
}

static void fill_range(void *arg, uint32_t range, uint32_t thread) {
    (void)thread;
    Fill *fill = arg;
    const SbJoinBuild *build = fill->build;
    uint64_t last = (uint64_t)(range + 1) << fill->range_bits;
    int64_t begin = fill->begins[range * fill->listers],
            end = fill->begins[(range + 1) * fill->listers], left = end;
    for (int64_t i = end - 1; i >= begin; i--) {
        if (i - AHEAD >= begin) __builtin_prefetch(build->lists[i - AHEAD], 1);
        if (!chain(build, build->lists[i], last)) build->lists[--left] = build->lists[i];
    }
    fill->left[range] = end - left;
}

// ---- the form -----------------------------------------------------------------------------------

typedef struct Bounds {     // Of the keys in a part of the entries; least > most: it has none.
    uint64_t least, most;
} Bounds;

typedef struct Survey {
    const SbJoinBuild *build;
    uint32_t parts;
    Bounds  *bounds;        // By part.
} Survey;

static void find_bounds(void *arg, uint32_t part, uint32_t thread) {
    (void)thread;
    const Survey *survey = arg;
    const SbJoinBuild *build = survey->build;
    int64_t end = build->count * (part + 1) / survey->parts;
    Bounds bounds = {UINT64_MAX, 0};
    for (int64_t i = build->count * part / survey->parts; i < end; i++) {
        const SbEntry *entry = build->entries[i];
        if (!has_key(build, entry)) continue;
        uint64_t key = build->what->number(entry) ^ SIGN;
        if (key < bounds.least) bounds.least = key;
        if (key > bounds.most) bounds.most = key;
    }
    survey->bounds[part] = bounds;
}

// The least key and how many slots all of them span; 0: they lie too far apart.
static uint64_t survey_keys(const SbJoinBuild *build, SbParallel *parallel, uint64_t *least) {
    enum { SLOTS_A_KEY_MAX = 4 };
    Survey survey = {build, parallel->threads * LISTERS_PER_THREAD, nullptr};
    if (build->what->number) survey.bounds = calloc(survey.parts, sizeof *survey.bounds);
    if (!survey.bounds) return 0;
    parallel->each(parallel, survey.parts, find_bounds, &survey);
    Bounds all = survey.bounds[0];
    for (uint32_t i = 1; i < survey.parts; i++) {
        if (survey.bounds[i].least < all.least) all.least = survey.bounds[i].least;
        if (survey.bounds[i].most > all.most) all.most = survey.bounds[i].most;
    }
    free(survey.bounds);
    *least = all.least ^ SIGN;
    bool close = all.least <= all.most &&
                 all.most - all.least < SLOTS_A_KEY_MAX * (uint64_t)build->count;
    return close ? all.most - all.least + 1 : 0;
}

int64_t sb_join_table_plan(SbJoinBuild *build, SbParallel *parallel) {
    enum { SLOTS_MIN = 1024 };
    SbTable *table = &build->table;
    table->span = survey_keys(build, parallel, &table->least);
    if (table->span) return (int64_t)table->span;
    int64_t slots = SLOTS_MIN;
    while (slots < build->count * 2) slots *= 2;
    table->mask = (uint64_t)slots - 1;
    return slots;
}

// ---- filling ------------------------------------------------------------------------------------

// So many bits that the numbers of all slots have fewer ranges than RANGES.
static int range_bits(const SbTable *table) {
    uint64_t last = table->span ? table->span - 1 : table->mask;
    int bits = 0;
    while (last >> bits >= RANGES) bits++;
    return bits;
}

int32_t sb_join_table_build(SbJoinBuild *build, SbParallel *parallel) {
    Fill fill = {.build = build,
                 .listers = parallel->threads * LISTERS_PER_THREAD,
                 .range_bits = range_bits(&build->table)};
    size_t cells = (size_t)RANGES * fill.listers;
    fill.begins = calloc(cells + 1, sizeof *fill.begins);
    if (!fill.begins) return SB_FAULT_TOO_LARGE;
    parallel->each(parallel, fill.listers, count_span, &fill);
    int64_t sum = 0;
    for (size_t i = 0; i <= cells; i++) {
        int64_t count = fill.begins[i];
        fill.begins[i] = sum;
        sum += count;
    }
    parallel->each(parallel, fill.listers, list_span, &fill);
    parallel->each(parallel, RANGES, fill_range, &fill);
    for (uint32_t r = 0; r < RANGES; r++) {
        int64_t end = fill.begins[(r + 1) * fill.listers];
        for (int64_t i = end - 1; i >= end - fill.left[r]; i--)
            chain(build, build->lists[i], UINT64_MAX);
    }
    free(fill.begins);
    return SB_OK;
}
