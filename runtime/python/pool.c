#include "runtime/python/pool.h"

#include "runtime/python/find.h"
#include "runtime/python/starter.h"
#include "stdlib/arrow.h"
#include "stdlib/hash.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum : int64_t { MEASURE_NS = 20'000'000, SECOND_NS = 1'000'000'000 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t  changed;    // A process is free, or is gone.
    const SbPython *what;
    PythonSetup     setup;
    char            interpreter[PATH_BYTES];  // Empty: not looked for yet.
    PyProcess      *free;
    PyProcess     **own;        // By function: that of one which is `alone`.
    uint32_t        count, max; // Processes that are nobody's own.
    int64_t         each;       // Bytes of the first one.
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

int64_t pool_number(const SbPythonFn *fn) {
    int64_t number = 0;
    while (pool.what->fns[number] != fn) number++;
    return number;
}

const SbPythonFn *python_find(SbStr name, SbStr callee, SbStr folder) {
    for (uint32_t i = 0; pool.own && i < pool.what->fn_count; i++) {
        const SbPythonFn *fn = pool.what->fns[i];
        if (sb_str_equal(fn->name, name) && sb_str_equal(fn->callee, callee) &&
            sb_str_equal(fn->folder, folder))
            return fn;
    }
    return nullptr;
}

// ---- loading ------------------------------------------------------------------------------------

static void put_field(FILE *to, const char *text, int64_t len) {
    if (len) fwrite(text, 1, (size_t)len, to);
    fputc(0, to);
}

// Name, format, sizes or names of the dimensions of a tensor, number of children, and these.
static void put_type(FILE *to, const struct ArrowSchema *schema, const SbType *type) {
    put_field(to, schema->name, (int64_t)strlen(schema->name));
    put_field(to, schema->format, (int64_t)strlen(schema->format));
    for (uint32_t i = 0; i < type->rank; i++) {
        SbStr name = type->shape[i] ? (SbStr){0} : type->names[i];
        if (i) fputc(' ', to);
        if (type->shape[i]) fprintf(to, "%u", type->shape[i]);
        else if (name.len) fwrite(name.ptr, 1, (size_t)name.len, to);
        else fputc('_', to);
    }
    fprintf(to, "%c%lld", 0, (long long)schema->n_children);
    fputc(0, to);
    for (int64_t i = 0; i < schema->n_children; i++)
        put_type(to, schema->children[i], sb_arrow_child(type, (uint32_t)i));
}

static bool put_types(FILE *to, const SbPythonFn *fn) {
    SbCall call = {0};
    struct ArrowSchema rows, result;
    if (sb_scratch_open(&call, 1 << 16) != SB_OK) return false;
    bool good = sb_arrow_schema(&call, SB_LITERAL(""), fn->row, &rows) == SB_OK &&
                sb_arrow_schema(&call, SB_LITERAL(""), fn->result, &result) == SB_OK;
    if (good) {
        fprintf(to, "%lld", (long long)rows.n_children);
        fputc(0, to);
        for (int64_t i = 0; i < rows.n_children; i++)
            put_type(to, rows.children[i], fn->row->fields[i].type);
        put_type(to, &result, fn->result);
    }
    sb_scratch_close(&call);
    return good;
}

// What host.py reads of a function: folder, callee, words, types; a zero byte after each field.
static bool describe(const SbPythonFn *fn, char **text, size_t *len) {
    char folder[PATH_BYTES];
    FILE *to = open_memstream(text, len);
    if (!to) return false;
    find_folder(pool.what, fn, folder);
    put_field(to, folder, (int64_t)strlen(folder));
    put_field(to, fn->callee.ptr, fn->callee.len);
    fprintf(to, "%s%s", fn->by_rows ? "r" : "", fn->state ? "s" : "");
    fputc(0, to);
    bool good = put_types(to, fn);
    return fclose(to) == 0 && good;
}

