#!/bin/sh
# tidy.sh TIDY: runs it, the program of tidy.c, over every text of the project that has rules.
# shellcheck disable=SC2046 # No path here has spaces.
exec "$1" sbc.c $(find ir frontend codegen runtime stdlib driver tests docs examples -name '*.[ch]' -o \
    -name '*.py' -o -name '*.sh' -o -name '*.md' -o -name '*.decl' -o -name '*.case' -o -name '*.sbd' | sort)
