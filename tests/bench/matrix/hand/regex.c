// Regular expressions by hand: a loop for each over the lines of a log. `regex IN OUT SHAPE`, where
// SHAPE is a name of the table below. Writes how many matches there are, and how many bytes these,
// the replaced texts, or the pieces between them have. Checks nothing; lines are short.
#include "../../reference/scan.h"

typedef struct State {
    _Alignas(64) int64_t count, bytes;
    char *to, text[1 << 12];  // A text that is made, and where it goes on.
} State;

typedef struct Line {
    const char *at, *end;
} Line;

// What one line adds.
typedef void ShapeFn(State *s, Line line);

enum { DIGIT = 1, LOWER = 2, UPPER = 4, SPACE = 8, DOT = 16, UNDER = 32, MARK = 64, VOWEL = 128 };
static const uint8_t class_of[256] = {
    ['0' ... '9'] = DIGIT, ['A' ... 'Z'] = UPPER, [' '] = SPACE,
    ['\t'] = SPACE, ['.'] = DOT, ['_'] = UNDER, [','] = MARK, [';'] = MARK,
    ['a'] = LOWER | VOWEL, ['b' ... 'd'] = LOWER, ['e'] = LOWER | VOWEL, ['f' ... 'h'] = LOWER,
    ['i'] = LOWER | VOWEL, ['j' ... 'n'] = LOWER, ['o'] = LOWER | VOWEL, ['p' ... 't'] = LOWER,
    ['u'] = LOWER | VOWEL, ['v' ... 'z'] = LOWER,
};

static inline bool is(const char *at, int classes) { return class_of[(uint8_t)*at] & classes; }

static inline const char *run(const char *at, const char *end, int classes) {
    while (at < end && is(at, classes)) at++;
    return at;
}

static inline void found(State *s, const char *at, const char *end) {
    s->count++;
    s->bytes += end - at;
}

// Where the text stands first, or null.
static inline const char *find(Line line, const char *text, size_t len) {
    return memmem(line.at, (size_t)(line.end - line.at), text, len);
}
#define FIND(line, text) find(line, text, sizeof(text) - 1)

static void literal(State *s, Line line) {
    if (FIND(line, "timeout")) found(s, line.at, line.end);
}

static void words(State *s, Line line) {
    // The first letters of all three, then the rest.
    for (const char *at = line.at; at < line.end; at++) {
        if (*at != 't' && *at != 'r') continue;
        if (memcmp(at, "timeout", 7) == 0 || memcmp(at, "refused", 7) == 0 ||
            memcmp(at, "reset", 5) == 0) {
            found(s, line.at, line.end);
            return;
        }
    }
}

static void anchored(State *s, Line line) {
    const char *at = line.at;
    while (is(at, DIGIT) || *at == '-') at++;
    if (at == line.at || *at++ != ' ') return;
    const char *time = at;
    while (is(at, DIGIT) || *at == ':') at++;
    if (at > time && memcmp(at, " ERROR", 6) == 0) found(s, line.at, line.end);
}

static void suffix(State *s, Line line) {
    const char *at = line.end - 2;
    if (memcmp(at, "ms", 2) == 0 && is(at - 1, DIGIT)) found(s, line.at, line.end);
}

static inline bool same_word(const char *at, const char *small, size_t len) {
    for (size_t i = 0; i < len; i++)
        if ((at[i] | 32) != small[i]) return false;
    return true;
}

static void any_case(State *s, Line line) {
    for (const char *at = line.at; at < line.end; at++) {
        char c = *at | 32;
        if ((c == 'e' && same_word(at, "error", 5)) || (c == 'w' && same_word(at, "warn", 4))) {
            found(s, line.at, line.end);
            return;
        }
    }
}

static void user(State *s, Line line) {
    const char *at = FIND(line, "user=");
    if (at) found(s, at + 5, run(at + 5, line.end, LOWER));
}

