#include "runtime/wire/welcome.h"

#include "runtime/input.h"

#define HELLO_FIELDS(NUMBER, SUM) \
    NUMBER(abi) NUMBER(wire) NUMBER(node) NUMBER(pid) NUMBER(memory) NUMBER(threads) SUM(program)
#define WELCOME_FIELDS(NUMBER) \
    NUMBER(memory) NUMBER(block_max) NUMBER(partition) NUMBER(threads) NUMBER(lanes) \
    NUMBER(sets) NUMBER(first_file) NUMBER(node) NUMBER(arenas) NUMBER(base) NUMBER(span) \
    NUMBER(spill_from) NUMBER(timeout_ns)

void wire_put_hello(Text *text, const Hello *is) {
    HELLO_FIELDS(PACK_NUMBER, PACK_SUM)
    pack_string(text, is->host);
}

bool wire_get_hello(Unpack *from, Hello *is) {
    HELLO_FIELDS(UNPACK_NUMBER, UNPACK_SUM)
    is->host = unpack_string(from);
    return !from->bad;
}

void wire_put_welcome(Text *text, const Welcome *is, const SbJob *what, const Source *sources) {
    WELCOME_FIELDS(PACK_NUMBER)
    wire_put_slots(text, &is->slots);
    pack_string(text, is->spill);
    for (uint32_t s = 0; s < what->source_count; s++) source_pack(text, &sources[s]);
}

bool wire_get_welcome_head(Unpack *from, Welcome *is) {
    WELCOME_FIELDS(UNPACK_NUMBER)
    if (!wire_get_slots(from, &is->slots)) return false;
    is->spill = unpack_string(from);
    bool parts = is->lanes == 0 || (is->sets > 0 && is->sets <= WIRE_SETS_MAX);
    return !from->bad && parts;
}

bool wire_get_welcome(Unpack *from, Welcome *is, const SbJob *what, Source *sources) {
    bool good = wire_get_welcome_head(from, is);
    for (uint32_t s = 0; s < what->source_count && good; s++)
        good = source_unpack(from, &sources[s]);
    return good;
}

void wire_put_header(Text *text, const Source *source, uint32_t file) {
    pack_number(text, source->number);
    source_pack_header(text, source, file);
}

bool wire_get_header(Unpack *from, const SbJob *what, Source *sources) {
    int64_t number = unpack_number(from);
    return number >= 0 && number < what->source_count &&
           source_unpack_header(from, &sources[number]);
}
