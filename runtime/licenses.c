#include "runtime/licenses.h"

static const char notices[] =
    "This job contains its own code and the runtime of sbc (Apache License 2.0), and:\n"
    "\n"
    "libuv      MIT. Copyright (c) 2015-present libuv project contributors.\n"
    "libyaml    MIT. Copyright (c) 2017-2020 Ingy dot Net, (c) 2006-2016 Kirill Simonov.\n"
    "zlib       zlib license. Copyright (C) 1995-2022 Jean-loup Gailly and Mark Adler.\n"
    "zstd       BSD 3-clause. Copyright (c) Meta Platforms, Inc. and affiliates.\n"
    "lz4        BSD 2-clause. Copyright (c) Yann Collet.\n"
    "PCRE2      BSD 3-clause with exemption. Copyright (c) 1997-2022 University of Cambridge.\n"
    "utf8proc   MIT, and Unicode data license. Copyright (c) 2014-2021 Steven G. Johnson and others.\n";

void licenses_print(FILE *file) {
    fputs(notices, file);
}
