// Links over sockets of one machine: what is sent arrives once and in order, or the connection ends
// and says why. `links_test times` prints what a frame there and back takes.
#define _GNU_SOURCE
#include "tests/unit/link_side.h"
#include "tests/unit/link_times.h"

#include <signal.h>
#include <stdatomic.h>

static const LinkMake *const makes[] = {&link_unix, nullptr};

// Two sides of one connection.
typedef struct Pair {
    Side   a, b;
    PeerId to_a, to_b;
} Pair;

static void pair_open(Pair *pair, LinksSetup setup) {
    int ends[2];
    Trouble trouble = {0};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(side_open(&pair->a, setup) && side_open(&pair->b, setup));
    CHECK(links_adopt(pair->a.links, ends[0], &pair->to_b, &trouble));
    CHECK(links_adopt(pair->b.links, ends[1], &pair->to_a, &trouble));
}

static void pair_close(Pair *pair) {
    side_close(&pair->a);
    side_close(&pair->b);
}

// ---- many frames --------------------------------------------------------------------------------

enum { THREADS = 4, FRAMES = 20000, LEN_MAX = 700 };

// What one side has received, by the thread that sent it.
typedef struct Received {
    uint32_t next[THREADS];
    int64_t  wrong;
} Received;

static void fill(char *bytes, int64_t len, uint32_t seed) {
    for (int64_t i = 0; i < len; i++) bytes[i] = (char)((uint32_t)i * 31 + seed * 7);
}

static int64_t len_of(uint32_t number) { return number * 37 % LEN_MAX; }

static void check_frame(Side *side, PeerId peer, const Frame *frame) {
    Received *received = side->arg;
    char bytes[LEN_MAX];
    (void)peer;
    fill(bytes, frame->len, frame->number);
    bool good = frame->epoch < THREADS && frame->number == received->next[frame->epoch]++ &&
                frame->kind == 1 + frame->epoch && frame->ack == ~frame->number &&
                frame->len == len_of(frame->number) &&
                memcmp(bytes, frame->bytes, (size_t)frame->len) == 0 &&
                (uintptr_t)frame->bytes % FRAME_ALIGN == 0;
    received->wrong += !good;
}

typedef struct Sender {
    Side    *side;
    PeerId   to;
    uint32_t thread;
} Sender;

// The bytes come in one piece, in two, or in many.
static void *send_many(void *arg) {
    const Sender *sender = arg;
    char bytes[LEN_MAX];
    for (uint32_t i = 0; i < FRAMES; i++) {
        int64_t len = len_of(i), first = i % 3 == 0 ? len : len / 3;
        fill(bytes, len, i);
        Frame frame = {.kind = (uint16_t)(1 + sender->thread), .epoch = sender->thread,
                       .number = i, .ack = ~i, .bytes = bytes, .len = first,
                       .may_wait = i % 5 == 1 && i + 1 < FRAMES};
        struct iovec more[2] = {{bytes + first, (size_t)((len - first) / 2)}};
        more[1].iov_base = (char *)more[0].iov_base + more[0].iov_len;
        more[1].iov_len = (size_t)(len - first) - more[0].iov_len;
        CHECK(links_send(sender->side->links, sender->to, &frame, more, 2));
    }
    return nullptr;
}

// From several threads at once, both ways: those of each thread in their order.
static void many_frames_come_in_order(void) {
    Pair pair = {0};
    LinksSetup setup = side_setup(makes, nullptr);
    setup.queue_bytes_max = (int64_t)1 << 40;
    pair_open(&pair, setup);
    Received at_a = {0}, at_b = {0};
    pair.a.arg = &at_a, pair.b.arg = &at_b;
    pair.a.on_frame = pair.b.on_frame = check_frame;
    pthread_t threads[2 * THREADS];
    Sender senders[2 * THREADS];
    for (uint32_t i = 0; i < 2 * THREADS; i++) {
        bool of_a = i < THREADS;
        senders[i] = (Sender){of_a ? &pair.a : &pair.b, of_a ? pair.to_b : pair.to_a, i % THREADS};
        pthread_create(&threads[i], nullptr, send_many, &senders[i]);
    }
    for (int i = 0; i < 2 * THREADS; i++) pthread_join(threads[i], nullptr);
    CHECK(side_wait(&pair.a, &pair.a.frames, THREADS * FRAMES));
    CHECK(side_wait(&pair.b, &pair.b.frames, THREADS * FRAMES));
    CHECK_SAYS(at_a.wrong == 0 && at_b.wrong == 0, "%lld and %lld", (long long)at_a.wrong,
               (long long)at_b.wrong);
    CHECK(pair.a.ended == 0 && pair.b.ended == 0);
    pair_close(&pair);
}

