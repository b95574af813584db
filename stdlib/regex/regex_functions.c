// Regex functions: find_all, split, replace and their kin over regex_search.
#include "stdlib/regex/regex_match.h"
#include "stdlib/regex/regex_runs.h"
#include "stdlib/text.h"

#include <immintrin.h>
#include <string.h>

// Goes on after `span`: a match of nothing moves one character on, and an empty match right
// after a match does not count (as in RE2 and Go).
typedef struct Matches {
    RegexSearch search;
    int64_t     from;  // Where to look next.
    int64_t     last;  // End of the match before.
    // Of runs: the edges that are left of the 64 bytes from `base` on, and what they end in.
    int64_t     base, block;  // Those after them begin at `block`.
    RegexEdges  edges;
    uint64_t    inside;
} Matches;

static Matches matches_of(SbCall *call, SbStr text, const SbRegex *regex) {
    return (Matches){.search = regex_search_of(call, regex, text), .last = -1};
}

// Looks at the next 64 bytes. False: the text ends.
static bool edges_look(Matches *m) {
    if (m->block >= m->search.text.len) return false;
    m->base = m->block;
    m->block += 64;
    m->edges = regex_edges(m->search.regex, m->search.text, m->base, &m->inside);
    return true;
}

static int64_t edges_take(const Matches *m, uint64_t *bits) {
    int64_t at = m->base + (int64_t)_tzcnt_u64(*bits);
    *bits &= *bits - 1;
    return at;
}

// Where a run ends no bit of one that begins is left, or its end would be there too.
[[gnu::noinline]]
static int32_t runs_next(Matches *m, SbRegexSpan *span) {
    while (!m->edges.begins)
        if (!edges_look(m)) return SB_NULL;
    span->begin = edges_take(m, &m->edges.begins);
    bool ends = true;
    while (!m->edges.ends && (ends = edges_look(m))) {}
    span->end = ends ? edges_take(m, &m->edges.ends) : m->search.text.len;
    return SB_OK;
}

static inline int32_t matches_next(Matches *m, SbRegexSpan *span) {
    SbStr text = m->search.text;
    if (m->search.regex->flags & REGEX_RUNS) return runs_next(m, span);
    while (m->from <= text.len) {
        int32_t status = regex_search(&m->search, m->from, span);
        if (status) return status;
        m->from = span->end;
        if (span->begin == span->end) {
            do m->from++;
            while (m->from < text.len && !regex_at_edge(text, m->from));
            if (span->begin == m->last) continue;
        }
        m->last = span->end;
        return SB_OK;
    }
    return SB_NULL;
}

static SbStr span_text(SbStr text, SbRegexSpan span) {
    return (SbStr){text.ptr + span.begin, span.end - span.begin};
}

// ---- runs: patterns like [a-z0-9]+|[^a-z0-9 ], 64 bytes at a time ------------------------------

enum { RUNS_AT_ONCE = 4 };

static int64_t runs_count(const SbRegex *regex, SbStr text) {
    int64_t count = 0;
    uint64_t inside = 0;
    for (int64_t at = 0; at < text.len; at += 64)
        count += __builtin_popcountll(regex_edges(regex, text, at, &inside).begins);
    return count;
}

// Runs begin at the bits set. Goes on by four, so that the loop ends where that is guessed: what is
// written after the last one is written again. Returns the first run that has not begun.
static SbStr *runs_begin(SbStr *run, const char *at, uint64_t bits) {
    SbStr *end = run + __builtin_popcountll(bits);
    for (; run < end; run += RUNS_AT_ONCE)
        for (int i = 0; i < RUNS_AT_ONCE; i++, bits &= bits - 1)
            run[i].ptr = at + _tzcnt_u64(bits);
    return end;
}

// The same for their ends. Returns the first run that has not ended.
static SbStr *runs_end(SbStr *run, const char *at, uint64_t bits) {
    SbStr *end = run + __builtin_popcountll(bits);
    for (; run < end; run += RUNS_AT_ONCE)
        for (int i = 0; i < RUNS_AT_ONCE; i++, bits &= bits - 1)
            run[i].len = (intptr_t)at + (int64_t)_tzcnt_u64(bits) - (intptr_t)run[i].ptr;
    return end;
}

