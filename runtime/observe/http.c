#define _GNU_SOURCE
#include "runtime/observe/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { REQUEST_MAX = 8192, QUEUED_MAX = 4 << 20, REQUEST_MS = 10000 };
// Readers of events leave room for requests that are answered at once.
enum { CONNECTIONS_MAX = 64, READERS_MAX = 32 };

struct HttpConnection {
    uv_tcp_t        tcp;
    Http           *http;
    HttpConnection *next;
    char            request[REQUEST_MAX];
    size_t          len;
    uint64_t        opened_ms;
    bool            answered, reads_events;
};

typedef struct Send {
    uv_write_t      write;
    HttpConnection *connection;
    Text            text;
} Send;

// ---- connections --------------------------------------------------------------------------------

static void on_closed(uv_handle_t *handle) {
    HttpConnection *connection = handle->data;
    HttpConnection **at = &connection->http->connections;
    while (*at != connection) at = &(*at)->next;
    *at = connection->next;
    connection->http->count--;
    free(connection);
}

static void drop(HttpConnection *connection) {
    uv_handle_t *handle = (uv_handle_t *)&connection->tcp;
    if (!uv_is_closing(handle)) uv_close(handle, on_closed);
}

static void on_sent(uv_write_t *write, int status) {
    Send *send = write->data;
    if (status < 0 || !send->connection->reads_events) drop(send->connection);
    sb_text_close(&send->text);
    free(send);
}

// Sends the text, which it frees.
static void send_text(HttpConnection *connection, Text *text) {
    Send *send = malloc(sizeof *send);
    if (!send || text->failed) {
        free(send);
        sb_text_close(text);
        drop(connection);
        return;
    }
    *send = (Send){.connection = connection, .text = *text};
    send->write.data = send;
    uv_buf_t buffer = uv_buf_init(send->text.ptr, (unsigned)send->text.len);
    if (uv_write(&send->write, (uv_stream_t *)&connection->tcp, &buffer, 1, on_sent) == 0) return;
    sb_text_close(&send->text);
    free(send);
    drop(connection);
}

// ---- answers ------------------------------------------------------------------------------------

static void add_head(Text *text, const char *status, const char *type) {
    sb_text_format(text,
                   "HTTP/1.1 %s\r\nContent-Type: %s\r\nCache-Control: no-store\r\n"
                   "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
                   "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
                   "script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'\r\n"
                   "Connection: close\r\n",
                   status, type);
}

static void answer(HttpConnection *connection, const char *status, const char *type,
                   const Text *body, bool whole) {
    Text text = {0};
    connection->answered = true;
    add_head(&text, status, type);
    sb_text_format(&text, "Content-Length: %lld\r\n\r\n", (long long)body->len);
    if (whole) sb_text_add(&text, body->ptr, body->len);
    send_text(connection, &text);
}

static void refuse(HttpConnection *connection, const char *status) {
    Text body = {0};
    sb_text_format(&body, "%s\n", status);
    answer(connection, status, "text/plain; charset=utf-8", &body, true);
    sb_text_close(&body);
}

static void add_event(Text *text, const char *event, const Text *data) {
    sb_text_format(text, "event: %s\ndata: ", event);
    sb_text_add(text, data->ptr, data->len);
    sb_text_str(text, "\n\n");
}

static void begin_events(HttpConnection *connection, const Text *first) {
    Text text = {0};
    connection->answered = connection->reads_events = true;
    add_head(&text, "200 OK", "text/event-stream");
    sb_text_str(&text, "\r\n");
    add_event(&text, "graph", first);
    send_text(connection, &text);
}

// ---- requests -----------------------------------------------------------------------------------

static uint32_t count_readers(const Http *http) {
    uint32_t count = 0;
    for (const HttpConnection *at = http->connections; at; at = at->next)
        count += at->reads_events && !uv_is_closing((const uv_handle_t *)&at->tcp);
    return count;
}

// The value of a header in the request's lines; its length in `len`. nullptr: it is not there.
static const char *header(const char *request, const char *name, size_t *len) {
    for (const char *line = strstr(request, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        size_t name_len = strlen(name);
        if (strncasecmp(line, name, name_len) != 0 || line[name_len] != ':') continue;
        const char *value = line + name_len + 1;
        value += strspn(value, " \t");
        *len = strcspn(value, " \t\r\n");
        return value;
    }
    return nullptr;
}

// localhost, 127.x.x.x or [::1], with or without a port.
static bool names_loopback(const char *host, size_t len) {
    size_t name = len > 0 && host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":\r\n \t");
    if (name > len) name = len;
    if (name == 9 && strncasecmp(host, "localhost", 9) == 0) return true;
    if (name == 5 && memcmp(host, "[::1]", 5) == 0) return true;
    return name > 4 && memcmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == name;
}

