// GE by hand: rows of 39 i32 to 13 f32 and 26 i32, each to a file of its own, a block at a time.
// Checks nothing. log1p is sbc's own function, so that the bytes are the same.
#include "scan.h"
#include "stdlib/number/math_f32.h"

#pragma STDC FP_CONTRACT OFF

enum { HEAD = 128, DENSE = 13, FOLDED = 26, ROW = DENSE + FOLDED, BLOCK = 2048 };  // Rows of one.

static const int32_t sizes[FOLDED] = {1000, 1037, 1074, 1111, 1148, 1185, 1222, 1259, 1296,
                                      1333, 1370, 1407, 1444, 1481, 1518, 1555, 1592, 1629,
                                      1666, 1703, 1740, 1777, 1814, 1851, 1888, 1925};

typedef struct Share {
    const int32_t (*rows)[ROW];
    size_t count, first;
    int dense, folded;
} Share;

static void put(int file, const void *block, size_t row, size_t at, size_t count) {
    if (pwrite(file, block, row * count, (off_t)(HEAD + row * at)) != (ssize_t)(row * count))
        give_up("write");
}

static void *work(void *argument) {
    Share *s = argument;
    static thread_local float dense[BLOCK][DENSE];
    static thread_local int32_t folded[BLOCK][FOLDED];
    for (size_t at = s->first * BLOCK; at < s->count; at += THREADS * BLOCK) {
        size_t count = at + BLOCK < s->count ? BLOCK : s->count - at;
        for (size_t r = 0; r < count; r++) {
            const int32_t *row = s->rows[at + r];
            for (int i = 0; i < DENSE; i++) {
                float x = (float)row[i];
                x = x < 0 ? 0 : x > 10000 ? 10000 : x;
                dense[r][i] = sb_log1p_f32(x) * 0.125f;
            }
            for (int i = 0; i < FOLDED; i++) folded[r][i] = row[DENSE + i] % sizes[i];
        }
        put(s->dense, dense, sizeof dense[0], at, count);
        put(s->folded, folded, sizeof folded[0], at, count);
    }
    return nullptr;
}

static FILE *open_array(const char *path, const char *type, size_t rows, int columns) {
    FILE *out = open_output(path);
    char head[HEAD];
    int len = snprintf(head, sizeof head, "\x93NUMPY%c%cv%c{'descr': '%s', 'fortran_order': False, "
                       "'shape': (%zu, %d), }", 1, 0, 0, type, rows, columns);
    memset(head + len, ' ', sizeof head - (size_t)len);
    head[HEAD - 1] = '\n';
    fwrite(head, 1, sizeof head, out);
    fflush(out);
    return out;
}

int main(int argc, char **argv) {
    char second[4096];
    if (argc != 3) return 2;
    snprintf(second, sizeof second, "%s.categories", argv[2]);
    Text text = map_text(argv[1]);
    size_t rows = (text.len - HEAD) / sizeof(int32_t[ROW]);
    FILE *dense = open_array(argv[2], "<f4", rows, DENSE);
    FILE *folded = open_array(second, "<i4", rows, FOLDED);
    Share shares[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        shares[i] = (Share){(const void *)(text.at + HEAD), rows, i, fileno(dense), fileno(folded)};
    on_threads(work, shares, sizeof *shares);
    return fclose(dense) || fclose(folded) ? 3 : 0;
}
