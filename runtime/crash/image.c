#define _GNU_SOURCE  // dl_iterate_phdr
#include "runtime/crash/image.h"

#include "runtime/abi/foreign.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- in memory ------------------------------------------------------------------------------

static int add_module(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    Modules *modules = arg;
    if (modules->count == IMAGE_MODULES_MAX) return 1;
    Module *module = &modules->items[modules->count++];
    *module = (Module){.base = info->dlpi_addr, .begin = UINTPTR_MAX};
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    size_t len = strnlen(name, sizeof module->name - 1);
    memcpy(module->name, name, len);
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_GNU_EH_FRAME) module->unwind = (const uint8_t *)begin;
        if (part->p_type != PT_LOAD) continue;
        if (begin < module->begin) module->begin = begin;
        if (begin + part->p_memsz > module->end) module->end = begin + part->p_memsz;
    }
    return 0;
}

void modules_find(Modules *modules) {
    modules->count = 0;
    dl_iterate_phdr(add_module, modules);
}

const Module *modules_at(const Modules *modules, uintptr_t address) {
    for (uint32_t i = 0; i < modules->count; i++) {
        const Module *module = &modules->items[i];
        if (address >= module->begin && address < module->end) return module;
    }
    return nullptr;
}

// ---- on disk --------------------------------------------------------------------------------

// Empty when it does not lie within the file.
static Bytes part_of(Bytes file, uint64_t offset, uint64_t size) {
    uint64_t all = (uint64_t)(file.end - file.at);
    if (offset > all || size > all - offset) return (Bytes){0};
    return (Bytes){file.at + offset, file.at + offset + size};
}

static void take_section(Image *image, const char *name, const Elf64_Shdr *section) {
    struct {
        const char *name;
        Bytes      *bytes;
    } const wanted[] = {
        {".debug_line", &image->lines}, {".debug_line_str", &image->line_texts},
        {".debug_str", &image->texts},  {".symtab", &image->symbols},
        {".strtab", &image->names},
    };
    bool plain = section->sh_type != SHT_NOBITS && !(section->sh_flags & SHF_COMPRESSED);
    for (size_t i = 0; plain && i < sizeof wanted / sizeof *wanted; i++)
        if (strcmp(name, wanted[i].name) == 0)
            *wanted[i].bytes = part_of(image->file, section->sh_offset, section->sh_size);
}

static void find_sections(Image *image) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)image->file.at;
    uint64_t size = (uint64_t)header->e_shnum * sizeof(Elf64_Shdr);
    Bytes table = part_of(image->file, header->e_shoff, size);
    if (!table.at || header->e_shstrndx >= header->e_shnum) return;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)table.at;
    const Elf64_Shdr *own = &sections[header->e_shstrndx];
    Bytes names = part_of(image->file, own->sh_offset, own->sh_size);
    if (names.at == names.end || names.end[-1] != '\0') return;
    for (uint32_t i = 0; i < header->e_shnum; i++)
        if (sections[i].sh_name < own->sh_size)
            take_section(image, (const char *)names.at + sections[i].sh_name, &sections[i]);
}

// Mapped, for nothing can be allocated here; a file that shrinks now costs the rest of the message.
void image_open(Image *image) {
    *image = (Image){0};
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0) return;
    if (fstat(fd, &about) == 0 && about.st_size >= (off_t)sizeof(Elf64_Ehdr)) {
        size_t size = (size_t)about.st_size;
        const uint8_t *at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED) {
            image->file = (Bytes){at, at + size};
            find_sections(image);
        }
    }
    close(fd);
}

void image_close(Image *image) {
    if (image->file.at) munmap((void *)image->file.at, (size_t)(image->file.end - image->file.at));
    *image = (Image){0};
}

// As it stands in the source.
static const char *name_of(const char *symbol) {
    size_t prefix = sizeof SB_USER_PREFIX - 1;
    return strncmp(symbol, SB_USER_PREFIX, prefix) == 0 ? symbol + prefix : symbol;
}

Function image_function(const Image *image, uintptr_t address) {
    size_t count = (size_t)(image->symbols.end - image->symbols.at) / sizeof(Elf64_Sym);
    const Elf64_Sym *symbols = (const Elf64_Sym *)image->symbols.at;
    size_t name_bytes = (size_t)(image->names.end - image->names.at);
    if (name_bytes == 0 || image->names.end[-1] != '\0') count = 0;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF) continue;
        if (address - symbol->st_value < symbol->st_size && symbol->st_name < name_bytes)
            return (Function){name_of((const char *)image->names.at + symbol->st_name),
                              symbol->st_value, symbol->st_value + symbol->st_size};
    }
    return (Function){.name = ""};
}
