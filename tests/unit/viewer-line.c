/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "viewer-line.h"

#include <spice/enums.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/channel.h"
#include "client/intercept.h"
#include "spice-bytes.h"

#define COMMON 0xbu /* AUTH_SELECTION, AUTH_SPICE, MINI_HEADER */

gssize (*read_hook)(GPollableInputStream *, void *, gsize, GCancellable *, GError **);
gboolean (*readable_hook)(GPollableInputStream *);
gssize (*write_hook)(GPollableOutputStream *, const void *, gsize, GCancellable *, GError **);
static int (*ssl_read_hook)(SSL *, void *, int);
static int (*ssl_write_hook)(SSL *, const void *, int);

/* The client's clock stands still unless a test moves it. */
gint64 clock_now = 1000;

gint64
g_get_monotonic_time(void)
{
    return clock_now;
}

void
viewer_find_hooks(void)
{
    static const struct {
        const char *symbol;
        gpointer original;
        gpointer *hook;
    } table[] = {
        {"g_socket_client_connect_finish", (gpointer)g_socket_client_connect_finish, NULL},
        {"g_pollable_input_stream_read_nonblocking",
         (gpointer)g_pollable_input_stream_read_nonblocking, (gpointer *)&read_hook},
        {"g_pollable_input_stream_is_readable", (gpointer)g_pollable_input_stream_is_readable,
         (gpointer *)&readable_hook},
        {"g_pollable_output_stream_write_nonblocking",
         (gpointer)g_pollable_output_stream_write_nonblocking, (gpointer *)&write_hook},
        {"SSL_read", (gpointer)SSL_read, (gpointer *)&ssl_read_hook},
        {"SSL_write", (gpointer)SSL_write, (gpointer *)&ssl_write_hook},
    };

    g_assert_cmpuint(sa_intercept_n_hooks, ==, G_N_ELEMENTS(table));
    for (guint i = 0; i < sa_intercept_n_hooks; i++) {
        SaHook *hook = &sa_intercept_hooks[i];
        guint j = 0;

        while (strcmp(table[j].symbol, hook->symbol) != 0) {
            j++;
            g_assert_cmpuint(j, <, G_N_ELEMENTS(table));
        }
        *hook->original = table[j].original;
        if (table[j].hook != NULL) {
            *table[j].hook = hook->hook;
        }
    }
}

/* -------------------------------------------------------------------- a connected viewer --- */

void
viewer_connect(Viewer *viewer)
{
    int fds[2];

    memset(viewer, 0, sizeof(*viewer));
    viewer->write_budget = -1;
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
    viewer->socket = g_socket_new_from_fd(fds[0], NULL);
    g_assert_nonnull(viewer->socket);
    g_socket_set_blocking(viewer->socket, FALSE);
    viewer->connection = g_socket_connection_factory_create_connection(viewer->socket);
    viewer->in =
        G_POLLABLE_INPUT_STREAM(g_io_stream_get_input_stream(G_IO_STREAM(viewer->connection)));
    viewer->out =
        G_POLLABLE_OUTPUT_STREAM(g_io_stream_get_output_stream(G_IO_STREAM(viewer->connection)));
    viewer->peer = fds[1];
}

void
viewer_close(Viewer *viewer)
{
    /* in the order of spice-gtk's channel_reset() */
    g_clear_pointer(&viewer->ssl, SSL_free);
    g_clear_pointer(&viewer->ctx, SSL_CTX_free);
    g_clear_object(&viewer->connection);
    g_clear_object(&viewer->socket);
    g_clear_pointer(&viewer->server, SSL_free);
    g_clear_pointer(&viewer->server_ctx, SSL_CTX_free);
    close(viewer->peer);
}

static int
bio_write(BIO *bio, const char *data, int len)
{
    Viewer *viewer = BIO_get_data(bio);
    gssize n;

    BIO_clear_retry_flags(bio);
    if (viewer->write_budget == 0) {
        viewer->write_budget = -1; /* the socket has room again at the next try */
        BIO_set_retry_write(bio);
        return -1;
    }
    if (viewer->write_budget > 0) {
        len = MIN(len, viewer->write_budget);
        viewer->write_budget -= len;
    }
    n = write_hook(viewer->out, data, len, NULL, NULL);
    g_assert_cmpint(n, >, 0);
    return n;
}

