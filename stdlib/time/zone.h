// Zone: the rules of one time zone as a flat constant block, from the embedded time zone database.
//
// A block has no pointers, so the compiler copies the blocks that a pipeline names into the job as
// they are (aligned to 8). The whole database stays in the compiler, but for jobs whose zones are
// data: these find a zone by its name and hand its number on. Offsets are seconds east.
#ifndef SBC_STDLIB_ZONE_H
#define SBC_STDLIB_ZONE_H

#include "runtime/abi/call.h"

// A yearly change: `time` seconds after midnight, local time before the change.
typedef struct SbZoneChange {
    int16_t kind;        // 0: Mmonth.week.day; 1: Jday (1..365, no leap day); 2: day (0..365).
    int16_t month, week; // week 5 is the last.
    int16_t day;         // Weekday from Sunday = 0, or the day of the year.
    int32_t time;
} SbZoneChange;

typedef struct SbZone {
    uint32_t bytes;        // Of the block, with what follows the struct.
    uint32_t count;        // Transitions.
    int32_t  before;       // Offset before the first one.
    int32_t  standard;     // The offset after the last transition.
    int32_t  summer;       // After the last transition, the offset between `begin` and `end`; equal
                           // if there is none.
    SbZoneChange begin, end;
    uint32_t reserved;
    // Followed by int64_t at[count]: seconds since the epoch, ascending,
    // and int32_t offset[count]: from then on.
} SbZone;

// The zone of an IANA name such as "Europe/Berlin", or nullptr.
const SbZone *sb_zone_find(const char *name, int64_t len);
// The number of a zone, which depends on the name alone; SB_FAULT_BAD_ZONE: there is none.
int32_t sb_zone_number(SbCall *call, SbStr name, int64_t *out);
const SbZone *sb_zone_at(int64_t number);
bool sb_is_zone(SbStr name);
// Names in byte order, for did-you-mean; an empty one from the end on.
SbStr sb_zone_name(uint32_t index);
// "2025b"
SbStr sb_zone_version(void);

// The offset at an instant (seconds since the epoch); 0 where zone is null.
int32_t sb_zone_offset(const SbZone *zone, int64_t seconds);

// The offset to subtract from a wall clock time. A time that occurs twice means the first; one that
// is skipped is taken with the offset before the gap, so it lands after it by the gap's length.
int32_t sb_zone_offset_local(const SbZone *zone, int64_t local);

#endif