static void took(State *s, Line line) {
    const char *at = FIND(line, "took ");
    if (at) found(s, at + 5, run(at + 5, line.end, DIGIT));
}

static inline bool is_date(const char *at) {
    return is(at, DIGIT) && is(at + 1, DIGIT) && is(at + 2, DIGIT) && is(at + 3, DIGIT) &&
           at[4] == '-' && is(at + 5, DIGIT) && is(at + 6, DIGIT) && at[7] == '-' &&
           is(at + 8, DIGIT) && is(at + 9, DIGIT);
}

static void date(State *s, Line line) {
    for (const char *at = line.at; at + 10 <= line.end; at++)
        if (is_date(at)) {
            found(s, at + 5, at + 7);
            return;
        }
}

static void address(State *s, Line line) {
    for (const char *at = line.at; at < line.end; at++) {
        if (!is(at, DIGIT)) continue;
        const char *p = run(at, line.end, DIGIT);
        int dots = 0;
        while (dots < 3 && *p == '.' && is(p + 1, DIGIT)) p = run(p + 1, line.end, DIGIT), dots++;
        if (dots == 3) {
            found(s, at, p);
            return;
        }
        at = p - 1;
    }
}

static void path(State *s, Line line) {
    static const char *const ends[] = {"png", "jpg", "css", "html"};
    for (const char *at = line.at; (at = memchr(at, '/', (size_t)(line.end - at))); at++) {
        const char *p = run(at + 1, line.end, LOWER | DIGIT);
        if (p == at + 1 || *p != '.') continue;
        for (size_t i = 0; i < 4; i++)
            if (memcmp(p + 1, ends[i], strlen(ends[i])) == 0) {
                found(s, at + 1, p);
                return;
            }
    }
}

static void lazy(State *s, Line line) {
    const char *at = memchr(line.at, '[', (size_t)(line.end - line.at));
    const char *end = at ? memchr(at + 1, ']', (size_t)(line.end - at - 1)) : nullptr;
    if (end) found(s, at + 1, end);
}

static void all_runs(State *s, Line line, int classes) {
    for (const char *at = line.at; at < line.end;) {
        if (!is(at, classes)) {
            at++;
            continue;
        }
        const char *p = run(at, line.end, classes);
        found(s, at, p);
        at = p;
    }
}

static void runs(State *s, Line line) { all_runs(s, line, LOWER | DIGIT); }
static void numbers(State *s, Line line) { all_runs(s, line, DIGIT); }
static void whole_words(State *s, Line line) { all_runs(s, line, LOWER | UPPER | DIGIT | UNDER); }

static void pairs(State *s, Line line) {
    for (const char *at = line.at; (at = memchr(at, '=', (size_t)(line.end - at))); at++) {
        if (!is(at - 1, LOWER)) continue;
        const char *p = run(at + 1, line.end, LOWER | DIGIT | DOT);
        if (p > at + 1) found(s, at + 1, p);
    }
}

static void bounded(State *s, Line line) {
    for (const char *at = line.at; at < line.end;) {
        const char *p = at;
        while (p < line.end && p - at < 5 && is(p, LOWER)) p++;
        if (p - at >= 3) found(s, at, p), at = p;
        else at = p > at ? p : at + 1;
    }
}

static void vowels(State *s, Line line) {
    int64_t count = 0;
    for (const char *at = line.at; at < line.end; at++) count += class_of[(uint8_t)*at] >> 7;
    s->count += count;
    s->bytes += count;
}

static void either(State *s, Line line) {
    for (const char *at = line.at; at < line.end;) {
        if (is(at, LOWER | DIGIT)) {
            const char *p = run(at, line.end, LOWER | DIGIT);
            found(s, at, p);
            at = p;
        } else {
            if (*at != ' ') found(s, at, at + 1);
            at++;
        }
    }
}

// ---- replacing: the text is made, as whoever asks for it would have it --------------------------

