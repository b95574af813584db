#include "runtime/dispatch/workers.h"

#include "runtime/abi.h"
#include "runtime/dispatch/far.h"
#include "runtime/dispatch/far_breaker.h"
#include "runtime/dispatch/lives.h"
#include "runtime/dispatch/poison.h"
#include "runtime/dispatch/state.h"
#include "runtime/host.h"
#include "runtime/report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// Parts of the silence after which a worker is lost.
enum : int64_t { SUSPECT_PART = 5, PING_PART = 20, SLEPT_PART = 10 };
enum : int64_t {
    MILLISECOND = 1'000'000,
    TICK = 20 * MILLISECOND,
    STOP_WAIT = 200 * MILLISECOND,
    QUEUE_BYTES = 256 << 20,
};
int64_t lives_timeout(const Workers *w) {
    enum : int64_t { MICROSECOND = 1000 };
    return w->job->ask.options.worker_timeout_us * MICROSECOND;
}

// ---- saying -------------------------------------------------------------------------------------

// What gives something back need not be there before the next task is.
static bool may_wait(WireKind kind) { return kind == WIRE_FREE || kind == WIRE_LEAVE; }

static void send(Workers *w, NodeId node, WireKind kind, const Text *text) {
    const Life *life = &w->lives[node.i];
    if (!life->connected || text->failed) return;
    Message message = link_send(&w->members[node.i].link, 0, w->d->now);
    Frame frame = {.kind = kind, .epoch = message.epoch, .number = message.number,
                   .ack = message.ack, .bytes = text->ptr, .len = text->len,
                   .may_wait = may_wait(kind)};
    // Where it cannot be sent, the links say that the connection is closed.
    links_send(w->links, life->peer, &frame, nullptr, 0);
}

void workers_say(Workers *w, NodeId node, WireKind kind, Text *text) {
    send(w, node, kind, text);
    sb_text_close(text);
}

void workers_say_all(Workers *w, WireKind kind, const Text *text) {
    for (uint32_t n = 1; n < w->count; n++) {
        NodeId node = {(uint16_t)n};
        if (membership_is_there(&w->membership, node)) send(w, node, kind, text);
    }
}

void workers_say_near(Workers *w, WireKind kind, const Text *text) {
    for (uint32_t n = 1; n < w->count; n++) {
        NodeId node = {(uint16_t)n};
        bool near = !lives_is_place(w, node) && membership_is_there(&w->membership, node);
        if (near) send(w, node, kind, text);
    }
}

// ---- rows of workers ----------------------------------------------------------------------------

// What the others were told when the filters were made.
static void say_filters(Workers *w, NodeId node) {
    KeyFilter *const *filters = w->job->breakers.filters;
    for (uint32_t b = 0; b < w->job->ask.what->breaker_count; b++) {
        Text text = {0};
        if (!filters[b]) continue;
        wire_put_filter(&text, b, &filters[b]->filter);
        workers_say(w, node, WIRE_FILTER, &text);
    }
}

static void let_rows_go(FarRows *rows) {
    Alive *alive = (Alive *)(void *)rows;
    Workers *w = alive->workers;
    if (alive->prior) alive->prior->next = alive->next;
    else w->alive = alive->next;
    if (alive->next) alive->next->prior = alive->prior;
    joins_give(w, alive->node, &alive->blocks);
    if (!w->closing && membership_is_there(&w->membership, alive->node)) {
        Text text = {0};
        wire_put_blocks(&text, &alive->blocks);
        workers_say(w, alive->node, WIRE_FREE, &text);
    }
    wire_close_blocks(&alive->blocks);
    free(alive);
}

