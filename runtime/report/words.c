#include "runtime/report/words.h"

#include <stdio.h>
#include <strings.h>

// Edits (insert, delete, replace) between two words; more than `WORD_MAX` bytes count as far.
static uint32_t edit_distance(SbStr a, SbStr b) {
    enum { WORD_MAX = 64 };
    if (a.len > WORD_MAX || b.len > WORD_MAX) return UINT32_MAX;
    uint32_t row[WORD_MAX + 1];
    for (uint32_t j = 0; j <= b.len; j++) row[j] = j;
    for (uint32_t i = 1; i <= a.len; i++) {
        uint32_t corner = row[0];
        row[0] = i;
        for (uint32_t j = 1; j <= b.len; j++) {
            uint32_t change = corner + (a.ptr[i - 1] != b.ptr[j - 1]);
            corner = row[j];
            uint32_t gap = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < gap ? change : gap;
        }
    }
    return row[b.len];
}

SbStr nearest_name(SbStr word, NameFn *names, const void *self, uint32_t count) {
    SbStr best = {0};
    // Of a word of which nothing stays, nothing else is meant.
    uint32_t best_distance = (uint32_t)(word.len / 3 + 1) + 1;
    if (best_distance > word.len) best_distance = (uint32_t)word.len;
    for (uint32_t i = 0; i < count; i++) {
        SbStr name = names(self, i);
        bool same = word.len == name.len && strncasecmp(word.ptr, name.ptr, (size_t)word.len) == 0;
        uint32_t distance = same ? 0 : edit_distance(word, name);
        if (distance < best_distance) {
            best_distance = distance;
            best = name;
        }
    }
    return best;
}

void size_text(int64_t bytes, char text[static SIZE_TEXT]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    enum { UNITS = sizeof units / sizeof *units, UNIT = 1024 };
    double value = (double)bytes;
    int unit = 0;
    while (value >= UNIT && unit + 1 < UNITS) value /= UNIT, unit++;
    snprintf(text, SIZE_TEXT, "%.4g%s", value, units[unit]);
}

void size_say(int64_t bytes, char text[static SIZE_TEXT]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    enum { UNITS = sizeof units / sizeof *units, UNIT = 1024 };
    double value = (double)bytes;
    int unit = 0;
    while (value >= UNIT && unit + 1 < UNITS) value /= UNIT, unit++;
    snprintf(text, SIZE_TEXT, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}
