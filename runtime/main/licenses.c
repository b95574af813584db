// The notices of what is inside a job, in the words that its authors ask to have repeated.
#include "runtime/main/licenses.h"

typedef struct License {
    const char *libraries;  // Who has it: name and copyright, one a line.
    const char *text;
} License;

static const char mit[] =
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this "
    "software\n"
    "and associated documentation files (the \"Software\"), to deal in the Software without\n"
    "restriction, including without limitation the rights to use, copy, modify, merge, publish,\n"
    "distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom "
    "the\n"
    "Software is furnished to do so, subject to the following conditions:\n"
    "\n"
    "The above copyright notice and this permission notice shall be included in all copies or\n"
    "substantial portions of the Software.\n"
    "\n"
    "THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, "
    "INCLUDING\n"
    "BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND\n"
    "NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,\n"
    "DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING "
    "FROM,\n"
    "OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.\n";

#define BSD_CONDITIONS                                                                             \
    "Redistribution and use in source and binary forms, with or without modification, are\n"       \
    "permitted provided that the following conditions are met:\n"                                  \
    "\n"                                                                                           \
    "* Redistributions of source code must retain the above copyright notice, this list of\n"      \
    "  conditions and the following disclaimer.\n"                                                 \
    "* Redistributions in binary form must reproduce the above copyright notice, this list of\n"   \
    "  conditions and the following disclaimer in the documentation and/or other materials\n"      \
    "  provided with the distribution.\n"

#define BSD_DISCLAIMER                                                                             \
    "\n"                                                                                           \
    "THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS \"AS IS\" AND ANY "       \
    "EXPRESS\n"                                                                                    \
    "OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF\n"            \
    "MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE\n" \
    "COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL,\n"  \
    "EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF\n"         \
    "SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION)\n"     \
    "HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR\n"   \
    "TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS\n"         \
    "SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.\n"

static const char bsd2[] = BSD_CONDITIONS BSD_DISCLAIMER;

static const char bsd3[] = BSD_CONDITIONS
    "* Neither the name of the copyright holder nor the names of its contributors may be used to\n"
    "  endorse or promote products derived from this software without specific prior written\n"
    "  permission.\n" BSD_DISCLAIMER;

static const char zlib[] =
    "This software is provided 'as-is', without any express or implied warranty. In no event will\n"
    "the authors be held liable for any damages arising from the use of this software.\n"
    "\n"
    "Permission is granted to anyone to use this software for any purpose, including commercial\n"
    "applications, and to alter it and redistribute it freely, subject to the following\n"
    "restrictions:\n"
    "\n"
    "1. The origin of this software must not be misrepresented; you must not claim that you wrote\n"
    "   the original software. If you use this software in a product, an acknowledgment in the\n"
    "   product documentation would be appreciated but is not required.\n"
    "2. Altered source versions must be plainly marked as such, and must not be misrepresented as\n"
    "   being the original software.\n"
    "3. This notice may not be removed or altered from any source distribution.\n";

static const char unicode[] =
    "Permission is hereby granted, free of charge, to any person obtaining a copy of the Unicode\n"
    "data files and any associated documentation (the \"Data Files\") or Unicode software and any\n"
    "associated documentation (the \"Software\") to deal in the Data Files or Software without\n"
    "restriction, including without limitation the rights to use, copy, modify, merge, publish,\n"
    "distribute, and/or sell copies of the Data Files or Software, and to permit persons to whom\n"
    "the Data Files or Software are furnished to do so, provided that (a) the above copyright\n"
    "notice(s) and this permission notice appear with all copies of the Data Files or Software,\n"
    "(b) both the above copyright notice(s) and this permission notice appear in associated\n"
    "documentation, and (c) there is clear notice in each modified Data File or in the Software "
    "as\n"
    "well as in the documentation associated with the Data File(s) or Software that the data or\n"
    "software has been modified.\n"
    "\n"
    "THE DATA FILES AND SOFTWARE ARE PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR\n"
    "IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A\n"
    "PARTICULAR PURPOSE AND NONINFRINGEMENT OF THIRD PARTY RIGHTS. IN NO EVENT SHALL THE "
    "COPYRIGHT\n"
    "HOLDER OR HOLDERS INCLUDED IN THIS NOTICE BE LIABLE FOR ANY CLAIM, OR ANY SPECIAL INDIRECT "
    "OR\n"
    "CONSEQUENTIAL DAMAGES, OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR "
    "PROFITS,\n"
    "WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN\n"
    "CONNECTION WITH THE USE OR PERFORMANCE OF THE DATA FILES OR SOFTWARE.\n";

static const License licenses[] = {
    {"The runtime and the library of sbc: Apache License 2.0\n",
     "Licensed under the Apache License, Version 2.0. You may obtain a copy of the license at\n"
     "http://www.apache.org/licenses/LICENSE-2.0. It is distributed on an \"AS IS\" BASIS, "
     "WITHOUT\n"
     "WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.\n"},
    {"libuv: MIT. Copyright (c) 2015-present libuv project contributors; Joyent, Inc. and other "
     "Node\n"
     "contributors.\n"
     "libyaml: MIT. Copyright (c) 2017-2020 Ingy dot Net, (c) 2006-2016 Kirill Simonov.\n"
     "utf8proc: MIT. Copyright (c) 2014-2021 Steven G. Johnson, Jiahao Chen, Peter Colberg, Tony\n"
     "Kelman, Scott P. Jones, and other contributors; (c) 2009 Public Software Group e. V., "
     "Berlin.\n",
     mit},
    {"Unicode data in utf8proc. Copyright (c) 1991-2007 Unicode, Inc.\n", unicode},
    {"zstd: BSD 3-clause. Copyright (c) Meta Platforms, Inc. and affiliates.\n",
     bsd3},
    {"LZ4: BSD 2-clause. Copyright (c) 2011-2020 Yann Collet.\n"
     "xxHash: BSD 2-clause. Copyright (c) 2012-2021 Yann Collet.\n",
     bsd2},
    {"IANA time zone database: in the public domain.\n", "It needs no permission.\n"},
    {"zlib: zlib license. Copyright (C) 1995-2022 Jean-loup Gailly and Mark Adler.\n", zlib},
    {"GCC support library: GNU GPL 3 with the GCC Runtime Library Exception. Copyright (C) Free\n"
     "Software Foundation, Inc.\n",
     "The exception permits to convey a program that contains it under terms of your choice.\n"},
    {"GNU C Library: GNU LGPL 2.1 or later. Copyright (C) Free Software Foundation, Inc.\n",
     "The job uses the one that is installed where it runs, and contains only what starts a "
     "program.\n"},
};

void licenses_print(FILE *file) {
    fputs("What this job contains, and under which terms.\n", file);
    for (size_t i = 0; i < sizeof licenses / sizeof *licenses; i++) {
        fprintf(file, "\n----\n%s\n%s", licenses[i].libraries, licenses[i].text);
    }
}
