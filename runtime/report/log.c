#define _GNU_SOURCE
#include "runtime/report/log.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

int64_t log_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void log_open(Log *log, FILE *file, bool json) {
    *log = (Log){.file = file, .json = json, .started_ns = log_clock_ns()};
    pthread_mutex_init(&log->lock, nullptr);
}

void log_close(Log *log) { pthread_mutex_destroy(&log->lock); }

double log_seconds(const Log *log) {
    return (double)(log_clock_ns() - log->started_ns) / 1e9;
}

// ---- writing --------------------------------------------------------------------------------

// Takes the live lines away; the lock is held.
static void clear(Log *log) {
    if (log->live_lines == 0) return;
    fputs("\r\x1b[K", log->file);
    for (uint32_t i = 1; i < log->live_lines; i++) fputs("\x1b[A\x1b[K", log->file);
    log->live_lines = 0;
}

static void put(Log *log, const char *bytes, int64_t len) {
    pthread_mutex_lock(&log->lock);
    clear(log);
    fwrite(bytes, 1, (size_t)len, log->file);
    fflush(log->file);
    pthread_mutex_unlock(&log->lock);
}

void log_clear(Log *log) { put(log, "", 0); }

// Writes lines cut to the terminal's width, so that none takes two of its lines; the cursor stays
// after the last. Returns how many.
static uint32_t put_live(Log *log, const Text *text) {
    struct winsize window;
    bool known = ioctl(fileno(log->file), TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
    uint32_t width = known ? window.ws_col : 80, lines = text->len > 0, column = 0;
    for (int64_t i = 0; i < text->len; i++) {
        unsigned char byte = (unsigned char)text->ptr[i];
        bool end = byte == '\n';
        if (end && i + 1 == text->len) break;
        lines += end;
        column = end ? 0 : column + ((byte & 0xc0) != 0x80);
        if (end || column < width) fputc(byte, log->file);
    }
    return lines;
}

void log_lines(Log *log, const Text *text, bool live) {
    pthread_mutex_lock(&log->lock);
    clear(log);
    if (live) log->live_lines = put_live(log, text);
    else fwrite(text->ptr, 1, (size_t)text->len, log->file);
    fflush(log->file);
    pthread_mutex_unlock(&log->lock);
}

// ---- objects --------------------------------------------------------------------------------

void log_add_text(Text *text, const char *name, const char *bytes, int64_t len) {
    sb_text_format(text, ",\"%s\":", name);
    Text shown = {0};
    sb_text_add_shown(&shown, bytes, len);
    sb_text_add_json(text, shown.ptr, shown.len);
    sb_text_close(&shown);
}

void log_add_number(Text *text, const char *name, int64_t number) {
    sb_text_format(text, ",\"%s\":%lld", name, (long long)number);
}

void log_begin(const Log *log, Text *text, const char *event) {
    struct timespec now;
    struct tm utc;
    char stamp[40];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    sb_text_format(text, "{\"event\":\"%s\",\"time\":\"%s.%03dZ\",\"seconds\":%.3f", event, stamp,
                   (int)(now.tv_nsec / 1000000), log_seconds(log));
}

void log_event(Log *log, Text *text) {
    sb_text_str(text, "}\n");
    if (!text->failed) put(log, text->ptr, text->len);
    sb_text_close(text);
}

// ---- messages -------------------------------------------------------------------------------

void log_say(Log *log, const char *event, TroubleKind kind, const char *format, va_list args) {
    char message[TROUBLE_TEXT_MAX];
    const char *code = trouble_code(kind);
    vsnprintf(message, sizeof message, format, args);
    Text text = {0};
    if (log->json) {
        log_begin(log, &text, event);
        if (*code) log_add_text(&text, "code", code, (int64_t)strlen(code));
        log_add_text(&text, "message", message, (int64_t)strlen(message));
        log_event(log, &text);
        return;
    }
    sb_text_str(&text, event);
    if (*code) sb_text_format(&text, "[%s]", code);
    sb_text_format(&text, ": %s\n", message);
    log_lines(log, &text, false);
    sb_text_close(&text);
}

void log_warn(Log *log, TroubleKind kind, const char *format, ...) {
    va_list args;
    va_start(args, format);
    log_say(log, "warning", kind, format, args);
    va_end(args);
}

static void log_one(Log *log, const Trouble *trouble) {
    Text text = {0};
    const char *code = trouble_code(trouble->kind), *fix = trouble_fix_of(trouble);
    if (log->json) {
        log_begin(log, &text, "trouble");
        log_add_text(&text, "code", code, (int64_t)strlen(code));
        log_add_text(&text, "message", trouble->text, (int64_t)strlen(trouble->text));
        log_add_text(&text, "fix", fix, (int64_t)strlen(fix));
        log_event(log, &text);
        return;
    }
    sb_text_format(&text, "error[%s]: %s\n", code, trouble->text);
    if (fix[0] != '\0') sb_text_format(&text, "  = fix: %s\n", fix);
    log_lines(log, &text, false);
    sb_text_close(&text);
}

void log_trouble(Log *log, const Trouble *trouble) {
    for (; trouble && trouble->kind != TROUBLE_NONE; trouble = trouble->next)
        log_one(log, trouble);
}
