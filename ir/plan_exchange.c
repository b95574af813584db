// Exchange over workers: which stages may run there, and how rows of groups, sorts and joins are
// shared out among those that put them together. What only a run knows, as pipes and --resume,
// keeps more stages in the job itself.
#include "ir/plan_stages.h"

static const char because_zip[] = "it pairs rows of two flows";
static const char because_table[] = "it looks rows up in a table that may be on disk";
static const char because_timeout[] = "calls with a time limit follow finished rows";
static const char because_both[] = "it fills what waits for all rows and hands rows on, too";
static const char because_once[] = "its rows cannot be made again alone";
static const char because_part[] = "its tasks hold less than a cpu";
static const char because_wide[] = "it has more than 255 ends";
static const char because_approx[] = "its digits are those of one kind of processor";
static const char because_limit[] = "a limit counts the rows";

enum { ENDS_MAX = UINT8_MAX };

// By BreakerKind.
static const char *const hands[] = {
    [BREAK_GROUP] = "its own groups", [BREAK_SORT] = "rows", [BREAK_JOIN] = "rows",
    [BREAK_EDGE] = "rows",
};

typedef struct Placing {
    Plan *plan;
    bool *repeats;  // By stage: its rows can be made again, if they come of files.
    bool *limits;   // By section: a limit takes rows of it.
} Placing;

static bool waits_for_all(const Plan *plan, const Terminal *terminal) {
    return !terminal->is_sink && !plan_feeds_edge(plan, terminal);
}

static uint32_t fill_count(const Plan *plan, const Stage *stage) {
    uint32_t count = 0;
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        count += waits_for_all(plan, &stage->terminals[t]);
    return count;
}

static bool reads_edge(const Plan *plan, const Stage *stage) {
    return stage->kind == STAGE_ROWS && plan->breakers[stage->breaker].kind == BREAK_EDGE;
}

// Rows that stood side by side in a zip cannot be made again. A stage that fills a breaker and
// hands rows on would put its own rows there twice. Stages above come before.
static bool is_repeatable(const Placing *p, size_t index) {
    const Stage *stage = &p->plan->stages[index];
    bool good = stage->zip_breaker == BREAKER_NONE;
    for (size_t i = 0; good && reads_edge(p->plan, stage) && i < index; i++)
        if (stages_feeds(&p->plan->stages[i], stage->breaker))
            good = fill_count(p->plan, &p->plan->stages[i]) == 0 && p->repeats[i];
    return good;
}

// Where the table is on disk the stage runs in the job, which has its own share of cpus alone.
static const char *home_of_prober(const Plan *plan, const Stage *stage) {
    for (uint32_t n = 0; n < stage->need_count; n++) {
        const Op *op = graph_op_at(plan->graph, plan->breakers[stage->needs[n]].op);
        if (op->kind != OP_JOIN) continue;
        if (plan->graph->resources[stage->resources.i].custom_count > 0) return because_table;
    }
    return nullptr;
}

static const char *home_of_reader(const Plan *plan, const Stage *stage) {
    if (stage->zip_breaker != BREAKER_NONE) return because_zip;
    const char *why = home_of_prober(plan, stage);
    if (why) return why;
    if (stage->kind == STAGE_SCAN || reads_edge(plan, stage)) return nullptr;
    return stage->timeout > 0 ? because_timeout : nullptr;
}

// Rows that a worker has put into breakers and not handed over are made again when it is lost.
static const char *home_of_filler(const Placing *p, size_t index) {
    const Plan *plan = p->plan;
    const Stage *stage = &plan->stages[index];
    uint32_t fills = fill_count(plan, stage);
    if (stage->terminal_count > ENDS_MAX) return because_wide;
    if (plan_is_approx(plan, stage) && stage->kernels.op_count) return because_approx;
    if (fills == 0) return nullptr;
    if (fills < stage->terminal_count) return because_both;
    if (!p->repeats[index]) return because_once;
    uint32_t cpus = plan->graph->resources[stage->resources.i].cpus;
    return cpus < RESOURCE_WHOLE ? because_part : nullptr;
}

// ---- sections ----

static uint32_t section_of(const Plan *plan, uint32_t stage) {
    while (plan->stages[stage].section != stage) stage = plan->stages[stage].section;
    return stage;
}

// The stage fills or reads the breaker. `first`: by breaker, a stage that does; STAGE_NONE: none is
// known.
static void touch(const Plan *plan, uint32_t *first, uint32_t breaker, uint32_t stage) {
    if (breaker >= plan->breaker_count || plan->breakers[breaker].kind != BREAK_EDGE) return;
    if (first[breaker] == STAGE_NONE) first[breaker] = stage;
    uint32_t one = section_of(plan, first[breaker]), other = section_of(plan, stage);
    plan->stages[one > other ? one : other].section = one < other ? one : other;
}

static void find_sections(Placing *p) {
    const Plan *plan = p->plan;
    Arena *arena = plan->graph->arena;
    uint32_t *first = arena_new_array(arena, uint32_t, plan->breaker_count + 1);
    p->limits = arena_new_array(arena, bool, plan->stage_count + 1);
    for (size_t b = 0; b < plan->breaker_count; b++) first[b] = STAGE_NONE;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const Stage *stage = &plan->stages[s];
        plan->stages[s].section = s;
        if (stage->kind != STAGE_SCAN) touch(plan, first, stage->breaker, s);
        touch(plan, first, stage->zip_breaker, s);
        for (uint32_t t = 0; t < stage->terminal_count; t++)
            if (!stage->terminals[t].is_sink) touch(plan, first, stage->terminals[t].index, s);
    }
    for (uint32_t s = 0; s < plan->stage_count; s++)
        plan->stages[s].section = section_of(plan, s);
    for (size_t b = 0; b < plan->breaker_count; b++)
        if (plan->breakers[b].limited && first[b] != STAGE_NONE)
            p->limits[plan->stages[first[b]].section] = true;
}

