// Join: the life of a worker of another machine. It comes to a job that listens, and is told what
// a process that the job begins inherits. From then on it works as any worker does.
#define _GNU_SOURCE
#include "runtime/abi.h"
#include "runtime/host.h"
#include "runtime/serve/state.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum : int64_t { LOOK = 100'000'000 };
enum { MICROS = 1000 };

// ---- the inputs of the job ----------------------------------------------------------------------

static bool has_file(SourceFile *file, Trouble *trouble) {
    struct stat about;
    if (file->stream) return true;  // The job reads it.
    if (stat(file->path, &about) != 0)
        return trouble_set(trouble, TROUBLE_JOIN_INPUT, "this machine has no '%s': %s", file->path,
                           strerror(errno));
    if (about.st_size != file->size)
        return trouble_set(trouble, TROUBLE_JOIN_INPUT, "'%s' has %lld bytes on this machine, and "
                           "%lld where the job began", file->path, (long long)about.st_size,
                           (long long)file->size);
    file->about = about;
    return true;
}

bool join_has_inputs(Serve *s) {
    const SbJob *what = s->job->ask.what;
    for (uint32_t i = 0; s->joined && i < what->source_count; i++) {
        const Source *source = &s->job->io.sources[i];
        for (uint32_t f = 0; f < source->file_count; f++)
            if (!has_file(&source->files[f], &s->job->trouble)) return false;
    }
    return true;
}

// ---- the connection -----------------------------------------------------------------------------

static void on_opened(void *self, PeerId peer) {
    (void)peer;
    Serve *s = self;
    pthread_mutex_lock(&s->lock);
    s->connected = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void on_tick(void *self, int64_t now_ns) {
    (void)now_ns;
    serve_watch(self);
}

// Waits for the connection. False: it is none, or the worker has to end.
static bool is_connected(Serve *s) {
    pthread_mutex_lock(&s->lock);
    while (!s->connected && !s->over) pthread_cond_wait(&s->changed, &s->lock);
    bool good = s->connected && !s->over;
    pthread_mutex_unlock(&s->lock);
    return good;
}

void join_never(Serve *s, LinkEnd why, const char *text) {
    s->failed = true;
    if (why != LINK_END_ERROR) links_trouble(why, text, &s->job->trouble);
    else
        trouble_set(&s->job->trouble, TROUBLE_LINK_CONNECT, "no job at %s: %s",
                    s->address.text + strlen("tcp:"), text);
}

static int64_t timeout_of(const Serve *s) {
    enum : int64_t { MICROSECOND = 1000 };
    return s->job->ask.options.worker_timeout_us * MICROSECOND;
}

static void begin_anew(Serve *s) {
    trouble_close(&s->job->trouble);
    s->over = s->failed = s->connected = s->later = false;
    s->lost_text[0] = '\0';
}

// A job that begins a moment later is no mistake.
static bool tries_again(Serve *s, int64_t since, int64_t limit) {
    bool again = s->why_lost == LINK_END_ERROR && log_clock_ns() - since < limit;
    if (!again) return false;
    begin_anew(s);
    usleep(LOOK / MICROS);
    return true;
}

// As long as it may take until the job finds that a worker is lost.
bool join_waits(Serve *s, int64_t since) {
    enum { TIMES = 3 };
    if (!s->joined || !s->later || log_clock_ns() - since > TIMES * timeout_of(s)) return false;
    links_close(s->links);
    s->links = nullptr;
    begin_anew(s);
    usleep(LOOK / MICROS);
    return true;
}

bool join_connect(Serve *s) {
    enum : int64_t { TICK = 100'000'000 };
    static const LinkMake *const makes[] = {&link_tcp, nullptr};
    const Options *options = &s->job->ask.options;
    int64_t limit = timeout_of(s), since = log_clock_ns();
    LinkKey key;
    if (options->key_file && !link_key_read(options->key_file, &key, &s->job->trouble))
        return false;
    LinksSetup setup = serve_links(s);
    setup.calls.opened = on_opened;
    setup.calls.tick = on_tick;
    setup.tick_ns = TICK;
    setup.timeout_ns = limit;
    setup.queue_bytes_max += s->job->machine.memory_whole;
    setup.makes = makes;
    setup.key = options->key_file ? &key : nullptr;
    link_tcp_address(options->join, &s->address);
    s->timeout_ns = limit;
    s->links = links_open(&setup, &s->job->trouble);
    bool good = s->links;
    do {
        if (good)
            good = links_connect(s->links, s->address.text, &s->coordinator, &s->job->trouble);
        if (good && is_connected(s)) {
            s->heard = log_clock_ns();
            return true;
        }
    } while (good && tries_again(s, since, limit));
    return false;
}

// ---- its life -----------------------------------------------------------------------------------

void join_say_hello(Hello *hello, const Job *job) {
    static char host[64];
    if (gethostname(host, sizeof host - 1) != 0) memcpy(host, "?", sizeof "?");
    hello->memory = job->machine.memory_whole;
    hello->host = host;
}

static void say_text(Job *job, const char *event, Text *text) {
    if (job->log.json) {
        Text line = {0};
        log_begin(&job->log, &line, event);
        log_add_text(&line, "text", text->ptr, text->len);
        log_event(&job->log, &line);
    } else {
        sb_text_str(text, "\n");
        log_lines(&job->log, text, false);
    }
    sb_text_close(text);
}

void join_say_ready(Serve *s) {
    Text text = {0}, nothing = {0};
    if (!s->joined) return;
    sb_text_format(&text, "worker %u of the job at %s", s->node, s->address.text + strlen("tcp:"));
    say_text(s->job, "joined", &text);
    serve_say(s, WIRE_READY, &nothing);
}

void join_say_cannot(Serve *s) {
    Text text = {0};
    if (!s->joined || !s->welcomed || s->job->trouble.kind == TROUBLE_NONE) return;
    wire_put_trouble(&text, &s->job->trouble);
    serve_say(s, WIRE_CANNOT, &text);
}

// The connection is over. Unless the job has said that it is, it may be there still.
int join_end(Serve *s, bool good) {
    Job *job = s->job;
    bool lost = good && !s->stopped;
    if (!lost) return good ? 0 : trouble_exit_code(&job->trouble);
    if (!s->welcomed && !job->ask.options.key_file && s->why_lost == LINK_END_CLOSED) {
        trouble_set(&job->trouble, TROUBLE_LINK_KEY, "the job at %s has closed the connection at "
                    "once: it may have a key", s->address.text + strlen("tcp:"));
        trouble_fix(&job->trouble, "give the worker the key of the job: --key-file=FILE");
        return trouble_exit_code(&job->trouble);
    }
    trouble_set(&job->trouble, TROUBLE_LINK_LOST, "the connection to the job at %s is lost: %s",
                s->address.text + strlen("tcp:"), s->lost_text);
    if (!s->ready) return trouble_exit_code(&job->trouble);
    Text text = {0};
    sb_text_format(&text, "%s; it joins again", job->trouble.text);
    say_text(job, "joins_again", &text);
    return SERVE_AGAIN;
}
