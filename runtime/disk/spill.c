#define _GNU_SOURCE
#include "runtime/disk/spill.h"

#include "runtime/abi/value.h"
#include "runtime/disk/folder.h"
#include "runtime/disk/index.h"
#include "runtime/host.h"
#include "runtime/report.h"
#include "stdlib/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum : int64_t { BLOCK_BYTES_MIN = 16 * 1024, BLOCK_BYTES_MAX = 64 * 1024 };
enum : int64_t { AHEAD_FIRST = 64 * 1024 };
enum { BLOCK_SHARE = 64 };  // All writers' buffers together take about two of these of the memory.

typedef struct BlockHead {
    uint64_t checksum;  // XXH64 of the bytes after the head, seeded with what follows here.
    uint32_t stored;    // Bytes after it; as many as `raw`: not packed.
    uint32_t raw : 31;
    uint32_t goes_on : 1;  // The last row goes on in the next block.
} BlockHead;

static uint64_t block_sum(const BlockHead *head, const char *body) {
    uint64_t seed = (uint64_t)head->stored << 32 | head->raw << 1 | head->goes_on;
    return sb_xxh64(body, head->stored, seed);
}

// Bytes of a file whose runs are forgotten, and how many of them still lie there.
typedef struct Gap {
    int64_t begin, end, held;
} Gap;

struct SpillWriter {
    int      fd;        // -1: no file yet.
    int64_t  at;        // Its end.
    char    *block;     // The block that is filled, nullptr: no buffers yet...
    int64_t  used;
    int64_t  most;      // Bytes of a block of this run at most.
    char    *packed;    // ...and how it is written: its head, its bytes.
    int64_t  packed_room;
    int64_t  chained;   // Bytes of the row that is added in the blocks before this one...
    int64_t  chain_at;  // ...and where they begin.
    int64_t  row_at;    // Where the blocks begin that are read to get at the last row.
    SpillRun run;
    Gap     *gaps;      // In order, none beside another. Under the lock of the spill.
    uint32_t gap_count, gap_cap;
};

bool spill_fail(Spill *spill, TroubleKind kind, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&spill->lock);
    trouble_set_list(&spill->trouble, kind, format, args);
    pthread_mutex_unlock(&spill->lock);
    va_end(args);
    spill->failed = true;
    return false;
}

// A call for a file of the folder failed; errno says why.
static bool io_failed(Spill *spill, TroubleKind kind, const char *what, const char *name) {
    int error = errno;
    char *path = nullptr;
    if (asprintf(&path, "%s/%s", spill->path, name) < 0) path = nullptr;
    pthread_mutex_lock(&spill->lock);
    retry_fail(&spill->trouble, error, kind, what, path ? path : spill->path);
    pthread_mutex_unlock(&spill->lock);
    free(path);
    spill->failed = true;
    return false;
}

// The same for the file of that writer.
static bool file_failed(Spill *spill, TroubleKind kind, const char *what, uint32_t file) {
    char name[16];
    snprintf(name, sizeof name, "%u", spill->first + file);
    return io_failed(spill, kind, what, name);
}

bool spill_trouble(Spill *spill, Trouble *trouble) {
    pthread_mutex_lock(&spill->lock);
    if (spill->failed && trouble->kind == TROUBLE_NONE) *trouble = spill->trouble;
    pthread_mutex_unlock(&spill->lock);
    return spill->failed;
}

static bool no_room(Spill *spill) {
    char room[SIZE_TEXT];
    size_say(spill->memory->limit, room);
    return spill_fail(spill, TROUBLE_MEMORY, "no memory to spill: --memory leaves %s for rows",
                      room);
}

static int64_t block_bytes(int64_t limit, uint32_t threads) {
    int64_t bytes = limit / BLOCK_SHARE / threads & -BLOCK_BYTES_MIN;
    if (bytes < BLOCK_BYTES_MIN) return BLOCK_BYTES_MIN;
    return bytes > BLOCK_BYTES_MAX ? BLOCK_BYTES_MAX : bytes;
}

