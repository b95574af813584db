#include "runtime/policy.h"

#include "runtime/verdict.h"

#include <stdlib.h>

// ---- the shape of the job -------------------------------------------------------------------

static bool is_edge(const Engine *e, uint32_t breaker) {
    return e->job->what->breakers[breaker].kind == SB_BREAK_EDGE;
}

static bool feeds(const SbStage *stage, uint32_t terminal) {
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        if (stage->terminals[t] == terminal) return true;
    }
    return false;
}

static bool needs(const SbStage *stage, uint32_t breaker) {
    for (uint32_t n = 0; n < stage->need_count; n++) {
        if (stage->needs[n] == breaker) return true;
    }
    return false;
}

static bool reads_breaker(const SbStage *stage) {
    return stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED;
}

// The stages that feed a terminal, by rank: the first behind `before`; nullptr: no more.
static StageRun *next_feeder(Engine *e, uint32_t terminal, const StageRun *before) {
    StageRun *next = nullptr;
    for (uint32_t s = 0; s < e->count; s++) {
        StageRun *run = &e->runs[s];
        if (!feeds(run->stage, terminal)) continue;
        if (before && (run->stage->rank < before->stage->rank ||
                       (run->stage->rank == before->stage->rank && s <= before->index))) {
            continue;
        }
        if (!next || run->stage->rank < next->stage->rank) next = run;
    }
    return next;
}

// ---- turns ----------------------------------------------------------------------------------

bool policy_turns(Engine *e) {
    uint32_t *turns = calloc(e->count + 1, sizeof *turns);
    if (!turns) return false;
    verdict_turns(e->job->what, turns);
    for (uint32_t s = 0; s < e->count; s++) e->runs[s].turn = turns[s];
    free(turns);
    return true;
}

// ---- admission ------------------------------------------------------------------------------

// Does a stage that is not done yet want what the breaker keeps?
static bool breaker_wanted(Engine *e, uint32_t breaker) {
    for (uint32_t s = 0; s < e->count; s++) {
        const StageRun *run = &e->runs[s];
        bool uses = needs(run->stage, breaker) ||
                    (reads_breaker(run->stage) && run->stage->input_index == breaker);
        if (uses && policy_wanted(e, run)) return true;
    }
    return false;
}

static bool edge_wanted(Engine *e, const StageRun *run, uint32_t t) {
    const Edge *edge = &e->job->edges[run->outputs[t].edge];
    if (stage_wants(run, t) == 0) return false;
    for (uint32_t r = 0; r < edge->reader_count; r++) {
        if (policy_wanted(e, &e->runs[edge->readers[r].stage])) return true;
    }
    return false;
}

bool policy_wanted(Engine *e, const StageRun *run) {
    if (run->state >= RUN_OUT || run->stopped || run->dropped) return false;
    if (run->alone) return true;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        uint32_t terminal = run->stage->terminals[t];
        if (run->outputs[t].edge != SIDE_NONE) {
            if (edge_wanted(e, run, t)) return true;
        } else if (terminal & SB_TERMINAL_SINK) {
            if (run->sink_left[t] > 0) return true;
        } else if (breaker_wanted(e, terminal)) {
            return true;
        }
    }
    return false;
}

static bool starves(Engine *e, const StageRun *run);

// Does the breaker wait for rows of a stage that failed?
static bool breaker_starves(Engine *e, uint32_t breaker) {
    if (e->job->finished[breaker]) return false;
    for (StageRun *run = nullptr; (run = next_feeder(e, breaker, run));) {
        if (run->broke || (run->state < RUN_OUT && starves(e, run))) return true;
    }
    return false;
}

static bool edge_starves(Engine *e, const EdgeEnd *input) {
    Edge *edge = &e->job->edges[input->edge];
    if (edge_ready(edge, input->at) > 0 || edge_over(edge, input->at)) return false;
    const StageRun *producer = &e->runs[edge->lanes[edge->readers[input->at].lane].stage];
    return producer->broke || starves(e, producer);
}

