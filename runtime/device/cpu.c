#define _GNU_SOURCE
#include "runtime/device/cpu.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The first words of a small file of the system; empty when there is none.
static void read_words(const char *path, char words[64]) {
    words[0] = '\0';
    FILE *file = fopen(path, "re");
    if (!file) return;
    size_t length = fread(words, 1, 63, file);
    words[length] = '\0';
    fclose(file);
}

// ---- control groups -------------------------------------------------------------------------

// Where a controller of version 1, or version 2 (no controller), is mounted.
typedef struct Mount {
    const char *controller, *folder;
} Mount;

// Is it in the list of controllers of a line?
static bool is_listed(const char *controller, const char *list, const char *end) {
    size_t len = strlen(controller);
    for (const char *at = list; at < end; at++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        if (!comma) comma = end;
        if ((size_t)(comma - at) == len && memcmp(at, controller, len) == 0) return true;
        at = comma;
    }
    return len == 0 && list == end;
}

// The path of the process's group below the mount, without a slash at its end; false: it is in
// none.
static bool find_group(const Mount *mount, char path[PATH_MAX]) {
    FILE *file = fopen("/proc/self/cgroup", "re");
    bool found = false;
    char line[PATH_MAX + 64];
    while (file && !found && fgets(line, sizeof line, file)) {
        // number:controllers:/path
        char *list = strchr(line, ':'), *end = list ? strchr(list + 1, ':') : nullptr;
        if (!end || !is_listed(mount->controller, list + 1, end)) continue;
        size_t len = strcspn(end + 1, "\n");
        while (len > 0 && end[len] == '/') len--;
        snprintf(path, PATH_MAX, "%.*s", (int)len, end + 1);
        found = true;
    }
    if (file) fclose(file);
    return found;
}

// Looks at the file of the process's group and of all groups above it, up to the mount: inside a
// container these may not be there, and the mount is its group.
typedef void LimitFn(const char *folder, void *arg);

static void each_group(const Mount *mount, LimitFn *look, void *arg) {
    char path[PATH_MAX], folder[2 * PATH_MAX];
    if (!find_group(mount, path)) path[0] = '\0';
    for (;;) {
        snprintf(folder, sizeof folder, "%s%s", mount->folder, path);
        look(folder, arg);
        char *slash = strrchr(path, '/');
        if (!slash) return;
        *slash = '\0';
    }
}

static void read_in(const char *folder, const char *name, char words[64]) {
    char path[2 * PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    read_words(path, words);
}

// ---- cpus -----------------------------------------------------------------------------------

static void lower_count(double quota, double period, uint32_t *count) {
    if (quota <= 0 || period <= 0) return;
    uint32_t whole = (uint32_t)((quota + period - 1) / period);
    if (whole < *count) *count = whole;
}

static void look_at_quota(const char *folder, void *count) {
    char words[64];
    double quota = 0, period = 0;
    read_in(folder, "cpu.max", words);
    if (sscanf(words, "%lf %lf", &quota, &period) != 2) {
        read_in(folder, "cpu.cfs_quota_us", words);
        quota = strtod(words, nullptr);
        read_in(folder, "cpu.cfs_period_us", words);
        period = strtod(words, nullptr);
    }
    lower_count(quota, period, count);
}

uint32_t cpu_count(void) {
    static const Mount mounts[] = {{"cpu", "/sys/fs/cgroup/cpu"}, {"", "/sys/fs/cgroup"}};
    cpu_set_t set;
    uint32_t count = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0) count = (uint32_t)CPU_COUNT(&set);
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++)
        each_group(&mounts[i], look_at_quota, &count);
    return count < 1 ? 1 : count;
}

// ---- memory ---------------------------------------------------------------------------------

static void look_at_memory(const char *folder, void *bytes) {
    static const char *const names[] = {"memory.max", "memory.limit_in_bytes"};
    int64_t *least = bytes;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char words[64];
        read_in(folder, names[i], words);
        int64_t limit = strtoll(words, nullptr, 10);
        if (limit > 0 && limit < *least) *least = limit;
    }
}

int64_t cpu_memory(void) {
    static const Mount mounts[] = {{"memory", "/sys/fs/cgroup/memory"}, {"", "/sys/fs/cgroup"}};
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++)
        each_group(&mounts[i], look_at_memory, &bytes);
    return bytes;
}

// ---- GPUs -----------------------------------------------------------------------------------

// Devices that the environment names: "0,2", "GPU-8932f937"; "" and "-1" name none, nor does what
// stands after "-1".
static uint32_t named_devices(const char *list) {
    uint32_t count = 0;
    for (const char *at = list; at && *at != '\0' && *at != '-'; count++) {
        at = strchr(at, ',');
        if (at) at++;
    }
    return count;
}

uint32_t cpu_gpus(void) {
    enum { DEVICES_MAX = 64 };
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    uint32_t most = visible ? named_devices(visible) : DEVICES_MAX, found = 0;
    for (int i = 0; i < DEVICES_MAX && found < most; i++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/nvidia%d", i);
        found += access(path, R_OK | W_OK) == 0;
    }
    return found;
}