// As a block is written.
static int64_t packed_bytes(int64_t block) {
    return (int64_t)sizeof(BlockHead) + LZ4_compressBound((int)block);
}

int64_t spill_buffer_bytes(int64_t limit, uint32_t threads) {
    int64_t block = block_bytes(limit, threads);
    return block + packed_bytes(block);
}

static bool add_files(Spill *spill, uint32_t count) {
    uint32_t files = spill->files + count;
    SpillWriter *writers = realloc(spill->writers, files * sizeof *writers);
    if (!writers) return false;
    for (uint32_t i = spill->files; i < files; i++) writers[i] = (SpillWriter){.fd = -1};
    spill->writers = writers;
    spill->files = files;
    return true;
}

bool spill_open(Spill *spill, const char *root, uint32_t threads, SbMemory *memory) {
    *spill = (Spill){.root = root, .memory = memory, .threads = threads, .folder = -1};
    spill->block_bytes = block_bytes(memory->limit, threads);
    return add_files(spill, threads) && pthread_mutex_init(&spill->lock, nullptr) == 0;
}

bool spill_enter(Spill *spill, const SpillPlace *place, SbMemory *memory, Trouble *trouble) {
    const char *path = place->path;
    if (!spill_open(spill, path, place->threads, memory))
        return trouble_no_memory(trouble, "to spill");
    spill->shared = spill->joined = true;
    spill->first = place->first;
    spill->path = strdup(path);
    if (!spill->path) return trouble_no_memory(trouble, "to spill");
    spill->root = spill->path;
    spill->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return spill->folder >= 0 ||
           trouble_set(trouble, TROUBLE_SPILL_FOLDER, "cannot open '%s': %s", path,
                       strerror(errno));
}

static bool open_worker_file(Spill *spill, uint32_t file, int flags) {
    char name[16];
    if (file < spill->threads || file >= spill->files)
        return spill_fail(spill, TROUBLE_SPILL_READ, "there is no file %u of workers", file);
    SpillWriter *writer = &spill->writers[file];
    if (writer->fd >= 0) return true;
    snprintf(name, sizeof name, "%u", file);
    writer->fd = openat(spill->folder, name, O_RDWR | O_CLOEXEC | flags, 0600);
    if (writer->fd >= 0) return posix_fadvise(writer->fd, 0, 0, POSIX_FADV_RANDOM), true;
    return file_failed(spill, TROUBLE_SPILL_READ, "open", file);
}

