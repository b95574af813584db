#include "stdlib/aggregate/held.h"

#include "stdlib/aggregate/aggregate.h"
#include "stdlib/aggregate/approx.h"
#include "stdlib/aggregate/word_list.h"

// Recursion follows the type, whose depth the compiler limits.
void sb_held_value(SbHolder *holder, const SbType *type, void *at) {
    char *value = at;
    if (type->nullable && !value[type->valid_offset]) return;
    if (sb_is_sequence(type)) {
        SbList *list = at;
        int64_t size = type->elem->size, lead = sb_lead_bytes(type);
        // A result of a window that is not there yet has no sizes either.
        if (lead && !list->ptr) return;
        list->ptr = (char *)list->ptr - lead;
        char *elems = holder->bytes(holder, &list->ptr, lead + list->len * size, true);
        list->ptr = (char *)list->ptr + lead;
        for (int64_t i = 0; i < list->len && elems && !sb_is_flat(type->elem); i++)
            sb_held_value(holder, type->elem, elems + i * size);
    } else if (type->kind == SB_STRUCT) {
        for (uint32_t i = 0; i < type->field_count; i++)
            sb_held_value(holder, type->fields[i].type, value + type->fields[i].offset);
    } else if (!sb_is_flat(type)) {
        SbStr *text = at;
        holder->bytes(holder, &text->ptr, text->len, false);
    }
}

void sb_held_key(SbHolder *holder, const SbType *, void *at) {
    SbKeyStr *key = at;
    if (key->len > SB_KEY_INLINE) holder->bytes(holder, &key->far.ptr, key->len, false);
}

void sb_held_place(SbHolder *holder, const SbType *, void *at) {
    SbPlace *place = at;
    int64_t kept = place->raw.len < SB_PLACE_RAW ? place->raw.len : SB_PLACE_RAW;
    holder->bytes(holder, &place->raw.ptr, kept, false);
}

// ---- states -------------------------------------------------------------------------------------

static void hold_wide(SbHolder *holder, SbWide **wide, uint32_t chunks) {
    if (*wide)
        holder->bytes(holder, wide, (int64_t)(sizeof(SbWide) + chunks * sizeof(int64_t)), true);
}

void sb_held_exact_sum(SbHolder *holder, const SbType *, void *at) {
    SbExactSum *sum = at;
    hold_wide(holder, &sum->wide, SB_WIDE_CHUNKS);
}

void sb_held_spread(SbHolder *holder, const SbType *, void *at) {
    SbSpread *spread = at;
    hold_wide(holder, &spread->sum.wide, SB_WIDE_CHUNKS);
    hold_wide(holder, &spread->wide, SB_SQUARE_CHUNKS);
}

void sb_held_pairs(SbHolder *holder, const SbType *type, void *at) {
    SbPairs *pairs = at;
    sb_held_spread(holder, type, &pairs->x);
    sb_held_spread(holder, type, &pairs->y);
    hold_wide(holder, &pairs->wide, SB_SQUARE_CHUNKS);
}

void sb_held_extreme_str(SbHolder *holder, const SbType *, void *at) {
    SbExtremeStr *text = at;
    if (!text->ptr) return;
    text->room = text->len;
    holder->bytes(holder, &text->ptr, text->len, false);
}

// A value of `type` that lies elsewhere.
static void hold_pointed(SbHolder *holder, const SbType *type, void **value) {
    void *here = *value ? holder->bytes(holder, value, type->size, true) : nullptr;
    if (here) sb_held_value(holder, type, here);
}

void sb_held_kept(SbHolder *holder, const SbType *type, void *at) {
    SbKept *kept = at;
    hold_pointed(holder, type, &kept->value);
}

void sb_held_collected(SbHolder *holder, const SbType *type, void *at) {
    SbCollected *list = at;
    list->room = list->count;
    if (!list->count) return;
    SbKept *items = holder->bytes(holder, &list->items,
                                  (int64_t)(list->count * sizeof *items), true);
    for (uint64_t i = 0; i < list->count && items; i++) sb_held_kept(holder, type, &items[i]);
}

void sb_held_distinct(SbHolder *holder, const SbType *type, void *at) {
    SbDistinct *set = at;
    if (!set->room) return;
    SbDistinctSlot *slots = holder->bytes(holder, &set->slots,
                                          (int64_t)(set->room * sizeof *slots), true);
    for (uint64_t i = 0; i < set->room && slots; i++)
        if (slots[i].count) hold_pointed(holder, type, &slots[i].value);
}

void sb_held_words(SbHolder *holder, const SbType *, void *at) {
    SbWordSet *set = at;
    if (set->list_room) set->list_room = (uint32_t)sb_word_list_count(set);
    uint64_t words = set->list_room ? set->list_room : set->room;
    if (words) holder->bytes(holder, &set->slots, (int64_t)(words * sizeof *set->slots), true);
}

void sb_held_texts(SbHolder *holder, const SbType *type, void *at) {
    SbTextSet *set = at;
    if (!set->room) return;
    SbTextSlot *slots = holder->bytes(holder, &set->slots,
                                      (int64_t)(set->room * sizeof *slots), true);
    for (uint64_t i = 0; i < set->room && slots; i++)
        if (slots[i].hash) sb_held_key(holder, type, &slots[i].key);
}

void sb_held_any_set(SbHolder *holder, const SbType *type, void *at) {
    switch (sb_set_kind(type)) {
    case SB_SET_WORDS: sb_held_words(holder, type, at); break;
    case SB_SET_TEXTS: sb_held_texts(holder, type, at); break;
    case SB_SET_VALUES: sb_held_distinct(holder, type, at); break;
    }
}

void sb_held_arg(SbHolder *holder, const SbType *type, void *at) {
    SbArgState *state = at;
    sb_held_kept(holder, type, &state->kept);
}

void sb_held_arg_str(SbHolder *holder, const SbType *type, void *at) {
    SbArgState *state = at;
    sb_held_kept(holder, type, &state->kept);
    sb_held_extreme_str(holder, type, &state->by.str);
}

void sb_held_sample(SbHolder *holder, const SbType *, void *at) {
    SbSample *sample = at;
    sample->room = sample->count;
    if (sample->count)
        holder->bytes(holder, &sample->keys, (int64_t)(sample->count * sizeof *sample->keys), true);
}

void sb_held_distinct_sketch(SbHolder *holder, const SbType *type, void *at) {
    SbDistinctSketch *sketch = at;
    if (sketch->registers) holder->bytes(holder, &sketch->registers, SB_SKETCH_REGISTERS, false);
    else sb_held_words(holder, type, &sketch->few);
}

void sb_held_buckets(SbHolder *holder, const SbType *, void *at) {
    SbBuckets *buckets = at;
    if (buckets->room)
        holder->bytes(holder, &buckets->slots, (int64_t)(buckets->room * sizeof *buckets->slots),
                      true);
}
