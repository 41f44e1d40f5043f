/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "guest.h"

enum {
    SA_MAX_DISPLAYS = 8,
};

/* What the command line of keydraw-server says, checked and with defaults filled in. */
typedef struct {
    /* Where to listen. Either a unix socket, or TCP ports of one address. */
    gchar *addr;
    gint port;        /* -1: none, 0: any free one */
    gint tls_port;    /* likewise */
    gchar *unix_path; /* NULL: TCP */
    gchar *tls_dir;   /* with ca-cert.pem, server-cert.pem and server-key.pem */

    gchar *ticket;      /* NULL: no password */
    gint ticket_expire; /* seconds; 0: never */
    gboolean sasl;

    gint streaming;   /* SPICE_STREAM_VIDEO_... */
    gint compression; /* SPICE_IMAGE_COMPRESSION_... */
    gint jpeg;        /* SPICE_WAN_COMPRESSION_... */
    gint zlib;

    SaSceneConfig wanted; /* as given, defaults of the area and the box not filled in */
    SaSceneConfig scene;  /* complete, of display 0; display n has seed + n */
    gint displays;
    SaActivity activity;
    SaDamage damage;
    SaDraws draws;
    gint fps;
    gint tick_ms;
    gint64 freeze_at; /* -1: never */
    gint activity_delay_ms;

    gboolean playback;
    gboolean port_channel;
    gboolean quit_on_eof;

    gint64 dump_frame; /* -1: serve */
    guint32 dump_keys;
    gint dump_display;
    gchar *dump_file;
} SaServerOptions;

/* Fills 'options' from the command line. FALSE, with an error that names the option and its value,
 * if it makes no sense. Clear with sa_server_options_clear in both cases. */
gboolean
sa_server_options_parse(SaServerOptions *options, gint *argc, gchar ***argv, GError **error);
void sa_server_options_clear(SaServerOptions *options);

/* "1280x800" to two positive numbers; nothing may follow. */
gboolean sa_parse_size(const gchar *text, gint *width, gint *height);