FarRows *workers_rows(Workers *w, NodeId node, WireBlocks *blocks) {
    Alive *alive = malloc(sizeof *alive);
    if (!alive) return nullptr;
    *alive = (Alive){.rows = {.holders = 1, .let_go = let_rows_go}, .workers = w,
                     .next = w->alive, .blocks = *blocks, .node = node,
                     .life = w->lives[node.i].lives};
    if (w->alive) w->alive->prior = alive;
    w->alive = alive;
    *blocks = (WireBlocks){0};
    return &alive->rows;
}

bool workers_is_place(const Workers *w, NodeId node) { return lives_is_place(w, node); }

bool workers_own(Workers *w, NodeId node, const WireBlocks *blocks) {
    return joins_own(w, node, blocks);
}

const ArenaSpace *workers_space(const Workers *w) { return &w->space; }

static uint32_t first_thread(const Workers *w, NodeId node) {
    return w->job->machine.pool.parallel.threads +
           (node.i - 1u) * w->job->machine.workers.threads;
}

void workers_show(Workers *w, Flow *flow) {
    Life *life = &w->lives[flow->place.i];
    uint64_t idle = ~life->threads;
    enum : uint32_t { BITS = 64 };
    uint32_t thread = idle ? (uint32_t)__builtin_ctzll(idle) : BITS;
    flow->far_shown = thread < w->job->machine.workers.threads;
    flow->far_thread = first_thread(w, flow->place) + (flow->far_shown ? thread : 0);
    flow->far_unseen = !flow->far_shown;
    if (flow->far_unseen) {
        flow_queue_push(&life->unseen, flow);
        return;
    }
    life->threads |= UINT64_C(1) << thread;
    tell_begin(&w->d->observers, flow->far_thread, WORK_TASK, flow->run->index);
    if (flow->input) tell_from(&w->d->observers, flow->far_thread, 0, flow->input->from);
}

void workers_heard(Workers *w, Flow *flow) {
    if (flow->far_unseen) flow_queue_remove(&w->lives[flow->place.i].unseen, flow);
    flow->far_unseen = false;
}

void workers_showed(Workers *w, Flow *flow) {
    Life *life = &w->lives[flow->place.i];
    workers_heard(w, flow);
    if (!flow->far_shown) return;
    flow->far_shown = false;
    tell_done(&w->d->observers, flow->far_thread);
    life->threads &= ~(UINT64_C(1) << (flow->far_thread - first_thread(w, flow->place)));
    Flow *next = flow_queue_pop(&life->unseen);
    if (next) workers_show(w, next);
}

// ---- a life begins ------------------------------------------------------------------------------

bool life_start(Workers *w, NodeId node) {
    Life *life = &w->lives[node.i];
    Trouble *trouble = &w->job->trouble;
    life->lives++;
    life->born = log_clock_ns();
    life->limit = w->job->machine.workers.memory;
    GpuShare share;
    static_assert(GPU_SHARE_MAX <= PROCESS_MORE_MAX);
    gpu_share(w->job->machine.gpu, job_worker_threads(w->job, node.i), &share);
    Inherited gives = {.node = node.i, .space = w->space, .more_count = share.count};
    memcpy(gives.more, share.fds, share.count * sizeof *share.fds);
    bool started = process_start(&life->process, w->job->ask.argv, &gives, trouble);
    gpu_shared(&share);
    if (!started) return false;
    int socket = life->process.socket;
    life->process.socket = -1;
    life->connected = links_adopt(w->links, socket, &life->peer, trouble);
    return life->connected;
}

