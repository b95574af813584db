#include "runtime/core/membership.h"

// ---- links --------------------------------------------------------------------------------------

static const int64_t RESEND_AFTER = 50'000'000;  // Nanoseconds without an acknowledgement.

void link_open(Link *link, uint32_t epoch) { *link = (Link){.epoch = epoch}; }

bool link_is_full(const Link *link) { return link->sent - link->acked == LINK_WINDOW; }

static Message message_of(const Link *link, uint32_t number) {
    return (Message){link->epoch, number, link->received, link->kept[number % LINK_WINDOW]};
}

Message link_send(Link *link, uint64_t payload, int64_t now) {
    if (link->sent == link->acked) link->resend_at = now + RESEND_AFTER;
    link->sent++;
    link->kept[link->sent % LINK_WINDOW] = payload;
    return message_of(link, link->sent);
}

bool link_take(Link *link, const Message *message) {
    if (message->epoch != link->epoch) return false;
    bool acks = message->ack - link->acked <= link->sent - link->acked;
    if (acks) link->acked = message->ack;
    if (message->number != link->received + 1) return false;
    link->received++;
    return true;
}

Message link_again(Link *link, int64_t now) {
    if (link->sent == link->acked || now < link->resend_at) return (Message){0};
    link->resend_at = now + RESEND_AFTER;
    return message_of(link, link->acked + 1);
}

Message link_ack(const Link *link) { return (Message){link->epoch, 0, link->received, 0}; }

// ---- members ------------------------------------------------------------------------------------

void membership_init(Membership *m, Member *members, uint32_t count, MemberTimes times) {
    *m = (Membership){.members = members, .count = count, .times = times};
    for (uint32_t i = 0; i < count; i++) members[i].state = WORKER_ABSENT;
}

static void member_go(Membership *m, Member *member, State to) {
    if (!state_go(&member->state, to)) m->wrong = "a worker cannot go from that state to this one";
}

static bool is_there(const Member *member) {
    return member->state == WORKER_LIVE || member->state == WORKER_SUSPECT;
}

static MemberAnswer lose(Membership *m, Member *member) {
    member_go(m, member, WORKER_LOST);
    return MEMBER_LOSE;
}

MemberAnswer membership_hello(Membership *m, NodeId node, int64_t now) {
    Member *member = &m->members[node.i];
    // It began anew and nobody noticed: the life before is lost first.
    if (is_there(member)) return lose(m, member);
    if (member->state == WORKER_LOST) return MEMBER_NOTHING;
    member_go(m, member, WORKER_LIVE);
    link_open(&member->link, member->link.epoch + 1);
    member->heard = now;
    return MEMBER_WELCOME;
}

MemberAnswer membership_message(Membership *m, NodeId node, const Message *message, int64_t now) {
    Member *member = &m->members[node.i];
    if (!is_there(member) || message->epoch != member->link.epoch) return MEMBER_REFUSE;
    member->heard = now;
    if (member->state == WORKER_SUSPECT) member_go(m, member, WORKER_LIVE);
    return link_take(&member->link, message) ? MEMBER_DELIVER : MEMBER_NOTHING;
}

MemberAnswer membership_closed(Membership *m, NodeId node) {
    Member *member = &m->members[node.i];
    return is_there(member) ? lose(m, member) : MEMBER_NOTHING;
}

MemberAnswer membership_tick(Membership *m, NodeId node, int64_t now) {
    Member *member = &m->members[node.i];
    if (!is_there(member)) return MEMBER_NOTHING;
    int64_t silent = now - member->heard;
    if (silent >= m->times.lose) return lose(m, member);
    if (member->state == WORKER_LIVE && silent >= m->times.suspect)
        member_go(m, member, WORKER_SUSPECT);
    return MEMBER_NOTHING;
}

void membership_slept(Membership *m, int64_t ns) {
    for (uint32_t i = 0; i < m->count; i++) m->members[i].heard += ns;
}

void membership_reaped(Membership *m, NodeId node) {
    member_go(m, &m->members[node.i], WORKER_REAPED);
}

bool membership_is_there(const Membership *m, NodeId node) {
    return is_there(&m->members[node.i]);
}

bool membership_is_live(const Membership *m, NodeId node) {
    return m->members[node.i].state == WORKER_LIVE;
}
