// Sharpens gray images in the binary form of PGM: each inner pixel moves away from its neighbours.
//
// `sbc header examples/14-image-filter.sbd` prints what pipeline.h says.
#include "pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_MAX = 1 << 14 };

typedef struct Image {
    unsigned char *pixels;
    int            width, height;
} Image;

// Finds the pixels of a file of `len` bytes, after which stands a 0. Null: all is well.
static const char *find_pixels(char *file, int64_t len, Image *image) {
    int most, head = 0;
    int found = sscanf(file, "P5 %d %d %d%n", &image->width, &image->height, &most, &head);
    if (found != 3 || most != 255) return "it is no binary PGM of 8 bits";
    if (image->width < 1 || image->width > SIDE_MAX || image->height < 1 ||
        image->height > SIDE_MAX)
        return "its sides are too long";
    image->pixels = (unsigned char *)file + head + 1;
    int64_t there = len - head - 1;
    return there < (int64_t)image->width * image->height ? "pixels are missing at its end" : NULL;
}

static void sharpen_pixels(const Image *from, unsigned char *to) {
    int width = from->width;
    for (int y = 1; y + 1 < from->height; y++) {
        for (int x = 1; x + 1 < width; x++) {
            const unsigned char *at = from->pixels + (int64_t)y * width + x;
            int value = 5 * at[0] - at[-1] - at[1] - at[-width] - at[width];
            to[at - from->pixels] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
    }
}

static void drop(struct ArrowArray *array) {
    for (int64_t i = 0; i < array->n_buffers; i++) free((void *)array->buffers[i]);
    free(array->buffers);
    array->release = NULL;
}

// An array with the bytes of `from`. 0: there is no memory for it.
static int copy_files(struct ArrowArray *result, const struct ArrowArray *from) {
    size_t ends = ((size_t)from->length + 1) * sizeof(int32_t);
    size_t bytes = (size_t)((const int32_t *)from->buffers[1])[from->length];
    *result = (struct ArrowArray){.length = from->length, .n_buffers = 3, .release = drop};
    result->buffers = calloc(3, sizeof *result->buffers);
    if (!result->buffers) return 0;
    result->buffers[1] = malloc(ends);
    result->buffers[2] = malloc(bytes + 1);
    if (!result->buffers[1] || !result->buffers[2]) return 0;
    memcpy((void *)result->buffers[1], from->buffers[1], ends);
    memcpy((void *)result->buffers[2], from->buffers[2], bytes);
    return 1;
}

int32_t sharpen(const struct ArrowSchema *schema, struct ArrowArray *rows,
                struct ArrowArray *result, struct SbBatch *batch) {
    const struct ArrowArray *files = rows->children[0];
    const int32_t *ends = files->buffers[1];
    (void)schema;
    if (!copy_files(result, files)) {
        if (result->buffers) drop(result);
        snprintf(batch->message, sizeof batch->message, "there is no memory for the images");
        return 1;
    }
    for (int64_t i = 0; i < rows->length; i++) {
        int64_t len = ends[i + 1] - ends[i];
        char *file = malloc((size_t)len + 1);
        Image image;
        if (!file) {
            batch->errors[i] = "there is no memory for it";
            continue;
        }
        memcpy(file, (const char *)files->buffers[2] + ends[i], (size_t)len);
        file[len] = 0;
        batch->errors[i] = find_pixels(file, len, &image);
        if (!batch->errors[i])
            sharpen_pixels(&image, (unsigned char *)result->buffers[2] + ends[i] +
                                       (image.pixels - (unsigned char *)file));
        free(file);
    }
    return 0;
}
