// Links between two network namespaces, which the test makes and which end with it: a link that is
// slow, cut, or open on one side only. It needs root, or the right to make namespaces, and `ip`.
#define _GNU_SOURCE
#include "tests/unit/link_proxy.h"
#include "tests/unit/link_side.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define NEAR "10.99.0.1"
#define FAR "10.99.0.2"

static const LinkMake *const makes[] = {&link_tcp, nullptr};
static const LinkKey key = {.bytes = {7}};

enum : int64_t { TIMEOUT_NS = SECOND_NS, HEARTBEAT_NS = SECOND_NS / 20 };
enum : int64_t { HEARD_NS = 5 * SECOND_NS };  // Of a busy machine.

static void ip(const char *command) {
    char line[200];
    snprintf(line, sizeof line, "ip %s", command);
    CHECK_SAYS(system(line) == 0, "%s", line);
}

static LinksSetup setup(void) {
    LinksSetup made = side_setup(makes, &key);
    made.timeout_ns = TIMEOUT_NS;
    made.tick_ns = HEARTBEAT_NS;
    return made;
}

// ---- the far side, a process in a namespace of its own ------------------------------------------

// What the far side is asked for, one byte each.
enum { ASK_ADDRESS = 'a', ASK_END = 'e', ASK_CUT = 'c' };

typedef struct Far {
    pid_t       pid;
    int         ask, answer;  // Pipes.
    int         space;        // The namespace: it lives on without the process.
    LinkAddress bound;
} Far;

// It says something now and then, and sends back what comes.
static void far_tick(void *self, int64_t now) {
    Side *side = self;
    (void)now;
    if (side->opened > 0) links_send(side->links, side->last, &(Frame){.kind = 9}, nullptr, 0);
}

// Tells how its only connection ended.
static void far_closed(void *self, PeerId peer, LinkEnd why, const char *text) {
    side_closed(self, peer, why, text);
    int fd = *(int *)((Side *)self)->arg;
    (void)!write(fd, &why, sizeof why);
}

static void far_main(int ask, int answer) {
    char asked;
    Side side = {.echoes = true, .arg = &answer};
    Trouble trouble = {0};
    LinkAddress bound = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWNET) != 0 || write(answer, "u", 1) != 1) _exit(1);
    while (read(ask, &asked, 1) == 1 && asked != ASK_END) {
        if (asked == ASK_ADDRESS) {
            ip("address add " FAR "/24 dev far");
            ip("link set far up");
            LinksSetup made = setup();
            made.calls.tick = far_tick;
            made.calls.closed = far_closed;
            side_open(&side, made);
            links_listen(side.links, "tcp:" FAR ":0", &bound, &trouble);
            (void)!write(answer, &bound, sizeof bound);
        }
        // Nobody on the other side can hear that it dies.
        if (asked == ASK_CUT) ip("link set far down"), raise(SIGKILL);
    }
    _exit(unit_failures > 0);
}

static void far_open(Far *far) {
    int asks[2], answers[2];
    char line[100];
    CHECK(pipe2(asks, O_CLOEXEC) == 0 && pipe2(answers, O_CLOEXEC) == 0);
    *far = (Far){.ask = asks[1], .answer = answers[0]};
    far->pid = fork();
    if (far->pid == 0) far_main(asks[0], answers[1]);
    close(asks[0]);
    close(answers[1]);
    CHECK(read(far->answer, line, 1) == 1);
    snprintf(line, sizeof line, "/proc/%d/ns/net", far->pid);
    far->space = open(line, O_RDONLY | O_CLOEXEC);
    snprintf(line, sizeof line, "link add near type veth peer name far netns %d", far->pid);
    ip(line);
    ip("address add " NEAR "/24 dev near");
    ip("link set near up");
    CHECK(write(far->ask, &(char){ASK_ADDRESS}, 1) == 1);
    CHECK(read(far->answer, &far->bound, sizeof far->bound) == sizeof far->bound);
    CHECK_SAYS(strncmp(far->bound.text, "tcp:" FAR ":", 14) == 0, "%s", far->bound.text);
    // A link that both ends have is up soon after.
    int tries = 0;
    while (tries++ < 1000 && system("ip -brief link show near | grep -q ' UP '") != 0)
        usleep(1000);
    CHECK(tries < 1000);
}

