// The journal: what is read of damaged ones, and what a crash leaves.
#include "runtime/resume/journal.h"

#include "tests/unit/model_disk.h"
#include "tests/unit/unit.h"

enum { RECORDS = 5, PAYLOAD = 700 };

// A payload that its number fixes.
static int64_t payload_of(char into[static PAYLOAD], uint64_t seq) {
    int64_t len = (int64_t)(seq * 37 % PAYLOAD);
    memset(into, (int)('a' + seq % 26), PAYLOAD);
    return len;
}

static bool add(Journal *journal, uint64_t seq, bool sync, Trouble *trouble) {
    char payload[PAYLOAD];
    int64_t len = payload_of(payload, seq);
    uint32_t type = 1 + (uint32_t)(seq % 3);
    return sync ? journal_append(journal, type, payload, len, trouble)
                : journal_add(journal, type, payload, len, trouble);
}

static bool is_record(const JournalRecord *record, uint64_t seq) {
    char payload[PAYLOAD];
    int64_t len = payload_of(payload, seq);
    return record->seq == seq && record->type == 1 + seq % 3 && record->len == len &&
           memcmp(record->payload, payload, (size_t)len) == 0;
}

// How it ends, and how many records stand before that.
static JournalState read_all(const char *bytes, int64_t len, uint64_t *records) {
    JournalReader reader = {.bytes = bytes, .len = len};
    JournalRecord record;
    JournalState state;
    for (*records = 0; (state = journal_next(&reader, &record)) == JOURNAL_RECORD; ++*records)
        CHECK(is_record(&record, *records));
    return state;
}

// RECORDS records on the model disk, loaded, without the room behind them.
static char *make(int64_t *len) {
    model_begin();
    Journal journal;
    Trouble trouble = {0};
    CHECK(journal_open(&journal, "j/", &trouble) && journal_begin(&journal, &trouble));
    for (uint64_t i = 0; i < 2; i++) CHECK(add(&journal, i, false, &trouble));
    CHECK(journal_adopt(&journal, &trouble));
    for (uint64_t i = 2; i < RECORDS; i++) CHECK(add(&journal, i, true, &trouble));
    char *bytes = journal_load(&journal, len, &trouble);
    CHECK(bytes && *len >= journal.at);
    *len = journal.at;
    journal_close(&journal);
    durable_use(&durable_system);
    return bytes;
}

static void records_come_back(void) {
    int64_t len;
    char *bytes = make(&len);
    uint64_t records;
    CHECK(read_all(bytes, len, &records) == JOURNAL_END && records == RECORDS);
    free(bytes);
}

// Wherever it ends, what is whole is read; a head that is not whole is no journal.
static void a_bad_tail_is_cut(void) {
    int64_t len;
    char *bytes = make(&len);
    uint64_t before = 0;
    for (int64_t cut = 0; cut < len; cut++) {
        uint64_t records;
        char *part = malloc((size_t)cut + 1);
        memcpy(part, bytes, (size_t)cut);
        JournalState state = read_all(part, cut, &records);
        CHECK_SAYS(state == (cut < 32 ? JOURNAL_FOREIGN : JOURNAL_END), "%lld", (long long)cut);
        CHECK(records >= before && records < RECORDS);
        before = records;
        free(part);
    }
    CHECK(before == RECORDS - 1);
    free(bytes);
}

// Any byte that changes is found: in the last record it is a tail, before it a bad middle. Only a
// byte between two payloads says nothing.
static void a_bad_middle_refuses(void) {
    int64_t len;
    char *bytes = make(&len);
    int cut = 0, refused = 0;
    for (int64_t at = 32; at < len; at++) {
        uint64_t records;
        bytes[at] ^= 0x10;
        JournalState state = read_all(bytes, len, &records);
        bytes[at] ^= 0x10;
        CHECK(state == JOURNAL_END || state == JOURNAL_DAMAGED);
        // The sum of the record before the last covers no other that could stand behind it whole.
        if (state == JOURNAL_END && records < RECORDS) cut++;
        refused += state == JOURNAL_DAMAGED;
        CHECK(state == JOURNAL_DAMAGED || records + 1 >= RECORDS);
    }
    CHECK_SAYS(cut > 0 && refused > cut, "%d cut, %d refused", cut, refused);
    free(bytes);
}

