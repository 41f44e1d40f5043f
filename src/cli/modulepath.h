/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the module is, seen from the running command. */
#pragma once

#include <glib.h>

#define SA_MODULE_FILE "libspice-accel.so"

/* Absolute path without links of the module that belongs to this command: beside it in a prefix,
 * wherever that was moved to, or in its build tree. NULL: there is none, error names where it was
 * looked for. Free with g_free(). */
char *sa_module_path(GError **error);

/* The client library that the module at module_path would load; the bare name if the loader is to
 * find it. Free with g_free(). */
char *sa_module_client_library(const char *module_path);

/* Path of the file GTK 3 takes for GTK_MODULES=spice-accel, or NULL. Free with g_free(). */
char *sa_module_gtk_finds(void);
