#include "tests/sim/chain.h"

#include "tests/sim/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 7, NAME_MAX = 32 };

typedef struct Names {
    char of[LINKS_MAX][NAME_MAX];
} Names;

static bool read_link(ChainLink *link, char *name, const char *word) {
    unsigned resource = 0;
    long long bytes = 0;
    int fields = sscanf(word, "%31[^:]:%u:%lf:%lf:%lld", name, &resource, &link->row_seconds,
                        &link->late_seconds, &bytes);
    link->name = name, link->resource = (uint8_t)resource, link->row_bytes = bytes;
    return fields == 5 && resource < 2;
}

static bool read_kind(Workload *load, const char *word) {
    load->spikes = strcmp(word, "spiky") == 0;
    load->phased = strcmp(word, "phased") == 0;
    load->skewed = strcmp(word, "skewed") == 0;
    return load->spikes || load->phased || load->skewed || strcmp(word, "plain") == 0;
}

static bool read_chain(Workload *load, Names *names, int count, char **words) {
    if (count <= HEAD || count > HEAD + LINKS_MAX) return false;
    Chain chain = {.cpus = (uint32_t)atoi(words[0]),
                   .accelerators = (uint32_t)atoi(words[1]),
                   .units = (uint32_t)atoi(words[2]),
                   .unit_rows = atoll(words[3]),
                   .cut_rows = atoll(words[4]),
                   .count = (uint8_t)(count - HEAD)};
    for (int i = 0; i < chain.count; i++)
        if (!read_link(&chain.links[i], names->of[i], words[HEAD + i])) return false;
    load->name = "chain";
    workload_chain(load, &chain, atoll(words[5]));
    return read_kind(load, words[6]);
}

static SimResult run(const Workload *load, PolicyId policy) {
    SimOptions options = {.policy = policy, .beyond = -1, .disk_rate = 1e9, .seed = 1};
    return sim_run(load, &options);
}

bool chain_print(int count, char **words) {
    Workload load = {0};
    Names names;
    if (!read_chain(&load, &names, count, words)) {
        fprintf(stderr, "sim: chain: expected CPUS ACCELERATORS UNITS ROWS CUT MEMORY KIND "
                        "NAME:RESOURCE:SECONDS:LATE:BYTES...\n");
        return false;
    }
    bool good = true;
    for (PolicyId p = 0; p < POLICIES; p++) {
        SimResult result = run(&load, p);
        if (p == 0) printf("bound %.4f\n", table_bound(&load, &result));
        printf("%s %.4f\n", policy_of(p)->name, result.seconds);
        if (result.wrong) fprintf(stderr, "sim: chain: %s\n", result.text);
        good &= !result.wrong;
    }
    // The same without order: the last stage takes partitions as they come.
    load.plan.stages[load.plan.stage_count - 1].kind = STAGE_MAP;
    SimResult result = run(&load, POLICY_FULL);
    printf("unordered %.4f\n", result.seconds);
    return good && !result.wrong;
}
