#include "codegen/build/user_symbols.h"

#include "runtime/abi.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

// A relocatable ELF file. The section of names is written anew, at its end; all else keeps its
// place.
typedef struct Object {
    const char *path;
    TextBuf     bytes;
    Elf64_Shdr *symbols, *names;  // In `bytes`.
} Object;

// ---- files --------------------------------------------------------------------------------------

static bool complain(const Object *object, const char *what, TextBuf *error) {
    text_buf_format(error, "%s %s", object->path, what);
    return false;
}

static bool read_bytes(Object *object, TextBuf *error) {
    FILE *file = fopen(object->path, "rb");
    if (!file) return complain(object, strerror(errno), error);
    char bytes[1 << 14];
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
        text_buf_add(&object->bytes, (Text){bytes, got});
    bool good = !ferror(file);
    fclose(file);
    return good || complain(object, "cannot be read", error);
}

static bool write_bytes(const Object *object, Text names, TextBuf *error) {
    FILE *file = fopen(object->path, "wb");
    bool good = file && fwrite(object->bytes.at, 1, object->bytes.len, file) == object->bytes.len &&
                fwrite(names.at, 1, names.len, file) == names.len;
    if (file) good = fclose(file) == 0 && good;
    return good || complain(object, strerror(errno), error);
}

static bool holds(const Object *object, uint64_t offset, uint64_t bytes) {
    return offset <= object->bytes.len && bytes <= object->bytes.len - offset;
}

// Finds the symbols and their names.
static bool find_sections(Object *object, TextBuf *error) {
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)(void *)object->bytes.at;
    if (!holds(object, 0, sizeof *head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_shentsize != sizeof(Elf64_Shdr) ||
        !holds(object, head->e_shoff, head->e_shnum * sizeof(Elf64_Shdr)))
        return complain(object, "is no object file of this machine", error);
    Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(object->bytes.at + head->e_shoff);
    for (uint16_t i = 0; i < head->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB) object->symbols = &sections[i];
    if (!object->symbols) return true;
    bool good = object->symbols->sh_link < head->e_shnum;
    if (good) object->names = &sections[object->symbols->sh_link];
    return (good && holds(object, object->symbols->sh_offset, object->symbols->sh_size) &&
            holds(object, object->names->sh_offset, object->names->sh_size)) ||
           complain(object, "has a damaged table of symbols", error);
}

// ---- symbols ------------------------------------------------------------------------------------

static size_t symbol_count(const Object *object) {
    return object->symbols ? object->symbols->sh_size / sizeof(Elf64_Sym) : 0;
}

static Elf64_Sym *symbol_at(const Object *object, size_t index) {
    return (Elf64_Sym *)(void *)(object->bytes.at + object->symbols->sh_offset) + index;
}

// Of a symbol that other files see; else null.
static const char *global_name(const Object *object, const Elf64_Sym *symbol) {
    bool local = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL;
    if (local || symbol->st_name >= object->names->sh_size) return nullptr;
    return object->bytes.at + object->names->sh_offset + symbol->st_name;
}

bool user_symbols_hold(const UserSymbols *symbols, const char *name) {
    for (size_t i = 0; i < symbols->count; i++)
        if (strcmp(symbols->items[i], name) == 0) return true;
    return false;
}

static bool is_answered(const char *name) {
#define NAME(name) #name,
    static const char *const answered[] = {SB_FOREIGN_CALLS(NAME)};
#undef NAME
    for (size_t i = 0; i < countof(answered); i++)
        if (strcmp(answered[i], name) == 0) return true;
    return false;
}

static void add_defined(Arena *arena, const Object *object, UserSymbols *names) {
    for (size_t i = 0; i < symbol_count(object); i++) {
        const Elf64_Sym *symbol = symbol_at(object, i);
        const char *name = global_name(object, symbol);
        if (!name || symbol->st_shndx == SHN_UNDEF || user_symbols_hold(names, name)) continue;
        // The bytes of the object do not stay.
        name = text_c(arena, text_of(name));
        arena_push(arena, names->items, names->count, names->cap, name);
    }
}

static bool rename_all(const Object *object, const UserSymbols *defined, TextBuf *error) {
    if (!object->symbols) return true;
    TextBuf names = {0};
    text_buf_add(&names, (Text){object->bytes.at + object->names->sh_offset,
                                object->names->sh_size});
    for (size_t i = 0; i < symbol_count(object); i++) {
        Elf64_Sym *symbol = symbol_at(object, i);
        const char *name = global_name(object, symbol);
        bool own = name && user_symbols_hold(defined, name);
        if (!own && !(name && is_answered(name))) continue;
        symbol->st_name = (Elf64_Word)names.len;
        text_buf_format(&names, "%s%s", own ? SB_USER_PREFIX : SB_FOREIGN_PREFIX, name);
        text_buf_char(&names, '\0');
    }
    object->names->sh_offset = object->bytes.len;
    object->names->sh_size = names.len;
    bool good = write_bytes(object, (Text){names.at, names.len}, error);
    text_buf_free(&names);
    return good;
}

bool user_symbols_rename(Arena *arena, const char *const *paths, size_t count,
                         UserSymbols *defined, TextBuf *error) {
    Object *objects = arena_new_array(arena, Object, count + 1);
    bool good = true;
    for (size_t i = 0; i < count; i++) objects[i] = (Object){.path = paths[i]};
    for (size_t i = 0; good && i < count; i++) {
        good = read_bytes(&objects[i], error) && find_sections(&objects[i], error);
        if (good) add_defined(arena, &objects[i], defined);
    }
    for (size_t i = 0; good && i < count; i++) good = rename_all(&objects[i], defined, error);
    for (size_t i = 0; i < count; i++) text_buf_free(&objects[i].bytes);
    return good;
}
