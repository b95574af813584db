#include "runtime/dispatch/far.h"
#include "runtime/dispatch/far_breaker.h"
#include "runtime/dispatch/state.h"
#include "runtime/host.h"
#include "runtime/report.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- queues ---------------------------------------------------------------------------------

void flow_queue_push(FlowQueue *queue, Flow *flow) {
    flow->next = nullptr;
    if (queue->last) queue->last->next = flow;
    else queue->first = flow;
    queue->last = flow;
    queue->count++;
}

Flow *flow_queue_pop(FlowQueue *queue) {
    Flow *flow = queue->first;
    if (!flow) return nullptr;
    queue->first = flow->next;
    queue->count--;
    if (!queue->first) queue->last = nullptr;
    return flow;
}

void flow_queue_remove(FlowQueue *queue, Flow *flow) {
    Flow *before = nullptr, *at = queue->first;
    while (at && at != flow) before = at, at = at->next;
    if (!at) return;
    if (before) before->next = at->next;
    else queue->first = at->next;
    if (queue->last == at) queue->last = before;
    queue->count--;
}

// ---- trouble --------------------------------------------------------------------------------

void dispatch_stop(Dispatch *d) {
    if (d->stop) return;
    d->stop = true;
    for (uint32_t s = 0; s < d->what->stage_count; s++) {
        if (d->runs[s].opened) units_break(&d->runs[s].units);
    }
    for (uint32_t i = 0; i < d->own->flow_max; i++) {
        Flow *flow = d->own->flows[i];
        if (flow && flow->task) __atomic_store_n(&flow->task->task.cancel, 1, __ATOMIC_RELAXED);
    }
    pthread_cond_broadcast(&d->changed);
}

void dispatch_trouble(Dispatch *d, TroubleKind kind, const Trouble *trouble) {
    Trouble *first = d->own->trouble;
    bool ends = d->stop || atomic_load(&d->own->job->stop.cancel);
    assert(kind != TROUBLE_NONE);
    if (trouble->kind == TROUBLE_NONE && !ends) trouble_set(first, kind, "%s", trouble_title(kind));
    else if (first->kind == TROUBLE_NONE && trouble != first) *first = *trouble;
    dispatch_stop(d);
}

void dispatch_no_memory(Dispatch *d) {
    trouble_no_memory(d->own->trouble, "for the stages");
    dispatch_stop(d);
}

// To say something takes a microsecond, and to wake a thread for it takes five: who hears workers
// says it, too, as soon as something else is to be said to them.
static void push(Dispatch *d, Flow *flow) {
    bool quick = flow_is_far(flow) && far_is_quick(d, flow);
    flow_queue_push(quick ? &d->own->quick : &d->own->queue, flow);
}

// ---- what the schedule wants done -----------------------------------------------------------

static Flow *flow_new(Dispatch *d, const Action *action) {
    Flow *flow = d->own->unused;
    if (flow) d->own->unused = flow->next;
    else flow = malloc(sizeof *flow);
    uint32_t max = d->own->flow_max ? d->own->flow_max : 64;
    while (action->task.i >= max) max *= 2;
    if (flow && max > d->own->flow_max) {
        Flow **flows = realloc(d->own->flows, max * sizeof(Flow *));
        if (flows) {
            memset(flows + d->own->flow_max, 0, (max - d->own->flow_max) * sizeof(Flow *));
            d->own->flows = flows;
            d->own->flow_max = max;
        }
    }
    if (!flow || action->task.i >= d->own->flow_max) {
        free(flow);
        return nullptr;
    }
    *flow = (Flow){.id = action->task, .lane = LANE_OF_THREAD, .number = action->unit,
                    .waits = true, .place = action->node};
    return d->own->flows[action->task.i] = flow;
}

