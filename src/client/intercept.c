/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/intercept.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

/* Where the two streams and the socket of one connection meet; each of them holds a reference. */
typedef struct {
    guint refs;
    gboolean decided; /* the first bytes written were seen */
    gboolean cipher;  /* tap is the one of the SSL object above */
    SaTap *tap;       /* NULL: not a SPICE connection, or not known yet */
    GSocket *socket;  /* weak pointer */
} Endpoint;

static GSocketConnection *(*real_connect_finish)(GSocketClient *, GAsyncResult *, GError **);
static gssize (*real_read)(GPollableInputStream *, void *, gsize, GCancellable *, GError **);
static gboolean (*real_is_readable)(GPollableInputStream *);
static gssize (*real_write)(GPollableOutputStream *, const void *, gsize, GCancellable *,
                            GError **);
static int (*real_ssl_read)(SSL *, void *, int);
static int (*real_ssl_write)(SSL *, const void *, int);

/* The tap whose SSL call is running: stream calls below it carry its ciphertext. */
static __thread SaTap *inside_ssl;

static gboolean
starts_a_link(const void *data, gsize len)
{
    return len >= 4 && memcmp(data, "REDQ", 4) == 0;
}

/* ---------------------------------------------------------------------------- endpoints --- */

static G_DEFINE_QUARK(spice - accel - endpoint, endpoint)

static void
endpoint_unref(gpointer data)
{
    Endpoint *endpoint = data;

    /* streams and socket live and end with their connection: one gone, all gone */
    if (endpoint->tap != NULL && !endpoint->cipher) {
        sa_tap_close(endpoint->tap, g_get_monotonic_time());
    }
    if (--endpoint->refs == 0) {
        sa_tap_unref(endpoint->tap);
        g_clear_weak_pointer(&endpoint->socket);
        g_free(endpoint);
    }
}

static Endpoint *
endpoint_get(gpointer object)
{
    return g_object_get_qdata(object, endpoint_quark());
}

static void
endpoint_attach(Endpoint *endpoint, gpointer object)
{
    endpoint->refs++;
    g_object_set_qdata_full(object, endpoint_quark(), endpoint, endpoint_unref);
}

/* The socket of a stream: GIO's socket streams have it as a property. NULL when they do not. */
static GSocket *
stream_socket(gpointer stream)
{
    GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(stream), "socket");
    GSocket *socket = NULL;

    if (spec == NULL || !g_type_is_a(spec->value_type, G_TYPE_SOCKET) ||
        !(spec->flags & G_PARAM_READABLE)) {
        return NULL;
    }
    g_object_get(stream, "socket", &socket, NULL);
    return socket;
}

/* The endpoint of a stream, made at its first use. Streams that were never announced by a
 * connection (a descriptor handed to the session) are matched by their socket. */
static Endpoint *
endpoint_of_stream(gpointer stream)
{
    Endpoint *endpoint = endpoint_get(stream);
    g_autoptr(GSocket) socket = NULL;

    if (endpoint != NULL) {
        return endpoint;
    }
    socket = stream_socket(stream);
    if (socket != NULL) {
        endpoint = endpoint_get(socket);
    }
    if (endpoint == NULL) {
        endpoint = g_new0(Endpoint, 1);
        if (socket != NULL) {
            g_set_weak_pointer(&endpoint->socket, socket);
            endpoint_attach(endpoint, socket);
        }
    }
    endpoint_attach(endpoint, stream);
    return endpoint;
}

/* A connection that spice-gtk has just opened: its streams may be wrapped ones that do not show
 * their socket. */
static void
endpoint_of_connection(GSocketConnection *connection)
{
    gpointer ends[] = {
        g_socket_connection_get_socket(connection),
        g_io_stream_get_input_stream(G_IO_STREAM(connection)),
        g_io_stream_get_output_stream(G_IO_STREAM(connection)),
    };
    Endpoint *endpoint;

    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++) {
        if (ends[i] == NULL || endpoint_get(ends[i]) != NULL) {
            return;
        }
    }
    endpoint = g_new0(Endpoint, 1);
    g_set_weak_pointer(&endpoint->socket, ends[0]);
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++) {
        endpoint_attach(endpoint, ends[i]);
    }
}

static void
endpoint_set_tap(Endpoint *endpoint, SaTap *tap, gboolean cipher)
{
    endpoint->decided = TRUE;
    endpoint->cipher = cipher;
    endpoint->tap = tap;
    sa_tap_set_socket(tap, endpoint->socket);
}

