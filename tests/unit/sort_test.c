// Sorts of random rows by random keys, against qsort with a comparison of whole rows.
#include "runtime/memory.h"
#include "runtime/rows/sort.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 4, TEXT_MAX = 80, PARTS_MAX = 8, THREADS = 3 };

typedef struct Value {
    SbStr    text;
    uint8_t  valid;
    uint64_t number;  // Of a key that is no text.
} Value;

typedef struct Row {
    SbEntry entry;
    Value   keys[KEYS_MAX];
    char    texts[KEYS_MAX][TEXT_MAX + SB_SLACK];
} Row;

typedef struct Key {
    bool     is_text, nullable, nulls_first, descending;
    uint32_t distinct;
    int64_t  shared, length;  // Of texts: bytes that all have, and the most that follow.
    bool     zeroes;          // Texts hold bytes 0.
} Key;

// What is sorted now: functions of a sort are given an entry and nothing else.
static Key keys[KEYS_MAX];
static uint32_t key_count;
static bool has_rest;  // The last key is left to the comparison.

static uint64_t draw(uint32_t below) { return random_below(below); }

// ---- rows ---------------------------------------------------------------------------------------

// The same text for the same id; what lies after the text means nothing.
static void fill_text(Value *value, char *room, const Key *key, uint64_t id) {
    uint64_t own = id * UINT64_C(0x9e3779b97f4a7c15) + 1;
    int64_t len = key->shared + (int64_t)(own >> 40) % (key->length + 1);
    memset(room, 'p', (size_t)key->shared);
    for (int64_t i = key->shared; i < len; i++) {
        own = own * UINT64_C(6364136223846793005) + 1442695040888963407;
        room[i] = (char)(key->zeroes ? own >> 63 : 'a' + (own >> 33) % 3);
    }
    for (int64_t i = len; i < TEXT_MAX + SB_SLACK; i++) room[i] = (char)draw(256);
    value->text = (SbStr){room, len};
}

static void fill_row(Row *row, uint64_t order) {
    memset(row, 0, sizeof *row);
    row->entry.order = order;
    for (uint32_t k = 0; k < key_count; k++) {
        Value *value = &row->keys[k];
        uint64_t id = draw(keys[k].distinct);
        value->valid = !keys[k].nullable || draw(4) > 0;
        value->number = id * UINT64_C(0x9e3779b97f4a7c15);
        if (keys[k].distinct > 1000) value->number >>= draw(2) * 40;
        fill_text(value, row->texts[k], &keys[k], id);
        if (!value->valid) value->text = (SbStr){(const char *)8, 1 << 20};  // Means nothing.
    }
}

static void choose_keys(void) {
    static const uint32_t distincts[] = {1, 2, 30, 1000, 1000000};
    key_count = 1 + (uint32_t)draw(KEYS_MAX);
    has_rest = draw(6) == 0;
    for (uint32_t k = 0; k < key_count; k++)
        keys[k] = (Key){.is_text = draw(2), .nullable = draw(2), .nulls_first = draw(2),
                        .descending = draw(2), .distinct = distincts[draw(5)],
                        .shared = draw(2) ? (int64_t)draw(40) : 0,
                        .length = (int64_t)draw(TEXT_MAX - 40), .zeroes = draw(4) == 0};
}

// ---- how they are to come out -------------------------------------------------------------------