static int
bio_read(BIO *bio, char *data, int len)
{
    Viewer *viewer = BIO_get_data(bio);
    g_autoptr(GError) error = NULL;
    gssize n = read_hook(viewer->in, data, len, NULL, &error);

    BIO_clear_retry_flags(bio);
    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK)) {
        BIO_set_retry_read(bio);
    }
    return n;
}

static long
bio_ctrl(BIO *bio, int cmd, long num, void *ptr)
{
    return cmd == BIO_CTRL_FLUSH;
}

static BIO *
viewer_bio(Viewer *viewer)
{
    static BIO_METHOD *method;
    BIO *bio;

    if (method == NULL) {
        method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "viewer");
        BIO_meth_set_write(method, bio_write);
        BIO_meth_set_read(method, bio_read);
        BIO_meth_set_ctrl(method, bio_ctrl);
    }
    bio = BIO_new(method);
    BIO_set_init(bio, 1);
    BIO_set_data(bio, viewer);
    return bio;
}

static SSL_CTX *
anonymous_context(const SSL_METHOD *method)
{
    SSL_CTX *ctx = SSL_CTX_new(method);

    /* no certificate: what is tested does not depend on who the peer is */
    SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
    g_assert_cmpint(SSL_CTX_set_cipher_list(ctx, "AECDH-AES128-SHA:@SECLEVEL=0"), ==, 1);
    return ctx;
}

/* What came from the viewer's socket goes into the server's SSL object. */
void
server_take(Viewer *viewer)
{
    char buffer[4096];
    gssize n;

    while ((n = recv(viewer->peer, buffer, sizeof(buffer), MSG_DONTWAIT)) > 0) {
        g_assert_cmpint(BIO_write(SSL_get_rbio(viewer->server), buffer, n), ==, n);
    }
}

/* The ciphertext the server has made. */
GByteArray *
server_made(Viewer *viewer)
{
    GByteArray *bytes = g_byte_array_new();
    char buffer[4096];
    int n;

    while ((n = BIO_read(SSL_get_wbio(viewer->server), buffer, sizeof(buffer))) > 0) {
        g_byte_array_append(bytes, (guint8 *)buffer, n);
    }
    return bytes;
}

void
server_deliver(Viewer *viewer, const guint8 *data, gsize len)
{
    g_assert_cmpint(send(viewer->peer, data, len, 0), ==, len);
}

