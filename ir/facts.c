#include "ir/facts.h"

#include <stdlib.h>

static const struct { const char *name, *meaning; } facts[] = {
#define FACT(name, text, meaning) {text, meaning},
    EACH_FACT(FACT)
#undef FACT
};

const char *fact_name(FactIndex fact) { return facts[fact].name; }
const char *fact_meaning(FactIndex fact) { return facts[fact].meaning; }

bool facts_meet(Facts holds, Facts needs, const char *pass, TextBuf *errors) {
    for (uint32_t i = 0; i < FACT_COUNT; i++)
        if (needs & ~holds & ((Facts)1 << i))
            text_buf_format(errors, "pass %s needs '%s': %s\n", pass, facts[i].name,
                            facts[i].meaning);
    return !(needs & ~holds);
}

void pass_must(bool good, TextBuf *errors, const char *mistake, const char *pass) {
    if (!good && PASSES_CHECKED) {
        fprintf(stderr, "sbc: %s %s:\n%.*s", mistake, pass, (int)errors->len, errors->at);
        abort();
    }
    text_buf_free(errors);
}
