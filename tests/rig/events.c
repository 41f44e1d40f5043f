/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events.h"

#include <stdio.h>

void
sa_event(const gchar *name, gint64 time_us, const gchar *members, ...)
{
    g_autofree gchar *rest = NULL;
    va_list args;

    va_start(args, members);
    rest = g_strdup_vprintf(members, args);
    va_end(args);
    printf("{\"event\":\"%s\",\"time_us\":%" G_GINT64_FORMAT "%s%s}\n", name, time_us,
           *rest ? "," : "", rest);
    fflush(stdout);
}

gchar *
sa_json_string(const gchar *text)
{
    g_autofree gchar *valid = g_utf8_make_valid(text, -1);
    GString *out = g_string_new("\"");

    for (const gchar *p = valid; *p; p++) {
        guchar c = (guchar)*p;

        if (c == '"' || c == '\\')
            g_string_append_c(out, '\\');
        if (c < 32)
            g_string_append_printf(out, "\\u%04x", c);
        else
            g_string_append_c(out, (gchar)c);
    }
    g_string_append_c(out, '"');
    return g_string_free(out, FALSE);
}