static void serve(HttpConnection *connection) {
    Http *http = connection->http;
    char *request = connection->request, *path = strchr(request, ' ');
    char *end = path ? strpbrk(path + 1, " ?\r") : nullptr;
    size_t host_len = 0;
    const char *host = header(request, "Host", &host_len);
    bool get = strncmp(request, "GET ", 4) == 0, has = strncmp(request, "HEAD ", 5) == 0;
    if (!end || path[1] != '/' || !host) {
        refuse(connection, "400 Bad Request");
        return;
    }
    if (!get && !has) {
        refuse(connection, "405 Method Not Allowed");
        return;
    }
    if (http->loopback && !names_loopback(host, host_len)) {
        refuse(connection, "403 Forbidden");
        return;
    }
    *end = '\0';
    Text body = {0};
    const char *type = http->setup.answer(http->setup.self, path + 1, &body);
    if (!type) refuse(connection, "404 Not Found");
    else if (!get || strcmp(path + 1, http->setup.events) != 0)
        answer(connection, "200 OK", type, &body, get);
    else if (count_readers(http) < READERS_MAX) begin_events(connection, &body);
    else refuse(connection, "503 Service Unavailable");
    sb_text_close(&body);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
    (void)suggested;
    static char rest[1024];  // What comes after a request is not looked at.
    HttpConnection *connection = handle->data;
    size_t room = REQUEST_MAX - 1 - connection->len;
    *buffer = connection->answered ? uv_buf_init(rest, sizeof rest)
                                   : uv_buf_init(connection->request + connection->len,
                                                 (unsigned)room);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer) {
    (void)buffer;
    HttpConnection *connection = stream->data;
    if (got < 0) {
        if (got == UV_ENOBUFS && !connection->answered)
            refuse(connection, "431 Request Header Fields Too Large");
        else if (!connection->answered || connection->reads_events)
            drop(connection);  // Else its answer is on its way.
        return;
    }
    if (connection->answered) return;
    bool text = !memchr(connection->request + connection->len, '\0', (size_t)got);
    connection->len += (size_t)got;
    connection->request[connection->len] = '\0';
    if (!text) refuse(connection, "400 Bad Request");
    else if (strstr(connection->request, "\r\n\r\n")) serve(connection);
}

static void on_connection(uv_stream_t *server, int status) {
    Http *http = server->data;
    HttpConnection *connection = status < 0 ? nullptr : calloc(1, sizeof *connection);
    if (!connection) return;
    connection->http = http;
    connection->opened_ms = uv_now(http->setup.loop);
    connection->tcp.data = connection;
    uv_tcp_init(http->setup.loop, &connection->tcp);
    connection->next = http->connections;
    http->connections = connection;
    http->count++;
    bool good = uv_accept(server, (uv_stream_t *)&connection->tcp) == 0 &&
                http->count <= CONNECTIONS_MAX &&
                uv_read_start((uv_stream_t *)&connection->tcp, on_room, on_read) == 0;
    if (!good) drop(connection);
}

// ---- the server ---------------------------------------------------------------------------------

// "9090", ":9090", "HOST:9090", "[V6]:9090" into an address; a host is a number or localhost.
static bool read_address(const char *text, struct sockaddr_storage *address) {
    const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
    char host[64] = "127.0.0.1", *end;
    size_t len = colon ? (size_t)(colon - text) : 0;
    if (len >= sizeof host) return false;
    if (len > 0) snprintf(host, sizeof host, "%.*s", (int)len, text);
    if (strcmp(host, "localhost") == 0) memcpy(host, "127.0.0.1", sizeof "127.0.0.1");
    unsigned long number = strtoul(port, &end, 10);
    if (*port < '0' || *port > '9' || *end != '\0' || number > 65535) return false;
    if (host[0] != '[') return uv_ip4_addr(host, (int)number, (struct sockaddr_in *)address) == 0;
    if (host[len - 1] != ']') return false;
    host[len - 1] = '\0';
    return uv_ip6_addr(host + 1, (int)number, (struct sockaddr_in6 *)address) == 0;
}

// Says under which address the server is reached, once the system has chosen the port.
static void name_url(Http *http) {
    struct sockaddr_storage address;
    int len = sizeof address;
    char host[64] = "";
    uv_tcp_getsockname(&http->server, (struct sockaddr *)&address, &len);
    if (address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
        uv_ip6_name(six, host, sizeof host);
        http->loopback = strcmp(host, "::1") == 0;
        snprintf(http->url, sizeof http->url, "http://[%s]:%d/", host, ntohs(six->sin6_port));
        return;
    }
    const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
    uv_ip4_name(four, host, sizeof host);
    http->loopback = strncmp(host, "127.", 4) == 0;
    snprintf(http->url, sizeof http->url, "http://%s:%d/", host, ntohs(four->sin_port));
}

bool http_open(Http *http, const HttpSetup *setup, Trouble *trouble) {
    struct sockaddr_storage address = {0};
    *http = (Http){.setup = *setup};
    if (!read_address(setup->address, &address)) {
        trouble_set(trouble, TROUBLE_USAGE, "--metrics=%s: '%s' is no address", setup->address,
                    setup->address);
        trouble_fix(trouble, "a port, or a number of a host and a port: --metrics=9090, "
                    "--metrics=0.0.0.0:9090");
        return false;
    }
    uv_tcp_init(setup->loop, &http->server);
    http->server.data = http;
    int status = uv_tcp_bind(&http->server, (const struct sockaddr *)&address, 0);
    if (status == 0) status = uv_listen((uv_stream_t *)&http->server, 16, on_connection);
    if (status != 0)
        return trouble_set(trouble, TROUBLE_METRICS, "cannot serve at '%s': %s", setup->address,
                           uv_strerror(status));
    name_url(http);
    return true;
}

void http_close(Http *http) {
    for (HttpConnection *at = http->connections; at; at = at->next) drop(at);
}

bool http_has_readers(const Http *http) {
    return count_readers(http) > 0;
}

void http_send(Http *http, const char *event, const Text *data) {
    for (HttpConnection *at = http->connections; at; at = at->next) {
        if (!at->reads_events || uv_is_closing((uv_handle_t *)&at->tcp)) continue;
        if (uv_stream_get_write_queue_size((uv_stream_t *)&at->tcp) > QUEUED_MAX) {
            drop(at);
            continue;
        }
        Text text = {0};
        add_event(&text, event, data);
        send_text(at, &text);
    }
}

void http_tick(Http *http) {
    uint64_t now = uv_now(http->setup.loop);
    for (HttpConnection *at = http->connections; at; at = at->next)
        if (!at->reads_events && now - at->opened_ms > REQUEST_MS) drop(at);
}
