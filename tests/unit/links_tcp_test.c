// Links over TCP on loopback, plain and with a key: the same frames arrive, and who has another key
// is turned away. `links_tcp_test times` prints what a frame there and back takes.
#define _GNU_SOURCE
#include "tests/unit/link_proxy.h"
#include "tests/unit/link_side.h"
#include "tests/unit/link_times.h"

static const LinkMake *const makes[] = {&link_tcp, &link_unix, nullptr};
static const LinkKey key = {.bytes = {1, 2, 3}}, other_key = {.bytes = {1, 2, 4}};
static const LinkKey *const keys[] = {nullptr, &key};  // The ways to connect.

// A side that listens, and one that connects.
typedef struct Pair {
    Side        server, client;
    LinkAddress bound;
    PeerId      peer;  // Of the client.
} Pair;

static void pair_open(Pair *pair, LinksSetup server, LinksSetup client) {
    Trouble trouble = {0};
    side_open(&pair->server, server);
    side_open(&pair->client, client);
    CHECK_SAYS(links_listen(pair->server.links, "tcp:127.0.0.1:0", &pair->bound, &trouble), "%s",
               trouble.text);
    CHECK(strncmp(pair->bound.text, "tcp:127.0.0.1:", 14) == 0 && pair->bound.text[14] != '0');
    CHECK_SAYS(links_connect(pair->client.links, pair->bound.text, &pair->peer, &trouble), "%s",
               trouble.text);
}

static void pair_close(Pair *pair) {
    side_close(&pair->client);
    side_close(&pair->server);
}

static int port_of(const Pair *pair) { return atoi(strrchr(pair->bound.text, ':') + 1); }

// ---- frames -------------------------------------------------------------------------------------

enum { THREADS = 4, FRAMES = 3000, LEN_MAX = 40000 };

typedef struct Received {
    uint32_t next[THREADS];
    int64_t  wrong;
} Received;

static int64_t len_of(uint32_t number) {
    return number % 50 == 0 ? LEN_MAX - number : number * 37 % 700;
}

static void check_frame(Side *side, PeerId peer, const Frame *frame) {
    Received *received = side->arg;
    (void)peer;
    bool good = frame->epoch < THREADS && frame->number == received->next[frame->epoch]++ &&
                frame->len == len_of(frame->number) && (uintptr_t)frame->bytes % FRAME_ALIGN == 0;
    for (int64_t i = 0; good && i < frame->len; i++)
        good = frame->bytes[i] == (char)(i * 31 + frame->number);
    received->wrong += !good;
}

typedef struct Sender {
    Pair    *pair;
    uint32_t thread;
} Sender;

static void *send_many(void *arg) {
    const Sender *sender = arg;
    Pair *pair = sender->pair;
    char *bytes = malloc(LEN_MAX);
    for (uint32_t n = 0; n < FRAMES; n++) {
        int64_t len = len_of(n), first = n % 3 == 0 ? len : len / 3;
        for (int64_t i = 0; i < len; i++) bytes[i] = (char)(i * 31 + n);
        struct iovec rest = {bytes + first, (size_t)(len - first)};
        Frame frame = {.epoch = sender->thread, .number = n, .bytes = bytes, .len = first};
        CHECK(links_send(pair->client.links, pair->peer, &frame, &rest, 1));
    }
    free(bytes);
    return nullptr;
}

