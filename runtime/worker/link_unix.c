// Sockets of this machine, by a path: unix:PATH. A path that begins with @ is a name that lies in
// no folder, and goes with its socket.
#define _GNU_SOURCE
#include "runtime/worker/link.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const struct sockaddr_un *unix_of(const LinkTarget *target) {
    return (const struct sockaddr_un *)&target->address;
}

static bool find(const char *rest, bool listens, LinkTargets *targets, LinkWhy *why) {
    (void)listens;
    struct sockaddr_un *address = (struct sockaddr_un *)&targets->targets[0].address;
    size_t len = strlen(rest);
    if (len == 0) return link_fails(why, LINK_END_ERROR, "it names no path");
    if (len >= sizeof address->sun_path)
        return link_fails(why, LINK_END_ERROR, "its path has %zu bytes, and %zu are the most", len,
                          sizeof address->sun_path - 1);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, rest, len + 1);
    targets->targets[0].len = sizeof *address;
    if (*rest == '@') {
        address->sun_path[0] = '\0';
        targets->targets[0].len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    }
    targets->count = 1;
    return true;
}

static bool is_inside(const LinkTarget *target) {
    (void)target;
    return true;
}

// A socket that a killed process left, which nobody listens at, makes way.
static void before_bind(int fd, const LinkTarget *target) {
    (void)fd;
    struct stat at;
    const char *path = unix_of(target)->sun_path;
    if (lstat(path, &at) != 0 || !S_ISSOCK(at.st_mode)) return;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) return;
    if (connect(probe, (const struct sockaddr *)&target->address, target->len) != 0 &&
        errno == ECONNREFUSED)
        unlink(path);
    close(probe);
}

static void after_bind(const LinkTarget *target) { chmod(unix_of(target)->sun_path, 0600); }

// Whoever may reach the path: only the same user, or root, is let in.
static bool ready(int fd, int64_t timeout_ns, bool accepted, LinkWhy *why) {
    (void)timeout_ns;
    struct ucred other;
    socklen_t len = sizeof other;
    if (!accepted) return true;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &len) != 0)
        return link_breaks(why, errno);
    if (other.uid == geteuid() || other.uid == 0) return true;
    return link_fails(why, LINK_END_KEY, "the other side runs as user %u", other.uid);
}

static void name_of(const LinkTarget *bound, char *into, size_t room) {
    const char *path = unix_of(bound)->sun_path;
    snprintf(into, room, "%s%s", *path ? "" : "@", path + !*path);
}

static void left(const LinkTarget *bound) { unlink(unix_of(bound)->sun_path); }

const LinkMake link_unix = {
    .name = "unix", .form = "unix:PATH", .fix = "give a path in a folder that can be written",
    .find = find, .is_inside = is_inside, .before_bind = before_bind, .after_bind = after_bind,
    .ready = ready, .name_of = name_of, .left = left,
};