static void check_large(Side *side, PeerId peer, const Frame *frame) {
    Checksum *sums = side->arg;
    (void)peer;
    CHECK(frame->number < 4 && (uintptr_t)frame->bytes % FRAME_ALIGN == 0);
    CHECK(checksum_same(sums[frame->number], checksum_of(frame->bytes, frame->len)));
}

// The largest, and one less; small ones between them. One more byte is refused.
static void large_frames_come_whole(void) {
    Pair pair = {0};
    Checksum sums[4];
    pair_open(&pair, side_setup(makes, nullptr));
    pair.b.arg = sums;
    pair.b.on_frame = check_large;
    char *bytes = malloc((size_t)FRAME_BYTES_MAX + 1);
    fill(bytes, FRAME_BYTES_MAX + 1, 1);
    int64_t lens[] = {FRAME_BYTES_MAX, 5, FRAME_BYTES_MAX - 1, 0};
    for (uint32_t i = 0; i < 4; i++) {
        struct iovec rest = {bytes + lens[i] / 2, (size_t)(lens[i] - lens[i] / 2)};
        Frame frame = {.number = i, .bytes = bytes, .len = lens[i] / 2};
        sums[i] = checksum_of(bytes, lens[i]);
        CHECK(links_send(pair.a.links, pair.to_b, &frame, &rest, 1));
        CHECK(side_wait(&pair.b, &pair.b.frames, i + 1));
    }
    Frame over = {.bytes = bytes, .len = FRAME_BYTES_MAX + 1};
    CHECK(!links_send(pair.a.links, pair.to_b, &over, nullptr, 0));
    over.len--;
    CHECK(!links_send(pair.a.links, pair.to_b, &over, &(struct iovec){bytes, 1}, 1));
    struct iovec pieces[FRAME_PIECES_MAX + 1] = {0};
    over.len = 0;
    CHECK(!links_send(pair.a.links, pair.to_b, &over, pieces, FRAME_PIECES_MAX + 1));
    CHECK(links_send(pair.a.links, pair.to_b, &(Frame){.number = 3}, pieces, FRAME_PIECES_MAX));
    CHECK(side_wait(&pair.b, &pair.b.frames, 5) && pair.b.ended == 0);
    free(bytes);
    pair_close(&pair);
}

// ---- streams that are cut or damaged ------------------------------------------------------------

// Wherever it is cut in two, and byte by byte: the frames are the same.
static void frames_come_in_any_pieces(void) {
    Side side = {0};
    PeerId peer;
    Received received = {0};
    side_open(&side, side_setup(makes, nullptr));
    side.arg = &received;
    side.on_frame = check_frame;
    int fd = side_socket(&side, &peer);
    char bytes[LEN_MAX];
    uint32_t number = 0;
    for (int64_t cut = 1; cut < 120; cut++) {
        int64_t sizes[2];
        char *frames[2];
        for (int i = 0; i < 2; i++, number++) {
            fill(bytes, len_of(number), number);
            frames[i] = side_bytes(&(Frame){.kind = 1, .number = number, .ack = ~number,
                                            .bytes = bytes, .len = len_of(number)}, &sizes[i]);
        }
        int64_t first = cut < sizes[0] ? cut : sizes[0];
        side_write(fd, frames[0], first);
        if (cut % 4 == 0) usleep(200);  // The reader has seen the first part by then.
        side_write(fd, frames[0] + first, sizes[0] - first);
        for (int64_t i = 0; i < sizes[1]; i += cut)
            side_write(fd, frames[1] + i, cut < sizes[1] - i ? cut : sizes[1] - i);
        free(frames[0]);
        free(frames[1]);
    }
    CHECK(side_wait(&side, &side.frames, number));
    CHECK_SAYS(received.wrong == 0 && side.ended == 0, "%lld: %s", (long long)received.wrong,
               side.text);
    close(fd);
    side_ends(&side, LINK_END_CLOSED, "the other side has closed the connection");
    side_close(&side);
}

