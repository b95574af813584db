// Compression: the bytes of a file in order, packed and unpacked: gzip, zstd and LZ4, by the ending
// of its name.
//
// Called by runtime/input, which reads streams, and by runtime/output, which writes members of a
// fixed size, so that the bytes do not depend on who wrote them.
//
// Worked example: all bytes of a compressed file.
//
//   Stream *stream = stream_open("x.csv.gz", SB_ENCODING_UTF8, cancel_fd, trouble);
//   while ((got = stream_read(stream, at, room, trouble)) > 0) ...
//   stream_close(stream);
#ifndef SBC_RUNTIME_ROOM_COMPRESSION_H
#define SBC_RUNTIME_ROOM_COMPRESSION_H

#include "runtime/compression/compress.h"
#include "runtime/compression/stream.h"

#endif