static int32_t runs_all(SbCall *call, SbStr text, const SbRegex *regex, SbList *out) {
    enum { COUNT_FROM = 1024 };  // Shorter texts take the room of the worst case for a moment.
    int64_t count_max = text.len > COUNT_FROM ? runs_count(regex, text) : text.len;
    SbStr *runs = sb_alloc(call, (count_max + RUNS_AT_ONCE) * (int64_t)sizeof *runs);
    if (!runs) return SB_FAULT_TOO_LARGE;
    SbStr *begun = runs, *ended = runs;
    uint64_t inside = 0;
    for (int64_t at = 0; at < text.len; at += 64) {
        const RegexEdges edges = regex_edges(regex, text, at, &inside);
        begun = runs_begin(begun, text.ptr + at, edges.begins);
        ended = runs_end(ended, text.ptr + at, edges.ends);
    }
    if (ended < begun) ended = runs_end(ended, text.ptr + text.len, 1);
    sb_shrink(call, runs, (char *)ended - (char *)runs);
    *out = (SbList){runs, ended - runs};
    return SB_OK;
}

// ---- functions ----------------------------------------------------------------------------------

int32_t sb_regex_find_all(SbCall *call, SbStr text, const SbRegex *regex, SbList *out) {
    if (regex->flags & REGEX_RUNS) return runs_all(call, text, regex, out);
    return sb_regex_find_all_group(call, text, regex, 0, out);
}

static int32_t group_span(const RegexSearch *search, int64_t group, SbRegexSpan *span) {
    if (!group) return SB_OK;
    int64_t slots[REGEX_SLOTS];
    int32_t status = regex_groups(search, *span, slots);
    if (status) return status;
    *span = (SbRegexSpan){slots[2 * group], slots[2 * group + 1]};
    return span->begin < 0 || span->end < 0 ? SB_NULL : SB_OK;
}

bool sb_regex_has_group(const SbRegex *regex, int64_t group) {
    return group >= 0 && group <= regex->group_count;
}

int64_t sb_regex_group_named(const SbRegex *regex, SbStr name) {
    const char *base = (const char *)regex;
    const SbRegexName *names = (const SbRegexName *)(base + regex->names);
    for (uint32_t i = 0; i < regex->name_count; i++) {
        if (names[i].len == name.len && memcmp(base + names[i].text, name.ptr, names[i].len) == 0)
            return names[i].group;
    }
    return -1;
}

int32_t sb_regex_extract_named(SbCall *call, SbStr text, const SbRegex *regex, SbStr name,
                               SbStr *out) {
    return sb_regex_extract_group(call, text, regex, sb_regex_group_named(regex, name), out);
}

int32_t sb_regex_find_all_named(SbCall *call, SbStr text, const SbRegex *regex, SbStr name,
                                SbList *out) {
    return sb_regex_find_all_group(call, text, regex, sb_regex_group_named(regex, name), out);
}

int32_t sb_regex_extract_group(SbCall *call, SbStr text, const SbRegex *regex, int64_t group,
                               SbStr *out) {
    if (!sb_regex_has_group(regex, group)) return SB_FAULT_BAD_ARGUMENT;
    RegexSearch search = regex_search_of(call, regex, text);
    SbRegexSpan span;
    int32_t status = regex_search(&search, 0, &span);
    if (status == SB_OK) status = group_span(&search, group, &span);
    if (status == SB_OK) *out = span_text(text, span);
    return status;
}

int32_t sb_regex_groups(SbCall *call, SbStr text, const SbRegex *regex, SbList *out) {
    RegexSearch search = regex_search_of(call, regex, text);
    SbRegexSpan span;
    int64_t slots[REGEX_SLOTS];
    int32_t status = regex_search(&search, 0, &span);
    if (status == SB_OK) status = regex_groups(&search, span, slots);
    if (status) return status;
    SbBuild build = {.call = call};
    for (uint32_t i = 1; i <= regex->group_count; i++) {
        SbRegexSpan group = {slots[2 * i], slots[2 * i + 1]};
        if (group.begin < 0 || group.end < 0) group.begin = group.end = span.begin;
        if (!sb_build_str(&build, span_text(text, group))) return SB_FAULT_TOO_LARGE;
    }
    *out = sb_build_list(&build, sizeof(SbStr));
    return SB_OK;
}

int32_t sb_regex_find_all_group(SbCall *call, SbStr text, const SbRegex *regex, int64_t group,
                                SbList *out) {
    if (!sb_regex_has_group(regex, group)) return SB_FAULT_BAD_ARGUMENT;
    Matches matches = matches_of(call, text, regex);
    SbBuild build = {.call = call};
    SbRegexSpan span;
    int32_t status;
    while ((status = matches_next(&matches, &span)) == SB_OK) {
        int32_t found = group_span(&matches.search, group, &span);
        if (found > SB_NULL) return found;
        if (found == SB_NULL) continue;
        if (!sb_build_str(&build, span_text(text, span))) return SB_FAULT_TOO_LARGE;
    }
    *out = sb_build_list(&build, sizeof(SbStr));
    return status == SB_NULL ? SB_OK : status;
}