// Writes `len` bytes to a new connection, closes it if asked, and waits for its end.
static void ends_after(const char *bytes, int64_t len, bool closes, LinkEnd why,
                       const char *words) {
    Side side = {0};
    PeerId peer;
    side_open(&side, side_setup(makes, nullptr));
    int fd = side_socket(&side, &peer);
    side_write(fd, bytes, len);
    if (closes) close(fd);
    side_ends(&side, why, words);
    CHECK(side.frames == 0);
    CHECK(!links_send(side.links, peer, &(Frame){0}, nullptr, 0));
    if (!closes) close(fd);
    side_close(&side);
}

static void a_cut_stream_ends(void) {
    int64_t size;
    char *bytes = side_bytes(&(Frame){.bytes = "0123456789", .len = 10}, &size);
    ends_after(bytes, 0, true, LINK_END_CLOSED, "the other side has closed the connection");
    for (int64_t len = 1; len < size; len += 3)
        ends_after(bytes, len, true, LINK_END_CLOSED, "in the middle of a frame");
    free(bytes);
}

// Each byte of it, without waiting for more: the connection ends at once.
static void damage_ends_the_connection(void) {
    int64_t size;
    char *bytes = side_bytes(&(Frame){.bytes = "0123456789", .len = 10}, &size);
    for (int64_t at = 0; at < size; at++) {
        bytes[at] ^= 0x10;
        bool version = at >= 4 && at < 8;
        ends_after(bytes, size, false, version ? LINK_END_VERSION : LINK_END_NO_FRAME,
                   version ? "this side version 1"
                   : at < 4 ? "what came is no frame, it begins with " : "a frame came damaged");
        bytes[at] ^= 0x10;
    }
    free(bytes);
}

static void strangers_are_named(void) {
    ends_after("GET / HTTP/1.1\r\n", 16, false, LINK_END_NO_FRAME, "speaks HTTP");
    ends_after("\x16\x03\x01", 3, false, LINK_END_NO_FRAME, "speaks TLS, and this side does not");
    ends_after("x", 1, false, LINK_END_NO_FRAME, "begins with 78 00 00 00");
}

// ---- slow readers, and ends ---------------------------------------------------------------------

// What waits is bounded, and the one who does not read is told of.
static void a_slow_reader_is_behind(void) {
    Side side = {0};
    PeerId peer;
    LinksSetup setup = side_setup(makes, nullptr);
    setup.queue_bytes_max = 1 << 20;
    side_open(&side, setup);
    int fd = side_socket(&side, &peer);
    char bytes[10000] = {0};
    int sent = 0;
    while (sent < 1000 && links_send(side.links, peer, &(Frame){.bytes = bytes, .len = 10000},
                                     nullptr, 0))
        sent++;
    CHECK_SAYS(sent >= 100 && sent < 200, "%d", sent);
    side_ends(&side, LINK_END_BEHIND, "the other side reads too slowly");
    close(fd);
    side_close(&side);
}

// As much as the queue takes is not lost: the other side reads late.
static void what_waits_is_sent(void) {
    Side side = {0};
    PeerId peer;
    side_open(&side, side_setup(makes, nullptr));
    int fd = side_socket(&side, &peer);
    char bytes[10000], got[8192];
    fill(bytes, sizeof bytes, 3);
    for (uint32_t i = 0; i < 500; i++)
        CHECK(links_send(side.links, peer, &(Frame){.number = i, .bytes = bytes, .len = 10000},
                         nullptr, 0));
    ChecksumState *is = checksum_open(), *should = checksum_open();
    checksum_begin(is), checksum_begin(should);
    for (uint32_t i = 0; i < 500; i++) {
        int64_t size;
        char *frame = side_bytes(&(Frame){.number = i, .bytes = bytes, .len = 10000}, &size);
        checksum_add(should, frame, size);
        free(frame);
    }
    for (int64_t left = 500 * frame_size(10000); left > 0;) {
        ssize_t count = read(fd, got, sizeof got);
        CHECK(count > 0);
        if (count <= 0) break;
        checksum_add(is, got, count);
        left -= count;
    }
    CHECK(checksum_same(checksum_value(is), checksum_value(should)));
    checksum_close(is), checksum_close(should);
    close(fd);
    side_close(&side);
}

