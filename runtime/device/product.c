#include "runtime/device/product.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the library --------------------------------------------------------------------------------

typedef struct LtHandle LtHandle;
typedef struct LtDesc LtDesc;
typedef struct LtLayout LtLayout;
typedef struct LtPreference LtPreference;
typedef struct LtAlgo { uint64_t data[8]; } LtAlgo;

typedef struct LtFound {
    LtAlgo algo;
    size_t workspace;
    int    state;
    float  waves;
    int    reserved[4];
} LtFound;

// The functions that are called, by their symbols. Each returns 0, or an error.
#define LT_CALLS(X)                                                                                \
    X(create, "cublasLtCreate", (LtHandle **handle))                                               \
    X(new_desc, "cublasLtMatmulDescCreate", (LtDesc **desc, int compute, int scale))               \
    X(set_desc, "cublasLtMatmulDescSetAttribute",                                                  \
      (LtDesc *desc, int attribute, const void *value, size_t bytes))                              \
    X(new_layout, "cublasLtMatrixLayoutCreate",                                                    \
      (LtLayout **layout, int type, uint64_t rows, uint64_t columns, int64_t step))                \
    X(end_layout, "cublasLtMatrixLayoutDestroy", (LtLayout *layout))                               \
    X(new_preference, "cublasLtMatmulPreferenceCreate", (LtPreference **preference))               \
    X(set_preference, "cublasLtMatmulPreferenceSetAttribute",                                      \
      (LtPreference *preference, int attribute, const void *value, size_t bytes))                  \
    X(choose, "cublasLtMatmulAlgoGetHeuristic",                                                    \
      (LtHandle *handle, LtDesc *desc, LtLayout *a, LtLayout *b, LtLayout *c, LtLayout *d,         \
       LtPreference *preference, int wanted, LtFound *found, int *count))                          \
    X(multiply, "cublasLtMatmul",                                                                  \
      (LtHandle *handle, LtDesc *desc, const void *alpha, const void *a, LtLayout *a_layout,       \
       const void *b, LtLayout *b_layout, const void *beta, const void *c, LtLayout *c_layout,     \
       void *d, LtLayout *d_layout, const LtAlgo *algo, void *workspace, size_t workspace_bytes,   \
       CudaStream *stream))

typedef struct Lt {
#define X(name, symbol, parameters) int (*name) parameters;
    LT_CALLS(X)
#undef X
} Lt;

enum {
    LT_COMPUTE_F32 = 68, LT_F32 = 0, LT_F16 = 2, LT_BF16 = 14,
    LT_DESC_EPILOGUE = 7, LT_DESC_BIAS = 8,
    LT_EPILOGUE_NONE = 1, LT_EPILOGUE_RELU = 2, LT_EPILOGUE_BIAS = 4, LT_EPILOGUE_RELU_BIAS = 6,
    LT_PREFERENCE_WORKSPACE = 1, LT_PREFERENCE_REDUCTIONS = 3,
};

static const int types[] = {
    [SB_PRODUCT_F32] = LT_F32, [SB_PRODUCT_F16] = LT_F16, [SB_PRODUCT_BF16] = LT_BF16,
};

typedef struct Resident {
    const SbKernelProduct *of;
    DevicePtr weights, bias;
    LtDesc   *desc;
    LtAlgo    algo;
} Resident;

struct Products {
    Lt        lt;
    LtHandle *handle;
    LtPreference *preference;
    Resident *items;
    size_t    count;
};

static const struct {
    const char *symbol;
    size_t      at;
} calls[] = {
#define X(name, symbol, parameters) {symbol, offsetof(Lt, name)},
    LT_CALLS(X)
#undef X
};

static bool load(Lt *lt, char why[GPU_WHY_BYTES]) {
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
    const char *given = getenv("SBC_CUBLASLT");
    void *library = given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : nullptr;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library && !given; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);  // Until the process ends.
    if (!library)
        return snprintf(why, GPU_WHY_BYTES, "there is no cuBLASLt (%s)", given ? given : names[0]),
               false;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *call = dlsym(library, calls[i].symbol);
        if (!call)
            return snprintf(why, GPU_WHY_BYTES, "cuBLASLt is too old: it has no %s",
                            calls[i].symbol), false;
        memcpy((char *)lt + calls[i].at, &call, sizeof call);
    }
    return true;
}

// ---- layouts ------------------------------------------------------------------------------------

// The library counts columns first. Rows of the program are its columns: D = W X, where W has n
// rows and k columns, and X a column for each row.
typedef struct Layouts { LtLayout *w, *x, *d; } Layouts;

static int open_layouts(const Lt *lt, const SbKernelProduct *product, int64_t rows, Layouts *to) {
    int type = types[product->type], error;
    uint64_t all = (uint64_t)(rows * product->rows);
    *to = (Layouts){0};
    error = lt->new_layout(&to->w, type, product->n, product->k, product->n);
    if (!error) error = lt->new_layout(&to->x, type, product->k, all, product->k);
    if (!error) error = lt->new_layout(&to->d, type, product->n, all, product->n);
    return error;
}

static void close_layouts(const Lt *lt, const Layouts *layouts) {
    if (layouts->w) lt->end_layout(layouts->w);
    if (layouts->x) lt->end_layout(layouts->x);
    if (layouts->d) lt->end_layout(layouts->d);
}

// ---- opening ------------------------------------------------------------------------------------