// Does the stage wait for rows that will never come, because one that makes them failed?
static bool starves(Engine *e, const StageRun *run) {
    const SbStage *stage = run->stage;
    if (run->launched > run->offered) return false;
    for (uint32_t n = 0; n < stage->need_count; n++) {
        if (!is_edge(e, stage->needs[n]) && breaker_starves(e, stage->needs[n])) return true;
    }
    bool edge = run->inputs[0].edge != SIDE_NONE;
    if (reads_breaker(stage) && !edge) return breaker_starves(e, stage->input_index);
    for (int side = 0; side < 2; side++) {
        const EdgeEnd *input = &run->inputs[side];
        if (input->edge != SIDE_NONE && edge_starves(e, input)) return true;
    }
    return false;
}

static bool pull(Engine *e, StageRun *run);

static bool pull_feeders(Engine *e, uint32_t terminal) {
    bool any = false;
    for (StageRun *run = nullptr; (run = next_feeder(e, terminal, run));) any |= pull(e, run);
    return any;
}

// The producer whose lane comes next.
static bool pull_lane(Engine *e, uint32_t edge) {
    for (StageRun *run = nullptr; (run = next_feeder(e, edge, run));) {
        if (run->state < RUN_OUT) return pull(e, run);
    }
    return false;
}

// Makes the stage active, or what it waits for. True: something is active that was not and can
// go on.
static bool pull(Engine *e, StageRun *run) {
    const SbStage *stage = run->stage;
    if (run->active || !policy_wanted(e, run)) return false;
    for (uint32_t n = 0; n < stage->need_count; n++) {
        uint32_t breaker = stage->needs[n];
        if (!is_edge(e, breaker) && !e->job->finished[breaker]) return pull_feeders(e, breaker);
    }
    bool edge = run->inputs[0].edge != SIDE_NONE;
    if (reads_breaker(stage) && !edge && !e->job->finished[stage->input_index])
        return pull_feeders(e, stage->input_index);
    bool waits = false;
    for (uint32_t s = 0; stage->input == SB_INPUT_UNMATCHED && s < e->count; s++) {
        StageRun *probing = &e->runs[s];
        if (!needs(probing->stage, stage->input_index) || !policy_wanted(e, probing)) continue;
        pull(e, probing);
        waits = true;
    }
    if (waits) return true;
    run->active = true;
    for (int side = 0; side < 2; side++) {
        if (run->inputs[side].edge != SIDE_NONE) pull_lane(e, run->inputs[side].edge);
    }
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        if (run->outputs[t].edge == SIDE_NONE || run->alone) continue;
        const Edge *out = &e->job->edges[run->outputs[t].edge];
        for (uint32_t r = 0; r < out->reader_count; r++) pull(e, &e->runs[out->readers[r].stage]);
    }
    return !starves(e, run);
}

// Are the stage's records before those of the one that passed the limit?
static bool comes_earlier(const StageRun *run, const StageRun *failed) {
    const SbStage *stage = run->stage;
    bool source = !reads_breaker(stage);
    return source && stage->need_count == 0 &&
           (reads_breaker(failed->stage) || stage->input_index < failed->stage->input_index);
}

// Of the stages with a fault that is not decided yet the one with the first turn; nullptr: none.
static const StageRun *first_broken(const Engine *e) {
    const StageRun *first = nullptr;
    for (uint32_t s = 0; s < e->count; s++) {
        const StageRun *run = &e->runs[s];
        if (run->broke && (!first || run->turn < first->turn)) first = run;
    }
    return first;
}

// The last turn that may begin: sinks that ask later could only find later faults. But where
// records passed the limit, those of sources that come earlier are told, all of them.
static uint32_t last_turn(const Engine *e) {
    const StageRun *broken = first_broken(e);
    for (uint32_t s = 0; broken && broken->over && s < e->count; s++) {
        const StageRun *run = &e->runs[s];
        bool more = run->turn < broken->turn && run->state < RUN_OUT && !run->stopped;
        if (more && comes_earlier(run, broken)) return UINT32_MAX;
    }
    return broken ? broken->turn : UINT32_MAX;
}

bool policy_broken(const Engine *e) { return first_broken(e); }

void policy_admit(Engine *e) {
    for (uint32_t s = 0; s < e->count; s++) e->runs[s].active = false;
    for (uint32_t s = 0; s < e->count; s++) {
        if (e->runs[s].alone && pull(e, &e->runs[s])) return;
    }
    uint32_t last = last_turn(e);
    for (uint32_t sink = 0; !e->failed && sink < e->job->what->sink_count; sink++) {
        for (StageRun *run = nullptr; (run = next_feeder(e, SB_TERMINAL_SINK | sink, run));) {
            if (pull(e, run) || run->turn > last) return;
        }
    }
}

