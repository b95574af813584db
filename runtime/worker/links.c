#define _GNU_SOURCE
#include "runtime/worker/links.h"

#include "runtime/crash.h"
#include "runtime/worker/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <uv.h>

enum { ROOM_BYTES = 256 << 10, ROOM_ALIGN = 64, ACCEPTS_MAX = 64 };
enum { LOOP_FILES = 8 };  // What a loop opens at most.
enum : int64_t { MS = 1000000, WATCH_MS_MIN = 10, WATCH_MS_MAX = 200, WATCH_PARTS = 10 };

typedef struct LinkPeer LinkPeer;

struct LinkPeer {
    Peer            peer;
    Links          *links;
    LinkPeer       *next;     // Of those that the loop has to look at, under the lock of the links.
    bool            listed;
    LinkPeer       *next_later;  // Of those for which frames wait to be written together.
    bool            later;
    bool            accepted;
    const LinkMake *make;     // nullptr: adopted.
    LinkFound      *found;    // Where it connects to.
    int64_t         until_ns; // It has to be up by then.
    // The loop's.
    bool            polled;   // It has a handle.
    int             events;   // That it waits for.
    uint64_t        acked;    // Bytes that the other side has acknowledged.
    int64_t         acked_ns; // Since then something waits for the next acknowledgement.
    uv_poll_t       poll;
};

typedef struct Listener {
    Links          *links;
    const LinkMake *make;
    LinkTarget      bound;
    int             fd;
    bool            polled, paused;  // The loop's. paused: no descriptor for the next one.
    uv_poll_t       poll;
} Listener;

struct Links {
    LinksSetup      setup;
    LinkKey         key;
    pthread_t       thread;
    pthread_mutex_t lock;      // Of what follows. Taken after that of a peer, if both are.
    LinkPeer       *todo;      // To be looked at by the loop.
    LinkPeer       *later;     // To be written to, before the loop sleeps.
    bool            closing;
    uint32_t        listener_count;
    Listener        listeners[LINK_LISTENERS_MAX];
    LinkPeer       *peers;
    // The loop's.
    uv_loop_t       loop;
    uv_async_t      wake;
    uv_timer_t      tick, watch;
    uv_prepare_t    turn;      // Before the loop sleeps.
    PeerReader      reader;
};

// Of a thread that runs a loop.
static thread_local const Links *own_links __attribute__((tls_model("initial-exec")));

static int64_t now_ns(void) { return (int64_t)uv_hrtime(); }

// ---- what the loop has to look at ---------------------------------------------------------------

static void tell(LinkPeer *at) {
    Links *links = at->links;
    pthread_mutex_lock(&links->lock);
    if (!at->listed) {
        at->listed = true;
        at->next = links->todo;
        links->todo = at;
    }
    pthread_mutex_unlock(&links->lock);
    uv_async_send(&links->wake);
}

// The next of those that were there when the loop began to look.
static LinkPeer *take_told(Links *links, LinkPeer **list) {
    LinkPeer *at = *list;
    if (!at) return nullptr;
    pthread_mutex_lock(&links->lock);
    *list = at->next;
    at->listed = false;
    pthread_mutex_unlock(&links->lock);
    return at;
}

static void write_later(LinkPeer *at) {
    Links *links = at->links;
    pthread_mutex_lock(&links->lock);
    if (!at->later) {
        at->later = true;
        at->next_later = links->later;
        links->later = at;
    }
    pthread_mutex_unlock(&links->lock);
}

static LinkPeer *take_later(Links *links) {
    pthread_mutex_lock(&links->lock);
    LinkPeer *at = links->later;
    if (at) links->later = at->next_later;
    if (at) at->later = false;
    pthread_mutex_unlock(&links->lock);
    return at;
}

// ---- places of peers ----------------------------------------------------------------------------

