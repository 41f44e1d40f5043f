/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* ACKs that are kept and sent later through the hooks: what reaches the server, plain and TLS. */
#include <openssl/err.h>
#include <spice/enums.h>
#include <sys/socket.h>

#include "spice-bytes.h"
#include "viewer-line.h"

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
viewer_with_kept_ack(Viewer *viewer, const ViewerCase *c)
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

        viewer_with_kept_ack(&viewer, &viewer_cases[1]);
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

    viewer_with_kept_ack(&viewer, &viewer_cases[1]);
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

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_main_context_acquire(NULL); /* as a viewer's thread has it */
    viewer_find_hooks();
    for (gsize i = 0; i < 2; i++) {
        g_autofree char *kept = g_strdup_printf("/kept/ack/%s", viewer_cases[i].name);
        g_autofree char *sync = g_strdup_printf("/kept/ack-sync/%s", viewer_cases[i].name);

        g_test_add_data_func(kept, &viewer_cases[i], kept_ack);
        g_test_add_data_func(sync, &viewer_cases[i], kept_ack_before_ack_sync);
    }
    g_test_add_func("/kept/blocked", kept_ack_blocked);
    g_test_add_func("/kept/in-a-handshake", kept_ack_in_a_handshake);
    return g_test_run();
}
