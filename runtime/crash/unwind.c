#define _GNU_SOURCE  // REG_RIP
#include "runtime/crash/unwind.h"

#include "runtime/crash/bytes.h"

#include <ucontext.h>

enum {  // Pointer encodings.
    ENCODED_U4 = 0x03, ENCODED_S4 = 0x0b, ENCODED_S8 = 0x0c, ENCODED_RELATIVE = 0x10,
    ENCODED_DATA_RELATIVE = 0x30, ENCODED_KIND = 0x0f,
};
enum {  // Call frame instructions; the first three hold an operand in their low six bits.
    CFA_ADVANCE = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0, CFA_HIGH = 0xc0,
    CFA_NOP = 0, CFA_SET_LOCATION, CFA_ADVANCE1, CFA_ADVANCE2, CFA_ADVANCE4, CFA_OFFSET_EXTENDED,
    CFA_RESTORE_EXTENDED, CFA_UNDEFINED, CFA_SAME, CFA_REGISTER, CFA_REMEMBER, CFA_RECALL,
    CFA_DEFINE, CFA_DEFINE_REGISTER, CFA_DEFINE_OFFSET, CFA_DEFINE_EXPRESSION, CFA_EXPRESSION,
    CFA_OFFSET_SIGNED, CFA_DEFINE_SIGNED, CFA_DEFINE_OFFSET_SIGNED,
    CFA_ARGS_SIZE = 0x2e,
};

typedef enum RuleKind : uint8_t { RULE_SAME, RULE_SAVED, RULE_UNKNOWN } RuleKind;

typedef struct Rule {
    RuleKind kind;
    int64_t  offset;  // RULE_SAVED: from the frame's address.
} Rule;

// How the caller's registers are found at one instruction.
typedef struct Rules {
    Rule     registers[REGISTER_COUNT];
    uint64_t base;      // Register + offset is the frame's address.
    int64_t  offset;
    bool     unknown;   // An expression gives it.
} Rules;

typedef struct Description {
    Bytes    common, own;  // Instructions.
    uint64_t begin, code_align;
    int64_t  data_align;
    bool     signal;       // A signal's frame: rip is no return address.
} Description;

static uint64_t read_pointer(Bytes *from, uint8_t encoding, uintptr_t data) {
    uint64_t at = (uintptr_t)from->at, value;
    switch (encoding & ENCODED_KIND) {
    case ENCODED_U4: value = bytes_u32(from); break;
    case ENCODED_S4: value = (uint64_t)(int64_t)(int32_t)bytes_u32(from); break;
    default: value = bytes_u64(from); break;
    }
    if ((encoding & 0x70) == ENCODED_RELATIVE) value += at;
    if ((encoding & 0x70) == ENCODED_DATA_RELATIVE) value += data;
    return value;
}

// The record of the function that holds `address`, by the sorted table of .eh_frame_hdr.
static const uint8_t *find_record(const Module *module, uint64_t address) {
    enum { HEADER_BYTES = 4, ENTRY_BYTES = 8 };
    const uint8_t *header = module->unwind;
    if (!header || header[0] != 1 || header[2] != ENCODED_U4 ||
        header[3] != (ENCODED_DATA_RELATIVE | ENCODED_S4)) {
        return nullptr;
    }
    Bytes from = {header + HEADER_BYTES, header + HEADER_BYTES + 20};
    read_pointer(&from, header[1], (uintptr_t)header);
    uint32_t low = 0, high = bytes_u32(&from);
    const uint8_t *table = from.at;
    while (high > low) {  // The last entry that begins at or before the address.
        uint32_t middle = low + (high - low) / 2;
        int32_t begin;
        memcpy(&begin, table + (size_t)middle * ENTRY_BYTES, sizeof begin);
        if ((uintptr_t)header + (uint64_t)(int64_t)begin <= address) low = middle + 1;
        else high = middle;
    }
    if (low == 0) return nullptr;
    int32_t record;
    memcpy(&record, table + (size_t)(low - 1) * ENTRY_BYTES + 4, sizeof record);
    return header + record;
}

static Bytes open_record(const uint8_t *at) {
    Bytes from = {at, at + 12};
    uint64_t size = bytes_u32(&from);
    if (size == UINT32_MAX) size = bytes_u64(&from);
    from.end = from.at + size;
    return from;
}