// From several threads, and back by the echo, in the order of each thread.
static void many_frames_come_in_order(void) {
    for (size_t k = 0; k < 2; k++) {
        Pair pair = {.server.echoes = true};
        Received there = {0}, back = {0};
        pthread_t threads[THREADS];
        Sender senders[THREADS];
        LinksSetup setup = side_setup(makes, keys[k]);
        setup.queue_bytes_max = (int64_t)1 << 40;
        pair.server.on_frame = pair.client.on_frame = check_frame;
        pair.server.arg = &there, pair.client.arg = &back;
        pair_open(&pair, setup, setup);
        CHECK(side_wait(&pair.client, &pair.client.opened, 1));
        for (uint32_t i = 0; i < THREADS; i++) {
            senders[i] = (Sender){&pair, i};
            pthread_create(&threads[i], nullptr, send_many, &senders[i]);
        }
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], nullptr);
        CHECK(side_wait(&pair.client, &pair.client.frames, THREADS * FRAMES));
        CHECK(side_wait(&pair.server, &pair.server.frames, THREADS * FRAMES));
        CHECK_SAYS(there.wrong == 0 && back.wrong == 0, "%lld and %lld", (long long)there.wrong,
                   (long long)back.wrong);
        CHECK(pair.client.ended == 0 && pair.server.ended == 0);
        pair_close(&pair);
    }
}

static void check_large(Side *side, PeerId peer, const Frame *frame) {
    const Checksum *sum = side->arg;
    (void)peer;
    CHECK(checksum_same(*sum, checksum_of(frame->bytes, frame->len)));
}

static void large_frames_come_whole(void) {
    char *bytes = malloc((size_t)FRAME_BYTES_MAX);
    for (int64_t i = 0; i < FRAME_BYTES_MAX; i++) bytes[i] = (char)(i * i >> 7);
    Checksum sum = checksum_of(bytes, FRAME_BYTES_MAX);
    for (size_t k = 0; k < 2; k++) {
        Pair pair = {.server = {.echoes = true, .on_frame = check_large, .arg = &sum}};
        LinksSetup setup = side_setup(makes, keys[k]);
        setup.queue_bytes_max = 2 * FRAME_BYTES_MAX;
        pair.client.on_frame = check_large, pair.client.arg = &sum;
        pair_open(&pair, setup, setup);
        CHECK(side_wait(&pair.client, &pair.client.opened, 1));
        for (int i = 0; i < 2; i++)
            CHECK(links_send(pair.client.links, pair.peer,
                             &(Frame){.bytes = bytes, .len = FRAME_BYTES_MAX}, nullptr, 0));
        CHECK(side_wait(&pair.client, &pair.client.frames, 2) && pair.client.ended == 0);
        pair_close(&pair);
    }
    free(bytes);
}

static void many_peers_connect(void) {
    for (size_t k = 0; k < 2; k++) {
        Pair pair = {.server.echoes = true};
        PeerId peers[64];
        Trouble trouble = {0};
        pair_open(&pair, side_setup(makes, keys[k]), side_setup(makes, keys[k]));
        peers[0] = pair.peer;
        for (int i = 1; i < 64; i++)
            CHECK(links_connect(pair.client.links, pair.bound.text, &peers[i], &trouble));
        CHECK(side_wait(&pair.client, &pair.client.opened, 64));
        for (uint32_t n = 0; n < 50; n++)
            for (int i = 0; i < 64; i++)
                CHECK(links_send(pair.client.links, peers[i], &(Frame){.number = n}, nullptr, 0));
        CHECK(side_wait(&pair.client, &pair.client.frames, 3200));
        side_close(&pair.server);
        CHECK(side_wait(&pair.client, &pair.client.ended, 64));
        side_close(&pair.client);
    }
}

// Sides that do not read in time are told of by both ways to connect.
static void slow_it_down(Side *side, PeerId peer, const Frame *frame) {
    (void)peer, (void)frame;
    const _Atomic int *goes_on = side->arg;
    while (!*goes_on) usleep(1000);
}

static void a_slow_reader_is_behind(void) {
    for (size_t k = 0; k < 2; k++) {
        _Atomic int goes_on = 0;
        Pair pair = {.server = {.on_frame = slow_it_down, .arg = &goes_on}};
        char *bytes = calloc(1, 1 << 20);
        pair_open(&pair, side_setup(makes, keys[k]), side_setup(makes, keys[k]));
        CHECK(side_wait(&pair.client, &pair.client.opened, 1));
        int sent = 0;
        while (sent < 1000 && links_send(pair.client.links, pair.peer,
                                         &(Frame){.bytes = bytes, .len = 1 << 20}, nullptr, 0))
            sent++;
        CHECK_SAYS(sent >= 8 && sent < 100, "%d", sent);
        side_ends(&pair.client, LINK_END_BEHIND, "the other side reads too slowly");
        goes_on = 1;
        free(bytes);
        pair_close(&pair);
    }
}

