// The buffer that texts are read into: it grows, keeps what it holds, and is charged.
#include "runtime/input/feed.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum : int64_t { LIMIT = 32 << 20, PAGE = 4096 };

static bool holds(const UnitBuffer *buffer, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i++)
        if (buffer->ptr[i] != (char)(i * 31 % 127)) return false;
    return true;
}

// Small blocks come from the heap, at any place in a page; large ones have pages of their own.
static void text_stays_in_the_middle_of_a_page(void) {
    SbMemory memory;
    Trouble trouble = {0};
    sb_memory_open(&memory, LIMIT);
    UnitBuffer buffer = {.memory = &memory};
    void *between[24] = {0};
    int64_t filled = 0;
    for (int round = 0; round < 24 && filled < LIMIT / 4; round++) {
        int64_t bytes = filled + filled / 2 + 100;
        CHECK(unit_buffer_reserve(&buffer, bytes, &trouble));
        CHECK((uintptr_t)buffer.ptr % PAGE == PAGE / 2);
        CHECK(holds(&buffer, filled));
        CHECK(buffer.cap == bytes + SB_SLACK && memory.used == buffer.cap);
        for (; filled < bytes; filled++) buffer.ptr[filled] = (char)(filled * 31 % 127);
        between[round] = malloc(1000 * (size_t)round + 7);  // So that it has to move.
    }
    CHECK(!unit_buffer_reserve(&buffer, LIMIT, &trouble) && trouble.kind == TROUBLE_MEMORY);
    CHECK(holds(&buffer, filled));
    unit_buffer_close(&buffer);
    CHECK(memory.used == 0);
    for (int i = 0; i < 24; i++) free(between[i]);
}

static const UnitTest tests[] = {
    {"text_stays_in_the_middle_of_a_page", text_stays_in_the_middle_of_a_page},
};

UNIT_MAIN("feed", tests)
