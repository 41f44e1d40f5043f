/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The six replacements over real GIO sockets and real TLS, used as spice-gtk uses them. */
#include "client/intercept.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <spice/enums.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/channel.h"
#include "spice-bytes.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define FREED_MEMORY_STAYS_AWAY TRUE
#else
#define FREED_MEMORY_STAYS_AWAY FALSE
#endif

#define COMMON 0xbu /* AUTH_SELECTION, AUTH_SPICE, MINI_HEADER */

static gssize (*read_hook)(GPollableInputStream *, void *, gsize, GCancellable *, GError **);
static gboolean (*readable_hook)(GPollableInputStream *);
static gssize (*write_hook)(GPollableOutputStream *, const void *, gsize, GCancellable *,
                            GError **);
static int (*ssl_read_hook)(SSL *, void *, int);
static int (*ssl_write_hook)(SSL *, const void *, int);

/* The client's clock stands still unless a test moves it. */
static gint64 clock_now = 1000;

gint64
g_get_monotonic_time(void)
{
    return clock_now;
}

static void
find_hooks(void)
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

typedef struct {
    GSocketConnection *connection;
    GSocket *socket;
    GPollableInputStream *in;
    GPollableOutputStream *out;
    int peer;
    /* TLS */
    SSL_CTX *ctx, *server_ctx;
    SSL *ssl, *server;
    gssize write_budget; /* ciphertext bytes the viewer's socket takes; -1: all */
} Viewer;

static void
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

static void
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
static void
server_take(Viewer *viewer)
{
    char buffer[4096];
    gssize n;

    while ((n = recv(viewer->peer, buffer, sizeof(buffer), MSG_DONTWAIT)) > 0) {
        g_assert_cmpint(BIO_write(SSL_get_rbio(viewer->server), buffer, n), ==, n);
    }
}

/* The ciphertext the server has made. */
static GByteArray *
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

static void
server_deliver(Viewer *viewer, const guint8 *data, gsize len)
{
    g_assert_cmpint(send(viewer->peer, data, len, 0), ==, len);
}

static void
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

static gssize
viewer_write(Viewer *viewer, const guint8 *data, gsize len)
{
    return viewer->ssl != NULL ? ssl_write_hook(viewer->ssl, data, len)
                               : write_hook(viewer->out, data, len, NULL, NULL);
}

static void
viewer_write_all(Viewer *viewer, const GByteArray *bytes)
{
    g_assert_cmpint(viewer_write(viewer, bytes->data, bytes->len), ==, bytes->len);
}

/* Reads what there is, as spice-gtk does: until the call says that it would block. */
static void
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
static GByteArray *
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

static void
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

static GByteArray *
server_messages(void)
{
    GByteArray *bytes = g_byte_array_new();

    bytes_set_ack(bytes, 1, 2);
    bytes_message(bytes, SPICE_MSG_DISPLAY_DRAW_COPY, NULL, 40);
    bytes_message(bytes, SPICE_MSG_DISPLAY_MARK, NULL, 0);
    bytes_message(bytes, SPICE_MSG_DISPLAY_DRAW_COPY, NULL, 3);
    return bytes;
}

static SaStats
channel_figures(void)
{
    SaChannelMark start;
    SaStats stats;

    g_assert_cmpuint(sa_channels()->len, ==, 1);
    sa_channel_mark_start(g_ptr_array_index(sa_channels(), 0), &start);
    sa_channel_stats(g_ptr_array_index(sa_channels(), 0), &start, g_get_monotonic_time(), &stats);
    return stats;
}

typedef struct {
    const char *name;
    gboolean tls;
    gsize chunk; /* bytes a TLS record */
} Case;

static const Case cases[] = {
    {"plain", FALSE, 0},
    {"tls-all-in-one-record", TRUE, 10000},
    {"tls-messages-over-many-records", TRUE, 7},
};

static void
viewer_open(Viewer *viewer, const Case *c)
{
    viewer_connect(viewer);
    if (c->tls) {
        viewer_start_tls(viewer);
    }
    viewer_link(viewer, SPICE_CHANNEL_DISPLAY);
}

/* The server's bytes arrive in two parts, cut at every place; between them the viewer would
 * block. The viewer gets every byte, in order, and the tap sees every message. */
