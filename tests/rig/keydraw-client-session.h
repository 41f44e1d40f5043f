/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "scene.h"

/* A SPICE client without a window: main, display, inputs and cursor channels through
 * libspice-client-glib's public API, one display looked at. */

typedef struct SaClientSession SaClientSession;

typedef struct {
    const char *uri;
    int tls_port; /* 0: none; else TLS only, to this port of the URI's host */
    const char *ca_file;
    const char *host_subject;
    const char *password;
    int display; /* channel id */

    /* The display is there, and the keyboard; once. */
    void (*ready)(gpointer data);
    /* Something was drawn. */
    void (*drawn)(gpointer data, const SaPixels *pixels, const SaRect *damage);
    /* The connection could not be made or ended; the last call. */
    void (*failed)(gpointer data, const char *why);
    gpointer data;
} SaClientConfig;

SaClientSession *sa_client_session_new(const SaClientConfig *config);
void sa_client_session_free(SaClientSession *session);

/* Presses and releases a letter key. */
void sa_client_session_key(SaClientSession *session);

/* FALSE while there is no primary surface of a known format. */
gboolean sa_client_session_pixels(SaClientSession *session, SaPixels *pixels);

/* Bytes read so far on all channels, and on the display alone. */
guint64 sa_client_session_bytes(SaClientSession *session, gboolean display_only);
