/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The six replacements over real GIO sockets and real TLS, used as spice-gtk uses them. */
#include "client/intercept.h"

#include <spice/enums.h>
#include <sys/socket.h>

#include "client/channel.h"
#include "spice-bytes.h"
#include "viewer-line.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define FREED_MEMORY_STAYS_AWAY TRUE
#else
#define FREED_MEMORY_STAYS_AWAY FALSE
#endif

#define COMMON 0xbu /* AUTH_SELECTION, AUTH_SPICE, MINI_HEADER */

static void
every_split(gconstpointer data)
{
    const ViewerCase *c = data;
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

        viewer_open(&viewer, &viewer_cases[1]);
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

    viewer_open(&viewer, &viewer_cases[0]);
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
    const ViewerCase *c = data;
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
    if (!FREED_MEMORY_STAYS_AWAY) {
        g_assert_cmpuint(reused, >, 0); /* else nothing was tested */
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    viewer_find_hooks();
    for (gsize i = 0; i < VIEWER_N_CASES; i++) {
        g_autofree char *split = g_strdup_printf("/intercept/every-split/%s", viewer_cases[i].name);

        g_test_add_data_func(split, &viewer_cases[i], every_split);
    }
    g_test_add_func("/intercept/blocked-writes", blocked_writes);
    g_test_add_func("/intercept/foreign-streams", foreign_streams);
    g_test_add_func("/intercept/errors-come-through", errors_come_through);
    g_test_add_data_func("/intercept/reused-addresses/plain", &viewer_cases[0], reused_addresses);
    g_test_add_data_func("/intercept/reused-addresses/tls", &viewer_cases[1], reused_addresses);
    return g_test_run();
}
