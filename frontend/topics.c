#include "frontend/topics.h"

const Topic topics[TOPIC_COUNT] = {
#define TOPIC(group, names, forms, doc, example) {group, names, forms, doc, example},
#include "frontend/topics.def"
};