// ---- keys ---------------------------------------------------------------------------------------

static void another_key_is_refused(void) {
    Pair pair = {0};
    pair_open(&pair, side_setup(makes, &key), side_setup(makes, &other_key));
    side_ends(&pair.client, LINK_END_KEY, "the other side has another key, or none");
    side_refuses(&pair.server, LINK_END_KEY, "the other side has another key, or none");
    CHECK(pair.server.opened == 0 && pair.client.opened == 0);
    pair_close(&pair);
}

// The client without a key is open, and ends with its first frame.
static void plain_does_not_meet_encrypted(void) {
    Pair pair = {0};
    pair_open(&pair, side_setup(makes, &key), side_setup(makes, nullptr));
    CHECK(side_wait(&pair.client, &pair.client.opened, 1));
    CHECK(links_send(pair.client.links, pair.peer, &(Frame){0}, nullptr, 0));
    side_refuses(&pair.server, LINK_END_NO_FRAME, "what came is not encrypted as TLS 1.3");
    CHECK(side_wait(&pair.client, &pair.client.ended, 1) && pair.server.opened == 0);
    pair_close(&pair);
    pair = (Pair){0};
    pair_open(&pair, side_setup(makes, nullptr), side_setup(makes, &key));
    side_ends(&pair.server, LINK_END_NO_FRAME, "the other side speaks TLS, and this side does not");
    side_ends(&pair.client, LINK_END_CLOSED, "the other side has closed the connection");
    CHECK(pair.client.opened == 0);
    pair_close(&pair);
}

// A socket of the test alone that has connected to the server.
static int raw_socket(const Pair *pair) {
    struct sockaddr_in to = proxy_address(pair->bound.text);
    return proxy_connect(&to);
}

static void server_open(Pair *pair, LinksSetup setup) {
    Trouble trouble = {0};
    side_open(&pair->server, setup);
    CHECK(links_listen(pair->server.links, "tcp:127.0.0.1:0", &pair->bound, &trouble));
}

// Who connects and says nothing is turned away in time.
static void silence_is_refused(void) {
    Pair pair = {0};
    LinksSetup setup = side_setup(makes, &key);
    setup.timeout_ns = SECOND_NS / 4;
    server_open(&pair, setup);
    int64_t begin = side_now();
    int fd = raw_socket(&pair);
    side_refuses(&pair.server, LINK_END_ERROR, "no connection within 0.25 s");
    CHECK(side_now() - begin >= setup.timeout_ns);
    close(fd);
    side_close(&pair.server);
}

static void strangers_are_refused(void) {
    static const char *const says[] = {"GET / HTTP/1.1\r\n\r\n", "SSH-2.0-OpenSSH\r\n"};
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        Pair pair = {0};
        server_open(&pair, side_setup(makes, &key));
        int fd = raw_socket(&pair);
        side_write(fd, says[i], (int64_t)strlen(says[i]));
        side_refuses(&pair.server, LINK_END_NO_FRAME, "what came is not encrypted as TLS 1.3");
        close(fd);
        side_close(&pair.server);
    }
}

