#define _GNU_SOURCE
#include "runtime/resume/journal.h"

#include "runtime/host.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'s', 'b', 'c', '-', 'j', 'r', 'n', 'l'};

typedef struct FileHead {
    char     magic[8];
    uint32_t version, zero;
    Checksum sum;
} FileHead;

typedef struct RecordHead {
    uint32_t len, type;
    uint64_t seq;
    uint64_t own;
} RecordHead;

enum : int64_t { RECORD_MAX = INT64_C(1) << 31 };

static_assert(sizeof(FileHead) == 32 && sizeof(RecordHead) == 24);

static int64_t padded(int64_t len) { return (len + 7) & -8; }

static int64_t record_bytes(int64_t len) {
    return (int64_t)sizeof(RecordHead) + padded(len) + (int64_t)sizeof(Checksum);
}

// Of the head, without its own checksum, and of the payload.
static uint64_t own_sum(const RecordHead *head, const char *payload) {
    uint64_t parts[3] = {(uint64_t)head->len << 32 | head->type, head->seq,
                         checksum_of(payload, head->len).low};
    return checksum_of(parts, sizeof parts).low;
}

static Checksum chained_sum(Checksum chain, const RecordHead *head, const char *payload) {
    struct {
        Checksum   chain;
        RecordHead head;
        Checksum   payload;
    } all = {chain, *head, checksum_of(payload, head->len)};
    return checksum_of(&all, sizeof all);
}

// ---- reading --------------------------------------------------------------------------------

// A record that is whole in itself.
static bool record_at(const JournalReader *reader, int64_t at, RecordHead *head) {
    int64_t left = reader->len - at;
    if (left < record_bytes(0)) return false;
    memcpy(head, reader->bytes + at, sizeof *head);
    return head->type != 0 && head->len <= RECORD_MAX && record_bytes(head->len) <= left &&
           own_sum(head, reader->bytes + at + sizeof *head) == head->own;
}

static JournalState read_head(JournalReader *reader) {
    FileHead head;
    if (reader->len < (int64_t)sizeof head) return JOURNAL_FOREIGN;
    memcpy(&head, reader->bytes, sizeof head);
    if (memcmp(head.magic, magic, sizeof magic) != 0) return JOURNAL_FOREIGN;
    if (!checksum_same(checksum_of(&head, offsetof(FileHead, sum)), head.sum))
        return JOURNAL_DAMAGED;
    reader->version = head.version;
    if (head.version != JOURNAL_VERSION) return JOURNAL_VERSIONED;
    reader->chain = head.sum;
    reader->at = sizeof head;
    return JOURNAL_RECORD;
}

// Nothing good with a higher number after the bad record?
static JournalState judge_rest(JournalReader *reader) {
    for (int64_t at = reader->at; at + record_bytes(0) <= reader->len; at += 8) {
        RecordHead head;
        memcpy(&head, reader->bytes + at, sizeof head);
        bool later = head.seq > reader->seq && head.seq - reader->seq < UINT32_MAX;
        if (later && record_at(reader, at, &head)) return JOURNAL_DAMAGED;
    }
    int64_t end = reader->len;
    while (end > reader->at && reader->bytes[end - 1] == '\0') end--;
    reader->cut = end - reader->at;
    return JOURNAL_END;
}

JournalState journal_next(JournalReader *reader, JournalRecord *record) {
    if (reader->at == 0) {
        JournalState state = read_head(reader);
        if (state != JOURNAL_RECORD) return state;
    }
    RecordHead head;
    if (!record_at(reader, reader->at, &head) || head.seq != reader->seq)
        return judge_rest(reader);
    const char *payload = reader->bytes + reader->at + sizeof head;
    Checksum sum = chained_sum(reader->chain, &head, payload), found;
    int64_t next = reader->at + record_bytes(head.len);
    memcpy(&found, reader->bytes + next - sizeof found, sizeof found);
    if (!checksum_same(sum, found)) return judge_rest(reader);
    *record = (JournalRecord){head.type, head.seq, payload, head.len};
    reader->at = next;
    reader->seq++;
    reader->chain = sum;
    return JOURNAL_RECORD;
}

// ---- the folder -----------------------------------------------------------------------------

bool journal_no_memory(Trouble *trouble) {
    return trouble_no_memory(trouble, "for the journal");
}

bool journal_open(Journal *journal, const char *folder, Trouble *trouble) {
    *journal = (Journal){.lock = -1, .fd = -1, .new_fd = -1};
    int len = (int)strlen(folder);
    while (len > 1 && folder[len - 1] == '/') len--;
    if (asprintf(&journal->folder, "%.*s", len, folder) < 0) journal->folder = nullptr;
    if (asprintf(&journal->path, "%.*s/journal", len, folder) < 0) journal->path = nullptr;
    if (asprintf(&journal->new_path, "%.*s/journal.new", len, folder) < 0)
        journal->new_path = nullptr;
    if (!journal->folder || !journal->path || !journal->new_path) return journal_no_memory(trouble);
    Trouble made = {0};
    if (!durable_make_folder(journal->folder, &made))
        return trouble_set(trouble, TROUBLE_JOURNAL_FOLDER, "%s", made.text);
    journal->lock = durable_lock_folder(journal->folder);
    if (journal->lock >= 0) return true;
    if (errno == EWOULDBLOCK)
        return trouble_set(trouble, TROUBLE_JOURNAL_BUSY, "another job is at work with '%s'",
                           journal->folder);
    return trouble_set(trouble, TROUBLE_JOURNAL_FOLDER, "cannot lock the folder '%s': %s",
                       journal->folder, strerror(errno));
}