// The common part. Returns the encoding of addresses.
static uint8_t read_common(Bytes from, Description *out, bool *has_data) {
    uint8_t encoding = 0;
    bytes_skip(&from, 4);
    uint8_t version = bytes_u8(&from);
    const char *augmentation = bytes_text(&from);
    out->code_align = bytes_unsigned(&from);
    out->data_align = bytes_signed(&from);
    if (version == 1) bytes_skip(&from, 1);
    else bytes_unsigned(&from);
    *has_data = *augmentation == 'z';
    if (*has_data) {
        Bytes data = from;
        uint64_t size = bytes_unsigned(&data);
        from = data;
        bytes_skip(&from, size);
        for (const char *letter = augmentation + 1; *letter; letter++) {
            if (*letter == 'R') encoding = bytes_u8(&data);
            if (*letter == 'L') bytes_skip(&data, 1);
            if (*letter == 'S') out->signal = true;
            if (*letter == 'P') {
                uint8_t kind = bytes_u8(&data);
                read_pointer(&data, kind, 0);
            }
        }
    }
    out->common = from;
    return encoding;
}

static bool describe(const Module *module, uint64_t address, Description *out) {
    const uint8_t *record = find_record(module, address);
    if (!record) return false;
    *out = (Description){0};
    Bytes from = open_record(record);
    const uint8_t *here = from.at;
    bool has_data = false;
    uint8_t encoding = read_common(open_record(here - bytes_u32(&from)), out, &has_data);
    out->begin = read_pointer(&from, encoding, 0);
    uint64_t size = read_pointer(&from, encoding & ENCODED_KIND, 0);
    if (has_data) {
        uint64_t bytes = bytes_unsigned(&from);
        bytes_skip(&from, bytes);
    }
    out->own = from;
    return address - out->begin < size;
}

// ---- the instructions -----------------------------------------------------------------------

enum { REMEMBERED_MAX = 8 };

typedef struct Machine {
    const Description *what;
    Rules    rules, initial, remembered[REMEMBERED_MAX];
    uint32_t depth;
    uint64_t location;
} Machine;

static void set_rule(Machine *m, uint64_t number, Rule rule) {
    if (number < REGISTER_COUNT) m->rules.registers[number] = rule;
}

static void restore(Machine *m, uint64_t number) {
    if (number < REGISTER_COUNT) m->rules.registers[number] = m->initial.registers[number];
}

static void define(Machine *m, uint64_t base, int64_t offset) {
    m->rules.base = base;
    m->rules.offset = offset;
    m->rules.unknown = false;
}

// False: an instruction that nothing here can follow.
static bool run_low(Machine *m, Bytes *from, uint8_t op) {
    uint64_t code = m->what->code_align, number;
    int64_t data = m->what->data_align;
    switch (op) {
    case CFA_NOP: return true;
    case CFA_ADVANCE1: m->location += bytes_u8(from) * code; return true;
    case CFA_ADVANCE2: m->location += bytes_u16(from) * code; return true;
    case CFA_ADVANCE4: m->location += bytes_u32(from) * code; return true;
    case CFA_OFFSET_EXTENDED:
        number = bytes_unsigned(from);
        set_rule(m, number, (Rule){RULE_SAVED, (int64_t)bytes_unsigned(from) * data});
        return true;
    case CFA_OFFSET_SIGNED:
        number = bytes_unsigned(from);
        set_rule(m, number, (Rule){RULE_SAVED, bytes_signed(from) * data});
        return true;
    case CFA_RESTORE_EXTENDED: restore(m, bytes_unsigned(from)); return true;
    case CFA_UNDEFINED: set_rule(m, bytes_unsigned(from), (Rule){RULE_UNKNOWN, 0}); return true;
    case CFA_SAME: set_rule(m, bytes_unsigned(from), (Rule){RULE_SAME, 0}); return true;
    case CFA_REMEMBER:
        if (m->depth == REMEMBERED_MAX) return false;
        m->remembered[m->depth++] = m->rules;
        return true;
    case CFA_RECALL:
        if (m->depth == 0) return false;
        m->rules = m->remembered[--m->depth];
        return true;
    case CFA_DEFINE:
        number = bytes_unsigned(from);
        define(m, number, (int64_t)bytes_unsigned(from));
        return true;
    case CFA_DEFINE_SIGNED:
        number = bytes_unsigned(from);
        define(m, number, bytes_signed(from) * data);
        return true;
    case CFA_DEFINE_REGISTER: m->rules.base = bytes_unsigned(from); return true;
    case CFA_DEFINE_OFFSET: m->rules.offset = (int64_t)bytes_unsigned(from); return true;
    case CFA_DEFINE_OFFSET_SIGNED: m->rules.offset = bytes_signed(from) * data; return true;
    case CFA_DEFINE_EXPRESSION:
        m->rules.unknown = true;
        bytes_skip(from, bytes_unsigned(from));
        return true;
    case CFA_EXPRESSION:
        set_rule(m, bytes_unsigned(from), (Rule){RULE_UNKNOWN, 0});
        bytes_skip(from, bytes_unsigned(from));
        return true;
    case CFA_ARGS_SIZE: bytes_unsigned(from); return true;
    default: return false;
    }
}