static void launch(Dispatch *d, const Action *action) {
    uint32_t stages = d->what->stage_count;
    Flow *flow = flow_new(d, action);
    if (!flow) {
        dispatch_no_memory(d);
        return;
    }
    if (!action->of_unit) flow_input(flow, action);
    bool new = !flow->input || flow->other;
    flow->root = new ? action->stage.i : flow->input->root;
    flow->root_unit = new ? flow->number : flow->input->root_unit;
    flow->node = new ? NODE_ROOT : flow_node_of(d, flow->input, action->stage.i, 0);
    if (action->stage.i >= stages) {
        flow->sink = action->stage.i - stages;
        tell_launched(&d->observers, flow);
        flow_queue_push(&d->own->sinks[flow->sink], flow);
        return;
    }
    flow->run = &d->runs[action->stage.i];
    flow->begins = true;
    flow->attempt = attempt_of(d, action, action->stage.i, flow->other ? nullptr : flow->input);
    if (attempt_begins(flow) && !tell_launched(&d->observers, flow)) {
        dispatch_no_memory(d);
        return;
    }
    flow_launch(d, flow);
    push(d, flow);
}

static void resume(Dispatch *d, const Action *action) {
    push(d, d->own->flows[action->task.i]);
}

static void cancel(Dispatch *d, const Action *action) {
    Flow *flow = d->own->flows[action->task.i];
    flow->canceled = true;
    if (flow->task) __atomic_store_n(&flow->task->task.cancel, 1, __ATOMIC_RELAXED);
    if (flow->run && flow_is_far(flow)) far_cancel(d, flow);
}

// Is a thread at the breaker, or may one be: does a stage still fill it, for others that go on?
static bool is_in_use(const Dispatch *d, BreakerId id) {
    const CorePlan *plan = &d->plan->plan;
    if (d->own->shrinking || (d->own->finishes && d->own->due[0].i == id.i)) return true;
    if (tell_uses_breaker(&d->observers, d->plan->breakers[id.i])) return true;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        bool open = s < d->what->stage_count && d->runs[s].running > 0;
        bool over = schedule_is_over(d->schedule, (StageId){(uint16_t)s});
        for (uint8_t f = 0; f < stage->fill_count && (open || !over); f++)
            if (stage->fills[f].i == id.i) return true;
        bool uses = stage->kind == STAGE_READER && stage->reads.i == id.i;
        for (uint8_t n = 0; n < stage->need_count; n++) uses |= stage->needs[n].i == id.i;
        if (uses && tell_uses_stage(&d->observers, s)) return true;
    }
    return false;
}

// Lets go of breakers that nobody needs and nobody is at.
static void release_breakers(Dispatch *d) {
    for (uint16_t i = 0; i < d->plan->plan.breaker_count && d->own->closing_count; i++) {
        uint32_t breaker = d->plan->breakers[i];
        if (!bits_have(&d->own->closing, i) || is_in_use(d, (BreakerId){i})) continue;
        bits_put(&d->own->closing, i, false);
        d->own->closing_count--;
        tell_closing_breaker(&d->observers, breaker);
        filters_close(d->own->job, breaker);  // Where it was never finished.
        far_table_close(d, breaker);
        if (d->own->breakers[breaker]) sb_breaker_close(d->own->breakers[breaker]);
        d->own->breakers[breaker] = nullptr;
        account_close(account_of(d, (BreakerId){i}));
    }
}

// Pieces of work that a thread could take.
static uint32_t ready_count(const Dispatch *d) {
    uint32_t count = d->own->queue.count + d->own->spool_count + d->own->timer_new;
    count += d->own->hears ? 0 : d->own->quick.count;
    count += tell_pending(&d->observers);
    count += d->own->due_count > 0 && !d->own->crew_busy;
    count += d->own->shrink_count && !d->own->shrinking;
    for (uint32_t s = 0; s < d->what->sink_count; s++)
        count += d->own->sinks[s].first && !d->own->taking[s];
    return count;
}

// Wakes a thread for each piece of work but those that the caller takes. To be woken costs more
// than a small task: who is not needed is left alone.
static void call_threads(Dispatch *d, uint32_t takes) {
    uint32_t ready = ready_count(d);
    for (; ready > d->own->called + takes && d->own->waiting > d->own->called; d->own->called++)
        pthread_cond_signal(&d->changed);
}

void dispatch_queue(Dispatch *d, Flow *flow) {
    push(d, flow);
    call_threads(d, 0);
}

