// Marks: which right rows of joins a partition has matched, in a process that only reads them.
//
//   sb_join_mark ─┬─ the job itself ─▶ the byte in the entry
//                 └─ a worker ─▶ MarkList ─▶ MADE ─▶ marks_take: the same bytes, in the job
//
// A mark counts once the job has taken the partition over, and not when its worker is lost before.
// Other processes see it then, and do not tell it again.
#ifndef SBC_RUNTIME_MARKS_H
#define SBC_RUNTIME_MARKS_H

#include "runtime/memory.h"

enum { MARKS_RECENT = 256 };

typedef struct MarkList {
    uint8_t **items;    // Bytes of entries, from malloc. Some may come twice.
    int64_t   count, room;
    uint64_t  sum;      // Of the items: what foreign code writes to them is found out.
    uint8_t  *recent[MARKS_RECENT];  // By place of the entry: the one that was told last.
} MarkList;

void marks_close(MarkList *marks);
void marks_reset(MarkList *marks);
// From this many on a partition is full.
bool marks_are_many(const MarkList *marks);
// Opens the list if there is none. False: no memory.
bool marks_add(MarkList **list, uint8_t *mark);
// Makes them in this process. False: they are none of rows in these arenas, and nothing was made.
bool marks_take(const MarkList *marks, const ArenaSpace *space);

#endif