static int64_t bytes_there(int fd) {
    char bytes[4096];
    ssize_t count = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    return count < 0 ? 0 : count;
}

// Frames that may wait go with the next one, in one write; the loop may turn meanwhile, and then
// they go alone.
static void frames_wait_for_others(void) {
    enum { ROUNDS = 100, FEW = 3 };
    Side side = {0};
    PeerId peer;
    int waited = 0;
    side_open(&side, side_setup(makes, nullptr));
    int fd = side_socket(&side, &peer);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t first = 0, all = 0;
        for (int i = 0; i < FEW; i++)
            CHECK(links_send(side.links, peer, &(Frame){.may_wait = true}, nullptr, 0));
        first = all = bytes_there(fd);
        CHECK(links_send(side.links, peer, &(Frame){0}, nullptr, 0));
        while (all < (FEW + 1) * frame_size(0)) all += bytes_there(fd);
        CHECK(all == (FEW + 1) * frame_size(0));
        waited += first == 0;
    }
    CHECK_SAYS(waited > 0, "%d", waited);
    close(fd);
    side_close(&side);
}

// A tick takes what waits with it, if nothing else does.
static void frames_wait_for_a_tick(void) {
    Side side = {0};
    PeerId peer;
    char byte;
    LinksSetup setup = side_setup(makes, nullptr);
    setup.tick_ns = 2000000;
    side_open(&side, setup);
    int fd = side_socket(&side, &peer);
    for (int round = 0; round < 20; round++) {
        CHECK(links_send(side.links, peer, &(Frame){.may_wait = true}, nullptr, 0));
        for (int64_t i = 0; i < frame_size(0); i++) CHECK(read(fd, &byte, 1) == 1);
    }
    close(fd);
    side_close(&side);
}

static void answer_and_end(Side *side, PeerId peer, const Frame *frame) {
    CHECK(links_send(side->links, peer, frame, nullptr, 0));
    links_end(side->links, peer);
}

// What was sent before the end, in the same call, has gone.
static void an_answer_goes_before_the_end(void) {
    Side side = {0};
    PeerId peer;
    char got[128];
    side_open(&side, side_setup(makes, nullptr));
    side.on_frame = answer_and_end;
    int64_t size, came = 0;
    char *frame = side_bytes(&(Frame){.bytes = "0123456789", .len = 10}, &size);
    int fd = side_socket(&side, &peer);
    side_write(fd, frame, size);
    for (ssize_t count; (count = read(fd, got + came, sizeof got - (size_t)came)) > 0;)
        came += count;
    CHECK(came == size && memcmp(got, frame, (size_t)size) == 0);
    free(frame);
    close(fd);
    side_close(&side);
}

// Ids of ended peers stay dead when their place is taken again.
static void an_ended_peer_is_dead(void) {
    Pair pair = {0};
    PeerId again;
    LinksSetup setup = side_setup(makes, nullptr);
    Trouble trouble = {0};
    setup.peers_max = 1;
    pair_open(&pair, setup);
    CHECK(links_send(pair.a.links, pair.to_b, &(Frame){.number = 1}, nullptr, 0));
    CHECK(side_wait(&pair.b, &pair.b.frames, 1));
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(!links_adopt(pair.a.links, ends[0], &again, &trouble));
    CHECK(trouble.kind == TROUBLE_LINK_CONNECT);
    close(ends[1]);
    links_end(pair.a.links, pair.to_b);
    CHECK(!links_send(pair.a.links, pair.to_b, &(Frame){0}, nullptr, 0));
    side_ends(&pair.a, LINK_END_CLOSED, "this side has closed the connection");
    side_ends(&pair.b, LINK_END_CLOSED, "the other side has closed the connection");
    links_end(pair.a.links, pair.to_b);
    // The place is free soon after the call.
    int fd = -1;
    for (int i = 0; i < 1000 && fd < 0; i++) {
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        if (links_adopt(pair.a.links, ends[0], &again, &(Trouble){0})) fd = ends[1];
        else close(ends[1]), usleep(1000);
    }
    CHECK(fd >= 0 && again.i == pair.to_b.i && !peer_same(again, pair.to_b));
    CHECK(!links_send(pair.a.links, pair.to_b, &(Frame){0}, nullptr, 0));
    links_end(pair.a.links, pair.to_b);
    CHECK(links_send(pair.a.links, again, &(Frame){0}, nullptr, 0));
    CHECK(!links_send(pair.a.links, (PeerId){7, 1}, &(Frame){0}, nullptr, 0));
    close(fd);
    pair_close(&pair);
}

