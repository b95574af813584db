#include "tests/sim/network.h"

#include "runtime/core/membership.h"

#include <stdlib.h>

static const int64_t MS = 1000000;

// Lists of what was to be said in this life of the worker, by number.
typedef struct Box {
    Order *orders;
    Report *reports;
    uint32_t count, max, sent, taken;
} Box;

typedef enum FlightKind : uint8_t { FLIGHT_HELLO, FLIGHT_WELCOME, FLIGHT_MESSAGE } FlightKind;

// A message on its way.
typedef struct Flight {
    uint32_t unused;  // Next of the free list.
    FlightKind kind;
    bool to_worker;
    NodeId node;
    uint32_t process;  // What is meant for one process never reaches another.
    Message message;
} Flight;

typedef struct Worker {
    uint32_t process;  // Counts them.
    bool runs, welcome;
    bool owed;  // The coordinator has not acknowledged what it got last.
    Link link;
    int64_t hangs_until, hello_at, beat_at, reaped_at;
    Box reports;
} Worker;

struct Network {
    Membership membership;
    Member members[NODES_SIMULATED];
    Worker workers[NODES_SIMULATED];
    Box orders[NODES_SIMULATED];
    Flight *flights;
    uint32_t flight_count, flight_max, flight_unused;
    uint32_t faults;  // That workers may still have.
};

bool is_remote(const Sim *sim, NodeId node) { return sim->network && node.i > 0; }

int64_t network_hangs(const Sim *sim, NodeId node) {
    if (!is_remote(sim, node)) return 0;
    int64_t until = sim->network->workers[node.i].hangs_until;
    return until > sim->now ? until : 0;
}

static bool chance(Sim *sim, uint64_t of) { return draw(&sim->random) % of == 0; }

// ---- messages -----------------------------------------------------------------------------------

static uint32_t flight_new(Network *network) {
    uint32_t id = network->flight_unused;
    if (id) {
        network->flight_unused = network->flights[id].unused;
        return id;
    }
    if (network->flight_count + 1 >= network->flight_max) {
        network->flight_max = network->flight_max ? 2 * network->flight_max : 256;
        network->flights = realloc(network->flights,
                                   network->flight_max * sizeof *network->flights);
    }
    return ++network->flight_count;
}

// One in twenty comes twice, one in fifty never, one in fifty late.
static void fly(Sim *sim, Flight flight) {
    Network *network = sim->network;
    flight.process = network->workers[flight.node.i].process;
    for (int copies = chance(sim, 20) ? 2 : 1; copies; copies--) {
        if (chance(sim, 50)) continue;
        uint32_t id = flight_new(network);
        network->flights[id] = flight;
        int64_t takes = between(&sim->random, 1, chance(sim, 50) ? 400 : 4) * MS;
        sim_push(sim, (Pending){.at = sim->now + takes, .what = HAPPEN_FLIGHT, .data = id});
    }
}

static void send(Sim *sim, bool to_worker, NodeId node, Message message) {
    sim->result.messages++;
    if (to_worker) sim->network->workers[node.i].owed = false;
    fly(sim,
        (Flight){.kind = FLIGHT_MESSAGE, .to_worker = to_worker, .node = node, .message = message});
}

// What stands in the box goes out as far as the window allows.
static void pump(Sim *sim, NodeId node, bool to_worker) {
    Network *network = sim->network;
    Worker *worker = &network->workers[node.i];
    Box *box = to_worker ? &network->orders[node.i] : &worker->reports;
    Link *link = to_worker ? &network->members[node.i].link : &worker->link;
    bool open = to_worker ? membership_is_live(&network->membership, node)
                          : worker->runs && worker->welcome;
    while (open && box->sent < box->count && !link_is_full(link))
        send(sim, to_worker, node, link_send(link, box->sent++, sim->now));
}

static void box_grow(Box *box, bool orders) {
    if (box->count < box->max) return;
    box->max = box->max ? 2 * box->max : 64;
    if (orders)
        box->orders = realloc(box->orders, box->max * sizeof *box->orders);
    else
        box->reports = realloc(box->reports, box->max * sizeof *box->reports);
}

