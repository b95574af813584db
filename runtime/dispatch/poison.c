#include "runtime/dispatch/poison.h"

#include "runtime/crash.h"
#include "runtime/dispatch/far.h"
#include "runtime/dispatch/state.h"
#include "runtime/host.h"
#include "runtime/job.h"
#include "runtime/report.h"
#include "runtime/worker.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

// A call that was under way when its worker ended.
typedef struct Suspect {
    struct Suspect *next;
    GuardNote note;
    uint64_t  serial;        // Of the call, and
    uint32_t  thread;        // the thread of the worker.
    Text      ask;           // For the unit, from its first row.
    Batch    *held[2];       // What the unit reads, and
    SpoolRows loaded[2];     // what came back from disk for it.
    uint64_t *identities;    // Of the rows of a batch.
    GuardState *states;      // What becomes of each of them.
    GuardRange *todo;        // Of a batch: calls that are to be tried.
    uint32_t  todo_count;
    int32_t   fault;         // Of rows that are found.
    uint8_t   signal;
    bool      whole;         // As GuardTrial's.
    bool      found;         // Some row was.
} Suspect;

// What is known of the calls of one worker.
typedef struct Ward {
    Suspect *noted;          // The process may be there still.
    Suspect *trials;         // The first one is tried next, or now.
    bool     trying;
    bool     slow;           // It is ended, for a call that took too long:
    uint32_t thread;         // of this thread,
    uint64_t serial;         // this one.
} Ward;

// A call whose time is limited. Its time is taken by ticks: one in which the job stood still counts
// little.
typedef struct Watch {
    uint64_t serial;
    int64_t  ns;
} Watch;

struct Poison {
    Dispatch *d;
    Workers  *workers;
    Guards   *guards;
    Ward     *wards;         // By node.
    Watch    *watches;       // By node and thread.
    int64_t   ticked;        // When the last tick was.
    int64_t   state_ns;      // The least that a state may take to be made or closed.
    int64_t   passed;        // From the tick before to the last one, unless the job stood still.
    uint32_t  count, threads;
};

