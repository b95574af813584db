// link_proxy.h: a small TCP proxy for tests, on a thread of its own. It passes bytes on late, and
// changes one of them.
#ifndef SBC_TESTS_UNIT_LINK_PROXY_H
#define SBC_TESTS_UNIT_LINK_PROXY_H

#include "tests/unit/link_side.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

enum { PROXY_CHUNKS = 4096, PROXY_CHUNK = 16 << 10 };

typedef struct ProxyChunk {
    int64_t due_ns;
    int     len;
    char    bytes[PROXY_CHUNK];
} ProxyChunk;

// One direction: chunks first to last, modulo PROXY_CHUNKS, wait for their time.
typedef struct ProxyWay {
    int         from, to;
    int64_t     first, last;
    ProxyChunk *chunks[PROXY_CHUNKS];
} ProxyWay;

typedef struct Proxy {
    int             listener, port;
    struct sockaddr_in server;
    int64_t         delay_ns;   // Each way.
    int64_t         change_at;  // The byte from the client that is changed; -1: none.
    _Atomic int64_t passed;     // Bytes that came from the client.
    ProxyWay        there, back;
    pthread_t       thread;
} Proxy;

static int proxy_connect(const struct sockaddr_in *to) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(connect(fd, (const struct sockaddr *)to, sizeof *to) == 0);
    return fd;
}

// The address of "tcp:A.B.C.D:PORT".
static struct sockaddr_in proxy_address(const char *text) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[64] = "";
    const char *colon = strrchr(text, ':');
    snprintf(host, sizeof host, "%.*s", (int)(colon - text - 4), text + 4);
    CHECK(inet_pton(AF_INET, host, &address.sin_addr) == 1);
    address.sin_port = htons((uint16_t)atoi(colon + 1));
    return address;
}

// False: that side has closed.
static bool proxy_take(Proxy *proxy, ProxyWay *way) {
    ProxyChunk *chunk = malloc(sizeof *chunk);
    chunk->len = (int)read(way->from, chunk->bytes, sizeof chunk->bytes);
    chunk->due_ns = side_now() + proxy->delay_ns;
    if (chunk->len <= 0) {
        free(chunk);
        return false;
    }
    if (way == &proxy->there) {
        int64_t at = proxy->change_at - proxy->passed;
        if (proxy->change_at >= 0 && at >= 0 && at < chunk->len) chunk->bytes[at] ^= 1;
        proxy->passed += chunk->len;
    }
    way->chunks[way->last++ % PROXY_CHUNKS] = chunk;
    return true;
}

// Passes on what is due; milliseconds until more is, -1: nothing waits.
static int proxy_give(ProxyWay *way) {
    while (way->first < way->last) {
        ProxyChunk *chunk = way->chunks[way->first % PROXY_CHUNKS];
        int64_t left = chunk->due_ns - side_now();
        if (left > 0) return (int)(left / 1000000) + 1;
        side_write(way->to, chunk->bytes, chunk->len);
        free(chunk);
        way->first++;
    }
    return -1;
}

static void proxy_free(ProxyWay *way) {
    for (; way->first < way->last; way->first++) free(way->chunks[way->first % PROXY_CHUNKS]);
}

static void *proxy_main(void *arg) {
    Proxy *proxy = arg;
    int client = accept(proxy->listener, nullptr, nullptr);
    int server = proxy_connect(&proxy->server);
    ProxyWay *ways[2] = {&proxy->there, &proxy->back};
    *ways[0] = (ProxyWay){.from = client, .to = server};
    *ways[1] = (ProxyWay){.from = server, .to = client};
    for (bool goes_on = true; goes_on;) {
        int there = proxy_give(ways[0]), back = proxy_give(ways[1]);
        struct pollfd polled[2] = {{.fd = client}, {.fd = server}};
        for (int i = 0; i < 2; i++)
            if (ways[i]->last - ways[i]->first < PROXY_CHUNKS) polled[i].events = POLLIN;
        poll(polled, 2, there < 0 || (back >= 0 && back < there) ? back : there);
        for (int i = 0; i < 2 && goes_on; i++)
            if (polled[i].revents) goes_on = proxy_take(proxy, ways[i]);
    }
    proxy_free(ways[0]);
    proxy_free(ways[1]);
    close(client);
    close(server);
    return nullptr;
}

// Takes one connection at 127.0.0.1 and the port, and connects it to the server's address.
static void proxy_open(Proxy *proxy, const char *server) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    proxy->server = proxy_address(server);
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(proxy->listener, (const struct sockaddr *)&address, len) == 0);
    CHECK(listen(proxy->listener, 1) == 0);
    getsockname(proxy->listener, (struct sockaddr *)&address, &len);
    proxy->port = ntohs(address.sin_port);
    pthread_create(&proxy->thread, nullptr, proxy_main, proxy);
}

// One of the sides has closed its end, or does soon.
static void proxy_close(Proxy *proxy) {
    pthread_join(proxy->thread, nullptr);
    close(proxy->listener);
}

#endif
