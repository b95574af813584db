// A cuBLASLt that has no GPU: it multiplies on the host, in streams of the driver beside it
// (driver.c).
//
// Sums go along k in f32, one product after the other: another order than that of kernels. What a
// job may not count on is an error: a product without the algorithm that was chosen for its matrix,
// other types, a beta, memory of its own, sums that several blocks add up, and addresses outside of
// what the driver has given. Results are poison until their stream is waited for.
//
//   $FAKE_LT_REFUSES  the number of columns of a matrix for which there is no algorithm
//   $FAKE_CUDA_LOG    gets a line for each product
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID = 7, UNSUPPORTED = 15, COMPUTE_F32 = 68, F32 = 0, F16 = 2, BF16 = 14,
       EPILOGUE = 7, BIAS = 8, RELU_BIT = 2, BIAS_BIT = 4, WORKSPACE = 1, REDUCTIONS = 3 };

#define EXPORT __attribute__((visibility("default")))

typedef struct Desc { uint32_t epilogue; uint64_t bias; } Desc;
typedef struct Layout { int type; uint64_t rows, columns; int64_t step; } Layout;
typedef struct Preference { uint64_t workspace; uint32_t reductions; } Preference;
typedef struct Algo { uint64_t data[8]; } Algo;
typedef struct Found {
    Algo   algo;
    size_t workspace;
    int    state;
    float  waves;
    int    reserved[4];
} Found;

typedef void Work(const void *, unsigned, unsigned, unsigned long long);
static int (*add_work)(void *, Work *, const void *, size_t);
static void *(*find)(uint64_t, size_t);

