#include "driver/doc_topics.h"

#include "frontend/options.h"
#include "frontend/topics.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { FORM_COLUMNS = 52 };

Text doc_summary(Text doc) {
    for (size_t i = 0; i + 1 < doc.len; i++)
        if ((doc.at[i] == '.' || doc.at[i] == ':') && doc.at[i + 1] == ' ')
            return (Text){doc.at, i + (doc.at[i] == '.')};
    return doc;
}

Text doc_line(const char **at) {
    size_t len = strcspn(*at, "\n");
    Text line = {*at, len};
    *at += len + ((*at)[len] == '\n');
    return line;
}

void doc_cell(TextBuf *buf, Text text) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '|') text_buf_char(buf, '\\');
        text_buf_char(buf, text.at[i] == '\n' ? ' ' : text.at[i]);
    }
}

bool doc_same_word(Text a, Text b) {
    return a.len == b.len && strncasecmp(a.at, b.at, a.len) == 0;
}

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

bool doc_mentions(Text text, const char *word) {
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= text.len; i++) {
        bool begins = !i || !in_word(text.at[i - 1]);
        bool ends = i + len == text.len || !in_word(text.at[i + len]);
        if (begins && ends && strncasecmp(text.at + i, word, len) == 0) return true;
    }
    return false;
}

// ---- names --------------------------------------------------------------------------------------

// The next one of names between spaces; empty at their end.
static Text next_name(const char **at) {
    *at += strspn(*at, " ");
    Text name = {*at, strcspn(*at, " ")};
    *at += name.len;
    return name;
}

static bool is_named(const char *names, const char *word) {
    for (Text name = next_name(&names); name.len; name = next_name(&names))
        if (doc_same_word(name, text_of(word))) return true;
    return false;
}

static bool is_new_group(size_t topic) {
    return !topic || strcmp(topics[topic].group, topics[topic - 1].group) != 0;
}

size_t topic_names(Text *names) {
    size_t count = 0;
    for (size_t i = 0; i < TOPIC_COUNT; i++) {
        const char *at = topics[i].names;
        for (Text name = next_name(&at); name.len; name = next_name(&at), count++)
            if (names) names[count] = name;
        if (!is_new_group(i)) continue;
        if (names) names[count] = text_of(topics[i].group);
        count++;
    }
    for (size_t i = 0; i < OPTION_COUNT; i++, count++)
        if (names) names[count] = text_of(option_docs[i].name);
    return count;
}

// ---- options ------------------------------------------------------------------------------------

// The format that a topic is about; null: it is about none.
static const FormatInfo *topic_format(const Topic *topic) {
    for (Format format = 0; format < FORMAT_COUNT; format++)
        if (is_named(topic->names, format_name(format)) && strcmp(topic->group, "Formats") == 0)
            return format_info(format);
    return nullptr;
}

static const char *option_side(const FormatInfo *info, FormatOption option) {
    bool read = info->read_options & option, written = info->write_options & option;
    if (read && written) return "";
    return read ? "read: " : "write: ";
}

static void print_options(TextBuf *buf, const FormatInfo *info) {
    enum { OPTION_COLUMNS = 24 };
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const OptionDoc *option = &option_docs[i];
        if (!((info->read_options | info->write_options) & option->id)) continue;
        size_t len = strlen(option->name) + 3 + strlen(option->usual);
        text_buf_format(buf, "    %s = %s", option->name, option->usual);
        if (len < OPTION_COLUMNS) text_buf_pad(buf, OPTION_COLUMNS - len);
        text_buf_format(buf, "  %s%s\n", option_side(info, option->id), option->doc);
    }
}

// The formats that have an option, as " of csv, text".
static void print_formats_of(TextBuf *buf, FormatOption option) {
    const char *between = " of ";
    for (Format format = 0; format < FORMAT_COUNT; format++) {
        const FormatInfo *info = format_info(format);
        if (!((info->read_options | info->write_options) & option)) continue;
        text_buf_format(buf, "%s%s", between, format_name(format));
        between = ", ";
    }
}

static void print_option(TextBuf *buf, const OptionDoc *option) {
    text_buf_format(buf, "%s = %s", option->name, option->usual);
    print_formats_of(buf, option->id);
    text_buf_format(buf, "\n    %s\n", option->doc);
}

// ---- topics -------------------------------------------------------------------------------------

