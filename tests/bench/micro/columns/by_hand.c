// by_hand.c: what the programs beside it compute, as plain loops without checks; sums of floats are
// not exact. `by_hand NAME ROWS` prints what the job prints.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void integers(int64_t n) {
    int64_t total = 0, rows = 0, most = INT64_MIN;
    for (int64_t i = 0; i < n; i++) {
        int64_t x = i * 3 + 1, y = i + 7, z = x - y * 2;
        int64_t keep = -(int64_t)((x > 1000) & (y % 10 != 3)), kept = keep ? x : INT64_MIN;
        total += z & keep;
        rows -= keep;
        most = kept > most ? kept : most;
    }
    printf("{\"total\":%ld,\"rows\":%ld,\"most\":%ld}\n", total, rows, most);
}

static void floats(int64_t n) {
    enum { LANES = 8 };  // As many sums, least and greatest values side by side as the CPU likes.
    double total[LANES] = {0}, all = 0;
    float least[LANES], most[LANES];
    for (int l = 0; l < LANES; l++) least[l] = 1e30f, most[l] = -1e30f;
    for (int64_t i = 0; i < n; i += LANES) {
        for (int l = 0; l < LANES; l++) {
            float x = (float)(int32_t)((i + l) & 1048575);
            x = x * 0.5f + 1;
            x = x * x - 3;
            x = x > 1000 ? 1000 - x * 0.001f : x;
            x = (x + 2) * 0.25f;
            int keep = x > -50;
            total[l] += keep ? (double)x : 0.0;
            least[l] = keep && x < least[l] ? x : least[l];
            most[l] = keep && x > most[l] ? x : most[l];
        }
    }
    for (int l = 0; l < LANES; l++) {
        all += total[l];
        least[0] = least[l] < least[0] ? least[l] : least[0];
        most[0] = most[l] > most[0] ? most[l] : most[0];
    }
    printf("{\"total\":%.17g,\"least\":%.9g,\"most\":%.9g}\n", all, (double)least[0],
           (double)most[0]);
}

static void keys(int64_t n) {
    static int64_t totals[1000], rows[1000];
    for (int64_t i = 0; i < n; i++) {
        int64_t x = i * 7 - 5, key = i % 1000;
        if (x % 3 != 1 || x <= 100) continue;
        totals[key] += x;
        rows[key]++;
    }
    int64_t groups = 0, total = 0, most = 0;
    for (int i = 0; i < 1000; i++) {
        groups += rows[i] > 0;
        total += totals[i];
        most = rows[i] > most ? rows[i] : most;
    }
    printf("{\"groups\":%ld,\"total\":%ld,\"most\":%ld}\n", groups, total, most);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int64_t n = atoll(argv[2]);
    if (strcmp(argv[1], "integers") == 0) integers(n);
    else if (strcmp(argv[1], "floats") == 0) floats(n);
    else if (strcmp(argv[1], "keys") == 0) keys(n);
    else return 2;
    return 0;
}