// A place for a connection over `fd`, with its id. nullptr: there are peers_max of them.
static LinkPeer *take_place(Links *links, int fd) {
    for (uint32_t i = 0; i < links->setup.peers_max; i++) {
        LinkPeer *at = &links->peers[i];
        Peer *peer = &at->peer;
        if (peer->state != PEER_FREE) continue;
        pthread_mutex_lock(&peer->lock);
        bool free = peer->state == PEER_FREE;
        if (free) {
            peer->id.life++;
            peer->fd = fd;
            peer->channel = &link_plain;
            peer->state = PEER_TAKEN;
        }
        pthread_mutex_unlock(&peer->lock);
        if (free) return at;
    }
    return nullptr;
}

// The one who took it has filled it in.
static void set_state(LinkPeer *at, PeerState state) {
    pthread_mutex_lock(&at->peer.lock);
    at->peer.state = state;
    pthread_mutex_unlock(&at->peer.lock);
}

static void free_place(LinkPeer *at) {
    pthread_mutex_lock(&at->peer.lock);
    free(at->found);
    at->found = nullptr;
    at->make = nullptr;
    at->accepted = at->polled = false;
    at->events = 0;
    at->peer.state = PEER_FREE;
    pthread_mutex_unlock(&at->peer.lock);
}

static void on_gone(uv_handle_t *handle) { free_place(handle->data); }

static void close_peer(LinkPeer *at) {
    set_state(at, PEER_GONE);
    if (at->polled) uv_close((uv_handle_t *)&at->poll, on_gone);
    peer_close(&at->peer);
    if (!at->polled) free_place(at);
}

static void refused(const Links *links, const LinkWhy *why) {
    const LinksSetup *setup = &links->setup;
    if (setup->calls.refused) setup->calls.refused(setup->self, why->end, why->text);
}

// The state is PEER_ENDING, and `why` is set.
static void finish(LinkPeer *at, bool known) {
    const LinksSetup *setup = &at->links->setup;
    PeerId id = at->peer.id;
    LinkWhy why = at->peer.why;
    close_peer(at);
    if (!known) refused(at->links, &why);
    else if (setup->calls.closed) setup->calls.closed(setup->self, id, why.end, why.text);
}

static void fail(LinkPeer *at, const LinkWhy *why) {
    pthread_mutex_lock(&at->peer.lock);
    // The caller was not told of an accepted connection that never was up.
    bool known = !at->accepted || at->peer.state >= PEER_OPEN;
    peer_fails(&at->peer, PEER_ENDING, why);
    pthread_mutex_unlock(&at->peer.lock);
    finish(at, known);
}

// ---- reading and writing ------------------------------------------------------------------------

static void on_event(uv_poll_t *poll, int status, int events);

// Waits for these events from now on. False: it is over.
static bool wait_for(LinkPeer *at, int events) {
    LinkWhy why;
    if (at->polled && at->events == events) return true;
    int error = at->polled ? 0 : uv_poll_init(&at->links->loop, &at->poll, at->peer.fd);
    at->poll.data = at;
    at->polled |= error == 0;
    if (error == 0) error = uv_poll_start(&at->poll, events, on_event);
    at->events = events;
    if (error == 0) return true;
    link_breaks(&why, -error);
    fail(at, &why);
    return false;
}

static void read_peer(LinkPeer *at) {
    PeerGot got;
    // What is broken is read to its end.
    do got = peer_read(&at->peer, &at->links->reader);
    while (got != PEER_GOT_END && at->peer.state == PEER_BROKEN);
    if (got == PEER_GOT_END) finish(at, true);
    else if (got == PEER_GOT_MORE) tell(at);
}