static void
every_split(gconstpointer data)
{
    const Case *c = data;
    g_autoptr(GByteArray) plain = server_messages();
    gsize len = 1;

    for (gsize cut = 0; cut <= len; cut++) {
        g_autoptr(GByteArray) got = g_byte_array_new();
        g_autoptr(GByteArray) wire = NULL;
        Viewer viewer;
        SaStats stats;

        viewer_open(&viewer, c);
        wire = server_encode(&viewer, plain, c->chunk);
        len = wire->len;
        if (cut > 0) {
            server_deliver(&viewer, wire->data, cut);
        }
        viewer_read(&viewer, got);
        readable_hook(viewer.in);
        if (cut < len) {
            server_deliver(&viewer, wire->data + cut, len - cut);
        }
        viewer_read(&viewer, got);
        g_assert_cmpmem(got->data, got->len, plain->data, plain->len);
        stats = channel_figures();
        g_assert_cmpfloat(stats.messages, ==, 4);
        g_assert_cmpfloat(stats.bytes, ==, plain->len);
        g_assert_cmpfloat(stats.window, ==, 2);
        g_assert_cmpfloat(stats.tls, ==, c->tls);
        g_assert_cmpfloat(stats.unread_bytes, ==, 0); /* the socket is known, also below TLS */
        viewer_close(&viewer);
        g_assert_cmpuint(sa_channels()->len, ==, 0);
    }
}

/* The socket takes so many bytes of the ACKs' ciphertext and then no more for once: the viewer
 * repeats the write, and each message counts once. */
static void
blocked_writes(void)
{
    for (gssize budget = 0; budget < 200; budget++) {
        g_autoptr(GByteArray) acks = g_byte_array_new();
        g_autoptr(GByteArray) plain = server_messages();
        g_autoptr(GByteArray) got = g_byte_array_new();
        g_autoptr(GByteArray) wire = NULL;
        guint8 buffer[256];
        Viewer viewer;
        int n;

        viewer_open(&viewer, &cases[1]);
        wire = server_encode(&viewer, plain, 10000);
        server_deliver(&viewer, wire->data, wire->len);
        viewer_read(&viewer, got);
        server_take(&viewer);
        while (SSL_read(viewer.server, buffer, sizeof(buffer)) > 0) {
        }
        bytes_ack_sync(acks, 1);
        bytes_ack(acks);
        bytes_ack(acks);
        viewer.write_budget = budget;
        while ((n = viewer_write(&viewer, acks->data, acks->len)) < 0) {
            g_assert_cmpint(SSL_get_error(viewer.ssl, n), ==, SSL_ERROR_WANT_WRITE);
            g_assert_cmpfloat(channel_figures().acks, ==, 0);
        }
        g_assert_cmpint(n, ==, acks->len);
        g_assert_cmpfloat(channel_figures().acks, ==, 2);
        g_assert_cmpfloat(channel_figures().ignored_acks, ==, 0);
        server_take(&viewer);
        n = SSL_read(viewer.server, buffer, sizeof(buffer));
        g_assert_cmpmem(buffer, n, acks->data, acks->len);
        viewer_close(&viewer);
    }
}

/* -------------------------------------------------------------------------- kept ACKs --- */

#define WINDOW 20

/* What the server has got of the viewer since the last call. */
static GByteArray *
server_got(Viewer *viewer)
{
    GByteArray *got = g_byte_array_new();
    guint8 buffer[512];
    int n;

    if (viewer->ssl == NULL) {
        while ((n = recv(viewer->peer, buffer, sizeof(buffer), MSG_DONTWAIT)) > 0) {
            g_byte_array_append(got, buffer, n);
        }
        return got;
    }
    server_take(viewer);
    while ((n = SSL_read(viewer->server, buffer, sizeof(buffer))) > 0) {
        g_byte_array_append(got, buffer, n);
    }
    return got;
}

/* 25 messages a second on a path that is never idle: what arrives together ends a message and
 * begins the next, so that the viewer never waits for a first byte. */
static void
slow_messages(Viewer *viewer, guint n)
{
    g_autoptr(GByteArray) message = g_byte_array_new();
    g_autoptr(GByteArray) shifted = g_byte_array_new();

    bytes_message(message, SPICE_MSG_DISPLAY_DRAW_COPY, NULL, 1000);
    g_byte_array_append(shifted, message->data + 3, message->len - 3);
    g_byte_array_append(shifted, message->data, 3);
    for (guint i = 0; i < n; i++) {
        g_autoptr(GByteArray) got = g_byte_array_new();
        g_autoptr(GByteArray) wire = server_encode(viewer, shifted, 10000);

        clock_now += 40000;
        server_deliver(viewer, wire->data, wire->len);
        viewer_read(viewer, got);
        g_assert_cmpuint(got->len, ==, shifted->len);
    }
}

