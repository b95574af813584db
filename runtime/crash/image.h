// Image: the executable as it lies on disk and in memory, read while the process is dying: its
// functions, its lines and how its frames unwind. Everything here is async-signal-safe: system
// calls and own memory only.
#ifndef SBC_RUNTIME_IMAGE_H
#define SBC_RUNTIME_IMAGE_H

#include <stddef.h>
#include <stdint.h>

enum { IMAGE_MODULES_MAX = 32 };

// A loaded ELF file. Addresses of memory are those of the file plus `base`.
typedef struct Module {
    uintptr_t      base, begin, end;
    const uint8_t *unwind;  // .eh_frame_hdr in memory; nullptr: none.
    char           name[32];
} Module;

// The modules that are loaded now; the executable is the first.
typedef struct Modules {
    Module   items[IMAGE_MODULES_MAX];
    uint32_t count;
} Modules;

void modules_find(Modules *modules);  // At the start: not safe in a signal handler.
const Module *modules_at(const Modules *modules, uintptr_t address);  // nullptr: none.

typedef struct Bytes {
    const uint8_t *at, *end;
} Bytes;

// Sections of the executable's file, mapped for reading. What the file lacks is empty.
typedef struct Image {
    Bytes file, lines, line_texts, texts, symbols, names;
} Image;

void image_open(Image *image);
void image_close(Image *image);  // Not where the process dies anyway.

typedef struct Function {
    const char *name;        // "" when it is not known; begin and end are then 0.
    uintptr_t   begin, end;  // Addresses of the file.
} Function;

// The function that holds the address of the file.
Function image_function(const Image *image, uintptr_t address);

typedef struct Line {
    const char *file;          // As the compiler named it; nullptr: not known.
    uint32_t    line, column;  // From 1; 0: not known.
} Line;

// The line of the instruction at the address of the file, by DWARF 2 to 5.
Line image_line(const Image *image, uintptr_t address);

#endif
