// Left: what breakers of a worker leave to the coordinator. Every address in it is known to lead
// into an arena, or the worker says that its rows are corrupt. Then it is sealed: nothing in this
// process writes to it any more. Foreign code that tries crashes, and its row is to blame.
#include "runtime/serve/state.h"

#include "stdlib/aggregate.h"

#include <string.h>

typedef struct Looker {
    SbHolder    holder;
    const Serve *s;
    const char *own;   // The arena of this process.
    bool        bad;
} Looker;

static inline void look_at(Looker *looker, const char *at, int64_t bytes) {
    const ArenaSpace *space = &looker->s->space;
    uint64_t from = (uint64_t)(at - looker->own), span = (uint64_t)space->span;
    bool lies = from < span && (uint64_t)bytes <= span - from;
    if (__builtin_expect(!lies, 0) && bytes != 0)
        looker->bad |= arena_space_find(space, at, bytes) >= space->count;
}

static void *look(SbHolder *self, void *field, int64_t bytes, bool aligned) {
    Looker *looker = (Looker *)(void *)self;
    char *at;
    memcpy(&at, field, sizeof at);
    (void)aligned;
    look_at(looker, at, bytes);
    return looker->bad ? nullptr : at;
}

// Most of what rows point to.
static bool is_text(const SbHeld *held) {
    return held->hold == sb_held_value && sb_is_text(held->type) && !held->type->nullable;
}

static void look_at_row(Looker *looker, const SbBreaker *what, char *entry) {
    for (uint32_t h = 0; h < what->held_count; h++) {
        const SbHeld *held = &what->held[h];
        if (!is_text(held)) {
            held->hold(&looker->holder, held->type, entry + held->offset);
            continue;
        }
        SbStr text;
        memcpy(&text, entry + held->offset, sizeof text);
        look_at(looker, text.ptr, text.len);
    }
}

static void look_at_part(Looker *looker, const SbBreaker *what, const FarPart *part) {
    for (int64_t i = 0; i < part->span_count && !looker->bad; i++) {
        char *entry = part->spans[i].begin;
        for (int64_t n = part->spans[i].count; n > 0 && !looker->bad; n--) {
            look_at_row(looker, what, entry);
            entry += what->entry_bytes;
        }
    }
}

// What a worker of another machine has handed over is a copy from then on. If it reads these rows
// later they come back, as the job has put them together.
static void seal(const Serve *s, const WireBlocks *blocks) {
    for (uint32_t i = 0; i < blocks->count && !s->joined; i++)
        sb_memory_seal_shared(&s->job->machine.memory, blocks->items[i].at,
                              blocks->items[i].bytes);
}

void left_check(Serve *s, Flushed *flushed) {
    const SbJob *what = s->job->ask.what;
    const SbStage *stage = &what->stages[flushed->stage];
    Looker looker = {.holder.bytes = look, .s = s, .own = arena_space_of(&s->space, s->node)};
    harm_left(s, flushed, false);
    for (uint32_t i = 0; i < flushed->part_count && !looker.bad; i++) {
        const FlushedPart *is = &flushed->parts[i];
        look_at_part(&looker, &what->breakers[stage->terminals[is->terminal]], &is->part);
    }
    flushed->corrupt = looker.bad;
    seal(s, &flushed->blocks);
    harm_left(s, flushed, true);
}