static void
viewer_with_kept_ack(Viewer *viewer, const Case *c)
{
    g_autoptr(GByteArray) start = g_byte_array_new();
    g_autoptr(GByteArray) out = g_byte_array_new();
    g_autoptr(GByteArray) got = g_byte_array_new();
    g_autoptr(GByteArray) before = NULL, after = NULL, wire = NULL;

    viewer_open(viewer, c);
    bytes_set_ack(start, 1, WINDOW);
    bytes_message(start, SPICE_MSG_DISPLAY_DRAW_COPY, NULL, 1000);
    g_byte_array_set_size(start, 14 + 3); /* the first bytes of the first slow message */
    wire = server_encode(viewer, start, 10000);
    server_deliver(viewer, wire->data, wire->len);
    viewer_read(viewer, got);
    bytes_ack_sync(out, 1);
    viewer_write_all(viewer, out);
    slow_messages(viewer, WINDOW);
    before = server_got(viewer);
    g_byte_array_set_size(out, 0);
    bytes_ack(out);
    viewer_write_all(viewer, out);
    after = server_got(viewer);
    g_assert_cmpuint(after->len, ==, 0);
    g_assert_cmpfloat(channel_figures().holds, ==, 1);
}

/* It reaches the server later, once, before the server can have run out of credit. */
static void
kept_ack(gconstpointer data)
{
    g_autoptr(GByteArray) expected = g_byte_array_new();
    g_autoptr(GByteArray) got = g_byte_array_new();
    Viewer viewer;
    guint more = 0;

    viewer_with_kept_ack(&viewer, data);
    bytes_ack(expected);
    while (got->len == 0) {
        slow_messages(&viewer, 1);
        g_assert_cmpuint(++more, <=, WINDOW + 1);
        g_byte_array_unref(got);
        got = server_got(&viewer);
    }
    g_assert_cmpmem(got->data, got->len, expected->data, expected->len);
    g_assert_cmpfloat(channel_figures().acks, ==, 1);
    viewer_close(&viewer);
}

static void
kept_ack_before_ack_sync(gconstpointer data)
{
    g_autoptr(GByteArray) expected = g_byte_array_new();
    g_autoptr(GByteArray) sync = g_byte_array_new();
    g_autoptr(GByteArray) got = NULL;
    Viewer viewer;

    viewer_with_kept_ack(&viewer, data);
    bytes_ack(expected);
    bytes_ack_sync(expected, 2);
    bytes_ack_sync(sync, 2);
    viewer_write_all(&viewer, sync);
    got = server_got(&viewer);
    g_assert_cmpmem(got->data, got->len, expected->data, expected->len);
    viewer_close(&viewer);
}

/* The socket takes so much of our ciphertext and no more for once. The viewer's next write is told
 * that it would block, in TLS's own words, and then everything comes, in order. */
static void
kept_ack_blocked(void)
{
    g_autoptr(GByteArray) expected = g_byte_array_new();
    g_autoptr(GByteArray) sync = g_byte_array_new();

    bytes_ack(expected);
    bytes_ack_sync(expected, 2);
    bytes_ack_sync(sync, 2);
    for (gssize budget = 0; budget < 120; budget++) {
        g_autoptr(GByteArray) got = NULL;
        guint refused = 0;
        Viewer viewer;
        int n;

        viewer_with_kept_ack(&viewer, &cases[1]);
        /* a stale entry, as any user of OpenSSL in the process may leave */
        ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
        viewer.write_budget = budget;
        while ((n = viewer_write(&viewer, sync->data, sync->len)) < 0) {
            g_assert_cmpint(SSL_get_error(viewer.ssl, n), ==, SSL_ERROR_WANT_WRITE);
            g_assert_cmpuint(++refused, <=, 2);
        }
        g_assert_cmpint(n, ==, sync->len);
        got = server_got(&viewer);
        g_assert_cmpmem(got->data, got->len, expected->data, expected->len);
        g_assert_cmpfloat(channel_figures().acks, ==, 1);
        viewer_close(&viewer);
    }
}

/* The server asks for a new handshake while an ACK is kept: writing has to wait for reading. */
static void
kept_ack_in_a_handshake(void)
{
    g_autoptr(GByteArray) expected = g_byte_array_new();
    g_autoptr(GByteArray) got = g_byte_array_new();
    guint turns = 0;
    Viewer viewer;

    viewer_with_kept_ack(&viewer, &cases[1]);
    bytes_ack(expected);
    g_assert_cmpint(SSL_renegotiate(viewer.server), ==, 1);
    g_assert_cmpint(SSL_do_handshake(viewer.server), ==, 1); /* sends the request */
    while (got->len == 0) {
        g_autoptr(GByteArray) made = server_made(&viewer);
        g_autoptr(GByteArray) plain = g_byte_array_new();
        g_autoptr(GByteArray) more = NULL;

        if (made->len > 0) {
            server_deliver(&viewer, made->data, made->len);
        }
        clock_now += G_USEC_PER_SEC; /* silence: it may go */
        viewer_read(&viewer, plain);
        while (g_main_context_iteration(NULL, FALSE)) {
        }
        more = server_got(&viewer);
        g_byte_array_append(got, more->data, more->len);
        g_assert_cmpuint(++turns, <=, 20);
    }
    g_assert_cmpmem(got->data, got->len, expected->data, expected->len);
    viewer_close(&viewer);
}

