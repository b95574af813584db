// The line of an address: runs the programs of .debug_line (DWARF 2 to 5, section 6.2).
#include "runtime/crash/bytes.h"

enum {
    STANDARD_COPY = 1, STANDARD_ADVANCE_PC, STANDARD_ADVANCE_LINE, STANDARD_SET_FILE,
    STANDARD_SET_COLUMN, STANDARD_NEGATE, STANDARD_BLOCK, STANDARD_CONST_ADD_PC,
    STANDARD_FIXED_ADVANCE_PC, STANDARD_OPS_MAX = 256,
};
enum { EXTENDED_END = 1, EXTENDED_SET_ADDRESS = 2 };
enum { CONTENT_PATH = 1 };
enum {
    FORM_DATA2 = 5, FORM_STRING = 8, FORM_BLOCK = 9, FORM_DATA1 = 11, FORM_STRP = 14,
    FORM_UDATA = 15, FORM_DATA16 = 30, FORM_LINE_STRP = 31,
};

// The header of one program.
typedef struct Unit {
    const Image *image;
    Bytes    files, code;   // `files` begins with the table of file names.
    uint16_t version;
    uint8_t  offset_size;   // Of the 32-bit or the 64-bit format.
    uint8_t  instruction_min, line_range, opcode_base;
    int8_t   line_base;
    uint8_t  lengths[STANDARD_OPS_MAX];  // Operands of standard opcodes.
} Unit;

typedef struct Row {
    uint64_t address, file;
    uint32_t line, column;
} Row;

static const char *form_text(const Unit *unit, Bytes *from, uint64_t form) {
    if (form == FORM_STRING) return bytes_text(from);
    if (form == FORM_LINE_STRP || form == FORM_STRP) {
        Bytes texts = form == FORM_STRP ? unit->image->texts : unit->image->line_texts;
        bytes_skip(&texts, bytes_word(from, unit->offset_size));
        return bytes_text(&texts);
    }
    switch (form) {
    case FORM_DATA1: bytes_skip(from, 1); break;
    case FORM_DATA2: bytes_skip(from, 2); break;
    case FORM_DATA16: bytes_skip(from, 16); break;
    case FORM_UDATA: bytes_unsigned(from); break;
    case FORM_BLOCK: bytes_skip(from, bytes_unsigned(from)); break;
    default: from->at = from->end; break;
    }
    return "";
}

// A table of DWARF 5: what an entry holds, then the entries. Gives the path of entry `wanted`.
static const char *table_entry(const Unit *unit, Bytes *from, uint64_t wanted) {
    enum { CONTENTS_MAX = 8 };
    uint64_t types[CONTENTS_MAX], forms[CONTENTS_MAX];
    uint8_t contents = bytes_u8(from);
    const char *found = "";
    if (contents > CONTENTS_MAX) contents = 0, from->at = from->end;
    for (uint8_t i = 0; i < contents; i++) {
        types[i] = bytes_unsigned(from);
        forms[i] = bytes_unsigned(from);
    }
    uint64_t count = bytes_unsigned(from);
    for (uint64_t entry = 0; entry < count && from->at < from->end; entry++) {
        for (uint8_t i = 0; i < contents; i++) {
            const char *text = form_text(unit, from, forms[i]);
            if (entry == wanted && types[i] == CONTENT_PATH) found = text;
        }
    }
    return found;
}

static const char *file_name(const Unit *unit, uint64_t wanted) {
    Bytes from = unit->files;
    if (unit->version >= 5) {
        table_entry(unit, &from, UINT64_MAX);  // Folders.
        return table_entry(unit, &from, wanted);
    }
    while (*bytes_text(&from) != '\0') {
    }
    for (uint64_t i = 1; from.at < from.end; i++) {
        const char *name = bytes_text(&from);
        if (*name == '\0' || i == wanted) return name;
        for (int field = 0; field < 3; field++) bytes_unsigned(&from);
    }
    return "";
}

