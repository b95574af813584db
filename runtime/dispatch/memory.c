// Memory of breakers: each has an account of its own, which asks the ledger for more in large steps
// and gives back what it does not use.
//
//   charge ─▶ within what was given: nothing else happens
//          └▶ HOLD ─▶ given: the account's limit grows
//                  └▶ denied: what nobody fills now goes to disk, else the part that asked
#include "runtime/dispatch/state.h"

#include <stdlib.h>
#include <unistd.h>

enum : int64_t { STEP_MAX = 1 << 20, STEP_SHARE = 64, HEAD_BLOCKS = 4 };

struct Account {
    SbMemory  memory;   // First: the account is found by it.
    Dispatch *d;
    BreakerId id;
    uint32_t  breaker;  // Of the job.
    int64_t   floor;    // There from the start,
    int64_t   told;     // and all that the ledger knows of; 0: nothing was asked for yet.
};

Account *account_of(Dispatch *d, BreakerId id) { return &d->own->accounts[id.i]; }

static SbMemory *whole(const Account *account) { return account->d->own->memory; }

// ---- asking ---------------------------------------------------------------------------------

static bool ask_ledger(Account *account, int64_t bytes) {
    Dispatch *d = account->d;
    d->own->given = false;
    dispatch_tell(d, (Event){.kind = EVENT_HOLD, .breaker = account->id, .bytes = bytes});
    return d->own->given;
}

static void give_back(Account *account, int64_t bytes) {
    Event event = {.kind = EVENT_RELEASE, .breaker = account->id, .bytes = bytes};
    dispatch_tell(account->d, event);
}

// What cannot wait until something is on disk, as states of groups that grow within a row, comes
// from what the job leaves for that. From now on the breaker is short.
static bool overdraw(Account *account, int64_t bytes) {
    SbMemory *memory = &account->memory;
    if (!sb_memory_promise(whole(account), bytes)) return false;
    memory->limit += bytes;
    memory->short_at = -1;
    return true;
}

// With the lock: makes room for what is charged, and `ahead` more.
static bool grow(Account *account, int64_t ahead) {
    SbMemory *memory = &account->memory;
    int64_t used = memory->used + ahead, limit = memory->limit;
    int64_t step = whole(account)->limit / STEP_SHARE;
    if (used <= limit) return true;
    if (step > STEP_MAX) step = STEP_MAX;
    if (step < memory->block_max) step = memory->block_max;
    int64_t to = (used + step - 1) / step * step;
    if (!ask_ledger(account, to - account->told))
        return ahead == 0 && overdraw(account, used - limit);
    if (!sb_memory_promise(whole(account), to - limit)) {
        give_back(account, to - account->told);
        return false;
    }
    account->told = to;
    memory->limit = to;
    sb_memory_calm(memory);
    return true;
}

// Puts on disk what parts keep that no thread fills now. False: there is nothing.
static bool relieve_idle(Account *account, bool *busy) {
    Job *job = account->d->own->job;
    bool gave = false;
    for (uint32_t i = 0; i < job->breakers.lanes; i++) {
        if (pthread_mutex_trylock(&job->breakers.fills[i]) != 0) {
            *busy = true;
            continue;
        }
        gave |= sb_breaker_relieve(job->breakers.states[account->breaker], i);
        pthread_mutex_unlock(&job->breakers.fills[i]);
    }
    return gave;
}

static bool account_more(SbMemory *memory, int64_t ahead) {
    Account *account = (Account *)(void *)memory;
    Dispatch *d = account->d;
    // The floor is enough to open it, which happens under the lock.
    if (!d->own->breakers[account->breaker]) return false;
    pthread_mutex_lock(&d->lock);
    bool good = grow(account, ahead), fills = !bits_have(&d->own->full, account->id.i);
    pthread_mutex_unlock(&d->lock);
    bool busy = false;
    if (good || !fills || !relieve_idle(account, &busy)) return good;
    return memory->used + ahead <= memory->limit;
}

// ---- giving back ----------------------------------------------------------------------------

