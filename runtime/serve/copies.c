// Copies: a worker of another machine has arenas of its own, at the addresses of the job's.
//
//   ROWS ─▶ the bytes come to their places ─▶ tasks read them ─▶ LEAVE: the memory is given back
//   partition, flushed rows ─▶ BLOCK, BLOCK, ... ─▶ MADE or FLUSHED
//
// The job says which rows come, and sends no more than the worker has memory for (far_rows.c). A
// task counts them from their ROWS to its LEAVE.
//
// A unit of an arena may have rows of several tasks: it is given back with the last one. Of the
// worker's own arena nothing is given back here: its blocks are FREE's.
#include "runtime/serve/state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What one message brought.
struct CopyList {
    struct CopyList *next;
    uint32_t task, count;
    int64_t  bytes;   // Of memory.
    RowRange items[];
};

bool copies_open(Serve *s) {
    if (!s->joined) return true;
    size_t units = (size_t)(s->space.count * s->space.span / ARENA_UNIT);
    s->copies.holders = calloc(units, sizeof *s->copies.holders);
    return s->copies.holders || trouble_no_memory(&s->job->trouble, "for rows of the job");
}

static uint32_t *holders_of(const Serve *s, const char *at) {
    return &s->copies.holders[(at - s->space.base) / ARENA_UNIT];
}

static void hold(const Serve *s, const RowRange *range) {
    uint32_t *last = holders_of(s, range->at + range->bytes - 1);
    for (uint32_t *unit = holders_of(s, range->at); unit <= last; unit++) ++*unit;
}

// Units side by side are given back together.
static void let_go(const Serve *s, const RowRange *range) {
    uint32_t *first = holders_of(s, range->at);
    uint32_t *end = holders_of(s, range->at + range->bytes - 1) + 1;
    while (first < end) {
        uint32_t *to = first;
        while (to < end && --*to == 0) to++;
        if (to > first)
            arena_space_drop(&s->space, s->space.base + (first - s->copies.holders) * ARENA_UNIT,
                             (to - first) * ARENA_UNIT);
        first = to + 1;
    }
}

static bool is_own(const Serve *s, const RowRange *range) {
    return arena_space_find(&s->space, range->at, range->bytes) == s->node;
}

bool copies_take(Serve *s, Unpack *from) {
    RowsHead head;
    if (!s->joined || !wire_get_rows(from, &head)) return false;
    struct CopyList *list = malloc(sizeof *list + head.count * sizeof *list->items);
    if (!list) return trouble_no_memory(&s->job->trouble, "for rows of the job");
    *list = (struct CopyList){.next = s->copies.lists, .task = head.task};
    s->copies.lists = list;
    for (uint32_t i = 0; i < head.count; i++) {
        RowRange range;
        const char *bytes;
        if (!wire_get_piece(from, &range, &bytes) ||
            arena_space_find(&s->space, range.at, range.bytes) >= s->space.count)
            return false;
        if (!is_own(s, &range)) {
            hold(s, &range);
            list->items[list->count++] = range;
        }
        memcpy(range.at, bytes, (size_t)range.bytes);
    }
    list->bytes = row_pages(list->items, list->count);
    s->copies.bytes += list->bytes;
    return true;
}

static void close_list(Serve *s, struct CopyList *list) {
    for (uint32_t i = 0; i < list->count; i++) let_go(s, &list->items[i]);
    s->copies.bytes -= list->bytes;
    free(list);
}

void copies_leave(Serve *s, uint32_t task) {
    for (struct CopyList **at = &s->copies.lists; *at;) {
        struct CopyList *list = *at;
        if (list->task == task) {
            *at = list->next;
            close_list(s, list);
        } else {
            at = &list->next;
        }
    }
}

void copies_close(Serve *s) {
    while (s->copies.lists) {
        struct CopyList *next = s->copies.lists->next;
        free(s->copies.lists);
        s->copies.lists = next;
    }
    free(s->copies.holders);
}

// ---- to the coordinator -------------------------------------------------------------------------

// While the network is slower than the tasks, their threads wait here.
static void wait_for_room(Serve *s) {
    enum { MICROS = 500 };
    while (!s->over && links_queued(s->links, s->coordinator) > s->queue_room) usleep(MICROS);
}

void copies_send_blocks(Serve *s, const WireBlocks *blocks) {
    enum : int64_t { PIECE = 1 << 20 };
    for (uint32_t i = 0; s->joined && i < blocks->count; i++) {
        const WireBlock *block = &blocks->items[i];
        for (int64_t at = 0; at < block->bytes; at += PIECE) {
            int64_t rest = block->bytes - at;
            RowRange piece = {(char *)block->at + at, rest < PIECE ? rest : PIECE};
            Text text = {0};
            wait_for_room(s);
            wire_put_block(&text, block, &piece);
            serve_say_more(s, WIRE_BLOCK, &text, &piece);
        }
    }
}

bool copies_send_run(Serve *s, const SpillRun *run, uint32_t file) {
    char *bytes = malloc(ROW_FRAME_BYTES);
    int64_t len = run->end - run->begin;
    bool good = bytes;
    for (int64_t at = 0; good && at < len; at += ROW_FRAME_BYTES) {
        int64_t some = len - at < ROW_FRAME_BYTES ? len - at : ROW_FRAME_BYTES;
        WireRun is = {.file = file, .at = run->begin + at, .bytes = {bytes, some}};
        Text text = {0};
        wait_for_room(s);
        good = spill_copy_out(&s->fills.spill, run, at, bytes, some);
        if (good) wire_put_run(&text, &is);
        if (good) serve_say(s, WIRE_RUN, &text);
    }
    free(bytes);
    return good;
}
