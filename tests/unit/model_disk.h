// model_disk.h: a disk in memory behind the calls of runtime/host/durable.h, whose power can fail.
//
// Of a file the bytes at its last sync are safe; of each write since, at a crash any of its sectors
// is there or is not, and the length may have grown over bytes that were never written. Names that
// were made, renamed or removed since the last sync of their folder are there or are not, each by
// itself; a rename is whole. So writes and names come in any order, torn and in part.
//
// model_arm(n) lets n more calls succeed; then the power is off and all calls fail. model_crash()
// decides what is left and gives the power back. Random numbers come from random.h: a seed replays.
// With model_fail_sync(n) the n-th sync fails, and what it should have written is lost for ever.
#ifndef SBC_TESTS_UNIT_MODEL_DISK_H
#define SBC_TESTS_UNIT_MODEL_DISK_H

#include "runtime/host/durable.h"
#include "tests/unit/random.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL_NODES = 4096, MODEL_NAMES = 4096, MODEL_FDS = 1024, MODEL_SECTOR = 512 };

typedef struct ModelWrite {
    int64_t offset, len;
    bool    cuts;       // Sets the length to `offset`.
    bool    lost;       // A sync failed: it will not come.
} ModelWrite;

typedef struct ModelBytes {
    char   *ptr;
    int64_t len, cap;
} ModelBytes;

typedef struct ModelNode {
    bool        folder;
    ModelBytes  now, safe;
    ModelWrite *writes;  // Since the last sync.
    size_t      count, cap;
} ModelNode;

// A name in a folder; `node` -1: none.
typedef struct ModelName {
    char path[96];
    int  node;
} ModelName;

typedef struct ModelNames {
    ModelName items[MODEL_NAMES];
    int       count;
} ModelNames;

// A change of names that its folders were not synced since.
typedef struct ModelChange {
    char from[96], to[96];  // One of them may be empty.
    int  node;
} ModelChange;

typedef struct ModelDisk {
    pthread_mutex_t lock;
    ModelNode  *nodes[MODEL_NODES];
    int         node_count;
    ModelNames  now, safe;
    ModelChange changes[MODEL_NAMES];
    int         change_count;
    int         fds[MODEL_FDS];   // Of a node, -1: free.
    bool        locks[MODEL_FDS]; // It holds the lock of its node.
    int64_t     calls, calls_left, syncs_left;
    bool        off;
} ModelDisk;

static ModelDisk model = {.lock = PTHREAD_MUTEX_INITIALIZER};

// ---- names ----------------------------------------------------------------------------------

// Without slashes at the end and "./" in front.
static void model_path(char into[static 96], const char *path) {
    if (strncmp(path, "./", 2) == 0 && path[2] != '\0') path += 2;
    snprintf(into, 96, "%s", path);
    for (size_t len = strlen(into); len > 1 && into[len - 1] == '/';) into[--len] = '\0';
}

static void model_folder(char into[static 96], const char *path) {
    model_path(into, path);
    char *slash = strrchr(into, '/');
    if (slash) *slash = '\0';
    else strcpy(into, ".");
}

static int model_find(const ModelNames *names, const char *path) {
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->items[i].path, path) == 0) return names->items[i].node;
    return -1;
}

static void model_set(ModelNames *names, const char *path, int node) {
    int at = 0;
    while (at < names->count && strcmp(names->items[at].path, path) != 0) at++;
    if (at == names->count) {
        if (names->count == MODEL_NAMES) abort();
        snprintf(names->items[names->count++].path, 96, "%s", path);
    }
    names->items[at].node = node;
}

static void model_apply(ModelNames *names, const ModelChange *change) {
    if (change->from[0]) model_set(names, change->from, -1);
    if (change->to[0]) model_set(names, change->to, change->node);
}

static void model_change(const char *from, const char *to, int node) {
    if (model.change_count == MODEL_NAMES) abort();
    ModelChange *change = &model.changes[model.change_count++];
    *change = (ModelChange){.node = node};
    snprintf(change->from, 96, "%s", from);
    snprintf(change->to, 96, "%s", to);
    model_apply(&model.now, change);
}

// Is one of the change's names in the folder?
static bool model_touches(const ModelChange *change, const char *folder) {
    char of[96];
    if (change->from[0]) {
        model_folder(of, change->from);
        if (strcmp(of, folder) == 0) return true;
    }
    if (!change->to[0]) return false;
    model_folder(of, change->to);
    return strcmp(of, folder) == 0;
}

