// Addresses and sockets, whatever their make, and what is said of them.
#define _GNU_SOURCE
#include "runtime/worker/link.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

bool link_fails(LinkWhy *why, LinkEnd end, const char *format, ...) {
    va_list args;
    va_start(args, format);
    why->end = end;
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return false;
}

bool link_breaks(LinkWhy *why, int error) {
    switch (error) {
    case ECONNRESET:
    case EPIPE:
        return link_fails(why, LINK_END_CLOSED, "the other side has closed the connection: %s",
                          strerror(error));
    case ETIMEDOUT:
        return link_fails(why, LINK_END_ERROR, "nothing was acknowledged in time: %s",
                          strerror(error));
    default:
        return link_fails(why, LINK_END_ERROR, "the connection broke: %s", strerror(error));
    }
}

bool links_trouble(LinkEnd why, const char *text, Trouble *trouble) {
    static const TroubleKind kinds[LINK_ENDS] = {
        [LINK_END_CLOSED] = TROUBLE_LINK_LOST,      [LINK_END_ERROR] = TROUBLE_LINK_LOST,
        [LINK_END_NO_FRAME] = TROUBLE_LINK_VERSION, [LINK_END_VERSION] = TROUBLE_LINK_VERSION,
        [LINK_END_BEHIND] = TROUBLE_LINK_LOST,      [LINK_END_KEY] = TROUBLE_LINK_KEY,
    };
    return trouble_set(trouble, kinds[why], "%s", text);
}

// ---- addresses ----------------------------------------------------------------------------------

static const LinkMake *make_of(const LinksSetup *setup, const char *address, const char **rest) {
    for (const LinkMake *const *make = setup->makes; make && *make; make++) {
        size_t len = strlen((*make)->name);
        if (strncmp(address, (*make)->name, len) != 0 || address[len] != ':') continue;
        *rest = address + len + 1;
        return *make;
    }
    return nullptr;
}

static bool no_address(const LinksSetup *setup, const char *address, const char *what,
                       Trouble *trouble) {
    trouble_set(trouble, TROUBLE_LINK_ADDRESS, "'%s' is no address: %s", address, what);
    char forms[sizeof trouble->fix] = "";
    for (const LinkMake *const *make = setup->makes; make && *make; make++) {
        size_t len = strlen(forms);
        snprintf(forms + len, sizeof forms - len, "%s%s", len ? ", or " : "", (*make)->form);
    }
    if (*forms) trouble_fix(trouble, "write it as %s", forms);
    return false;
}

bool link_find(const LinksSetup *setup, const char *address, bool listens, LinkFound *found,
               Trouble *trouble) {
    const char *rest;
    LinkWhy why;
    *found = (LinkFound){.make = make_of(setup, address, &rest)};
    if (!found->make)
        return no_address(setup, address, "it does not begin with a way to connect", trouble);
    if (!found->make->find(rest, listens, &found->targets, &why))
        return no_address(setup, address, why.text, trouble);
    for (uint32_t i = 0; i < found->targets.count && !setup->key; i++)
        if (!found->make->is_inside(&found->targets.targets[i]))
            return trouble_set(trouble, TROUBLE_LINK_KEY,
                               "'%s' is not on this machine, and there is no key to encrypt with",
                               address);
    return true;
}

// ---- sockets ------------------------------------------------------------------------------------

static int socket_for(const LinkTarget *target) {
    return socket(target->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static bool bind_to(const LinkMake *make, int fd, const LinkTarget *target) {
    if (make->before_bind) make->before_bind(fd, target);
    if (bind(fd, (const struct sockaddr *)&target->address, target->len) != 0) return false;
    if (make->after_bind) make->after_bind(target);
    if (listen(fd, SOMAXCONN) == 0) return true;
    int error = errno;
    if (make->left) make->left(target);
    errno = error;
    return false;
}

int link_listen(LinkFound *found, const char *address, LinkTarget *bound, LinkAddress *name,
                Trouble *trouble) {
    const LinkMake *make = found->make;
    int error = 0;
    for (uint32_t i = 0; i < found->targets.count; i++) {
        *bound = found->targets.targets[i];
        int fd = socket_for(bound);
        if (fd >= 0 && bind_to(make, fd, bound)) {
            int len = snprintf(name->text, sizeof name->text, "%s:", make->name);
            getsockname(fd, (struct sockaddr *)&bound->address, &bound->len);
            make->name_of(bound, name->text + len, sizeof name->text - (size_t)len);
            return fd;
        }
        error = errno;
        if (fd >= 0) close(fd);
    }
    trouble_set(trouble, TROUBLE_LINK_LISTEN, "cannot listen at '%s': %s", address,
                strerror(error));
    trouble_fix(trouble, "%s", make->fix);
    return -1;
}

static int connect_to(const LinkMake *make, const LinkTarget *target, int64_t timeout_ns,
                      LinkWhy *why) {
    int fd = socket_for(target);
    if (fd < 0) return link_breaks(why, errno), -1;
    bool good = make->ready(fd, timeout_ns, false, why);
    if (good && connect(fd, (const struct sockaddr *)&target->address, target->len) != 0 &&
        errno != EINPROGRESS)
        good = link_fails(why, LINK_END_ERROR, "%s", strerror(errno));
    if (good) return fd;
    close(fd);
    return -1;
}

int link_connect(LinkFound *found, int64_t timeout_ns, LinkWhy *why) {
    LinkTargets *targets = &found->targets;
    int fd = -1;
    while (fd < 0 && targets->next < targets->count)
        fd = connect_to(found->make, &targets->targets[targets->next++], timeout_ns, why);
    return fd;
}