static void heads_are_judged(void) {
    int64_t len;
    uint64_t records;
    char *bytes = make(&len);
    bytes[0] = 'x';
    CHECK(read_all(bytes, len, &records) == JOURNAL_FOREIGN);
    bytes[0] = 's';
    bytes[20] ^= 1;
    CHECK(read_all(bytes, len, &records) == JOURNAL_DAMAGED);
    bytes[20] ^= 1;
    uint32_t newer = JOURNAL_VERSION + 1;
    memcpy(bytes + 8, &newer, sizeof newer);
    Checksum sum = checksum_of(bytes, 16);
    memcpy(bytes + 16, &sum, sizeof sum);
    CHECK(read_all(bytes, len, &records) == JOURNAL_VERSIONED && records == 0);
    free(bytes);
}

// Writes until the power fails; returns how many records are safe for certain.
static uint64_t write_until_off(uint64_t begin) {
    Journal journal;
    Trouble trouble = {0};
    uint64_t safe = begin;
    bool good = journal_open(&journal, "j", &trouble) && journal_begin(&journal, &trouble);
    for (uint64_t i = 0; good && i < begin; i++) good = add(&journal, i, false, &trouble);
    good = good && journal_adopt(&journal, &trouble);
    for (; good && safe < begin + RECORDS; safe++)
        if (!(good = add(&journal, safe, true, &trouble))) break;
    journal_close(&journal);
    return safe;
}

// Whatever a crash leaves, every record that was acknowledged is read, those behind it are the ones
// that were written, and nothing looks like damage. Then it goes on, and crashes again.
static void a_crash_loses_nothing_that_was_safe(void) {
    enum { ROUNDS = 400, LIVES = 3 };
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t seed = random_state, records = 0;
        model_begin();
        for (int life = 0; life < LIVES; life++) {
            model_arm(1 + random_below(40));
            uint64_t safe = write_until_off(records), before = records;
            model_crash();
            int64_t len = 0;
            const char *bytes = model_holds("j/journal", &len);
            JournalState state = bytes ? read_all(bytes, len, &records) : JOURNAL_END;
            if (!bytes) records = 0;
            CHECK_SAYS(state == JOURNAL_END, "state %d, seed %llx", state,
                       (unsigned long long)seed);
            // Until a checkpoint is adopted the old journal counts.
            CHECK_SAYS(records >= safe && (records <= safe + 1 || records == before),
                       "%llu records, %llu safe, seed %llx", (unsigned long long)records,
                       (unsigned long long)safe, (unsigned long long)seed);
        }
    }
    durable_use(&durable_system);
}

static void a_sync_that_fails_ends_the_journal(void) {
    model_begin();
    Journal journal;
    Trouble trouble = {0};
    CHECK(journal_open(&journal, "j", &trouble) && journal_begin(&journal, &trouble) &&
          journal_adopt(&journal, &trouble));
    model_fail_sync(1);
    CHECK(!add(&journal, 0, true, &trouble) && trouble.kind == TROUBLE_JOURNAL_WRITE);
    trouble = (Trouble){0};
    CHECK(!add(&journal, 1, true, &trouble) && trouble.kind == TROUBLE_JOURNAL_WRITE);
    journal_close(&journal);
    durable_use(&durable_system);
}

static void two_jobs_do_not_share_a_folder(void) {
    model_begin();
    Journal first, second;
    Trouble trouble = {0};
    CHECK(journal_open(&first, "j", &trouble));
    CHECK(!journal_open(&second, "j", &trouble) && trouble.kind == TROUBLE_JOURNAL_BUSY);
    journal_close(&second);
    journal_close(&first);
    durable_use(&durable_system);
}

static const UnitTest tests[] = {
    {"records_come_back", records_come_back},
    {"a_bad_tail_is_cut", a_bad_tail_is_cut},
    {"a_bad_middle_refuses", a_bad_middle_refuses},
    {"heads_are_judged", heads_are_judged},
    {"a_crash_loses_nothing_that_was_safe", a_crash_loses_nothing_that_was_safe},
    {"a_sync_that_fails_ends_the_journal", a_sync_that_fails_ends_the_journal},
    {"two_jobs_do_not_share_a_folder", two_jobs_do_not_share_a_folder},
};

UNIT_MAIN("journal_test", tests)
