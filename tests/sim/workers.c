// The coordinator gives pieces of work to workers over links and takes their results. Between them
// is a network that delays, doubles, reorders and loses messages, and workers that stop, hang or
// begin anew. Each piece must be accepted once, from the life of the worker that it was given to.
#include "tests/sim/workers.h"

#include "runtime/core/membership.h"
#include "tests/sim/workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORKERS = 6, PIECES = 400, FLIGHTS = 4096, OUTSTANDING = 8 };

static const int64_t MS = 1000000;

typedef enum FlightKind : uint8_t { FLIGHT_HELLO, FLIGHT_WELCOME, FLIGHT_MESSAGE } FlightKind;

// A message on its way.
typedef struct Flight {
    int64_t at;
    FlightKind kind;
    bool to_worker;
    uint16_t worker;
    uint32_t life;  // Of the worker: what was sent to an earlier process never arrives.
    Message message;
} Flight;

typedef struct Worker {
    uint32_t life;  // Counts processes.
    bool runs, welcome;
    Link link;
    int64_t hangs_until, hello_at, beat_at, reaped_at;
    uint64_t work[LINK_WINDOW];
    uint32_t work_count;
} Worker;

typedef struct Cluster {
    Membership membership;
    Member members[WORKERS];
    Worker workers[WORKERS];
    Flight flights[FLIGHTS];
    uint32_t flight_count;
    uint64_t random;
    int64_t now;
    uint16_t given_to[PIECES];  // Worker and one; 0: to nobody.
    bool accepted[PIECES];
    uint32_t accepted_count, outstanding[WORKERS], losses, doubles;
    uint64_t last_result[WORKERS];
    const char *wrong;
} Cluster;

static bool chance(Cluster *c, uint64_t of) { return draw(&c->random) % of == 0; }

// ---- network ------------------------------------------------------------------------------------

static void fly(Cluster *c, Flight flight) {
    for (int copies = chance(c, 12) ? 2 : 1; copies; copies--) {
        if (chance(c, 10) || c->flight_count == FLIGHTS) continue;
        flight.at = c->now + between(&c->random, 1, chance(c, 20) ? 400 : 10) * MS;
        c->flights[c->flight_count++] = flight;
    }
}

static void send(Cluster *c, bool to_worker, uint16_t w, Message message) {
    fly(c, (Flight){.kind = FLIGHT_MESSAGE,
                    .to_worker = to_worker,
                    .worker = w,
                    .life = c->workers[w].life,
                    .message = message});
}

// ---- coordinator --------------------------------------------------------------------------------

// What the worker had is given to others, and its process is stopped.
static void lose(Cluster *c, uint16_t w) {
    for (uint32_t p = 0; p < PIECES; p++)
        if (c->given_to[p] == w + 1 && !c->accepted[p]) c->given_to[p] = 0;
    c->outstanding[w] = 0;
    c->losses++;
    c->workers[w].runs = false;
    c->workers[w].reaped_at = c->now + between(&c->random, 1, 50) * MS;
}

static void answer(Cluster *c, uint16_t w, MemberAnswer what, uint64_t payload) {
    const Member *member = &c->members[w];
    switch (what) {
    case MEMBER_NOTHING:
    case MEMBER_REFUSE: break;
    case MEMBER_WELCOME:
        c->last_result[w] = 0;
        fly(c, (Flight){.kind = FLIGHT_WELCOME,
                        .to_worker = true,
                        .worker = w,
                        .life = c->workers[w].life,
                        .message = {.epoch = member->link.epoch}});
        break;
    case MEMBER_LOSE: lose(c, w); break;
    case MEMBER_DELIVER:
        if (payload >> 32 <= c->last_result[w]) c->wrong = "results of a life are out of order";
        c->last_result[w] = payload >> 32;
        payload &= UINT32_MAX;
        if (c->accepted[payload]) c->wrong = "a piece is accepted twice";
        if (c->given_to[payload] != w + 1) c->wrong = "a piece comes from whom it was not given to";
        c->accepted[payload] = true;
        c->accepted_count++;
        c->outstanding[w]--;
        break;
    }
}

static void coordinate(Cluster *c, uint16_t w) {
    NodeId node = {w};
    Member *member = &c->members[w];
    answer(c, w, membership_tick(&c->membership, node, c->now), 0);
    if (member->state == WORKER_LOST && c->now >= c->workers[w].reaped_at) {
        membership_reaped(&c->membership, node);
        c->workers[w] = (Worker){.life = c->workers[w].life + 1, .runs = true, .hello_at = c->now};
    }
    if (!membership_is_live(&c->membership, node)) return;
    Message again = link_again(&member->link, c->now);
    if (again.number) send(c, true, w, again);
    for (uint32_t p = 0; p < PIECES && c->outstanding[w] < OUTSTANDING; p++) {
        if (c->given_to[p] || link_is_full(&member->link)) continue;
        c->given_to[p] = w + 1;
        c->outstanding[w]++;
        send(c, true, w, link_send(&member->link, p, c->now));
    }
}

