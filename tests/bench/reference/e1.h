// E1 by hand: eight steps over the floats of an npy file, a block at a time. Checks nothing.
#include "scan.h"

#include <math.h>

#pragma STDC FP_CONTRACT OFF

enum { HEAD = 128, BLOCK = 32768 };  // Bytes of a header as ours; values of a block.

static inline float steps(float x) {
    float a = x * 1.5f, b = a + 0.25f, d = b * b - x;
    return fminf(sqrtf(fabsf(d)), 3.0f) / 3.0f;
}

// A thread's share of the file: every other block.
typedef struct Share {
    const float *values;
    size_t count, first;
    double total;
    int file;
} Share;

static inline void on_shares(int argc, char **argv, Share shares[THREADS], int file,
                             void *(*work)(void *)) {
    if (argc != 3) exit(2);
    Text text = map_text(argv[1]);
    for (size_t i = 0; i < THREADS; i++)
        shares[i] = (Share){(const float *)(text.at + HEAD), (text.len - HEAD) / sizeof(float), i,
                            0, file};
    on_threads(work, shares, sizeof *shares);
}