void lives_welcome(Workers *w, NodeId node) {
    const WorkerPlan *plan = &w->job->machine.workers;
    Text text = {0};
    Welcome is = {.memory = plan->memory, .block_max = w->job->machine.memory.block_max,
                  .partition = w->job->ask.options.partition,
                  .threads = job_worker_threads(w->job, node.i)};
    const CorePlan *core = &w->d->plan->plan;
    is.slots.count = core->resource_count;
    memcpy(is.slots.amounts, plan_node(core, node)->capacity,
           core->resource_count * sizeof *is.slots.amounts);
    far_fills_welcome(w->d, node, &is);
    if (lives_is_place(w, node)) joins_welcome(w, node, &is);
    wire_put_welcome(&text, &is, w->job->ask.what, w->job->io.sources);
    WireBlocks blocks = {0};
    for (const Alive *alive = w->alive; alive; alive = alive->next) {
        for (uint32_t i = 0; alive->node.i == node.i && i < alive->blocks.count; i++)
            wire_add_block(&blocks, alive->blocks.items[i].at, alive->blocks.items[i].bytes);
    }
    wire_put_blocks(&text, &blocks);
    wire_close_blocks(&blocks);
    workers_say(w, node, WIRE_WELCOME, &text);
    if (!lives_is_place(w, node)) say_filters(w, node);
}

static bool is_ours(const Workers *w, NodeId node, const Frame *frame) {
    Unpack from = {frame->bytes, frame->bytes + frame->len, false};
    Hello hello;
    return wire_get_hello(&from, &hello) && hello.abi == SB_ABI_VERSION &&
           hello.wire == WIRE_VERSION && hello.node == node.i &&
           checksum_same(hello.program, job_program(&w->job->ask));
}

// ---- a life ends --------------------------------------------------------------------------------

static void describe_end(const Workers *w, uint32_t node, const char *why) {
    log_warn(&w->job->log, TROUBLE_WORKER_LOST, "worker %u is lost: %s", node, why);
}

static void lose(Workers *w, NodeId node) {
    Life *life = &w->lives[node.i];
    life->losing = life->held > 0;
    if (life->losing) return;
    // workers_close ends and reaps all of them, without the lock.
    if (w->closing) return;
    if (!w->d->stop) poison_note(w->poison, node);
    process_kill(&life->process);
    if (lives_is_place(w, node)) links_end(w->links, life->peer);
    if (w->d->stop || !life->up) return;
    life->up = life->quiet = false;
    flow_lose(w->d, node);
    life->threads = 0;
    dispatch_tell(w->d, (Event){.kind = EVENT_NODE_LOST, .node = node});
    Text nothing = {0};
    workers_say_all(w, WIRE_GIVE_WAY, &nothing);
}

static void answer(Workers *w, NodeId node, MemberAnswer said, const char *why) {
    if (said != MEMBER_LOSE) return;
    // What ends in a trial is expected to.
    const Life *life = &w->lives[node.i];
    bool lost = !w->closing && !life->stopped && life->up;
    if (lost) describe_end(w, node.i, why);
    if (lost) w->job->figures.workers[node.i - 1].losses++;
    lose(w, node);
}

void workers_hold(Workers *w, NodeId node, bool begins) {
    Life *life = &w->lives[node.i];
    life->held += begins ? 1 : UINT32_MAX;
    if (life->held == 0 && life->losing) lose(w, node);
}

void workers_distrust(Workers *w, NodeId node, const char *what) {
    answer(w, node, membership_closed(&w->membership, node), what);
}

// ---- hearing: on the thread of the links --------------------------------------------------------

static NodeId node_of_peer(const Workers *w, PeerId peer) {
    uint32_t n = 1;
    while (n < w->count && !(w->lives[n].connected && peer_same(w->lives[n].peer, peer))) n++;
    return (NodeId){(uint16_t)(n < w->count ? n : 0)};
}

// It has tried all that its last lives ended, and works from now on, unless it was to leave.
void lives_bring_up(Workers *w, NodeId node) {
    Life *life = &w->lives[node.i];
    Text nothing = {0};
    life->stopped = !life->wanted || life->leaves;
    life->up = !life->stopped;
    if (life->up) dispatch_tell(w->d, (Event){.kind = EVENT_NODE_UP, .node = node});
    else workers_say(w, node, WIRE_STOP, &nothing);
}