// A model takes its time to be read, however fast calls are. A test waits less.
static int64_t wait_of_states(void) {
    enum : int64_t { MILLISECOND = 1'000'000, STATE_NS = 60'000 * MILLISECOND };
    const char *text = getenv("SBC_TEST_STATE_WAIT_MS");
    return text ? strtoll(text, nullptr, 10) * MILLISECOND : STATE_NS;
}

Poison *poison_open(Dispatch *d, Workers *workers, uint32_t count, uint32_t threads) {
    Poison *p = calloc(1, sizeof *p);
    Ward *wards = calloc(count, sizeof *wards);
    Watch *watches = calloc((size_t)count * threads, sizeof *watches);
    if (!p || !wards || !watches) {
        free(p);
        free(wards);
        free(watches);
        return nullptr;
    }
    *p = (Poison){.d = d, .workers = workers, .guards = &d->own->job->guards, .wards = wards,
                  .watches = watches, .count = count, .threads = threads,
                  .state_ns = wait_of_states()};
    return p;
}

static void close_suspect(Poison *p, Suspect *is) {
    for (int side = 0; side < 2; side++) {
        if (is->held[side]) batch_release(is->held[side]);
        spool_close(&is->loaded[side], p->d->own->memory);
    }
    sb_text_close(&is->ask);
    free(is->identities);
    free(is->states);
    free(is->todo);
    free(is);
}

static void close_suspects(Poison *p, Suspect **list) {
    while (*list) {
        Suspect *next = (*list)->next;
        close_suspect(p, *list);
        *list = next;
    }
}

void poison_close(Poison *p) {
    if (!p) return;
    for (uint32_t n = 0; n < p->count; n++) {
        close_suspects(p, &p->wards[n].noted);
        close_suspects(p, &p->wards[n].trials);
    }
    free(p->wards);
    free(p->watches);
    free(p);
}

static const GuardNote *note_at(const Poison *p, NodeId node, uint32_t thread) {
    const char *arena = arena_space_of(workers_space(p->workers), node.i);
    return (const GuardNote *)(const void *)arena + thread;
}

static bool is_under_way(const GuardNote *note) { return note->serial & 1; }

// ---- cases --------------------------------------------------------------------------------------

// The cases are known to all from now on. Verdicts among them are journaled first.
static void say_cases(Poison *p, const GuardCase *cases, int64_t count) {
    Text all = {0}, verdicts = {0};
    for (int64_t i = 0; i < count; i++) {
        wire_put_case(&all, &cases[i]);
        bool lasts = cases[i].state == GUARD_REJECT || cases[i].state == GUARD_CUT;
        if (lasts) wire_put_case(&verdicts, &cases[i]);
    }
    bool good = !all.failed && !verdicts.failed;
    for (int64_t i = 0; i < count && good; i++) good = guards_set(p->guards, &cases[i]);
    if (!good) dispatch_no_memory(p->d);
    else if (verdicts.len > 0 && !tell_judged(&p->d->observers, &verdicts)) dispatch_stop(p->d);
    else workers_say_all(p->workers, WIRE_CASES, &all);
    sb_text_close(&all);
    sb_text_close(&verdicts);
}

static GuardCase case_of(const Suspect *is, GuardState state, uint64_t identity) {
    GuardCase made = {.identity = identity, .site = is->note.site, .state = state};
    if (state != GUARD_REJECT) return made;
    made.signal = is->signal;
    made.fault = is->fault;
    return made;
}

// All rows of the suspect are in that state now; of a batch, each in its own.
static void tell(Poison *p, const Suspect *is, GuardState state) {
    int64_t count = is->note.count > 0 ? is->note.count : 1;
    GuardCase *cases = calloc((size_t)count, sizeof *cases);
    if (!cases) {
        dispatch_no_memory(p->d);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        cases[i] = is->note.count > 0 ? case_of(is, is->states[i], is->identities[i])
                                      : case_of(is, state, is->note.identity);
    say_cases(p, cases, count);
    free(cases);
}

static void set_states(const Suspect *is, GuardState state) {
    for (int64_t i = 0; i < is->note.count; i++) is->states[i] = state;
}

// The step of the call; of a batch, the first one of its stage.
static const SbStr *label_of(const Poison *p, const GuardNote *note) {
    const SbJob *what = p->d->what;
    bool known = note->count == 0 && note->site < what->site_count;
    return known ? &what->steps[what->sites[note->site].step].label
                 : &what->stages[note->stage].label;
}

// It is certain: the rows are rejected from now on.
static void condemn(Poison *p, const Ward *ward, Suspect *is) {
    const SbStr *label = label_of(p, &is->note);
    is->found = true;
    bool whole = is->note.count > 0 && !is->note.pure;
    p->d->own->job->figures.workers[ward - p->wards - 1].verdicts += whole ? is->note.count : 1;
    const char *did = is->fault == SB_FAULT_EXTERN_SLOW     ? "takes too long"
                      : is->fault == SB_FAULT_EXTERN_MEMORY ? "takes too much memory"
                                                            : "crashes";
    const char *signal = is->fault == SB_FAULT_EXTERN_CRASHED ? crash_name(is->signal) : nullptr;
    log_warn(&p->d->own->job->log, TROUBLE_POISON, "'%.*s': the extern function %s on a row%s%s",
             (int)label->len, label->ptr, did, signal ? ": " : "", signal ? signal : "");
}

// ---- suspects -----------------------------------------------------------------------------------

static bool find_identities(Poison *p, Suspect *is, const Flow *flow) {
    const SbBreaker *edge = &p->d->what->breakers[flow->run->stage->input_index];
    size_t count = (size_t)is->note.count;
    is->identities = calloc(count + 1, sizeof *is->identities);
    is->states = calloc(count + 1, sizeof *is->states);
    is->todo = calloc(count + 1, sizeof *is->todo);
    if (!is->identities || !is->states || !is->todo) return false;
    const SbEntry *const *rows = flow->unit.entries;
    // Rows of a breaker have their identity if something after its step asks for it.
    if (edge->identity_offset == UINT32_MAX) return false;
    bool within = is->note.first >= flow->unit.begin &&
                  is->note.count <= flow->unit.end - is->note.first;
    if (!rows || !within) return false;
    for (size_t i = 0; i < count; i++)
        memcpy(&is->identities[i], (const char *)rows[is->note.first + (int64_t)i] +
               edge->identity_offset, sizeof *is->identities);
    set_states(is, GUARD_TRIED);
    return true;
}

// What a trial reads is kept, whatever becomes of the flow.
static void keep_input(Flow *flow, Suspect *is) {
    for (int side = 0; side < 2; side++) {
        is->held[side] = flow->input ? flow->batches[side] : flow->unit.slices[side].batch;
        if (is->held[side]) is->held[side]->holders++;
        is->loaded[side] = flow->loaded[side];
        flow->loaded[side] = (SpoolRows){0};
    }
}

static Suspect *new_suspect(Poison *p, const GuardNote *note, Flow *flow) {
    Suspect *is = calloc(1, sizeof *is);
    if (!is) return nullptr;
    is->note = *note;
    is->serial = note->serial;
    if (is->note.count > 0 && !find_identities(p, is, flow)) {
        close_suspect(p, is);
        return nullptr;
    }
    far_put_trial_ask(p->d, flow, note, &is->ask);
    keep_input(flow, is);
    return is;
}

void poison_note(Poison *p, NodeId node) {
    Ward *ward = &p->wards[node.i];
    if (ward->trying) return;
    for (uint32_t t = 0; t < p->threads; t++) {
        const GuardNote *note = note_at(p, node, t);
        if (!is_under_way(note) || note->kind != GUARD_CALL ||
            note->task >= p->d->own->flow_max)
            continue;
        Flow *flow = p->d->own->flows[note->task];
        if (!flow || !flow->run || !flow->far_asked || flow->canceled ||
            flow->place.i != node.i || flow->run->index != note->stage)
            continue;
        Suspect *is = new_suspect(p, note, flow);
        if (!is) continue;
        is->thread = t;
        is->next = ward->noted;
        ward->noted = is;
        tell(p, is, GUARD_TRIED);
    }
}

// ---- verdicts -----------------------------------------------------------------------------------

static bool is_fatal(int status) { return WIFSIGNALED(status) && crash_name(WTERMSIG(status)); }

static void blame(Suspect *is, const GuardNote *note, bool slow, int status) {
    is->fault = slow                  ? SB_FAULT_EXTERN_SLOW
                : note->memory.denied ? SB_FAULT_EXTERN_MEMORY
                                      : SB_FAULT_EXTERN_CRASHED;
    is->signal = slow || note->memory.denied ? 0 : (uint8_t)WTERMSIG(status);
}

static void push_trial(Ward *ward, Suspect *is) {
    Suspect **last = &ward->trials;
    while (*last) last = &(*last)->next;
    is->next = nullptr;
    *last = is;
}

// A range of a batch ended its worker: its halves are tried in its place.
static void halve(Suspect *is, GuardRange bad) {
    int64_t half = bad.count / 2;
    memmove(is->todo + 2, is->todo, is->todo_count * sizeof *is->todo);
    is->todo[0] = (GuardRange){bad.first, half};
    is->todo[1] = (GuardRange){bad.first + half, bad.count - half};
    is->todo_count += 2;
    is->states[bad.first + half - is->note.first] = GUARD_CUT;
}

// The worker has died of this call, for the first time.
static void accuse(Poison *p, Ward *ward, Suspect *is) {
    bool batch = is->note.count > 0;
    bool alone = !batch || is->note.count == 1;
    if (!is->note.pure) {
        set_states(is, GUARD_REJECT);
        condemn(p, ward, is);
        tell(p, is, GUARD_REJECT);
        close_suspect(p, is);
        return;
    }
    if (alone && batch) is->todo[is->todo_count++] = (GuardRange){is->note.first, 1};
    else if (batch) halve(is, (GuardRange){is->note.first, is->note.count});
    push_trial(ward, is);
}

// Nothing is left to be tried.
static void end_trial(Poison *p, Ward *ward) {
    Suspect *is = ward->trials;
    ward->trials = is->next;
    ward->trying = false;
    for (int64_t i = 0; i < is->note.count; i++)
        if (is->states[i] == GUARD_TRIED) is->states[i] = GUARD_FREE;
    tell(p, is, is->found ? GUARD_REJECT : GUARD_FREE);
    close_suspect(p, is);
}

// The range has ended the worker of a trial, and those before it have come back.
static void narrow(Poison *p, const Ward *ward, GuardRange bad) {
    Suspect *is = ward->trials;
    uint32_t done = 0;
    while (done < is->todo_count && is->todo[done].first <= bad.first) done++;
    is->todo_count -= done;
    memmove(is->todo, is->todo + done, is->todo_count * sizeof *is->todo);
    if (bad.count > 1) {
        halve(is, bad);
        return;
    }
    is->states[bad.first - is->note.first] = GUARD_REJECT;
    condemn(p, ward, is);
}

static const GuardNote *trial_note(const Poison *p, NodeId node) {
    for (uint32_t t = 0; t < p->threads; t++)
        if (is_under_way(note_at(p, node, t))) return note_at(p, node, t);
    return nullptr;
}

// The worker of a trial has died. True: of what was tried.
static bool died_in_trial(Poison *p, NodeId node, int status) {
    Ward *ward = &p->wards[node.i];
    Suspect *is = ward->trials;
    const GuardNote *note = trial_note(p, node);
    bool same = note && note->site == is->note.site &&
                (is->note.count > 0 || note->identity == is->note.identity);
    ward->trying = false;
    if (!same || !(ward->slow || is_fatal(status))) return false;
    blame(is, note, ward->slow, status);
    if (is->note.count == 0) {
        condemn(p, ward, is);
        end_trial(p, ward);
        return true;
    }
    bool within = note->first >= is->note.first && note->count > 0 &&
                  note->first + note->count <= is->note.first + is->note.count;
    if (!within) return false;
    narrow(p, ward, (GuardRange){note->first, note->count});
    if (is->todo_count == 0) end_trial(p, ward);
    return true;
}

// Has one of the threads said that it crashed, in foreign code or elsewhere? Else all calls are
// suspect that were under way.
static bool is_marked(const Poison *p, NodeId node) {
    for (uint32_t t = 0; t < p->threads; t++)
        if (note_at(p, node, t)->signal) return true;
    return false;
}

static bool is_culprit(const Poison *p, NodeId node, const Suspect *is, bool marked) {
    const Ward *ward = &p->wards[node.i];
    const GuardNote *note = note_at(p, node, is->thread);
    if (note->serial != is->serial) return false;  // It came back before the worker was gone.
    if (ward->slow) return is->thread == ward->thread && is->serial == ward->serial;
    return !marked || note->signal;
}

// ---- states -------------------------------------------------------------------------------------

// What may a call take, or a state? 0: any time.
static int64_t most_of(const Poison *p, const GuardNote *note) {
    enum : int64_t { MICROSECOND = 1'000 };
    int64_t most = p->d->what->stages[note->stage].timeout * MICROSECOND;
    bool longer = note->kind != GUARD_CALL && most > 0 && most < p->state_ns;
    return longer ? p->state_ns : most;
}

// The thread that ended the worker, if it was at a state. nullptr: it was not, or nobody knows.
static const GuardNote *guilty_state(const Poison *p, NodeId node) {
    const Ward *ward = &p->wards[node.i];
    const GuardNote *found = nullptr;
    bool marked = is_marked(p, node);
    uint32_t under_way = 0;
    for (uint32_t t = 0; t < p->threads; t++) {
        const GuardNote *note = note_at(p, node, t);
        if (!is_under_way(note)) continue;
        under_way++;
        bool state = note->kind != GUARD_CALL && note->stage < p->d->what->stage_count;
        if (state && (ward->slow ? t == ward->thread : note->signal)) return note;
        if (state) found = note;
    }
    return !ward->slow && !marked && under_way == 1 ? found : nullptr;
}

// Nothing is gained by another life: it would come to the same place. True: the trouble is set.
static bool condemn_state(Poison *p, NodeId node, int status) {
    const Ward *ward = &p->wards[node.i];
    const GuardNote *note = ward->slow || is_fatal(status) ? guilty_state(p, node) : nullptr;
    const SbBatchFn *fn = note ? p->d->what->stages[note->stage].calls : nullptr;
    if (!fn) return false;
    enum : int64_t { SECOND = 1'000'000'000 };
    Trouble *trouble = &p->d->own->job->trouble;
    const char *part = note->kind == GUARD_INIT ? "init" : "close";
    if (ward->slow)
        trouble_set(trouble, TROUBLE_STATE, "'%.*s_%s' ran for more than %g s", (int)fn->name.len,
                    fn->name.ptr, part, (double)most_of(p, note) / (double)SECOND);
    else
        trouble_set(trouble, TROUBLE_STATE, "'%.*s_%s' crashed: %s", (int)fn->name.len,
                    fn->name.ptr, part, crash_name(WTERMSIG(status)));
    return true;
}

bool poison_died(Poison *p, NodeId node, int status) {
    Ward *ward = &p->wards[node.i];
    if (condemn_state(p, node, status)) {
        dispatch_stop(p->d);
        return true;
    }
    bool excused = ward->slow || (WIFEXITED(status) && WEXITSTATUS(status) == WORKER_WORN);
    bool judged = ward->slow || is_fatal(status), marked = is_marked(p, node);
    if (ward->trying) {
        excused |= died_in_trial(p, node, status);
        ward->slow = false;
        return excused;
    }
    while (ward->noted) {
        Suspect *is = ward->noted;
        ward->noted = is->next;
        if (judged && is_culprit(p, node, is, marked)) {
            blame(is, note_at(p, node, is->thread), ward->slow, status);
            accuse(p, ward, is);
            excused = true;
            continue;
        }
        set_states(is, GUARD_FREE);
        tell(p, is, GUARD_FREE);
        close_suspect(p, is);
    }
    ward->slow = false;
    return excused;
}

// ---- trials -------------------------------------------------------------------------------------

bool poison_has_trial(const Poison *p, NodeId node) { return p->wards[node.i].trials; }

bool poison_try(Poison *p, NodeId node) {
    Ward *ward = &p->wards[node.i];
    const Suspect *is = ward->trials;
    if (!is) return false;
    GuardTrial trial = {.site = is->note.site, .identity = is->note.identity, .whole = is->whole,
                        .ranges = is->todo, .range_count = is->todo_count};
    Text text = {0};
    wire_put_trial(&text, &trial);
    sb_text_add(&text, is->ask.ptr, is->ask.len);
    ward->trying = true;
    workers_say(p->workers, node, WIRE_TRY, &text);
    return true;
}

bool poison_begin(Poison *p, NodeId node) {
    memset(&p->watches[node.i * p->threads], 0, p->threads * sizeof *p->watches);
    Text text = {0};
    for (uint32_t i = 0; i < p->guards->room; i++) {
        const GuardCase *is = &p->guards->cases[i];
        if (is->state != GUARD_FREE) wire_put_case(&text, is);
    }
    if (text.len > 0) workers_say(p->workers, node, WIRE_CASES, &text);
    return poison_try(p, node);
}

bool poison_tried(Poison *p, NodeId node, Unpack *from, bool *acquits) {
    Ward *ward = &p->wards[node.i];
    Suspect *is = ward->trials;
    bool passed = unpack_number(from);
    *acquits = false;
    if (from->bad || !ward->trying) return false;
    ward->trying = false;
    if (!passed && is->note.count == 0 && !is->whole) {
        is->whole = true;
        return true;
    }
    *acquits = !is->found;
    end_trial(p, ward);
    return true;
}

void poison_tick(Poison *p) {
    enum : int64_t { TICK_MAX = 100'000'000 };
    int64_t now = log_clock_ns(), away = now - p->ticked;
    p->ticked = now;
    p->passed = away < TICK_MAX ? away : TICK_MAX;
}

// How long the thread has been at the call, as far as ticks saw it.
static int64_t time_of(const Poison *p, NodeId node, uint32_t thread, uint64_t serial) {
    Watch *watch = &p->watches[node.i * p->threads + thread];
    *watch = (Watch){serial, watch->serial == serial ? watch->ns + p->passed : 0};
    return watch->ns;
}

bool poison_overdue(Poison *p, NodeId node) {
    Ward *ward = &p->wards[node.i];
    for (uint32_t t = 0; t < p->threads && !ward->slow; t++) {
        const GuardNote *note = note_at(p, node, t);
        uint64_t serial = note->serial;
        bool known = note->stage < p->d->what->stage_count;
        if (!(serial & 1) || !note->timed || !known) continue;
        int64_t most = most_of(p, note);
        int64_t ns = time_of(p, node, t, serial);
        if (most == 0 || ns <= most || note->serial != serial) continue;
        ward->slow = true;
        ward->thread = t;
        ward->serial = serial;
    }
    return ward->slow;
}

// ---- the end of the job -------------------------------------------------------------------------

static bool has_states(const Poison *p, NodeId node) {
    for (uint32_t t = 0; t < p->threads; t++)
        if (note_at(p, node, t)->states) return true;
    return false;
}

// A job that fails, or is to end at once, waits for nobody.
bool poison_closes(Poison *p, NodeId node) {
    const Job *job = p->d->own->job;
    bool ends = job->trouble.kind != TROUBLE_NONE || atomic_load(&job->stop.cancel) ||
                job->rejects.over_limit || job->rejects.failing;
    return !ends && has_states(p, node) && !poison_overdue(p, node);
}

void poison_closed(Poison *p, NodeId node, int status) {
    if (p->d->own->job->trouble.kind == TROUBLE_NONE) condemn_state(p, node, status);
}
