// compare: says whether two outputs hold the same, up to the spelling of numbers and quotes.
// `compare MODE FILE FILE`: ordered, line by line; sorted, after sorting lines by their first
// field, which is the key; bag, the lines in any order, floats without tolerance; bytes; floats,
// two npy files of f32 but for the last digits of each. The exit code is 0 for equal.
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Text {
    const char *at, *end;
} Text;

// Of sums that a peer adds up with rounding; about nothing it counts as of 1.
static const double tolerance = 1e-9;

static Text map_text(const char *path) {
    int fd = open(path, O_RDONLY);
    struct stat info;
    if (fd < 0 || fstat(fd, &info)) {
        perror(path);
        exit(2);
    }
    size_t len = (size_t)info.st_size;
    // A byte more, a zero that ends the last number.
    char *at = mmap(nullptr, len + 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED ||
        (len && mmap(at, len, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)) {
        perror(path);
        exit(2);
    }
    close(fd);
    return (Text){at, at + len};
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// What the spelling of a text may add without meaning anything.
static bool is_layout(char c) { return c == '"' || c == ' ' || c == '\r'; }

typedef struct Token {
    const char *at;
    size_t len;
    double value;
    bool number, whole;
} Token;

// A number that is no part of a word, or one other byte.
static Token next_token(Text *t, bool behind_word) {
    const char *at = t->at, *p = at + (*at == '-' && at + 1 < t->end);
    if (behind_word || !is_digit(*p)) {
        t->at++;
        return (Token){.at = at, .len = 1};
    }
    bool whole = true;
    while (p < t->end && is_digit(*p)) p++;
    if (p < t->end && *p == '.') {
        whole = false;
        p++;
        while (p < t->end && is_digit(*p)) p++;
    }
    if (p < t->end && (*p == 'e' || *p == 'E')) {
        const char *exponent = p + 1 + (p[1] == '-' || p[1] == '+');
        if (exponent < t->end && is_digit(*exponent)) {
            whole = false;
            for (p = exponent; p < t->end && is_digit(*p);) p++;
        }
    }
    char digits[64];
    size_t len = (size_t)(p - at);
    Token token = {.at = at, .len = len, .number = true, .whole = whole};
    if (len < sizeof digits) {
        memcpy(digits, at, len);
        digits[len] = 0;
        token.value = strtod(digits, nullptr);
    }
    t->at = p;
    return token;
}

static bool same_token(Token a, Token b) {
    if (a.len == b.len && memcmp(a.at, b.at, a.len) == 0) return true;
    if (!a.number || !b.number || (a.whole && b.whole)) return false;
    return fabs(a.value - b.value) <= tolerance * fmax(1, fmax(fabs(a.value), fabs(b.value)));
}

static void skip_layout(Text *t) {
    while (t->at < t->end && is_layout(*t->at)) t->at++;
}

static bool same_text(Text a, Text b) {
    bool behind_word = false;
    for (;;) {
        skip_layout(&a);
        skip_layout(&b);
        if (a.at == a.end || b.at == b.end) return a.at == a.end && b.at == b.end;
        Token x = next_token(&a, behind_word), y = next_token(&b, behind_word);
        if (!same_token(x, y)) return false;
        behind_word = is_word(x.at[x.len - 1]);
    }
}

static Text next_line(Text *t) {
    const char *end = memchr(t->at, '\n', (size_t)(t->end - t->at));
    Text line = {t->at, end ? end : t->end};
    t->at = end ? end + 1 : t->end;
    return line;
}

static size_t key_len(Text line) {
    const char *comma = memchr(line.at, ',', (size_t)(line.end - line.at));
    return (size_t)((comma ? comma : line.end) - line.at);
}

static int by_key(const void *a, const void *b) {
    const Text *x = a, *y = b;
    size_t x_len = key_len(*x), y_len = key_len(*y);
    int order = memcmp(x->at, y->at, x_len < y_len ? x_len : y_len);
    return order ? order : (x_len > y_len) - (x_len < y_len);
}

typedef struct Lines {
    Text *at;
    size_t count;
} Lines;

static Lines sorted_lines(Text text) {
    Lines lines = {};
    size_t room = 0;
    while (text.at < text.end) {
        if (lines.count == room) {
            room = room ? 2 * room : 1024;
            lines.at = realloc(lines.at, room * sizeof *lines.at);
            if (!lines.at) exit(2);
        }
        lines.at[lines.count++] = next_line(&text);
    }
    qsort(lines.at, lines.count, sizeof *lines.at, by_key);
    return lines;
}

static int differ(size_t line, Text a, Text b) {
    fprintf(stderr, "line %zu differs:\n  %.*s\n  %.*s\n", line, (int)(a.end - a.at), a.at,
            (int)(b.end - b.at), b.at);
    return 1;
}

static int compare_sorted(Text a, Text b) {
    Lines x = sorted_lines(a), y = sorted_lines(b);
    if (x.count != y.count) {
        fprintf(stderr, "%zu lines against %zu\n", x.count, y.count);
        return 1;
    }
    for (size_t i = 0; i < x.count; i++)
        if (!same_text(x.at[i], y.at[i])) return differ(i + 1, x.at[i], y.at[i]);
    return 0;
}

static int compare_ordered(Text a, Text b) {
    for (size_t line = 1; a.at < a.end || b.at < b.end; line++) {
        Text x = next_line(&a), y = next_line(&b);
        if (!same_text(x, y)) return differ(line, x, y);
    }
    return 0;
}

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// The sum over all lines of a hash of what they hold.
static uint64_t bag_hash(Text text) {
    uint64_t sum = 0;
    while (text.at < text.end) {
        Text line = next_line(&text);
        uint64_t hash = 1;
        bool behind_word = false;
        for (skip_layout(&line); line.at < line.end; skip_layout(&line)) {
            Token token = next_token(&line, behind_word);
            uint64_t bits = (unsigned char)*token.at;
            if (token.number) memcpy(&bits, &token.value, sizeof bits);
            hash = mix(hash + 0x9e3779b97f4a7c15u) ^ mix(bits);
            behind_word = is_word(token.at[token.len - 1]);
        }
        sum += mix(hash);
    }
    return sum;
}

static int compare_floats(Text a, Text b) {
    enum { HEAD = 128 };
    static const double last_digits = 1e-6;
    size_t len = (size_t)(a.end - a.at);
    if (len != (size_t)(b.end - b.at) || len < HEAD || memcmp(a.at, b.at, HEAD) != 0) return 1;
    for (size_t i = HEAD; i + sizeof(float) <= len; i += sizeof(float)) {
        float x, y;
        memcpy(&x, a.at + i, sizeof x);
        memcpy(&y, b.at + i, sizeof y);
        if (!(fabs((double)x - (double)y) <= last_digits * fabs((double)x))) return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: compare ordered|sorted|bag|bytes|floats FILE FILE\n");
        return 2;
    }
    Text a = map_text(argv[2]), b = map_text(argv[3]);
    if (strcmp(argv[1], "sorted") == 0) return compare_sorted(a, b);
    if (strcmp(argv[1], "ordered") == 0) return compare_ordered(a, b);
    if (strcmp(argv[1], "bag") == 0) return bag_hash(a) != bag_hash(b);
    if (strcmp(argv[1], "floats") == 0) return compare_floats(a, b);
    if (strcmp(argv[1], "bytes") == 0)
        return a.end - a.at != b.end - b.at || memcmp(a.at, b.at, (size_t)(a.end - a.at)) != 0;
    fprintf(stderr, "compare: no mode '%s'\n", argv[1]);
    return 2;
}