void dispatch_hears(Dispatch *d) { d->own->hears = true; }

void dispatch_heard(Dispatch *d) {
    for (Flow *flow; !d->stop && !dispatch_is_paused(d) &&
                     (flow = flow_queue_pop(&d->own->quick));) {
        if (far_is_quick(d, flow)) flow_work(d, flow, THREAD_OF_LINKS);
        else flow_queue_push(&d->own->queue, flow);
    }
    d->own->hears = false;
    if (!d->stop) call_threads(d, 0);
}

static void rows_differ(Dispatch *d, const Action *action) {
    SbStr label = d->what->stages[action->stage.i].label;
    trouble_set(d->own->trouble, TROUBLE_ROWS_DIFFER,
                "'%.*s' made other rows when its work was done again", (int)label.len, label.ptr);
    dispatch_stop(d);
}

static void do_action(Dispatch *d, const Action *action) {
    switch (action->kind) {
    case ACTION_LAUNCH:
    case ACTION_PIECE: launch(d, action); break;
    case ACTION_ADD: flow_add(d, action); break;
    case ACTION_UNEVEN: zip_uneven(d, action); break;
    case ACTION_RESUME: resume(d, action); break;
    case ACTION_GO_ON: d->own->flows[action->task.i]->goes_on = true; break;
    case ACTION_PAUSE: d->own->flows[action->task.i]->waits = true; break;
    case ACTION_CANCEL: cancel(d, action); break;
    case ACTION_DROP: flow_end(d, d->own->flows[action->task.i]); break;
    case ACTION_FREE: live_free(d, (LivePartition *)(uintptr_t)action->data); break;
    case ACTION_FINISH:
        d->own->due[d->own->due_count++] = action->breaker;
        bits_add(&d->own->full, action->breaker.i);
        break;
    case ACTION_HOLD: d->own->given = !action->denied; break;
    case ACTION_SHRINK: account_shrink(d, action->breaker); break;
    case ACTION_NODE_IDLE: workers_idle(d->own->workers, action->node); break;
    case ACTION_CLOSE:
        bits_add(&d->own->closing, action->breaker.i);
        bits_add(&d->own->unused_breakers, action->breaker.i);
        d->own->closing_count++;
        break;
    case ACTION_TIMER: d->own->timer = action->at, d->own->timer_new = true; break;
    case ACTION_END:
        d->own->ended = true;
        pthread_cond_broadcast(&d->changed);
        break;
    case ACTION_SPILL: spool_spill(d, action); break;
    case ACTION_FLUSH: far_flush(d, action); break;
    case ACTION_DIFFERS: rows_differ(d, action); break;
    case ACTION_BROKEN:
        trouble_set(d->own->trouble, TROUBLE_FAULT,
                    "the schedule is broken (%s): report this",
                    action->text ? action->text : "an action that no plan needs");
        dispatch_stop(d);
        break;
    }
}

// A stage that is over holds no memory any more.
static void close_stages(Dispatch *d) {
    const StageSet *all = schedule_over(d->schedule);
    uint16_t words = bits_words(d->what->stage_count);
    if (bits_within(all, &d->own->closed, words)) return;
    for (uint32_t s = 0; s < d->what->stage_count; s++) {
        StageRun *run = &d->runs[s];
        bool over = bits_have(all, s) && !bits_have(&d->own->closed, s);
        if (!over || run->running > 0 || run->state != RUN_OPEN) continue;
        if (tell_uses_stage(&d->observers, s) || again_uses(d, s)) continue;
        bits_add(&d->own->closed, s);
        tell_closing_stage(&d->observers, s);
        stage_close(run);
        far_close_stage(d, s);
    }
}

// What stands after the record that ends the job is not wanted. False: all of that is told.
static bool add_bound(Dispatch *d) {
    uint32_t root;
    int64_t unit;
    if (d->stop || !verdict_ends(&d->verdict) ||
        !verdict_bound(&d->verdict, schedule_over(d->schedule), &root, &unit))
        return false;
    d->own->events[d->own->event_count++] = (Event){.kind = EVENT_BOUND,
                                          .stage = {(uint16_t)root},
                                          .unit = (uint32_t)unit};
    return true;
}

