/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Preloaded: makes spice-gtk call itself a version nobody has seen. */
__attribute__((visibility("default"))) const char *spice_util_get_version_string(void);

const char *
spice_util_get_version_string(void)
{
    return "spice-gtk 9.99";
}