static int describe(const Lt *lt, Resident *to) {
    bool bias = to->of->bias.len, relu = to->of->relu;
    uint32_t epilogue = bias && relu ? LT_EPILOGUE_RELU_BIAS : bias ? LT_EPILOGUE_BIAS
                        : relu ? LT_EPILOGUE_RELU : LT_EPILOGUE_NONE;
    int error = lt->new_desc(&to->desc, LT_COMPUTE_F32, LT_F32);
    if (!error) error = lt->set_desc(to->desc, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (!error && bias) error = lt->set_desc(to->desc, LT_DESC_BIAS, &to->bias, sizeof to->bias);
    return error;
}

static int choose(const Products *p, Resident *to) {
    enum : int64_t { USUAL_ROWS = 1 << 16 };
    LtFound found;
    Layouts layouts;
    int count = 0, error = open_layouts(&p->lt, to->of, USUAL_ROWS, &layouts);
    if (!error)
        error = p->lt.choose(p->handle, to->desc, layouts.w, layouts.x, layouts.d, layouts.d,
                             p->preference, 1, &found, &count);
    close_layouts(&p->lt, &layouts);
    if (!error && (count < 1 || found.state)) error = found.state ? found.state : 1;
    if (!error) to->algo = found.algo;
    return error;
}

static int put(const Driver *driver, SbStr bytes, DevicePtr *at, CudaStream *stream) {
    if (!bytes.len) return 0;
    int error = driver->take(at, (size_t)bytes.len);
    if (!error) error = driver->copy_in(*at, bytes.ptr, (size_t)bytes.len, stream);
    return error ? error : driver->wait(stream);
}

// Without memory of its own, and with sums that one block adds up.
static int open_library(Products *p) {
    const uint64_t workspace = 0;
    const uint32_t reductions = 0;
    int error = p->lt.create(&p->handle);
    if (!error) error = p->lt.new_preference(&p->preference);
    if (!error)
        error = p->lt.set_preference(p->preference, LT_PREFERENCE_WORKSPACE, &workspace,
                                     sizeof workspace);
    if (!error)
        error = p->lt.set_preference(p->preference, LT_PREFERENCE_REDUCTIONS, &reductions,
                                     sizeof reductions);
    return error;
}

static bool add(Products *p, const Driver *driver, const SbKernelProduct *product,
                CudaStream *stream, char why[GPU_WHY_BYTES]) {
    Resident *to = &p->items[p->count++];
    *to = (Resident){.of = product};
    int error = put(driver, product->weights, &to->weights, stream);
    if (!error) error = put(driver, product->bias, &to->bias, stream);
    if (error) return driver_good(driver, error, "putting constants on the GPU", why);
    error = describe(&p->lt, to);
    if (!error) error = choose(p, to);
    if (error)
        snprintf(why, GPU_WHY_BYTES, "cuBLASLt does not multiply by %u x %u: status %d",
                 product->k, product->n, error);
    return !error;
}

typedef void SeeProduct(void *self, const SbKernelProduct *product);

static void each_product(const SbJob *job, void *self, SeeProduct *see) {
    for (uint32_t s = 0; s < job->stage_count; s++) {
        const SbKernels *kernels = job->stages[s].kernels;
        for (uint32_t k = 0; kernels && k < kernels->count; k++)
            if (kernels->items[k].product) see(self, kernels->items[k].product);
    }
}

static void count_one(void *self, const SbKernelProduct *) { ++*(size_t *)self; }

bool has_products(const SbJob *job) {
    size_t count = 0;
    each_product(job, &count, count_one);
    return count > 0;
}

typedef struct Opening {
    Products     *products;
    const Driver *driver;
    CudaStream   *stream;
    char         *why;
    bool          good;
} Opening;

static void add_one(void *self, const SbKernelProduct *product) {
    Opening *to = self;
    to->good = to->good && add(to->products, to->driver, product, to->stream, to->why);
}

Products *products_open(const Driver *driver, const SbJob *job, char why[GPU_WHY_BYTES]) {
    Products *p = calloc(1, sizeof *p);
    size_t count = 0;
    each_product(job, &count, count_one);
    if (p) p->items = calloc(count + 1, sizeof *p->items);
    if (!p || !p->items)
        return free(p), snprintf(why, GPU_WHY_BYTES, "there is no memory"), nullptr;
    Opening opening = {.products = p, .driver = driver, .why = why, .good = load(&p->lt, why)};
    int error = opening.good ? open_library(p) : 0;
    if (error) snprintf(why, GPU_WHY_BYTES, "cuBLASLt does not begin: status %d", error);
    opening.good = opening.good && !error &&
                   driver_good(driver, driver->new_stream(&opening.stream, DRIVER_STREAM_ALONE),
                               "a stream", why);
    each_product(job, &opening, add_one);
    if (opening.good) return p;
    free(p->items);
    return free(p), nullptr;
}

// ---- launches -----------------------------------------------------------------------------------

int product_launch(const Products *products, const SbKernelProduct *product, DevicePtr from,
                   DevicePtr to, int64_t rows, CudaStream *stream) {
    static const float one = 1, none = 0;
    const Lt *lt = &products->lt;
    const Resident *item = products->items;
    Layouts layouts;
    while (item->of != product) item++;
    int error = open_layouts(lt, product, rows, &layouts);
    if (!error)
        error = lt->multiply(products->handle, item->desc, &one, (const void *)item->weights,
                             layouts.w, (const void *)from, layouts.x, &none, (const void *)to,
                             layouts.d, (void *)to, layouts.d, &item->algo, nullptr, 0, stream);
    close_layouts(lt, &layouts);
    return error ? PRODUCT_ERRORS + error : 0;
}