// Any byte that is changed on the way, of the handshake or after it: no wrong frame comes, and both
// sides end.
static void changed_bytes_end_it(void) {
    for (int64_t at = 0; at < 520; at += 13) {
        Pair pair = {0};
        Trouble trouble = {0};
        LinksSetup setup = side_setup(makes, &key);
        char name[64];
        setup.timeout_ns = SECOND_NS;
        server_open(&pair, setup);
        side_open(&pair.client, setup);
        Proxy *proxy = calloc(1, sizeof *proxy);
        proxy->change_at = at;
        proxy_open(proxy, pair.bound.text);
        snprintf(name, sizeof name, "tcp:127.0.0.1:%d", proxy->port);
        CHECK(links_connect(pair.client.links, name, &pair.peer, &trouble));
        while (pair.client.opened == 0 && pair.client.ended == 0) usleep(500);
        for (uint32_t n = 0; n < 10; n++)
            links_send(pair.client.links, pair.peer, &(Frame){.number = n}, nullptr, 0);
        CHECK_SAYS(side_wait(&pair.client, &pair.client.ended, 1), "byte %lld", (long long)at);
        proxy_close(proxy);
        CHECK_SAYS(proxy->passed > at, "only %lld bytes", (long long)proxy->passed);
        CHECK_SAYS(pair.server.frames == 0 || at > 300, "byte %lld", (long long)at);
        CHECK(pair.server.frames < 10);
        free(proxy);
        pair_close(&pair);
    }
}

// ---- addresses ----------------------------------------------------------------------------------

static void addresses_are_judged(void) {
    static const struct {
        const char *address, *says;
    } wrong[] = {
        {"tcp:", "it names no host and port"},
        {"tcp:localhost", "it names no host and port"},
        {"tcp::9000", "it names no host and port"},
        {"tcp:::1:9000", "it names no host and port"},
        {"tcp:[::1:9000", "it names no host and port"},
        {"tcp:127.0.0.1:", "'' is no port"},
        {"tcp:127.0.0.1:http", "'http' is no port"},
        {"tcp:127.0.0.1:65536", "'65536' is no port"},
        {"tcp:127.0.0.1:-1", "'-1' is no port"},
        {"tcp:no.such.host.invalid:9000", "its host 'no.such.host.invalid' is not found"},
        {"udp:127.0.0.1:9000", "it does not begin with a way to connect"},
    };
    Side side = {0};
    PeerId peer;
    LinkAddress bound;
    side_open(&side, side_setup(makes, nullptr));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Trouble a = {0}, b = {0};
        CHECK(!links_connect(side.links, wrong[i].address, &peer, &a));
        CHECK(!links_listen(side.links, wrong[i].address, &bound, &b));
        CHECK_SAYS(a.kind == TROUBLE_LINK_ADDRESS && strstr(a.text, wrong[i].says), "%s", a.text);
        CHECK_SAYS(b.kind == TROUBLE_LINK_ADDRESS && strstr(b.text, wrong[i].says), "%s", b.text);
        CHECK(strcmp(a.fix, "write it as tcp:HOST:PORT, or unix:PATH") == 0);
    }
    Trouble trouble = {0};
    CHECK(!links_connect(side.links, "tcp:127.0.0.1:0", &peer, &trouble));
    CHECK_SAYS(strstr(trouble.text, "'0' is no port to connect to"), "%s", trouble.text);
    side_close(&side);
}

// Without a key nothing leaves the machine.
static void a_key_is_needed_off_loopback(void) {
    static const char *const outside[] = {"tcp:0.0.0.0:0", "tcp:[::]:0", "tcp:192.0.2.1:9000"};
    static const char *const inside[] = {"tcp:127.0.0.1:0", "tcp:127.3.4.5:0", "tcp:localhost:0"};
    Side side = {0}, keyed = {0};
    LinkAddress bound;
    PeerId peer;
    side_open(&side, side_setup(makes, nullptr));
    side_open(&keyed, side_setup(makes, &key));
    for (size_t i = 0; i < 3; i++) {
        Trouble trouble = {0};
        CHECK(!links_listen(side.links, outside[i], &bound, &trouble));
        CHECK_SAYS(trouble.kind == TROUBLE_LINK_KEY, "%s", trouble.text);
        trouble_clear(&trouble);
        CHECK_SAYS(links_listen(side.links, inside[i], &bound, &trouble), "%s", trouble.text);
    }
    Trouble trouble = {0};
    CHECK(!links_connect(side.links, outside[2], &peer, &trouble));
    CHECK(trouble.kind == TROUBLE_LINK_KEY);
    trouble_clear(&trouble);
    CHECK_SAYS(links_listen(keyed.links, outside[0], &bound, &trouble), "%s", trouble.text);
    side_close(&side);
    side_close(&keyed);
}

