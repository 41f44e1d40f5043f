/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any text in SPICE_ACCEL: each warning is one printable line, and nothing leaks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_warning(const char *text, gpointer data)
{
    for (const char *p = text; *p != '\0'; p++) {
        if ((guchar)*p < 0x20) {
            abort();
        }
    }
    ++*(guint *)data;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = size > 0 ? g_strndup((const char *)data, size) : g_strdup("");
    guint warnings = 0;
    SaOptions options;

    sa_options_parse(&options, text, check_warning, &warnings);
    if (warnings > strlen(text)) {
        abort();
    }
    sa_options_clear(&options);
    return 0;
}
