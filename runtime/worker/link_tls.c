// TLS 1.3 with the key of the job on both sides (RFC 8446 §2.2, an external PSK with (EC)DHE), by
// OpenSSL. There are no certificates: who has the key is let in.
#define _GNU_SOURCE
#include "runtime/worker/link.h"

#include "runtime/worker/link_openssl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_BYTES = 16 << 10 };  // Of TLS, at most.

static const unsigned char identity[] = "sbc job";
static const unsigned char cipher_id[] = {0x13, 0x01};
static const char cipher_name[] = "TLS_AES_128_GCM_SHA256";

typedef struct Session {
    SSL        *ssl;
    BIO_METHOD *method;
    LinkKey     key;
    int         fd;
    int         error;     // The errno of the last call on the socket; 0: it succeeded.
    bool        eof;
    bool        broken;    // `why` is set: more was moved before.
    LinkWhy     why;
    char        gathered[RECORD_BYTES];
} Session;

// ---- the socket ---------------------------------------------------------------------------------

static int moved(BIO *bio, Session *session, ssize_t count) {
    BIO_clear_retry_flags(bio);
    session->error = count < 0 ? errno : 0;
    return (int)count;
}

static int bio_read(BIO *bio, char *into, int len) {
    Session *session = BIO_get_data(bio);
    int got = moved(bio, session, recv(session->fd, into, (size_t)len, MSG_DONTWAIT));
    if (got < 0 && (session->error == EAGAIN || session->error == EINTR)) BIO_set_retry_read(bio);
    session->eof = got == 0;
    return got;
}

static int bio_write(BIO *bio, const char *from, int len) {
    Session *session = BIO_get_data(bio);
    int wrote = moved(bio, session,
                      send(session->fd, from, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT));
    if (wrote < 0 && (session->error == EAGAIN || session->error == EINTR))
        BIO_set_retry_write(bio);
    return wrote;
}

static long bio_control(BIO *bio, int what, long number, void *arg) {
    const Session *session = BIO_get_data(bio);
    (void)number, (void)arg;
    if (what == BIO_CTRL_EOF) return session->eof;
    return what == BIO_CTRL_FLUSH;
}

static BIO *make_bio(Session *session) {
    session->method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "link");
    if (!session->method) return nullptr;
    BIO_meth_set_read(session->method, bio_read);
    BIO_meth_set_write(session->method, bio_write);
    BIO_meth_set_ctrl(session->method, bio_control);
    BIO *bio = BIO_new(session->method);
    if (!bio) return nullptr;
    BIO_set_data(bio, session);
    BIO_set_init(bio, 1);
    return bio;
}

bool link_key_of(const char *bytes, int64_t len, LinkKey *key, Trouble *trouble) {
    static_assert(LINK_KEY_BYTES == SHA256_DIGEST_LENGTH);
    char why[LINK_TEXT_MAX];
    if (!openssl_open(why, sizeof why))
        return trouble_set(trouble, TROUBLE_OPENSSL, "connections with a key need OpenSSL 3: %s",
                           why);
    SHA256((const unsigned char *)bytes, (size_t)len, key->bytes);
    return true;
}

// ---- the key ------------------------------------------------------------------------------------

// nullptr: no memory.
static SSL_SESSION *with_key(SSL *ssl) {
    const Session *session = SSL_get_app_data(ssl);
    SSL_SESSION *made = SSL_SESSION_new();
    if (made &&
        SSL_SESSION_set1_master_key(made, session->key.bytes, sizeof session->key.bytes) &&
        SSL_SESSION_set_cipher(made, SSL_CIPHER_find(ssl, cipher_id)) &&
        SSL_SESSION_set_protocol_version(made, TLS1_3_VERSION))
        return made;
    SSL_SESSION_free(made);
    return nullptr;
}

static int offer_key(SSL *ssl, const EVP_MD *digest, const unsigned char **id, size_t *id_len,
                     SSL_SESSION **session) {
    (void)digest;
    *id = identity;
    *id_len = sizeof identity - 1;
    *session = with_key(ssl);
    return *session != nullptr;
}

static int find_key(SSL *ssl, const unsigned char *id, size_t id_len, SSL_SESSION **session) {
    bool ours = id_len == sizeof identity - 1 && memcmp(id, identity, id_len) == 0;
    *session = ours ? with_key(ssl) : nullptr;
    return !ours || *session;
}