bool spill_begin_file(Spill *spill, uint32_t number, int64_t from) {
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    int fd = openat(spill->folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bool good = fd >= 0 && ftruncate(fd, from) == 0;
    if (!good)
        spill_fail(spill, TROUBLE_SPILL_FOLDER, "cannot create '%s/%s': %s", spill->path, name,
                   strerror(errno));
    if (fd >= 0) close(fd);
    return good;
}

bool spill_find_file(Spill *spill, uint32_t file) { return open_worker_file(spill, file, 0); }

static void close_folder(Spill *spill) {
    if (spill->folder < 0) return;
    if (spill->joined) close(spill->folder);
    else spill_folder_remove(spill->path, spill->folder);
}

void spill_close(Spill *spill) {
    if (!spill->writers) return;
    for (uint32_t i = 0; i < spill->files; i++) {
        SpillWriter *writer = &spill->writers[i];
        if (writer->fd >= 0) close(writer->fd);
        free(writer->block);
        free(writer->packed);
        free(writer->gaps);
        if (writer->packed_room > 0)
            sb_memory_release(spill->memory, spill->block_bytes + writer->packed_room);
    }
    free(spill->writers);
    spill->writers = nullptr;
    close_folder(spill);
    free(spill->path);
    pthread_mutex_destroy(&spill->lock);
}

void spill_abandon(Spill *spill) {
    if (!spill->writers) return;
    pthread_mutex_lock(&spill->lock);
    close_folder(spill);
}

static bool make_folder(Spill *spill, Trouble *trouble) {
    pthread_mutex_lock(&spill->lock);
    bool good = spill->folder >= 0 ||
                spill_folder_make(spill->root, &spill->path, &spill->folder, trouble);
    pthread_mutex_unlock(&spill->lock);
    return good;
}

bool spill_make(Spill *spill) {
    Trouble trouble = {0};
    return make_folder(spill, &trouble) || spill_fail(spill, trouble.kind, "%s", trouble.text);
}

bool spill_expect(Spill *spill, uint32_t count) {
    Trouble trouble = {0};
    spill->shared = true;
    make_folder(spill, &trouble);
    return add_files(spill, count);
}

// The file has all its blocks from the start: a full disk would end the job when they are touched.
void *spill_map(Spill *spill, int64_t bytes) {
    static const char name[] = "map";
    void *pages = MAP_FAILED;
    if (!spill_make(spill)) return nullptr;
    pthread_mutex_lock(&spill->lock);
    int fd = openat(spill->folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int error = fd < 0 ? errno : posix_fallocate(fd, 0, bytes);
    if (fd >= 0) unlinkat(spill->folder, name, 0);
    pthread_mutex_unlock(&spill->lock);
    if (error == 0) {
        pages = mmap(nullptr, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        error = errno;
    }
    if (fd >= 0) close(fd);
    if (pages != MAP_FAILED) return pages;
    errno = error;
    io_failed(spill, TROUBLE_SPILL_WRITE, "write", name);
    return nullptr;
}

// ---- writing ------------------------------------------------------------------------------------

bool spill_ready(Spill *spill, uint32_t thread) {
    SpillWriter *writer = &spill->writers[thread];
    if (writer->block) return true;
    int64_t packed = packed_bytes(spill->block_bytes);
    if (!sb_memory_charge(spill->memory, spill->block_bytes + packed)) return no_room(spill);
    writer->packed_room = packed;
    writer->block = aligned_alloc(16, (size_t)spill->block_bytes + SB_SLACK);
    writer->packed = malloc((size_t)packed);
    return (writer->block && writer->packed) || no_room(spill);
}

static bool open_file(Spill *spill, uint32_t thread) {
    SpillWriter *writer = &spill->writers[thread];
    if (writer->fd >= 0) return true;
    char name[16];
    snprintf(name, sizeof name, "%u", spill->first + thread);
    int only = spill->joined ? 0 : O_EXCL;
    writer->fd = openat(spill->folder, name, O_RDWR | O_CREAT | only | O_CLOEXEC, 0600);
    if (writer->fd >= 0 && spill->joined) writer->at = lseek(writer->fd, 0, SEEK_END);
    // Runs are read side by side. What the system would read on its own accord after each place is
    // thrown away before its turn, three times as much as there is.
    if (writer->fd >= 0) return posix_fadvise(writer->fd, 0, 0, POSIX_FADV_RANDOM), true;
    return spill_fail(spill, TROUBLE_SPILL_FOLDER, "cannot create '%s/%s': %s", spill->path, name,
                      strerror(errno));
}

bool spill_begin(Spill *spill, uint32_t thread) {
    if (spill->failed || !spill_make(spill) || !spill_ready(spill, thread) ||
        !open_file(spill, thread)) {
        return false;
    }
    SpillWriter *writer = &spill->writers[thread];
    writer->used = writer->chained = 0;
    writer->most = spill->block_bytes;
    writer->run = (SpillRun){.file = thread, .begin = writer->at, .end = writer->at};
    return true;
}

bool spill_begin_short(Spill *spill, uint32_t thread, int64_t most) {
    if (!spill_begin(spill, thread)) return false;
    if (most < BLOCK_BYTES_MIN) most = BLOCK_BYTES_MIN;
    if (most < spill->block_bytes) spill->writers[thread].most = most & -INT64_C(16);
    return true;
}

static bool write_all(Spill *spill, uint32_t thread, const char *bytes, int64_t len) {
    SpillWriter *writer = &spill->writers[thread];
    Retry retry = {.path = spill->path};
    while (len > 0) {
        ssize_t put = failpoint_fails("spill-write")
                          ? -1 : pwrite(writer->fd, bytes, (size_t)len, writer->at);
        if (put < 0 && retry_again(&retry)) continue;
        retry_done(&retry);
        if (put < 0)
            return file_failed(spill, TROUBLE_SPILL_WRITE, "write", thread);
        writer->at += put;
        bytes += put;
        len -= put;
    }
    return true;
}

bool spill_place_bytes(Spill *spill, uint32_t file, int64_t at, SbStr bytes) {
    if (!spill_make(spill) || !open_worker_file(spill, file, O_CREAT)) return false;
    spill->writers[file].at = at;
    return write_all(spill, file, bytes.ptr, bytes.len);
}

// Of LZ4: beside 1, some 7 % less processor time of a job that spills, and 5 to 9 % more bytes.
enum { LZ4_ACCELERATION = 4 };

static bool write_block(Spill *spill, uint32_t thread, bool goes_on) {
    SpillWriter *writer = &spill->writers[thread];
    const int head_bytes = sizeof(BlockHead), raw = (int)writer->used;
    char *body = writer->packed + head_bytes;
    int packed = LZ4_compress_fast(writer->block, body, raw,
                                   (int)writer->packed_room - head_bytes, LZ4_ACCELERATION);
    if (packed <= 0 || packed >= raw) memcpy(body, writer->block, (size_t)(packed = raw));
    BlockHead head = {.stored = (uint32_t)packed, .raw = (uint32_t)raw, .goes_on = goes_on};
    head.checksum = block_sum(&head, body);
    memcpy(writer->packed, &head, sizeof head);
    SpillRun *run = &writer->run;
    run->bytes += raw;
    if (writer->chained == 0) writer->chain_at = writer->at;
    writer->chained += raw;
    if (writer->chained > run->block_max) {
        run->block_max = writer->chained;
        run->longest_at = writer->chain_at;
    }
    if (packed > run->packed_max) run->packed_max = packed;
    if (!goes_on) writer->chained = 0;
    spill->bytes_raw += raw;
    spill->bytes_written += packed + head_bytes;
    writer->used = 0;
    return write_all(spill, thread, writer->packed, packed + head_bytes);
}

bool spill_break(Spill *spill, uint32_t thread) {
    enum { SHORT_SHARE = 4 };
    const SpillWriter *writer = &spill->writers[thread];
    bool is_short = writer->used < writer->most / SHORT_SHARE;
    return !spill->failed && (is_short || write_block(spill, thread, false));
}

bool spill_row(Spill *spill, uint32_t thread, int64_t bytes) {
    SpillWriter *writer = &spill->writers[thread];
    writer->run.rows++;
    bool fits = writer->used + bytes <= writer->most;
    bool good = !spill->failed && (fits || writer->used == 0 || write_block(spill, thread, false));
    writer->row_at = writer->chained > 0 ? writer->chain_at : writer->at;
    return good;
}

int64_t spill_row_at(const Spill *spill, uint32_t thread) {
    return spill->writers[thread].row_at;
}

void spill_add(Spill *spill, uint32_t thread, const char *bytes, int64_t len) {
    SpillWriter *writer = &spill->writers[thread];
    while (len > 0 && !spill->failed) {
        int64_t room = writer->most - writer->used, some = len < room ? len : room;
        memcpy(writer->block + writer->used, bytes, (size_t)some);
        writer->used += some;
        bytes += some;
        len -= some;
        if (len > 0) write_block(spill, thread, true);
    }
}

char *spill_room(Spill *spill, uint32_t thread, int64_t bytes) {
    SpillWriter *writer = &spill->writers[thread];
    if (writer->used + bytes > writer->most) return nullptr;
    char *room = writer->block + writer->used;
    writer->used += bytes;
    return room;
}

bool spill_end(Spill *spill, uint32_t thread, SpillRun *run) {
    SpillWriter *writer = &spill->writers[thread];
    if (!spill->failed && writer->used > 0) write_block(spill, thread, false);
    writer->run.end = writer->at;
    *run = writer->run;
    return !spill->failed;
}

bool spill_copy_in(Spill *spill, uint32_t thread, const char *bytes, int64_t len) {
    return write_all(spill, thread, bytes, len);
}

bool spill_end_like(Spill *spill, uint32_t thread, const SpillRun *like, SpillRun *run) {
    int64_t moved = spill->writers[thread].run.begin - like->begin;
    *run = *like;
    run->file = thread;
    run->begin += moved;
    run->longest_at += moved;
    run->end = spill->writers[thread].at;
    run->index = nullptr;
    return !spill->failed;
}

// ---- forgetting ---------------------------------------------------------------------------------

// The first gap that ends at `begin` or after it.
static uint32_t gap_at(const SpillWriter *writer, int64_t begin) {
    uint32_t low = 0, high = writer->gap_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (writer->gaps[middle].end < begin) low = middle + 1;
        else high = middle;
    }
    return low;
}

// The gap of these bytes and those beside them. nullptr: no memory; they stay on the disk.
static Gap *add_gap(SpillWriter *writer, int64_t begin, int64_t end) {
    uint32_t at = gap_at(writer, begin), next = at;
    Gap gap = {begin, end, end - begin};
    for (; next < writer->gap_count && writer->gaps[next].begin <= end; next++) {
        const Gap *beside = &writer->gaps[next];
        if (beside->begin < gap.begin) gap.begin = beside->begin;
        if (beside->end > gap.end) gap.end = beside->end;
        gap.held += beside->held;
    }
    if (next == at && writer->gap_count == writer->gap_cap) {
        uint32_t cap = 2 * writer->gap_cap + 16;
        Gap *gaps = realloc(writer->gaps, cap * sizeof *gaps);
        if (!gaps) return nullptr;
        writer->gaps = gaps;
        writer->gap_cap = cap;
    }
    memmove(&writer->gaps[at + 1], &writer->gaps[next],
            (writer->gap_count - next) * sizeof *writer->gaps);
    writer->gap_count = writer->gap_count - (next - at) + 1;
    writer->gaps[at] = gap;
    return &writer->gaps[at];
}

// The disk gets gaps back when they are long, in whole blocks: a hole for every run would have the
// system read the blocks at its ends, and wait for a disk that is told what is free. Where a file
// cannot have holes, the disk comes back with the end of the job.
void spill_forget(Spill *spill, const SpillRun *run) {
    enum : int64_t { GAP_BYTES = 1 << 20, BLOCK = 64 << 10 };
    SpillWriter *writer = &spill->writers[run->file];
    spill_index_close(run->index);
    if (run->end <= run->begin) return;
    pthread_mutex_lock(&spill->lock);
    Gap *gap = add_gap(writer, run->begin, run->end), punched = {0};
    if (gap && gap->held >= GAP_BYTES) {
        punched = *gap;
        gap->held = 0;
    }
    pthread_mutex_unlock(&spill->lock);
    int64_t begin = (punched.begin + BLOCK - 1) & -BLOCK, end = punched.end & -BLOCK;
    if (end > begin)
        fallocate(writer->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, end - begin);
}

// ---- reading ------------------------------------------------------------------------------------

static bool damaged(const SpillReader *reader) {
    return spill_fail(reader->spill, TROUBLE_SPILL_READ, "'%s/%u' is damaged at byte %lld",
                      reader->spill->path, reader->run.file, (long long)reader->at);
}

static bool read_all(const SpillReader *reader, void *to, int64_t len, int64_t at) {
    Spill *spill = reader->spill;
    char *bytes = to;
    Retry retry = {.path = spill->path};
    while (len > 0) {
        int fd = spill->writers[reader->run.file].fd;
        ssize_t got = failpoint_fails("spill-read") ? -1 : pread(fd, bytes, (size_t)len, at);
        if (got < 0 && retry_again(&retry)) continue;
        if (got == 0) return damaged(reader);
        if (got < 0)
            return file_failed(spill, TROUBLE_SPILL_READ, "read", reader->run.file);
        bytes += got;
        len -= got;
        at += got;
    }
    return true;
}

bool spill_copy_out(Spill *spill, const SpillRun *run, int64_t at, char *to, int64_t len) {
    SpillReader reader = {.spill = spill, .run = *run, .at = run->begin + at};
    return read_all(&reader, to, len, reader.at);
}

static void ask(const Spill *spill, const SpillRun *run, int64_t from, int64_t to) {
    if (from >= to) return;  // No bytes would be the rest of the file.
    posix_fadvise(spill->writers[run->file].fd, from, to - from, POSIX_FADV_WILLNEED);
}

void spill_ask(const Spill *spill, const SpillRun *run) {
    int64_t to = run->begin + SPILL_AHEAD;
    ask(spill, run, run->begin, to < run->end ? to : run->end);
}

// In a cgroup as small as --memory what was written is on the disk and nowhere else: it comes while
// rows of the blocks before it are worked on.
static void ask_ahead(SpillReader *reader) {
    const SpillRun *run = &reader->run;
    int64_t ahead = reader->ahead, to = reader->at + ahead;
    int64_t from = reader->at > reader->asked ? reader->at : reader->asked;
    if (from - reader->at > ahead / 2 || from >= run->end) return;
    reader->ahead = ahead == 0 ? AHEAD_FIRST : ahead < SPILL_AHEAD ? 2 * ahead : ahead;
    if (reader->ahead_max > 0 && reader->ahead > reader->ahead_max)
        reader->ahead = reader->ahead_max;
    if (ahead == 0) return;
    reader->asked = to < run->end ? to : run->end;
    ask(reader->spill, run, from, reader->asked);
}

void spill_seek(SpillReader *reader, const SpillRun *run, int64_t at) {
    int64_t passed = at - reader->at;
    bool goes_on = run->file == reader->run.file && passed >= 0 && passed <= SPILL_AHEAD;
    if (!goes_on) reader->asked = reader->ahead = 0;
    reader->run = *run;
    reader->at = at;
    reader->len = 0;
}

// Reads one block after what is there.
static bool read_block(SpillReader *reader, bool *goes_on) {
    const SpillRun *run = &reader->run;
    BlockHead head;
    if (reader->at >= run->end) return damaged(reader);
    ask_ahead(reader);
    if (!read_all(reader, &head, sizeof head, reader->at)) return false;
    bool fits = head.raw > 0 && head.raw <= run->block_max - reader->len && head.stored > 0 &&
                head.stored <= head.raw && head.stored <= run->packed_max;
    if (!fits) return damaged(reader);
    bool packed = head.stored < head.raw;
    char *to = reader->block + reader->len, *body = packed ? reader->packed : to;
    if (!read_all(reader, body, head.stored, reader->at + (int64_t)sizeof head)) return false;
    if (block_sum(&head, body) != head.checksum) return damaged(reader);
    if (packed && LZ4_decompress_safe(body, to, (int)head.stored, (int)head.raw) != (int)head.raw)
        return damaged(reader);
    reader->len += head.raw;
    reader->at += (int64_t)sizeof head + head.stored;
    *goes_on = head.goes_on;
    return true;
}

bool spill_read(SpillReader *reader) {
    reader->len = 0;
    if (reader->spill->failed || reader->at >= reader->run.end) return false;
    bool goes_on = true;
    while (goes_on)
        if (!read_block(reader, &goes_on)) return false;
    return true;
}

char *spill_longest(Spill *spill, const SpillRun *run, int64_t *len) {
    SpillReader reader = {.spill = spill, .run = *run, .at = run->longest_at,
                          .block = aligned_alloc(16, (size_t)BLOCK_BYTES_MAX + SB_SLACK),
                          .packed = malloc((size_t)BLOCK_BYTES_MAX)};
    bool goes_on;
    if (reader.run.block_max > BLOCK_BYTES_MAX) reader.run.block_max = BLOCK_BYTES_MAX;
    if (!reader.block || !reader.packed || !read_block(&reader, &goes_on)) {
        free(reader.block);
        reader.block = nullptr;
    }
    free(reader.packed);
    *len = reader.len;
    return reader.block;
}
