// Regex: finding matches by walking the automaton's table.
#include "stdlib/regex/regex_match.h"
#include "stdlib/regex/regex_starts.h"

#include <string.h>

// How much of a text may be walked in vain before the search changes to the program, which looks
// at nothing twice: a constant share of the text, so that the sum stays linear. Whether there is a
// match at all one walk says, so that less may be lost before that.
enum { WASTE_FREE = 512, WASTE_FACTOR = 4, WASTE_ANY_FREE = 64 };

typedef struct Walk {
    const uint8_t  *classes;
    const uint32_t *next;
    uint32_t        dead, dead_match, end_column;
} Walk;

static Walk walk_of(const SbRegex *regex) {
    const char *base = (const char *)regex;
    const SbRegexTable *table = &regex->table;
    return (Walk){(const uint8_t *)base + table->classes,
                  (const uint32_t *)(base + table->next), table->dead, table->dead_match,
                  table->columns - 1};
}

// The end of the preferred match that begins at `from`, or -1. *seen: where the walk stopped.
static int64_t walk_match(const SbRegex *regex, SbStr text, int64_t from, int64_t *seen) {
    Walk walk = walk_of(regex);
    uint32_t state = regex->table.begin[regex_before(text, from)];
    int64_t end = -1;
    const uint8_t *bytes = (const uint8_t *)text.ptr;
    for (int64_t i = from; i < text.len; i++) {
        state = walk.next[state + walk.classes[bytes[i]]];
        if (state < walk.dead) continue;
        *seen = i;
        if (state == walk.dead) return end;
        end = i;
        if (state == walk.dead_match) return end;
    }
    *seen = text.len;
    state = walk.next[state + walk.end_column];
    return state > walk.dead ? text.len : end;
}

// Is there a match that begins at or after `from`?
static bool walk_find(const SbRegex *regex, SbStr text, int64_t from) {
    Walk walk = walk_of(regex);
    uint32_t state = regex->table.find[regex_before(text, from)];
    const uint8_t *bytes = (const uint8_t *)text.ptr;
    for (int64_t i = from; i < text.len; i++) {
        state = walk.next[state + walk.classes[bytes[i]]];
        if (state >= walk.dead) return state != walk.dead;
    }
    return walk.next[state + walk.end_column] > walk.dead;
}

// Does a match begin at `from`? *seen: where the walk stopped.
static bool walk_here(const SbRegex *regex, SbStr text, int64_t from, int64_t *seen) {
    Walk walk = walk_of(regex);
    uint32_t state = regex->table.begin[regex_before(text, from)];
    const uint8_t *bytes = (const uint8_t *)text.ptr;
    for (int64_t i = from; i < text.len; i++) {
        state = walk.next[state + walk.classes[bytes[i]]];
        if (state < walk.dead) continue;
        *seen = i;
        return state != walk.dead;
    }
    *seen = text.len;
    return walk.next[state + walk.end_column] > walk.dead;
}

// Where a match may begin first, from `from` on.
static int64_t first_place(const RegexSearch *search, int64_t from) {
    const int64_t last = (int64_t)search->regex->last_bytes - 1;
    if (last < 0 || search->text.len - last <= from) return from;
    from = search->text.len - last;
    while (!regex_at_edge(search->text, from)) from++;
    return from;
}

// Is there a match? The walk from each place where one may begin is short as a rule.
static bool has_match(SbCall *call, const SbRegex *regex, SbStr text) {
    int64_t seen, wasted = 0;
    if (regex->flags & REGEX_ANCHORED) return walk_here(regex, text, 0, &seen);
    RegexSearch search = regex_search_of(call, regex, text);
    const int64_t from = first_place(&search, 0);
    if (regex->flags & REGEX_EXACT_STARTS) return regex_next_start(&search, from) < text.len;
    if (!regex->starts.count || regex->flags & REGEX_MANY_STARTS)
        return walk_find(regex, text, from);
    for (int64_t at = from; (at = regex_next_start(&search, at)) < text.len; at++) {
        if (wasted > WASTE_ANY_FREE + text.len) return walk_find(regex, text, at);
        if (walk_here(regex, text, at, &seen)) return true;
        wasted += seen - at;
    }
    return false;
}