static void give_up(Workers *w, NodeId node) {
    trouble_set(&w->job->trouble, TROUBLE_WORKERS_LOST,
                "worker %u died, and %u workers were replaced before", node.i,
                w->job->ask.options.worker_restarts);
    dispatch_stop(w->d);
}

// One life more has ended of what nobody knows. False: there may be no other one.
static bool count_end(Workers *w, NodeId node) {
    if (w->restarts == 0) {
        give_up(w, node);
        return false;
    }
    w->restarts--;
    return true;
}

static void hear_hello(Workers *w, NodeId node, const Frame *frame) {
    if (!is_ours(w, node, frame)) {
        trouble_set(&w->job->trouble, TROUBLE_WORKER_OTHER,
                    "worker %u is of another build, or runs another job", node.i);
        dispatch_stop(w->d);
        return;
    }
    if (membership_hello(&w->membership, node, w->d->now) != MEMBER_WELCOME) return;
    lives_welcome(w, node);
    if (!poison_begin(w->poison, node)) lives_bring_up(w, node);
}

// What the fresh life tried for its last one is over.
static bool hear_tried(Workers *w, NodeId node, Unpack *from) {
    bool acquits;
    if (!poison_tried(w->poison, node, from, &acquits)) return false;
    if (acquits && !count_end(w, node)) return true;
    if (!poison_try(w->poison, node)) lives_bring_up(w, node);
    return true;
}

static bool hear_chain(Workers *w, Unpack *from) {
    WireChain chain;
    if (!wire_get_chain(from, &chain) || chain.stage >= w->d->what->stage_count) return false;
    StageRun *run = &w->d->runs[chain.stage];
    if (!flow_chain(w->d, run, chain.ordinal, chain.start)) return false;
    Text text = {0};
    wire_put_chain(&text, &chain);
    workers_say_all(w, WIRE_START, &text);
    sb_text_close(&text);
    return true;
}

static void hear(Workers *w, NodeId node, const Frame *frame) {
    Unpack from = {frame->bytes, frame->bytes + frame->len, false};
    bool good = true;
    switch ((WireKind)frame->kind) {
    case WIRE_MADE: good = flow_hear(w->d, node, &from); break;
    case WIRE_CHAIN: good = hear_chain(w, &from); break;
    case WIRE_FLUSHED: good = far_hear_flushed(w->d, node, &from); break;
    case WIRE_TRIED: good = hear_tried(w, node, &from); break;
    case WIRE_PONG: break;
    case WIRE_READY: good = joins_ready(w, node); break;
    case WIRE_CANNOT: good = joins_cannot(w, node, &from); break;
    case WIRE_RUN: good = joins_run(w, node, &from); break;
    case WIRE_LEAVES: fleet_leaves(w, node); break;
    default: good = false;
    }
    if (!good) workers_distrust(w, node, "it said what is no message of this job");
}

// Bytes for which nobody else needs the lock: only this thread ends the life whose they are.
typedef struct Copy {
    RowRange    to;
    const char *bytes;
} Copy;

static Copy take_block(Workers *w, NodeId node, const Frame *frame) {
    Unpack from = {frame->bytes, frame->bytes + frame->len, false};
    Copy copy = {0};
    if (joins_block(w, node, &from, &copy.to, &copy.bytes)) return copy;
    workers_distrust(w, node, "what it made is not in its memory");
    return (Copy){0};
}

// Has the worker a block for us? It is in *copy; all else is heard here.
static void hear_member(Workers *w, NodeId node, const Frame *frame, Copy *copy) {
    Message message = {.epoch = frame->epoch, .number = frame->number, .ack = frame->ack};
    MemberAnswer said = membership_message(&w->membership, node, &message, w->d->now);
    fleet_mind_silence(w, node);
    if (said != MEMBER_DELIVER) return;
    if (frame->kind == WIRE_BLOCK) *copy = take_block(w, node, frame);
    else hear(w, node, frame);
}