bool dispatch_open_breaker(Dispatch *d, uint32_t breaker) {
    return stage_open_breaker(d->own->job, breaker);
}

void dispatch_clock(Dispatch *d) { d->now = log_clock_ns(); }

// The events that are there, and what follows from them.
static void tell_all(Dispatch *d) {
    d->own->telling = true;
    dispatch_clock(d);
    do {
        for (uint32_t i = 0; i < d->own->event_count && !d->stop; i++) {
            Event *next = &d->own->events[i];
            next->now = d->now;
            Actions actions = schedule_step(d->schedule, next);
            for (uint32_t a = 0; a < actions.count; a++) do_action(d, &actions.items[a]);
        }
        d->own->event_count = 0;
    } while (add_bound(d));
    d->own->telling = false;
}

// Has the thread that tells this left its slot, so that it looks for work next?
static bool looks_next(const Dispatch *d, const Event *event) {
    bool ends = event->kind == EVENT_DONE || event->kind == EVENT_FINISHED;
    if (event->kind != EVENT_OUTPUT && event->kind != EVENT_NEED) return ends;
    const Flow *flow = d->own->flows[event->task.i];  // None, once it is dropped.
    return event->last || !flow || !flow->goes_on;
}

void dispatch_tell(Dispatch *d, Event event) {
    if (d->stop || d->own->event_count == d->own->event_max) return;
    d->own->events[d->own->event_count++] = event;
    if (d->own->telling) return;
    tell_all(d);
    bool looks = !d->stop && !d->own->hears && looks_next(d, &event);
    dispatch_settle(d);
    if (!d->stop) call_threads(d, looks);
}

void dispatch_tell_bounds(Dispatch *d) {
    if (d->own->telling || !add_bound(d)) return;
    tell_all(d);
    dispatch_settle(d);
    if (!d->stop) call_threads(d, 0);
}

void dispatch_settle(Dispatch *d) {
    if (!d->stop) tell_settle(&d->observers);
    if (d->stop) return;
    close_stages(d);
    release_breakers(d);
    if (d->own->limits.whole > 0) manage_settle(d);
    tell_show(&d->observers);
}

// ---- breakers -------------------------------------------------------------------------------

// A stage that fills it.
static uint32_t stage_of_breaker(const Dispatch *d, BreakerId id) {
    const CorePlan *plan = &d->plan->plan;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        for (uint8_t f = 0; f < plan->stages[s].fill_count; f++)
            if (plan->stages[s].fills[f].i == id.i) return s;
    }
    return 0;
}

static void finish(Dispatch *d, uint32_t thread) {
    Job *job = d->own->job;
    BreakerId id = d->own->due[0];
    uint32_t breaker = d->plan->breakers[id.i];
    d->own->finishes = d->own->crew_busy = true;
    d->own->crew.leader = thread;
    tell_begin(&d->observers, thread, WORK_FINISH, stage_of_breaker(d, id));
    failpoint("finish");
    dispatch_look(d);  // Those who need it are told that nothing more begins, before it is there.
    // Nobody fills a breaker of whose rows none came.
    bool unused = bits_have(&d->own->unused_breakers, id.i);
    bool skip = unused || d->draining || !stage_open_breaker(job, breaker);
    d->own->gave_up |= d->draining && !unused;
    int32_t status = SB_OK;
    bool good = true;
    pthread_mutex_unlock(&d->lock);
    if (!skip) status = sb_breaker_finish(job->breakers.states[breaker], &d->own->crew.parallel);
    if (!skip && status == SB_OK) good = tell_finished(&d->observers, breaker);
    bool far = skip || status != SB_OK || far_table_finished(d, breaker);
    pthread_mutex_lock(&d->lock);
    dispatch_clock(d);
    tell_done(&d->observers, thread);
    d->own->finishes = d->own->crew_busy = false;
    memmove(d->own->due, d->own->due + 1, --d->own->due_count * sizeof *d->own->due);
    if (!skip && !stage_breaker_finished(job, breaker, status)) dispatch_stop(d);
    if (!good) dispatch_stop(d);
    if (job->breakers.states[breaker]) sb_breaker_let_far_go(job->breakers.states[breaker]);
    account_trim(account_of(d, id));
    bool read = !skip && !d->draining;
    dispatch_tell(d, (Event){.kind = EVENT_FINISHED, .breaker = id,
                             .home = far_bring_home(d, id, far),
                             .count = read ? UNITS_LATER : 0, .bytes = job->ask.options.partition});
}

