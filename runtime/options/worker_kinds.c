#include "runtime/options/worker_kinds.h"

#include "runtime/options/options.h"

#include <stdlib.h>
#include <string.h>

// ---- how many -----------------------------------------------------------------------------------

static bool read_count(const char *value, int64_t *count, int64_t *most) {
    char text[32];
    const char *dots = strstr(value, "..");
    size_t len = dots ? (size_t)(dots - value) : strlen(value);
    if (len >= sizeof text) return false;
    memcpy(text, value, len);
    text[len] = '\0';
    if (!options_whole(text, count)) return false;
    *most = *count;
    return !dots || options_whole(dots + 2, most);
}

bool worker_kinds_set_count(WorkerKinds *workers, const char *value, Trouble *trouble) {
    int64_t count, most;
    if (!read_count(value, &count, &most)) {
        trouble_set(trouble, TROUBLE_USAGE, "--workers=%s: '%s' is no number of workers", value,
                    value);
        return trouble_fix(trouble, "--workers=4, or --workers=2..8 to begin with 2 and have up to "
                           "8 later"), false;
    }
    workers->none = most == 0;
    if (workers->none) return true;
    if (count > most) {
        trouble_set(trouble, TROUBLE_USAGE, "--workers=%s: '%s' goes down", value, value);
        return trouble_fix(trouble, "write --workers=%lld..%lld", (long long)most,
                           (long long)count), false;
    }
    if (count < 1 || most > WORKERS_MAX) {
        trouble_set(trouble, TROUBLE_USAGE, "--workers=%s: a job has 1 to %lld workers", value,
                    (long long)WORKERS_MAX);
        int64_t near = most > WORKERS_MAX ? WORKERS_MAX : most;
        return trouble_fix(trouble, "write --workers=%lld", (long long)near), false;
    }
    workers->count = (uint32_t)count;
    workers->most = (uint32_t)most;
    return true;
}

// ---- those that join ----------------------------------------------------------------------------

static bool read_places(const char *value, int64_t *places, int64_t *cpus) {
    char text[32];
    const char *star = strchr(value, '*');
    size_t len = star ? (size_t)(star - value) : strlen(value);
    if (len >= sizeof text) return false;
    memcpy(text, value, len);
    text[len] = '\0';
    *cpus = 0;
    return options_whole(text, places) && *places > 0 &&
           (!star || (options_whole(star + 1, cpus) && *cpus > 0 && *cpus <= 1024));
}

bool worker_kinds_set_places(WorkerKinds *workers, const char *value, Trouble *trouble) {
    int64_t places, cpus;
    if (!read_places(value, &places, &cpus) || places > WORKERS_MAX) {
        trouble_set(trouble, TROUBLE_USAGE, "--places=%s: '%s' is no number of places up to %lld",
                    value, value, (long long)WORKERS_MAX);
        return trouble_fix(trouble, "--places=2, or --places=2*16 for two workers of 16 threads"),
               false;
    }
    workers->places = (uint32_t)places;
    workers->place_cpus = (uint32_t)cpus;
    return true;
}

bool worker_kinds_set_joins(WorkerKinds *workers, bool listens, Trouble *trouble) {
    enum { PLACES = 4 };
    if (!listens) {
        workers->places = 0;
        return true;
    }
    if (workers->places == 0) workers->places = PLACES;
    if (workers->most == 0 && !workers->none) workers->count = workers->most = 1;
    if (workers->most + workers->places <= WORKERS_MAX) return true;
    trouble_set(trouble, TROUBLE_USAGE, "%u workers and %u places: a job has %lld workers at most",
                workers->most, workers->places, (long long)WORKERS_MAX);
    return trouble_fix(trouble, "--places=%u, or fewer workers",
                       workers->most < WORKERS_MAX ? (uint32_t)WORKERS_MAX - workers->most : 1),
           false;
}

// ---- what each has ------------------------------------------------------------------------------

static bool refuse(const char *value, const char *what, int len, const char *why,
                   Trouble *trouble) {
    trouble_set(trouble, TROUBLE_USAGE, "--worker=%s: '%.*s' %s", value, len, what, why);
    return trouble_fix(trouble, "--worker=\"cpus=2,accel=1\", once for each worker"), false;
}

// NAME=AMOUNT at `at`, which goes on to what stands after it.
static bool read_part(const char *value, const char **at, Supply *part, Trouble *trouble) {
    size_t len = strcspn(*at, ",");
    const char *equals = memchr(*at, '=', len);
    if (!equals || equals == *at)
        return refuse(value, *at, (int)len, "names no resource and amount", trouble);
    char *end;
    double amount = strtod(equals + 1, &end);
    bool good = end == *at + len && end == equals + 1 + strspn(equals + 1, "0123456789.");
    if (!good || amount * 1000 < 1 || amount > 1e6)
        return refuse(value, equals + 1, (int)(*at + len - equals - 1),
                      "is no amount from 0.001 to 1000000", trouble);
    *part = (Supply){*at, (size_t)(equals - *at), (uint32_t)(amount * 1000 + 0.5)};
    *at += len + ((*at)[len] == ',');
    return true;
}

static bool is_cpus(const Supply *part) {
    return part->name_len == 4 && memcmp(part->name, "cpus", 4) == 0;
}

static bool add_part(WorkerKind *kind, const char *value, const Supply *part, Trouble *trouble) {
    bool twice = is_cpus(part) && kind->cpus > 0;
    for (uint32_t i = 0; i < kind->supply_count; i++)
        twice |= kind->supplies[i].name_len == part->name_len &&
                 memcmp(kind->supplies[i].name, part->name, part->name_len) == 0;
    int len = (int)part->name_len;
    if (twice) return refuse(value, part->name, len, "stands twice", trouble);
    if (is_cpus(part)) {
        kind->cpus = part->amount / 1000;
        bool whole = part->amount % 1000 == 0 && kind->cpus <= 1024;
        return whole || refuse(value, part->name, len, "is a whole number up to 1024", trouble);
    }
    if (kind->supply_count == SB_RESOURCES_MAX)
        return refuse(value, part->name, len, "is one resource too many", trouble);
    kind->supplies[kind->supply_count++] = *part;
    return true;
}

bool worker_kinds_add(WorkerKinds *workers, const char *value, Trouble *trouble) {
    uint32_t count = workers->kinds ? workers->most : 0;
    WorkerKind kind = {.text = value};
    Supply part;
    if (*value == '\0') return refuse(value, value, 0, "names no resource and amount", trouble);
    for (const char *at = value; *at;)
        if (!read_part(value, &at, &part, trouble) || !add_part(&kind, value, &part, trouble))
            return false;
    if (kind.cpus == 0) kind.cpus = 1;
    if (count == WORKERS_MAX) {
        trouble_set(trouble, TROUBLE_USAGE, "--worker=%s: a job has %lld workers at most", value,
                    (long long)WORKERS_MAX);
        return trouble_fix(trouble, "leave some of them out"), false;
    }
    WorkerKind *kinds = realloc(workers->kinds, (count + 1) * sizeof *kinds);
    if (!kinds) return trouble_no_memory(trouble, "for the options");
    kinds[count] = kind;
    workers->kinds = kinds;
    workers->count = workers->most = count + 1;
    return true;
}
