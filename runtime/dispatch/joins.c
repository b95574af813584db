// Joins: workers of other machines, which come to a job that listens.
//
//   connection ─▶ guest ─ HELLO ─▶ a place: WELCOME ─ READY ─▶ EVENT_NODE_UP ─▶ tasks
//                   │                 └─ no place, another build, ...: REFUSE
//                   └─ says nothing in time: its connection ends
//
// A place is a worker without a process of this machine. It has an arena here as all workers have.
// The worker has one of its own at the same addresses. What it makes comes here as bytes before the
// message that speaks of it, so that all others read it as rows of any worker. What it reads goes
// there before the ASK. When the connection ends the worker is lost, and its place is free.
#include "runtime/dispatch/lives.h"

#include "runtime/abi.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum : int64_t { SECOND = 1'000'000'000, REFUSED_STAYS = SECOND };
enum : uint32_t { TURNED_MAX = 10 };  // Connections turned away that are spoken of.

// ---- opening ------------------------------------------------------------------------------------

const LinkMake *const join_makes[] = {&link_tcp, nullptr};

static void say(const Workers *w, const char *event, Text *text) {
    Log *log = &w->job->log;
    if (log->json) {
        Text line = {0};
        log_begin(log, &line, event);
        log_add_text(&line, "text", text->ptr, text->len);
        log_event(log, &line);
    } else {
        sb_text_str(text, "\n");
        log_lines(log, text, false);
    }
    sb_text_close(text);
}

bool joins_key(const Options *options, LinkKey *key, bool *has, Trouble *trouble) {
    *has = options->key_file;
    return !*has || link_key_read(options->key_file, key, trouble);
}

bool joins_open(Workers *w) {
    const Options *options = &w->job->ask.options;
    if (w->own == w->count - 1) return true;
    Text text = {0};
    LinkAddress address, bound;
    w->mirrors = calloc(w->count, sizeof *w->mirrors);
    w->arrived = calloc(w->count, sizeof *w->arrived);
    if (!w->mirrors || !w->arrived || !far_tables_open(w))
        return trouble_no_memory(&w->job->trouble, "for workers");
    for (uint32_t n = w->own + 1; n < w->count; n++) {
        w->mirrors[n] = arena_open(&w->space, n);
        if (!w->mirrors[n]) return trouble_no_memory(&w->job->trouble, "for workers");
    }
    link_tcp_address(options->listen, &address);
    if (!links_listen(w->links, address.text, &bound, &w->job->trouble)) return false;
    sb_text_format(&text, "workers join at %s", bound.text + strlen("tcp:"));
    say(w, "listens", &text);
    w->alone_since = log_clock_ns();
    return true;
}

void joins_close(Workers *w) {
    for (uint32_t n = 0; n < w->count; n++) {
        if (w->mirrors) arena_close(w->mirrors[n]);
        if (w->arrived) wire_close_blocks(&w->arrived[n]);
    }
    free(w->mirrors);
    free(w->arrived);
    far_tables_close(w);
}

// ---- guests -------------------------------------------------------------------------------------

static Guest *guest_of(Workers *w, PeerId peer) {
    for (uint32_t i = 0; i < GUESTS_MAX; i++)
        if (w->guests[i].since > 0 && peer_same(w->guests[i].peer, peer)) return &w->guests[i];
    return nullptr;
}

void joins_opened(Workers *w, PeerId peer) {
    uint32_t i = 0;
    while (i < GUESTS_MAX && w->guests[i].since > 0) i++;
    if (i == GUESTS_MAX || w->closing) links_end(w->links, peer);
    else w->guests[i] = (Guest){.peer = peer, .since = w->d->now};
}

void joins_closed(Workers *w, PeerId peer) {
    Guest *guest = guest_of(w, peer);
    if (guest) guest->since = 0;
}

void joins_turned(Workers *w, const char *text) {
    if (w->closing || ++w->turned > TURNED_MAX) return;
    log_warn(&w->job->log, TROUBLE_JOIN_TURNED, "%s%s", text,
             w->turned == TURNED_MAX ? " (the last such connection that is spoken of)" : "");
}

// Tells the worker why it is not taken. It closes the connection once it has read that.
static void refuse(Workers *w, Guest *guest, const char *host, const Trouble *trouble) {
    Text text = {0}, line = {0};
    // A place may become free: of a worker that is lost, which the job does not know yet.
    pack_number(&text, trouble->kind == TROUBLE_JOIN_FULL);
    wire_put_trouble(&text, trouble);
    Frame frame = {.kind = WIRE_REFUSE, .bytes = text.ptr, .len = text.len};
    if (!text.failed) links_send(w->links, guest->peer, &frame, nullptr, 0);
    sb_text_close(&text);
    sb_text_format(&line, "a worker of '%s' was turned away: %s", host, trouble->text);
    sb_text_add(&line, "", 1);
    if (!line.failed && trouble->kind != TROUBLE_JOIN_FULL) joins_turned(w, line.ptr);
    sb_text_close(&line);
    guest->refused = true;
    guest->since = w->d->now;
}

