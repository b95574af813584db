// Digest: published test vectors, and texts whose length meets every edge of a block.
#include "runtime/memory/scratch.h"
#include "stdlib/hash/digest.h"
#include "tests/unit/unit.h"

#include <math.h>

static SbCall call;

static void fill(char *bytes, int len) {
    for (int i = 0; i < len; i++) bytes[i] = (char)(i * 7 + 3);
}

// Of the first `len` bytes 3, 10, 17, ...: made with xxhash 0.8 and Python's hashlib and zlib.
static void vectors_agree(void) {
    static const struct {
        int len;
        uint64_t xxh64;
        uint32_t crc;
        const char *md5, *sha256;
    } cases[] = {
        {0, 0xef46db3751d8e999, 0x00000000, "d41d8cd98f00b204e9800998ecf8427e",
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {1, 0x1f25c8d0bc1f4bb6, 0x4b0bbe37, "8666683506aacd900bbd5a74ac4edf68",
         "084fed08b978af4d7d196a7446a86b58009e636b611db16211b65a9aadff29c5"},
        {3, 0x31d2363f52e564c9, 0x6d58af33, "c9aee4810523ef8658121b8d492c6b41",
         "6ab0dba1f4f1dfbb37b4f9eeb092c09fca4900ad32bdcd147d8dde35d6c87c35"},
        {4, 0x9bb64b7d66ee9fda, 0x7ed34e62, "12508583d13baad57b58e0726ea91e98",
         "42a146d9caf95c0d29b3ea8e3574f3c47758bec2cdcb99e6f10381de77ab6d54"},
        {8, 0xdab99d95c6f90092, 0xe2e35978, "dab7d36c74183625ebceb4b3107d7e43",
         "0865c1be255b33b69c4c1b7df3646cd2b7feab36f595044ab191176f1668d9ad"},
        {31, 0xa2aa5f33cc4a6119, 0xd07f9b5b, "92d60eb7b58a4d66ad90b7935bfb33d5",
         "721f1b54dd0f746ef819ba479fcd63b6117bfbe44acc432bf0cb0a639fd41766"},
        {32, 0x23c3c17ef790fd97, 0xa10e8695, "37e883d2c833cc697211727308d724e7",
         "ab5f8b5cb9435354c7b58603592d5faf081e17ceb05f7a7c67f4b666f12ca457"},
        {33, 0x50a7cfc7ba588784, 0x6bc53502, "559f842ab304a042cfcd6fad8713c61a",
         "90f90857a7d1aad4925c6d5edbda0abfc8270e3fe5d6da2dd5eae75009cd7609"},
        {55, 0x0a815463dd86507a, 0x30c94412, "52c0e574e1198de5fe3f8f11440dcb1b",
         "e7313d333c272e639f790978283f9eb392e843d0f29b7016828bb1daa4aac70b"},
        {56, 0xed350c04e51a88e9, 0xcb5e10b8, "46c9907fc908ee68b1e7b8e71286a518",
         "4324d65f3c103567f5589c710bc08f8523f929a9272e3af36fc968e52abc6c27"},
        {63, 0x5e3e54b431c7493c, 0xb7350c2a, "a62f6d59e837867693f042f5b8f5a236",
         "81c80242132f230c3bd41b3e63bbcff16107339549214a99614ff26664625055"},
        {64, 0x0eb64b3ef6eeb01f, 0xcbd9ecf0, "7160b8fb5e9e4023d549c3971fbaeead",
         "39e3d7b6b5d075d37d053ad89b24b41bef4f3c29760c84447cab3f3be1882241"},
        {100, 0xa61f8d4c170fe531, 0xaa316b09, "f85d474760cb48f459327ba2209c185d",
         "5a2cda2351d1cdd9dd7957e57c0b3c8522451f25b6494569b7e94388c46f0980"},
        {119, 0x587bc20a7f727e3c, 0xfd968703, "e84905d4214f4d1ca56c2cdcc152b143",
         "9ce7368e4daf32341631b492e80359dc9f594b48453cd0dd5bf0b19279cc177e"},
        {120, 0xe728c450e24ae3ea, 0x3a47ad39, "e3eb5a6c8669ea01a8c185b8abc8a5dc",
         "7836b787757e95e58b3ca5aec90b1b004e8deba1e50e9675af9cabf1a13a04b5"},
        {257, 0xb7b604f7e4f822fa, 0x1476b46d, "8e2134d5d1b01a551538448c7f25e37e",
         "b65c390e4482123ae81c3462cd2ce5bac55cd9dfde2fcf9295c7d320ee453fc5"},
    };
    char bytes[257 + SB_SLACK];
    fill(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SbStr text = {bytes, cases[i].len}, md5, sha256;
        CHECK_SAYS(sb_xxh64(text.ptr, text.len, 0) == cases[i].xxh64, "xxh64 of %d", cases[i].len);
        CHECK_SAYS(sb_hash_text(text) == cases[i].xxh64, "hash of %d", cases[i].len);
        CHECK_SAYS(sb_crc32(text) == cases[i].crc, "crc32 of %d", cases[i].len);
        CHECK(sb_md5(&call, text, &md5) == SB_OK && sb_sha256(&call, text, &sha256) == SB_OK);
        CHECK_SAYS(md5.len == 32 && memcmp(md5.ptr, cases[i].md5, 32) == 0, "md5 of %d",
                   cases[i].len);
        CHECK_SAYS(sha256.len == 64 && memcmp(sha256.ptr, cases[i].sha256, 64) == 0, "sha256 of %d",
                   cases[i].len);
    }
}

// Of rows side by side: any number of texts of any lengths, short ones and long ones mixed.
static void many_hash_as_one(void) {
    enum { ROWS = 64, LEN_MAX = 70 };
    typedef struct Record { int64_t before, len; const char *ptr; uint64_t hash; } Record;
    static const SbEach each = {sizeof(Record), offsetof(Record, ptr), offsetof(Record, len),
                                offsetof(Record, hash)};
    char bytes[ROWS + LEN_MAX + SB_SLACK];
    fill(bytes, sizeof bytes);
    for (int64_t max = 1; max <= LEN_MAX; max++) {
        for (int64_t count = 0; count <= ROWS; count++) {
            Record rows[ROWS + 1] = {0};
            for (int64_t i = 0; i < count; i++)
                rows[i] = (Record){7, (i * 37 + count) % max, bytes + i, 0};
            sb_hash_text_each((char *)rows, count, &each);
            bool good = rows[count].hash == 0;
            for (int64_t i = 0; i < count; i++)
                good &= rows[i].hash == sb_hash_text((SbStr){rows[i].ptr, rows[i].len});
            CHECK_SAYS(good, "%d texts of fewer than %d bytes", (int)count, (int)max);
        }
    }
}

static void values_hash_as_written(void) {
    uint64_t out;
    CHECK(sb_hash_text(SB_LITERAL("abc")) == 0x44bc2cf5ad770999);
    CHECK(sb_hash_f64(0.0) == sb_hash_f64(-0.0) && sb_hash_f64(NAN) == sb_hash_f64(-NAN));
    SbType i32 = {.kind = SB_I32, .size = 4, .align = 4},
           f32 = {.kind = SB_F32, .size = 4, .align = 4};
    SbType half = {.kind = SB_F16, .size = 2, .align = 2},
           brain = {.kind = SB_BF16, .size = 2, .align = 2};
    int32_t minus = -42;
    float x = 1.5f;
    uint16_t half_x = 0x3e00, brain_x = 0x3fc0, half_tiny = 0x0001;
    CHECK(sb_hash_any(&call, &i32, &minus, &out) == SB_OK && out == sb_hash_i64(-42));
    CHECK(sb_hash_any(&call, &f32, &x, &out) == SB_OK && out == sb_hash_f64(1.5));
    CHECK(sb_hash_any(&call, &half, &half_x, &out) == SB_OK && out == sb_hash_f64(1.5));
    CHECK(sb_hash_any(&call, &half, &half_tiny, &out) == SB_OK && out == sb_hash_f64(0x1p-24));
    CHECK(sb_hash_any(&call, &brain, &brain_x, &out) == SB_OK && out == sb_hash_f64(1.5));
    struct { int32_t value; uint8_t valid; } items[] = {{-42, 1}, {7, 0}};
    SbType maybe = {.kind = SB_I32, .nullable = 1, .size = 8, .align = 4, .valid_offset = 4};
    SbType list = {.kind = SB_LIST, .size = 16, .align = 8, .elem = &maybe};
    uint64_t parts[] = {sb_hash_i64(-42), 0};
    CHECK(sb_hash_any(&call, &list, &(SbList){items, 2}, &out) == SB_OK);
    CHECK(out == sb_xxh64((const char *)parts, 16, 0));
    SbType narrow = {.kind = SB_DECIMAL, .precision = 9, .scale = 2, .size = 8, .align = 8};
    SbType wide = {.kind = SB_DECIMAL, .precision = 38, .scale = 2, .size = 16, .align = 16};
    int64_t small = -1;
    SbDecimal same = -1;
    uint64_t other;
    CHECK(sb_hash_any(&call, &narrow, &small, &out) == SB_OK);
    CHECK(sb_hash_any(&call, &wide, &same, &other) == SB_OK && out == other);
}

static const UnitTest tests[] = {
    {"vectors_agree", vectors_agree},
    {"values_hash_as_written", values_hash_as_written},
    {"many_hash_as_one", many_hash_as_one},
};

int main(int argc, char **argv) {
    if (sb_scratch_open(&call, 1 << 16)) return 2;
    int status = unit_main("digest", tests, sizeof tests / sizeof *tests, argc, argv);
    sb_scratch_close(&call);
    return status;
}