int32_t sb_regex_count(SbCall *call, SbStr text, const SbRegex *regex, int64_t *out) {
    if (regex->flags & REGEX_RUNS) {
        *out = runs_count(regex, text);
        return SB_OK;
    }
    Matches matches = matches_of(call, text, regex);
    SbRegexSpan span;
    int32_t status;
    for (*out = 0; (status = matches_next(&matches, &span)) == SB_OK;) ++*out;
    return status == SB_NULL ? SB_OK : status;
}

int32_t sb_regex_index(SbCall *call, SbStr text, const SbRegex *regex, int64_t *out) {
    SbRegexSpan span;
    int32_t status = sb_regex_find(call, regex, text, 0, &span);
    if (status) return status;
    *out = 0;
    for (int64_t i = 0; i < span.begin; i++) *out += regex_at_edge(text, i);
    return SB_OK;
}

int32_t sb_regex_split(SbCall *call, SbStr text, const SbRegex *regex, SbList *out) {
    Matches matches = matches_of(call, text, regex);
    SbBuild build = {.call = call};
    SbRegexSpan span;
    int32_t status;
    int64_t begin = 0;
    while ((status = matches_next(&matches, &span)) == SB_OK) {
        if (span.begin == span.end && (span.begin == 0 || span.begin == text.len)) continue;
        SbStr piece = span_text(text, (SbRegexSpan){begin, span.begin});
        if (!sb_build_str(&build, piece)) return SB_FAULT_TOO_LARGE;
        begin = span.end;
    }
    if (status != SB_NULL) return status;
    SbStr rest = span_text(text, (SbRegexSpan){begin, text.len});
    if (!sb_build_str(&build, rest)) return SB_FAULT_TOO_LARGE;
    *out = sb_build_list(&build, sizeof(SbStr));
    return SB_OK;
}

// ---- replace ------------------------------------------------------------------------------------

// reference = "$" DIGIT+ | "${" (DIGIT+ | NAME) "}"     Its length, from the dollar; 0 for none.
static int64_t reference_read(const SbRegex *regex, SbStr with, int64_t at, int64_t *group) {
    int64_t begin = at++;
    bool braces = at < with.len && with.ptr[at] == '{';
    at += braces;
    int64_t digits = at;
    for (*group = 0; at < with.len && with.ptr[at] >= '0' && with.ptr[at] <= '9'; at++)
        if (*group <= REGEX_GROUPS_MAX) *group = *group * 10 + (with.ptr[at] - '0');
    if (!braces) return at == digits ? 0 : at - begin;
    int64_t end = at;
    while (end < with.len && with.ptr[end] != '}') end++;
    if (end == with.len || end == digits) return 0;
    if (end != at) *group = sb_regex_group_named(regex, (SbStr){with.ptr + digits, end - digits});
    return *group < 0 ? 0 : end + 1 - begin;
}

// The piece of a replacement at *at, which moves after it. SB_NULL: it is the last one.
// SB_FAULT_BAD_ARGUMENT: the reference at *at means no group.
static int32_t piece_read(const SbRegex *regex, SbStr with, int64_t *at, SbRegexPiece *piece) {
    const int64_t begin = *at;
    int64_t dollar = begin, group = -1;
    while (dollar < with.len && with.ptr[dollar] != '$') dollar++;
    const bool escape = dollar + 1 < with.len && with.ptr[dollar + 1] == '$';
    *piece = (SbRegexPiece){(uint32_t)begin, (uint32_t)(dollar - begin + escape), -1};
    *at = dollar;
    if (dollar >= with.len) return SB_NULL;
    const int64_t len = escape ? 2 : reference_read(regex, with, dollar, &group);
    if (!len || group > regex->group_count) return SB_FAULT_BAD_ARGUMENT;
    piece->group = (int32_t)group;
    *at += len;
    return SB_OK;
}

int64_t sb_regex_replacement_fault(const SbRegex *regex, SbStr with, bool *has_groups) {
    SbRegexPiece piece;
    int64_t at = 0;
    int32_t status;
    *has_groups = false;
    while ((status = piece_read(regex, with, &at, &piece)) == SB_OK) *has_groups |= piece.group > 0;
    return status == SB_NULL ? -1 : at;
}

int64_t regex_count_pieces(SbStr with) {
    int64_t count = 1;
    for (int64_t i = 0; i < with.len; i++) count += with.ptr[i] == '$';
    return count;
}