SaTap *
sa_intercept_tap(GSocket *socket)
{
    Endpoint *endpoint = endpoint_get(socket);

    return endpoint != NULL ? endpoint->tap : NULL;
}

/* ------------------------------------------------------------------- plain connections --- */

static GSocketConnection *
hook_connect_finish(GSocketClient *client, GAsyncResult *result, GError **error)
{
    GSocketConnection *connection = real_connect_finish(client, result, error);

    if (connection != NULL) {
        endpoint_of_connection(connection);
    }
    return connection;
}

/* A stream call with the ciphertext of the SSL object at work: the socket below it is known now. */
static void
note_ssl_stream(gpointer stream)
{
    Endpoint *endpoint = endpoint_of_stream(stream);

    if (endpoint->tap == NULL) {
        endpoint_set_tap(endpoint, sa_tap_ref(inside_ssl), TRUE);
    }
}

static gssize
plain_write(gpointer stream, const guint8 *data, gsize len, GIOCondition *wait)
{
    g_autoptr(GError) error = NULL;
    gssize n = real_write(stream, data, len, NULL, &error);

    if (n < 0 && g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK)) {
        return 0;
    }
    return n > 0 ? n : -1;
}

static gssize
hook_read(GPollableInputStream *stream, void *buffer, gsize count, GCancellable *cancellable,
          GError **error)
{
    Endpoint *endpoint;
    GError *failure = NULL;
    gssize n;

    if (inside_ssl != NULL) {
        note_ssl_stream(stream);
        return real_read(stream, buffer, count, cancellable, error);
    }
    endpoint = endpoint_of_stream(stream);
    if (endpoint->tap == NULL || endpoint->cipher) {
        return real_read(stream, buffer, count, cancellable, error);
    }
    n = real_read(stream, buffer, count, cancellable, &failure);
    if (n > 0) {
        gint64 now = g_get_monotonic_time();

        sa_tap_server_bytes(endpoint->tap, buffer, n, now);
        sa_tap_turn(endpoint->tap, now);
    } else if (g_error_matches(failure, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK)) {
        sa_tap_dry(endpoint->tap, g_get_monotonic_time());
    }
    if (failure != NULL) {
        g_propagate_error(error, failure);
    }
    return n;
}

static gboolean
hook_is_readable(GPollableInputStream *stream)
{
    gboolean readable = real_is_readable(stream);
    Endpoint *endpoint = endpoint_get(stream);

    if (!readable && endpoint != NULL && endpoint->tap != NULL) {
        sa_tap_dry(endpoint->tap, g_get_monotonic_time());
    }
    return readable;
}

static gssize
hook_write(GPollableOutputStream *stream, const void *buffer, gsize count,
           GCancellable *cancellable, GError **error)
{
    Endpoint *endpoint;
    gssize n;

    if (inside_ssl != NULL) {
        note_ssl_stream(stream);
        return real_write(stream, buffer, count, cancellable, error);
    }
    endpoint = endpoint_of_stream(stream);
    if (!endpoint->decided) {
        endpoint->decided = TRUE;
        if (starts_a_link(buffer, count)) {
            endpoint_set_tap(endpoint, sa_tap_new(FALSE), FALSE);
            sa_tap_set_transport(endpoint->tap, plain_write, stream);
        }
    }
    if (endpoint->tap == NULL || endpoint->cipher) {
        return real_write(stream, buffer, count, cancellable, error);
    }
    switch (sa_tap_before_write(endpoint->tap, buffer, count, g_get_monotonic_time())) {
    case SA_TAP_PASS:
        break;
    case SA_TAP_KEPT:
        sa_tap_turn(endpoint->tap, g_get_monotonic_time());
        return count;
    case SA_TAP_BLOCK:
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK, g_strerror(EAGAIN));
        return -1;
    }
    n = real_write(stream, buffer, count, cancellable, error);
    if (n > 0) {
        gint64 now = g_get_monotonic_time();

        sa_tap_client_bytes(endpoint->tap, buffer, n, now);
        sa_tap_turn(endpoint->tap, now);
    } else {
        sa_tap_blocked(endpoint->tap);
    }
    return n;
}

/* --------------------------------------------------------------------- TLS connections --- */

static void
ssl_data_free(void *parent, void *data, CRYPTO_EX_DATA *ad, int index, long argl, void *argp)
{
    if (data != NULL) {
        sa_tap_close(data, g_get_monotonic_time());
        sa_tap_unref(data);
    }
}

static int
ssl_data_index(void)
{
    static int index = -1;

    if (index < 0) {
        index = SSL_get_ex_new_index(0, NULL, NULL, NULL, ssl_data_free);
    }
    return index;
}