static void write_peer(LinkPeer *at) {
    bool more = peer_flush(&at->peer);
    if (at->peer.state == PEER_BROKEN) read_peer(at);
    else wait_for(at, more ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

// What was sent in calls of this turn, and what may wait until one.
static void on_turn(uv_prepare_t *turn) {
    Links *links = turn->data;
    for (LinkPeer *at; (at = take_later(links));) {
        bool more = peer_flush(&at->peer);
        if (more || at->peer.state == PEER_BROKEN) tell(at);
    }
}

// ---- coming up ----------------------------------------------------------------------------------

static void watch_soon(Links *links);

static void opened(LinkPeer *at) {
    const LinksSetup *setup = &at->links->setup;
    PeerId id = at->peer.id;
    free(at->found);
    at->found = nullptr;
    at->acked = 0;
    at->acked_ns = now_ns();
    if (!wait_for(at, UV_READABLE)) return;
    if (setup->calls.opened) setup->calls.opened(setup->self, id);
    tell(at);  // The channel may hold bytes already.
}

static void shake(LinkPeer *at) {
    Peer *peer = &at->peer;
    LinkWhy why;
    pthread_mutex_lock(&peer->lock);
    bool ends = peer->state != PEER_SHAKING;
    LinkShake shaken = ends ? LINK_SHAKE_FAILED : peer->channel->shake(peer->session, &why);
    if (shaken == LINK_SHAKEN) peer->state = PEER_OPEN;
    pthread_mutex_unlock(&peer->lock);
    if (ends) return;  // The loop was told of it.
    switch (shaken) {
    case LINK_SHAKEN: opened(at); break;
    case LINK_WANTS_READ: wait_for(at, UV_READABLE); break;
    case LINK_WANTS_WRITE: wait_for(at, UV_WRITABLE); break;
    case LINK_SHAKE_FAILED: fail(at, &why); break;
    }
}

// The socket is connected: its channel begins.
static void connected(LinkPeer *at) {
    Links *links = at->links;
    Peer *peer = &at->peer;
    const LinkChannel *secure = links->setup.key ? at->make->secure : nullptr;
    LinkWhy why;
    pthread_mutex_lock(&peer->lock);
    bool goes_on = peer->state == PEER_CONNECTING;
    if (goes_on) {
        peer->state = PEER_SHAKING;
        peer->channel = secure ? secure : &link_plain;
        peer->session = peer->channel->open(links->setup.key, peer->fd, at->accepted, &why);
    }
    pthread_mutex_unlock(&peer->lock);
    if (!goes_on) return;
    if (peer->session) shake(at);
    else fail(at, &why);
}

// Another target of the same name, over the same descriptor. False: there is none.
static bool try_next(LinkPeer *at) {
    LinkWhy why;
    int fd = link_connect(at->found, at->links->setup.timeout_ns, &why);
    if (fd < 0) return false;
    uv_poll_stop(&at->poll);
    at->events = 0;
    bool good = dup3(fd, at->peer.fd, O_CLOEXEC) >= 0;
    close(fd);
    return good;
}

static void connecting(LinkPeer *at) {
    LinkWhy why;
    int error = 0;
    socklen_t len = sizeof error;
    getsockopt(at->peer.fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error == 0) {
        connected(at);
    } else if (try_next(at)) {
        wait_for(at, UV_WRITABLE);
    } else {
        link_fails(&why, LINK_END_ERROR, "cannot connect: %s", strerror(error));
        fail(at, &why);
    }
}

// ---- events -------------------------------------------------------------------------------------

// The system says that a connection is broken. What came before is read.
static void broken(LinkPeer *at) {
    LinkWhy why;
    int error = 0;
    socklen_t len = sizeof error;
    getsockopt(at->peer.fd, SOL_SOCKET, SO_ERROR, &error, &len);
    link_breaks(&why, error ? error : EPIPE);
    pthread_mutex_lock(&at->peer.lock);
    peer_fails(&at->peer, PEER_BROKEN, &why);
    pthread_mutex_unlock(&at->peer.lock);
    read_peer(at);
}

static void on_event(uv_poll_t *poll, int status, int events) {
    LinkPeer *at = poll->data;
    if (status < 0) at->events = 0;  // libuv has stopped it.
    switch ((PeerState)at->peer.state) {
    case PEER_CONNECTING: connecting(at); break;
    case PEER_SHAKING: shake(at); break;
    case PEER_OPEN:
    case PEER_BROKEN:
        if (status < 0) broken(at);
        else if (events & UV_WRITABLE) write_peer(at);
        if (status >= 0 && (events & UV_READABLE) && at->peer.state == PEER_OPEN) read_peer(at);
        break;
    case PEER_FREE:
    case PEER_TAKEN:
    case PEER_ENDING:  // The loop was told of it.
    case PEER_GONE: break;
    }
}

static void look(LinkPeer *at) {
    switch ((PeerState)at->peer.state) {
    case PEER_CONNECTING:
        if (at->polled) break;
        watch_soon(at->links);
        wait_for(at, UV_WRITABLE);
        break;
    case PEER_OPEN:
        write_peer(at);
        if (at->peer.state == PEER_OPEN) read_peer(at);
        break;
    case PEER_BROKEN: read_peer(at); break;
    case PEER_ENDING: finish(at, true); break;
    case PEER_SHAKING:
    case PEER_FREE:
    case PEER_TAKEN:
    case PEER_GONE: break;
    }
}

// ---- listeners ----------------------------------------------------------------------------------

static void take_accepted(Listener *listener, int fd) {
    Links *links = listener->links;
    LinkWhy why;
    bool good = listener->make->ready(fd, links->setup.timeout_ns, true, &why);
    LinkPeer *at = good ? take_place(links, fd) : nullptr;
    if (good && !at)
        link_fails(&why, LINK_END_ERROR, "there are %u connections, which is the most",
                   links->setup.peers_max);
    if (!at) {
        close(fd);
        refused(links, &why);
        return;
    }
    at->make = listener->make;
    at->accepted = true;
    at->until_ns = now_ns() + links->setup.timeout_ns;
    set_state(at, PEER_CONNECTING);
    watch_soon(links);
    connected(at);
}

static void on_connection(uv_poll_t *poll, int status, int events) {
    Listener *listener = poll->data;
    (void)status, (void)events;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int fd = accept4(listener->fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            take_accepted(listener, fd);
            continue;
        }
        // Without a descriptor for it the next one stays, and would be told of without end.
        if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
        listener->paused = true;
        uv_poll_stop(poll);
        watch_soon(listener->links);
        return;
    }
}

static void start_listeners(Links *links) {
    pthread_mutex_lock(&links->lock);
    uint32_t count = links->listener_count;
    pthread_mutex_unlock(&links->lock);
    for (uint32_t i = 0; i < count; i++) {
        Listener *listener = &links->listeners[i];
        if (listener->polled && !listener->paused) continue;
        if (!listener->polled) uv_poll_init(&links->loop, &listener->poll, listener->fd);
        listener->poll.data = listener;
        listener->polled = true;
        listener->paused = uv_poll_start(&listener->poll, UV_READABLE, on_connection) != 0;
    }
}

// ---- timers -------------------------------------------------------------------------------------

static bool is_coming(const LinkPeer *at) {
    return at->peer.state == PEER_CONNECTING || at->peer.state == PEER_SHAKING;
}

static void watch_coming(LinkPeer *at, int64_t now) {
    const LinksSetup *setup = &at->links->setup;
    LinkWhy why;
    if (now < at->until_ns) return;
    link_fails(&why, LINK_END_ERROR, "no connection within %g s", (double)setup->timeout_ns / 1e9);
    fail(at, &why);
}

// The system has a timeout of its own, which does not count what never left this machine.
static void watch_open(LinkPeer *at, int64_t now) {
    const LinksSetup *setup = &at->links->setup;
    LinkWhy why;
    uint64_t acked;
    bool waits = at->make->waits(at->peer.fd, &acked);
    if (!waits || acked != at->acked) {
        at->acked = acked;
        at->acked_ns = now;
        return;
    }
    if (now - at->acked_ns < setup->timeout_ns) return;
    link_fails(&why, LINK_END_ERROR, "nothing was acknowledged within %g s",
               (double)setup->timeout_ns / 1e9);
    fail(at, &why);
}

// Ends what is not up in time, or is no more. It runs as long as there is any such peer.
static void on_watch(uv_timer_t *timer) {
    Links *links = timer->data;
    bool goes_on = false;
    int64_t now = now_ns();
    start_listeners(links);
    for (uint32_t i = 0; i < links->setup.peers_max; i++) {
        LinkPeer *at = &links->peers[i];
        bool coming = is_coming(at);
        bool open = at->peer.state == PEER_OPEN && at->make && at->make->waits;
        goes_on |= coming || open;
        if (coming) watch_coming(at, now);
        else if (open) watch_open(at, now);
    }
    for (uint32_t i = 0; i < LINK_LISTENERS_MAX; i++) goes_on |= links->listeners[i].paused;
    if (!goes_on) uv_timer_stop(timer);
}

static void watch_soon(Links *links) {
    int64_t ms = links->setup.timeout_ns / MS / WATCH_PARTS;
    ms = ms < WATCH_MS_MIN ? WATCH_MS_MIN : ms > WATCH_MS_MAX ? WATCH_MS_MAX : ms;
    if (!uv_is_active((uv_handle_t *)&links->watch))
        uv_timer_start(&links->watch, on_watch, (uint64_t)ms, (uint64_t)ms);
}

static void on_tick(uv_timer_t *timer) {
    const Links *links = timer->data;
    links->setup.calls.tick(links->setup.self, now_ns());
}

// ---- the thread ---------------------------------------------------------------------------------

static void close_all(Links *links) {
    for (uint32_t i = 0; i < links->setup.peers_max; i++) {
        PeerState state = links->peers[i].peer.state;
        if (state != PEER_FREE && state != PEER_GONE) close_peer(&links->peers[i]);
    }
    for (uint32_t i = 0; i < links->listener_count; i++) {
        Listener *listener = &links->listeners[i];
        if (listener->polled) uv_close((uv_handle_t *)&listener->poll, nullptr);
        close(listener->fd);
        if (listener->make->left) listener->make->left(&listener->bound);
    }
    uv_close((uv_handle_t *)&links->turn, nullptr);
    uv_close((uv_handle_t *)&links->tick, nullptr);
    uv_close((uv_handle_t *)&links->watch, nullptr);
    uv_close((uv_handle_t *)&links->wake, nullptr);
}

static void on_wake(uv_async_t *wake) {
    Links *links = wake->data;
    pthread_mutex_lock(&links->lock);
    LinkPeer *list = links->todo;
    links->todo = nullptr;
    bool closing = links->closing;
    pthread_mutex_unlock(&links->lock);
    if (closing) {
        close_all(links);
        return;
    }
    start_listeners(links);
    for (LinkPeer *at; (at = take_told(links, &list));) look(at);
}

static void *links_main(void *arg) {
    Links *links = arg;
    own_links = links;
    CrashStack crash_stack;
    crash_stack_open(&crash_stack);
    uv_run(&links->loop, UV_RUN_DEFAULT);
    crash_stack_close(&crash_stack);
    return nullptr;
}

static void no_frame(void *self, PeerId peer, const Frame *frame) {
    (void)self, (void)peer, (void)frame;
}

// libuv ends the process when it gets no descriptors: they have to be there before. An errno.
static int find_files(void) {
    int fds[LOOP_FILES], count = 0, error = 0;
    while (count < LOOP_FILES && (fds[count] = eventfd(0, EFD_CLOEXEC)) >= 0) count++;
    if (count < LOOP_FILES) error = errno;
    while (count > 0) close(fds[--count]);
    return error;
}

// An errno; 0: the loop is there, with its handles.
static int open_loop(Links *links) {
    int error = find_files();
    if (error == 0) error = -uv_loop_init(&links->loop);
    if (error != 0) return error;
    uv_timer_init(&links->loop, &links->tick);
    uv_timer_init(&links->loop, &links->watch);
    uv_prepare_init(&links->loop, &links->turn);
    uv_prepare_start(&links->turn, on_turn);
    links->tick.data = links->watch.data = links->wake.data = links->turn.data = links;
    error = -uv_async_init(&links->loop, &links->wake, on_wake);
    uint64_t tick_ms = (uint64_t)((links->setup.tick_ns + MS - 1) / MS);
    if (tick_ms > 0 && links->setup.calls.tick)
        uv_timer_start(&links->tick, on_tick, tick_ms, tick_ms);
    if (error != 0) uv_loop_close(&links->loop);
    return error;
}

static void free_links(Links *links) {
    for (uint32_t i = 0; links->peers && i < links->setup.peers_max; i++) {
        free(links->peers[i].found);
        peer_destroy(&links->peers[i].peer);
    }
    pthread_mutex_destroy(&links->lock);
    free(links->peers);
    free(links->reader.room);
    free(links);
}

static Links *make_links(const LinksSetup *setup) {
    Links *links = calloc(1, sizeof *links);
    if (!links) return nullptr;
    links->setup = *setup;
    if (setup->key) links->key = *setup->key;
    if (setup->key) links->setup.key = &links->key;
    pthread_mutex_init(&links->lock, nullptr);
    links->peers = calloc(setup->peers_max, sizeof *links->peers);
    links->reader = (PeerReader){.room = aligned_alloc(ROOM_ALIGN, ROOM_BYTES),
                                 .bytes = ROOM_BYTES, .self = setup->self,
                                 .frame = setup->calls.frame ? setup->calls.frame : no_frame};
    bool good = links->peers && links->reader.room;
    for (uint32_t i = 0; good && i < setup->peers_max; i++) {
        links->peers[i].links = links;
        good = peer_init(&links->peers[i].peer, i);
    }
    if (good) return links;
    free_links(links);
    return nullptr;
}

Links *links_open(const LinksSetup *setup, Trouble *trouble) {
    Links *links = make_links(setup);
    if (!links) {
        trouble_no_memory(trouble, "for connections to workers");
        return nullptr;
    }
    int error = open_loop(links);
    if (error == 0) {
        error = pool_thread(&links->thread, links_main, links);
        if (error == 0) return links;
        close_all(links);
        uv_run(&links->loop, UV_RUN_DEFAULT);
        uv_loop_close(&links->loop);
    }
    trouble_set(trouble, TROUBLE_LIMIT, "cannot start the thread for connections: %s",
                strerror(error));
    free_links(links);
    return nullptr;
}

void links_close(Links *links) {
    if (!links) return;
    pthread_mutex_lock(&links->lock);
    links->closing = true;
    pthread_mutex_unlock(&links->lock);
    uv_async_send(&links->wake);
    pthread_join(links->thread, nullptr);
    uv_loop_close(&links->loop);
    free_links(links);
}

// ---- what callers ask for -----------------------------------------------------------------------

static bool too_many(const Links *links, Trouble *trouble) {
    return trouble_set(trouble, TROUBLE_LINK_CONNECT, "there are %u connections, which is the most",
                       links->setup.peers_max);
}

bool links_adopt(Links *links, int fd, PeerId *peer, Trouble *trouble) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    LinkPeer *at = take_place(links, fd);
    if (!at) {
        close(fd);
        return too_many(links, trouble);
    }
    LinkWhy why;
    *peer = at->peer.id;
    at->peer.session = at->peer.channel->open(nullptr, fd, false, &why);
    set_state(at, PEER_OPEN);
    tell(at);
    return true;
}

