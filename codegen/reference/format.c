// The formats by number.
#include "codegen/reference/format.h"

static const FormatReference *const formats[FORMAT_COUNT] = {
#define FORMAT(NAME, folder) [FORMAT_##NAME] = &format_reference_##folder,
#include "ir/formats.def"
#undef FORMAT
};

const FormatReference *format_reference(Format format) { return formats[format]; }
