// How sharp a gray image in the binary form of PGM is: by how much neighbours differ.
#include "pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// NULL: some pixels are missing.
static const unsigned char *find_pixels(SbStr image, int64_t *count) {
    char head[32] = {0};
    int width = 0, height = 0, most, bytes = 0;
    memcpy(head, image.ptr, image.len < 31 ? (size_t)image.len : 31);
    sscanf(head, "P5 %d %d %d%n", &width, &height, &most, &bytes);
    *count = (int64_t)width * height;
    return image.len - bytes - 1 < *count ? NULL : (const unsigned char *)image.ptr + bytes + 1;
}

// It does not look whether there are pixels, and crashes where there are none.
double sharpness(SbStr image) {
    int64_t count, sum = 0;
    const unsigned char *pixels = find_pixels(image, &count);
    for (int64_t i = 1; i < count; i++) sum += abs(pixels[i] - pixels[i - 1]);
    return count > 1 ? (double)sum / (double)(count - 1) : 0;
}