static void end_at_once(Side *side, PeerId peer, const Frame *frame) {
    (void)frame;
    links_end(side->links, peer);
}

// No frame follows a links_end on the thread of the links, though more of them are there.
static void nothing_follows_an_end(void) {
    Side side = {0};
    PeerId peer;
    side_open(&side, side_setup(makes, nullptr));
    side.on_frame = end_at_once;
    int64_t size;
    char *frame = side_bytes(&(Frame){.bytes = "0123456789", .len = 10}, &size), all[6400];
    for (int i = 0; i < 100; i++) memcpy(all + i * 64, frame, 64);
    CHECK(size == 64);
    int fd = side_socket(&side, &peer);
    side_write(fd, all, sizeof all);
    side_ends(&side, LINK_END_CLOSED, "this side");
    CHECK(side.frames == 1);
    free(frame);
    close(fd);
    side_close(&side);
}

// What a side sent before it closed is read, though this side was writing to it.
static void last_words_are_heard(void) {
    for (int round = 0; round < 50; round++) {
        Side side = {0};
        PeerId peer;
        side_open(&side, side_setup(makes, nullptr));
        int fd = side_socket(&side, &peer);
        int64_t size;
        char *bytes = side_bytes(&(Frame){.bytes = "last", .len = 4}, &size);
        for (int i = 0; i < 20; i++) side_write(fd, bytes, size);
        links_send(side.links, peer, &(Frame){0}, nullptr, 0);  // That nobody reads.
        close(fd);
        while (links_send(side.links, peer, &(Frame){0}, nullptr, 0)) {}
        side_ends(&side, LINK_END_CLOSED, "the other side has closed the connection");
        CHECK_SAYS(side.frames == 20, "%lld", (long long)side.frames);
        free(bytes);
        side_close(&side);
    }
}

static void ticks_come(void) {
    Side side = {0};
    LinksSetup setup = side_setup(makes, nullptr);
    setup.tick_ns = 2000000;
    int64_t begin = side_now();  // Ticks may come before the next line is reached.
    side_open(&side, setup);
    CHECK(side_wait(&side, &side.ticks, 20));
    CHECK(side_now() - begin >= 19 * setup.tick_ns);
    side_close(&side);
}

// ---- listeners ----------------------------------------------------------------------------------

static char folder[] = "/tmp/links_test.XXXXXX";

static void listeners_accept(void) {
    Side server = {.echoes = true}, client = {0};
    char address[200];
    LinkAddress bound;
    Trouble trouble = {0};
    PeerId peers[64];
    CHECK(mkdtemp(folder));
    snprintf(address, sizeof address, "unix:%s/socket", folder);
    side_open(&server, side_setup(makes, nullptr));
    side_open(&client, side_setup(makes, nullptr));
    CHECK(!links_connect(client.links, address, &peers[0], &trouble));
    CHECK_SAYS(trouble.kind == TROUBLE_LINK_CONNECT, "%s", trouble.text);
    CHECK(strstr(trouble.text, "No such file or directory"));
    CHECK_SAYS(links_listen(server.links, address, &bound, &trouble), "%s", trouble.text);
    CHECK(strcmp(bound.text, address) == 0);
    for (int i = 0; i < 64; i++)
        CHECK(links_connect(client.links, bound.text, &peers[i], &trouble));
    CHECK(side_wait(&client, &client.opened, 64) && side_wait(&server, &server.opened, 64));
    for (uint32_t n = 0; n < 100; n++)
        for (int i = 0; i < 64; i++)
            CHECK(links_send(client.links, peers[i],
                             &(Frame){.number = n, .bytes = "echo", .len = 4}, nullptr, 0));
    CHECK(side_wait(&client, &client.frames, 6400) && client.bytes == 4 * 6400);
    // A second listener takes the path of a dead one only.
    trouble_clear(&trouble);
    CHECK(!links_listen(client.links, address, &bound, &trouble));
    CHECK_SAYS(trouble.kind == TROUBLE_LINK_LISTEN, "%s", trouble.text);
    side_close(&server);
    CHECK(side_wait(&client, &client.ended, 64) && access(address + 5, F_OK) != 0);
    side_close(&client);
    CHECK(rmdir(folder) == 0);
}