void journal_close(Journal *journal) {
    if (journal->fd >= 0) durable_shut(journal->fd);
    if (journal->new_fd >= 0) durable_shut(journal->new_fd);
    if (journal->lock >= 0) durable_unlock(journal->lock);
    free(journal->folder);
    free(journal->path);
    free(journal->new_path);
    *journal = (Journal){.lock = -1, .fd = -1, .new_fd = -1};
}

char *journal_load(const Journal *journal, int64_t *len, Trouble *trouble) {
    char *bytes = durable_load(journal->path, len);
    if (!bytes && errno != ENOENT)
        trouble_set(trouble, TROUBLE_JOURNAL_FOLDER, "cannot read '%s': %s", journal->path,
                    strerror(errno));
    return bytes;
}

void journal_remove(Journal *journal) {
    Trouble ignored = {0};
    durable_remove(journal->new_path);
    durable_remove(journal->path);
    durable_sync_folder_of(journal->path, &ignored);
}

// ---- writing --------------------------------------------------------------------------------

static bool failed(Journal *journal, Trouble *trouble) {
    int error = errno;
    journal->failed = true;
    TroubleKind kind = durable_blames_path(error) ? TROUBLE_JOURNAL_FOLDER : TROUBLE_JOURNAL_WRITE;
    return retry_fail(trouble, error, kind, "write the journal in", journal->folder);
}

// Puts bytes at the end of the checkpoint, or else of the journal.
static bool put(Journal *journal, const char *bytes, int64_t len, Trouble *trouble) {
    int fd = journal->new_fd >= 0 ? journal->new_fd : journal->fd;
    if (journal->at + len > journal->room) {
        int64_t room = (journal->at + len + JOURNAL_ROOM - 1) / JOURNAL_ROOM * JOURNAL_ROOM;
        if (!durable_reserve(fd, room)) return failed(journal, trouble);
        journal->room = room;
    }
    if (!durable_put(fd, bytes, len, journal->at)) return failed(journal, trouble);
    journal->at += len;
    return true;
}

bool journal_begin(Journal *journal, Trouble *trouble) {
    if (journal->failed)
        return trouble_set(trouble, TROUBLE_JOURNAL_WRITE, "the journal in '%s' could not be "
                           "written", journal->folder);
    journal->new_fd = durable_open(journal->new_path, true);
    if (journal->new_fd < 0) return failed(journal, trouble);
    journal->at = journal->room = 0;
    journal->seq = 0;
    FileHead head = {.version = JOURNAL_VERSION};
    memcpy(head.magic, magic, sizeof magic);
    head.sum = checksum_of(&head, offsetof(FileHead, sum));
    journal->chain = head.sum;
    return put(journal, (const char *)&head, sizeof head, trouble);
}

bool journal_add(Journal *journal, uint32_t type, const char *payload, int64_t len,
                 Trouble *trouble) {
    if (journal->failed || len > RECORD_MAX)
        return trouble_set(trouble, TROUBLE_JOURNAL_WRITE, "the journal in '%s' could not be "
                           "written", journal->folder);
    RecordHead head = {.len = (uint32_t)len, .type = type, .seq = journal->seq};
    head.own = own_sum(&head, payload);
    Checksum sum = chained_sum(journal->chain, &head, payload);
    int64_t bytes = record_bytes(len);
    char *record = calloc(1, (size_t)bytes);
    if (!record) return journal_no_memory(trouble);
    memcpy(record, &head, sizeof head);
    if (len > 0) memcpy(record + sizeof head, payload, (size_t)len);
    memcpy(record + bytes - sizeof sum, &sum, sizeof sum);
    bool good = put(journal, record, bytes, trouble);
    free(record);
    journal->chain = sum;
    journal->seq++;
    return good;
}

bool journal_adopt(Journal *journal, Trouble *trouble) {
    if (!durable_put_sync(journal->new_fd)) return failed(journal, trouble);
    failpoint("checkpoint-synced");
    if (!durable_rename(journal->new_path, journal->path, true, -1, trouble) ||
        !durable_sync_folder_of(journal->path, trouble)) {
        journal->failed = true;
        return false;
    }
    if (journal->fd >= 0) durable_shut(journal->fd);
    journal->fd = journal->new_fd;
    journal->new_fd = -1;
    return true;
}

bool journal_append(Journal *journal, uint32_t type, const char *payload, int64_t len,
                    Trouble *trouble) {
    if (!journal_add(journal, type, payload, len, trouble)) return false;
    failpoint("journal-written");
    return durable_put_sync(journal->fd) || failed(journal, trouble);
}
