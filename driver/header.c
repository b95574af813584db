#include "driver/header.h"

#include "runtime/abi.h"

static const char *const c_types[] = {
    [TYPE_BOOL] = "bool",      [TYPE_I8] = "int8_t",    [TYPE_I16] = "int16_t",
    [TYPE_I32] = "int32_t",    [TYPE_I64] = "int64_t",  [TYPE_U8] = "uint8_t",
    [TYPE_U16] = "uint16_t",   [TYPE_U32] = "uint32_t", [TYPE_U64] = "uint64_t",
    [TYPE_F32] = "float",      [TYPE_F64] = "double",   [TYPE_STR] = "SbStr",
    [TYPE_BYTES] = "SbStr",    [TYPE_DATE] = "int32_t", [TYPE_TIMESTAMP] = "int64_t",
    [TYPE_DURATION] = "int64_t",
};

// What the number of a time means.
static const char *unit_of(const Type *type) {
    static const char *const units[] = {"seconds", "milliseconds", "microseconds", "nanoseconds"};
    if (type->kind == TYPE_DATE) return "days since 1970-01-01";
    if (type->kind == TYPE_DURATION) return "microseconds";
    return type->kind == TYPE_TIMESTAMP ? units[type->unit] : nullptr;
}

static const char *c_type(const Type *type) {
    TypeKind kind = type_base(type)->kind;
    return kind < countof(c_types) && c_types[kind] ? c_types[kind] : "void";
}

static void print_prototype(TextBuf *buf, const ExternFn *fn) {
    bool status = fn->ref->traits & (FN_FALLIBLE | FN_MAYBE);
    text_buf_format(buf, "\n// %.*s(", TEXT_ARG(fn->ref->name));
    for (uint32_t i = 0; i < fn->param_count; i++) {
        text_buf_format(buf, "%s%.*s: ", i ? ", " : "", TEXT_ARG(fn->params[i].name));
        type_print(buf, fn->params[i].type);
    }
    text_buf_add(buf, TEXT(") -> "));
    type_print(buf, fn->result);
    if (status)
        text_buf_format(buf, "; returns %s", !(fn->ref->traits & FN_MAYBE) ? "SB_OK or SB_FAILED"
                        : fn->ref->traits & FN_FALLIBLE ? "SB_OK, SB_NULL or SB_FAILED"
                                                        : "SB_OK or SB_NULL");
    for (uint32_t i = 0; i < fn->param_count; i++) {
        const char *unit = unit_of(type_base(fn->params[i].type));
        if (unit) text_buf_format(buf, "; %.*s in %s", TEXT_ARG(fn->params[i].name), unit);
    }
    if (unit_of(type_base(fn->result)))
        text_buf_format(buf, "; the result in %s", unit_of(type_base(fn->result)));
    text_buf_format(buf, "\n%s %.*s(", status ? "int32_t" : c_type(fn->result),
                    TEXT_ARG(fn->ref->symbol));
    for (uint32_t i = 0; i < fn->param_count; i++) {
        const Type *type = fn->params[i].type;
        text_buf_format(buf, type->nullable ? "%sconst %s *%.*s" : "%s%s %.*s", i ? ", " : "",
                        c_type(type), TEXT_ARG(fn->params[i].name));
    }
    if (status) text_buf_format(buf, "%s%s *out", fn->param_count ? ", " : "", c_type(fn->result));
    text_buf_add(buf, fn->param_count || status ? TEXT(");\n") : TEXT("void);\n"));
}

Text header_text(const Session *s) {
    TextBuf buf = {0};
    text_buf_format(&buf,
                    "// The extern functions of %s, written by `sbc header`. A C file that the\n"
                    "// program names may include it as \"pipeline.h\" without it being there.\n"
                    "#pragma once\n\n"
                    "#include <stdbool.h>\n#include <stdint.h>\n\n"
                    "#ifndef SBC_RUNTIME_ABI_H\n"
                    "typedef struct SbStr {  // str and bytes: len bytes at ptr, not yours\n"
                    "    const char *ptr;\n    int64_t     len;\n} SbStr;\n\n"
                    "enum { SB_OK = %d, SB_NULL = %d };  // A result is at *out; there is none\n"
                    "#endif\n"
                    "enum { SB_FAILED = %d };  // The row is rejected with SB7027\n",
                    s->name, SB_OK, SB_NULL, SB_FAULT_EXTERN_FAILED);
    for (size_t i = 0; i < s->program->extern_count; i++)
        print_prototype(&buf, &s->program->externs[i]);
    return text_buf_take(&buf, s->arena);
}

int header_command(const Options *options) {
    int status = EXIT_DONE;
    for (size_t i = 0; i < options->file_count; i++) {
        Session s = session_new(options);
        if (session_load(&s, options->files[i])) {
            session_check(&s, (CheckAs){.want_tests = true});
            if (!s.diags->errors) {
                Text text = header_text(&s);
                fwrite(text.at, 1, text.len, stdout);
            }
        }
        int worse = session_report(&s);
        if (worse > status) status = worse;
    }
    return status;
}