static int model_node(bool folder) {
    if (model.node_count == MODEL_NODES) abort();
    ModelNode *node = calloc(1, sizeof *node);
    node->folder = folder;
    model.nodes[model.node_count] = node;
    return model.node_count++;
}

// ---- bytes ----------------------------------------------------------------------------------

static void model_put(ModelBytes *bytes, const char *from, int64_t len, int64_t offset) {
    if (offset + len > bytes->cap) {
        bytes->cap = 2 * (offset + len) + 1024;
        bytes->ptr = realloc(bytes->ptr, (size_t)bytes->cap);
    }
    if (offset > bytes->len) memset(bytes->ptr + bytes->len, 0, (size_t)(offset - bytes->len));
    if (len > 0) memcpy(bytes->ptr + offset, from, (size_t)len);
    if (offset + len > bytes->len) bytes->len = offset + len;
}

static void model_cut(ModelBytes *bytes, int64_t len) {
    if (len > bytes->len) model_put(bytes, nullptr, 0, len);
    bytes->len = len;
}

static void model_note(ModelNode *node, ModelWrite write) {
    if (node->count == node->cap) {
        node->cap = node->cap ? 2 * node->cap : 16;
        node->writes = realloc(node->writes, node->cap * sizeof *node->writes);
    }
    node->writes[node->count++] = write;
}

// ---- the calls ------------------------------------------------------------------------------

// Counts a call; false: the power is off.
static bool model_powered(void) {
    model.calls++;
    if (model.calls_left == 0) model.off = true;
    if (model.calls_left > 0) model.calls_left--;
    if (model.off) errno = EIO;
    return !model.off;
}

static int model_open_now(const char *given, int flags) {
    char path[96], folder[96];
    model_path(path, given);
    model_folder(folder, path);
    int node = strcmp(path, ".") == 0 ? 0 : model_find(&model.now, path);
    if (node < 0 && strcmp(folder, ".") != 0 && model_find(&model.now, folder) < 0)
        return errno = ENOENT, -1;
    if (node >= 0 && flags & O_EXCL) return errno = EEXIST, -1;
    if (node < 0 && !(flags & O_CREAT)) return errno = ENOENT, -1;
    if (node >= 0 && flags & O_DIRECTORY && !model.nodes[node]->folder)
        return errno = ENOTDIR, -1;
    if (node < 0) model_change("", path, node = model_node(false));
    if (flags & O_TRUNC && model.nodes[node]->now.len > 0) {
        model_cut(&model.nodes[node]->now, 0);
        model_note(model.nodes[node], (ModelWrite){.cuts = true});
    }
    for (int fd = 0; fd < MODEL_FDS; fd++) {
        if (model.fds[fd] >= 0) continue;
        model.fds[fd] = node;
        return fd;
    }
    abort();
}

static int model_open(const char *path, int flags, mode_t mode) {
    (void)mode;
    pthread_mutex_lock(&model.lock);
    int fd = model_powered() ? model_open_now(path, flags) : -1;
    pthread_mutex_unlock(&model.lock);
    return fd;
}

static int model_close(int fd) {
    pthread_mutex_lock(&model.lock);
    model.locks[fd] = false;
    model.fds[fd] = -1;
    pthread_mutex_unlock(&model.lock);
    return 0;
}

static ssize_t model_read(int fd, void *bytes, size_t len, off_t offset) {
    pthread_mutex_lock(&model.lock);
    ssize_t got = -1;
    if (model_powered()) {
        const ModelBytes *now = &model.nodes[model.fds[fd]]->now;
        got = offset >= now->len ? 0 : now->len - offset < (int64_t)len ? now->len - offset
                                                                        : (ssize_t)len;
        if (got > 0) memcpy(bytes, now->ptr + offset, (size_t)got);
    }
    pthread_mutex_unlock(&model.lock);
    return got;
}

static ssize_t model_write(int fd, const void *bytes, size_t len, off_t offset) {
    pthread_mutex_lock(&model.lock);
    bool powered = model_powered();
    ModelNode *node = model.nodes[model.fds[fd]];
    model_put(&node->now, bytes, (int64_t)len, offset);
    model_note(node, (ModelWrite){.offset = offset, .len = (int64_t)len});
    pthread_mutex_unlock(&model.lock);
    return powered ? (ssize_t)len : -1;
}

