// Wire rows: all that rows point to travels, to the same addresses, and nothing that is no message
// is taken. Run alone: zig-out/test/wire_rows_test
#include "runtime/wire.h"

#include "stdlib/aggregate/held.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

// ---- ranges -------------------------------------------------------------------------------------

// Random ranges of one room: the union of them is what is left, whatever their order.
static void ranges_are_their_union(void) {
    enum { ROOM = 4000, RANGES = 60, TURNS = 300 };
    static char room[ROOM];
    for (int turn = 0; turn < TURNS; turn++) {
        bool marked[ROOM] = {0}, found[ROOM] = {0};
        RowRanges ranges = {0};
        for (int i = 0; i < RANGES; i++) {
            int64_t at = random_below(ROOM), most = ROOM - at < 90 ? ROOM - at : 90;
            int64_t bytes = random_below((uint32_t)most + 1);
            memset(marked + at, true, (size_t)bytes);
            row_ranges_add(&ranges, room + at, bytes);
        }
        row_ranges_sort(&ranges);
        for (uint32_t i = 0; i < ranges.count; i++) {
            const RowRange *before = i ? &ranges.items[i - 1] : nullptr;
            CHECK(!before || ranges.items[i].at > before->at + before->bytes);
            CHECK(ranges.items[i].at >= room && ranges.items[i].bytes > 0);
            memset(found + (ranges.items[i].at - room), true, (size_t)ranges.items[i].bytes);
        }
        for (int i = 0; i < ROOM; i++) CHECK(found[i] || !marked[i]);
        row_ranges_close(&ranges);
    }
}

// ---- rows ---------------------------------------------------------------------------------------

typedef struct Row {
    SbEntry entry;
    SbStr   text;
    SbList  list;    // Of texts.
} Row;

static const SbType text_type = {.kind = SB_STR, .size = sizeof(SbStr)};
static const SbType list_type = {.kind = SB_LIST, .size = sizeof(SbList), .elem = &text_type};

// Copies of bytes at places of their own: is all of a row there?
static const RowRange *range_with(const RowRanges *ranges, const void *at, int64_t bytes) {
    const char *from = at;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const RowRange *is = &ranges->items[i];
        if (from >= is->at && from + bytes <= is->at + is->bytes) return is;
    }
    return nullptr;
}

static void all_that_rows_point_to_is_found(void) {
    enum { ROWS = 500, ITEMS = 3, LEN_MAX = 400 };
    const SbHeld held[] = {{offsetof(Row, text), &text_type, sb_held_value},
                           {offsetof(Row, list), &list_type, sb_held_value}};
    const SbBreaker what = {.entry_bytes = sizeof(Row), .held = held, .held_count = 2};
    Row *rows = calloc(ROWS, sizeof *rows);
    const SbEntry **entries = calloc(ROWS, sizeof *entries);
    for (int i = 0; i < ROWS; i++) {
        int64_t len = random_below(LEN_MAX);
        SbStr *items = calloc(ITEMS, sizeof *items);
        for (int k = 0; k < ITEMS; k++) items[k] = (SbStr){malloc(17), 17};
        rows[i] = (Row){.text = {malloc((size_t)len + 1), len},
                        .list = {(void *)items, random_below(ITEMS + 1)}};
        entries[i] = &rows[i].entry;
    }
    RowRanges ranges = {0};
    row_ranges_add_rows(&ranges, &what, entries, ROWS);
    row_ranges_sort(&ranges);
    CHECK(range_with(&ranges, entries, ROWS * sizeof *entries));
    for (int i = 0; i < ROWS; i++) {
        const SbStr *items = (const SbStr *)(const void *)rows[i].list.ptr;
        CHECK(range_with(&ranges, &rows[i], sizeof rows[i]));
        CHECK(rows[i].text.len == 0 || range_with(&ranges, rows[i].text.ptr, rows[i].text.len));
        for (int64_t k = 0; k < rows[i].list.len; k++)
            CHECK(range_with(&ranges, &items[k], sizeof items[k]) &&
                  range_with(&ranges, items[k].ptr, items[k].len));
    }
    row_ranges_close(&ranges);
    for (int i = 0; i < ROWS; i++) {
        SbStr *items = (SbStr *)(void *)rows[i].list.ptr;
        for (int k = 0; k < ITEMS; k++) free((char *)(uintptr_t)items[k].ptr);
        free(items);
        free((char *)(uintptr_t)rows[i].text.ptr);
    }
    free(entries);
    free(rows);
}

// ---- messages -----------------------------------------------------------------------------------

