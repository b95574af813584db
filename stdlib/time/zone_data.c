// The time zone database, as stdlib/time/zone_data.py wrote it. The compiler links it, and jobs
// whose zones are data.
#include "stdlib/time/zone.h"

#include <string.h>

static const unsigned char database[] __attribute__((aligned(8))) = {
#embed "zone_data.bin"
};

// Names whose hashes have one remainder are a chain. Where that of remainder i begins stands beside
// name i, as the number of a name and 1; 0 ends a chain.
typedef struct ZoneName {
    uint32_t text, length, block;
    uint16_t first, next;
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

// The number of the name and 1, or 0.
static uint32_t find(SbStr name) {
    uint32_t hash = 2166136261;  // FNV-1a.
    for (int64_t i = 0; i < name.len; i++) hash = (hash ^ (unsigned char)name.ptr[i]) * 16777619;
    uint32_t at = names()[hash % header()->names].first;
    for (; at; at = names()[at - 1].next) {
        SbStr known = sb_zone_name(at - 1);
        if (known.len == name.len && memcmp(known.ptr, name.ptr, (size_t)name.len) == 0) break;
    }
    return at;
}

const SbZone *sb_zone_at(int64_t number) {
    return (const void *)(database + names()[number].block);
}

const SbZone *sb_zone_find(const char *name, int64_t len) {
    uint32_t at = find((SbStr){name, len});
    return at ? sb_zone_at(at - 1) : nullptr;
}

int32_t sb_zone_number(SbCall *call, SbStr name, int64_t *out) {
    uint32_t at = find(name);
    *out = (int64_t)at - 1;
    if (at) return SB_OK;
    call->detail = name;
    return SB_FAULT_BAD_ZONE;
}

bool sb_is_zone(SbStr name) { return find(name) != 0; }