static void on_frame(void *self, PeerId peer, const Frame *frame) {
    Workers *w = self;
    Copy copy = {0};
    pthread_mutex_lock(&w->d->lock);
    dispatch_clock(w->d);
    dispatch_hears(w->d);
    NodeId node = node_of_peer(w, peer);
    bool hello = frame->kind == WIRE_HELLO;
    if (!w->closing && node.i == 0 && hello) joins_hello(w, peer, frame);
    else if (!w->closing && node.i > 0 && hello) hear_hello(w, node, frame);
    else if (!w->closing && node.i > 0) hear_member(w, node, frame, &copy);
    dispatch_heard(w->d);
    pthread_mutex_unlock(&w->d->lock);
    if (copy.to.bytes > 0) memcpy(copy.to.at, copy.bytes, (size_t)copy.to.bytes);
}

static void on_opened(void *self, PeerId peer) {
    Workers *w = self;
    pthread_mutex_lock(&w->d->lock);
    dispatch_clock(w->d);
    joins_opened(w, peer);
    pthread_mutex_unlock(&w->d->lock);
}

static void on_refused(void *self, LinkEnd why, const char *text) {
    (void)why;
    Workers *w = self;
    pthread_mutex_lock(&w->d->lock);
    joins_turned(w, text);
    pthread_mutex_unlock(&w->d->lock);
}

static void on_closed(void *self, PeerId peer, LinkEnd why, const char *text) {
    (void)why;
    Workers *w = self;
    pthread_mutex_lock(&w->d->lock);
    dispatch_clock(w->d);
    NodeId node = node_of_peer(w, peer);
    if (node.i > 0) {
        w->lives[node.i].connected = false;
        answer(w, node, membership_closed(&w->membership, node), text);
    } else {
        joins_closed(w, peer);
    }
    pthread_mutex_unlock(&w->d->lock);
}

// ---- what happens by itself ---------------------------------------------------------------------

// Its process is gone and forgotten: another one begins, unless the worker was to leave. What it
// ended has to be tried even then.
static void begin_again(Workers *w, NodeId node, bool excused) {
    Life *life = &w->lives[node.i];
    bool lost = fleet_lost_one(life);
    if (w->closing || w->d->stop) return;
    if (!life->wanted && !poison_has_trial(w->poison, node)) return;
    if (lost && !excused && !count_end(w, node)) return;
    if (!life_start(w, node)) dispatch_stop(w->d);
}

static void replace(Workers *w, NodeId node) {
    if (lives_is_place(w, node)) {
        joins_replace(w, node);
        return;
    }
    Life *life = &w->lives[node.i];
    State state = w->members[node.i].state;
    bool gone = state == WORKER_LOST && !life->connected && !life->losing;
    int status = gone ? process_reap(&life->process, 0) : -1;
    if (status < 0) return;
    membership_reaped(&w->membership, node);
    bool judges = !w->closing && !w->d->stop;
    begin_again(w, node, judges && poison_died(w->poison, node, status));
}

// A process that ends before its first word is lost, too, and so is one that says none in time.
static void watch_birth(Workers *w, NodeId node) {
    Life *life = &w->lives[node.i];
    State state = w->members[node.i].state;
    if (state != WORKER_ABSENT && state != WORKER_REAPED) return;
    if (life->process.pid == 0) return;
    if (life->born > 0 && w->d->now - life->born > lives_timeout(w)) {
        life->born = 0;
        describe_end(w, node.i, "it does not answer");
        process_kill(&life->process);
    }
    if (!life->connected && process_reap(&life->process, 0) >= 0) begin_again(w, node, false);
}

static void ping(Workers *w, NodeId node) {
    Life *life = &w->lives[node.i];
    const Member *member = &w->members[node.i];
    if (!membership_is_there(&w->membership, node)) return;
    int64_t after = lives_timeout(w) / PING_PART;
    if (w->d->now - member->heard < after || w->d->now - life->pinged < after) return;
    Text nothing = {0};
    life->pinged = w->d->now;
    send(w, node, WIRE_PING, &nothing);
}

