/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions that libspice-accel-gtk3.so exports, found by name with dlsym(). */
#pragma once

#include <gtk/gtk.h>

#define SA_GTK3_EXPORT __attribute__((visibility("default")))

/* Starts what is asked for, on GTK's thread; a second call adds what the first left out. FALSE:
 * GTK has no display yet and nothing was started; ask again later. */
SA_GTK3_EXPORT gboolean spice_accel_gtk3_start(gboolean paint);

/* How many windows were painted ahead of the frame clock, and how many were left to it although
 * they had fresh pixels, since the start of the process. */
SA_GTK3_EXPORT void spice_accel_gtk3_paint_counts(guint64 *paints, guint64 *left);

/* As a GTK module by itself (GTK_MODULES with an absolute path): painting at once and nothing
 * else, so that its effect can be measured alone. */
SA_GTK3_EXPORT void gtk_module_init(int *argc, char ***argv);
