// Link OpenSSL: the functions of OpenSSL 3, of the machine on which the job runs.
//
// A job does not carry them: they would more than double its size. The first connection with a key
// opens libssl.so.3. Only link_tls.c includes this file. After it, the names of OpenSSL stand for
// the functions of that library.
#ifndef SBC_RUNTIME_WORKER_LINK_OPENSSL_H
#define SBC_RUNTIME_WORKER_LINK_OPENSSL_H

#include <openssl/err.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <stddef.h>

#define OPENSSL_CALLS(X)                                                                      \
    X(BIO_clear_flags) X(BIO_get_data) X(BIO_meth_free) X(BIO_meth_new) X(BIO_meth_set_ctrl)  \
    X(BIO_meth_set_read) X(BIO_meth_set_write) X(BIO_new) X(BIO_set_data) X(BIO_set_flags)    \
    X(BIO_set_init) X(ERR_clear_error) X(ERR_peek_error) X(ERR_reason_error_string)           \
    X(OPENSSL_cleanse) X(OPENSSL_init_ssl) X(SHA256) X(SSL_CIPHER_find) X(SSL_CTX_ctrl)       \
    X(SSL_CTX_free) X(SSL_CTX_new) X(SSL_CTX_set_ciphersuites) X(SSL_CTX_set_num_tickets)     \
    X(SSL_CTX_set_options) X(SSL_CTX_set_psk_find_session_callback)                           \
    X(SSL_CTX_set_psk_use_session_callback) X(SSL_SESSION_free) X(SSL_SESSION_new)            \
    X(SSL_SESSION_set1_master_key) X(SSL_SESSION_set_cipher)                                  \
    X(SSL_SESSION_set_protocol_version) X(SSL_do_handshake) X(SSL_free) X(SSL_get_error)      \
    X(SSL_get_ex_data) X(SSL_is_init_finished) X(SSL_new) X(SSL_read_ex)                      \
    X(SSL_set_accept_state) X(SSL_set_bio) X(SSL_set_connect_state) X(SSL_set_ex_data)        \
    X(SSL_shutdown) X(SSL_want) X(SSL_write_ex) X(TLS_method)

typedef struct OpenSsl {
#define OPENSSL_CALL(name) typeof(name) *name;
    OPENSSL_CALLS(OPENSSL_CALL)
#undef OPENSSL_CALL
} OpenSsl;

// Filled in by openssl_open.
extern OpenSsl openssl;

// Opens the library, once. False: `why` has `room` bytes for the reason.
bool openssl_open(char *why, size_t room);

#ifndef OPENSSL_OWN
#define BIO_clear_flags openssl.BIO_clear_flags
#define BIO_get_data openssl.BIO_get_data
#define BIO_meth_free openssl.BIO_meth_free
#define BIO_meth_new openssl.BIO_meth_new
#define BIO_meth_set_ctrl openssl.BIO_meth_set_ctrl
#define BIO_meth_set_read openssl.BIO_meth_set_read
#define BIO_meth_set_write openssl.BIO_meth_set_write
#define BIO_new openssl.BIO_new
#define BIO_set_data openssl.BIO_set_data
#define BIO_set_flags openssl.BIO_set_flags
#define BIO_set_init openssl.BIO_set_init
#define ERR_clear_error openssl.ERR_clear_error
#define ERR_peek_error openssl.ERR_peek_error
#define ERR_reason_error_string openssl.ERR_reason_error_string
#define OPENSSL_cleanse openssl.OPENSSL_cleanse
#define OPENSSL_init_ssl openssl.OPENSSL_init_ssl
#define SHA256 openssl.SHA256
#define SSL_CIPHER_find openssl.SSL_CIPHER_find
#define SSL_CTX_ctrl openssl.SSL_CTX_ctrl
#define SSL_CTX_free openssl.SSL_CTX_free
#define SSL_CTX_new openssl.SSL_CTX_new
#define SSL_CTX_set_ciphersuites openssl.SSL_CTX_set_ciphersuites
#define SSL_CTX_set_num_tickets openssl.SSL_CTX_set_num_tickets
#define SSL_CTX_set_options openssl.SSL_CTX_set_options
#define SSL_CTX_set_psk_find_session_callback openssl.SSL_CTX_set_psk_find_session_callback
#define SSL_CTX_set_psk_use_session_callback openssl.SSL_CTX_set_psk_use_session_callback
#define SSL_SESSION_free openssl.SSL_SESSION_free
#define SSL_SESSION_new openssl.SSL_SESSION_new
#define SSL_SESSION_set1_master_key openssl.SSL_SESSION_set1_master_key
#define SSL_SESSION_set_cipher openssl.SSL_SESSION_set_cipher
#define SSL_SESSION_set_protocol_version openssl.SSL_SESSION_set_protocol_version
#define SSL_do_handshake openssl.SSL_do_handshake
#define SSL_free openssl.SSL_free
#define SSL_get_error openssl.SSL_get_error
#define SSL_get_ex_data openssl.SSL_get_ex_data
#define SSL_is_init_finished openssl.SSL_is_init_finished
#define SSL_new openssl.SSL_new
#define SSL_read_ex openssl.SSL_read_ex
#define SSL_set_accept_state openssl.SSL_set_accept_state
#define SSL_set_bio openssl.SSL_set_bio
#define SSL_set_connect_state openssl.SSL_set_connect_state
#define SSL_set_ex_data openssl.SSL_set_ex_data
#define SSL_shutdown openssl.SSL_shutdown
#define SSL_want openssl.SSL_want
#define SSL_write_ex openssl.SSL_write_ex
#define TLS_method openssl.TLS_method
#endif

#endif