int32_t regex_read_pieces(const SbRegex *regex, SbStr with, SbRegexPiece *pieces,
                          uint32_t *count) {
    int64_t at = 0;
    int32_t status;
    *count = 0;
    if (with.len > UINT32_MAX) return SB_FAULT_TOO_LARGE;
    do status = piece_read(regex, with, &at, &pieces[(*count)++]);
    while (status == SB_OK);
    return status == SB_NULL ? SB_OK : status;
}

// A replacement that is no constant is read for each text.
typedef struct Replacement {
    SbStr    with;
    const SbRegexPiece *pieces;
    uint32_t count;
    bool     has_groups;  // It names a group above 0.
} Replacement;

static int32_t replacement_read(SbCall *call, const SbRegex *regex, Replacement *r) {
    if (regex->pieces) {
        r->pieces = (const SbRegexPiece *)((const char *)regex + regex->pieces);
        r->count = regex->piece_count;
    } else {
        const int64_t most = regex_count_pieces(r->with);
        SbRegexPiece *pieces = sb_alloc(call, most * (int64_t)sizeof *pieces);
        if (!pieces) return SB_FAULT_TOO_LARGE;
        int32_t status = regex_read_pieces(regex, r->with, pieces, &r->count);
        if (status) return status;
        r->pieces = pieces;
    }
    for (uint32_t i = 0; i < r->count; i++) r->has_groups |= r->pieces[i].group > 0;
    return SB_OK;
}

enum { WIDE = 32 };  // Of a copy, which may pass the end of both.

// Returns the place after what is copied.
static inline char *copy_wide(char *to, const char *from, int64_t len) {
    for (int64_t i = 0; i < len; i += WIDE)
        _mm256_storeu_si256((__m256i *)(to + i),
                            _mm256_loadu_si256((const __m256i *)(from + i)));
    return to + len;
}

// Adds what stands between the last match and this one, and what replaces this one. Groups lie
// within the match.
static bool replacement_add(SbBuild *build, const Replacement *r, SbStr text, SbRegexSpan between,
                            const int64_t slots[REGEX_SLOTS]) {
    const int64_t match = slots[1] - slots[0], len = between.end - between.begin;
    char *room = sb_build_room(build, len + r->with.len + (r->count - 1) * match + WIDE);
    if (!room) return false;
    char *to = copy_wide(room, text.ptr + between.begin, len);
    const SbRegexPiece *piece = r->pieces, *last = piece + r->count - 1;
    for (;; piece++) {
        to = copy_wide(to, r->with.ptr + piece->begin, piece->len);
        if (piece == last) break;
        if (piece->group < 0) continue;
        SbRegexSpan span = {slots[2 * piece->group], slots[2 * piece->group + 1]};
        if (span.begin < 0 || span.end < 0) continue;
        to = copy_wide(to, text.ptr + span.begin, span.end - span.begin);
    }
    build->len += to - room;
    return true;
}

typedef struct Replace {
    SbStr       text;
    const SbRegex *regex;
    SbStr       with;
    int64_t     count_max;
} Replace;

static int32_t replace(SbCall *call, const Replace *r, SbStr *out) {
    Replacement replacement = {.with = r->with};
    int32_t status = replacement_read(call, r->regex, &replacement);
    if (status != SB_OK) return status;
    Matches matches = matches_of(call, r->text, r->regex);
    SbBuild build = {.call = call};
    SbRegexSpan span;
    int64_t begin = 0, count = 0, slots[REGEX_SLOTS];
    while (count < r->count_max && (status = matches_next(&matches, &span)) == SB_OK) {
        slots[0] = span.begin;
        slots[1] = span.end;
        if (replacement.has_groups) status = regex_groups(&matches.search, span, slots);
        if (status) return status;
        const SbRegexSpan between = {begin, span.begin};
        if (!replacement_add(&build, &replacement, r->text, between, slots))
            return SB_FAULT_TOO_LARGE;
        begin = span.end;
        count++;
    }
    if (status > SB_NULL) return status;
    if (!count) {
        *out = r->text;
        return SB_OK;
    }
    if (!sb_build_add(&build, r->text.ptr + begin, r->text.len - begin)) return SB_FAULT_TOO_LARGE;
    *out = sb_build_text(&build);
    return SB_OK;
}

int32_t sb_regex_replace(SbCall *call, SbStr text, const SbRegex *regex, SbStr with, SbStr *out) {
    return replace(call, &(Replace){text, regex, with, INT64_MAX}, out);
}

int32_t sb_regex_replace_first(SbCall *call, SbStr text, const SbRegex *regex, SbStr with,
                               SbStr *out) {
    return replace(call, &(Replace){text, regex, with, 1}, out);
}