static int model_sync_data(int fd) {
    pthread_mutex_lock(&model.lock);
    bool powered = model_powered();
    ModelNode *node = model.nodes[model.fds[fd]];
    if (powered && model.syncs_left > 0 && --model.syncs_left == 0) {
        for (size_t i = 0; i < node->count; i++) node->writes[i].lost = true;
        powered = false;
        errno = EIO;
    } else if (powered) {
        // What an earlier sync lost stays lost, although the page cache shows it.
        for (size_t i = 0; i < node->count; i++) {
            const ModelWrite *write = &node->writes[i];
            if (write->lost) continue;
            if (write->cuts) model_cut(&node->safe, write->offset);
            else model_put(&node->safe, node->now.ptr + write->offset, write->len, write->offset);
        }
        node->count = 0;
    }
    pthread_mutex_unlock(&model.lock);
    return powered ? 0 : -1;
}

static int model_sync(int fd) {
    pthread_mutex_lock(&model.lock);
    bool powered = model_powered();
    char folder[96] = ".";
    int node = model.fds[fd];
    for (int i = 0; i < model.now.count; i++)
        if (node > 0 && model.now.items[i].node == node) strcpy(folder, model.now.items[i].path);
    int kept = 0;
    for (int i = 0; powered && i < model.change_count; i++) {
        if (model_touches(&model.changes[i], folder)) model_apply(&model.safe, &model.changes[i]);
        else model.changes[kept++] = model.changes[i];
    }
    if (powered) model.change_count = kept;
    pthread_mutex_unlock(&model.lock);
    return powered ? 0 : -1;
}

static int model_truncate(int fd, off_t len) {
    pthread_mutex_lock(&model.lock);
    bool powered = model_powered();
    ModelNode *node = model.nodes[model.fds[fd]];
    if (powered && len != node->now.len) {
        model_cut(&node->now, len);
        model_note(node, (ModelWrite){.offset = len, .cuts = true});
    }
    pthread_mutex_unlock(&model.lock);
    return powered ? 0 : -1;
}

static int model_reserve(int fd, off_t len) {
    pthread_mutex_lock(&model.lock);
    bool powered = model_powered();
    ModelNode *node = model.nodes[model.fds[fd]];
    if (powered && len > node->now.len) {
        model_cut(&node->now, len);
        model_note(node, (ModelWrite){.offset = len, .cuts = true});
    }
    pthread_mutex_unlock(&model.lock);
    return powered ? 0 : EIO;
}

static off_t model_size(int fd) {
    pthread_mutex_lock(&model.lock);
    off_t size = model_powered() ? model.nodes[model.fds[fd]]->now.len : -1;
    pthread_mutex_unlock(&model.lock);
    return size;
}

static int model_rename(const char *from, const char *to, bool replace) {
    char old[96], new[96];
    model_path(old, from);
    model_path(new, to);
    pthread_mutex_lock(&model.lock);
    int status = -1;
    if (model_powered()) {
        int node = model_find(&model.now, old);
        if (node < 0) errno = ENOENT;
        else if (!replace && model_find(&model.now, new) >= 0) errno = EEXIST;
        else model_change(old, new, node), status = 0;
    }
    pthread_mutex_unlock(&model.lock);
    return status;
}

static int model_unlink(const char *path) {
    char name[96];
    model_path(name, path);
    pthread_mutex_lock(&model.lock);
    int status = -1;
    if (model_powered()) {
        if (model_find(&model.now, name) < 0) errno = ENOENT;
        else model_change(name, "", -1), status = 0;
    }
    pthread_mutex_unlock(&model.lock);
    return status;
}

static int model_make_folder(const char *path) {
    char name[96];
    model_path(name, path);
    pthread_mutex_lock(&model.lock);
    int status = -1;
    if (model_powered()) {
        if (strcmp(name, ".") == 0 || model_find(&model.now, name) >= 0) errno = EEXIST;
        else model_change("", name, model_node(true)), status = 0;
    }
    pthread_mutex_unlock(&model.lock);
    return status;
}

static int model_lock(int fd) {
    pthread_mutex_lock(&model.lock);
    bool free_now = model_powered();
    for (int other = 0; other < MODEL_FDS; other++)
        free_now &= !model.locks[other] || model.fds[other] != model.fds[fd];
    if (free_now) model.locks[fd] = true;
    else if (!model.off) errno = EWOULDBLOCK;
    pthread_mutex_unlock(&model.lock);
    return free_now ? 0 : -1;
}

