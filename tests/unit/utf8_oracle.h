// utf8_oracle.h: UTF-8 checked one character at a time, straight from the table of RFC 3629.
#ifndef SBC_TESTS_UNIT_UTF8_ORACLE_H
#define SBC_TESTS_UNIT_UTF8_ORACLE_H

#include <stdint.h>

static inline bool oracle_utf8_valid(const char *ptr, int64_t len) {
    const unsigned char *text = (const unsigned char *)ptr;
    for (int64_t i = 0; i < len;) {
        uint32_t lead = text[i];
        int more = lead < 0x80   ? 0
                   : lead < 0xc0 ? -1
                   : lead < 0xe0 ? 1
                   : lead < 0xf0 ? 2
                   : lead < 0xf8 ? 3
                                 : -1;
        if (more < 0 || i + more >= len) return false;
        uint32_t point = more == 0 ? lead : lead & (0x3fu >> more);
        for (int k = 1; k <= more; k++) {
            if ((text[i + k] & 0xc0) != 0x80) return false;
            point = point << 6 | (text[i + k] & 0x3f);
        }
        static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
        if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
            return false;
        i += more + 1;
    }
    return true;
}

#endif