static PyOutcome load(PyProcess *process, int64_t number, WireReply *reply, char words[WORDS_MAX]) {
    char *text = nullptr;
    size_t len = 0;
    PyOutcome outcome = PY_FAILED;
    snprintf(words, WORDS_MAX, "there is no memory to begin");
    if (describe(pool.what->fns[number], &text, &len) &&
        process_room(process, (int64_t)len, words)) {
        memcpy(process->args, text, len);
        // All but the last separator.
        WireRequest request = {WIRE_LOAD, number, (int64_t)len - 1, process->args_bytes};
        outcome = process_ask(process, &request, reply, sizeof *reply - 1, &len, words);
        ((char *)reply)[outcome == PY_GOOD ? len : 0] = '\0';
    }
    free(text);
    return outcome;
}

static void blame(PythonFault *fault, const SbPythonFn *fn, const char *reply) {
    static const struct { char letter; PythonFaultKind kind; } kinds[] = {
        {WIRE_NO_MODULE, PYTHON_FAULT_MODULE}, {WIRE_NO_IMPORT, PYTHON_FAULT_IMPORT},
        {WIRE_NO_FUNCTION, PYTHON_FAULT_FUNCTION}, {WIRE_SIGNATURE, PYTHON_FAULT_SIGNATURE},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (reply[0] == kinds[i].letter)
            fault_set(fault, kinds[i].kind, "%.*s: %s", (int)fn->name.len, fn->name.ptr,
                        reply + 1);
}

static bool load_all(PyProcess *process, PythonFault *fault) {
    char words[WORDS_MAX];
    for (uint32_t i = 0; i < pool.what->fn_count; i++) {
        WireReply reply;
        const SbPythonFn *fn = pool.what->fns[i];
        if (load(process, i, &reply, words) != PY_GOOD)
            return fault_set(fault, PYTHON_FAULT_START, "%.*s cannot be loaded: %s",
                               (int)fn->name.len, fn->name.ptr, words);
        if (*(char *)&reply == WIRE_LOADED) continue;
        blame(fault, fn, (const char *)&reply);
        return false;
    }
    return true;
}

// ---- starting -----------------------------------------------------------------------------------

static bool greet(char letter, const char *words, PythonFault *fault) {
    if (letter == WIRE_HELLO) return true;
    if (letter == WIRE_OLD)
        return fault_set(fault, PYTHON_FAULT_OLD, "%s is Python %s", pool.interpreter, words);
    return fault_set(fault, PYTHON_FAULT_START, "%s is not whole: %s", pool.interpreter, words);
}

// Several calls may be the first one at the same time.
static bool know_interpreter(PythonFault *fault) {
    pthread_mutex_lock(&pool.lock);
    bool known = pool.interpreter[0] ||
                 find_interpreter(pool.setup.interpreter, pool.interpreter, fault);
    if (!known) pool.interpreter[0] = '\0';
    pthread_mutex_unlock(&pool.lock);
    return known;
}

// A process with all functions. nullptr: `fault` says why.
static PyProcess *begin(PythonFault *fault) {
    char words[WORDS_MAX], letter = 0;
    if (!know_interpreter(fault)) return nullptr;
    PyProcess *process = process_begin(pool.interpreter, &letter, words);
    if (!process) {
        fault_set(fault, PYTHON_FAULT_START, "%s does not run as a Python interpreter: %s",
                    pool.interpreter, words);
        return nullptr;
    }
    if (greet(letter, words, fault) && load_all(process, fault)) return process;
    process_end(process);
    return nullptr;
}

static void end(PyProcess *process) {
    if (pool.setup.memory && process->grown)
        sb_memory_release(pool.setup.memory, process->grown);
    process_end(process);
}

static void set_open(const SbPython *python, const PythonSetup *setup) {
    pool.what = python;
    pool.setup = *setup;
    pool.interpreter[0] = '\0';
    pool.own = calloc(python->fn_count + 1, sizeof *pool.own);
    pool.max = setup->threads;
    pool.each = 0;
}

static uint32_t alone_count(void) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < pool.what->fn_count; i++) count += pool.what->fns[i]->alone;
    return count;
}

static int64_t bytes_of(const PyProcess *process) {
    return process_bytes(process) + process->args_bytes + process->results_bytes;
}

