#include "runtime/rows/row_sum.h"

#include "runtime/host.h"

#include <stdlib.h>
#include <string.h>

enum : int64_t { CHUNK = 8 << 10, ENTRY_ALIGN = 8, WORD = 8, SHORT = 32 };
static_assert(SHORT <= SB_SLACK);
static const uint64_t ODD = 0x9e3779b97f4a7c15;

// A word of each entry, of which some bytes are said.
struct RowWord {
    uint32_t at;    // In words from the entry.
    uint64_t mask;  // The bytes.
    uint64_t key;   // Tells words apart.
};

// Something that each row says beside its words.
struct RowPart {
    enum { PART_OPTION, PART_TEXT, PART_PLACE, PART_VALUE } kind;
    uint32_t      offset;  // In the entry.
    uint32_t      bytes;   // OPTION: of the value.
    uint32_t      valid;   // OPTION: offset of the byte that says whether there is one.
    const SbType *type;    // VALUE
};

// ---- forms --------------------------------------------------------------------------------------

static uint32_t value_bytes(const SbType *type) {
    return type->nullable ? type->valid_offset : type->size;
}

// The bytes are said by each row. Words come in their order, each one once.
static void add_bytes(RowForm *form, uint32_t offset, uint32_t bytes) {
    for (uint32_t at = offset; at < offset + bytes; at++) {
        uint32_t i = 0, word = at / WORD;
        while (i < form->word_count && form->words[i].at < word) i++;
        if (i == form->word_count || form->words[i].at != word) {
            memmove(form->words + i + 1, form->words + i,
                    (form->word_count++ - i) * sizeof *form->words);
            form->words[i] = (RowWord){.at = word, .key = checksum_next(ODD, &word, sizeof word)};
        }
        form->words[i].mask |= UINT64_C(0xff) << at % WORD * 8;
    }
}

static void add_column(RowForm *form, const SbField *field) {
    const SbType *type = field->type;
    uint32_t offset = (uint32_t)field->offset, bytes = value_bytes(type);
    RowPart part = {.kind = PART_VALUE, .offset = offset, .type = type};
    if (sb_is_flat(type) && !type->nullable) {
        add_bytes(form, offset, bytes);
        return;
    }
    if (sb_is_flat(type)) {
        part = (RowPart){.kind = PART_OPTION, .offset = offset, .bytes = bytes,
                         .valid = offset + type->valid_offset};
        add_bytes(form, part.valid, 1);
    } else if (sb_is_text(type) && !type->nullable) {
        part.kind = PART_TEXT;
        add_bytes(form, offset + (uint32_t)offsetof(SbStr, len), sizeof(int64_t));
    }
    form->parts[form->count++] = part;
}

// Of an option that is put beside others.
static int64_t fixed_bytes(const RowPart *part) {
    return part->kind == PART_OPTION ? part->bytes : 0;
}

static bool open_parts(RowForm *form, const SbBreaker *edge) {
    enum { PLACE = 1 };
    form->parts = calloc(edge->row->field_count + PLACE, sizeof *form->parts);
    form->words = calloc((size_t)edge->entry_bytes / WORD + 1, sizeof *form->words);
    return form->parts && form->words;
}

bool row_form_open(RowForm *form, const SbBreaker *edge) {
    *form = (RowForm){.entry_bytes = edge->entry_bytes};
    if (!open_parts(form, edge)) return false;
    add_bytes(form, offsetof(SbEntry, hash), sizeof(uint64_t));
    for (uint32_t i = 0; i < edge->row->field_count; i++) add_column(form, &edge->row->fields[i]);
    if (edge->identity_offset != UINT32_MAX)
        add_bytes(form, edge->identity_offset, sizeof(uint64_t));
    if (edge->place_offset != UINT32_MAX)
        form->parts[form->count++] = (RowPart){.kind = PART_PLACE, .offset = edge->place_offset};
    for (uint32_t i = 0; i < form->count; i++) form->fixed += fixed_bytes(&form->parts[i]);
    return true;
}

