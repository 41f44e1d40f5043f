/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* A viewer's end of a connection and its server's, plain or TLS, with the six replacements between
 * them as spice-gtk calls them: real GIO sockets, real OpenSSL. The client's clock stands still
 * unless a test moves it: this object brings its own g_get_monotonic_time(). */
#pragma once

#include <gio/gio.h>
#include <openssl/ssl.h>

#include "core/stats.h"

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

typedef struct {
    const char *name;
    gboolean tls;
    gsize chunk; /* bytes a TLS record */
} ViewerCase;

#define VIEWER_N_CASES 3
/* Plain; TLS with all that is sent at once in one record; TLS with records of a few bytes. */
extern const ViewerCase viewer_cases[VIEWER_N_CASES];

extern gint64 clock_now;
extern gssize (*read_hook)(GPollableInputStream *, void *, gsize, GCancellable *, GError **);
extern gboolean (*readable_hook)(GPollableInputStream *);
extern gssize (*write_hook)(GPollableOutputStream *, const void *, gsize, GCancellable *,
                            GError **);

/* Once, before all else. */
void viewer_find_hooks(void);

void viewer_connect(Viewer *viewer);
void viewer_start_tls(Viewer *viewer);
void viewer_link(Viewer *viewer, guint8 type);
/* All three, for a display connection. */
void viewer_open(Viewer *viewer, const ViewerCase *c);
void viewer_close(Viewer *viewer);

/* As the hook returns it. */
gssize viewer_write(Viewer *viewer, const guint8 *data, gsize len);
void viewer_write_all(Viewer *viewer, const GByteArray *bytes);
/* Until it would block. */
void viewer_read(Viewer *viewer, GByteArray *into);

/* What came from the viewer's socket goes into the server's SSL object. */
void server_take(Viewer *viewer);
/* The ciphertext the server has made; free it. */
GByteArray *server_made(Viewer *viewer);
void server_deliver(Viewer *viewer, const guint8 *data, gsize len);
/* What is on the wire when the server sends plain in records of at most chunk bytes; free it. */
GByteArray *server_encode(Viewer *viewer, const GByteArray *plain, gsize chunk);
/* SET_ACK of generation 1 and W = 2, and three messages more; free them. */
GByteArray *server_messages(void);

/* Of the only channel there is, from its start until now. */
SaStats channel_figures(void);