// Adds a piece and what replaces the match after it.
static inline void add(State *s, const char *at, const char *end, const char *with, size_t len) {
    memcpy(s->to, at, (size_t)(end - at));
    s->to += end - at;
    memcpy(s->to, with, len);
    s->to += len;
}

static void made(State *s, const char *at, const char *end) {
    add(s, at, end, "", 0);
    __asm__ volatile("" : : "r"(s->text) : "memory");
    s->count++;
    s->bytes += s->to - s->text;
}

static void replace_digits(State *s, Line line) {
    for (const char *at = line.at; at < line.end; at++) {
        if (is(at, DIGIT)) *s->to++ = '#', *s->to++ = '#';
        else *s->to++ = *at;
    }
    made(s, line.end, line.end);
}

static void replace_runs(State *s, Line line) {
    for (const char *at = line.at; at < line.end;) {
        const char *p = run(at, line.end, DIGIT);
        *s->to++ = p > at ? '#' : *at;
        at = p > at ? p : at + 1;
    }
    made(s, line.end, line.end);
}

static void replace_user(State *s, Line line) {
    const char *at = FIND(line, "user="), *rest = line.at;
    if (at) {
        add(s, line.at, at, "user=*", 6);
        rest = run(at + 5, line.end, LOWER);
    }
    made(s, rest, line.end);
}

static void replace_pairs(State *s, Line line) {
    const char *rest = line.at;
    for (const char *at = line.at; (at = memchr(at, '=', (size_t)(line.end - at))); at++) {
        if (!is(at - 1, LOWER) || !is(at + 1, LOWER | DIGIT)) continue;
        add(s, rest, at, ": ", 2);
        rest = at + 1;
    }
    made(s, rest, line.end);
}

static void split_spaces(State *s, Line line) {
    int64_t count = 1, bytes = line.end - line.at;
    for (const char *at = line.at; at < line.end;) {
        const char *p = run(at, line.end, SPACE);
        if (p > at) count++, bytes -= p - at;
        at = p > at ? p : at + 1;
    }
    s->count += count;
    s->bytes += bytes;
}

static void split_marks(State *s, Line line) {
    int64_t count = 1, bytes = line.end - line.at;
    for (const char *at = line.at; at < line.end;) {
        if (is(at, MARK)) {
            const char *p = run(at + 1, line.end, SPACE);
            count++, bytes -= p - at;
            at = p;
        } else {
            at++;
        }
    }
    s->count += count;
    s->bytes += bytes;
}

static const struct {
    const char *name;
    ShapeFn *shape;
} shapes[] = {
    {"literal", literal}, {"words", words}, {"anchored", anchored}, {"suffix", suffix},
    {"any_case", any_case}, {"user", user}, {"took", took}, {"date", date}, {"address", address},
    {"path", path}, {"lazy", lazy}, {"runs", runs}, {"numbers", numbers},
    {"whole_words", whole_words}, {"pairs", pairs}, {"bounded", bounded}, {"vowels", vowels},
    {"either", either}, {"replace_digits", replace_digits}, {"replace_runs", replace_runs},
    {"replace_user", replace_user}, {"replace_pairs", replace_pairs},
    {"split_spaces", split_spaces}, {"split_marks", split_marks},
};

static ShapeFn *shape;

static void each(void *argument, Text block) {
    State *s = argument;
    for (const char *at = block.at, *end = at + block.len; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        s->to = s->text;
        shape(s, (Line){at, line_end});
        at = line_end + 1;
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].name, argv[3]) == 0) shape = shapes[i].shape;
    if (!shape) return 2;
    static State states[THREADS];
    scan_rows(map_text(argv[1]), each, states, sizeof *states);
    FILE *out = open_output(argv[2]);
    fprintf(out, "n,b\n%ld,%ld\n", states[0].count + states[1].count,
            states[0].bytes + states[1].bytes);
    return fclose(out) ? 3 : 0;
}
