/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stands in for the client library in test-cli.py: tells that it was attached. */
#include <stdio.h>

__attribute__((visibility("default"))) int spice_accel_attach_from_environment(void);

int
spice_accel_attach_from_environment(void)
{
    fputs("stand-in: attached\n", stderr);
    return 1;
}
