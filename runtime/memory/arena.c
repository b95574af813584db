// Blocks below 64 KiB are slots of a unit of 64 KiB, all of one size. Longer blocks are whole units
// side by side. What is known of a unit lies outside the arena, which others read.
#define _GNU_SOURCE
#include "runtime/memory/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// ---- the space ----------------------------------------------------------------------------------

// Where programs have nothing. ThreadSanitizer keeps its shadow in most of these places, and takes
// an address there for no address.
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
static const uintptr_t bases[] = {UINT64_C(0x7d0000000000)};
#else
static const uintptr_t bases[] = {UINT64_C(0x200000000000), UINT64_C(0x7d0000000000),
                                  UINT64_C(0x300000000000), UINT64_C(0x100000000000)};
#endif

static void *map(char *at, int64_t bytes, int protection, int fd) {
    int kind = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_NORESERVE;
    return mmap(at, (size_t)bytes, protection, kind | MAP_FIXED_NOREPLACE, fd, 0);
}

static bool map_all(const ArenaSpace *space, uint32_t own) {
    for (uint32_t i = 0; i < space->count; i++) {
        char *at = arena_space_of(space, i);
        int protection = i == own || own == 0 ? PROT_READ | PROT_WRITE : PROT_READ;
        if (map(at, space->span, protection, space->fds[i]) == at) continue;
        int error = errno;
        if (i > 0) munmap(space->base, (size_t)(i * space->span));
        errno = error;
        return false;
    }
    return true;
}

static bool make_files(ArenaSpace *space, uint32_t count) {
    for (; space->count < count; space->count++) {
        int fd = memfd_create("sbc", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, space->span) != 0) {
            if (fd >= 0) close(fd);
            return false;
        }
        space->fds[space->count] = fd;
    }
    return true;
}

bool arena_space_open(ArenaSpace *space, uint32_t count, int64_t span) {
    *space = (ArenaSpace){.span = (span + ARENA_HUGE - 1) & -ARENA_HUGE};
    if (!make_files(space, count)) {
        arena_space_close(space);
        return false;
    }
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        space->base = (char *)bases[i];
        if (map_all(space, 0)) return true;
    }
    space->base = nullptr;
    arena_space_close(space);
    return false;
}

bool arena_space_join(const ArenaSpace *space, uint32_t own) { return map_all(space, own); }

bool arena_space_copy(ArenaSpace *space) {
    char *base = space->base;
    uint32_t count = space->count;
    space->base = nullptr;  // Nothing is mapped yet.
    space->count = 0;
    bool good = make_files(space, count);
    space->base = base;
    good = good && map_all(space, 0);
    if (!good) space->base = nullptr;
    return good;
}

void arena_space_drop(const ArenaSpace *space, char *at, int64_t bytes) {
    uint32_t arena = arena_space_find(space, at, bytes);
    if (arena < space->count)
        fallocate(space->fds[arena], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  at - arena_space_of(space, arena), bytes);
}

uint32_t arena_space_find(const ArenaSpace *space, const void *at, int64_t bytes) {
    int64_t from = (const char *)at - space->base, all = space->count * space->span;
    if (from < 0 || from >= all || bytes <= 0 || bytes > space->span) return space->count;
    int64_t arena = from / space->span;
    return from - arena * space->span <= space->span - bytes ? (uint32_t)arena : space->count;
}

void arena_space_close(ArenaSpace *space) {
    int error = errno;
    if (space->base) munmap(space->base, (size_t)(space->count * space->span));
    for (uint32_t i = 0; i < space->count; i++) close(space->fds[i]);
    *space = (ArenaSpace){0};
    errno = error;
}

// ---- units --------------------------------------------------------------------------------------

enum { SLOT_SHIFT = 10, SLOTS = 64, SIZES = 6 };  // 1 KiB to 32 KiB.
enum : int64_t { PAGE = 4096 };
enum : uint32_t { NO_UNIT = UINT32_MAX };
enum : uint32_t { SEALED_MAX = 8192 };  // The system has 65,530 mappings for a process.
enum : uint32_t { HUGE_UNITS = ARENA_HUGE / ARENA_UNIT };
enum : uint32_t { REFUSALS_MAX = 4 };
enum { TAKE_HUGE = 25 };  // MADV_COLLAPSE, which headers have from glibc 2.37 on.
enum { SPARE_UNITS = 64 };  // Free units whose pages stay, unless arena_keep says otherwise: 4 MiB.

typedef enum Use : uint8_t { USE_FREE, USE_SLOTS, USE_WHOLE } Use;

typedef struct UnitInfo {
    uint64_t free;         // Of slots: a bit for each that is free.
    uint32_t next, prior;  // Of units of one size with free slots.
    Use      use;
    uint8_t  size;         // Slots have 1 KiB << size.
    bool     resident;     // Of a free unit: its pages are there.
    uint64_t sealed;       // Of slots, those that this process may not write to; of the first unit
                           // of a block, bit 0.
} UnitInfo;