static void far_close(Far *far) {
    int status;
    (void)!write(far->ask, &(char){ASK_END}, 1);
    CHECK(waitpid(far->pid, &status, 0) == far->pid);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    ip("link delete near");
    close(far->ask), close(far->answer), close(far->space);
}

// ---- the near side ------------------------------------------------------------------------------

static void near_open(Side *side, const char *address, PeerId *peer) {
    Trouble trouble = {0};
    side_open(side, setup());
    CHECK_SAYS(links_connect(side->links, address, peer, &trouble), "%s", trouble.text);
}

// Says something now and then until the connection ends; how long that took.
static int64_t heartbeats(Side *side, PeerId peer) {
    int64_t begin = side_now();
    while (side->ended == 0 && side_now() - begin < 2 * HEARD_NS) {
        links_send(side->links, peer, &(Frame){.kind = 8}, nullptr, 0);
        usleep(HEARTBEAT_NS / 1000);
    }
    return side_now() - begin;
}

static void frames_cross(void) {
    Far far;
    Side side = {0};
    PeerId peer;
    far_open(&far);
    near_open(&side, far.bound.text, &peer);
    CHECK(side_wait(&side, &side.opened, 1));
    char *bytes = calloc(1, 5 << 20);
    for (uint32_t i = 0; i < 1000; i++)
        CHECK(links_send(side.links, peer, &(Frame){.number = i}, nullptr, 0));
    CHECK(links_send(side.links, peer, &(Frame){.bytes = bytes, .len = 5 << 20}, nullptr, 0));
    while (side.bytes < 5 << 20 && side.ended == 0) usleep(1000);
    CHECK(side.bytes == 5 << 20 && side.frames >= 1001);
    free(bytes);
    side_close(&side);
    far_close(&far);
}

static void a_key_is_needed(void) {
    Far far;
    Side side = {0};
    PeerId peer;
    LinkAddress bound;
    Trouble a = {0}, b = {0};
    far_open(&far);
    side_open(&side, side_setup(makes, nullptr));
    CHECK(!links_listen(side.links, "tcp:" NEAR ":0", &bound, &a) && a.kind == TROUBLE_LINK_KEY);
    CHECK(!links_connect(side.links, far.bound.text, &peer, &b) && b.kind == TROUBLE_LINK_KEY);
    side_close(&side);
    far_close(&far);
}

// 50 ms each way: what is sent one after the other is under way together.
static void a_slow_link_delivers(void) {
    Far far;
    Side side = {0};
    PeerId peer;
    char name[64];
    Proxy *proxy = calloc(1, sizeof *proxy);
    far_open(&far);
    proxy->delay_ns = SECOND_NS / 20;
    proxy->change_at = -1;
    proxy_open(proxy, far.bound.text);
    snprintf(name, sizeof name, "tcp:127.0.0.1:%d", proxy->port);
    near_open(&side, name, &peer);
    CHECK(side_wait(&side, &side.opened, 1));
    int64_t begin = side_now();
    for (uint32_t i = 0; i < 200; i++)
        CHECK(links_send(side.links, peer, &(Frame){.bytes = "slow", .len = 4}, nullptr, 0));
    while (side.bytes < 800 && side.ended == 0) usleep(1000);
    int64_t took = side_now() - begin;
    CHECK_SAYS(took >= 2 * proxy->delay_ns && took < HEARD_NS && side.bytes == 800, "%lld ns",
               (long long)took);
    side_close(&side);
    proxy_close(proxy);
    free(proxy);
    far_close(&far);
}

