#include "runtime/serve/state.h"

#include "runtime/abi.h"
#include "runtime/crash.h"
#include "runtime/host.h"
#include "runtime/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- saying -------------------------------------------------------------------------------------

// To write takes longer than all that is done under the lock, for which those who hear would have
// to wait.
static void say(Serve *s, WireKind kind, const Text *text, const RowRange *more) {
    struct iovec piece = {more ? more->at : nullptr, more ? (size_t)more->bytes : 0};
    pthread_mutex_lock(&s->says);
    s->said.received = atomic_load(&s->taken);
    Message message = link_send(&s->said, 0, 0);
    Frame frame = {.kind = kind, .epoch = message.epoch, .number = message.number,
                   .ack = message.ack, .bytes = text->ptr, .len = text->len};
    bool good = !text->failed &&
                links_send(s->links, s->coordinator, &frame, &piece, more != nullptr);
    pthread_mutex_unlock(&s->says);
    if (good) return;
    pthread_mutex_lock(&s->lock);
    s->over = true;
    pthread_mutex_unlock(&s->lock);
}

// From now on both sides number what they say.
static void open_link(Serve *s, uint32_t epoch) {
    link_open(&s->heard_of, epoch);
    atomic_store(&s->taken, 0);
    pthread_mutex_lock(&s->says);
    link_open(&s->said, epoch);
    pthread_mutex_unlock(&s->says);
}

// Is the message the next one of the job?
static bool take_message(Serve *s, const Frame *frame) {
    Message message = {.epoch = frame->epoch, .number = frame->number, .ack = frame->ack};
    bool is = link_take(&s->heard_of, &message);
    atomic_store(&s->taken, s->heard_of.received);
    return is;
}

void serve_say(Serve *s, WireKind kind, Text *text) {
    say(s, kind, text, nullptr);
    sb_text_close(text);
}

void serve_say_more(Serve *s, WireKind kind, Text *text, const RowRange *more) {
    say(s, kind, text, more);
    sb_text_close(text);
}