void row_form_close(RowForm *form) {
    free(form->parts);
    free(form->words);
    *form = (RowForm){0};
}

// ---- adding up ----------------------------------------------------------------------------------

// What rows say is put side by side, and summed up a chunk at a time.
typedef struct Adder {
    uint64_t          sum, words, numbers;
    int64_t           bytes;  // Of which it is; those that are held come beside.
    const ArenaSpace *space;  // Whatever is gone along lies there; nullptr: who asks knows.
    int64_t           most;   // Bytes that it may be.
    bool              bad;
    const char       *from, *to;  // The arena that was last found.
    int64_t           held;
    char              room[CHUNK + SHORT];
} Adder;

static void begin(Adder *adder, const ArenaSpace *space, int64_t most, int64_t count) {
    adder->sum = (uint64_t)count;
    adder->words = adder->numbers = 0;
    adder->bytes = adder->held = 0;
    adder->space = space;
    adder->most = most;
    adder->bad = false;
    adder->from = adder->to = nullptr;
}

static void add(Adder *adder, const void *at, int64_t bytes) {
    adder->sum = checksum_next(adder->sum, at, bytes);
    adder->bytes += bytes;
}

static void flush(Adder *adder) {
    if (adder->held > 0) add(adder, adder->room, adder->held);
    adder->held = 0;
}

// In their order.
static inline void add_number(Adder *adder, uint64_t number) {
    adder->numbers = (adder->numbers ^ number) * ODD;
}

static void make_room(Adder *adder, int64_t bytes) {
    if (bytes > CHUNK - adder->held) flush(adder);
}

// Chunks end where the next piece has no room, wherever it lies: so all who add see the same ones.
static void put(Adder *adder, const void *at, int64_t bytes) {
    make_room(adder, bytes);
    if (bytes > CHUNK) {
        add(adder, at, bytes);
        return;
    }
    memcpy(adder->room + adder->held, at, (size_t)bytes);
    adder->held += bytes;
}

// Do they lie in the arena that was last found?
static inline bool lies(const Adder *adder, const char *at, int64_t bytes) {
    uint64_t span = (uint64_t)(adder->to - adder->from), room = (uint64_t)bytes;
    return room <= span && (uint64_t)(at - adder->from) <= span - room;
}

static bool find_arena(Adder *adder, const char *at, int64_t bytes) {
    uint32_t arena = arena_space_find(adder->space, at, bytes);
    if (arena >= adder->space->count) return false;
    adder->from = arena_space_of(adder->space, arena);
    adder->to = adder->from + adder->space->span;
    return true;
}

// May these bytes be read? They say `least` bytes, which are no more than there should be.
static bool reaches(Adder *adder, const void *at, int64_t bytes, int64_t least) {
    if (!adder->space || bytes == 0) return true;
    bool known = bytes > 0 && (lies(adder, at, bytes) || find_arena(adder, at, bytes));
    adder->bad |= !known || least > adder->most - adder->bytes;
    return !adder->bad;
}

static void add_text(Adder *adder, const char *ptr, int64_t len) {
    put(adder, &len, sizeof len);
    if (len != 0 && reaches(adder, ptr, len, len)) put(adder, ptr, len);
}

static void add_value(Adder *adder, const SbType *type, const char *at);

