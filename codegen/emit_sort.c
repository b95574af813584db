#include "codegen/emit_sort.h"

uint32_t sort_key_bits(const Type *base) {
    enum { F32_BITS = 35 };  // As f64: of its 52 bits after the exponent a f32 uses 23.
    enum { F16_BITS = 22, BF16_BITS = 19 };  // And those of 10 and 7.
    if (base->kind == TYPE_BOOL) return 1;
    if (base->kind == TYPE_F32) return F32_BITS;
    if (base->kind == TYPE_F16) return F16_BITS;
    if (base->kind == TYPE_BF16) return BF16_BITS;
    return type_is_bytes(base) || type_is_nested(base) ? 64 : 8 * (uint32_t)type_size(base);
}

static bool is_open(const Type *base) { return type_is_bytes(base) || type_is_nested(base); }

static SortGroup begin_group(const Breaker *breaker, uint32_t first, bool past_null) {
    SortGroup group = {.first = first, .end = first, .past_null = past_null};
    while (group.end < breaker->ordered && group.used < SORT_GROUP_BITS) {
        uint32_t k = group.end++;
        const Type *type = breaker->slots[k].type, *base = type_base(type);
        if (type->nullable && !(k == first && past_null)) group.used++;
        if (is_open(base)) {
            if (type_is_nested(base)) return group;
            group.known = (SORT_GROUP_BITS - group.used) / 8;
            group.used = SORT_GROUP_BITS;
            return group;
        }
        group.used += sort_key_bits(base);
        group.cut = group.used > SORT_GROUP_BITS;
    }
    if (group.cut) group.used = SORT_GROUP_BITS;
    return group;
}

static void add_part(SortParts *parts, SortPart part) { parts->items[parts->count++] = part; }

static void add_group(SortParts *parts, SortGroup group) {
    enum { WORD = 64 };
    if (group.used == 0) return;
    add_part(parts, (SortPart){.kind = SB_SORT_BITS, .group = group, .shift = WORD});
    if (group.used > WORD) add_part(parts, (SortPart){.kind = SB_SORT_BITS, .group = group});
}

static const Type *last_key(const Breaker *breaker, const SortGroup *group) {
    return type_base(breaker->slots[group->end - 1].type);
}

SortParts sort_parts(Arena *arena, const Breaker *breaker) {
    // A wide key that may be null ends one group and begins the next, each of two words.
    enum { PARTS_PER_KEY = 4 };
    SortParts parts = {.prefix = begin_group(breaker, 0, false)};
    parts.items = arena_new_array(arena, SortPart, PARTS_PER_KEY * breaker->ordered + 1);
    const SortGroup *prefix = &parts.prefix;
    parts.decided = prefix->end - (prefix->cut || is_open(last_key(breaker, prefix)));
    for (SortGroup group = *prefix;;) {
        const Type *last = last_key(breaker, &group);
        if (type_is_nested(last)) {
            add_part(&parts, (SortPart){.kind = SB_SORT_REST});
            break;
        }
        if (type_is_bytes(last))
            add_part(&parts, (SortPart){.kind = SB_SORT_TEXT, .key = group.end - 1,
                                        .known = group.known});
        if (group.end == breaker->ordered && !group.cut) break;
        group = begin_group(breaker, group.end - group.cut, group.cut);
        add_group(&parts, group);
    }
    return parts;
}
