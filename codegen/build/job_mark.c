#include "codegen/build/job_mark.h"

#include "runtime/abi.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

// Of a file that is no job there may be more of each: it is looked at no further.
enum { SEGMENTS_MAX = 64, NOTE_BYTES_MAX = 4096 };

static bool read_at(int fd, void *into, size_t len, uint64_t at) {
    return pread(fd, into, len, (off_t)at) == (ssize_t)len;
}

// One note after the other: the lengths of owner and content, a type, and both, padded to 4 bytes.
static bool notes_hold_mark(const char *notes, size_t len) {
    static const char owner[] = SB_MARK_OWNER;
    Elf64_Nhdr note;
    for (size_t at = 0; len - at >= sizeof note;) {
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        uint64_t name = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
        uint64_t content = ((uint64_t)note.n_descsz + 3) & ~UINT64_C(3);
        if (name + content > len - at) return false;
        if (note.n_namesz == sizeof owner && memcmp(notes + at, owner, sizeof owner) == 0)
            return true;
        at += name + content;
    }
    return false;
}

static bool segment_holds_mark(int fd, const Elf64_Phdr *segment) {
    char notes[NOTE_BYTES_MAX];
    return segment->p_type == PT_NOTE && segment->p_filesz <= sizeof notes &&
           read_at(fd, notes, segment->p_filesz, segment->p_offset) &&
           notes_hold_mark(notes, segment->p_filesz);
}

bool job_mark_found(const char *path) {
    Elf64_Ehdr head;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    bool elf = read_at(fd, &head, sizeof head, 0) && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
               head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_phentsize == sizeof(Elf64_Phdr) &&
               head.e_phnum <= SEGMENTS_MAX;
    bool found = false;
    for (uint16_t i = 0; elf && !found && i < head.e_phnum; i++) {
        Elf64_Phdr segment;
        found = read_at(fd, &segment, sizeof segment, head.e_phoff + i * sizeof segment) &&
                segment_holds_mark(fd, &segment);
    }
    close(fd);
    return found;
}