// A coordinator that stood still, as its machine did, knows nothing of how long others are silent.
static void mind_sleep(Workers *w) {
    int64_t away = w->d->now - w->ticked;
    bool slept = w->ticked > 0 && away > lives_timeout(w) / SLEPT_PART;
    w->ticked = w->d->now;
    if (!slept) return;
    membership_slept(&w->membership, away);
    for (uint32_t n = 1; n < w->count; n++)
        if (w->lives[n].born > 0) w->lives[n].born += away;
}

// The job is done but for a call of foreign code whose rows another attempt has made.
static void end_left(Workers *w) {
    NodeId node = attempts_left(w->d);
    if (node.i > 0 && w->restarts > 0)
        workers_distrust(w, node, "its foreign code goes on, and nobody needs what that makes");
}

static void on_tick(void *self, int64_t now_ns) {
    (void)now_ns;
    Workers *w = self;
    pthread_mutex_lock(&w->d->lock);
    dispatch_clock(w->d);
    mind_sleep(w);
    poison_tick(w->poison);
    for (uint32_t n = 1; !w->closing && n < w->count; n++) {
        NodeId node = {(uint16_t)n};
        answer(w, node, membership_tick(&w->membership, node, w->d->now),
               "it does not answer");
        fleet_mind_silence(w, node);
        if (membership_is_live(&w->membership, node) && poison_overdue(w->poison, node))
            workers_distrust(w, node, "its foreign code ran longer than the step gives");
        replace(w, node);
        watch_birth(w, node);
        ping(w, node);
    }
    if (!w->closing) end_left(w);
    if (!w->closing) joins_tick(w);
    // Once it closes, who reaps the processes holds no lock.
    if (!w->closing) fleet_note(w);
    pthread_mutex_unlock(&w->d->lock);
}

// ---- opening and closing ------------------------------------------------------------------------

static bool make_space(Workers *w) {
    enum { SPAN_SHARE = 2 };  // Blocks of different sizes leave gaps.
    const WorkerPlan *plan = &w->job->machine.workers;
    int64_t most = w->job->machine.memory.limit > plan->memory ? w->job->machine.memory.limit
                                                               : plan->memory;
    if (!arena_space_open(&w->space, w->count, SPAN_SHARE * most))
        return trouble_set(&w->job->trouble, TROUBLE_WORKER,
                           "no memory that workers can share: %s", strerror(errno));
    w->job->machine.memory.arena = arena_open(&w->space, 0);
    return w->job->machine.memory.arena || trouble_no_memory(&w->job->trouble, "for workers");
}

static bool open_links(Workers *w) {
    LinksSetup setup = {.calls = {.frame = on_frame, .closed = on_closed, .tick = on_tick},
                        .self = w, .tick_ns = TICK, .timeout_ns = lives_timeout(w),
                        .queue_bytes_max = QUEUE_BYTES, .peers_max = w->count};
    LinkKey key;
    bool has_key = false;
    if (w->own < w->count - 1) {
        if (!joins_key(&w->job->ask.options, &key, &has_key, &w->job->trouble)) return false;
        setup.calls.opened = on_opened;
        setup.calls.refused = on_refused;
        setup.makes = join_makes;
        setup.key = has_key ? &key : nullptr;
        setup.peers_max += GUESTS_MAX;
    }
    w->links = links_open(&setup, &w->job->trouble);
    return w->links;
}

