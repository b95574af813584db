// The order of the passes: a pass without what it needs is refused. The needs and breaks of the
// tables are what the passes do, tried with every pair of them on every tests/ir/*.ir.
#include "ir/plan.h"
#include "tests/unit/graph_texts.h"

// ---- the tables ---------------------------------------------------------------------------------

static void the_tables_are_in_an_order_that_works(void) {
    Facts facts = pass_facts(0);
    for (uint32_t i = 0; i < pass_count; i++) {
        CHECK_SAYS(!(passes[i].needs & ~facts), "%s", passes[i].name);
        CHECK_SAYS(passes[i].gives && !(passes[i].gives & passes[i].breaks), "%s", passes[i].name);
        facts = facts_after(facts, passes[i].gives, passes[i].breaks);
        CHECK(facts == pass_facts(i + 1));
    }
    Facts plan = 0;
    for (uint32_t i = 0; i < plan_pass_count; i++) {
        CHECK_SAYS(!(plan_passes[i].needs & ~plan), "%s", plan_passes[i].name);
        plan |= plan_passes[i].gives;
    }
    CHECK(!(FACTS_OF_CODE & ~plan));
}

// ---- sequences of passes ------------------------------------------------------------------------

enum { SEQUENCE_MAX = 32 };

typedef struct Sequence {
    const Pass *passes[SEQUENCE_MAX];
    size_t      count;
    Facts       facts;  // By the table, after the last one.
} Sequence;

static bool has(const Sequence *sequence, Facts needs) { return !(needs & ~sequence->facts); }

static void append(Sequence *sequence, const Pass *pass) {
    if (sequence->count == SEQUENCE_MAX) return;
    sequence->passes[sequence->count++] = pass;
    sequence->facts = facts_after(sequence->facts, pass->gives, pass->breaks);
}

// Appends what gives the facts. False: the table has no way to give them now.
static bool satisfy(Sequence *sequence, Facts needs) {
    for (uint32_t i = 0; i < pass_count; i++) {
        bool missing = (passes[i].gives & needs & ~sequence->facts) != 0;
        if (!missing) continue;
        if (!satisfy(sequence, passes[i].needs)) return false;
        append(sequence, &passes[i]);
    }
    return has(sequence, needs);
}

// Runs the passes, whatever they need, and prints what comes of it.
static Text forced(Arena *arena, Text text, const Sequence *sequence) {
    Graph *graph = read_text(arena, text);
    PassContext context = {.graph = graph};
    for (size_t i = 0; graph && i < sequence->count; i++) sequence->passes[i]->run(&context);
    TextBuf errors = {0};
    if (graph) CHECK(graph_verify(graph, &errors));
    text_buf_free(&errors);
    return graph ? print_text(arena, graph) : TEXT("");
}

typedef struct Pair {
    const Sequence *one, *other;
    bool            differ;  // For some graph.
} Pair;

static void see_pair(void *self, const char *path, Arena *arena, Text text) {
    (void)path;
    Pair *pair = self;
    if (!pair->differ)
        pair->differ = !text_eq(forced(arena, text, pair->one), forced(arena, text, pair->other));
}

static bool differ(const Sequence *one, const Sequence *other) {
    Pair pair = {one, other, false};
    each_file(&pair, see_pair);
    return pair.differ;
}

// Does it matter, for some graph of tests/ir/, which of two passes comes first?
static bool order_matters(const Pass *first, const Pass *second) {
    return differ(&(Sequence){.passes = {first, second}, .count = 2},
                  &(Sequence){.passes = {second, first}, .count = 2});
}

static const Pass *giver_of(Facts fact) {
    for (uint32_t i = 0; i < pass_count; i++)
        if (passes[i].gives & fact) return &passes[i];
    return nullptr;
}

// A need is real if the pass does something else before the fact is given.
static void every_need_is_real(void) {
    for (uint32_t i = 0; i < pass_count; i++) {
        for (uint32_t f = 0; f < FACT_COUNT; f++) {
            Facts fact = (Facts)1 << f;
            const Pass *giver = giver_of(fact);
            if (!(passes[i].needs & fact) || !giver) continue;
            CHECK_SAYS(order_matters(giver, &passes[i]), "%s needs '%s'", passes[i].name,
                       fact_name(f));
        }
    }
}

// Nothing gives 'written' back: who breaks it changes what a pass finds that needs it, and the
// others do not.
static void what_no_pass_gives_is_broken_by_those_that_say_so(void) {
    for (uint32_t k = 0; k < pass_count; k++) {
        bool matters = false;
        for (uint32_t i = 0; i < pass_count; i++) {
            bool wants = i != k && (passes[i].needs & FACT_WRITTEN);
            if (wants && !(passes[i].needs & passes[k].gives))
                matters |= order_matters(&passes[i], &passes[k]);
        }
        bool breaks = (passes[k].breaks & FACT_WRITTEN) != 0;
        CHECK_SAYS(matters == breaks, "%s", passes[k].name);
    }
}

// What becomes of the giver's facts when `other` runs after it.
typedef enum Outcome { UNTRIED, KEPT, BROKEN } Outcome;

// Tries it after the first `prefix` passes of the table and what both passes need besides.
static Outcome try_break(const Pass *giver, const Pass *other, uint32_t prefix, bool *said) {
    Sequence sequence = {.facts = pass_facts(0)};
    for (uint32_t i = 0; i < prefix; i++) append(&sequence, &passes[i]);
    bool possible = satisfy(&sequence, other->needs) && satisfy(&sequence, giver->needs);
    if (possible) append(&sequence, giver);
    possible = possible && satisfy(&sequence, other->needs) && has(&sequence, giver->gives);
    if (possible) append(&sequence, other);
    if (!possible || !satisfy(&sequence, giver->needs)) return UNTRIED;
    *said |= !has(&sequence, giver->gives);  // Maybe by what `giver` needed anew.
    Sequence again = sequence;
    append(&again, giver);
    return differ(&again, &sequence) ? BROKEN : KEPT;
}

