// Functions over batches that random programs call. They need no header: the interpreter of these
// tests has none.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef ARROW_C_DATA_INTERFACE
struct ArrowSchema;
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
struct SbBatch {
    const char **errors;
    void *state;
    char message[256];
};
#endif

#define FUNCTION(NAME)                                                                             \
    int32_t NAME(const struct ArrowSchema *schema, struct ArrowArray *rows,                        \
                 struct ArrowArray *result, struct SbBatch *batch)

// The column comes back as it went.
#define GIVES(NAME)                                                                                \
    FUNCTION(NAME) {                                                                               \
        *result = *rows->children[0];                                                              \
        rows->children[0]->release = NULL;                                                         \
        return 0;                                                                                  \
    }

GIVES(give0) GIVES(give1) GIVES(give2) GIVES(give3) GIVES(give4) GIVES(give5)

static void drop(struct ArrowArray *array) {
    free((void *)array->buffers[0]);
    free((void *)array->buffers[1]);
    free(array->buffers);
    array->release = NULL;
}

// x + 1 as an array of its own; null stays null.
static int64_t *make(struct ArrowArray *result, const struct ArrowArray *x) {
    uint8_t *valid = calloc((size_t)x->length / 8 + 1, 1);
    int64_t *out = malloc((size_t)x->length * sizeof *out + 1);
    *result = (struct ArrowArray){.length = x->length, .null_count = -1, .n_buffers = 2,
                                  .release = drop};
    result->buffers = calloc(2, sizeof *result->buffers);
    result->buffers[0] = valid;
    result->buffers[1] = out;
    for (int64_t i = 0; i < x->length; i++) {
        const uint8_t *bits = x->buffers[0];
        if (!bits || bits[i / 8] >> i % 8 & 1) valid[i / 8] |= (uint8_t)(1 << i % 8);
        out[i] = (int64_t)((uint64_t)((const int64_t *)x->buffers[1])[i] + 1);
    }
    return out;
}

// A batch with such a number fails as a whole.
FUNCTION(picky) {
    int64_t *out = make(result, rows->children[0]);
    for (int64_t i = 0; i < rows->length; i++) {
        if (out[i] % 5 != 3) continue;
        snprintf(batch->message, sizeof batch->message, "%lld is none that it likes",
                 (long long)out[i]);
        drop(result);
        return 1;
    }
    return 0;
}

// Of such numbers each row fails by itself.
FUNCTION(fussy) {
    int64_t *out = make(result, rows->children[0]);
    for (int64_t i = 0; i < rows->length; i++)
        if (out[i] % 7 == 2) batch->errors[i] = "two of seven";
    return 0;
}

void *fussy_init(struct SbBatch *batch) { return batch; }
void fussy_close(void *state) { (void)state; }