static void add_list(Adder *adder, const SbType *type, const SbList *list) {
    const SbType *elem = type->elem;
    int64_t most = INT64_MAX / elem->size, lead = sb_lead_bytes(type);
    put(adder, &list->len, sizeof list->len);
    adder->bad |= list->len < 0 || list->len > most;
    if (adder->bad || list->len == 0) return;
    if (lead) {
        const char *sizes = (const char *)list->ptr - lead;
        if (!reaches(adder, sizes, lead, lead)) return;
        put(adder, sizes, lead);
    }
    if (!reaches(adder, list->ptr, list->len * elem->size, list->len)) return;
    if (sb_is_flat(elem) && !elem->nullable) {
        put(adder, list->ptr, list->len * elem->size);
        return;
    }
    // As they lie they may take more than they say: nulls, and texts of few bytes.
    adder->bytes += list->len * elem->size;
    const char *elems = (const char *)list->ptr;
    for (int64_t i = 0; i < list->len && !adder->bad; i++)
        add_value(adder, elem, elems + i * elem->size);
}

// Recursion follows the type, whose depth the compiler limits.
static void add_value(Adder *adder, const SbType *type, const char *at) {
    if (type->nullable) {
        bool valid = at[type->valid_offset] != 0;
        put(adder, &valid, sizeof valid);
        if (!valid) return;
    }
    if (sb_is_sequence(type)) {
        SbList list;
        memcpy(&list, at, sizeof list);
        add_list(adder, type, &list);
    } else if (type->kind == SB_STRUCT) {
        for (uint32_t i = 0; i < type->field_count && !adder->bad; i++)
            add_value(adder, type->fields[i].type, at + type->fields[i].offset);
    } else if (sb_is_text(type)) {
        SbStr text;
        memcpy(&text, at, sizeof text);
        add_text(adder, text.ptr, text.len);
    } else {
        put(adder, at, value_bytes(type));
    }
}

// Where nothing was read, only the length of the text is set.
static void add_place(Adder *adder, const char *at) {
    SbPlace place;
    memcpy(&place, at, sizeof place);
    int64_t len = place.raw.len, kept = len < SB_PLACE_RAW ? len : SB_PLACE_RAW;
    put(adder, &len, sizeof len);
    if (len == 0) return;
    adder->bad |= len < 0;
    if (!adder->bad) add_text(adder, place.raw.ptr, kept);
    put(adder, &place.offset, sizeof place.offset);
    add_number(adder, (uint64_t)place.line);
    add_number(adder, (uint64_t)place.row);
    put(adder, &place.source, sizeof place - offsetof(SbPlace, source));
}

// Most parts are a word or a few. Returns where the next part goes.
static inline char *put_bytes(char *to, const char *at, uint32_t bytes) {
    for (; bytes >= WORD; bytes -= WORD, at += WORD, to += WORD) memcpy(to, at, WORD);
    for (uint32_t half = WORD / 2; half > 0; half /= 2) {
        if (!(bytes & half)) continue;
        memcpy(to, at, half);
        at += half, to += half;
    }
    return to;
}

static inline char *put_option(char *to, const RowPart *part, const char *entry) {
    bool valid = entry[part->valid] != 0;
    return valid ? put_bytes(to, entry + part->offset, part->bytes) : to;
}

static void put_long_text(Adder *adder, const SbStr *text, int64_t more) {
    if (text->len == 0 || !reaches(adder, text->ptr, text->len, text->len)) return;
    if (text->len > CHUNK - more - adder->held) flush(adder);
    put(adder, text->ptr, text->len);
    make_room(adder, more);
}

// A text after its length. `more`: bytes for which there has to be room afterwards. A short one has
// bytes after it that may be read, if its arena goes on there.
static inline void put_text(Adder *adder, const SbStr *text, int64_t more) {
    bool is_short = (uint64_t)text->len - 1 < SHORT &&
                    (!adder->space || lies(adder, text->ptr, SHORT));
    if (!is_short || text->len > CHUNK - more) {
        put_long_text(adder, text, more);
        return;
    }
    if (text->len > CHUNK - more - adder->held) flush(adder);
    memcpy(adder->room + adder->held, text->ptr, SHORT);
    adder->held += text->len;
}

// Something that may take any room.
static void put_other(Adder *adder, const RowPart *part, const char *at, int64_t more) {
    if (part->kind == PART_PLACE) add_place(adder, at);
    else add_value(adder, part->type, at);
    make_room(adder, more);
}