bool dispatch_idles(const Dispatch *d) { return d->own->waiting > d->own->called; }

bool dispatch_moves(const Dispatch *d) {
    const DispatchOwn *own = d->own;
    bool any = own->busy > 1 || own->queue.count > 0 || own->quick.count > 0 ||
               own->spool_count > 0 || own->timer > 0 || own->far_count > 0 ||
               tell_pending(&d->observers) > 0;
    for (uint32_t s = 0; s < own->job->ask.what->sink_count; s++)
        any |= own->sinks[s].first != nullptr;
    return any;
}

// ---- threads --------------------------------------------------------------------------------

static void take_flow(Dispatch *d, Flow *flow, uint32_t thread) {
    // To find that there are no rows is no task.
    bool reads = flow->begins && (flow->empty || flow_reads(flow));
    tell_begin(&d->observers, thread, reads ? WORK_READ : WORK_TASK, flow->run->index);
    flow_work(d, flow, thread);
    tell_done(&d->observers, thread);
}

// Of a job that is paused: what workers have made is taken over, so that they can be lost.
static bool take_answers(Dispatch *d, uint32_t thread) {
    FlowQueue *const queues[] = {&d->own->quick, &d->own->queue};
    for (size_t q = 0; q < sizeof queues / sizeof *queues; q++) {
        Flow *flow = queues[q]->first;
        while (flow && !flow->answer) flow = flow->next;
        if (!flow) continue;
        flow_queue_remove(queues[q], flow);
        take_flow(d, flow, thread);
        return true;
    }
    return false;
}

// Does one thing. False: there is nothing to do.
static bool work(Dispatch *d, uint32_t thread) {
    if (d->stop) return false;
    const Observers *observers = &d->observers;
    if (dispatch_is_paused(d)) return take_answers(d, thread);
    Flow *quick = flow_queue_pop(&d->own->quick);
    if (quick) {
        take_flow(d, quick, thread);
        return true;
    }
    if (spool_work(d, thread) || sink_work(d, thread) || tell_work_first(observers, thread))
        return true;
    if (crew_has_work(&d->own->crew)) {
        call_threads(d, 0);
        uint32_t stage = stage_of_breaker(d, d->own->due[0]);
        tell_begin(observers, thread, WORK_FINISH, stage);
        crew_help(&d->own->crew, thread);
        dispatch_clock(d);
        tell_done(observers, thread);
        return true;
    }
    if (d->own->shrink_count && !d->own->shrinking) {
        call_threads(d, 1);
        shrink_work(d);
        return true;
    }
    if (d->own->due_count > 0 && !d->own->crew_busy && !d->own->shrinking) {
        bool may = tell_may_finish(observers, d->plan->breakers[d->own->due[0].i]);
        if (may) {
            call_threads(d, 1);
            finish(d, thread);
        }
        if (may || tell_work_first(observers, thread)) return true;
    }
    if (tell_work_last(observers, thread)) return true;
    Flow *flow = flow_queue_pop(&d->own->queue);
    if (flow) take_flow(d, flow, thread);
    return flow;
}

// When a thread has to look, though nothing happens. INT64_MAX: never.
static int64_t wake_time(const Dispatch *d) {
    int64_t timer = d->own->timer ? d->own->timer : INT64_MAX;
    if (d->stop || dispatch_is_paused(d)) return timer;
    int64_t wake = tell_wake(&d->observers);
    return wake < timer ? wake : timer;
}

