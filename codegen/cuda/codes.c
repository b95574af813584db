#include "codegen/cuda/codes.h"

#include "codegen/build/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 16 };

typedef struct Crew {
    const CudaCompiler *compiler;
    Text                compiler_text;
    const char         *folder;
    CudaTask           *tasks;
    size_t              count;
    atomic_size_t       next;   // The first task that nobody has taken.
} Crew;

typedef struct Worker {
    Crew     *crew;
    Arena    *arena;
    pthread_t thread;
    bool      started;
} Worker;

// ---- the cache ----------------------------------------------------------------------------------

static const char *key_of(const Crew *crew, Arena *arena, const CudaTask *task) {
    TextBuf parts = {0};
    cache_key_add(&parts, "compiler", crew->compiler_text);
    cache_key_add(&parts, "unit", task->unit);
    cache_key_add(&parts, task->is_ptx ? "ptx" : "architecture",
                  text_format(arena, "sm_%u", task->architecture));
    const char *key = cache_key(arena, &parts);
    text_buf_free(&parts);
    return key;
}

// An entry is the length of the log in eight bytes, the log, and the code.
static bool find(const Crew *crew, Arena *arena, const char *key, CudaCode *code) {
    Text bytes;
    uint64_t log;
    if (!crew->folder || !cache_get(arena, crew->folder, key, &bytes)) return false;
    if (bytes.len < sizeof log) return false;
    memcpy(&log, bytes.at, sizeof log);
    if (log > bytes.len - sizeof log) return false;
    *code = (CudaCode){.log = {bytes.at + sizeof log, log}};
    code->bytes = (Text){code->log.at + log, bytes.len - sizeof log - log};
    cuda_read_uses(arena, code);
    return code->bytes.len > 0;
}

static void keep(const Crew *crew, Arena *arena, const char *key, const CudaCode *code) {
    TextBuf bytes = {0};
    uint64_t log = code->log.len;
    if (!crew->folder) return;
    text_buf_add(&bytes, (Text){(const char *)&log, sizeof log});
    text_buf_add(&bytes, code->log);
    text_buf_add(&bytes, code->bytes);
    cache_put(arena, crew->folder, key, text_buf_view(&bytes));  // A full disk costs time only.
    text_buf_free(&bytes);
}

// ---- threads ------------------------------------------------------------------------------------

static void do_task(const Crew *crew, Arena *arena, CudaTask *task) {
    TextBuf error = {0};
    const char *key = key_of(crew, arena, task);
    if (find(crew, arena, key, &task->code)) return;
    bool (*make)(const CudaCompiler *, Arena *, Text, unsigned, CudaCode *, TextBuf *) =
        task->is_ptx ? cuda_compile_ptx : cuda_compile;
    if (make(crew->compiler, arena, task->unit, task->architecture, &task->code, &error))
        keep(crew, arena, key, &task->code);
    task->error = text_buf_take(&error, arena);
}

static void *work(void *self) {
    Worker *worker = self;
    Crew *crew = worker->crew;
    for (size_t i; (i = atomic_fetch_add(&crew->next, 1)) < crew->count;)
        do_task(crew, worker->arena, &crew->tasks[i]);
    return nullptr;
}

// What a worker made lies in an arena of its own.
static void settle(Arena *arena, CudaTask *task) {
    CudaCode *code = &task->code;
    task->error = text_copy(arena, task->error);
    code->log = text_copy(arena, code->log);
    code->bytes = text_copy(arena, code->bytes);
    code->uses = nullptr;
    code->use_count = code->use_cap = 0;
    if (!task->error.len) cuda_read_uses(arena, code);
}

bool cuda_compile_all(const CudaCompiler *compiler, Arena *arena, const char *folder,
                      CudaTask *tasks, size_t count) {
    Crew crew = {.compiler = compiler, .compiler_text = cuda_compiler_text(compiler, arena),
                 .folder = folder, .tasks = tasks, .count = count};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = cpus > THREADS_MAX ? THREADS_MAX : cpus < 1 ? 1 : (size_t)cpus;
    Worker workers[THREADS_MAX] = {0};
    if (threads > count) threads = count;
    for (size_t i = 0; i < threads; i++) {
        workers[i] = (Worker){.crew = &crew, .arena = arena_new()};
        workers[i].started = i && !pthread_create(&workers[i].thread, nullptr, work, &workers[i]);
    }
    if (threads) work(&workers[0]);
    for (size_t i = 1; i < threads; i++)
        if (workers[i].started) pthread_join(workers[i].thread, nullptr);
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        settle(arena, &tasks[i]);
        good &= !tasks[i].error.len;
    }
    for (size_t i = 0; i < threads; i++) arena_free(workers[i].arena);
    return good;
}
