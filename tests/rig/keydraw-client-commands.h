/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Lines on stdin, each answered by one line "ok COMMAND" or "failed COMMAND: WHY" on stderr:
 *   shot FILE            the picture now, as PPM
 *   wait-quiet MS FILE   the picture once nothing was drawn for MS milliseconds
 *   frozen               wait-quiet with --settle and --shot-frozen
 *   press                one more measured press
 *   epoch US             when frame 0 was painted (CLOCK_MONOTONIC), for the age of frames
 *   quit                 (the end of the input also ends) */

typedef struct SaCommands SaCommands;

typedef struct {
    gboolean (*shoot)(gpointer data, const char *file, GError **error);
    gint64 (*last_draw)(gpointer data); /* when something was last drawn; 0: never */
    gboolean (*press)(gpointer data);   /* FALSE: not now */
    void (*epoch)(gpointer data, gint64 us);
    void (*quit)(gpointer data);
    int settle_ms;
    const char *frozen_file; /* NULL: none */
    gpointer data;
} SaCommandsConfig;

/* Starts reading. */
SaCommands *sa_commands_new(const SaCommandsConfig *config);
void sa_commands_free(SaCommands *commands);

/* From the last wait-quiet's start to the last draw before it was quiet, in ms; negative: there was
 * none. */
double sa_commands_settle_ms(const SaCommands *commands);
