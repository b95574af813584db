// List build: a list or a text that grows in scratch memory, in place where it can.
#ifndef SBC_STDLIB_LIST_BUILD_H
#define SBC_STDLIB_LIST_BUILD_H

#include "runtime/abi/call.h"

#include <string.h>

// Gives back what was allocated since `before` was copied, if it is in the same block.
static inline void sb_release(SbCall *call, const SbCall *before) {
    if (call->end == before->end) call->at = before->at;
}

// Gives back the end of the newest allocation: of its bytes, `used` stay.
static inline void sb_shrink(SbCall *call, void *newest, int64_t used) {
    call->at = (char *)newest + ((used + 15) & ~INT64_C(15));
}

typedef struct SbBuild {
    SbCall *call;
    char   *ptr;
    int64_t len, cap;  // Bytes.
} SbBuild;

// Room for `bytes` more at the returned address; nullptr: out of memory. Nothing else may be
// allocated between calls, or the build moves each time it grows.
static inline void *sb_build_room(SbBuild *build, int64_t bytes) {
    if (build->cap - build->len >= bytes) return build->ptr + build->len;
    int64_t cap = build->cap * 2 > build->len + bytes ? build->cap * 2 : build->len + bytes + 64;
    SbCall *call = build->call;
    if (build->ptr && call->at == build->ptr + ((build->cap + 15) & ~INT64_C(15)) &&
        call->end - build->ptr - SB_SLACK - 16 >= cap) {
        call->at = build->ptr + ((cap + 15) & ~INT64_C(15));
        build->cap = cap;
        return build->ptr + build->len;
    }
    char *ptr = sb_alloc(call, cap);
    if (!ptr) return nullptr;
    if (build->len) memcpy(ptr, build->ptr, (size_t)build->len);
    build->ptr = ptr;
    build->cap = cap;
    return ptr + build->len;
}

static inline bool sb_build_add(SbBuild *build, const void *bytes, int64_t len) {
    if (!len) return true;
    void *room = sb_build_room(build, len);
    if (!room) return false;
    memcpy(room, bytes, (size_t)len);
    build->len += len;
    return true;
}

static inline bool sb_build_byte(SbBuild *build, char c) { return sb_build_add(build, &c, 1); }

static inline bool sb_build_str(SbBuild *build, SbStr text) {
    return sb_build_add(build, &text, sizeof text);
}

// The list of what was added as items of `size` bytes; gives back unused room.
static inline SbList sb_build_list(const SbBuild *build, int64_t size) {
    SbCall *call = build->call;
    if (build->ptr && call->at == build->ptr + ((build->cap + 15) & ~INT64_C(15)))
        sb_shrink(call, build->ptr, build->len);
    return (SbList){build->ptr, build->len / size};
}

static inline SbStr sb_build_text(const SbBuild *build) {
    SbList bytes = sb_build_list(build, 1);
    return bytes.ptr ? (SbStr){bytes.ptr, bytes.len} : SB_LITERAL("");
}

#endif
