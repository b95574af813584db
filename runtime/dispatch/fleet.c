// Fleet: how many workers a job has, and which of them leave.
//
//   drain, SIGTERM ─▶ EVENT_NODE_DRAIN ─▶ what runs there ends ─▶ NODE_IDLE ─▶ STOP ─▶ it ends
//
// What the worker has made stays: its arena is the coordinator's. So nothing is done again.
//
//   silent ─▶ EVENT_NODE_DRAIN ─▶ heard again ─▶ EVENT_NODE_UP
//
// A worker that is silent drains, too. It may come to be idle, and is told nothing.
#include "runtime/dispatch/lives.h"
#include "runtime/report.h"

// ---- leaving ------------------------------------------------------------------------------------

bool fleet_lost_one(Life *life) {
    bool lost = !life->stopped;
    life->leaves = life->stopped = false;
    return lost;
}

static void tell(Workers *w, NodeId node, EventKind kind) {
    dispatch_tell(w->d, (Event){.kind = kind, .node = node});
}

void fleet_mind_silence(Workers *w, NodeId node) {
    Life *life = &w->lives[node.i];
    bool silent = w->members[node.i].state == WORKER_SUSPECT;
    if (silent == life->quiet || !life->up) return;
    life->quiet = silent;
    if (silent) {
        tell(w, node, EVENT_NODE_DRAIN);
        return;
    }
    // A drain that somebody asked for begins anew: it may have ended while nobody listened.
    tell(w, node, EVENT_NODE_UP);
    if (life->leaves) tell(w, node, EVENT_NODE_DRAIN);
}

// Nothing more begins there. A process that has not said a word yet has nothing to end.
static void leave(Workers *w, NodeId node) {
    Life *life = &w->lives[node.i];
    if (life->leaves || w->closing) return;
    life->leaves = true;
    if (membership_is_live(&w->membership, node)) {
        // Before it is up it has no work, and is told to end instead of coming up.
        if (life->up) tell(w, node, EVENT_NODE_DRAIN);
    } else if (w->members[node.i].state != WORKER_SUSPECT) {
        life->stopped = true;
        process_kill(&life->process);
    }
}

void workers_idle(Workers *w, NodeId node) {
    Life *life = &w->lives[node.i];
    Text nothing = {0};
    if (!life->leaves || life->stopped || life->quiet) return;
    life->stopped = true;
    log_warn(&w->job->log, TROUBLE_WORKER_LEAVES, "worker %u has nothing left to do, and ends",
             node.i);
    workers_say(w, node, WIRE_STOP, &nothing);
}

static uint32_t wanted(const Workers *w) {
    uint32_t count = 0;
    for (uint32_t n = 1; n < w->count; n++) count += w->lives[n].wanted;
    return count;
}

void fleet_leaves(Workers *w, NodeId node) {
    Life *life = &w->lives[node.i];
    // A job that ends soon needs nobody in the place of the last one; another job does.
    if (w->closing || w->d->draining || life->leaves) return;
    if (wanted(w) > 1) life->wanted = false;
    leave(w, node);
}

// ---- what somebody asks for ---------------------------------------------------------------------

bool workers_drain(Workers *w, int64_t number, Trouble *trouble) {
    if (number < 1 || number >= w->count || !w->lives[number].wanted) {
        trouble_set(trouble, TROUBLE_CONTROL, "there is no worker %lld", (long long)number);
        return trouble_fix(trouble, "--tell=status lists the workers"), false;
    }
    if (wanted(w) == 1) {
        trouble_set(trouble, TROUBLE_CONTROL, "worker %lld is the last one", (long long)number);
        return trouble_fix(trouble, "begin another one with --tell=workers=2, or pause the job: "
                           "--tell=pause"), false;
    }
    w->lives[number].wanted = false;
    leave(w, (NodeId){(uint16_t)number});
    return true;
}

// A worker that was to leave goes on; else a process begins, now or once the last one is gone.
static bool come(Workers *w, NodeId node, Trouble *trouble) {
    Life *life = &w->lives[node.i];
    life->wanted = true;
    if (life->leaves && !life->stopped) {
        life->leaves = false;
        if (life->up && !life->quiet) tell(w, node, EVENT_NODE_UP);
        return true;
    }
    State state = w->members[node.i].state;
    bool none = life->process.pid == 0 && (state == WORKER_ABSENT || state == WORKER_REAPED);
    if (!none || life_start(w, node)) return true;
    life->wanted = false;
    *trouble = w->job->trouble;
    trouble_clear(&w->job->trouble);
    return false;
}

bool workers_set_count(Workers *w, int64_t count, Trouble *trouble) {
    uint32_t most = w->count - 1, now = wanted(w);
    if (count < 1 || count > most) {
        trouble_set(trouble, TROUBLE_CONTROL, "the job can have 1 to %u workers, not %lld", most,
                    (long long)count);
        if (count < 1) trouble_fix(trouble, "pause the job instead: --tell=pause");
        else
            trouble_fix(trouble, "start a job that may have more: --workers=%u..%lld", now,
                        (long long)count);
        return false;
    }
    for (uint32_t n = w->count - 1; n > 0 && now > count; n--) {
        if (!w->lives[n].wanted) continue;
        w->lives[n].wanted = false;
        leave(w, (NodeId){(uint16_t)n});
        now--;
    }
    for (uint32_t n = 1; n < w->count && now < count; n++) {
        if (w->lives[n].wanted) continue;
        if (!come(w, (NodeId){(uint16_t)n}, trouble)) return false;
        now++;
    }
    return true;
}

void workers_set_limit(Workers *w, NodeId node, int64_t limit) {
    Life *life = &w->lives[node.i];
    if (life->limit == limit || !membership_is_live(&w->membership, node)) return;
    Text text = {0};
    life->limit = limit;
    pack_number(&text, limit);
    workers_say(w, node, WIRE_MEMORY, &text);
}

// ---- figures ------------------------------------------------------------------------------------

static WorkerPhase phase_of(const Workers *w, uint32_t n) {
    const Life *life = &w->lives[n];
    State state = w->members[n].state;
    if (state == WORKER_SUSPECT) return PHASE_SILENT;
    if (state == WORKER_LIVE && !life->up) return PHASE_STARTS;
    if (state == WORKER_LIVE) return life->leaves ? PHASE_LEAVES : PHASE_WORKS;
    if (state == WORKER_LOST) return PHASE_GONE;
    return life->process.pid ? PHASE_STARTS : PHASE_ABSENT;
}

void fleet_note(Workers *w) {
    for (uint32_t n = 1; n < w->count; n++) {
        const Life *life = &w->lives[n];
        WorkerFigures *figures = &w->job->figures.workers[n - 1];
        figures->phase = phase_of(w, n);
        figures->pid = life->process.pid;
        figures->tasks = __builtin_popcountll(life->threads);
        figures->limit = life->limit;
        figures->restarts = life->lives > 0 ? life->lives - 1 : 0;
    }
}

void workers_made(Workers *w, NodeId node, int64_t memory) {
    WorkerFigures *figures = &w->job->figures.workers[node.i - 1];
    figures->partitions++;
    figures->memory = memory;
}

void workers_made_again(Workers *w, NodeId node) { w->job->figures.workers[node.i - 1].again++; }
