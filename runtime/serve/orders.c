// Orders: messages that wait for a thread. A task of the job may be here before there are slots for
// it, so that nobody waits for it to be sent. It begins when what runs leaves it slots.
//
//   ASK, FLUSH, TRY ─▶ in their order ─▶ slots are free, or nothing takes any ─▶ a thread
#include "runtime/serve/state.h"

#include "runtime/host.h"

#include <stdlib.h>
#include <string.h>

// With nothing at work anything fits, whatever it takes.
static bool fits(const Serve *s, const Order *order) {
    bool is = true;
    for (uint32_t r = 0; r < order->slots.count; r++)
        is &= s->used[r] + order->slots.amounts[r] <= s->slots.amounts[r];
    return is || s->at_work == 0;
}

static void use(Serve *s, const Order *order, bool begins) {
    s->at_work += begins ? 1 : UINT32_MAX;
    for (uint32_t r = 0; r < order->slots.count; r++)
        s->used[r] += begins ? order->slots.amounts[r] : -order->slots.amounts[r];
}

void orders_add(Serve *s, const Frame *frame) {
    Order *order = malloc(sizeof *order + (size_t)frame->len);
    if (!order) {
        s->over = s->failed = true;
        trouble_no_memory(&s->job->trouble, "for a message");
        return;
    }
    *order = (Order){.kind = frame->kind, .len = frame->len};
    memcpy(order->bytes, frame->bytes, (size_t)frame->len);
    Unpack from = {order->bytes, order->bytes + order->len, false};
    // What is no message of this job takes none: whoever reads it finds out.
    bool asks = frame->kind == WIRE_ASK && wire_peek_slots(from, &order->slots);
    if (!asks) order->slots = (WireSlots){0};
    if (s->last) s->last->next = order;
    else s->first = order;
    s->last = order;
}

// The first that may begin; what stands before it goes on waiting.
static Order *take(Serve *s) {
    Order *before = nullptr, *order = s->first;
    while (order && !fits(s, order)) before = order, order = order->next;
    if (!order) return nullptr;
    if (before) before->next = order->next;
    else s->first = order->next;
    if (s->last == order) s->last = before;
    use(s, order, true);
    return order;
}

static bool may_begin(const Serve *s) {
    const Order *order = s->first;
    while (order && !fits(s, order)) order = order->next;
    return order;
}

Order *orders_next(Serve *s, Order *done) {
    Order *order;
    pthread_mutex_lock(&s->lock);
    if (done) use(s, done, false);
    while (!(order = s->over ? nullptr : take(s)) && !s->over)
        pthread_cond_wait(&s->changed, &s->lock);
    bool more = order && may_begin(s);
    pthread_mutex_unlock(&s->lock);
    if (more) pthread_cond_signal(&s->changed);
    free(done);
    return order;
}

void orders_close(Serve *s) {
    for (Order *order = s->first, *next; order; order = next) {
        next = order->next;
        free(order);
    }
    s->first = s->last = nullptr;
}