bool links_listen(Links *links, const char *address, LinkAddress *bound, Trouble *trouble) {
    LinkFound found;
    if (!link_find(&links->setup, address, true, &found, trouble)) return false;
    pthread_mutex_lock(&links->lock);
    Listener *listener = &links->listeners[links->listener_count % LINK_LISTENERS_MAX];
    bool good = links->listener_count < LINK_LISTENERS_MAX;
    if (good) {
        *listener = (Listener){.links = links, .make = found.make};
        listener->fd = link_listen(&found, address, &listener->bound, bound, trouble);
        good = listener->fd >= 0;
    } else {
        trouble_set(trouble, TROUBLE_LINK_LISTEN, "cannot listen at '%s': there are %d listeners",
                    address, LINK_LISTENERS_MAX);
    }
    links->listener_count += good;
    pthread_mutex_unlock(&links->lock);
    if (good) uv_async_send(&links->wake);
    return good;
}

bool links_connect(Links *links, const char *address, PeerId *peer, Trouble *trouble) {
    LinkWhy why;
    LinkFound *found = malloc(sizeof *found);
    if (!found) return trouble_no_memory(trouble, "for connections to workers");
    bool good = link_find(&links->setup, address, false, found, trouble);
    int fd = good ? link_connect(found, links->setup.timeout_ns, &why) : -1;
    if (good && fd < 0)
        good = trouble_set(trouble, TROUBLE_LINK_CONNECT, "cannot connect to '%s': %s", address,
                           why.text);
    LinkPeer *at = good ? take_place(links, fd) : nullptr;
    if (at) {
        at->make = found->make;
        at->found = found;
        at->until_ns = now_ns() + links->setup.timeout_ns;
        *peer = at->peer.id;
        set_state(at, PEER_CONNECTING);
        tell(at);
        return true;
    }
    if (good) too_many(links, trouble);
    if (fd >= 0) close(fd);
    free(found);
    return false;
}