struct Arena {
    pthread_mutex_t lock;
    char     *base;
    UnitInfo *units;
    uint32_t  unit_count;
    uint32_t  touched;      // Units from here on were never taken.
    uint32_t  from;         // Where the search for free units begins.
    uint32_t  spare;        // Free units whose pages are there.
    uint32_t  spare_max;    // Free units whose pages may stay there.
    uint32_t  slots[SIZES];  // First unit with free slots of the size.
    uint32_t  sealed;       // Blocks that are.
    int64_t   taken;
    int       fd;
    _Atomic uint32_t refusals;  // Times that the system gave no huge pages.
};

Arena *arena_open(const ArenaSpace *space, uint32_t own) {
    Arena *arena = calloc(1, sizeof *arena);
    uint32_t count = (uint32_t)(space->span / ARENA_UNIT);
    UnitInfo *units = calloc(count, sizeof *units);
    if (!arena || !units) {
        free(arena);
        free(units);
        return nullptr;
    }
    *arena = (Arena){.base = arena_space_of(space, own), .units = units, .unit_count = count,
                     .spare_max = SPARE_UNITS, .fd = space->fds[own]};
    pthread_mutex_init(&arena->lock, nullptr);
    for (int i = 0; i < SIZES; i++) arena->slots[i] = NO_UNIT;
    return arena;
}

void arena_close(Arena *arena) {
    if (!arena) return;
    pthread_mutex_destroy(&arena->lock);
    free(arena->units);
    free(arena);
}

static char *unit_at(const Arena *arena, uint32_t unit) {
    return arena->base + (int64_t)unit * ARENA_UNIT;
}

static uint32_t round_up(uint32_t unit, uint32_t step) { return (unit + step - 1) & -step; }

// Whole huge pages, where that is little more.
static uint32_t units_for(int64_t bytes) {
    enum : uint32_t { SLACK_SHARE = 8 };
    uint32_t units = (uint32_t)((bytes + ARENA_UNIT - 1) / ARENA_UNIT);
    uint32_t whole = round_up(units, HUGE_UNITS);
    return whole - units <= units / SLACK_SHARE ? whole : units;
}

// Returns how many of them have no pages yet.
static uint32_t take_units(Arena *arena, uint32_t first, uint32_t count, Use use) {
    uint32_t bare = 0;
    for (uint32_t u = first; u < first + count; u++) {
        bare += !arena->units[u].resident;
        arena->spare -= arena->units[u].resident;
        arena->units[u] = (UnitInfo){.use = use, .next = NO_UNIT, .prior = NO_UNIT};
    }
    if (arena->touched < first + count) arena->touched = first + count;
    return bare;
}

// The first of `count` free units side by side in [from, to), a multiple of the step, which is a
// power of two; NO_UNIT: there are none.
static uint32_t find_run(const Arena *arena, uint32_t count, uint32_t step, uint32_t from,
                         uint32_t to) {
    uint32_t first = round_up(from, step), u = first;
    while (u < to && u - first < count) {
        if (arena->units[u++].use != USE_FREE) first = u = round_up(u, step);
    }
    return u - first == count ? first : NO_UNIT;
}

// Units that were taken before come first, so that their pages are used again.
static uint32_t find_step(const Arena *arena, uint32_t count, uint32_t step) {
    uint32_t found = find_run(arena, count, step, arena->from, arena->touched);
    if (found == NO_UNIT) found = find_run(arena, count, step, 0, arena->touched);
    uint32_t end = arena->touched;
    while (found == NO_UNIT && end > 0 && arena->units[end - 1].use == USE_FREE) end--;
    end = round_up(end, step);
    bool fits = end <= arena->unit_count && arena->unit_count - end >= count;
    return found == NO_UNIT && fits ? end : found;
}

// What takes huge pages begins with one, unless the arena is nearly full.
static uint32_t find_units(Arena *arena, uint32_t count) {
    uint32_t found = find_step(arena, count, count >= HUGE_UNITS ? HUGE_UNITS : 1);
    if (found == NO_UNIT && count >= HUGE_UNITS) found = find_step(arena, count, 1);
    if (found != NO_UNIT) arena->from = found + count;
    return found;
}

// Some free units keep their pages: who takes them next finds pages that the system need not clear.
static void free_units(Arena *arena, uint32_t first, uint32_t count) {
    bool keeps = arena->spare + count <= arena->spare_max;
    for (uint32_t u = first; u < first + count; u++)
        arena->units[u] = (UnitInfo){.use = USE_FREE, .resident = keeps};
    arena->spare += keeps ? count : 0;
    if (arena->from > first) arena->from = first;
    if (keeps) return;
    fallocate(arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)first * ARENA_UNIT,
              (off_t)count * ARENA_UNIT);
}