// ---- faults ---------------------------------------------------------------------------------

static StageRun *first_faulted(const Engine *e) {
    StageRun *first = nullptr;
    for (uint32_t s = 0; s < e->count; s++) {
        StageRun *run = &e->runs[s];
        if (run->faulted && (!first || run->turn < first->turn)) first = run;
    }
    return first;
}

// Can a stage with an earlier turn still find a fault?
static bool comes_another(const Engine *e, const StageRun *first) {
    for (uint32_t s = 0; s < e->count; s++) {
        const StageRun *run = &e->runs[s];
        bool done = run->state == RUN_ENDED || (run->state == RUN_OUT && !run->broke);
        if (run->turn < first->turn && !done) return true;
    }
    return false;
}

bool policy_judge(Engine *e, bool at_rest) {
    StageRun *first = first_faulted(e);
    if (!first || e->failed || (!at_rest && comes_another(e, first))) return false;
    e->failed = first;
    for (uint32_t s = 0; s < e->count; s++) {
        StageRun *run = &e->runs[s];
        bool more = run->state < RUN_OUT && !run->stopped;
        bool counts = first->over && comes_earlier(run, first);
        if (run->turn <= first->turn) {
            // Its records are told, also of rows that those who are dropped would have asked for;
            // else nothing asked for what it has not made yet.
            if (counts && run != first && (more || run->state == RUN_OUT)) run->alone = true;
            else run->stopped |= more;
            continue;
        }
        if (counts && more) run->alone = true;
        // What has ended by chance reports nothing, as if it had not begun.
        else if (!counts || run->state != RUN_ENDED) run->dropped = run->stopped = true;
    }
    e->changed_plan = true;
    return true;
}

// ---- what next ------------------------------------------------------------------------------

static bool edge_full(const Engine *e, uint32_t edge) {
    return e->job->edges[edge].bytes > e->edge_bytes && !e->job->edges[edge].keeps;
}

// Does an edge hold too much for the stage to go on?
static bool pauses(const Engine *e, const StageRun *run) {
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        if (run->outputs[t].edge != SIDE_NONE && !run->alone && edge_full(e, run->outputs[t].edge))
            return true;
    }
    return false;
}

// Is there something to take, or the end to be noticed?
static bool has_input(const Engine *e, const StageRun *run) {
    bool ready = true, over = false;
    for (int side = 0; side < 2; side++) {
        const EdgeEnd *input = &run->inputs[side];
        if (input->edge == SIDE_NONE) continue;
        Edge *edge = &e->job->edges[input->edge];
        bool some = edge_ready(edge, input->at) > 0;
        over |= !some && edge_over(edge, input->at);
        ready &= some;
    }
    if (ready || !over) return ready;
    // A zip has come to the end of one side: it waits for what the other one has.
    for (int side = 0; side < 2; side++) {
        const EdgeEnd *input = &run->inputs[side];
        if (input->edge == SIDE_NONE) continue;
        Edge *edge = &e->job->edges[input->edge];
        if (edge_ready(edge, input->at) == 0 && !edge_over(edge, input->at)) return false;
    }
    return true;
}

// May the stage make more than its lowest unit? A running task counts as a partition; one that
// reads text holds that of its unit, and maybe as much again for the row at its end, from when the
// unit is taken until it is offered.
static bool has_room(const Engine *e, const StageRun *run) {
    int64_t partition = run->setup.partition_bytes, bytes = run->bytes + run->running * partition;
    int64_t text = run->buffer_max > 2 * partition ? run->buffer_max : 2 * partition;
    if (run->stage->input == SB_INPUT_TEXT)
        bytes += (int64_t)(run->launched - run->offered) * text;
    return bytes < e->stage_bytes;
}

// Does the stage fill groups? The first row of a group on a thread is the first that the thread
// sees: so each thread goes through its units one after the other.
static bool groups(const Engine *e, const StageRun *run) {
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        uint32_t terminal = run->stage->terminals[t];
        if (terminal < e->job->what->breaker_count &&
            e->job->what->breakers[terminal].kind == SB_BREAK_GROUP)
            return true;
    }
    return false;
}