// ---- a worker joins -----------------------------------------------------------------------------

static uint32_t free_place(const Workers *w) {
    for (uint32_t n = w->own + 1; n < w->count; n++) {
        State state = w->members[n].state;
        bool none = state == WORKER_ABSENT || state == WORKER_REAPED;
        if (none && !w->lives[n].connected && !w->lives[n].losing) return n;
    }
    return 0;
}

// What the process has beside copies of what its tasks read: what the schedule gives them, what
// waits to be sent, and tables of joins.
static int64_t other_memory(const Workers *w) {
    enum : int64_t { PROCESS = 12 << 20 };
    int64_t memory = w->job->machine.workers.memory;
    return memory + wire_queue_room(memory) + PROCESS + far_tables_room(w->job);
}

static int64_t least_memory(const Workers *w) {
    const WorkerPlan *plan = &w->job->machine.workers;
    return other_memory(w) + 2 * plan->place_threads * w->job->ask.options.partition;
}

// Why the job does not take it. False: *trouble.
static bool is_taken(const Workers *w, const Hello *hello, bool good, Trouble *trouble) {
    enum : int64_t { MIB = 1 << 20 };
    if (!good || hello->abi != SB_ABI_VERSION || hello->wire != WIRE_VERSION ||
        !checksum_same(hello->program, job_program(&w->job->ask))) {
        trouble_set(trouble, TROUBLE_WORKER_OTHER, "the worker is of another build, or has other "
                    "parameters than the job");
        return trouble_fix(trouble, "start it from the same file as the job, with the same "
                           "parameters"), false;
    }
    if (w->d->stop || w->d->draining) {
        trouble_set(trouble, TROUBLE_JOIN_REFUSED, "the job is about to end");
        return trouble_fix(trouble, "start the worker before, or leave it out"), false;
    }
    if (!free_place(w)) {
        uint32_t places = w->count - 1 - w->own;
        trouble_set(trouble, TROUBLE_JOIN_FULL, "all places of the job are taken: %u", places);
        return trouble_fix(trouble, "give the job more: --places=%u", places + 1), false;
    }
    int64_t least = (least_memory(w) + MIB - 1) / MIB;
    if (hello->memory >= least * MIB) return true;
    trouble_set(trouble, TROUBLE_JOIN_REFUSED, "a worker of the job needs %lld MiB of memory, and "
                "this one may have %lld MiB", (long long)least, (long long)(hello->memory / MIB));
    return trouble_fix(trouble, "give the worker --memory=%lldMiB, or the job less, or fewer "
                       "places", (long long)least), false;
}

void joins_welcome(const Workers *w, NodeId node, Welcome *is) {
    enum { TIMES = 2 };
    is->node = node.i;
    is->arenas = w->space.count;
    is->base = (uint64_t)(uintptr_t)w->space.base;
    is->span = w->space.span;
    is->spill_from = w->lives[node.i].spilled;
    is->timeout_ns = TIMES * lives_timeout(w);
}

void joins_hello(Workers *w, PeerId peer, const Frame *frame) {
    Guest *guest = guest_of(w, peer);
    Unpack from = {frame->bytes, frame->bytes + frame->len, false};
    Hello hello = {.host = ""};
    Trouble trouble = {0};
    if (!guest || guest->refused) return;
    bool good = wire_get_hello(&from, &hello);
    if (!is_taken(w, &hello, good, &trouble)) {
        refuse(w, guest, good ? hello.host : "?", &trouble);
        trouble_close(&trouble);
        return;
    }
    NodeId node = {(uint16_t)free_place(w)};
    Life *life = &w->lives[node.i];
    guest->since = 0;
    life->peer = peer;
    life->connected = life->wanted = true;
    life->leaves = life->stopped = false;
    life->pid = hello.pid;
    life->limit = w->job->machine.workers.memory;
    life->copies_room = hello.memory - other_memory(w);
    life->copies_most = 0;
    life->lives++;
    snprintf(life->host, sizeof life->host, "%s", hello.host);
    if (membership_hello(&w->membership, node, w->d->now) == MEMBER_WELCOME)
        lives_welcome(w, node);
}