// ---- slots --------------------------------------------------------------------------------------

static int size_of(int64_t bytes) {
    int size = 0;
    while ((INT64_C(1) << (SLOT_SHIFT + size)) < bytes) size++;
    return size;
}

static uint64_t all_slots(int size) {
    int slots = SLOTS >> size;
    return slots == SLOTS ? UINT64_MAX : (UINT64_C(1) << slots) - 1;
}

static void link_unit(Arena *arena, uint32_t unit) {
    UnitInfo *info = &arena->units[unit];
    uint32_t *head = &arena->slots[info->size];
    info->next = *head;
    info->prior = NO_UNIT;
    if (*head != NO_UNIT) arena->units[*head].prior = unit;
    *head = unit;
}

static void unlink_unit(Arena *arena, uint32_t unit) {
    const UnitInfo *info = &arena->units[unit];
    if (info->prior != NO_UNIT) arena->units[info->prior].next = info->next;
    else arena->slots[info->size] = info->next;
    if (info->next != NO_UNIT) arena->units[info->next].prior = info->prior;
}

static bool add_slots(Arena *arena, uint32_t unit, int size) {
    if (unit == NO_UNIT) return false;
    take_units(arena, unit, 1, USE_SLOTS);
    arena->units[unit].size = (uint8_t)size;
    arena->units[unit].free = all_slots(size);
    link_unit(arena, unit);
    return true;
}

static void take_slot(Arena *arena, uint32_t unit, int slot) {
    UnitInfo *info = &arena->units[unit];
    info->free &= ~(UINT64_C(1) << slot);
    if (!info->free) unlink_unit(arena, unit);
}

static void *take_small(Arena *arena, int size) {
    if (arena->slots[size] == NO_UNIT && !add_slots(arena, find_units(arena, 1), size))
        return nullptr;
    uint32_t unit = arena->slots[size];
    int slot = __builtin_ctzll(arena->units[unit].free);
    take_slot(arena, unit, slot);
    return unit_at(arena, unit) + ((int64_t)slot << (SLOT_SHIFT + size));
}

static void give_small(Arena *arena, uint32_t unit, int64_t offset) {
    UnitInfo *info = &arena->units[unit];
    if (!info->free) link_unit(arena, unit);
    info->free |= UINT64_C(1) << (offset >> (SLOT_SHIFT + info->size));
    if (info->free != all_slots(info->size)) return;
    unlink_unit(arena, unit);
    free_units(arena, unit, 1);
}

// ---- blocks -------------------------------------------------------------------------------------

static bool is_small(int64_t bytes) { return bytes <= INT64_C(1) << (SLOT_SHIFT + SIZES - 1); }

static int64_t room_of(int64_t bytes) {
    return is_small(bytes) ? INT64_C(1) << (SLOT_SHIFT + size_of(bytes))
                           : units_for(bytes) * ARENA_UNIT;
}

void arena_populate(void *block, int64_t bytes) {
    if (bytes >= ARENA_UNIT) madvise(block, (size_t)room_of(bytes), MADV_POPULATE_WRITE);
}

static bool collapse(Arena *arena, char *pages, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += ARENA_HUGE) *(volatile char *)(pages + i) = 0;
    bool is = madvise(pages, (size_t)bytes, TAKE_HUGE) == 0;
    if (!is) arena->refusals++;
    return is;
}

// Gives a block its pages: huge ones as far as it is whole ones, and the system has some. A huge
// page of shared memory costs a tenth of its small ones, in each process that maps it. The system
// makes one only where there is a page already.
static void give_pages(Arena *arena, char *block, int64_t bytes) {
    int64_t huge = room_of(bytes) & -ARENA_HUGE;
    bool begins = (block - arena->base) % ARENA_HUGE == 0;
    int64_t clock;
    bool tries = huge > 0 && begins && arena->refusals < REFUSALS_MAX;
    if (tries && huge_begin(huge, &clock)) {
        if (!collapse(arena, block, ARENA_HUGE) || !huge_end(clock)) huge = ARENA_HUGE;
        if (huge > ARENA_HUGE) collapse(arena, block + ARENA_HUGE, huge - ARENA_HUGE);
    }
    arena_populate(block, bytes);
}