/* Streams that do not start with a link message are nobody's business. */
static void
foreign_streams(void)
{
    static const char request[] = "GET / HTTP/1.1\r\n\r\n";
    g_autoptr(GByteArray) link = g_byte_array_new();
    Viewer viewer;

    viewer_connect(&viewer);
    g_assert_cmpint(write_hook(viewer.out, request, 18, NULL, NULL), ==, 18);
    g_assert_null(sa_intercept_tap(viewer.socket));
    /* and what looks like one later on does not make them one */
    bytes_link_message(link, 0, SPICE_CHANNEL_DISPLAY, 0, COMMON);
    viewer_write_all(&viewer, link);
    g_assert_null(sa_intercept_tap(viewer.socket));
    viewer_close(&viewer);
}

/* An error of the original comes through as it is. */
static void
errors_come_through(void)
{
    g_autoptr(GError) error = NULL;
    char buffer[4];
    Viewer viewer;

    viewer_open(&viewer, &cases[0]);
    g_assert_cmpint(read_hook(viewer.in, buffer, 4, NULL, &error), ==, -1);
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK);
    g_assert_false(readable_hook(viewer.in));
    shutdown(viewer.peer, SHUT_WR);
    g_assert_true(readable_hook(viewer.in));
    g_assert_cmpint(read_hook(viewer.in, buffer, 4, NULL, NULL), ==, 0);
    viewer_close(&viewer);
}

/* Objects of closed connections come back at the same addresses; their taps must not. */
static void
reused_addresses(gconstpointer data)
{
    const Case *c = data;
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    guint reused = 0;

    for (int i = 0; i < 300; i++) {
        Viewer viewer;
        gpointer key;

        viewer_connect(&viewer);
        if (c->tls) {
            viewer_start_tls(&viewer);
        }
        key = c->tls ? (gpointer)viewer.ssl : (gpointer)viewer.out;
        reused += !g_hash_table_add(seen, key);
        g_assert_null(sa_intercept_tap(viewer.socket));
        if (i % 2 == 0) {
            viewer_link(&viewer, SPICE_CHANNEL_DISPLAY);
            g_assert_nonnull(sa_intercept_tap(viewer.socket));
            g_assert_cmpuint(sa_channels()->len, ==, 1);
        } else {
            g_assert_cmpint(viewer_write(&viewer, (const guint8 *)"hello", 5), ==, 5);
            g_assert_null(sa_intercept_tap(viewer.socket));
        }
        viewer_close(&viewer);
        g_assert_cmpuint(sa_channels()->len, ==, 0);
    }
    g_test_message("%u addresses came back", reused);
    if (g_getenv("ASAN_OPTIONS") == NULL) { /* ASan keeps freed memory away */
        g_assert_cmpuint(reused, >, 0);     /* else nothing was tested */
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_main_context_acquire(NULL); /* as a viewer's thread has it */
    find_hooks();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *split = g_strdup_printf("/intercept/every-split/%s", cases[i].name);

        g_test_add_data_func(split, &cases[i], every_split);
    }
    for (gsize i = 0; i < 2; i++) {
        g_autofree char *kept = g_strdup_printf("/intercept/kept-ack/%s", cases[i].name);
        g_autofree char *sync = g_strdup_printf("/intercept/kept-ack-sync/%s", cases[i].name);

        g_test_add_data_func(kept, &cases[i], kept_ack);
        g_test_add_data_func(sync, &cases[i], kept_ack_before_ack_sync);
    }
    g_test_add_func("/intercept/kept-ack-blocked", kept_ack_blocked);
    g_test_add_func("/intercept/kept-ack-in-a-handshake", kept_ack_in_a_handshake);
    g_test_add_func("/intercept/blocked-writes", blocked_writes);
    g_test_add_func("/intercept/foreign-streams", foreign_streams);
    g_test_add_func("/intercept/errors-come-through", errors_come_through);
    g_test_add_data_func("/intercept/reused-addresses/plain", &cases[0], reused_addresses);
    g_test_add_data_func("/intercept/reused-addresses/tls", &cases[1], reused_addresses);
    return g_test_run();
}