static bool may_resume(const Engine *e, const StageRun *run, const Flight *flight,
                       uint32_t thread) {
    return thread == THREAD_ANY || flight->thread == thread || !groups(e, run);
}

static bool may_take(const Engine *e, const StageRun *run, uint32_t thread) {
    if (thread == THREAD_ANY || !groups(e, run)) return true;
    for (uint64_t unit = run->offered; unit < run->launched; unit++) {
        const Flight *flight = &run->flights[unit % run->window];
        if (flight->state == FLIGHT_PARKED && flight->thread == thread) return false;
    }
    return true;
}

// A job that is to end takes nothing in: what is on its way goes on to the outputs.
static bool drains(const Engine *e) { return atomic_load(&e->job->drain); }

// What the stage's tasks could do if its edges had room.
static Action task_action(const Engine *e, StageRun *run, uint32_t thread) {
    Action none = {ACTION_WAIT, nullptr, 0};
    if (run->state != RUN_OPEN || run->stopped || !run->active) return none;
    if (!slots_fit(&e->job->slots, run->stage, run->running)) return none;
    for (uint64_t unit = run->offered; unit < run->launched; unit++) {
        uint32_t slot = (uint32_t)(unit % run->window);
        const Flight *flight = &run->flights[slot];
        bool lowest = unit == run->offered && !flight->made.first;
        if (flight->state != FLIGHT_PARKED || !may_resume(e, run, flight, thread)) continue;
        if (lowest || (has_room(e, run) && !flight->needs))
            return (Action){ACTION_RESUME, run, slot};
    }
    bool room = run->launched == run->offered || has_room(e, run);
    bool free = run->flights[run->launched % run->window].state == FLIGHT_FREE;
    if (run->exhausted || run->taking || run->later || !room || !free) return none;
    if (drains(e) && run->inputs[0].edge == SIDE_NONE) return none;
    if (!has_input(e, run)) return none;
    if (!may_take(e, run, thread)) return none;
    return (Action){ACTION_TAKE, run, 0};
}

// Is a task parked that waits for memory?
static bool needs_memory(const StageRun *run) {
    for (uint64_t unit = run->offered; unit < run->launched; unit++) {
        const Flight *flight = &run->flights[unit % run->window];
        if (flight->state == FLIGHT_PARKED && flight->needs) return true;
    }
    return false;
}

// The order is that in which task_action asks.
WatchState policy_state(const Engine *e, const StageRun *run) {
    if (run->state == RUN_ENDED) return WATCH_DONE;
    if (run->state < RUN_OPEN || run->window == 0) return WATCH_PENDING;
    if (run->running > 0 || run->taking || run->writing.first) return WATCH_BUSY;
    if (run->state == RUN_OUT) return run->out.first ? WATCH_NO_ANSWER : WATCH_DONE;
    if (run->stopped) return WATCH_DONE;
    if (!run->active) return WATCH_PENDING;
    if (pauses(e, run)) return WATCH_NO_ROOM;
    if (!slots_fit(&e->job->slots, run->stage, run->running)) return WATCH_NO_SLOT;
    if (run->later || needs_memory(run)) return WATCH_NO_MEMORY;
    bool idle = run->launched == run->offered;
    if (!idle && !has_room(e, run)) return WATCH_NO_MEMORY;
    if (run->exhausted && idle) return WATCH_DONE;
    if (run->flights[run->launched % run->window].state != FLIGHT_FREE) return WATCH_NO_ORDER;
    if (run->exhausted || drains(e) || !has_input(e, run)) return WATCH_NO_INPUT;
    return WATCH_NO_SLOT;  // No thread: all do something else.
}

static Action hand_over(const Engine *e) {
    if (e->write_at < e->writes.count) return (Action){ACTION_WRITE, nullptr, 0};
    for (uint32_t s = e->count; s-- > 0;) {
        StageRun *run = &e->runs[s];
        if (run->state != RUN_OPEN && run->state != RUN_OUT) continue;
        // What can be settled goes first: its rows and its bytes are held until then.
        bool settles = run->out.first && !run->dropped && stage_can_settle(run);
        if (settles && !run->settling) return (Action){ACTION_SETTLE, run, 0};
        if (settles) continue;
        if (run->state != RUN_OPEN || run->stopped || run->offering) continue;
        if (run->offered < run->launched && run->flights[run->offered % run->window].made.first)
            return (Action){ACTION_OFFER, run, 0};
    }
    return (Action){ACTION_WAIT, nullptr, 0};
}

