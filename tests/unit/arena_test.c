// Arena: blocks never overlap, what is given back is found again, and other processes read the same
// bytes at the same addresses. Run alone: zig-out/test/arena_test
#define _GNU_SOURCE
#include "runtime/memory/arena.h"

#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum : int64_t { SPAN = 8 << 20 };
enum { BLOCKS = 300, TURNS = 20000 };

typedef struct Block {
    char   *at;
    int64_t bytes;
    char    mark;
} Block;

static bool is_whole(const Block *block) {
    for (int64_t i = 0; i < block->bytes; i++)
        if (block->at[i] != block->mark) return false;
    return true;
}

static int64_t some_bytes(void) {
    return 1 + random_below(1u << (4 + random_below(17)));
}

static void blocks_keep_their_bytes(void) {
    ArenaSpace space;
    CHECK(arena_space_open(&space, 1, SPAN));
    Arena *arena = arena_open(&space, 0);
    Block blocks[BLOCKS] = {0};
    for (int i = 0; i < TURNS; i++) {
        Block *block = &blocks[random_below(BLOCKS)];
        if (block->at) {
            CHECK(is_whole(block));
            arena_give(arena, block->at, block->bytes);
            block->at = nullptr;
            continue;
        }
        int64_t bytes = some_bytes();
        char *at = arena_take(arena, bytes);
        if (!at) continue;
        CHECK(at >= space.base && at + bytes <= space.base + space.span);
        *block = (Block){at, bytes, (char)i};
        memset(at, block->mark, (size_t)bytes);
    }
    for (int b = 0; b < BLOCKS; b++)
        if (blocks[b].at) arena_give(arena, blocks[b].at, blocks[b].bytes);
    CHECK(arena_taken(arena) == 0);
    CHECK(arena_take(arena, SPAN) == space.base);
    CHECK(!arena_take(arena, 1));
    arena_close(arena);
    arena_space_close(&space);
}

static void a_block_grows_and_shrinks(void) {
    ArenaSpace space;
    CHECK(arena_space_open(&space, 1, SPAN));
    Arena *arena = arena_open(&space, 0);
    char *block = arena_take(arena, 100);
    memset(block, 'x', 100);
    for (int64_t bytes = 100; bytes < SPAN / 16; bytes *= 3) {
        block = arena_resize(arena, block, bytes, bytes * 3, 100);
        CHECK(block && block[0] == 'x' && block[99] == 'x');
    }
    CHECK(!arena_resize(arena, block, 656100, 2 * SPAN, 100));
    arena_close(arena);
    arena_space_close(&space);
}

static void the_next_life_claims_what_lives(void) {
    ArenaSpace space;
    CHECK(arena_space_open(&space, 1, SPAN));
    Arena *arena = arena_open(&space, 0);
    Block blocks[BLOCKS] = {0};
    for (int b = 0; b < BLOCKS; b++) {
        int64_t bytes = 1 + some_bytes() / 64;
        blocks[b] = (Block){arena_take(arena, bytes), bytes, (char)b};
        CHECK(blocks[b].at);
        memset(blocks[b].at, blocks[b].mark, (size_t)bytes);
    }
    arena_close(arena);
    arena = arena_open(&space, 0);
    for (int b = 0; b < BLOCKS; b += 2) CHECK(arena_claim(arena, blocks[b].at, blocks[b].bytes));
    CHECK(!arena_claim(arena, blocks[0].at, blocks[0].bytes));
    CHECK(!arena_claim(arena, space.base + SPAN, 1));
    for (char *at; (at = arena_take(arena, 5000));) memset(at, 'n', 5000);
    for (int b = 0; b < BLOCKS; b += 2) CHECK(is_whole(&blocks[b]));
    arena_close(arena);
    arena_space_close(&space);
}