static void box_empty(Box *box) { box->count = box->sent = box->taken = 0; }

void network_order(Sim *sim, NodeId node, const Order *order) {
    Box *box = &sim->network->orders[node.i];
    box_grow(box, true);
    box->orders[box->count++] = *order;
    pump(sim, node, true);
}

void network_report(Sim *sim, NodeId node, const Report *report) {
    Box *box = &sim->network->workers[node.i].reports;
    box_grow(box, false);
    box->reports[box->count++] = *report;
    pump(sim, node, false);
}

// What was delivered has to be what comes next, once.
static bool take(Sim *sim, Box *box, uint64_t number) {
    if (number != box->taken || number >= box->sent) {
        sim_fail(sim, "a message is delivered twice, or out of order");
        return false;
    }
    box->taken++;
    return true;
}

// ---- coordinator --------------------------------------------------------------------------------

// What the worker had goes to others, and its process is stopped.
static void lose(Sim *sim, NodeId node) {
    Worker *worker = &sim->network->workers[node.i];
    Box *box = &worker->reports;
    for (uint32_t i = box->taken; i < box->count; i++) sim_forget(sim, &box->reports[i]);
    box_empty(box);
    box_empty(&sim->network->orders[node.i]);
    worker->runs = worker->welcome = false;
    worker->reaped_at = sim->now + between(&sim->random, 1, 2000) * MS;
    sim->result.losses++;
    sim_lose(sim, node);
}

static void answer(Sim *sim, NodeId node, MemberAnswer what, uint64_t payload) {
    Network *network = sim->network;
    switch (what) {
    case MEMBER_NOTHING:
    case MEMBER_REFUSE: break;
    case MEMBER_WELCOME:
        fly(sim, (Flight){.kind = FLIGHT_WELCOME,
                          .to_worker = true,
                          .node = node,
                          .message = {.epoch = network->members[node.i].link.epoch}});
        sim_up(sim, node);
        break;
    case MEMBER_LOSE: lose(sim, node); break;
    case MEMBER_DELIVER: {
        Box *box = &network->workers[node.i].reports;
        if (!take(sim, box, payload)) break;
        const Report report = box->reports[payload];
        sim_take(sim, &report);
        break;
    }
    }
    if (network->membership.wrong) sim_fail(sim, network->membership.wrong);
}

static void coordinate(Sim *sim, NodeId node) {
    Network *network = sim->network;
    Worker *worker = &network->workers[node.i];
    Member *member = &network->members[node.i];
    answer(sim, node, membership_tick(&network->membership, node, sim->now), 0);
    if (member->state == WORKER_LOST && sim->now >= worker->reaped_at) {
        membership_reaped(&network->membership, node);
        *worker = (Worker){.process = worker->process + 1,
                           .runs = true,
                           .hello_at = sim->now,
                           .reports = worker->reports};
    }
    if (!membership_is_live(&network->membership, node)) return;
    pump(sim, node, true);
    Message again = link_again(&member->link, sim->now);
    if (again.number) send(sim, true, node, again);
    if (worker->owed) send(sim, true, node, link_ack(&member->link));
}

// ---- workers ------------------------------------------------------------------------------------

// It hangs, or stops and begins anew, and nobody tells the coordinator.
static void may_fault(Sim *sim, NodeId node) {
    Network *network = sim->network;
    Worker *worker = &network->workers[node.i];
    if (!network->faults || !chance(sim, 100)) return;
    network->faults--;
    if (chance(sim, 2)) {
        worker->hangs_until = sim->now + between(&sim->random, 100, 6000) * MS;
        return;
    }
    *worker = (Worker){.process = worker->process + 1,
                       .runs = true,
                       .hello_at = sim->now + between(&sim->random, 0, 5000) * MS,
                       .reports = worker->reports};
    sim_stop(sim, node);
}