// Runs the instructions that count at `address`.
static bool run(Machine *m, Bytes from, uint64_t address) {
    while (from.at < from.end && m->location <= address) {
        uint8_t op = bytes_u8(&from), low = op & (uint8_t)~CFA_HIGH;
        switch (op & CFA_HIGH) {
        case CFA_ADVANCE: m->location += low * m->what->code_align; break;
        case CFA_OFFSET:
            set_rule(m, low, (Rule){RULE_SAVED, (int64_t)bytes_unsigned(&from) *
                                                    m->what->data_align});
            break;
        case CFA_RESTORE: restore(m, low); break;
        default:
            if (!run_low(m, &from, op)) return false;
        }
    }
    return true;
}

static uint64_t load(uint64_t address) {
    uint64_t value;
    memcpy(&value, (const void *)address, sizeof value);
    return value;
}

// Whoever jumps to where no code is has been called a moment ago.
static bool step_from_nowhere(Registers *registers) {
    uint64_t stack = registers->at[REGISTER_RSP];
    registers->at[REGISTER_RIP] = load(stack);
    registers->at[REGISTER_RSP] = stack + 8;
    return registers->at[REGISTER_RIP] != 0;
}

bool unwind_step(const Modules *modules, Registers *registers, bool called) {
    uint64_t address = registers->at[REGISTER_RIP] - called;
    const Module *module = modules_at(modules, address);
    if (!module) return !called && !registers->stack_end && step_from_nowhere(registers);
    Description what;
    if (!describe(module, address, &what)) return false;
    Machine m = {.what = &what, .location = what.begin};
    if (!run(&m, what.common, UINT64_MAX)) return false;
    m.initial = m.rules;
    m.location = what.begin;
    if (!run(&m, what.own, address) || m.rules.unknown || m.rules.base >= REGISTER_COUNT)
        return false;
    uint64_t frame = registers->at[m.rules.base] + (uint64_t)m.rules.offset;
    bool outside = frame < registers->at[REGISTER_RSP] || frame > registers->stack_end;
    if (registers->stack_end && outside) return false;
    Registers next = *registers;
    next.at[REGISTER_RSP] = frame;
    for (uint32_t i = 0; i < REGISTER_COUNT; i++) {
        const Rule *rule = &m.rules.registers[i];
        if (rule->kind == RULE_SAVED) next.at[i] = load(frame + (uint64_t)rule->offset);
    }
    bool last = m.rules.registers[REGISTER_RIP].kind != RULE_SAVED || next.at[REGISTER_RIP] == 0;
    // The stack grows down: a caller that lies no higher is a broken chain.
    if (last || frame <= registers->at[REGISTER_RSP]) return false;
    *registers = next;
    return true;
}

Registers registers_of(const void *context) {
    static const int order[REGISTER_COUNT] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
    };
    const ucontext_t *at = context;
    Registers registers = {.stack_end = 0};
    for (uint32_t i = 0; i < REGISTER_COUNT; i++)
        registers.at[i] = (uint64_t)at->uc_mcontext.gregs[order[i]];
    return registers;
}
