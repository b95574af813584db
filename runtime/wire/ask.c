#include "runtime/wire/ask.h"

const char *wire_kind_name(uint16_t kind) {
    static const char *const names[] = {
#define TO_WORKER(name, doc) #name,
#define TO_COORDINATOR(name, doc) #name,
#include "runtime/wire/kinds.def"
    };
    return kind < WIRE_KINDS ? names[kind] : "?";
}

// ---- units --------------------------------------------------------------------------------------

#define UNIT_FIELDS(NUMBER)                                                                       \
    NUMBER(ordinal) NUMBER(file) NUMBER(first) NUMBER(last) NUMBER(range_begin) NUMBER(range_end) \
    NUMBER(begin) NUMBER(end) NUMBER(offset) NUMBER(lines) NUMBER(next) NUMBER(next_lines)        \
    NUMBER(long_row.is) NUMBER(long_row.begin) NUMBER(long_row.length) NUMBER(long_row.lines)     \
    NUMBER(long_row.open)

void wire_put_unit(Text *text, const Unit *is) { UNIT_FIELDS(PACK_NUMBER) }

void wire_get_unit(Unpack *from, Unit *is) { UNIT_FIELDS(UNPACK_NUMBER) }

// ---- asks ---------------------------------------------------------------------------------------

#define ASK_FIELDS(NUMBER)                                                  \
    NUMBER(rows) NUMBER(splits) NUMBER(goes_back) NUMBER(starts) NUMBER(set) \
    NUMBER(start.begin) NUMBER(start.lines) NUMBER(asks_from) NUMBER(weight)
#define BATCH_FIELDS(NUMBER) \
    NUMBER(batch_rows) NUMBER(sum.sum) NUMBER(sum.numbers) NUMBER(sum.bytes)

#define TABLE_FIELDS(NUMBER) \
    NUMBER(slots) NUMBER(mask) NUMBER(least) NUMBER(span) NUMBER(ranges)

typedef struct WireTable {
    uint64_t slots, mask, least, span, ranges;
} WireTable;

static void put_table(Text *text, const SbTable *table) {
    WireTable wire = {(uintptr_t)table->slots, table->mask, table->least, table->span,
                      (uintptr_t)table->ranges}, *is = &wire;
    TABLE_FIELDS(PACK_NUMBER)
}

static SbTable get_table(Unpack *from) {
    WireTable wire = {0}, *is = &wire;
    TABLE_FIELDS(UNPACK_NUMBER)
    return (SbTable){(const uint64_t *)(uintptr_t)is->slots, is->mask, is->least, is->span,
                     (const struct SbJoinRanges *)(uintptr_t)is->ranges};
}

void wire_put_slots(Text *text, const WireSlots *slots) {
    pack_number(text, slots->count);
    for (uint32_t r = 0; r < slots->count; r++) pack_number(text, slots->amounts[r]);
}

bool wire_get_slots(Unpack *from, WireSlots *slots) {
    *slots = (WireSlots){.count = (uint32_t)unpack_number(from)};
    if (from->bad || slots->count > WIRE_SLOTS_MAX) return false;
    for (uint32_t r = 0; r < slots->count; r++)
        slots->amounts[r] = (uint32_t)unpack_number(from);
    return !from->bad;
}

void wire_put_ask(Text *text, const SbStage *stage, const Ask *is) {
    pack_number(text, is->task);
    pack_number(text, is->stage);
    wire_put_slots(text, &is->slots);
    ASK_FIELDS(PACK_NUMBER)
    for (uint32_t t = 0; t < stage->terminal_count; t++) pack_number(text, is->quota[t]);
    if (is->rows == ASK_ON) return;
    for (uint32_t n = 0; n < stage->need_count; n++) put_table(text, &is->tables[n]);
    wire_put_unit(text, &is->unit);
    for (int side = 0; side < 2; side++)
        pack_number(text, (int64_t)(uintptr_t)is->entries[side]);
    pack_number(text, (int64_t)(uintptr_t)is->batch);
    BATCH_FIELDS(PACK_NUMBER)
}

bool wire_peek_ask(Unpack from, uint32_t *task, uint32_t *stage) {
    *task = (uint32_t)unpack_number(&from);
    *stage = (uint32_t)unpack_number(&from);
    return !from.bad;
}

bool wire_peek_slots(Unpack from, WireSlots *slots) {
    unpack_number(&from);
    unpack_number(&from);
    return wire_get_slots(&from, slots);
}

bool wire_get_ask(Unpack *from, const SbStage *stage, Ask *is) {
    is->task = (uint32_t)unpack_number(from);
    is->stage = (uint32_t)unpack_number(from);
    if (!wire_get_slots(from, &is->slots)) return false;
    ASK_FIELDS(UNPACK_NUMBER)
    for (uint32_t t = 0; t < stage->terminal_count; t++) is->quota[t] = unpack_number(from);
    if (from->bad || is->rows > ASK_MORE) return false;
    if (is->rows == ASK_ON) return true;
    if (stage->need_count > ASK_TABLES_MAX) return false;
    for (uint32_t n = 0; n < stage->need_count; n++) is->tables[n] = get_table(from);
    is->unit = (Unit){0};
    wire_get_unit(from, &is->unit);
    for (int side = 0; side < 2; side++)
        is->entries[side] = (const SbEntry *const *)(uintptr_t)unpack_number(from);
    is->batch = (const SbEntry *const *)(uintptr_t)unpack_number(from);
    BATCH_FIELDS(UNPACK_NUMBER)
    return !from->bad;
}

// ---- which right rows are kept ------------------------------------------------------------------

void wire_put_filter(Text *text, uint32_t breaker, const SbKeyFilter *filter) {
    pack_number(text, breaker);
    pack_number(text, (int64_t)(uintptr_t)filter->words);
    pack_number(text, (int64_t)filter->count);
}

bool wire_get_filter(Unpack *from, const SbJob *what, uint32_t *breaker, SbKeyFilter *filter) {
    *breaker = (uint32_t)unpack_number(from);
    filter->words = (const uint64_t *)(uintptr_t)unpack_number(from);
    filter->count = (uint64_t)unpack_number(from);
    return !from->bad && *breaker < what->breaker_count && filter->words && filter->count > 0 &&
           what->breakers[*breaker].kind == SB_BREAK_JOIN;
}

// ---- where units begin --------------------------------------------------------------------------

#define CHAIN_FIELDS(NUMBER) NUMBER(stage) NUMBER(ordinal) NUMBER(start.begin) NUMBER(start.lines)

void wire_put_chain(Text *text, const WireChain *is) { CHAIN_FIELDS(PACK_NUMBER) }

bool wire_get_chain(Unpack *from, WireChain *is) {
    CHAIN_FIELDS(UNPACK_NUMBER)
    return !from->bad;
}