bool links_send(Links *links, PeerId peer, const Frame *frame, const struct iovec *more,
                int count) {
    FramePieces pieces;
    if (peer.i >= links->setup.peers_max) return false;
    LinkPeer *at = &links->peers[peer.i];
    pthread_mutex_lock(&at->peer.lock);
    PeerSent sent = PEER_SENT_NOT;
    if (peer_same(at->peer.id, peer) && frame_pack(&pieces, frame, more, count, at->peer.checksum))
        sent = peer_send(&at->peer, &pieces, frame->may_wait || own_links == links,
                         links->setup.queue_bytes_max);
    pthread_mutex_unlock(&at->peer.lock);
    if (sent == PEER_SENT_LATER) write_later(at);
    if (sent == PEER_SENT_LOOK || sent == PEER_SENT_ENDS) tell(at);
    return sent != PEER_SENT_NOT && sent != PEER_SENT_ENDS;
}

int64_t links_queued(Links *links, PeerId peer) {
    if (peer.i >= links->setup.peers_max) return 0;
    LinkPeer *at = &links->peers[peer.i];
    pthread_mutex_lock(&at->peer.lock);
    const PeerQueue *queue = &at->peer.queue;
    int64_t bytes = peer_same(at->peer.id, peer) ? queue->tail - queue->head : 0;
    pthread_mutex_unlock(&at->peer.lock);
    return bytes;
}

void links_end(Links *links, PeerId peer) {
    LinkWhy why;
    if (peer.i >= links->setup.peers_max) return;
    LinkPeer *at = &links->peers[peer.i];
    link_fails(&why, LINK_END_CLOSED, "this side has closed the connection");
    peer_flush(&at->peer);  // What was sent before in the same call.
    pthread_mutex_lock(&at->peer.lock);
    bool is_it = peer_same(at->peer.id, peer) && at->peer.state != PEER_FREE;
    if (is_it) peer_fails(&at->peer, PEER_ENDING, &why);
    pthread_mutex_unlock(&at->peer.lock);
    if (is_it) tell(at);
}