// ---- who may run in workers ----

static Text why_home(const Placing *p, size_t index) {
    const Stage *stage = &p->plan->stages[index];
    const char *why = home_of_reader(p->plan, stage);
    if (!why) why = home_of_filler(p, index);
    if (!why && p->limits[stage->section]) why = because_limit;
    return why ? text_of(why) : (Text){0};
}

static bool asks_for(const Plan *plan, const Stage *stage, Text resource) {
    const Resources *all = &plan->graph->resources[stage->resources.i];
    for (uint32_t i = 0; i < all->custom_count; i++)
        if (text_eq(all->customs[i].name, resource)) return all->customs[i].amount > 0;
    return false;
}

// What a stage of the job asks for is there, and so are all stages that ask for it.
static bool stay_together(Plan *plan) {
    bool moved = false;
    for (size_t r = 0; r < plan->resource_count; r++) {
        bool home = false;
        for (size_t s = 0; s < plan->stage_count; s++)
            home |= plan->stages[s].home.len > 0 &&
                    asks_for(plan, &plan->stages[s], plan->resources[r]);
        for (size_t s = 0; home && s < plan->stage_count; s++) {
            Stage *stage = &plan->stages[s];
            if (stage->home.len > 0 || !asks_for(plan, stage, plan->resources[r])) continue;
            stage->home = text_format(plan->graph->arena, "%.*s is there",
                                      TEXT_ARG(plan->resources[r]));
            moved = true;
        }
    }
    return moved;
}

// ---- breakers ----

// "ranges of hashes of `a`, `b`": how the threads that put all rows together share them out.
static Text shares_of(const Plan *plan, const Breaker *breaker) {
    enum { NAMES_MAX = 4 };
    bool sorts = breaker->kind == BREAK_SORT;
    if (breaker->key_count == 0)
        return sorts ? TEXT("sampled ranges of random numbers") : TEXT("one thread");
    TextBuf buf = {0};
    text_buf_add(&buf, sorts ? TEXT("sampled ranges of ") : TEXT("ranges of hashes of "));
    for (uint32_t k = 0; k < breaker->key_count && k < NAMES_MAX; k++)
        text_buf_format(&buf, k ? ", %.*s" : "%.*s", TEXT_ARG(breaker->slots[k].name));
    if (breaker->key_count > NAMES_MAX) text_buf_add(&buf, TEXT(", ..."));
    return text_buf_take(&buf, plan->graph->arena);
}

static bool reads(const Stage *stage, uint32_t breaker) {
    bool any = stage->kind != STAGE_SCAN && stage->breaker == breaker;
    for (uint32_t n = 0; n < stage->need_count; n++) any |= stage->needs[n] == breaker;
    return any;
}

// "workers", "the job, as ...", or both, of the stages that fill or read the breaker.
static void say_who(TextBuf *buf, const Plan *plan, uint32_t breaker, bool fills) {
    bool far = false;
    Text why = {0};
    for (size_t s = 0; s < plan->stage_count; s++) {
        const Stage *stage = &plan->stages[s];
        if (!(fills ? stages_feeds(stage, breaker) : reads(stage, breaker))) continue;
        far |= stage->home.len == 0;
        if (why.len == 0) why = stage->home;
    }
    text_buf_add(buf, fills ? TEXT("filled by ") : TEXT("read by "));
    if (far) text_buf_add(buf, TEXT("workers"));
    if (far && why.len) text_buf_add(buf, TEXT(" and "));
    if (why.len) text_buf_format(buf, "the job, as %.*s", TEXT_ARG(why));
    if (!fills && far && plan->breakers[breaker].kind == BREAK_JOIN)
        text_buf_add(buf, TEXT("; on other machines in a copy, if it is small"));
    if (fills && far)
        text_buf_format(buf, ", each hands over %s", hands[plan->breakers[breaker].kind]);
}

static void say(const Plan *plan, uint32_t index) {
    const Breaker *breaker = &plan->breakers[index];
    const Op *op = graph_op_at(plan->graph, breaker->op);
    TextBuf buf = {0};
    text_buf_format(&buf, "%s: ", op_kind_name(op->kind));
    say_who(&buf, plan, index, true);
    text_buf_format(&buf, "; put together by %.*s; ", TEXT_ARG(breaker->shares));
    say_who(&buf, plan, index, false);
    remark(plan->remarks, op->span, "%.*s", (int)buf.len, buf.at);
    text_buf_free(&buf);
}

void plan_exchange(Plan *plan, PlanOptions options) {
    (void)options;
    Placing p = {plan, arena_new_array(plan->graph->arena, bool, plan->stage_count + 1), nullptr};
    find_sections(&p);
    for (size_t s = 0; s < plan->stage_count; s++) p.repeats[s] = is_repeatable(&p, s);
    for (size_t s = 0; s < plan->stage_count; s++) plan->stages[s].home = why_home(&p, s);
    while (stay_together(plan)) {}
    for (uint32_t b = 0; b < plan->breaker_count; b++) {
        Breaker *breaker = &plan->breakers[b];
        if (breaker->kind == BREAK_EDGE) continue;
        breaker->shares = shares_of(plan, breaker);
        breaker->hands = text_of(hands[breaker->kind]);
        say(plan, b);
    }
}
