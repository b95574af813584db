// The code of formats by number.
#include "codegen/emit_format.h"

static const FormatEmit *const formats[FORMAT_COUNT] = {
#define FORMAT(NAME, folder) [FORMAT_##NAME] = &format_emit_##folder,
#include "ir/formats.def"
#undef FORMAT
};

const TextFormat *text_format_of(const SourceOp *source) {
    return source->kind == SOURCE_FILES ? formats[source->format]->read : nullptr;
}

const SinkFormat *sink_format_of(const SinkOp *sink) { return formats[sink->format]->write; }