// Of the addresses of a name the one that answers is taken; nobody there is said.
static void names_lead_somewhere(void) {
    Pair pair = {0};
    Trouble trouble = {0};
    char name[64];
    pair_open(&pair, side_setup(makes, nullptr), side_setup(makes, nullptr));
    CHECK(side_wait(&pair.client, &pair.client.opened, 1));
    snprintf(name, sizeof name, "tcp:localhost:%d", port_of(&pair));
    CHECK_SAYS(links_connect(pair.client.links, name, &pair.peer, &trouble), "%s", trouble.text);
    CHECK(side_wait(&pair.client, &pair.client.opened, 2));
    LinkAddress again;
    CHECK(!links_listen(pair.client.links, pair.bound.text, &again, &trouble));
    CHECK_SAYS(trouble.kind == TROUBLE_LINK_LISTEN && strstr(trouble.text, "in use"), "%s",
               trouble.text);
    side_close(&pair.server);
    CHECK(side_wait(&pair.client, &pair.client.ended, 2));
    trouble_clear(&trouble);
    // A connection that fails at once, or soon.
    if (links_connect(pair.client.links, name, &pair.peer, &trouble)) {
        CHECK(side_wait(&pair.client, &pair.client.ended, 3));
        side_says(&pair.client, LINK_END_ERROR, "cannot connect: Connection refused");
    } else {
        CHECK_SAYS(trouble.kind == TROUBLE_LINK_CONNECT, "%s", trouble.text);
    }
    side_close(&pair.client);
}

// ---- times --------------------------------------------------------------------------------------

static void times(void) {
    for (size_t k = 0; k < 2; k++) {
        int port[2];
        CHECK(pipe(port) == 0);
        pid_t child = fork();
        Pair pair = {.server.echoes = true};
        if (child == 0) {
            server_open(&pair, side_setup(makes, keys[k]));
            (void)!write(port[1], &pair.bound, sizeof pair.bound);
            _exit(!side_wait(&pair.server, &pair.server.ended, 1));
        }
        CHECK(read(port[0], &pair.bound, sizeof pair.bound) == sizeof pair.bound);
        Trouble trouble = {0};
        side_open(&pair.client, side_setup(makes, keys[k]));
        CHECK(links_connect(pair.client.links, pair.bound.text, &pair.peer, &trouble));
        CHECK(side_wait(&pair.client, &pair.client.opened, 1));
        link_times(k ? "TLS" : "TCP", &pair.client, pair.peer);
        side_close(&pair.client);
        link_times_end(child);
        close(port[0]), close(port[1]);
    }
}

static const UnitTest tests[] = {
    {"many_frames_come_in_order", many_frames_come_in_order},
    {"large_frames_come_whole", large_frames_come_whole},
    {"many_peers_connect", many_peers_connect},
    {"a_slow_reader_is_behind", a_slow_reader_is_behind},
    {"another_key_is_refused", another_key_is_refused},
    {"plain_does_not_meet_encrypted", plain_does_not_meet_encrypted},
    {"silence_is_refused", silence_is_refused},
    {"strangers_are_refused", strangers_are_refused},
    {"changed_bytes_end_it", changed_bytes_end_it},
    {"addresses_are_judged", addresses_are_judged},
    {"a_key_is_needed_off_loopback", a_key_is_needed_off_loopback},
    {"names_lead_somewhere", names_lead_somewhere},
};

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "times") == 0) {
        times();
        return unit_failures > 0;
    }
    return unit_main("links_tcp", tests, sizeof tests / sizeof *tests, argc, argv);
}