static void work(Sim *sim, NodeId node) {
    Worker *worker = &sim->network->workers[node.i];
    if (worker->runs) may_fault(sim, node);
    if (!worker->runs || network_hangs(sim, node)) return;
    if (!worker->welcome) {
        if (sim->now < worker->hello_at) return;
        worker->hello_at = sim->now + 200 * MS;
        fly(sim, (Flight){.kind = FLIGHT_HELLO, .node = node});
        return;
    }
    pump(sim, node, false);
    Message again = link_again(&worker->link, sim->now);
    if (again.number) send(sim, false, node, again);
    if (sim->now < worker->beat_at) return;
    worker->beat_at = sim->now + 400 * MS;
    send(sim, false, node, link_ack(&worker->link));
}

static void arrive_at_worker(Sim *sim, const Flight *flight) {
    Worker *worker = &sim->network->workers[flight->node.i];
    if (!worker->runs || flight->process != worker->process) return;
    if (flight->kind == FLIGHT_WELCOME) {
        if (!worker->welcome) link_open(&worker->link, flight->message.epoch);
        worker->welcome = true;
        return;
    }
    if (!worker->welcome || !link_take(&worker->link, &flight->message)) return;
    Box *box = &sim->network->orders[flight->node.i];
    if (!take(sim, box, flight->message.payload)) return;
    const Order order = box->orders[flight->message.payload];
    sim_obey(sim, &order);
}

static void arrive_at_coordinator(Sim *sim, const Flight *flight) {
    Network *network = sim->network;
    const Message *message = &flight->message;
    // Old ones too: the acknowledgement may have been lost.
    if (message->number) network->workers[flight->node.i].owed = true;
    answer(sim, flight->node,
           membership_message(&network->membership, flight->node, message, sim->now),
           message->payload);
}

// ---- what happens -------------------------------------------------------------------------------

void network_arrive(Sim *sim, uint64_t id) {
    Network *network = sim->network;
    const Flight flight = network->flights[id];
    NodeId node = flight.node;
    int64_t hangs = flight.to_worker ? network_hangs(sim, node) : 0;
    if (hangs) {
        sim_push(sim, (Pending){.at = hangs, .what = HAPPEN_FLIGHT, .data = id});
        return;
    }
    network->flights[id].unused = network->flight_unused;
    network->flight_unused = (uint32_t)id;
    if (flight.to_worker)
        arrive_at_worker(sim, &flight);
    else if (flight.kind == FLIGHT_HELLO)
        answer(sim, node, membership_hello(&network->membership, node, sim->now), 0);
    else
        arrive_at_coordinator(sim, &flight);
}

// Has all been heard? The run may end while a partition that nobody wants is still being written.
static bool is_quiet(const Sim *sim) {
    static const double LONG_ENOUGH = 60;
    if (!sim->ended) return false;
    bool alive = false;
    for (uint32_t i = 1; i < sim->part_count; i++) alive |= sim->parts[i].alive;
    return !alive || (double)sim->now / (double)SECOND > sim->result.seconds + LONG_ENOUGH;
}

void network_pulse(Sim *sim, NodeId node) {
    static const int64_t TOO_LONG = 50'000 * SECOND;
    if (is_quiet(sim)) return;
    if (sim->now > TOO_LONG) sim_fail(sim, "it does not end");
    coordinate(sim, node);
    work(sim, node);
    sim_push(sim, (Pending){.at = sim->now + 50 * MS, .what = HAPPEN_PULSE, .node = node});
}

void network_open(Sim *sim) {
    Network *network = sim->network = calloc(1, sizeof *network);
    uint32_t nodes = plan_node_count(&sim->plan);
    network->faults = sim->load->losses;
    membership_init(&network->membership, network->members, nodes,
                    (MemberTimes){1000 * MS, 3000 * MS});
    for (uint16_t n = 1; n < nodes; n++) {
        Worker *worker = &network->workers[n];
        membership_hello(&network->membership, (NodeId){n}, 0);
        *worker = (Worker){.process = 1, .runs = true, .welcome = true};
        link_open(&worker->link, network->members[n].link.epoch);
        sim_push(sim, (Pending){.at = n * MS, .what = HAPPEN_PULSE, .node = {n}});
    }
}

void network_close(Sim *sim) {
    Network *network = sim->network;
    if (!network) return;
    for (uint32_t n = 0; n < NODES_SIMULATED; n++)
        free(network->workers[n].reports.reports), free(network->orders[n].orders);
    free(network->flights), free(network);
}
