// Topics: what is no step and no function, topics.def.
#ifndef SBC_FRONTEND_TOPICS_H
#define SBC_FRONTEND_TOPICS_H

enum {
    TOPIC_COUNT = 0
#define TOPIC(...) +1
#include "frontend/topics.def"
};

// What `sbc doc` says of one.
typedef struct Topic {
    const char *group;
    const char *names;    // With a space before and after each.
    const char *forms;    // Ways to write it, one a line.
    const char *doc;
    const char *example;  // A flow or a program.
} Topic;

extern const Topic topics[TOPIC_COUNT];

#endif