bool workers_open(Dispatch *d, Workers **workers) {
    Job *job = d->own->job;
    const WorkerPlan *plan = &job->machine.workers;
    if (plan->count == 0) return true;
    Workers *w = *workers = calloc(1, sizeof *w);
    if (!w) return trouble_no_memory(&job->trouble, "for workers");
    *w = (Workers){.d = d, .job = job, .count = plan->count + 1,
                   .own = plan->count - plan->places,
                   .restarts = job->ask.options.worker_restarts};
    w->members = calloc(w->count, sizeof *w->members);
    w->lives = calloc(w->count, sizeof *w->lives);
    if (!w->members || !w->lives) return trouble_no_memory(&job->trouble, "for workers");
    membership_init(&w->membership, w->members, w->count,
                    (MemberTimes){lives_timeout(w) / SUSPECT_PART, lives_timeout(w)});
    w->poison = poison_open(d, w, w->count, plan->threads);
    if (!w->poison) return trouble_no_memory(&job->trouble, "for workers");
    if (!make_space(w) || !open_links(w) || !joins_open(w)) return false;
    bool good = true;
    pthread_mutex_lock(&d->lock);
    for (uint32_t n = 1; n <= w->own && good; n++) {
        w->lives[n].wanted = n <= plan->begins;
        if (w->lives[n].wanted) good = life_start(w, (NodeId){(uint16_t)n});
    }
    pthread_mutex_unlock(&d->lock);
    return good;
}

void workers_await(Workers *w) {
    for (uint32_t n = 1; w && n < w->count; n++) {
        NodeId node = {(uint16_t)n};
        if (!membership_is_live(&w->membership, node))
            dispatch_tell(w->d, (Event){.kind = EVENT_NODE_LOST, .node = node});
    }
}

// A worker that was told to end closes what foreign code has kept. In a place it has no process.
static void see_off(Workers *w, NodeId node) {
    Process *process = &w->lives[node.i].process;
    if (process->pid == 0) return;
    int status = process_reap(process, STOP_WAIT);
    for (bool waits = true; status < 0 && waits;) {
        pthread_mutex_lock(&w->d->lock);
        waits = poison_closes(w->poison, node);
        pthread_mutex_unlock(&w->d->lock);
        if (waits) status = process_reap(process, TICK);
    }
    if (status < 0) {
        process_kill(process);
        status = process_reap(process, INT64_MAX);
    }
    pthread_mutex_lock(&w->d->lock);
    poison_closed(w->poison, node, status);
    pthread_mutex_unlock(&w->d->lock);
}

// Who was told to stop closes the connection: until then the word may be on its way.
static void see_places_off(Workers *w) {
    enum : int64_t { LOOK = MILLISECOND };
    enum { MICROS = 1000 };
    for (int64_t waited = 0; waited < STOP_WAIT; waited += LOOK) {
        bool any = false;
        pthread_mutex_lock(&w->d->lock);
        for (uint32_t n = w->own + 1; n < w->count; n++) any |= w->lives[n].connected;
        pthread_mutex_unlock(&w->d->lock);
        if (!any) return;
        usleep(LOOK / MICROS);
    }
}

// The processes end while this one lets go of its rows.
void workers_end(Workers *w) {
    Text nothing = {0};
    if (!w || w->closing) return;
    w->closing = true;
    if (w->links) workers_say_all(w, WIRE_STOP, &nothing);
}

void workers_close(Workers *w) {
    if (!w) return;
    pthread_mutex_lock(&w->d->lock);
    workers_end(w);
    pthread_mutex_unlock(&w->d->lock);
    for (uint32_t n = 1; w->lives && n < w->count; n++) see_off(w, (NodeId){(uint16_t)n});
    if (w->links) see_places_off(w);
    if (w->links) links_close(w->links);
    joins_close(w);
    poison_close(w->poison);
    while (w->alive) {
        Alive *next = w->alive->next;
        wire_close_blocks(&w->alive->blocks);
        free(w->alive);
        w->alive = next;
    }
    arena_close(w->job->machine.memory.arena);
    w->job->machine.memory.arena = nullptr;
    arena_space_close(&w->space);
    free(w->members);
    free(w->lives);
    free(w);
}