// Takes one unit off `lines`.
static Unit open_unit(const Image *image, Bytes *lines) {
    Unit unit = {.image = image, .offset_size = 4};
    uint64_t size = bytes_u32(lines);
    if (size == UINT32_MAX) {
        size = bytes_u64(lines);
        unit.offset_size = 8;
    }
    Bytes all = *lines;
    bytes_skip(lines, size);
    all.end = lines->at;
    unit.version = bytes_u16(&all);
    if (unit.version >= 5) bytes_skip(&all, 2);  // Sizes of addresses and of segment selectors.
    uint64_t header = bytes_word(&all, unit.offset_size);
    unit.code = all;
    bytes_skip(&unit.code, header);
    unit.instruction_min = bytes_u8(&all);
    if (unit.version >= 4) bytes_skip(&all, 1);  // No VLIW here.
    bytes_skip(&all, 1);                         // Every row counts, statement or not.
    unit.line_base = (int8_t)bytes_u8(&all);
    unit.line_range = bytes_u8(&all);
    unit.opcode_base = bytes_u8(&all);
    for (unsigned op = 1; op < unit.opcode_base; op++) unit.lengths[op] = bytes_u8(&all);
    unit.files = all;
    return unit;
}

static void advance(const Unit *unit, Row *row, uint64_t operation) {
    row->address += operation * unit->instruction_min;
}

// Runs a standard opcode; true when it makes a row.
static bool run_standard(const Unit *unit, Bytes *code, uint8_t op, Row *row) {
    switch (op) {
    case STANDARD_COPY: return true;
    case STANDARD_ADVANCE_PC: advance(unit, row, bytes_unsigned(code)); return false;
    case STANDARD_ADVANCE_LINE: row->line += (uint32_t)bytes_signed(code); return false;
    case STANDARD_SET_FILE: row->file = bytes_unsigned(code); return false;
    case STANDARD_SET_COLUMN: row->column = (uint32_t)bytes_unsigned(code); return false;
    case STANDARD_CONST_ADD_PC:
        advance(unit, row, (255u - unit->opcode_base) / unit->line_range);
        return false;
    case STANDARD_FIXED_ADVANCE_PC: row->address += bytes_u16(code); return false;
    default:
        for (uint8_t i = 0; i < unit->lengths[op]; i++) bytes_unsigned(code);
        return false;
    }
}

// Runs one opcode. True when it makes a row; `ends` when that row ends its sequence.
static bool run_one(const Unit *unit, Bytes *code, Row *row, bool *ends) {
    uint8_t op = bytes_u8(code);
    if (op >= unit->opcode_base) {
        uint8_t special = (uint8_t)(op - unit->opcode_base);
        advance(unit, row, special / unit->line_range);
        row->line += (uint32_t)(unit->line_base + special % unit->line_range);
        return true;
    }
    if (op != 0) return run_standard(unit, code, op, row);
    Bytes rest = *code;
    uint64_t size = bytes_unsigned(&rest);
    *code = rest;
    bytes_skip(code, size);
    uint8_t extended = bytes_u8(&rest);
    if (extended == EXTENDED_SET_ADDRESS && size == 9) row->address = bytes_u64(&rest);
    *ends = extended == EXTENDED_END;
    return *ends;
}

static bool find_in(const Unit *unit, uintptr_t address, Row *found) {
    static const Row first = {.file = 1, .line = 1};
    Bytes code = unit->code;
    Row row = first, before = {0};
    bool inside = false;
    while (code.at < code.end) {
        bool ends = false;
        if (!run_one(unit, &code, &row, &ends)) continue;
        // Functions that the linker dropped begin at 0.
        if (inside && before.address && address >= before.address && address < row.address) {
            *found = before;
            return true;
        }
        before = row;
        inside = !ends;
        if (ends) row = first;
    }
    return false;
}

Line image_line(const Image *image, uintptr_t address) {
    Bytes lines = image->lines;
    while (lines.at < lines.end) {
        Unit unit = open_unit(image, &lines);
        Row row;
        bool known = unit.version >= 2 && unit.version <= 5 && unit.line_range > 0;
        if (known && find_in(&unit, address, &row))
            return (Line){file_name(&unit, row.file), row.line, row.column};
    }
    return (Line){0};
}