void
viewer_start_tls(Viewer *viewer)
{
    int client = 0, server = 0;

    viewer->ctx = anonymous_context(TLS_client_method());
    viewer->server_ctx = anonymous_context(TLS_server_method());
    viewer->ssl = SSL_new(viewer->ctx);
    viewer->server = SSL_new(viewer->server_ctx);
    SSL_set_bio(viewer->ssl, viewer_bio(viewer), NULL);
    BIO_up_ref(SSL_get_rbio(viewer->ssl));
    SSL_set0_wbio(viewer->ssl, SSL_get_rbio(viewer->ssl));
    SSL_set_bio(viewer->server, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    while (client != 1 || server != 1) {
        g_autoptr(GByteArray) made = NULL;

        client = SSL_connect(viewer->ssl);
        server_take(viewer);
        server = SSL_accept(viewer->server);
        made = server_made(viewer);
        if (made->len > 0) {
            server_deliver(viewer, made->data, made->len);
        }
    }
}

/* ------------------------------------------------------------------- plain and TLS alike --- */

gssize
viewer_write(Viewer *viewer, const guint8 *data, gsize len)
{
    return viewer->ssl != NULL ? ssl_write_hook(viewer->ssl, data, len)
                               : write_hook(viewer->out, data, len, NULL, NULL);
}

void
viewer_write_all(Viewer *viewer, const GByteArray *bytes)
{
    g_assert_cmpint(viewer_write(viewer, bytes->data, bytes->len), ==, bytes->len);
}

/* Reads what there is, as spice-gtk does: until the call says that it would block. */
void
viewer_read(Viewer *viewer, GByteArray *into)
{
    guint8 buffer[16]; /* small, as headers are: several reads a record */

    for (;;) {
        gssize n = viewer->ssl != NULL ? ssl_read_hook(viewer->ssl, buffer, sizeof(buffer))
                                       : read_hook(viewer->in, buffer, sizeof(buffer), NULL, NULL);

        if (n <= 0) {
            if (viewer->ssl != NULL) {
                g_assert_cmpint(SSL_get_error(viewer->ssl, n), ==, SSL_ERROR_WANT_READ);
            }
            return;
        }
        g_byte_array_append(into, buffer, n);
    }
}

/* The server sends plaintext in records of at most chunk bytes; returns what is on the wire. */
GByteArray *
server_encode(Viewer *viewer, const GByteArray *plain, gsize chunk)
{
    if (viewer->ssl == NULL) {
        return g_byte_array_append(g_byte_array_new(), plain->data, plain->len);
    }
    for (gsize at = 0; at < plain->len; at += chunk) {
        int n = MIN(chunk, plain->len - at);

        g_assert_cmpint(SSL_write(viewer->server, plain->data + at, n), ==, n);
    }
    return server_made(viewer);
}

void
viewer_link(Viewer *viewer, guint8 type)
{
    g_autoptr(GByteArray) client = g_byte_array_new();
    g_autoptr(GByteArray) server = g_byte_array_new();
    g_autoptr(GByteArray) got = g_byte_array_new();
    g_autoptr(GByteArray) wire = NULL;

    bytes_link_message(client, 0, type, 0, COMMON);
    viewer_write_all(viewer, client);
    bytes_link_reply(server, 0, COMMON);
    wire = server_encode(viewer, server, 10000);
    server_deliver(viewer, wire->data, wire->len);
    viewer_read(viewer, got);
    g_assert_cmpmem(got->data, got->len, server->data, server->len);
    g_byte_array_set_size(client, 0);
    bytes_ticket(client);
    viewer_write_all(viewer, client);
    g_byte_array_set_size(server, 0);
    bytes_u32(server, 0);
    g_byte_array_unref(wire);
    wire = server_encode(viewer, server, 10000);
    server_deliver(viewer, wire->data, wire->len);
    clock_now += 80000; /* the session's round trip */
    g_byte_array_set_size(got, 0);
    viewer_read(viewer, got);
    g_assert_cmpuint(got->len, ==, 4);
}

GByteArray *
server_messages(void)
{
    GByteArray *bytes = g_byte_array_new();

    bytes_set_ack(bytes, 1, 2);
    bytes_message(bytes, SPICE_MSG_DISPLAY_DRAW_COPY, NULL, 40);
    bytes_message(bytes, SPICE_MSG_DISPLAY_MARK, NULL, 0);
    bytes_message(bytes, SPICE_MSG_DISPLAY_DRAW_COPY, NULL, 3);
    return bytes;
}

SaStats
channel_figures(void)
{
    SaChannelMark start;
    SaStats stats;

    g_assert_cmpuint(sa_channels()->len, ==, 1);
    sa_channel_mark_start(g_ptr_array_index(sa_channels(), 0), &start);
    sa_channel_stats(g_ptr_array_index(sa_channels(), 0), &start, g_get_monotonic_time(), &stats);
    return stats;
}

const ViewerCase viewer_cases[VIEWER_N_CASES] = {
    {"plain", FALSE, 0},
    {"tls-all-in-one-record", TRUE, 10000},
    {"tls-messages-over-many-records", TRUE, 7},
};

void
viewer_open(Viewer *viewer, const ViewerCase *c)
{
    viewer_connect(viewer);
    if (c->tls) {
        viewer_start_tls(viewer);
    }
    viewer_link(viewer, SPICE_CHANNEL_DISPLAY);
}

/* The server's bytes arrive in two parts, cut at every place; between them the viewer would
 * block. The viewer gets every byte, in order, and the tap sees every message. */
