// HTTP: a small server on the loop of control: answers of one piece, and one stream of events that
// up to 32 readers follow. It knows nothing of jobs.
//
// It speaks HTTP/1.1 to few clients that mean well, and is safe from the others. It takes GET and
// HEAD only, requests up to 8 KiB, asked and answered within 10 seconds. There are 64 connections
// at most, each closed after its answer. A reader of events that does not read is cut off. One
// reader too many gets 503. On the loopback it answers requests for a loopback name only, so that
// no page from elsewhere can reach it under a name of its own.
#ifndef SBC_RUNTIME_CONTROL_HTTP_H
#define SBC_RUNTIME_CONTROL_HTTP_H

#include "runtime/report.h"

#include <uv.h>

// The answer for a path: fills `body` and returns its content type; nullptr: there is none.
typedef const char *HttpAnswerFn(void *self, const char *path, Text *body);

typedef struct HttpSetup {
    uv_loop_t    *loop;
    const char   *address;  // "9090", "127.0.0.1:9090", "[::1]:9090"; port 0: any that is free.
    const char   *events;   // The path of the stream of events.
    HttpAnswerFn *answer;   // Answers all paths; that of the events with what a reader gets first.
    void         *self;
} HttpSetup;

typedef struct HttpConnection HttpConnection;

typedef struct Http {
    HttpSetup       setup;
    uv_tcp_t        server;
    HttpConnection *connections;
    uint32_t        count;
    bool            loopback;
    char            url[96];
} Http;

bool http_open(Http *http, const HttpSetup *setup, Trouble *trouble);
// Closes all; the loop has to run on until it is done.
void http_close(Http *http);
// Does anybody read the events?
bool http_has_readers(const Http *http);
void http_send(Http *http, const char *event, const Text *data);
// Cuts those off that have not asked and taken their answer in time. To be called now and then.
void http_tick(Http *http);

#endif
