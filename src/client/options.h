/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one variable: SPICE_ACCEL=key[=value],... parsed once, from one table.
 *
 * A comma or a backslash in a value is written with a backslash before it. A key without a value
 * means key=1; key=0 switches it off. "0" as a key disables everything. What is not understood is
 * named in a warning and passed over; the rest applies.
 */
#pragma once

#include <glib.h>

typedef struct SaOptions {
    gboolean disabled; /* SPICE_ACCEL=0, also beside other keys */
    gboolean help;     /* print sa_options_help() and go on */
    char *log;         /* CSV log file, or NULL; owned */
    gboolean pace;     /* pace the ACKs of display connections */
    guint latency_ms;  /* backlog on the path that is not worth holding an ACK for */
    gboolean paint;    /* paint fresh draws at once, where GTK lets it */
} SaOptions;

/* Called once for each thing that was not understood; text is a whole sentence without a prefix. */
typedef void (*SaOptionsWarn)(const char *text, gpointer data);

/* Fills options from text (NULL: all defaults). Nothing in text makes it fail. */
void sa_options_parse(SaOptions *options, const char *text, SaOptionsWarn warn, gpointer data);
void sa_options_clear(SaOptions *options);

/* Every key with its values, default, unit and meaning, one a line; free with g_free(). */
char *sa_options_help(void);