// More than there are places for are turned away, and those that are there go on.
static void too_many_are_turned_away(void) {
    Side server = {0}, client = {0};
    char path[] = "/tmp/links_test.XXXXXX", address[200];
    LinkAddress bound;
    Trouble trouble = {0};
    PeerId peers[6];
    LinksSetup setup = side_setup(makes, nullptr);
    CHECK(mkdtemp(path));
    snprintf(address, sizeof address, "unix:%s/socket", path);
    setup.peers_max = 3;
    side_open(&server, setup);
    side_open(&client, side_setup(makes, nullptr));
    CHECK(links_listen(server.links, address, &bound, &trouble));
    for (int i = 0; i < 6; i++) CHECK(links_connect(client.links, address, &peers[i], &trouble));
    CHECK(side_wait(&client, &client.ended, 3) && side_wait(&server, &server.opened, 3));
    CHECK(side_wait(&server, &server.refused, 3));
    side_refuses(&server, LINK_END_ERROR, "there are 3 connections, which is the most");
    for (int i = 0; i < 6; i++)
        links_send(client.links, peers[i], &(Frame){0}, nullptr, 0);
    CHECK(side_wait(&server, &server.frames, 3));
    side_close(&client);
    CHECK(side_wait(&server, &server.ended, 3) && server.opened == 3);
    side_close(&server);
    rmdir(path);
}