static void others_read_what_one_writes(void) {
    ArenaSpace space;
    CHECK(arena_space_open(&space, 2, SPAN));
    Arena *arena = arena_open(&space, 0);
    char *block = arena_take(arena, 70000);
    memcpy(block, "from the first", 15);
    pid_t child = fork();
    if (child == 0) {
        munmap(space.base, (size_t)(2 * space.span));
        bool good = arena_space_join(&space, 1) && strcmp(block, "from the first") == 0;
        Arena *own = good ? arena_open(&space, 1) : nullptr;
        char *other = own ? arena_take(own, 10) : nullptr;
        if (other) memcpy(other, "second", 7);
        _exit(other == arena_space_of(&space, 1) ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(strcmp(arena_space_of(&space, 1), "second") == 0);
    arena_close(arena);
    arena_space_close(&space);
}

// A child stands for another machine: it has nothing of the space but its figures.
static bool has_a_copy(const ArenaSpace *space, const char *block) {
    ArenaSpace copy = {.base = space->base, .span = space->span, .count = space->count};
    munmap(space->base, (size_t)(2 * space->span));
    if (!arena_space_copy(&copy)) return false;
    char *mine = arena_space_of(&copy, 0) + (block - space->base);
    bool good = mine == block && mine[0] == 0;
    memcpy(mine, "mine", 5);
    arena_space_drop(&copy, copy.base, 2 * ARENA_UNIT);
    good &= mine[0] == 0;
    // Where something lies already it cannot lie.
    ArenaSpace second = {.base = space->base, .span = space->span, .count = space->count};
    good &= !arena_space_copy(&second) && !second.base;
    arena_space_close(&second);
    memcpy(mine, "kept", 5);
    good &= strcmp(block, "kept") == 0;
    arena_space_close(&copy);
    return good;
}

static void another_machine_has_a_copy(void) {
    ArenaSpace space;
    CHECK(arena_space_open(&space, 2, SPAN));
    Arena *arena = arena_open(&space, 0);
    char *block = arena_take(arena, 70000);
    memcpy(block, "theirs", 7);
    pid_t child = fork();
    if (child == 0) _exit(has_a_copy(&space, block) ? 0 : 1);
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(strcmp(block, "theirs") == 0);
    arena_close(arena);
    arena_space_close(&space);
}

static void bytes_lie_in_one_arena(void) {
    const ArenaSpace space = {.base = (char *)(uintptr_t)(1 << 30), .span = SPAN, .count = 3};
    const char *second = arena_space_of(&space, 1);
    CHECK(arena_space_find(&space, space.base, 1) == 0);
    CHECK(arena_space_find(&space, second, SPAN) == 1);
    CHECK(arena_space_find(&space, second + SPAN - 1, 1) == 1);
    CHECK(arena_space_find(&space, second - 1, 2) == 3);
    CHECK(arena_space_find(&space, second, SPAN + 1) == 3);
    CHECK(arena_space_find(&space, second, 0) == 3);
    CHECK(arena_space_find(&space, second, -1) == 3);
    CHECK(arena_space_find(&space, space.base - 1, 1) == 3);
    CHECK(arena_space_find(&space, space.base + 3 * SPAN, 1) == 3);
    CHECK(arena_space_find(&space, nullptr, INT64_MAX) == 3);
}

// The system writes there, or says that it may not.
static bool is_writable(int zeroes, char *at) { return read(zeroes, at, 1) == 1; }

static void sealed_blocks_are_only_read(void) {
    static const int64_t sizes[] = {4096, 5000, 64 << 10, 100000, 1 << 20};
    ArenaSpace space;
    CHECK(arena_space_open(&space, 1, SPAN));
    Arena *arena = arena_open(&space, 0);
    int zeroes = open("/dev/zero", O_RDONLY);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t bytes = sizes[i];
        char *before = arena_take(arena, bytes), *at = arena_take(arena, bytes);
        char *after = arena_take(arena, bytes);
        at[0] = 'a';
        arena_seal(arena, at, bytes);
        CHECK(!is_writable(zeroes, at) && !is_writable(zeroes, at + bytes - 1));
        CHECK(is_writable(zeroes, before + bytes - 1) && is_writable(zeroes, after));
        CHECK(at[0] == 'a');
        arena_give(arena, at, bytes);
        CHECK(is_writable(zeroes, at));
        arena_give(arena, before, bytes);
        arena_give(arena, after, bytes);
    }
    close(zeroes);
    arena_close(arena);
    arena_space_close(&space);
}

// Beyond those that the system has mappings for, blocks stay as they are.
static void many_blocks_are_sealed(void) {
    enum { MANY = 20000, BYTES = 4096 };
    ArenaSpace space;
    CHECK(arena_space_open(&space, 1, (int64_t)(MANY + 16) * BYTES));
    Arena *arena = arena_open(&space, 0);
    int zeroes = open("/dev/zero", O_RDONLY);
    static char *blocks[MANY];
    for (int i = 0; i < MANY; i++) blocks[i] = arena_take(arena, BYTES);
    for (int i = 0; i < MANY; i += 2) arena_seal(arena, blocks[i], BYTES);
    CHECK(!is_writable(zeroes, blocks[0]) && is_writable(zeroes, blocks[1]));
    for (int i = 0; i < MANY; i++) {
        arena_give(arena, blocks[i], BYTES);
        CHECK(is_writable(zeroes, blocks[i]));
    }
    CHECK(arena_taken(arena) == 0);
    close(zeroes);
    arena_close(arena);
    arena_space_close(&space);
}

// KiB of the mapping at this address that huge pages map.
static int64_t huge_kib(const char *at) {
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    bool within = false;
    int64_t kib = 0;
    while (file && fgets(line, sizeof line, file)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            within = (uintptr_t)at >= from && (uintptr_t)at < to;
        if (within && strncmp(line, "ShmemPmdMapped:", 15) == 0) kib = atoll(line + 15);
    }
    if (file) fclose(file);
    return kib;
}

// Does the system make huge pages of shared memory, and has it one now?
static bool system_has_huge_pages(void) {
    enum { COLLAPSE = 25 };
    int fd = memfd_create("test", MFD_CLOEXEC);
    char *all = MAP_FAILED, *at = nullptr;
    if (fd >= 0 && ftruncate(fd, ARENA_HUGE) == 0) {
        all = mmap(nullptr, 2 * ARENA_HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        at = (char *)(((uintptr_t)all + ARENA_HUGE - 1) & -(uintptr_t)ARENA_HUGE);
        at = mmap(at, ARENA_HUGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
        at[0] = 1;
    }
    bool has = at && madvise(at, ARENA_HUGE, COLLAPSE) == 0;
    if (all != MAP_FAILED) munmap(all, 2 * ARENA_HUGE);
    close(fd);
    return has;
}

// From now on all of them are quick.
static void make_huge_quick(void) {
    int64_t clock;
    huge_slow_nanos = INT64_MAX;
    while (!huge_begin(ARENA_HUGE, &clock)) {}
}

static void long_blocks_have_huge_pages(void) {
    ArenaSpace space;
    make_huge_quick();
    CHECK(arena_space_open(&space, 2, SPAN - 1));
    CHECK(space.span == SPAN);
    Arena *arena = arena_open(&space, 1);
    char *base = arena_space_of(&space, 1), *small = arena_take(arena, 100);
    CHECK(small == base);
    int64_t huge = system_has_huge_pages() ? ARENA_HUGE >> 10 : 0;
    char *block = arena_take(arena, 3 * ARENA_HUGE / 2);
    CHECK(block == base + ARENA_HUGE);
    CHECK(huge_kib(block) == huge);
    // A little less than two of them.
    arena_give(arena, block, 3 * ARENA_HUGE / 2);
    block = arena_take(arena, 2 * ARENA_HUGE - ARENA_UNIT);
    CHECK(block == base + ARENA_HUGE);
    CHECK(huge_kib(block) == 2 * huge);
    CHECK(arena_taken(arena) == 1024 + 2 * ARENA_HUGE);
    arena_give(arena, block, 2 * ARENA_HUGE - ARENA_UNIT);
    block = arena_take(arena, 3 * ARENA_HUGE / 2);
    char *other = arena_take(arena, ARENA_UNIT);
    CHECK(other && (other < block || other >= block + 3 * ARENA_HUGE / 2));
    memset(block, 'x', 3 * ARENA_HUGE / 2);
    arena_seal(arena, block, 3 * ARENA_HUGE / 2);
    arena_give(arena, block, 3 * ARENA_HUGE / 2);
    arena_give(arena, other, ARENA_UNIT);
    // So much is left only where no huge page begins.
    int64_t rest = SPAN - 3 * ARENA_HUGE / 4;
    block = arena_take(arena, rest);
    CHECK(block == base + ARENA_UNIT);
    memset(block, 'y', (size_t)rest);
    arena_close(arena);
    arena = arena_open(&space, 1);
    CHECK(arena_claim(arena, block, rest));
    CHECK(block[0] == 'y' && block[rest - 1] == 'y');
    arena_close(arena);
    arena_space_close(&space);
}

// The first huge page of the next block is quick or slow; so many times before it small ones serve.
static void next_huge_page(int64_t bytes, int small, bool slow) {
    int64_t clock;
    for (int i = 0; i < small; i++) CHECK(!huge_begin(bytes, &clock));
    CHECK(huge_begin(bytes, &clock));
    huge_slow_nanos = slow ? -1 : INT64_MAX;
    CHECK(huge_end(clock) == !slow);
}

static void slow_huge_pages_wait(void) {
    enum : int64_t { SMALL = 8 << 20 };
    int64_t before = huge_slow_nanos;
    make_huge_quick();
    next_huge_page(SMALL, 0, false);
    next_huge_page(SMALL, 0, true);
    // 16 MiB are small pages, and twice as many each time that the next try is slow too.
    next_huge_page(SMALL, 2, true);
    next_huge_page(SMALL, 4, true);
    next_huge_page(SMALL, 8, false);
    next_huge_page(SMALL, 0, true);
    for (int small = 2; small < 32; small *= 2) next_huge_page(SMALL, small, true);
    // 256 MiB at most.
    next_huge_page(SMALL, 32, true);
    next_huge_page(SMALL, 32, false);
    next_huge_page(SMALL, 0, false);
    huge_slow_nanos = before;
}

static const UnitTest tests[] = {
    {"blocks_keep_their_bytes", blocks_keep_their_bytes},
    {"a_block_grows_and_shrinks", a_block_grows_and_shrinks},
    {"the_next_life_claims_what_lives", the_next_life_claims_what_lives},
    {"others_read_what_one_writes", others_read_what_one_writes},
    {"another_machine_has_a_copy", another_machine_has_a_copy},
    {"long_blocks_have_huge_pages", long_blocks_have_huge_pages},
    {"slow_huge_pages_wait", slow_huge_pages_wait},
    {"bytes_lie_in_one_arena", bytes_lie_in_one_arena},
    {"sealed_blocks_are_only_read", sealed_blocks_are_only_read},
    {"many_blocks_are_sealed", many_blocks_are_sealed},
};

UNIT_MAIN("arena", tests)