// A pass breaks what another one gives just if that one finds something to do again.
static void check_break(uint32_t giver, uint32_t other) {
    const Pass *first = &passes[giver], *second = &passes[other];
    uint32_t later = giver > other ? giver : other;
    bool said = false, declared = (first->gives & second->breaks) != 0;
    Outcome alone = try_break(first, second, 0, &said);
    Outcome among = try_break(first, second, later, &said);
    bool broken = alone == BROKEN || among == BROKEN;
    CHECK_SAYS(!broken || said, "%s breaks what %s gives", second->name, first->name);
    CHECK_SAYS(broken || !declared, "%s keeps what %s gives", second->name, first->name);
}

static void passes_break_what_they_say_and_nothing_else(void) {
    for (uint32_t k = 0; k < pass_count; k++)
        for (uint32_t i = 0; i < pass_count; i++) check_break(i, k);
}

// ---- refusals -----------------------------------------------------------------------------------

static const Pass *named(const char *name) { return &passes[pass_find(text_of(name)) - 1]; }

static void a_wrong_order_is_refused(void) {
    static const struct { const char *first, *second, *error; } wrong[] = {
        {nullptr, "spell", "pass spell needs 'reads': "},
        {nullptr, "span", "pass span needs 'spelled': "},
        {nullptr, "fold", "pass fold needs 'reads': "},
        {"reads", "cse", "pass cse needs 'folded': "},
        {nullptr, "prune", "pass prune needs 'reads': "},
        {"reads", "ranges", "pass ranges needs 'live': "},
    };
    for (size_t i = 0; i < countof(wrong); i++) {
        Arena *arena = arena_new();
        Graph *graph = read_text(arena, file_text(arena, "tests/ir/order.ir"));
        PassContext context = {.graph = graph};
        TextBuf errors = {0};
        if (wrong[i].first) CHECK(pass_run(&context, named(wrong[i].first), &errors));
        Text before = print_text(arena, graph);
        CHECK(!pass_run(&context, named(wrong[i].second), &errors));
        Text said = text_buf_view(&errors);
        CHECK_SAYS(text_starts(said, text_of(wrong[i].error)), "%.*s", TEXT_ARG(said));
        CHECK(text_eq(before, print_text(arena, graph)));
        text_buf_free(&errors);
        arena_free(arena);
    }
}

// Whatever has run, a pass that finds a need broken does not run.
static void what_was_broken_is_refused(void) {
    Arena *arena = arena_new();
    Graph *graph = read_text(arena, file_text(arena, "tests/ir/order.ir"));
    PassContext context = {.graph = graph};
    TextBuf errors = {0};
    CHECK(passes_run(&context, "ranges"));
    CHECK(!pass_run(&context, named("reads"), &errors));
    CHECK(!pass_run(&context, named("spell"), &errors));
    CHECK(!pass_run(&context, named("cse"), &errors));
    CHECK(!pass_run(&context, named("ranges"), &errors));
    CHECK(pass_run(&context, named("prune"), &errors));
    CHECK(pass_run(&context, named("ranges"), &errors));
    text_buf_free(&errors);
    arena_free(arena);
}

// The facts of a graph that is read are those of the passes that it says have run.
static void a_text_says_what_holds(void) {
    for (uint32_t i = 0; i < pass_count; i++) {
        Arena *arena = arena_new();
        Graph *graph = read_text(arena, file_text(arena, "tests/ir/order.ir"));
        PassContext context = {.graph = graph};
        CHECK(passes_run(&context, passes[i].name));
        CHECK(graph->facts == pass_facts(i + 1));
        Graph *again = read_text(arena, print_text(arena, graph));
        CHECK(again && again->facts == graph->facts);
        arena_free(arena);
    }
}

// Every pass over the plan without each of its needs.
static void a_plan_is_made_in_order(void) {
    Arena *arena = arena_new();
    Graph *graph = read_text(arena, file_text(arena, "tests/ir/order.ir"));
    for (uint32_t i = 0; i < plan_pass_count; i++) {
        const PlanPass *pass = &plan_passes[i];
        for (uint32_t f = 0; f < FACT_COUNT; f++) {
            if (!(pass->needs & (Facts)1 << f)) continue;
            Plan *plan = plan_make(graph, (PlanOptions){0});
            plan->facts &= ~((Facts)1 << f);
            TextBuf errors = {0};
            CHECK(!plan_pass_run(plan, pass, (PlanOptions){0}, &errors));
            Text said = text_format(arena, "pass %s needs '%s': ", pass->name, fact_name(f));
            CHECK_SAYS(text_starts(text_buf_view(&errors), said), "%s", pass->name);
            text_buf_free(&errors);
        }
    }
    arena_free(arena);
}

static const UnitTest tests[] = {
    {"the_tables_are_in_an_order_that_works", the_tables_are_in_an_order_that_works},
    {"every_need_is_real", every_need_is_real},
    {"what_no_pass_gives_is_broken_by_those_that_say_so",
     what_no_pass_gives_is_broken_by_those_that_say_so},
    {"passes_break_what_they_say_and_nothing_else", passes_break_what_they_say_and_nothing_else},
    {"a_wrong_order_is_refused", a_wrong_order_is_refused},
    {"what_was_broken_is_refused", what_was_broken_is_refused},
    {"a_text_says_what_holds", a_text_says_what_holds},
    {"a_plan_is_made_in_order", a_plan_is_made_in_order},
};

UNIT_MAIN("passes", tests)