static int compare_texts(SbStr a, SbStr b) {
    int64_t both = a.len < b.len ? a.len : b.len;
    int order = memcmp(a.ptr, b.ptr, (size_t)both);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_key(const Key *key, const Value *a, const Value *b) {
    if (key->nullable && a->valid != b->valid)
        return (a->valid ? -1 : 1) * (key->nulls_first ? -1 : 1);
    if (!a->valid) return 0;
    int order = key->is_text ? compare_texts(a->text, b->text)
                             : (a->number > b->number) - (a->number < b->number);
    order = (order > 0) - (order < 0);
    return key->descending ? -order : order;
}

static int32_t compare_rows(const SbEntry *a, const SbEntry *b) {
    for (uint32_t k = 0; k < key_count; k++) {
        int order = compare_key(&keys[k], &((const Row *)a)->keys[k], &((const Row *)b)->keys[k]);
        if (order) return order;
    }
    return 0;
}

static int compare_all(const void *x, const void *y) {
    const SbEntry *a = *(const SbEntry *const *)x, *b = *(const SbEntry *const *)y;
    int order = compare_rows(a, b);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

// ---- what generated code makes of keys ----------------------------------------------------------

// A key's null as the top bit, then 63 bits of it: a number without its last bit, or the first
// seven bytes of a text.
static uint64_t bits_of(const SbEntry *entry, uint32_t k) {
    const Value *value = &((const Row *)entry)->keys[k];
    const Key *key = &keys[k];
    uint64_t late = key->nullable && value->valid == key->nulls_first, bits = 0;
    if (key->nullable && !value->valid) return late << 63;
    if (key->is_text)
        for (int64_t i = 0; i < 7; i++)
            bits = bits << 8 | (i < value->text.len ? (uint8_t)value->text.ptr[i] : 0);
    else bits = value->number >> 1;
    if (key->is_text) bits <<= 7;
    if (key->descending) bits ^= (key->is_text ? UINT64_MAX << 7 : UINT64_MAX) & INT64_MAX;
    return late << 63 | bits;
}

static uint64_t last_bit_of(const SbEntry *entry, uint32_t k) {
    const Value *value = &((const Row *)entry)->keys[k];
    if (keys[k].nullable && !value->valid) return 0;
    return (value->number & 1) ^ keys[k].descending;
}

#define BITS_OF(k) \
    static uint64_t bits_##k(const SbEntry *entry) { return bits_of(entry, k); } \
    static uint64_t last_##k(const SbEntry *entry) { return last_bit_of(entry, k); }

BITS_OF(0)
BITS_OF(1)
BITS_OF(2)
BITS_OF(3)

typedef uint64_t BitsFn(const SbEntry *entry);

static BitsFn *const bits_fns[] = {bits_0, bits_1, bits_2, bits_3};
static BitsFn *const last_fns[] = {last_0, last_1, last_2, last_3};

static SbSortPart text_part(uint32_t k) {
    size_t at = offsetof(Row, keys) + k * sizeof(Value);
    return (SbSortPart){
        .kind = SB_SORT_TEXT,
        .text_offset = (uint32_t)(at + offsetof(Value, text)),
        .valid_offset = keys[k].nullable ? (uint32_t)(at + offsetof(Value, valid)) : UINT32_MAX,
        .known = 7,
        .descending = keys[k].descending,
    };
}

static SbSortBy order_of_keys(SbSortPart *parts) {
    SbSortBy by = {.prefix = bits_fns[0], .compare = compare_rows, .parts = parts};
    for (uint32_t k = 0; k < key_count; k++) {
        if (has_rest && k + 1 == key_count) {
            parts[by.part_count++] = (SbSortPart){.kind = SB_SORT_REST};
            continue;
        }
        if (k) parts[by.part_count++] = (SbSortPart){.kind = SB_SORT_BITS, .bits = bits_fns[k]};
        parts[by.part_count++] = keys[k].is_text
                                     ? text_part(k)
                                     : (SbSortPart){.kind = SB_SORT_BITS, .bits = last_fns[k]};
    }
    // Without a second word that the prefix goes on with; sometimes there is one.
    if (!keys[0].is_text && draw(2) && !(has_rest && key_count == 1)) by.prefix_more = last_fns[0];
    if (draw(8) == 0) by.parts = nullptr, by.part_count = 0;
    return by;
}

// ---- tests --------------------------------------------------------------------------------------

static void each_in_turn(SbParallel *self, uint32_t count, SbEachFn *fn, void *arg) {
    for (uint32_t i = 0; i < count; i++) fn(arg, i, i % self->threads);
}

static SbParallel in_turn = {each_in_turn, THREADS};

// As rows come: those of one thread after those of another.
static void put_by_thread(const SbEntry **entries, Row *rows, int64_t count) {
    int64_t at = 0;
    for (int64_t t = 0; t < THREADS; t++)
        for (int64_t i = 0; i < count; i++)
            if (i / 64 % THREADS == t) entries[at++] = &rows[i].entry;
}

static void check_sort(int64_t count, bool serial) {
    choose_keys();
    SbMemory memory;
    sb_memory_open(&memory, INT64_C(1) << 32);
    SbSortPart parts[PARTS_MAX];
    SbSortBy by = order_of_keys(parts);
    Row *rows = malloc((size_t)(count + 1) * sizeof *rows);
    const SbEntry **entries = malloc((size_t)(count + 1) * sizeof *entries);
    const SbEntry **wanted = malloc((size_t)(count + 1) * sizeof *wanted);
    SbSortItem *room = malloc((size_t)(2 * count + 1) * sizeof *room);
    CHECK(rows && entries && wanted && room);
    for (int64_t i = 0; i < count; i++) fill_row(&rows[i], (uint64_t)i);
    put_by_thread(entries, rows, count);
    memcpy(wanted, entries, (size_t)count * sizeof *wanted);
    qsort(wanted, (size_t)count, sizeof *wanted, compare_all);
    if (serial) sb_sort_serial(entries, room, count, &by);
    else CHECK(sb_sort(entries, count, &by, &memory, &in_turn) == SB_OK);
    int64_t same = 0;
    while (same < count && entries[same] == wanted[same]) same++;
    CHECK_SAYS(same == count, "row %ld of %ld, %u keys", same, count, key_count);
    CHECK(memory.used == 0);
    free(rows);
    free(entries);
    free(wanted);
    free(room);
}

static void random_sorts_agree(void) {
    for (int i = 0; i < 400; i++) check_sort((int64_t)draw(2000), draw(2));
}

static void large_sorts_agree(void) {
    for (int i = 0; i < 24; i++) check_sort(33000 + (int64_t)draw(20000), false);
}

// More words than the stack has levels for: each splits one row off.
static void deep_texts_are_compared(void) {
    enum { COUNT = 900, LENGTH = 7 * COUNT };
    key_count = 1;
    keys[0] = (Key){.is_text = true};
    has_rest = false;
    Row *rows = calloc(COUNT, sizeof *rows);
    const SbEntry *entries[COUNT];
    SbSortItem room[2 * COUNT];
    char *text = malloc(LENGTH + SB_SLACK);
    CHECK(rows && text);
    memset(text, 'x', LENGTH + SB_SLACK);
    for (int64_t i = 0; i < COUNT; i++) {
        int64_t len = i * 7919 % COUNT * 7;
        rows[i].entry.order = (uint64_t)i;
        rows[i].keys[0] = (Value){.text = {text, len}, .valid = 1};
        entries[i] = &rows[i].entry;
    }
    const SbSortPart part = text_part(0);
    const SbSortBy by = {bits_0, nullptr, compare_rows, &part, 1};
    sb_sort_serial(entries, room, COUNT, &by);
    for (int64_t i = 0; i < COUNT; i++)
        CHECK(((const Row *)entries[i])->keys[0].text.len == 7 * i);
    free(rows);
    free(text);
}

static const UnitTest tests[] = {
    {"random_sorts_agree", random_sorts_agree},
    {"large_sorts_agree", large_sorts_agree},
    {"deep_texts_are_compared", deep_texts_are_compared},
};

UNIT_MAIN("sort", tests)