// With the lock: what is not used goes to others, but for the floor. Returns it.
static int64_t trim(Account *account) {
    SbMemory *memory = &account->memory;
    int64_t limit = memory->limit, used = memory->used;
    int64_t to = used > account->floor ? used : account->floor;
    if (to >= limit) return 0;
    memory->limit = to;
    // Somebody may have charged what was there until now.
    used = memory->used;
    if (used > to) memory->limit = to = used < limit ? used : limit;
    sb_memory_recall(whole(account), limit - to);
    int64_t told = account->told;
    if (told > to) account->told = to;
    sb_memory_calm(memory);
    return told - account->told;
}

void account_trim(Account *account) {
    int64_t bytes = trim(account);
    if (bytes > 0) give_back(account, bytes);
}

static void account_less(SbMemory *memory) {
    Account *account = (Account *)(void *)memory;
    pthread_mutex_lock(&account->d->lock);
    account_trim(account);
    pthread_mutex_unlock(&account->d->lock);
}

void account_shrink(Dispatch *d, BreakerId id) {
    d->own->shrink_count += !bits_have(&d->own->shrinks, id.i);
    bits_add(&d->own->shrinks, id.i);
    d->own->accounts[id.i].memory.short_at = -1;
}

// Parts that are filled are written by those who fill them, as they go on: that is waited for, but
// not for long.
void shrink_work(Dispatch *d) {
    enum { WAIT_MICROS = 1000, WAITS = 50 };
    BreakerId id = {(uint16_t)bits_first(&d->own->shrinks)};
    Account *account = &d->own->accounts[id.i];
    bool fills = !bits_have(&d->own->full, id.i) && d->own->breakers[account->breaker];
    bits_put(&d->own->shrinks, id.i, false);
    d->own->shrink_count--;
    d->own->shrinking = true;
    pthread_mutex_unlock(&d->lock);
    for (int i = 0; fills && i < WAITS; i++) {
        bool busy = false;
        relieve_idle(account, &busy);
        if (!busy) break;
        usleep(WAIT_MICROS);
    }
    pthread_mutex_lock(&d->lock);
    d->own->shrinking = false;
    sb_memory_calm(&account->memory);
    dispatch_tell(d, (Event){.kind = EVENT_SHRUNK, .breaker = id, .bytes = trim(account)});
}

// ---- opening and closing --------------------------------------------------------------------

bool accounts_open(Dispatch *d) {
    const CorePlan *plan = &d->plan->plan;
    Job *job = d->own->job;
    d->own->accounts = calloc(plan->breaker_count + 1, sizeof *d->own->accounts);
    job->breakers.accounts = calloc(job->ask.what->breaker_count + 1, sizeof(SbMemory *));
    if (!d->own->accounts || !job->breakers.accounts) return false;
    SbMemory *memory = &job->machine.memory;
    uint32_t lanes = job->breakers.lanes;
    // Writers' buffers, which floors hold too, are the job's.
    int64_t buffers = spill_buffer_bytes(memory->limit, lanes) * lanes;
    for (uint16_t b = 0; b < plan->breaker_count; b++) {
        Account *account = &d->own->accounts[b];
        int64_t floor = plan->breakers[b].floor - buffers;
        if (!sb_memory_promise(memory, floor)) return false;
        *account = (Account){.d = d, .id = {b}, .breaker = d->plan->breakers[b], .floor = floor};
        account->memory = (SbMemory){.limit = floor,
                                     .block_max = memory->block_max,
                                     .eager = memory->eager,
                                     .whole = memory,
                                     .more = account_more, .less = account_less,
                                     .head_max = HEAD_BLOCKS * memory->block_max * lanes};
        sb_memory_calm(&account->memory);
        job->breakers.accounts[account->breaker] = &account->memory;
    }
    // Those who read rows back need not fear that breakers take what they need.
    memory->short_at = memory->limit;
    return true;
}

// A stage that still runs may open it once more: the floor stays.
void account_close(Account *account) {
    SbMemory *memory = &account->memory;
    sb_memory_recall(whole(account), memory->limit - account->floor);
    memory->limit = account->floor;
    account->told = 0;
    sb_memory_calm(memory);
}

void accounts_close(Dispatch *d) {
    for (uint16_t b = 0; d->own->accounts && b < d->plan->plan.breaker_count; b++)
        if (d->own->accounts[b].d)
            sb_memory_recall(d->own->memory, d->own->accounts[b].memory.limit);
    free(d->own->accounts);
    free(d->own->job->breakers.accounts);
    d->own->job->breakers.accounts = nullptr;
}