static int model_about(int fd, DurableBase *base) {
    pthread_mutex_lock(&model.lock);
    bool powered = model_powered();
    int node = model.fds[fd];
    base->is = true;
    base->size = model.nodes[node]->now.len;
    base->inode = node;
    pthread_mutex_unlock(&model.lock);
    return powered ? 0 : -1;
}

// The caller copies all bytes itself.
static int64_t model_clone(int from, int to, int64_t len) {
    (void)from, (void)to, (void)len;
    return 0;
}

static const DurableCalls model_calls = {
    .open = model_open, .close = model_close, .read = model_read, .write = model_write,
    .sync_data = model_sync_data, .sync = model_sync, .truncate = model_truncate,
    .reserve = model_reserve, .size = model_size, .rename = model_rename, .unlink = model_unlink,
    .make_folder = model_make_folder, .lock = model_lock, .about = model_about,
    .clone = model_clone,
};

// ---- what tests do with it ------------------------------------------------------------------

static void model_close_all(void) {
    for (int i = 0; i < MODEL_FDS; i++) model.fds[i] = -1, model.locks[i] = false;
    model.calls_left = -1;
    model.syncs_left = 0;
    model.off = false;
}

// An empty disk.
static inline void model_begin(void) {
    for (int i = 0; i < model.node_count; i++) {
        free(model.nodes[i]->now.ptr);
        free(model.nodes[i]->safe.ptr);
        free(model.nodes[i]->writes);
        free(model.nodes[i]);
    }
    model.node_count = model.now.count = model.safe.count = model.change_count = 0;
    model.calls = 0;
    model_close_all();
    model_node(true);  // "."
    durable_use(&model_calls);
}

static inline void model_arm(int64_t calls) { model.calls_left = calls; }
static inline void model_fail_sync(int64_t number) { model.syncs_left = number; }

static void model_crash_file(ModelNode *node) {
    for (size_t i = 0; i < node->count; i++) {
        const ModelWrite *write = &node->writes[i];
        uint32_t fate = random_below(4);  // Gone, whole, in part, in part with its length.
        if (write->lost || fate == 0) continue;
        if (write->cuts) {
            model_cut(&node->safe, write->offset);
            continue;
        }
        int64_t end = write->offset + write->len;
        for (int64_t at = write->offset; at < end;) {
            int64_t next = (at / MODEL_SECTOR + 1) * MODEL_SECTOR;
            if (next > end) next = end;
            // Bytes that a later write replaced are of that write.
            if (fate == 1 || random_below(2))
                model_put(&node->safe, node->now.ptr + at, next - at, at);
            at = next;
        }
        if (fate == 3 && end > node->safe.len) model_cut(&node->safe, end);
    }
    node->count = 0;
    node->now.len = 0;
    model_put(&node->now, node->safe.ptr, node->safe.len, 0);
}

// The power fails, if it has not, and comes back.
static inline void model_crash(void) {
    for (int i = 0; i < model.change_count; i++)
        if (random_below(2)) model_apply(&model.safe, &model.changes[i]);
    model.change_count = 0;
    model.now = model.safe;
    for (int i = 0; i < model.node_count; i++) model_crash_file(model.nodes[i]);
    // What is in a folder that is gone is gone.
    for (int i = 0; i < model.now.count; i++) {
        char folder[96];
        model_folder(folder, model.now.items[i].path);
        if (strcmp(folder, ".") != 0 && model_find(&model.now, folder) < 0)
            model.now.items[i].node = model.safe.items[i].node = -1;
    }
    model_close_all();
}

// The bytes of a file, nullptr: it is not there.
static inline const char *model_holds(const char *path, int64_t *len) {
    int node = model_find(&model.now, path);
    if (node < 0) return nullptr;
    *len = model.nodes[node]->now.len;
    return model.nodes[node]->now.ptr ? model.nodes[node]->now.ptr : "";
}

// Files that are there, folders not counted.
static inline int model_files(void) {
    int files = 0;
    for (int i = 0; i < model.now.count; i++) {
        int node = model.now.items[i].node;
        files += node >= 0 && !model.nodes[node]->folder;
    }
    return files;
}

#endif
