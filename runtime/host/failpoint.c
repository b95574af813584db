#include "runtime/host/failpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// One of the variable: from `after` + 1 on, calls there fail (`count` of them); or it happens once,
// at the call of number `count`.
typedef struct Point {
    const char *name;
    size_t      len;
    bool        flips;   // Bits of what is there do, and nothing else happens. False:
    int         error;   // 0: no call fails;
    int         signal;  // the process gets this one; 0: the thread waits.
    long        count;
    long        after;
    atomic_long seen;
} Point;

enum { POINTS_MAX = 16 };
static Point points[POINTS_MAX];
static size_t point_count;
static bool any_flips;  // Of whatever process.
static uint32_t own_node;

static bool is_named(const char *text, const char *name) {
    size_t len = strlen(name);
    return strncmp(text, name, len) == 0 && (!text[len] || strchr(":,", text[len]));
}

typedef struct Named { const char *name; int number; } Named;

static const Named errors[] = {
#define ERROR(name, class) {#name, name},
#include "runtime/host/errors.def"
#undef ERROR
    {nullptr, 0},
};

static const Named signals[] = {
    {"SIGTERM", SIGTERM}, {"STOP", SIGSTOP}, {"SIGSEGV", SIGSEGV}, {"WAIT", 0}, {nullptr, 0}};

static int number_named(const Named *all, const char *text) {
    while (all->name && !is_named(text, all->name)) all++;
    return all->number;
}

// "NODE/" in front of a name: is this the process that it is for? Moves to after it.
static bool is_for(const char **text, uint32_t node) {
    char *end;
    unsigned long wanted = strtoul(*text, &end, 10);
    if (end == *text || *end != '/') return true;
    *text = end + 1;
    return wanted == node;
}

// Up to the comma or the end.
static void read_point(const char *text, uint32_t node) {
    if (!is_for(&text, node) || point_count == POINTS_MAX) return;
    Point *point = &points[point_count++];
    *point = (Point){.name = text, .len = strcspn(text, "=:,"), .signal = SIGKILL, .count = 1};
    const char *at = text + point->len;
    if (*at == '=') {
        point->error = number_named(errors, at + 1);
        point->signal = number_named(signals, at + 1);
        point->flips = is_named(at + 1, "FLIP");
        at += strcspn(at, ":,");
    }
    char *end = (char *)at;
    if (*at == ':') point->count = strtol(at + 1, &end, 10);
    if (*end == '+') point->after = strtol(end + 1, nullptr, 10);
}

void failpoint_open(uint32_t node) {
    const char *text = getenv("SBC_FAILPOINT");
    any_flips = text && strstr(text, "=FLIP");
    own_node = node;
    while (text) {
        read_point(text, node);
        text = strchr(text, ',');
        if (text) text++;
    }
}

static bool is_at(const Point *point, const char *name) {
    return strlen(name) == point->len && memcmp(name, point->name, point->len) == 0;
}

// A line of the file that a test names: which process, and what happens to it.
static void tell(const Point *point) {
    const char *path = getenv("SBC_FAILPOINT_TOLD");
    char line[80];
    if (!path) return;
    int len = snprintf(line, sizeof line, "%u/%.*s\n", own_node, (int)strcspn(point->name, ":,"),
                       point->name);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return;
    (void)!write(fd, line, len < (int)sizeof line ? (size_t)len : sizeof line - 1);
    close(fd);
}

// It happens once.
static bool is_due(Point *point) {
    return atomic_fetch_add(&point->seen, 1) + 1 == point->count + point->after;
}

bool failpoint_flips(const char *name) {
    bool flips = false;
    for (size_t i = 0; i < point_count; i++)
        if (points[i].flips && is_at(&points[i], name) && is_due(&points[i])) {
            tell(&points[i]);
            flips = true;
        }
    return flips;
}

bool failpoint_any_flips(void) { return any_flips; }

void failpoint(const char *name) {
    enum { WAIT_MICROS = 200 * 1000 };
    for (size_t i = 0; i < point_count; i++) {
        Point *point = &points[i];
        if (point->error || point->flips || !is_at(point, name) || !is_due(point)) continue;
        tell(point);
        if (point->signal) kill(getpid(), point->signal);
        else usleep(WAIT_MICROS);
    }
}

bool failpoint_fails(const char *name) {
    failpoint(name);
    for (size_t i = 0; i < point_count; i++) {
        Point *point = &points[i];
        if (!point->error || !is_at(point, name)) continue;
        long seen = atomic_fetch_add(&point->seen, 1);
        if (seen < point->after || seen >= point->after + point->count) continue;
        tell(point);
        errno = point->error;
        return true;
    }
    return false;
}
