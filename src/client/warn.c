/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/warn.h"

#include <stdio.h>

void
sa_warn(const char *format, ...)
{
    va_list args;
    g_autofree char *text = NULL;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    fprintf(stderr, "spice-accel: %s\n", text);
}

void
sa_warn_once(const char *text)
{
    static GHashTable *said;

    if (said == NULL) {
        said = g_hash_table_new(NULL, NULL);
    }
    if (g_hash_table_add(said, (gpointer)text)) {
        sa_warn("%s", text);
    }
}