Action policy_next(Engine *e, uint32_t thread) {
    if (e->stop) return (Action){e->busy ? ACTION_WAIT : ACTION_END, nullptr, 0};
    Action action = hand_over(e);
    if (action.kind != ACTION_WAIT) return action;
    if (crew_has_work(&e->crew)) return (Action){ACTION_HELP, nullptr, 0};
    bool finishes = e->finishing == SIDE_NONE && !drains(e);
    for (uint32_t b = 0; finishes && b < e->job->what->breaker_count; b++) {
        if (e->due[b]) return (Action){ACTION_FINISH, nullptr, b};
    }
    for (uint32_t s = e->count; s-- > 0;) {
        StageRun *run = &e->runs[s];
        if (run->state == RUN_WAITING && run->active) return (Action){ACTION_OPEN, run, 0};
        if (pauses(e, run)) continue;
        action = task_action(e, run, thread);
        if (action.kind != ACTION_WAIT) return action;
    }
    if (e->busy > 0) return action;
    for (uint32_t s = 0; s < e->count; s++) {
        const StageRun *run = &e->runs[s];
        if (run->state != RUN_WAITING && run->state != RUN_ENDED) return action;
    }
    return (Action){ACTION_END, nullptr, 0};
}

// Does the stage ask for rows before the turn `turn`: for itself, or for one that does? Who found a
// fault asks no more.
static bool asks_before(const Engine *e, const StageRun *run, uint32_t turn);

// Does such a stage wait for rows behind the fault of `run`?
static bool asked_before(const Engine *e, const StageRun *run, uint32_t turn) {
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        if (run->outputs[t].edge == SIDE_NONE) continue;
        const Edge *edge = &e->job->edges[run->outputs[t].edge];
        for (uint32_t r = 0; r < edge->reader_count; r++) {
            const EdgeReader *reader = &edge->readers[r];
            if (!reader->stopped && asks_before(e, &e->runs[reader->stage], turn)) return true;
        }
    }
    return false;
}

static bool asks_before(const Engine *e, const StageRun *run, uint32_t turn) {
    if (run->turn >= turn || run->broke) return false;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        if (run->outputs[t].edge == SIDE_NONE) return true;  // A sink, or a table.
    }
    return asked_before(e, run, turn);
}

// A fault among rows that nobody can judge any more, because what they wait for needs the stage
// itself, has not been asked for, or failed later: it counts as it is. Of several that is the one
// that stages which go on wait for.
static bool settle_fault(Engine *e) {
    const StageRun *faulted = first_faulted(e);
    uint32_t turn = faulted ? faulted->turn : UINT32_MAX;
    StageRun *first = nullptr;
    for (uint32_t s = 0; s < e->count; s++) {
        StageRun *run = &e->runs[s];
        bool waits = run->broke && !run->dropped && !run->alone && run->out.first;
        if (!waits || run->turn >= turn || !asked_before(e, run, turn)) continue;
        if (!first || run->turn < first->turn) first = run;
    }
    if (first) first->alone = true;
    return first;
}

// A unit that waits for memory: nobody gives any back.
static bool insist(Engine *e) {
    for (uint32_t s = 0; s < e->count; s++) {
        StageRun *run = &e->runs[s];
        if (!run->later) continue;
        run->later = false;
        return run->units.must = true;
    }
    return false;
}

bool policy_relax(Engine *e) {
    if (drains(e)) return !trouble_set(&e->job->trouble, TROUBLE_INTERRUPTED, "interrupted");
    if (insist(e)) return true;
    for (uint32_t s = 0; s < e->count; s++) {
        StageRun *run = &e->runs[s];
        if (task_action(e, run, THREAD_ANY).kind == ACTION_WAIT || !pauses(e, run)) continue;
        for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
            if (run->outputs[t].edge != SIDE_NONE && edge_full(e, run->outputs[t].edge))
                e->job->edges[run->outputs[t].edge].keeps = true;
        }
        return true;
    }
    return settle_fault(e) || policy_judge(e, true);
}
