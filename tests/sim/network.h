// Network: between the coordinator on the first node and the workers on the others.
//
// What the schedule says to a task of another node is an order, what happens to it a report. Both
// travel as numbered messages of membership over links that delay, double, reorder and lose them.
// What membership says of a worker becomes the schedule's events: a worker that is silent for too
// long, or began anew, is lost; when it was stopped and has said hello again, its node is up.
#ifndef SBC_TESTS_SIM_NETWORK_H
#define SBC_TESTS_SIM_NETWORK_H

#include "tests/sim/machine.h"

// All workers have said hello.
void network_open(Sim *sim);
void network_close(Sim *sim);

bool is_remote(const Sim *sim, NodeId node);
void network_order(Sim *sim, NodeId node, const Order *order);
void network_report(Sim *sim, NodeId node, const Report *report);
// Until when the node's worker does nothing; 0: it works.
int64_t network_hangs(const Sim *sim, NodeId node);

// A message arrives.
void network_arrive(Sim *sim, uint64_t flight);
// What coordinator and worker do from time to time.
void network_pulse(Sim *sim, NodeId node);

#endif
