// The formats by number.
#include "ir/format.h"

static const FormatInfo *const infos[FORMAT_COUNT] = {
#define FORMAT(NAME, folder) [FORMAT_##NAME] = &format_info_##folder,
#include "ir/formats.def"
#undef FORMAT
};

static const char *const folders[FORMAT_COUNT] = {
#define FORMAT(NAME, folder) [FORMAT_##NAME] = #folder,
#include "ir/formats.def"
#undef FORMAT
};

const FormatInfo *format_info(Format format) { return infos[format]; }
const char *format_name(Format format) { return infos[format]->names[0].name; }
const char *format_folder(Format format) { return folders[format]; }

const Type *format_fixed_row(TypeTable *types, const FormatInfo *info) {
    Field fields[countof(info->fixed)];
    uint32_t count = 0;
    for (; count < countof(info->fixed) && info->fixed[count].name; count++)
        fields[count] = (Field){text_of(info->fixed[count].name),
                                type_of(types, info->fixed[count].kind)};
    return type_struct(types, fields, count);
}