// ---- workers ------------------------------------------------------------------------------------

static void work(Cluster *c, uint16_t w) {
    Worker *worker = &c->workers[w];
    if (!worker->runs || c->now < worker->hangs_until) return;
    if (chance(c, 3000)) worker->hangs_until = c->now + between(&c->random, 100, 1500) * MS;
    if (chance(c, 4000)) {
        // It stops and begins anew, and nobody tells the coordinator.
        *worker = (Worker){.life = worker->life + 1, .runs = true, .hello_at = c->now};
        return;
    }
    if (!worker->welcome) {
        if (c->now < worker->hello_at) return;
        worker->hello_at = c->now + 100 * MS;
        fly(c, (Flight){.kind = FLIGHT_HELLO, .worker = w, .life = worker->life});
        return;
    }
    Message again = link_again(&worker->link, c->now);
    if (again.number) send(c, false, w, again);
    if (c->now >= worker->beat_at) {
        worker->beat_at = c->now + 40 * MS;
        send(c, false, w, link_ack(&worker->link));
    }
    if (!worker->work_count || link_is_full(&worker->link) || chance(c, 2)) return;
    uint64_t piece = worker->work[0] | ((uint64_t)worker->link.sent + 1) << 32;
    memmove(worker->work, worker->work + 1, --worker->work_count * sizeof *worker->work);
    send(c, false, w, link_send(&worker->link, piece, c->now));
}

static void arrive(Cluster *c, const Flight *flight) {
    Worker *worker = &c->workers[flight->worker];
    NodeId node = {flight->worker};
    if (flight->to_worker) {
        if (!worker->runs || flight->life != worker->life) return;
        if (flight->kind == FLIGHT_WELCOME) {
            if (!worker->welcome) link_open(&worker->link, flight->message.epoch);
            worker->welcome = true;
        } else if (worker->welcome && link_take(&worker->link, &flight->message)) {
            worker->work[worker->work_count++] = flight->message.payload;
        }
        return;
    }
    // A hello that is late may be of a process that is gone: its epoch gets no answer, and it is
    // lost.
    if (flight->kind == FLIGHT_HELLO)
        answer(c, node.i, membership_hello(&c->membership, node, c->now), 0);
    else
        answer(c, node.i, membership_message(&c->membership, node, &flight->message, c->now),
               flight->message.payload);
}

// ---- a run --------------------------------------------------------------------------------------

static void pass(Cluster *c) {
    c->now += MS;
    for (uint32_t i = 0; i < c->flight_count;) {
        if (c->flights[i].at > c->now) {
            i++;
            continue;
        }
        Flight flight = c->flights[i];
        c->flights[i] = c->flights[--c->flight_count];
        arrive(c, &flight);
    }
    for (uint16_t w = 0; w < WORKERS; w++) coordinate(c, w);
    for (uint16_t w = 0; w < WORKERS; w++) work(c, w);
    if (c->membership.wrong) c->wrong = c->membership.wrong;
}

static const char *run(uint64_t seed, uint32_t *losses) {
    static Cluster cluster;
    Cluster *c = &cluster;
    *c = (Cluster){.random = seed};
    membership_init(&c->membership, c->members, WORKERS, (MemberTimes){200 * MS, 600 * MS});
    for (uint16_t w = 0; w < WORKERS; w++) c->workers[w] = (Worker){.life = 1, .runs = true};
    while (c->accepted_count < PIECES && !c->wrong) {
        pass(c);
        if (c->now > 600'000 * MS) c->wrong = "it does not end";
    }
    *losses += c->losses;
    return c->wrong;
}

unsigned workers_run(uint64_t first, uint64_t last, unsigned *passed) {
    unsigned failed = 0;
    uint32_t losses = 0;
    for (uint64_t seed = first; seed <= last; seed++) {
        const char *wrong = run(seed, &losses);
        failed += wrong != nullptr;
        *passed += !wrong;
        if (wrong) fprintf(stderr, "sim: workers, seed %" PRIu64 ": %s\n", seed, wrong);
    }
    printf("sim: %" PRIu64 " clusters of unreliable workers, %u lives lost\n", last - first + 1,
           losses);
    return failed;
}