// It has all that the job reads.
bool joins_ready(Workers *w, NodeId node) {
    Life *life = &w->lives[node.i];
    Text text = {0};
    if (!lives_is_place(w, node) || life->up) return false;
    sb_text_format(&text, "worker %u has joined from %s", node.i, life->host);
    say(w, "joined", &text);
    w->alone_since = 0;
    poison_begin(w->poison, node);
    lives_bring_up(w, node);
    return true;
}

// It cannot take part, and ends.
bool joins_cannot(Workers *w, NodeId node, Unpack *from) {
    Life *life = &w->lives[node.i];
    Trouble trouble = {0};
    Text line = {0};
    if (!lives_is_place(w, node) || life->up || !wire_get_trouble(from, &trouble)) return false;
    sb_text_format(&line, "the worker of '%s' cannot take part: %s", life->host, trouble.text);
    sb_text_add(&line, "", 1);
    if (!line.failed) joins_turned(w, line.ptr);
    sb_text_close(&line);
    trouble_close(&trouble);
    life->stopped = true;
    return true;
}

// ---- bytes of its arena -------------------------------------------------------------------------

// The first bytes of a block come with its size: it is taken here, too. Until a message speaks of
// the block it belongs to the connection.
static bool claim(Workers *w, NodeId node, const WireBlock *block) {
    WireBlocks *arrived = &w->arrived[node.i];
    if (!arena_claim(w->mirrors[node.i], block->at, block->bytes)) return false;
    wire_add_block(arrived, block->at, block->bytes);
    return !arrived->failed;
}

bool joins_block(Workers *w, NodeId node, Unpack *from, RowRange *piece, const char **bytes) {
    WireBlock block;
    if (!lives_is_place(w, node) || !wire_get_block(from, &block, piece, bytes)) return false;
    bool good = arena_space_find(&w->space, block.at, block.bytes) == node.i &&
                piece->at >= (char *)block.at && piece->bytes <= block.bytes &&
                piece->at - (char *)block.at <= block.bytes - piece->bytes;
    return good && (piece->at != block.at || claim(w, node, &block));
}

bool joins_own(Workers *w, NodeId node, const WireBlocks *blocks) {
    if (!lives_is_place(w, node)) return true;
    WireBlocks *arrived = &w->arrived[node.i];
    for (uint32_t b = 0; b < blocks->count; b++) {
        uint32_t i = 0;
        while (i < arrived->count && (arrived->items[i].at != blocks->items[b].at ||
                                      arrived->items[i].bytes != blocks->items[b].bytes))
            i++;
        if (i == arrived->count) return false;
        arrived->items[i] = arrived->items[--arrived->count];
    }
    return true;
}

void joins_give(const Workers *w, NodeId node, const WireBlocks *blocks) {
    for (uint32_t i = 0; lives_is_place(w, node) && i < blocks->count; i++)
        arena_give(w->mirrors[node.i], blocks->items[i].at, blocks->items[i].bytes);
}

bool joins_run(Workers *w, NodeId node, Unpack *from) {
    WireRun run;
    Life *life = &w->lives[node.i];
    if (!lives_is_place(w, node) || !wire_get_run(from, &run) || run.at < 0) return false;
    int64_t end = run.at + run.bytes.len;
    if (life->spilled < end) life->spilled = end;
    Welcome files = {0};
    far_fills_welcome(w->d, node, &files);
    if (run.file < files.first_file || run.file - files.first_file >= files.lanes) return false;
    Spill *spill = w->d->own->spill;
    if (!spill_place_bytes(spill, run.file, run.at, run.bytes)) dispatch_stop(w->d);
    return true;
}

// ---- what happens by itself ---------------------------------------------------------------------

// The connection is over: the place is free for another worker.
void joins_replace(Workers *w, NodeId node) {
    Life *life = &w->lives[node.i];
    if (w->members[node.i].state != WORKER_LOST || life->connected || life->losing) return;
    joins_give(w, node, &w->arrived[node.i]);
    wire_close_blocks(&w->arrived[node.i]);
    membership_reaped(&w->membership, node);
    poison_died(w->poison, node, 0);
    life->leaves = life->stopped = false;
    life->pid = 0;
}

void joins_tick(Workers *w) {
    int64_t now = w->d->now, limit = lives_timeout(w);
    for (uint32_t i = 0; i < GUESTS_MAX; i++) {
        Guest *guest = &w->guests[i];
        if (guest->since == 0 || now - guest->since < (guest->refused ? REFUSED_STAYS : limit))
            continue;
        if (!guest->refused) joins_turned(w, "a connection says nothing, and is closed");
        guest->since = 0;
        links_end(w->links, guest->peer);
    }
    if (w->own > 0 || w->alone_since == 0 || now - w->alone_since < limit) return;
    w->alone_since = 0;
    log_warn(&w->job->log, TROUBLE_JOIN_NONE, "the job waits: no worker has joined yet");
}
