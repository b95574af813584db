// The time zone database, as stdlib/time/zone_data.py wrote it. Only the compiler links it.
#include "stdlib/time/zone.h"

#include <string.h>

static const unsigned char database[] __attribute__((aligned(8))) = {
#embed "zone_data.bin"
};

typedef struct ZoneName {
    uint32_t text, length, block, reserved;
} ZoneName;

typedef struct ZoneHeader {
    char     magic[4], version[12];
    uint32_t names, blocks;
} ZoneHeader;

static const ZoneHeader *header(void) { return (const void *)database; }
static const ZoneName *names(void) { return (const void *)(database + sizeof(ZoneHeader)); }

SbStr sb_zone_name(uint32_t index) {
    if (index >= header()->names) return SB_LITERAL("");
    return (SbStr){(const char *)database + names()[index].text, names()[index].length};
}

SbStr sb_zone_version(void) {
    return (SbStr){header()->version, (int64_t)strnlen(header()->version, 12)};
}

const SbZone *sb_zone_find(const char *name, int64_t len) {
    uint32_t low = 0, high = header()->names;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        SbStr at = sb_zone_name(middle);
        int order = memcmp(at.ptr, name, (size_t)(at.len < len ? at.len : len));
        if (order == 0 && at.len == len) return (const void *)(database + names()[middle].block);
        if (order < 0 || (order == 0 && at.len < len)) low = middle + 1;
        else high = middle;
    }
    return nullptr;
}