static int32_t search_by_program(RegexSearch *search, int64_t from, SbRegexSpan *span) {
    int64_t slots[REGEX_SLOTS];
    search->backtracks = true;
    int32_t status = regex_backtrack(search, &(RegexBacktrack){.from = from, .slots = slots});
    if (status == SB_OK) *span = (SbRegexSpan){slots[0], slots[1]};
    return status;
}

int32_t regex_search(RegexSearch *search, int64_t from, SbRegexSpan *span) {
    const SbRegex *regex = search->regex;
    SbStr text = search->text;
    if (regex->flags & REGEX_EXACT_STARTS) {
        const int64_t at = regex_next_start(search, from);
        if (at >= text.len) return SB_NULL;
        *span = (SbRegexSpan){at, at + regex->starts.count};
        return SB_OK;
    }
    bool table = regex->flags & REGEX_HAS_TABLE;
    from = first_place(search, from);
    if (!table || search->backtracks) return search_by_program(search, from, span);
    const uint8_t *bytes = (const uint8_t *)text.ptr;
    bool anchored = regex->flags & REGEX_ANCHORED;
    for (int64_t at = from; at <= text.len && !(anchored && at); at++) {
        if (regex->starts.count) {
            if (at == text.len) return SB_NULL;
            if (!regex->first[bytes[at]]) at = regex_next_start(search, at + 1);
            if (at == text.len) return SB_NULL;
        } else if (!regex_at_edge(text, at)) {
            continue;
        }
        if (search->wasted > WASTE_FREE + WASTE_FACTOR * text.len) {
            if (!walk_find(regex, text, at)) return SB_NULL;
            return search_by_program(search, at, span);
        }
        int64_t seen = at, end = walk_match(regex, text, at, &seen);
        search->wasted += seen - (end < 0 ? at : end);
        if (end >= 0) {
            *span = (SbRegexSpan){at, end};
            return SB_OK;
        }
    }
    return SB_NULL;
}

int32_t sb_regex_find(SbCall *call, const SbRegex *regex, SbStr text, int64_t from,
                      SbRegexSpan *span) {
    RegexSearch search = regex_search_of(call, regex, text);
    return regex_search(&search, from, span);
}

int32_t sb_regex_matches(SbCall *call, SbStr text, const SbRegex *regex, bool *out) {
    if (regex->flags & REGEX_HAS_TABLE) {
        *out = has_match(call, regex, text);
        return SB_OK;
    }
    SbRegexSpan span;
    int32_t status = sb_regex_find(call, regex, text, 0, &span);
    if (status > SB_NULL) return status;
    *out = status == SB_OK;
    return SB_OK;
}

int32_t sb_regex_full_match(SbCall *call, SbStr text, const SbRegex *regex, bool *out) {
    *out = false;
    if (regex->flags & REGEX_HAS_TABLE) {
        // The preferred match may be shorter than another one that takes all of the text.
        int64_t seen, end = walk_match(regex, text, 0, &seen);
        *out = end == text.len;
        if (*out || end < 0) return SB_OK;
    }
    RegexSearch search = regex_search_of(call, regex, text);
    int64_t slots[REGEX_SLOTS];
    RegexBacktrack run = {.anchored = true, .to_end = true, .slots = slots};
    int32_t status = regex_backtrack(&search, &run);
    if (status > SB_NULL) return status;
    *out = status == SB_OK;
    return SB_OK;
}

int32_t sb_regex_extract(SbCall *call, SbStr text, const SbRegex *regex, SbStr *out) {
    SbRegexSpan span;
    int32_t status = sb_regex_find(call, regex, text, 0, &span);
    if (status == SB_OK) *out = (SbStr){text.ptr + span.begin, span.end - span.begin};
    return status;
}