// Both sides hear of it within the timeout.
static void a_cut_link_ends(void) {
    Far far;
    Side side = {0};
    PeerId peer;
    LinkEnd why;
    far_open(&far);
    near_open(&side, far.bound.text, &peer);
    CHECK(side_wait(&side, &side.opened, 1) && side_wait(&side, &side.frames, 3));
    ip("link set near down");
    int64_t begin = side_now(), took = heartbeats(&side, peer);
    CHECK_SAYS(took < HEARD_NS, "%lld ns", (long long)took);
    side_ends(&side, LINK_END_ERROR, "");
    CHECK(read(far.answer, &why, sizeof why) == sizeof why && why == LINK_END_ERROR);
    CHECK_SAYS(side_now() - begin < HEARD_NS, "%lld ns", (long long)(side_now() - begin));
    side_close(&side);
    far_close(&far);
}

// The far side is gone without a word, and what is sent to it comes to nothing.
static void a_half_open_link_ends(void) {
    Far far;
    Side side = {0};
    PeerId peer;
    far_open(&far);
    near_open(&side, far.bound.text, &peer);
    CHECK(side_wait(&side, &side.opened, 1) && side_wait(&side, &side.frames, 3));
    CHECK(write(far.ask, &(char){ASK_CUT}, 1) == 1);
    siginfo_t info;
    CHECK(waitid(P_PID, (id_t)far.pid, &info, WEXITED | WNOWAIT) == 0);
    CHECK(side.ended == 0);
    int64_t took = heartbeats(&side, peer);
    CHECK_SAYS(took < HEARD_NS, "%lld ns", (long long)took);
    side_ends(&side, LINK_END_ERROR, "");
    side_close(&side);
    far_close(&far);
}

// A link that comes back in time loses nothing.
static void a_short_cut_heals(void) {
    Far far;
    Side side = {0};
    PeerId peer;
    far_open(&far);
    near_open(&side, far.bound.text, &peer);
    CHECK(side_wait(&side, &side.opened, 1));
    ip("link set near down");
    for (uint32_t i = 0; i < 50; i++)
        CHECK(links_send(side.links, peer, &(Frame){.bytes = "heal", .len = 4}, nullptr, 0));
    usleep(100000);
    ip("link set near up");
    while (side.bytes < 200 && side.ended == 0) usleep(1000);
    CHECK_SAYS(side.bytes == 200 && side.ended == 0, "%s", side.text);
    side_close(&side);
    far_close(&far);
}

static void nobody_answers(void) {
    Far far;
    Side side = {0};
    PeerId peer;
    far_open(&far);
    int64_t begin = side_now();
    near_open(&side, "tcp:10.99.0.77:9000", &peer);
    side_ends(&side, LINK_END_ERROR, "connect");
    CHECK(side_now() - begin >= TIMEOUT_NS * 9 / 10 && side_now() - begin < HEARD_NS);
    side_close(&side);
    far_close(&far);
}

static const UnitTest tests[] = {
    {"frames_cross", frames_cross},
    {"a_key_is_needed", a_key_is_needed},
    {"a_slow_link_delivers", a_slow_link_delivers},
    {"a_cut_link_ends", a_cut_link_ends},
    {"a_half_open_link_ends", a_half_open_link_ends},
    {"a_short_cut_heals", a_short_cut_heals},
    {"nobody_answers", nobody_answers},
};

// nullptr: the process is in a namespace of its own, and can make more.
static const char *why_not(void) {
    if (access("/usr/sbin/ip", X_OK) != 0 && access("/sbin/ip", X_OK) != 0)
        return "iproute2 is not installed";
    setenv("PATH", "/usr/sbin:/sbin:/usr/bin:/bin", 1);
    if (unshare(CLONE_NEWNET) != 0) return "making network namespaces needs root";
    return system("ip link set lo up && ip link add near type veth peer name far && "
                  "ip link delete near") == 0 ? nullptr : "this kernel has no veth";
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);  // A far side that is gone is asked to end.
    const char *why = why_not();
    if (!why) return unit_main("links_namespace", tests, sizeof tests / sizeof *tests, argc, argv);
    fprintf(stderr, "skip links_namespace: %s\n", why);
    printf("links_namespace: 0 passed, 0 failed, %zu skipped\n", sizeof tests / sizeof *tests);
    return 0;
}