// Until there is work, or the time that the schedule or an observer asked for.
static void wait(Dispatch *d) {
    enum : int64_t { SECOND = 1000000000 };
    if (d->own->timer && d->own->timer <= log_clock_ns()) {
        d->own->timer = 0;
        dispatch_tell(d, (Event){.kind = EVENT_TICK});
        return;
    }
    d->own->waiting++;
    int64_t time = wake_time(d);
    if (time < INT64_MAX) {
        struct timespec until = {.tv_sec = time / SECOND, .tv_nsec = time % SECOND};
        d->own->timer_new = false;
        pthread_cond_timedwait(&d->changed, &d->lock, &until);
    } else {
        pthread_cond_wait(&d->changed, &d->lock);
    }
    d->own->waiting--;
    d->own->called -= d->own->called > 0;
    dispatch_clock(d);
}

static bool is_over(const Dispatch *d) {
    return d->stop ? d->own->busy == 0 : d->own->ended && tell_pending(&d->observers) == 0;
}

void dispatch_thread(void *arg, uint32_t index, uint32_t thread) {
    (void)index;
    Dispatch *d = arg;
    tell_thread(&d->observers, thread, true);
    pthread_mutex_lock(&d->lock);
    for (;;) {
        dispatch_look(d);
        if (is_over(d)) break;
        d->own->busy++;
        bool worked = work(d, thread);
        d->own->busy--;
        if (!worked && !is_over(d)) wait(d);
    }
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    tell_thread(&d->observers, thread, false);
}

// ---- signals --------------------------------------------------------------------------------

// Has the stage, a root that is not over, taken all of its input? A zip takes none of its own. Who
// takes a unit just now may find that there is none.
static bool took_all(const Dispatch *d, uint32_t root) {
    const StageRun *run = &d->runs[root];
    bool zip = d->plan->plan.stages[root].kind == STAGE_ZIP;
    return zip || (run->taking == 0 && stage_is_open(run) && units_over(&run->units));
}

// No unit of the root begins any more. A bound also ends the zips that its rows come into, so a
// root without anything left to take has none: the schedule is told how many units there were. For
// a zip both sides say it.
static void end_root(Dispatch *d, uint32_t root) {
    StageId stage = {(uint16_t)root};
    uint32_t launched = (uint32_t)d->runs[root].launched;
    if (bits_have(&d->own->cut_short, root))
        dispatch_tell(d, (Event){.kind = EVENT_BOUND, .stage = stage, .unit = launched});
    else if (d->plan->plan.stages[root].kind != STAGE_ZIP)
        dispatch_tell(d, (Event){.kind = EVENT_UNITS, .stage = stage, .count = launched});
}

// Nothing more is taken in: what is on its way goes on to the outputs and into breakers.
static void drain(Dispatch *d) {
    d->draining = true;
    for (uint32_t s = 0; s < d->what->stage_count; s++) {
        bool open = stage_is_root(&d->plan->plan.stages[s]) &&
                    !schedule_is_over(d->schedule, (StageId){(uint16_t)s});
        if (open && !took_all(d, s)) bits_add(&d->own->cut_short, s);
    }
    // Else a root that is over might end what fills breakers that only its rows need.
    dispatch_tell(d, (Event){.kind = EVENT_DRAIN});
    // Consumers first: the end of a root that probes a table lets the root of unmatched rows begin.
    for (uint32_t s = d->what->stage_count; s-- > 0;) {
        bool over = schedule_is_over(d->schedule, (StageId){(uint16_t)s});
        if (stage_is_root(&d->plan->plan.stages[s]) && !over) end_root(d, s);
    }
}

void dispatch_look(Dispatch *d) {
    Job *job = d->own->job;
    if (job->trouble.kind == TROUBLE_NONE && atomic_load(&job->stop.cancel))
        trouble_set(&job->trouble, TROUBLE_INTERRUPTED, "interrupted");
    if (job->trouble.kind != TROUBLE_NONE) dispatch_stop(d);
    if (!d->stop && atomic_load(&job->stop.drain) && !d->draining) drain(d);
}

void dispatch_wake(Dispatch *d) {
    pthread_mutex_lock(&d->lock);
    if (!d->own->over) dispatch_look(d);
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
}