EXPORT int cublasLtCreate(void **handle) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *calls[] = {driver ? dlsym(driver, "fake_work") : NULL,
                     driver ? dlsym(driver, "fake_find") : NULL};
    memcpy(&add_work, &calls[0], sizeof add_work);
    memcpy(&find, &calls[1], sizeof find);
    return *handle = &add_work, calls[0] && calls[1] ? 0 : 1;
}
EXPORT int cublasLtMatmulDescCreate(Desc **desc, int compute, int scale) {
    *desc = calloc(1, sizeof **desc);
    (*desc)->epilogue = 1;
    return compute == COMPUTE_F32 && scale == F32 ? 0 : INVALID;
}
EXPORT int cublasLtMatmulDescSetAttribute(Desc *desc, int attribute, const void *value,
                                          size_t bytes) {
    if (attribute == EPILOGUE && bytes == 4) return memcpy(&desc->epilogue, value, bytes), 0;
    if (attribute == BIAS && bytes == 8) return memcpy(&desc->bias, value, bytes), 0;
    return INVALID;
}
EXPORT int cublasLtMatrixLayoutCreate(Layout **layout, int type, uint64_t rows, uint64_t columns,
                                      int64_t step) {
    *layout = calloc(1, sizeof **layout);
    **layout = (Layout){type, rows, columns, step};
    return rows && columns && step == (int64_t)rows ? 0 : INVALID;
}
EXPORT int cublasLtMatrixLayoutDestroy(Layout *layout) { return free(layout), 0; }
EXPORT int cublasLtMatmulPreferenceCreate(Preference **preference) {
    *preference = calloc(1, sizeof **preference);
    (*preference)->reductions = ~0u;
    return 0;
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(Preference *preference, int attribute,
                                                const void *value, size_t bytes) {
    if (attribute == WORKSPACE && bytes == 8) return memcpy(&preference->workspace, value, 8), 0;
    if (attribute == REDUCTIONS && bytes == 4) return memcpy(&preference->reductions, value, 4), 0;
    return INVALID;
}

static int fit(const Layout *a, const Layout *b, const Layout *c, const Layout *d) {
    return a->columns == b->rows && a->rows == d->rows && b->columns == d->columns &&
           a->type == b->type && a->type == d->type && c->type == d->type && c->rows == d->rows;
}

// It is of the matrix and of what is done with the sums, whatever the number of rows.
static Algo algo_of(const Desc *desc, const Layout *a) {
    return (Algo){{a->rows, a->columns, (uint64_t)a->type, desc->epilogue, 0xc0ffee}};
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, const Desc *desc, const Layout *a,
                                          const Layout *b, const Layout *c, const Layout *d,
                                          const Preference *preference, int wanted, Found *found,
                                          int *count) {
    const char *refuses = getenv("FAKE_LT_REFUSES");
    *count = 0;
    if (handle != &add_work || wanted < 1 || !fit(a, b, c, d)) return INVALID;
    if (preference->workspace || preference->reductions) return UNSUPPORTED;
    if (refuses && (uint64_t)atoi(refuses) == a->rows) return UNSUPPORTED;
    *found = (Found){.algo = algo_of(desc, a)};
    return *count = 1, 0;
}

typedef struct Product {
    const char *w, *x, *bias;
    char       *d;
    uint64_t    n, k, rows;
    int         type, relu;
} Product;

static size_t size_of(int type) { return type == F32 ? 4 : 2; }

static float get(const char *from, uint64_t i, int type) {
    uint32_t bits = 0;
    float number;
    _Float16 half;
    memcpy(&bits, from + i * size_of(type), size_of(type));
    if (type == BF16) bits <<= 16;
    memcpy(&number, &bits, sizeof number);
    memcpy(&half, &bits, sizeof half);
    return type == F16 ? (float)half : number;
}

static void put(char *to, uint64_t i, int type, float number) {
    uint32_t bits;
    _Float16 half = (_Float16)number;
    memcpy(&bits, &number, sizeof bits);
    if (type == BF16 && number == number) bits += 0x7fff + (bits >> 16 & 1);
    if (type == BF16) bits >>= 16;
    if (type == F16) memcpy(&bits, &half, sizeof half);
    memcpy(to + i * size_of(type), &bits, size_of(type));
}

static void multiply(const void *arguments, unsigned blocks, unsigned lanes,
                     unsigned long long seed) {
    Product p;
    (void)blocks, (void)lanes, (void)seed;
    memcpy(&p, arguments, sizeof p);
    for (uint64_t row = 0; row < p.rows; row++)
        for (uint64_t j = 0; j < p.n; j++) {
            float sum = 0;
            for (uint64_t i = 0; i < p.k; i++)
                sum += get(p.w, i * p.n + j, p.type) * get(p.x, row * p.k + i, p.type);
            if (p.bias) sum += get(p.bias, j, p.type);
            put(p.d, row * p.n + j, p.type, p.relu && !(sum > 0) ? 0 : sum);
        }
}

EXPORT int cublasLtMatmul(void *handle, const Desc *desc, const float *alpha, const void *a,
                          const Layout *al, const void *b, const Layout *bl, const float *beta,
                          const void *c, const Layout *cl, void *d, const Layout *dl,
                          const Algo *algo, void *workspace, size_t bytes, void *stream) {
    Algo wanted = algo_of(desc, al);
    size_t size = size_of(al->type);
    if (handle != &add_work || *alpha != 1 || *beta != 0 || c != d || !fit(al, bl, cl, dl) ||
        workspace || bytes || memcmp(algo, &wanted, sizeof wanted))
        return INVALID;
    Product p = {.n = al->rows, .k = al->columns, .rows = bl->columns, .type = al->type,
                 .relu = (desc->epilogue & RELU_BIT) != 0};
    p.w = find((uint64_t)(uintptr_t)a, p.n * p.k * size);
    p.x = find((uint64_t)(uintptr_t)b, p.k * p.rows * size);
    p.d = find((uint64_t)(uintptr_t)d, p.n * p.rows * size);
    if (desc->epilogue & BIAS_BIT) p.bias = find(desc->bias, p.n * size);
    if (!p.w || !p.x || !p.d || (!p.bias && desc->epilogue & BIAS_BIT)) return INVALID;
    memset(p.d, 0xa7, p.n * p.rows * size);
    const char *log = getenv("FAKE_CUDA_LOG");
    FILE *file = log ? fopen(log, "a") : NULL;
    if (file) fprintf(file, "product of %zu rows: %zu x %zu\n", p.rows, p.k, p.n);
    if (file) fclose(file);
    return add_work(stream, multiply, &p, sizeof p) ? INVALID : 0;
}