static void ranges_travel_in_pieces(void) {
    enum : int64_t { BYTES = 5 * ROW_FRAME_BYTES / 2 };
    enum { TASK = 7 };
    char *from = malloc(BYTES), *to = calloc(1, BYTES), *expected = calloc(1, BYTES);
    RowRanges ranges = {0};
    for (int64_t i = 0; i < BYTES; i++) from[i] = (char)random_below(256);
    const int64_t places[][2] = {{3, 40}, {1000, ROW_FRAME_BYTES + 5}, {2000000, 1}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        row_ranges_add(&ranges, from + places[i][0], places[i][1]);
        memcpy(expected + places[i][0], from + places[i][0], (size_t)places[i][1]);
    }
    row_ranges_sort(&ranges);
    uint32_t range = 0, messages = 0;
    int64_t done = 0;
    for (Text text = {0}; row_ranges_next(&ranges, &range, &done, TASK, &text); text = (Text){0}) {
        Unpack message = {text.ptr, text.ptr + text.len, false};
        RowsHead head;
        RowRange piece;
        const char *bytes;
        CHECK(text.len < ROW_FRAME_BYTES + 200 && wire_get_rows(&message, &head));
        CHECK(head.task == TASK && head.count > 0);
        for (uint32_t i = 0; i < head.count; i++) {
            CHECK(wire_get_piece(&message, &piece, &bytes));
            memcpy(to + (piece.at - from), bytes, (size_t)piece.bytes);
        }
        CHECK(message.at == message.end && !wire_get_piece(&message, &piece, &bytes));
        messages++;
        sb_text_close(&text);
    }
    CHECK(messages == 2 && memcmp(to, expected, BYTES) == 0);
    row_ranges_close(&ranges);
    free(from);
    free(to);
    free(expected);
}

// Whatever is cut off, or another number stands in it, nothing beyond the message is read.
static void damaged_messages_are_refused(void) {
    enum { TURNS = 20000 };
    char room[300] = {0};
    RowRanges ranges = {0};
    row_ranges_add(&ranges, room, 20);
    row_ranges_add(&ranges, room + 280, 20);
    uint32_t range = 0;
    int64_t done = 0;
    Text text = {0};
    CHECK(row_ranges_next(&ranges, &range, &done, 1, &text));
    for (int turn = 0; turn < TURNS; turn++) {
        int64_t len = random_below((uint32_t)text.len);
        char *copy = malloc((size_t)len + 1);
        memcpy(copy, text.ptr, (size_t)len);
        if (len > 0) copy[random_below((uint32_t)len)] ^= (char)(1 << random_below(8));
        Unpack message = {copy, copy + len, false};
        RowsHead head;
        RowRange piece;
        const char *bytes;
        bool good = wire_get_rows(&message, &head);
        for (uint32_t i = 0; good && i < head.count; i++) {
            good = wire_get_piece(&message, &piece, &bytes);
            if (good) CHECK(piece.bytes >= 0 && bytes >= copy && bytes + piece.bytes <= copy + len);
        }
        WireBlock block;
        WireRun run;
        message = (Unpack){copy, copy + len, false};
        if (wire_get_block(&message, &block, &piece, &bytes))
            CHECK(bytes + piece.bytes <= copy + len);
        message = (Unpack){copy, copy + len, false};
        if (wire_get_run(&message, &run)) CHECK(run.bytes.ptr + run.bytes.len <= copy + len);
        free(copy);
    }
    sb_text_close(&text);
    row_ranges_close(&ranges);
}

static void blocks_and_runs_come_as_they_went(void) {
    char bytes[] = "bytes of a block";
    WireBlock block = {bytes, 900}, block_got;
    RowRange piece = {bytes, sizeof bytes}, piece_got;
    WireRun run = {.file = 9, .at = 77, .bytes = {bytes, 5}}, run_got;
    const char *got;
    Text text = {0};
    wire_put_block(&text, &block, &piece);
    sb_text_add(&text, bytes, sizeof bytes);  // The second part of the frame.
    Unpack from = {text.ptr, text.ptr + text.len, false};
    CHECK(wire_get_block(&from, &block_got, &piece_got, &got));
    CHECK(block_got.at == bytes && block_got.bytes == 900 && piece_got.at == bytes);
    CHECK(piece_got.bytes == sizeof bytes && strcmp(got, bytes) == 0);
    sb_text_close(&text);
    text = (Text){0};
    wire_put_run(&text, &run);
    from = (Unpack){text.ptr, text.ptr + text.len, false};
    CHECK(wire_get_run(&from, &run_got) && run_got.file == 9 && run_got.at == 77);
    CHECK(run_got.bytes.len == 5 && memcmp(run_got.bytes.ptr, "bytes", 5) == 0);
    sb_text_close(&text);
}

static const UnitTest tests[] = {
    {"ranges_are_their_union", ranges_are_their_union},
    {"all_that_rows_point_to_is_found", all_that_rows_point_to_is_found},
    {"ranges_travel_in_pieces", ranges_travel_in_pieces},
    {"damaged_messages_are_refused", damaged_messages_are_refused},
    {"blocks_and_runs_come_as_they_went", blocks_and_runs_come_as_they_went},
};

UNIT_MAIN("wire_rows", tests)
