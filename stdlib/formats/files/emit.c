// Files: the runtime fills in the rows, so that there is no code for them.
#include "codegen/emit_format.h"

const FormatEmit format_emit_files = {0};