static void print_example(TextBuf *buf, const char *example) {
    const char *lead = "for example ";
    while (*example) {
        Text line = doc_line(&example);
        text_buf_format(buf, "    %s%.*s\n", lead, TEXT_ARG(line));
        lead = "            ";
    }
}

static void print_topic(TextBuf *buf, const Topic *topic) {
    for (const char *at = topic->forms; *at;) {
        Text form = doc_line(&at);
        text_buf_format(buf, "%.*s\n", TEXT_ARG(form));
    }
    text_buf_format(buf, "    %s\n", topic->doc);
    print_example(buf, topic->example);
    const FormatInfo *info = topic_format(topic);
    if (info) print_options(buf, info);
}

static void print_line(TextBuf *buf, const Topic *topic) {
    const char *at = topic->forms;
    Text form = doc_line(&at), line = doc_summary(text_of(topic->doc));
    text_buf_format(buf, "  %.*s", TEXT_ARG(form));
    if (form.len < FORM_COLUMNS) text_buf_pad(buf, FORM_COLUMNS - form.len);
    text_buf_format(buf, "  %.*s\n", TEXT_ARG(line));
}

static bool print_topic_group(TextBuf *buf, const char *word) {
    bool found = false;
    for (size_t i = 0; i < TOPIC_COUNT; i++) {
        if (!doc_same_word(text_of(topics[i].group), text_of(word))) continue;
        if (!found) text_buf_format(buf, "%s\n", topics[i].group);
        print_line(buf, &topics[i]);
        found = true;
    }
    return found;
}

bool print_topics(TextBuf *buf, const char *word) {
    bool found = false;
    for (size_t i = 0; i < TOPIC_COUNT; i++) {
        if (!is_named(topics[i].names, word)) continue;
        if (found) text_buf_char(buf, '\n');
        print_topic(buf, &topics[i]);
        found = true;
    }
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (!doc_same_word(text_of(option_docs[i].name), text_of(word))) continue;
        if (found) text_buf_char(buf, '\n');
        print_option(buf, &option_docs[i]);
        found = true;
    }
    return found || print_topic_group(buf, word);
}

void print_all_topics(TextBuf *buf) {
    for (size_t i = 0; i < TOPIC_COUNT; i++) {
        if (is_new_group(i)) text_buf_format(buf, "\n%s\n", topics[i].group);
        print_line(buf, &topics[i]);
    }
}

void print_topics_about(TextBuf *buf, const char *word) {
    for (size_t i = 0; i < TOPIC_COUNT; i++) {
        bool about = doc_mentions(text_of(topics[i].doc), word) ||
                     doc_mentions(text_of(topics[i].forms), word);
        if (about) print_line(buf, &topics[i]);
    }
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (doc_mentions(text_of(option_docs[i].doc), word)) print_option(buf, &option_docs[i]);
}

// ---- markdown -----------------------------------------------------------------------------------

static void print_markdown_topic(TextBuf *buf, const Topic *topic) {
    text_buf_add(buf, TEXT("| "));
    for (const char *at = topic->forms; *at;) {
        if (at != topic->forms) text_buf_add(buf, TEXT("<br>"));
        text_buf_char(buf, '`');
        doc_cell(buf, doc_line(&at));
        text_buf_char(buf, '`');
    }
    text_buf_format(buf, " | %s | ", topic->doc);
    for (const char *at = topic->example; *at;) {
        text_buf_add(buf, at == topic->example ? TEXT("`` ") : TEXT("<br>`` "));
        doc_cell(buf, doc_line(&at));
        text_buf_add(buf, TEXT(" ``"));
    }
    text_buf_add(buf, TEXT(" |\n"));
}

static void print_markdown_options(TextBuf *buf) {
    text_buf_add(buf, TEXT("\n## Options\n\n| option | of | what it says |\n|---|---|---|\n"));
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const OptionDoc *option = &option_docs[i];
        text_buf_format(buf, "| `` %s = %s `` |", option->name, option->usual);
        print_formats_of(buf, option->id);
        text_buf_format(buf, " | %s |\n", option->doc);
    }
}

void print_markdown_topics(TextBuf *buf) {
    for (size_t i = 0; i < TOPIC_COUNT; i++) {
        if (is_new_group(i))
            text_buf_format(buf, "\n## %s\n\n| form | what it is | example |\n|---|---|---|\n",
                            topics[i].group);
        print_markdown_topic(buf, &topics[i]);
    }
    print_markdown_options(buf);
}