void serve_fail(Serve *s) {
    pthread_mutex_lock(&s->lock);
    s->over = s->failed = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void say_hello(Serve *s) {
    Text text = {0};
    Hello hello = {.abi = SB_ABI_VERSION, .wire = WIRE_VERSION, .node = s->node, .pid = getpid(),
                   .host = "", .program = job_program(&s->job->ask)};
    if (s->joined) join_say_hello(&hello, s->job);
    wire_put_hello(&text, &hello);
    serve_say(s, WIRE_HELLO, &text);
}

// ---- beginning ----------------------------------------------------------------------------------

static bool no_welcome(Serve *s, const char *why) {
    return trouble_set(&s->job->trouble, TROUBLE_WORKER_OTHER, "%s", why);
}

static void set_sources(Job *job) {
    for (uint32_t i = 0; i < job->ask.what->source_count; i++) {
        SourceSetup setup = {.row_max = job->ask.setup.source_row_max[i],
                             .count = job->ask.setup.source_counts[i],
                             .partition = job->ask.options.partition,
                             .cancel_fd = job->stop.cancel_fd};
        job->io.sources[i].number = i;
        source_set(&job->io.sources[i], &job->ask.what->sources[i], &setup);
    }
}

// Blocks that an earlier life of this worker made, and that others still read.
static bool claim(Serve *s, Unpack *from) {
    WireBlocks blocks = {0};
    SbMemory *memory = &s->job->machine.memory;
    bool good = wire_get_blocks(from, &blocks);
    for (uint32_t i = 0; i < blocks.count && good; i++) {
        const WireBlock *block = &blocks.items[i];
        good = arena_claim(memory->arena, block->at, block->bytes);
        // What is there may be more than the account of a fresh life would take.
        if (good) memory->used += block->bytes;
    }
    wire_close_blocks(&blocks);
    return good || no_welcome(s, "the arena of the worker is not what it was told");
}

// The first block of the arena, in every life: the coordinator looks there for what this one died
// of.
static bool open_notes(Serve *s) {
    s->notes = arena_take(s->job->machine.memory.arena, ARENA_UNIT);
    if ((char *)s->notes != arena_space_of(&s->space, s->node))
        return no_welcome(s, "the arena of the worker is not empty");
    memset(s->notes, 0, ARENA_UNIT);
    return true;
}

// What a process of the coordinator's machine inherits.
static bool take_place(Serve *s, const Welcome *welcome) {
    s->node = welcome->node;
    s->timeout_ns = welcome->timeout_ns;
    s->welcomed = true;
    if (welcome->arenas > ARENAS_MAX || welcome->node >= welcome->arenas || welcome->node == 0)
        return no_welcome(s, "a WELCOME that is none of this job");
    s->space = (ArenaSpace){.base = (char *)(uintptr_t)welcome->base, .span = welcome->span,
                            .count = welcome->arenas};
    return arena_space_copy(&s->space) ||
           trouble_set(&s->job->trouble, TROUBLE_WORKER,
                       "the memory of the job cannot be mapped: %s", strerror(errno));
}

// No more threads than --threads of this process, or than there are cpus.
static uint32_t threads_of(const Serve *s, const Welcome *welcome) {
    uint32_t own = s->job->ask.options.threads;
    if (own == 0) own = device_of(DEVICE_CPU)->count();
    return s->joined && own < welcome->threads ? own : welcome->threads;
}

static bool take_welcome(Serve *s, Unpack from) {
    Job *job = s->job;
    Welcome welcome;
    Unpack peek = from;
    if (s->ready || !wire_get_welcome_head(&peek, &welcome))
        return no_welcome(s, "a WELCOME that is none of this job");
    job->ask.options.partition = welcome.partition;
    set_sources(job);
    if (!wire_get_welcome(&from, &welcome, job->ask.what, job->io.sources))
        return no_welcome(s, "a WELCOME that is none of this job");
    if (s->joined && (!take_place(s, &welcome) || !join_has_inputs(s))) return false;
    int64_t keep = arena_kept(welcome.memory);
    sb_memory_open(&job->machine.memory, welcome.memory - keep);
    s->queue_room = wire_queue_room(welcome.memory);
    job->machine.memory.block_max = welcome.block_max;
    job->machine.memory.arena = arena_open(&s->space, s->node);
    if (!job->machine.memory.arena) return trouble_no_memory(&job->trouble, "for the arena");
    if (!open_notes(s)) return false;
    arena_keep(job->machine.memory.arena, keep);
    s->kept = keep;
    s->slots = welcome.slots;
    sb_memory_keep(&job->machine.memory);
    uint32_t threads = threads_of(s, &welcome);
    return copies_open(s) &&
           slots_open(&job->machine.slots, job->ask.what, &job->ask.options, threads,
                      &job->trouble) &&
           claim(s, &from) && fills_open(s, &welcome) &&
           pool_open(&job->machine.pool, threads, &job->trouble);
}

// ---- hearing: on the thread of the links --------------------------------------------------------

static bool start(Serve *s, Unpack *from) {
    WireChain chain;
    if (!wire_get_chain(from, &chain) || chain.stage >= s->job->ask.what->stage_count) return false;
    StageRun *run = &s->runs[chain.stage];
    if (!inputs_open(s, run)) return false;
    units_chain_set(&run->units, chain.ordinal, chain.start.begin, chain.start.lines);
    return true;
}

static bool free_blocks(Serve *s, Unpack *from) {
    WireBlocks blocks = {0};
    bool good = wire_get_blocks(from, &blocks);
    for (uint32_t i = 0; i < blocks.count && good; i++)
        sb_memory_give_shared(&s->job->machine.memory, blocks.items[i].at, blocks.items[i].bytes);
    wire_close_blocks(&blocks);
    return good;
}

static void give_way(Serve *s) {
    for (uint32_t i = 0; i < s->job->ask.what->stage_count; i++)
        if (s->runs[i].opened) units_chain_give_way(&s->runs[i].units);
}

static bool take_cases(Serve *s, Unpack *from) {
    bool good = true;
    for (GuardCase is; good && wire_get_case(from, &is);) good = guards_set(&s->job->guards, &is);
    return good && !from->bad;
}

// Foreign code of some stage keeps more than its tasks may have. A task has come to its end in this
// life, so the next life comes further.
static void look_at_wear(Serve *s) {
    const SbJob *what = s->job->ask.what;
    int64_t threads = s->job->machine.pool.parallel.threads;
    bool worn = false;
    for (uint32_t i = 0; i < what->stage_count; i++) {
        int64_t most = what->stages[i].memory * threads;
        worn |= most > 0 && s->job->guards.kept[i] > most;
    }
    if (!worn) return;
    pthread_mutex_lock(&s->lock);
    s->worn = s->over = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    guards_end(&s->job->guards);
}

// What keeps memory for the next task of the stage.
static bool close_stage(Serve *s, Unpack *from) {
    uint32_t stage = (uint32_t)unpack_number(from);
    if (from->bad || stage >= s->job->ask.what->stage_count) return false;
    if (s->tries) return true;  // The trial closes its stage itself.
    if (s->runs[stage].opened) stage_close(&s->runs[stage]);
    fills_close_stage(s, stage);
    return true;
}

static bool limit_memory(Serve *s, Unpack *from) {
    int64_t limit = unpack_number(from);
    if (from->bad || limit <= 0) return false;
    sb_memory_limit(&s->job->machine.memory, limit - s->kept);
    return true;
}

// The lock is held. False: it is no message of this job.
static bool obey(Serve *s, const Frame *frame) {
    Unpack from = {frame->bytes, frame->bytes + frame->len, false};
    switch ((WireKind)frame->kind) {
    case WIRE_WELCOME:
        s->ready = take_welcome(s, from);
        pthread_cond_broadcast(&s->changed);
        return s->ready;
    case WIRE_REFUSE:
        s->later = unpack_number(&from) != 0;
        wire_get_trouble(&from, &s->job->trouble);
        return false;
    case WIRE_ROWS: return copies_take(s, &from);
    case WIRE_HEADER: return wire_get_header(&from, s->job->ask.what, s->job->io.sources);
    case WIRE_FILTER: return fills_take_filter(s, &from);
    case WIRE_ASK:
    case WIRE_FLUSH: orders_add(s, frame); return true;
    case WIRE_TRY:
        s->tries = true;
        orders_add(s, frame);
        return true;
    case WIRE_CASES: return take_cases(s, &from);
    case WIRE_CANCEL: serve_cancel(s, (uint32_t)unpack_number(&from)); return !from.bad;
    case WIRE_START: return start(s, &from);
    case WIRE_GIVE_WAY: give_way(s); return true;
    case WIRE_FREE: return free_blocks(s, &from);
    case WIRE_CLOSE: return close_stage(s, &from);
    case WIRE_MEMORY: return limit_memory(s, &from);
    case WIRE_STOP: s->over = s->stopped = true; return true;
    case WIRE_LEAVE:
    case WIRE_PING: return true;  // Below, without the lock.
    case WIRE_HELLO:
    case WIRE_READY:
    case WIRE_CANNOT:
    case WIRE_BLOCK:
    case WIRE_RUN:
    case WIRE_MADE:
    case WIRE_FLUSHED:
    case WIRE_CHAIN:
    case WIRE_LEAVES:
    case WIRE_TRIED:
    case WIRE_PONG:
    case WIRE_KINDS: break;
    }
    return false;
}

static void on_frame(void *self, PeerId peer, const Frame *frame) {
    (void)peer;
    Serve *s = self;
    pthread_mutex_lock(&s->lock);
    const Order *last = s->last;
    s->heard = log_clock_ns();
    if (frame->kind == WIRE_WELCOME) open_link(s, frame->epoch);
    bool early = !s->ready && frame->kind != WIRE_WELCOME;
    bool refused = early && frame->kind == WIRE_REFUSE && s->joined;
    bool good = refused ? obey(s, frame)
                        : !early && take_message(s, frame) && obey(s, frame);
    if (!good && s->job->trouble.kind == TROUBLE_NONE)
        trouble_set(&s->job->trouble, TROUBLE_WORKER_OTHER,
                    "a message (%s) that is none of this job", wire_kind_name(frame->kind));
    s->failed |= !good;
    s->over |= !good;
    bool over = s->over, ordered = s->last != last;
    if (over) pthread_cond_broadcast(&s->changed);
    if (over) serve_cancel_all(s);
    pthread_mutex_unlock(&s->lock);
    // Without the lock, for which the thread would have to wait.
    if (ordered) pthread_cond_signal(&s->changed);
    if (over) guards_end(&s->job->guards);
    Unpack from = {frame->bytes, frame->bytes + frame->len, false};
    Text nothing = {0};
    if (good && frame->kind == WIRE_LEAVE) {
        serve_leave(s, (uint32_t)unpack_number(&from));
        look_at_wear(s);
    }
    if (good && frame->kind == WIRE_PING) serve_say(s, WIRE_PONG, &nothing);
}

// A worker whose coordinator is gone has nothing to do.
static void on_closed(void *self, PeerId peer, LinkEnd why, const char *text) {
    (void)peer;
    Serve *s = self;
    pthread_mutex_lock(&s->lock);
    if (s->lost_text[0] == '\0') snprintf(s->lost_text, sizeof s->lost_text, "%s", text);
    s->why_lost = why;
    if (s->joined && !s->connected && !s->over) join_never(s, why, text);
    s->over = true;
    pthread_cond_broadcast(&s->changed);
    serve_cancel_all(s);
    pthread_mutex_unlock(&s->lock);
    guards_end(&s->job->guards);
}

// ---- running ------------------------------------------------------------------------------------

static bool open_runs(Serve *s) {
    Job *job = s->job;
    s->runs = calloc(job->ask.what->stage_count + 1, sizeof *s->runs);
    bool good = s->runs || trouble_no_memory(&job->trouble, "for the stages");
    for (uint32_t i = 0; i < job->ask.what->stage_count && good; i++)
        good = stage_prepare(&s->runs[i], job, i);
    return good;
}

// ---- running ------------------------------------------------------------------------------------

// False: it is over before it has begun.
static bool is_welcome(Serve *s) {
    pthread_mutex_lock(&s->lock);
    while (!s->ready && !s->over) pthread_cond_wait(&s->changed, &s->lock);
    bool ready = s->ready;
    pthread_mutex_unlock(&s->lock);
    return ready;
}

static void serve_thread(void *arg, uint32_t index, uint32_t thread) {
    (void)index;
    Serve *s = arg;
    crash_mark(&s->notes[thread].signal);
    for (Order *order = nullptr; (order = orders_next(s, order));) {
        if (order->kind == WIRE_FLUSH) serve_flush(s, order);
        else if (order->kind == WIRE_TRY) serve_try(s, order, thread);
        else serve_ask(s, order, thread);
    }
    crash_mark(nullptr);
}

// What foreign code has kept between its calls. The job hears that this process lives, and sees
// what it does.
static void end_states(Serve *s) {
    crash_mark(&s->notes[0].signal);
    states_close(s->job->ask.what, &s->notes[0]);
    crash_mark(nullptr);
    for (uint32_t t = 0; t < s->job->machine.pool.parallel.threads; t++)
        s->notes[t].states = false;
}

LinksSetup serve_links(Serve *s) {
    enum : int64_t { QUEUE_BYTES = 256 << 20, TIMEOUT = 60'000'000'000 };
    return (LinksSetup){.calls = {.frame = on_frame, .closed = on_closed}, .self = s,
                        .timeout_ns = TIMEOUT, .queue_bytes_max = QUEUE_BYTES, .peers_max = 1};
}

static bool connect_links(Serve *s, int socket) {
    LinksSetup setup = serve_links(s);
    s->links = links_open(&setup, &s->job->trouble);
    return s->links && links_adopt(s->links, socket, &s->coordinator, &s->job->trouble);
}

static bool map_space(Serve *s) {
    return arena_space_join(&s->space, s->node) ||
           trouble_set(&s->job->trouble, TROUBLE_WORKER,
                       "the memory of the job cannot be mapped: %s", strerror(errno));
}

void serve_watch(Serve *s) {
    pthread_mutex_lock(&s->lock);
    int64_t silent = s->connected ? log_clock_ns() - s->heard : 0;
    bool lost = !s->over && silent > s->timeout_ns;
    if (lost) {
        snprintf(s->lost_text, sizeof s->lost_text, "the job does not answer");
        s->over = true;
        pthread_cond_broadcast(&s->changed);
        serve_cancel_all(s);
    }
    pthread_mutex_unlock(&s->lock);
    if (lost) guards_end(&s->job->guards);
}

// A process of the job's machine, or one that joins. False: job->trouble.
static bool serve(Serve *s, int socket) {
    if (!s->joined && !map_space(s)) return false;
    if (s->gpu_fd_count)
        s->job->machine.gpu = gpu_join(s->job->ask.what, s->gpu_fds, s->gpu_fd_count);
    if (!open_runs(s)) return false;
    int64_t since = log_clock_ns();
    bool welcome = false;
    do {
        if (!(s->joined ? join_connect(s) : connect_links(s, socket))) return false;
        failpoint("worker-born");
        say_hello(s);
        welcome = is_welcome(s);
    } while (!welcome && join_waits(s, since));
    SbParallel *parallel = &s->job->machine.pool.parallel;
    if (!welcome) {
        join_say_cannot(s);
        return !s->failed;
    }
    if (!signals_open(s)) return false;
    join_say_ready(s);
    parallel->each(parallel, parallel->threads, serve_thread, s);
    end_states(s);
    signals_close(s);
    return !s->failed;
}

static void close_all(Serve *s) {
    for (uint32_t i = 0; i < s->task_max; i++) serve_leave(s, i);
    orders_close(s);
    for (uint32_t i = 0; s->runs && i < s->job->ask.what->stage_count; i++)
        if (s->runs[i].job) stage_finish(&s->runs[i]);
    fills_close(s);
    copies_close(s);
    gpu_close(s->job->machine.gpu);
    s->job->machine.gpu = nullptr;
    arena_close(s->job->machine.memory.arena);
    arena_space_close(&s->space);
    free(s->tasks);
    free(s->tables);
    free(s->filters);
    free(s->canceled);
    free(s->runs);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->says);
}

static bool run(Serve *s, int socket) {
    pthread_mutex_init(&s->lock, nullptr);
    pthread_mutex_init(&s->says, nullptr);
    pthread_cond_init(&s->changed, nullptr);
    bool good = serve(s, socket);
    if (s->links) links_close(s->links);
    close_all(s);
    return good;
}

int serve_run(Job *job, const Inherited *inherited) {
    Serve s = {.job = job, .space = inherited->space, .node = inherited->node,
               .gpu_fds = inherited->more, .gpu_fd_count = inherited->more_count};
    process_follow("worker");
    bool good = run(&s, inherited->socket);
    return good ? (s.worn ? WORKER_WORN : 0) : trouble_exit_code(&job->trouble);
}

int serve_join(Job *job) {
    Serve s = {.job = job, .joined = true};
    bool good = run(&s, -1);
    return join_end(&s, good);
}
