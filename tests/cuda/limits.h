// What a launch may ask for: a table of the driver's limits, and what cubins say of their kernels.
//
// The limits hold for all GPUs from sm_75 on. More shared memory has to be asked for, which jobs
// leave alone.
#ifndef SBC_TESTS_CUDA_LIMITS_H
#define SBC_TESTS_CUDA_LIMITS_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LIMIT_INVALID = 1, LIMIT_RESOURCES = 701 };

typedef struct Asked {
    uint64_t grid[3], block[3];
    uint64_t registers;   // Of a thread.
    uint64_t shared;      // Bytes of a block.
} Asked;

static uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

static uint64_t of_grid(const Asked *is, int i) { return is->grid[i]; }
static uint64_t of_block(const Asked *is, int i) { return is->block[i]; }
static uint64_t of_shared(const Asked *is, int i) { return (void)i, is->shared; }
static uint64_t of_threads(const Asked *is, int i) {
    return (void)i, is->block[0] * is->block[1] * is->block[2];
}
// A warp takes registers in units of 256, a block gets four warps at a time.
static uint64_t of_registers(const Asked *is, int i) {
    uint64_t warps = round_up((of_threads(is, i) + 31) / 32, 4);
    return warps * round_up(is->registers * 32, 256);
}

static const struct {
    uint64_t (*of)(const Asked *, int);
    int      i;
    uint64_t least, most;
    int      error;
} limits[] = {
    {of_grid, 0, 1, INT32_MAX, LIMIT_INVALID},
    {of_grid, 1, 1, 65535, LIMIT_INVALID},
    {of_grid, 2, 1, 65535, LIMIT_INVALID},
    {of_block, 0, 1, 1024, LIMIT_INVALID},
    {of_block, 1, 1, 1024, LIMIT_INVALID},
    {of_block, 2, 1, 64, LIMIT_INVALID},
    {of_threads, 0, 1, 1024, LIMIT_INVALID},
    {of_shared, 0, 0, 48 << 10, LIMIT_INVALID},
    {of_registers, 0, 0, 1 << 16, LIMIT_RESOURCES},
};

static int judge_limits(const Asked *is) {
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        uint64_t n = limits[i].of(is, limits[i].i);
        if (n < limits[i].least || n > limits[i].most) return limits[i].error;
    }
    return 0;
}

// ---- cubins -------------------------------------------------------------------------------------

typedef struct Cubin {
    const unsigned char *bytes;
    const Elf64_Shdr    *sections;
    size_t               count;
    const char          *names;
} Cubin;

static Cubin cubin_open(const unsigned char *bytes) {
    const Elf64_Ehdr *head = (const void *)bytes;
    const Elf64_Shdr *all = (const void *)(bytes + head->e_shoff);
    return (Cubin){bytes, all, head->e_shnum,
                   (const char *)bytes + all[head->e_shstrndx].sh_offset};
}

static const Elf64_Shdr *cubin_find(const Cubin *cubin, const char *prefix, const char *kernel) {
    size_t len = strlen(prefix);
    for (size_t i = 0; i < cubin->count; i++) {
        const char *name = cubin->names + cubin->sections[i].sh_name;
        if (!strncmp(name, prefix, len) && !strcmp(name + len, kernel)) return &cubin->sections[i];
    }
    return NULL;
}

// Items of .nv.info are a form, an attribute, a count of bytes, and these: of the registers the
// number of the kernel's symbol, and how many there are.
static unsigned cubin_registers(const Cubin *cubin, unsigned symbol) {
    enum { FORM_SIZED = 4, REGISTERS = 0x2f };
    const Elf64_Shdr *info = cubin_find(cubin, ".nv.info", "");
    const unsigned char *at = info ? cubin->bytes + info->sh_offset : NULL;
    const unsigned char *end = info ? at + info->sh_size : NULL;
    while (at < end) {
        uint16_t bytes;
        uint32_t words[2];
        memcpy(&bytes, at + 2, sizeof bytes);
        memcpy(words, at + 4, sizeof words);
        if (at[0] == FORM_SIZED && at[1] == REGISTERS && words[0] == symbol) return words[1];
        at += at[0] == FORM_SIZED ? 4 + bytes : 4;
    }
    return 0;
}

// What a kernel takes, as far as its code says; PTX says nothing. From sm_90 on 1 KiB of shared
// memory is the system's, and counts for nothing.
static void cubin_uses(const unsigned char *bytes, const char *kernel, int architecture,
                       Asked *to) {
    enum { OF_SYSTEM = 1024, SYMBOL = 0xffffff };
    if (memcmp(bytes, ELFMAG, SELFMAG)) return;
    Cubin cubin = cubin_open(bytes);
    const Elf64_Shdr *code = cubin_find(&cubin, ".text.", kernel);
    const Elf64_Shdr *shared = cubin_find(&cubin, ".nv.shared.", kernel);
    to->registers = code ? cubin_registers(&cubin, code->sh_info & SYMBOL) : 0;
    to->shared = shared ? shared->sh_size : 0;
    if (shared && architecture >= 90) to->shared -= OF_SYSTEM;
}

#endif