// Nothing but TLS 1.3 with the key: no tickets, no sessions that are taken up again.
static SSL_CTX *make_context(void) {
    // The configuration of the machine is not that of the job.
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    if (!context) return nullptr;
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_TICKET);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_psk_use_session_callback(context, offer_key);
    SSL_CTX_set_psk_find_session_callback(context, find_key);
    if (SSL_CTX_set_num_tickets(context, 0) &&
        SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) &&
        SSL_CTX_set_ciphersuites(context, cipher_name))
        return context;
    SSL_CTX_free(context);
    return nullptr;
}

// ---- errors -------------------------------------------------------------------------------------

// What OpenSSL calls the errors of those who have another key, and of those who speak no TLS 1.3.
static const struct Meaning {
    int     reason;
    LinkEnd end;
} meanings[] = {
    {SSL_R_BINDER_DOES_NOT_VERIFY, LINK_END_KEY},
    {SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER, LINK_END_KEY},
    {SSL_R_TLSV1_ALERT_DECRYPT_ERROR, LINK_END_KEY},
    {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, LINK_END_KEY},
    {SSL_R_TLSV1_ALERT_UNKNOWN_PSK_IDENTITY, LINK_END_KEY},
    {SSL_R_NO_SUITABLE_KEY_SHARE, LINK_END_KEY},
    {SSL_R_NO_SHARED_CIPHER, LINK_END_KEY},
    {SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, LINK_END_KEY},
    {SSL_R_WRONG_VERSION_NUMBER, LINK_END_NO_FRAME},
    {SSL_R_UNSUPPORTED_PROTOCOL, LINK_END_NO_FRAME},
    {SSL_R_HTTP_REQUEST, LINK_END_NO_FRAME},
    {SSL_R_HTTPS_PROXY_REQUEST, LINK_END_NO_FRAME},
    {SSL_R_BAD_RECORD_TYPE, LINK_END_NO_FRAME},
    {SSL_R_UNEXPECTED_MESSAGE, LINK_END_NO_FRAME},
    {SSL_R_RECORD_LENGTH_MISMATCH, LINK_END_NO_FRAME},
    {SSL_R_PACKET_LENGTH_TOO_LONG, LINK_END_NO_FRAME},
    {SSL_R_ENCRYPTED_LENGTH_TOO_LONG, LINK_END_NO_FRAME},
    {SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, LINK_END_NO_FRAME},
};

static void explain(LinkWhy *why) {
    unsigned long error = ERR_peek_error();
    const char *reason = ERR_reason_error_string(error);
    LinkEnd end = LINK_END_ERROR;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (ERR_GET_REASON(error) == meanings[i].reason) end = meanings[i].end;
    if (!reason) reason = "no reason";
    if (end == LINK_END_KEY)
        link_fails(why, end, "the other side has another key, or none: %s", reason);
    else if (end == LINK_END_NO_FRAME)
        link_fails(why, end, "what came is not encrypted as TLS 1.3: %s", reason);
    else link_fails(why, end, "the encryption failed: %s", reason);
}

// What a call of OpenSSL that moved nothing says: LINK_LATER, LINK_FAILED, or 0 at the end.
static int64_t judge(Session *session, int result, LinkWhy *why) {
    switch (SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return LINK_LATER;
    case SSL_ERROR_ZERO_RETURN: return 0;
    case SSL_ERROR_SYSCALL:
        if (session->error == 0) return 0;
        link_breaks(why, session->error);
        return LINK_FAILED;
    default: explain(why); return LINK_FAILED;
    }
}

// ---- the channel --------------------------------------------------------------------------------

static void close_tls(void *self) {
    Session *session = self;
    ERR_clear_error();
    if (session->ssl && SSL_is_init_finished(session->ssl)) SSL_shutdown(session->ssl);
    ERR_clear_error();
    SSL_free(session->ssl);
    BIO_meth_free(session->method);
    OPENSSL_cleanse(&session->key, sizeof session->key);
    free(session);
}

