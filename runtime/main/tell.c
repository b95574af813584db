#define _GNU_SOURCE
#include "runtime/main/tell.h"

#include "runtime/dispatch.h"
#include "runtime/wire.h"
#include "runtime/worker.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum : uint16_t { FRAME_TELL = 1, FRAME_ANSWER = 2 };
enum : int64_t { TIMEOUT = 10'000'000'000, QUEUE_BYTES = 1 << 20 };
enum { PEERS_MAX = 8 };

static const LinkMake *const makes[] = {&link_unix, nullptr};

// ---- where --------------------------------------------------------------------------------------

// Of the program file, whatever its name, and of the user.
static void name_address(const char *path, char *address, size_t room) {
    struct stat file = {0};
    if (path) {
        snprintf(address, room, "unix:%s", path);
        return;
    }
    stat("/proc/self/exe", &file);
    snprintf(address, room, "unix:@sbc-%u-%llx-%llx", geteuid(), (unsigned long long)file.st_dev,
             (unsigned long long)file.st_ino);
}

// ---- the job ------------------------------------------------------------------------------------

struct Told {
    Job   *job;
    Links *links;
};

static void on_told(void *self, PeerId peer, const Frame *frame) {
    Told *told = self;
    Text said = {0}, text = {0};
    Trouble trouble = {0};
    Command command;
    char *line = frame->kind == FRAME_TELL ? strndup(frame->bytes, (size_t)frame->len) : nullptr;
    bool good = line && command_read(line, &command, &trouble) &&
                engine_manage(told->job, &command, &said, &trouble);
    free(line);
    if (!good && trouble.kind == TROUBLE_NONE) trouble_no_memory(&trouble, "for an answer");
    sb_text_add(&said, "", 1);
    pack_number(&text, good);
    if (good) pack_string(&text, said.ptr);
    else wire_put_trouble(&text, &trouble);
    Frame answer = {.kind = FRAME_ANSWER, .bytes = text.ptr, .len = text.len};
    if (!text.failed) links_send(told->links, peer, &answer, nullptr, 0);
    sb_text_close(&text);
    sb_text_close(&said);
    trouble_close(&trouble);
}

Told *told_open(Job *job) {
    const char *path = job->ask.options.control;
    if (!path && job->machine.workers.count == 0) return nullptr;
    Told *told = calloc(1, sizeof *told);
    if (!told) {
        trouble_no_memory(&job->trouble, "to begin");
        return nullptr;
    }
    char address[LINK_ADDRESS_MAX];
    LinkAddress bound;
    Trouble trouble = {0};
    *told = (Told){.job = job};
    name_address(path, address, sizeof address);
    LinksSetup setup = {.calls = {.frame = on_told}, .self = told, .makes = makes,
                        .timeout_ns = TIMEOUT, .queue_bytes_max = QUEUE_BYTES,
                        .peers_max = PEERS_MAX};
    told->links = links_open(&setup, &trouble);
    if (told->links && links_listen(told->links, address, &bound, &trouble)) return told;
    if (path) job->trouble = trouble;
    told_close(told);
    return nullptr;
}

void told_close(Told *told) {
    if (!told) return;
    links_close(told->links);
    free(told);
}

// ---- who tells ----------------------------------------------------------------------------------

typedef struct Teller {
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    const char     *text;   // Of the command.
    Links          *links;
    bool            opened, over;
    Text            answer;
    Trouble        *trouble;
} Teller;

static void end(Teller *teller) {
    teller->over = true;
    pthread_cond_signal(&teller->changed);
}

static void on_opened(void *self, PeerId peer) {
    Teller *teller = self;
    pthread_mutex_lock(&teller->lock);
    Frame frame = {.kind = FRAME_TELL, .bytes = teller->text, .len = (int64_t)strlen(teller->text)};
    teller->opened = true;
    links_send(teller->links, peer, &frame, nullptr, 0);
    pthread_mutex_unlock(&teller->lock);
}

static void on_answer(void *self, PeerId peer, const Frame *frame) {
    (void)peer;
    Teller *teller = self;
    Unpack from = {frame->bytes, frame->bytes + frame->len, false};
    pthread_mutex_lock(&teller->lock);
    bool good = frame->kind == FRAME_ANSWER && unpack_number(&from) == 1;
    if (good) sb_text_str(&teller->answer, unpack_string(&from));
    if (from.bad || (!good && !wire_get_trouble(&from, teller->trouble)))
        trouble_set(teller->trouble, TROUBLE_LINK_VERSION, "what answers is no job of this build");
    end(teller);
    pthread_mutex_unlock(&teller->lock);
}

static void on_closed(void *self, PeerId peer, LinkEnd why, const char *text) {
    (void)peer, (void)why;
    Teller *teller = self;
    pthread_mutex_lock(&teller->lock);
    if (!teller->over && teller->opened)
        trouble_set(teller->trouble, TROUBLE_LINK_LOST, "the job did not answer: %s", text);
    end(teller);
    pthread_mutex_unlock(&teller->lock);
}

// False: no job takes commands there, which the trouble does not say yet.
static bool ask(Teller *teller, const char *address) {
    PeerId peer;
    Trouble reason = {0};
    bool good = links_connect(teller->links, address, &peer, &reason);
    if (reason.kind == TROUBLE_LINK_ADDRESS) *teller->trouble = reason;
    pthread_mutex_lock(&teller->lock);
    while (good && !teller->over) pthread_cond_wait(&teller->changed, &teller->lock);
    pthread_mutex_unlock(&teller->lock);
    return teller->opened || reason.kind == TROUBLE_LINK_ADDRESS;
}

// Texts of commands are as they were given.
static void write_command(const Command *command, char *text, size_t room) {
    static const char *const names[] = {
#define COMMAND(name, text, value, doc) text,
#include "runtime/options/commands.def"
#undef COMMAND
    };
    static const bool values[] = {
#define COMMAND(name, text, value, doc) value[0] != '\0',
#include "runtime/options/commands.def"
#undef COMMAND
    };
    if (values[command->kind])
        snprintf(text, room, "%s=%lld", names[command->kind], (long long)command->value);
    else snprintf(text, room, "%s", names[command->kind]);
}

void tell_run(Job *job) {
    char address[LINK_ADDRESS_MAX], text[64];
    const Options *options = &job->ask.options;
    name_address(options->control, address, sizeof address);
    write_command(&options->command, text, sizeof text);
    Teller teller = {.text = text, .trouble = &job->trouble};
    pthread_mutex_init(&teller.lock, nullptr);
    pthread_cond_init(&teller.changed, nullptr);
    LinksSetup setup = {.calls = {.opened = on_opened, .frame = on_answer, .closed = on_closed},
                        .self = &teller, .makes = makes, .timeout_ns = TIMEOUT,
                        .queue_bytes_max = QUEUE_BYTES, .peers_max = 1};
    pthread_mutex_lock(&teller.lock);
    teller.links = links_open(&setup, &job->trouble);
    pthread_mutex_unlock(&teller.lock);
    if (teller.links && !ask(&teller, address))
        trouble_set(&job->trouble, TROUBLE_CONTROL_NONE, "no job takes commands at '%s'",
                    options->control ? options->control : address + strlen("unix:"));
    links_close(teller.links);
    if (teller.answer.len > 0) fwrite(teller.answer.ptr, 1, (size_t)teller.answer.len, stdout);
    sb_text_close(&teller.answer);
    pthread_cond_destroy(&teller.changed);
    pthread_mutex_destroy(&teller.lock);
}
