// Resemble: edit distance, Jaro and Winkler's measure, Soundex, n-grams.
#include "stdlib/text/resemble.h"

#include "stdlib/text/list_build.h"
#include "stdlib/text/string.h"
#include "stdlib/text/utf8.h"

enum : int64_t { CELLS_MAX = 100000000 };  // Pairs of characters that one call compares.

static uint32_t *points_of(SbCall *call, SbStr s, int64_t *count) {
    *count = sb_utf8_count(s.ptr, s.len);
    uint32_t *points = sb_alloc(call, *count * (int64_t)sizeof *points);
    for (int64_t i = 0, n = 0; points && i < s.len; i += sb_utf8_bytes(s.ptr[i]))
        points[n++] = sb_utf8_read(s.ptr + i);
    return points;
}

// Wagner and Fischer's table, one row at a time.
int32_t sb_levenshtein(SbCall *call, SbStr a, SbStr b, int64_t *out) {
    SbCall before = *call;
    int64_t rows, columns;
    uint32_t *x = points_of(call, a, &rows), *y = points_of(call, b, &columns);
    int64_t *row = sb_alloc(call, (columns + 1) * (int64_t)sizeof *row);
    if (!x || !y || !row || (columns && rows > CELLS_MAX / columns)) return SB_FAULT_TOO_LARGE;
    for (int64_t j = 0; j <= columns; j++) row[j] = j;
    for (int64_t i = 0; i < rows; i++) {
        int64_t corner = row[0];
        row[0] = i + 1;
        for (int64_t j = 0; j < columns; j++) {
            int64_t best = corner + (x[i] != y[j]);
            corner = row[j + 1];
            if (corner + 1 < best) best = corner + 1;
            if (row[j] + 1 < best) best = row[j] + 1;
            row[j + 1] = best;
        }
    }
    *out = row[columns];
    sb_release(call, &before);
    return SB_OK;
}

// ---- Jaro and Winkler ---------------------------------------------------------------------------

typedef struct Points {
    const uint32_t *at;
    int64_t count;
    char   *matched;  // By position: it has a partner in the other text.
} Points;

// Pairs of equal characters that are not too far from each other; each character is in one.
static int64_t match(Points *a, Points *b) {
    int64_t longer = a->count > b->count ? a->count : b->count;
    int64_t reach = longer / 2 > 0 ? longer / 2 - 1 : 0, pairs = 0;
    memset(a->matched, 0, (size_t)a->count);
    memset(b->matched, 0, (size_t)b->count);
    for (int64_t i = 0; i < a->count; i++) {
        int64_t j = i > reach ? i - reach : 0;
        int64_t end = i + reach + 1 < b->count ? i + reach + 1 : b->count;
        while (j < end && (b->matched[j] || b->at[j] != a->at[i])) j++;
        if (j >= end) continue;
        a->matched[i] = b->matched[j] = 1;
        pairs++;
    }
    return pairs;
}

// Partners by their order that are not equal.
static int64_t misplaced(const Points *a, const Points *b) {
    int64_t count = 0;
    for (int64_t i = 0, j = 0; i < a->count; i++) {
        if (!a->matched[i]) continue;
        while (!b->matched[j]) j++;
        count += a->at[i] != b->at[j++];
    }
    return count;
}

int32_t sb_jaro_winkler(SbCall *call, SbStr a, SbStr b, double *out) {
    SbCall before = *call;
    Points x = {0}, y = {0};
    x.at = points_of(call, a, &x.count);
    y.at = points_of(call, b, &y.count);
    x.matched = sb_alloc(call, x.count);
    y.matched = sb_alloc(call, y.count);
    if (!x.at || !y.at || !x.matched || !y.matched || (y.count && x.count > CELLS_MAX / y.count))
        return SB_FAULT_TOO_LARGE;
    int64_t pairs = match(&x, &y), prefix = 0;
    double alike = x.count || y.count ? 0 : 1;
    if (pairs) {
        double m = (double)pairs, half = (double)(misplaced(&x, &y) / 2);
        alike = (m / (double)x.count + m / (double)y.count + (m - half) / m) / 3;
    }
    while (prefix < 4 && prefix < x.count && prefix < y.count && x.at[prefix] == y.at[prefix])
        prefix++;
    if (alike > 0.7 && alike < 1) alike += 0.1 * (double)prefix * (1 - alike);
    *out = alike;
    sb_release(call, &before);
    return SB_OK;
}

// ---- Soundex ------------------------------------------------------------------------------------

enum { SOUNDEX_LEN = 4 };

int32_t sb_soundex(SbCall *call, SbStr s, SbStr *out) {
    //                             ABCDEFGHIJKLMNOPQRSTUVWXYZ; 0: a vowel, -: not heard.
    static const char codes[] = "01230120022455012623010202", silent[] = "HW";
    char *text = sb_alloc(call, SOUNDEX_LEN), last = 0;
    int64_t len = 0;
    if (!text) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < s.len && len < SOUNDEX_LEN; i++) {
        char letter = s.ptr[i] & ~0x20;
        if (letter < 'A' || letter > 'Z' || (len && (letter == silent[0] || letter == silent[1])))
            continue;
        char code = codes[letter - 'A'];
        if (!len) text[len++] = letter;
        else if (code != '0' && code != last) text[len++] = code;
        last = code;
    }
    while (len && len < SOUNDEX_LEN) text[len++] = '0';
    *out = (SbStr){text, len};
    return SB_OK;
}

// ---- n-grams ------------------------------------------------------------------------------------

int32_t sb_ngrams(SbCall *call, SbStr s, int64_t count, SbList *out) {
    if (count < 1) return SB_FAULT_BAD_ARGUMENT;
    SbBuild build = {.call = call};
    int64_t end = 0, within = 0;
    for (int64_t begin = 0; begin < s.len; begin += sb_utf8_bytes(s.ptr[begin]), within--) {
        for (; within < count && end < s.len; within++) end += sb_utf8_bytes(s.ptr[end]);
        if (within < count) break;
        if (!sb_build_str(&build, (SbStr){s.ptr + begin, end - begin})) return SB_FAULT_TOO_LARGE;
    }
    *out = sb_build_list(&build, sizeof(SbStr));
    return SB_OK;
}

int32_t sb_ngrams_of_words(SbCall *call, SbList words, int64_t count, SbList *out) {
    if (count < 1) return SB_FAULT_BAD_ARGUMENT;
    const SbStr *word = words.ptr;
    int64_t grams = words.len < count ? 0 : words.len - count + 1, bytes = 0;
    SbStr *list = sb_alloc(call, grams * (int64_t)sizeof *list);
    if (!list) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < words.len; i++) bytes += word[i].len + 1;
    // One text of all words, in which the n-grams overlap.
    char *text = sb_alloc(call, bytes), *at = text;
    int64_t *begin = sb_alloc(call, (words.len + 1) * (int64_t)sizeof *begin);
    if (!text || !begin) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < words.len; i++) {
        begin[i] = at - text;
        if (word[i].len) memcpy(at, word[i].ptr, (size_t)word[i].len);
        at += word[i].len;
        *at++ = ' ';
    }
    begin[words.len] = at - text;
    for (int64_t i = 0; i < grams; i++)
        list[i] = (SbStr){text + begin[i], begin[i + count] - 1 - begin[i]};
    *out = (SbList){list, grams};
    return SB_OK;
}
