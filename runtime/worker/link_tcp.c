// TCP: tcp:HOST:PORT, tcp:[V6]:PORT. With a key it is encrypted (link_tls.c).
#define _GNU_SOURCE
#include "runtime/worker/link.h"

#include <errno.h>
#include <linux/tcp.h>  // All of struct tcp_info, which <netinet/tcp.h> has not.
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_MAX = 256, PORT_MAX = 65535 };
enum : int64_t { NS_OF_MS = 1000000 };

// ---- addresses ----------------------------------------------------------------------------------

// HOST:PORT or [V6]:PORT. The host without brackets; the port as text.
static bool split(const char *rest, char host[static HOST_MAX], const char **port) {
    const char *colon = strrchr(rest, ':');
    bool bracket = *rest == '[';
    if (!colon || colon == rest) return false;
    const char *begin = rest + bracket, *end = colon - bracket;
    size_t len = end > begin ? (size_t)(end - begin) : 0;
    if (len == 0 || len >= HOST_MAX || (bracket && *end != ']')) return false;
    if (!bracket && memchr(begin, ':', len)) return false;
    memcpy(host, begin, len);
    host[len] = '\0';
    *port = colon + 1;
    return true;
}

static bool is_port(const char *text, bool listens) {
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && number <= PORT_MAX &&
           (number > 0 || listens);
}

static bool find(const char *rest, bool listens, LinkTargets *targets, LinkWhy *why) {
    char host[HOST_MAX];
    const char *port;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
    if (!split(rest, host, &port))
        return link_fails(why, LINK_END_ERROR, "it names no host and port");
    if (!is_port(port, listens))
        return link_fails(why, LINK_END_ERROR, "'%s' is no port%s", port,
                          listens ? "" : " to connect to");
    int error = getaddrinfo(host, port, &hints, &found);
    if (error != 0)
        return link_fails(why, LINK_END_ERROR, "its host '%s' is not found: %s", host,
                          error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
    for (const struct addrinfo *at = found; at; at = at->ai_next) {
        if (targets->count == LINK_TARGETS_MAX) break;
        LinkTarget *target = &targets->targets[targets->count++];
        memcpy(&target->address, at->ai_addr, at->ai_addrlen);
        target->len = at->ai_addrlen;
    }
    freeaddrinfo(found);
    return true;
}

static bool is_inside(const LinkTarget *target) {
    const struct sockaddr_in *four = (const struct sockaddr_in *)&target->address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&target->address;
    if (target->address.ss_family == AF_INET)
        return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static void name_of(const LinkTarget *bound, char *into, size_t room) {
    char host[HOST_MAX] = "", port[16] = "";
    getnameinfo((const struct sockaddr *)&bound->address, bound->len, host, sizeof host, port,
                sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    bool six = bound->address.ss_family == AF_INET6;
    snprintf(into, room, "%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port);
}

// ---- sockets ------------------------------------------------------------------------------------

static bool set(int fd, int level, int name, int value, LinkWhy *why) {
    if (setsockopt(fd, level, name, &value, sizeof value) == 0) return true;
    return link_breaks(why, errno);
}

// A job that begins again listens where it did, though connections of its last run are not over.
static void before_bind(int fd, const LinkTarget *target) {
    LinkWhy why;
    (void)target;
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1, &why);
}

// Frames leave at once. What nobody acknowledges ends the connection: there is no keepalive, since
// the callers have heartbeats.
static bool ready(int fd, int64_t timeout_ns, bool accepted, LinkWhy *why) {
    (void)accepted;
    int64_t ms = timeout_ns / NS_OF_MS;
    return set(fd, IPPROTO_TCP, TCP_NODELAY, 1, why) &&
           set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, ms < INT32_MAX ? (int)ms : INT32_MAX, why);
}

static bool waits(int fd, uint64_t *acked) {
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    *acked = 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0) return false;
    *acked = info.tcpi_bytes_acked;
    return info.tcpi_unacked > 0 || info.tcpi_notsent_bytes > 0;
}

void link_tcp_address(const char *text, LinkAddress *address) {
    bool named = strncmp(text, "tcp:", 4) == 0;
    snprintf(address->text, sizeof address->text, "%s%s", named ? "" : "tcp:", text);
}

const LinkMake link_tcp = {
    .name = "tcp", .form = "tcp:HOST:PORT",
    .fix = "give an address of this machine and a port that nobody uses; port 0 takes any",
    .secure = &link_tls, .find = find, .is_inside = is_inside, .before_bind = before_bind,
    .ready = ready, .waits = waits, .name_of = name_of,
};