// A socket that a killed process left is in nobody's way.
static void dead_sockets_make_way(void) {
    char path[] = "/tmp/links_test.XXXXXX", address[200];
    CHECK(mkdtemp(path));
    snprintf(address, sizeof address, "unix:%s/socket", path);
    pid_t child = fork();
    if (child == 0) {
        Side server = {0};
        LinkAddress bound;
        Trouble trouble = {0};
        bool good = side_open(&server, side_setup(makes, nullptr)) &&
                    links_listen(server.links, address, &bound, &trouble);
        if (good) raise(SIGKILL);
        _exit(1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    CHECK(access(address + 5, F_OK) == 0);
    Side server = {0};
    LinkAddress bound;
    Trouble trouble = {0};
    side_open(&server, side_setup(makes, nullptr));
    CHECK_SAYS(links_listen(server.links, address, &bound, &trouble), "%s", trouble.text);
    side_close(&server);
    CHECK(rmdir(path) == 0);
}

static void addresses_are_judged(void) {
    static const struct {
        const char *address, *says;
    } wrong[] = {
        {"", "it does not begin with a way to connect"},
        {"unix", "it does not begin with a way to connect"},
        {"tcp:127.0.0.1:1", "it does not begin with a way to connect"},
        {"unix:", "it names no path"},
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
        CHECK(strcmp(a.text, b.text) == 0 && strcmp(a.fix, "write it as unix:PATH") == 0);
    }
    char longest[130] = "unix:/";
    memset(longest + 6, 'x', sizeof longest - 7);
    Trouble trouble = {0};
    CHECK(!links_listen(side.links, longest, &bound, &trouble));
    CHECK_SAYS(strstr(trouble.text, "its path has 124 bytes, and 107 are the most"), "%s",
               trouble.text);
    side_close(&side);
}

static void ends_have_codes(void) {
    for (int why = 0; why < LINK_ENDS; why++) {
        Trouble trouble = {0};
        CHECK(!links_trouble((LinkEnd)why, "so it is", &trouble));
        CHECK(strncmp(trouble_code(trouble.kind), "SB808", 5) == 0);
        CHECK(strcmp(trouble.text, "so it is") == 0);
    }
}

// ---- processes ----------------------------------------------------------------------------------

// A process that sends every frame back until its connection ends.
static pid_t echo_process(int fd, int other) {
    pid_t child = fork();
    if (child != 0) return child;
    close(other);
    Side side = {.echoes = true};
    PeerId peer;
    Trouble trouble = {0};
    bool good = side_open(&side, side_setup(makes, nullptr)) &&
                links_adopt(side.links, fd, &peer, &trouble) && side_wait(&side, &side.ended, 1);
    side_close(&side);
    _exit(!good);
}

static pid_t echo_begin(Side *side, PeerId *peer) {
    int ends[2];
    Trouble trouble = {0};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    pid_t child = echo_process(ends[1], ends[0]);
    close(ends[1]);
    side_open(side, side_setup(makes, nullptr));
    CHECK(links_adopt(side->links, ends[0], peer, &trouble));
    return child;
}

static void processes_talk(void) {
    Side side = {0};
    PeerId peer;
    int status;
    pid_t child = echo_begin(&side, &peer);
    for (uint32_t i = 0; i < 5000; i++)
        CHECK(links_send(side.links, peer, &(Frame){.number = i, .bytes = "hello", .len = 5},
                         nullptr, 0));
    CHECK(side_wait(&side, &side.frames, 5000) && side.bytes == 25000);
    side_close(&side);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// While frames go both ways, and large ones too.
static void a_killed_process_is_told_of(void) {
    for (int round = 0; round < 10; round++) {
        Side side = {0};
        PeerId peer;
        pid_t child = echo_begin(&side, &peer);
        char *bytes = calloc(1, 3 << 20);
        for (int i = 0; i < 2; i++)
            CHECK(links_send(side.links, peer, &(Frame){.bytes = bytes, .len = 3 << 20}, nullptr,
                             0));
        if (round % 2) CHECK(side_wait(&side, &side.frames, 1));
        kill(child, SIGKILL);
        side_ends(&side, LINK_END_CLOSED, "the other side has closed the connection");
        waitpid(child, nullptr, 0);
        free(bytes);
        side_close(&side);
    }
}

// ---- times --------------------------------------------------------------------------------------

static void times(void) {
    Side side = {0};
    PeerId peer;
    pid_t child = echo_begin(&side, &peer);
    link_times("unix", &side, peer);
    side_close(&side);
    link_times_end(child);
}

static const UnitTest tests[] = {
    {"many_frames_come_in_order", many_frames_come_in_order},
    {"large_frames_come_whole", large_frames_come_whole},
    {"frames_come_in_any_pieces", frames_come_in_any_pieces},
    {"a_cut_stream_ends", a_cut_stream_ends},
    {"damage_ends_the_connection", damage_ends_the_connection},
    {"strangers_are_named", strangers_are_named},
    {"a_slow_reader_is_behind", a_slow_reader_is_behind},
    {"what_waits_is_sent", what_waits_is_sent},
    {"an_ended_peer_is_dead", an_ended_peer_is_dead},
    {"nothing_follows_an_end", nothing_follows_an_end},
    {"last_words_are_heard", last_words_are_heard},
    {"ticks_come", ticks_come},
    {"listeners_accept", listeners_accept},
    {"too_many_are_turned_away", too_many_are_turned_away},
    {"dead_sockets_make_way", dead_sockets_make_way},
    {"addresses_are_judged", addresses_are_judged},
    {"frames_wait_for_others", frames_wait_for_others},
    {"frames_wait_for_a_tick", frames_wait_for_a_tick},
    {"an_answer_goes_before_the_end", an_answer_goes_before_the_end},
    {"ends_have_codes", ends_have_codes},
    {"processes_talk", processes_talk},
    {"a_killed_process_is_told_of", a_killed_process_is_told_of},
};

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "times") == 0) {
        times();
        return unit_failures > 0;
    }
    return unit_main("links", tests, sizeof tests / sizeof *tests, argc, argv);
}
