// Membership: which workers there are, and which of their messages count.
//
// A transport may deliver messages late, twice, in another order or never, and a worker may be
// slow, gone, or gone and back. Each life of a worker has an epoch, which the coordinator gives it.
// Within it, messages are numbered in both directions. Each side takes only the next number of the
// right epoch, keeps what the other side has not acknowledged, and sends it again after a while. So
// what is delivered is delivered once and in order, and nothing of an earlier life ever is. Whoever
// gets a numbered message, an old one too, owes an acknowledgement: with the next message of its
// own, or soon alone (link_ack). Without it the other side sends the same for ever.
//
// A worker that is silent is first suspected, and gets no new work. Then it is lost: its work is
// given to others at once (EVENT_NODE_LOST). Its memory and names are given to others only after it
// was stopped and reaped.
#ifndef SBC_RUNTIME_CORE_MEMBERSHIP_H
#define SBC_RUNTIME_CORE_MEMBERSHIP_H

#include "runtime/core/plan.h"
#include "runtime/core/states.h"

enum { LINK_WINDOW = 64 };  // Messages that are sent and not acknowledged.

typedef struct Message {
    uint32_t epoch, number;  // number 0: it carries only an acknowledgement.
    uint32_t ack;            // The last number that its sender has received.
    uint64_t payload;        // The caller's.
} Message;

// One end of a connection. Both sides use it.
typedef struct Link {
    uint32_t epoch;
    uint32_t sent, acked;  // Last number sent; last that the other side has.
    uint32_t received;     // Last number taken.
    int64_t resend_at;
    uint64_t kept[LINK_WINDOW];
} Link;

void link_open(Link *link, uint32_t epoch);
bool link_is_full(const Link *link);
// Numbers the payload and keeps it until it is acknowledged; the link is not full.
Message link_send(Link *link, uint64_t payload, int64_t now);
// Is the message the next one? Old, foreign and early ones are not; acknowledgements always count.
bool link_take(Link *link, const Message *message);
// The oldest message that should be sent again now; number 0: none.
Message link_again(Link *link, int64_t now);
// An acknowledgement alone.
Message link_ack(const Link *link);

typedef struct MemberTimes {
    int64_t suspect, lose;
} MemberTimes;  // Nanoseconds of silence.

typedef struct Member {
    State state;
    Link link;
    int64_t heard;
} Member;

typedef struct Membership {
    Member *members;
    uint32_t count;
    MemberTimes times;
    const char *wrong;  // A transition that the table does not know.
} Membership;

// What the caller has to do after an event.
typedef enum MemberAnswer : uint8_t {
    MEMBER_NOTHING,
    MEMBER_WELCOME,  // Tell the worker its epoch: the node is up.
    MEMBER_DELIVER,  // The message's payload counts.
    MEMBER_REFUSE,   // Tell the worker that its life is over.
    MEMBER_LOSE,     // The node is lost; stop the worker, then call membership_reaped.
} MemberAnswer;

// `members` is the caller's room, zeroed.
void membership_init(Membership *m, Member *members, uint32_t count, MemberTimes times);
// A worker begins a life.
MemberAnswer membership_hello(Membership *m, NodeId node, int64_t now);
MemberAnswer membership_message(Membership *m, NodeId node, const Message *message, int64_t now);
// Its connection broke.
MemberAnswer membership_closed(Membership *m, NodeId node);
MemberAnswer membership_tick(Membership *m, NodeId node, int64_t now);
// The coordinator itself stood still for so long. What its workers said meanwhile is not heard yet.
void membership_slept(Membership *m, int64_t ns);
// It runs no more.
void membership_reaped(Membership *m, NodeId node);
// Does it live, as far as is known? Then it is told what it has to know, however silent it is.
bool membership_is_there(const Membership *m, NodeId node);
// May it get new work?
bool membership_is_live(const Membership *m, NodeId node);

#endif