// Each word is a product of its halves, as in XXH3, so that none waits for the one before.
static inline void add_words(Adder *adder, const RowForm *form, const SbEntry *entry) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < form->word_count; i++) {
        const RowWord *word = &form->words[i];
        uint64_t is;
        memcpy(&is, (const char *)entry + word->at * WORD, sizeof is);
        is = (is & word->mask) ^ word->key;
        sum += (uint32_t)is * (is >> 32);
    }
    adder->words = (adder->words ^ sum) * ODD;
    adder->bytes += form->word_count * WORD;
}

static void add_part(Adder *adder, const RowPart *part, const char *entry, int64_t more) {
    const char *at = entry + part->offset;
    SbStr text;
    if (part->kind == PART_OPTION) {
        char *to = put_option(adder->room + adder->held, part, entry);
        adder->held = to - adder->room;
    } else if (part->kind == PART_TEXT) {
        memcpy(&text, at, sizeof text);
        put_text(adder, &text, more);
    } else {
        put_other(adder, part, at, more);
    }
}

static inline void add_parts(Adder *adder, const RowForm *form, const char *entry) {
    make_room(adder, form->fixed);
    for (uint32_t i = 0; i < form->count && !adder->bad; i++)
        add_part(adder, &form->parts[i], entry, form->fixed);
}

// The same of a row whose options are more than a chunk holds.
static void add_wide_parts(Adder *adder, const RowForm *form, const char *entry) {
    for (uint32_t i = 0; i < form->count && !adder->bad; i++) {
        const RowPart *part = &form->parts[i];
        make_room(adder, fixed_bytes(part));
        add_part(adder, part, entry, 0);
    }
}

static inline bool reaches_entry(Adder *adder, const SbEntry *entry, int64_t bytes) {
    if (!adder->space) return true;
    adder->bad |= (uintptr_t)entry % ENTRY_ALIGN != 0 ||
                  (!lies(adder, (const char *)entry, bytes) &&
                   !find_arena(adder, (const char *)entry, bytes));
    return !adder->bad;
}

static RowSum add_rows(Adder *adder, const RowForm *form, const SbEntry *const *entries,
                       int64_t count) {
    for (int64_t i = 0; i < count && !adder->bad; i++)
        if (reaches_entry(adder, entries[i], form->entry_bytes)) {
            add_number(adder, entries[i]->order);
            add_words(adder, form, entries[i]);
            if (form->fixed <= CHUNK) add_parts(adder, form, (const char *)entries[i]);
            else add_wide_parts(adder, form, (const char *)entries[i]);
        }
    flush(adder);
    adder->sum = checksum_next(adder->sum, &adder->words, sizeof adder->words);
    return (RowSum){adder->sum, adder->numbers, adder->bytes};
}

// ---- sums ---------------------------------------------------------------------------------------

RowSum row_sum(const RowForm *form, const SbEntry *const *entries, int64_t count) {
    Adder adder;
    begin(&adder, nullptr, INT64_MAX, count);
    return add_rows(&adder, form, entries, count);
}

RowSum row_sum_bytes(const void *at, int64_t bytes) {
    return (RowSum){.sum = bytes > 0 ? checksum_next(0, at, bytes) : 0, .bytes = bytes};
}

bool row_sum_holds(RowSum sum, const RowForm *form, const ArenaSpace *space,
                   const SbEntry *const *entries, int64_t count) {
    Adder adder;
    int64_t most = space->span / (int64_t)sizeof *entries;
    if (count < 0 || count > most ||
        (count > 0 && arena_space_find(space, entries, count * (int64_t)sizeof *entries) >=
                          space->count))
        return false;
    begin(&adder, space, sum.bytes, count);
    RowSum found = add_rows(&adder, form, entries, count);
    return !adder.bad && row_sum_same(found, sum);
}