static void *open_tls(const LinkKey *key, int fd, bool accepts, LinkWhy *why) {
    char reason[LINK_TEXT_MAX];
    if (!openssl_open(reason, sizeof reason)) {
        link_fails(why, LINK_END_ERROR, "there is no OpenSSL 3: %s", reason);
        return nullptr;
    }
    Session *session = calloc(1, sizeof *session);
    SSL_CTX *context = make_context();
    if (session && context) {
        session->fd = fd;
        session->key = *key;
        session->ssl = SSL_new(context);
    }
    SSL_CTX_free(context);
    BIO *bio = session && session->ssl ? make_bio(session) : nullptr;
    if (!bio) {
        if (session) close_tls(session);
        link_fails(why, LINK_END_ERROR, "no memory for an encrypted connection");
        return nullptr;
    }
    SSL_set_bio(session->ssl, bio, bio);
    SSL_set_app_data(session->ssl, session);
    if (accepts) SSL_set_accept_state(session->ssl);
    else SSL_set_connect_state(session->ssl);
    return session;
}

static LinkShake shake(void *self, LinkWhy *why) {
    Session *session = self;
    ERR_clear_error();
    int result = SSL_do_handshake(session->ssl);
    if (result == 1) return LINK_SHAKEN;
    int64_t judged = judge(session, result, why);
    if (judged == LINK_LATER)
        return SSL_want_write(session->ssl) ? LINK_WANTS_WRITE : LINK_WANTS_READ;
    if (judged == 0)
        link_fails(why, LINK_END_CLOSED, "the other side has closed the connection before keys "
                   "were compared: it may have none");
    return LINK_SHAKE_FAILED;
}

// What was moved before an error counts; the error is told the next time.
static int64_t outcome(Session *session, int64_t moved_bytes, int64_t judged, LinkWhy *why) {
    if (moved_bytes == 0 || judged == LINK_LATER) return moved_bytes ? moved_bytes : judged;
    session->broken = judged == LINK_FAILED;
    session->why = *why;
    return moved_bytes;
}

static int64_t read_tls(void *self, const struct iovec *into, int count, LinkWhy *why) {
    Session *session = self;
    int64_t sum = 0;
    if (session->broken) {
        *why = session->why;
        return LINK_FAILED;
    }
    for (int i = 0; i < count; i++) {
        for (size_t at = 0, got; at < into[i].iov_len; at += got) {
            ERR_clear_error();
            int result = SSL_read_ex(session->ssl, (char *)into[i].iov_base + at,
                                     into[i].iov_len - at, &got);
            if (result != 1) return outcome(session, sum, judge(session, result, why), why);
            sum += (int64_t)got;
        }
    }
    return sum;
}

// Where writing is in the pieces.
typedef struct Place {
    const struct iovec *from;
    int                 count, i;
    size_t              at;
} Place;

static void advance(Place *place, size_t len) {
    while (place->i < place->count && place->at + len >= place->from[place->i].iov_len) {
        len -= place->from[place->i].iov_len - place->at;
        place->i++;
        place->at = 0;
    }
    place->at += len;
}

// The next record: as it lies, if one piece has all of it, else gathered from several. What is
// tried again begins with the same bytes, and is never shorter.
static const char *record(Session *session, Place place, size_t *len) {
    const struct iovec *first = &place.from[place.i];
    *len = RECORD_BYTES;
    if (first->iov_len - place.at >= RECORD_BYTES) return (const char *)first->iov_base + place.at;
    for (*len = 0; place.i < place.count && *len < RECORD_BYTES; place.i++, place.at = 0) {
        const struct iovec *piece = &place.from[place.i];
        size_t part = piece->iov_len - place.at, room = RECORD_BYTES - *len;
        if (part > room) part = room;
        memcpy(session->gathered + *len, (const char *)piece->iov_base + place.at, part);
        *len += part;
    }
    return session->gathered;
}

static int64_t write_tls(void *self, const struct iovec *from, int count, LinkWhy *why) {
    Session *session = self;
    Place place = {.from = from, .count = count};
    int64_t sum = 0;
    while (place.i < count) {
        size_t len, wrote;
        const char *bytes = record(session, place, &len);
        ERR_clear_error();
        int result = SSL_write_ex(session->ssl, bytes, len, &wrote);
        if (result != 1) {
            int64_t judged = judge(session, result, why);
            if (judged == 0) link_breaks(why, EPIPE), judged = LINK_FAILED;
            return judged == LINK_LATER && sum ? sum : judged;
        }
        sum += (int64_t)wrote;
        advance(&place, wrote);
    }
    return sum;
}

const LinkChannel link_tls = {.open = open_tls, .shake = shake, .read = read_tls,
                              .write = write_tls, .close = close_tls};