/* real_ssl_write, with the stream calls below it known for what they are. */
static int
tap_ssl_write(SaTap *tap, SSL *ssl, const void *buffer, int count)
{
    SaTap *outer = inside_ssl;
    int n;

    inside_ssl = tap;
    n = real_ssl_write(ssl, buffer, count);
    inside_ssl = outer;
    return n;
}

static gssize
tls_write(gpointer ssl, const guint8 *data, gsize len, GIOCondition *wait)
{
    int n;

    /* SSL_get_error() reads the queue too; and the viewer's next call is to find it empty. No call
     * of the viewer's is between its failure and its own question here. */
    ERR_clear_error();
    n = tap_ssl_write(SSL_get_ex_data(ssl, ssl_data_index()), ssl, data, len);
    if (n > 0) {
        return n;
    }
    switch (SSL_get_error(ssl, n)) {
    case SSL_ERROR_WANT_WRITE:
        *wait = G_IO_OUT;
        return 0;
    case SSL_ERROR_WANT_READ: /* in the middle of a renegotiation */
        *wait = G_IO_IN;
        return 0;
    default:
        ERR_clear_error();
        return -1;
    }
}

/* Own messages are written after a read only when it gave bytes: otherwise the viewer asks the SSL
 * object next what it waits for, and must not hear about our write. */
static int
hook_ssl_read(SSL *ssl, void *buffer, int count)
{
    SaTap *tap = SSL_get_ex_data(ssl, ssl_data_index());
    SaTap *outer = inside_ssl;
    int n;

    if (tap == NULL) {
        return real_ssl_read(ssl, buffer, count);
    }
    inside_ssl = tap;
    n = real_ssl_read(ssl, buffer, count);
    inside_ssl = outer;
    if (n > 0) {
        gint64 now = g_get_monotonic_time();

        sa_tap_server_bytes(tap, buffer, n, now);
        sa_tap_turn(tap, now);
    } else if (SSL_want_read(ssl)) {
        sa_tap_dry(tap, g_get_monotonic_time());
        sa_tap_retry_soon(tap);
    }
    return n;
}

static int
hook_ssl_write(SSL *ssl, const void *buffer, int count)
{
    SaTap *tap = SSL_get_ex_data(ssl, ssl_data_index());
    int n;

    /* A viewer speaks first: the first thing it writes on a SPICE connection is its link message.
     * An SSL object whose first bytes are others is somebody else's, and is asked again at each
     * write, which can only find the magic at the start of one. */
    if (tap == NULL && count > 0 && starts_a_link(buffer, count)) {
        tap = sa_tap_new(TRUE);
        sa_tap_set_transport(tap, tls_write, ssl);
        if (!SSL_set_ex_data(ssl, ssl_data_index(), tap)) {
            g_clear_pointer(&tap, sa_tap_unref);
        }
    }
    if (tap == NULL || count <= 0) {
        return real_ssl_write(ssl, buffer, count);
    }
    switch (sa_tap_before_write(tap, buffer, count, g_get_monotonic_time())) {
    case SA_TAP_PASS:
        break;
    case SA_TAP_KEPT:
        sa_tap_turn(tap, g_get_monotonic_time());
        return count;
    case SA_TAP_BLOCK:
        return -1; /* our own write has just left the state that it wants */
    }
    n = tap_ssl_write(tap, ssl, buffer, count);
    if (n > 0) {
        gint64 now = g_get_monotonic_time();

        sa_tap_client_bytes(tap, buffer, n, now);
        sa_tap_turn(tap, now);
    } else {
        sa_tap_blocked(tap);
    }
    return n;
}

/* ----------------------------------------------------------------------------------------- */

#define HOOK(name, hook_function, real_function)                                                   \
    {                                                                                              \
        .symbol = name, .hook = (gpointer)hook_function, .original = (gpointer *)&real_function    \
    }

SaHook sa_intercept_hooks[] = {
    HOOK("g_socket_client_connect_finish", hook_connect_finish, real_connect_finish),
    HOOK("g_pollable_input_stream_read_nonblocking", hook_read, real_read),
    HOOK("g_pollable_input_stream_is_readable", hook_is_readable, real_is_readable),
    HOOK("g_pollable_output_stream_write_nonblocking", hook_write, real_write),
    HOOK("SSL_read", hook_ssl_read, real_ssl_read),
    HOOK("SSL_write", hook_ssl_write, real_ssl_write),
};
const guint sa_intercept_n_hooks = G_N_ELEMENTS(sa_intercept_hooks);