static void limit(uint32_t processes) { pool.max = processes - alone_count(); }

static bool check(PythonFound *found, PythonFault *fault) {
    if (!pool.own) return fault_set(fault, PYTHON_FAULT_MEMORY, "there is no memory to begin");
    PyProcess *process = begin(fault);
    if (!process) return false;
    pool.each = bytes_of(process);
    uint32_t alone = alone_count(), rest = pool.what->fn_count > alone ? pool.setup.threads : 0;
    *found = (PythonFound){.least = alone + (rest > 0), .most = alone + rest, .each = pool.each};
    snprintf(found->interpreter, sizeof found->interpreter, "%.255s", pool.interpreter);
    snprintf(found->version, sizeof found->version, "%s", process->version);
    pool.free = process;
    pool.count = 1;
    return true;
}

static void close_all(void) {
    while (pool.free) {
        PyProcess *process = pool.free;
        pool.free = process->next;
        end(process);
    }
    for (uint32_t i = 0; pool.own && i < pool.what->fn_count; i++)
        if (pool.own[i]) end(pool.own[i]);
    free(pool.own);
    pool.own = nullptr;
    pool.count = 0;
    starter_close();
}

const SbPythonRoom sb_python_room = {.open = set_open, .check = check, .limit = limit,
                                     .close = close_all};

// ---- calls --------------------------------------------------------------------------------------

static PyProcess *pop(void) {
    PyProcess *process = pool.free;
    if (process) pool.free = process->next;
    return process;
}

static PyProcess *begin_for_call(char words[WORDS_MAX]) {
    PythonFault fault = {0};
    PyProcess *process = begin(&fault);
    if (!process) snprintf(words, WORDS_MAX, "%.255s", fault.text);
    return process;
}

// Its calls come one after the other.
static PyProcess *take_own(PyProcess **own, char words[WORDS_MAX]) {
    pthread_mutex_lock(&pool.lock);
    if (!*own && (*own = pop())) pool.count--;
    pthread_mutex_unlock(&pool.lock);
    if (!*own) *own = begin_for_call(words);
    return *own;
}

PyProcess *pool_take(const SbPythonFn *fn, char words[WORDS_MAX]) {
    if (fn->alone) return take_own(&pool.own[pool_number(fn)], words);
    pthread_mutex_lock(&pool.lock);
    PyProcess *process;
    while (!(process = pop()) && pool.count >= pool.max)
        pthread_cond_wait(&pool.changed, &pool.lock);
    if (!process) pool.count++;
    pthread_mutex_unlock(&pool.lock);
    if (process) return process;
    process = begin_for_call(words);
    if (!process) pool_lose(fn, nullptr);
    return process;
}

// Beyond what the first process had, memory is charged. One that holds more than there is ends
// after its call; the next one begins with little.
static void measure(PyProcess *process) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ns = now.tv_sec * SECOND_NS + now.tv_nsec;
    if (!pool.setup.memory || ns - process->measured_ns < MEASURE_NS) return;
    process->measured_ns = ns;
    int64_t grown = bytes_of(process) - pool.each;
    int64_t more = (grown > 0 ? grown : 0) - process->grown;
    if (more > 0 && !sb_memory_charge(pool.setup.memory, more)) {
        process->spent = true;
        return;
    }
    if (more < 0) sb_memory_release(pool.setup.memory, -more);
    process->grown += more;
}

void pool_give(const SbPythonFn *fn, PyProcess *process) {
    measure(process);
    if (process->spent) {
        pool_lose(fn, process);
        return;
    }
    if (fn->alone) return;
    pthread_mutex_lock(&pool.lock);
    process->next = pool.free;
    pool.free = process;
    pthread_cond_signal(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
}

void pool_lose(const SbPythonFn *fn, PyProcess *process) {
    if (process) end(process);
    if (fn->alone) {
        pool.own[pool_number(fn)] = nullptr;
        return;
    }
    pthread_mutex_lock(&pool.lock);
    pool.count--;
    pthread_cond_signal(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
}
