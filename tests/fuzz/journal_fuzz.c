// libFuzzer target: the reader of the journal over any bytes. It ends, its records lie within the
// bytes, and their numbers ascend.
//
//     ONLY=journal tests/fuzz/run.sh [SECONDS]
#include "runtime/resume/journal.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *bytes = (const char *)data;
    JournalReader reader = {.bytes = bytes, .len = (int64_t)size};
    JournalRecord record;
    uint64_t seq = 0;
    while (journal_next(&reader, &record) == JOURNAL_RECORD) {
        bool inside = record.payload >= bytes && record.len >= 0 &&
                      record.payload + record.len <= bytes + size;
        if (!inside || record.seq != seq++ || record.type == 0) abort();
    }
    return 0;
}