void *arena_take(Arena *arena, int64_t bytes) {
    void *block = nullptr;
    uint32_t bare = 0;
    if (bytes > (int64_t)arena->unit_count * ARENA_UNIT) return nullptr;
    pthread_mutex_lock(&arena->lock);
    if (is_small(bytes)) {
        block = take_small(arena, size_of(bytes));
    } else {
        uint32_t count = units_for(bytes), first = find_units(arena, count);
        if (first != NO_UNIT) bare = take_units(arena, first, count, USE_WHOLE);
        if (first != NO_UNIT) block = unit_at(arena, first);
    }
    if (block) arena->taken += room_of(bytes);
    pthread_mutex_unlock(&arena->lock);
    if (bare > 0) give_pages(arena, block, bytes);
    return block;
}

// Where a block is known to be sealed.
static uint64_t seal_bit(const Arena *arena, const void *block, int64_t bytes, uint64_t **bits) {
    int64_t at = (const char *)block - arena->base;
    *bits = &arena->units[at / ARENA_UNIT].sealed;
    return is_small(bytes) ? UINT64_C(1) << (at % ARENA_UNIT >> (SLOT_SHIFT + size_of(bytes))) : 1;
}

// Each sealed block makes two mappings more at most, so that neither call runs out of them.
static bool allow_writes(void *block, int64_t bytes, bool may) {
    return mprotect(block, (size_t)room_of(bytes), may ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

void arena_seal(Arena *arena, void *block, int64_t bytes) {
    if (room_of(bytes) < PAGE) return;
    pthread_mutex_lock(&arena->lock);
    uint64_t *bits, bit = seal_bit(arena, block, bytes, &bits);
    if (!(*bits & bit) && arena->sealed < SEALED_MAX && allow_writes(block, bytes, false)) {
        *bits |= bit;
        arena->sealed++;
    }
    pthread_mutex_unlock(&arena->lock);
}

static void unseal(Arena *arena, void *block, int64_t bytes) {
    uint64_t *bits, bit = seal_bit(arena, block, bytes, &bits);
    if (!(*bits & bit)) return;
    allow_writes(block, bytes, true);
    *bits &= ~bit;
    arena->sealed--;
}

void arena_give(Arena *arena, void *block, int64_t bytes) {
    if (!block) return;
    int64_t at = (char *)block - arena->base;
    uint32_t unit = (uint32_t)(at / ARENA_UNIT);
    pthread_mutex_lock(&arena->lock);
    unseal(arena, block, bytes);
    if (is_small(bytes)) give_small(arena, unit, at % ARENA_UNIT);
    else free_units(arena, unit, units_for(bytes));
    arena->taken -= room_of(bytes);
    pthread_mutex_unlock(&arena->lock);
}

void *arena_resize(Arena *arena, void *block, int64_t bytes, int64_t more, int64_t used) {
    if (block && room_of(bytes) == room_of(more)) return block;
    void *other = arena_take(arena, more);
    if (!other) return nullptr;
    if (used > 0) memcpy(other, block, (size_t)used);
    arena_give(arena, block, bytes);
    return other;
}

static bool claim_small(Arena *arena, uint32_t unit, int64_t offset, int size) {
    UnitInfo *info = &arena->units[unit];
    int64_t slot = offset >> (SLOT_SHIFT + size);
    if (info->use == USE_FREE) add_slots(arena, unit, size);
    bool good = info->use == USE_SLOTS && info->size == size && info->free >> slot & 1 &&
                slot << (SLOT_SHIFT + size) == offset;
    if (good) take_slot(arena, unit, (int)slot);
    return good;
}

static bool claim_whole(Arena *arena, uint32_t unit, int64_t offset, uint32_t count) {
    bool there = offset == 0 && count <= arena->unit_count - unit;
    if (!there || find_run(arena, count, 1, unit, unit + count) != unit) return false;
    take_units(arena, unit, count, USE_WHOLE);
    return true;
}

bool arena_claim(Arena *arena, void *block, int64_t bytes) {
    int64_t at = (char *)block - arena->base, span = (int64_t)arena->unit_count * ARENA_UNIT;
    if (at < 0 || at >= span || bytes <= 0 || bytes > span) return false;
    uint32_t unit = (uint32_t)(at / ARENA_UNIT);
    pthread_mutex_lock(&arena->lock);
    bool good = is_small(bytes) ? claim_small(arena, unit, at % ARENA_UNIT, size_of(bytes))
                                : claim_whole(arena, unit, at % ARENA_UNIT, units_for(bytes));
    if (good) arena->taken += room_of(bytes);
    pthread_mutex_unlock(&arena->lock);
    return good;
}

void arena_keep(Arena *arena, int64_t bytes) {
    arena->spare_max = (uint32_t)(bytes / ARENA_UNIT);
}

int64_t arena_kept(int64_t memory) {
    enum : int64_t { KEEP_MAX = 64 << 20, KEEP_SHARE = 8 };
    return memory / KEEP_SHARE < KEEP_MAX ? memory / KEEP_SHARE : KEEP_MAX;
}

int64_t arena_taken(const Arena *arena) { return arena->taken; }
