#include "runtime/dispatch/observer.h"

#define EACH(name) \
    for (const Observer *o = all->items; o < all->items + all->count; o++) \
        if (o->calls->name)

// ---- telling ------------------------------------------------------------------------------------

#define TELL0(name, doc) \
    void tell_##name(const Observers *all) { EACH(name) o->calls->name(o->self); }
#define TELL1(name, A, a, doc) \
    void tell_##name(const Observers *all, A a) { EACH(name) o->calls->name(o->self, a); }
#define TELL2(name, A, a, B, b, doc) \
    void tell_##name(const Observers *all, A a, B b) { EACH(name) o->calls->name(o->self, a, b); }
#define TELL3(name, A, a, B, b, C, c, doc)                      \
    void tell_##name(const Observers *all, A a, B b, C c) {     \
        EACH(name) o->calls->name(o->self, a, b, c);            \
    }

// ---- asking: who says no first, or yes first, is the last that is asked -------------------------

#define ALL1(name, A, a, doc)                                   \
    bool tell_##name(const Observers *all, A a) {               \
        EACH(name) if (!o->calls->name(o->self, a)) return false; \
        return true;                                            \
    }
#define ALL2(name, A, a, B, b, doc)                             \
    bool tell_##name(const Observers *all, A a, B b) {          \
        EACH(name) if (!o->calls->name(o->self, a, b)) return false; \
        return true;                                            \
    }
#define ANY1(name, A, a, doc)                                   \
    bool tell_##name(const Observers *all, A a) {               \
        EACH(name) if (o->calls->name(o->self, a)) return true; \
        return false;                                           \
    }

// ---- adding up ----------------------------------------------------------------------------------

#define LEAST0(name, doc)                                       \
    int64_t tell_##name(const Observers *all) {                 \
        int64_t least = INT64_MAX;                              \
        EACH(name) {                                            \
            int64_t own = o->calls->name(o->self);              \
            if (own < least) least = own;                       \
        }                                                       \
        return least;                                           \
    }
#define LEAST2(name, A, a, B, b, doc)                           \
    int64_t tell_##name(const Observers *all, A a, B b) {       \
        int64_t least = INT64_MAX;                              \
        EACH(name) {                                            \
            int64_t own = o->calls->name(o->self, a, b);        \
            if (own < least) least = own;                       \
        }                                                       \
        return least;                                           \
    }
#define SUM0(name, doc)                                         \
    uint32_t tell_##name(const Observers *all) {                \
        uint32_t sum = 0;                                       \
        EACH(name) sum += o->calls->name(o->self);              \
        return sum;                                             \
    }
#define SUM1(name, A, a, doc)                                   \
    uint32_t tell_##name(const Observers *all, A a) {           \
        uint32_t sum = 0;                                       \
        EACH(name) sum += o->calls->name(o->self, a);           \
        return sum;                                             \
    }
#define MOST2(name, A, a, B, b, doc)                            \
    uint32_t tell_##name(const Observers *all, A a, B b) {      \
        uint32_t most = 0;                                      \
        EACH(name) {                                            \
            uint32_t own = o->calls->name(o->self, a, b);       \
            if (own > most) most = own;                         \
        }                                                       \
        return most;                                            \
    }
#define MOST3(name, A, a, B, b, C, c, doc)                      \
    uint32_t tell_##name(const Observers *all, A a, B b, C c) { \
        uint32_t most = 0;                                      \
        EACH(name) {                                            \
            uint32_t own = o->calls->name(o->self, a, b, c);    \
            if (own > most) most = own;                         \
        }                                                       \
        return most;                                            \
    }

#include "runtime/dispatch/observers.def"
