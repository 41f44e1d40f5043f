/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a GTK 3 viewer gets beyond the client library. An object of its own, since a program
 * without GTK, or with GTK 4, must not load GTK 3: whoever loads it has seen libgtk-3 in the
 * process and no libgtk-4. It stays loaded (-z nodelete): its functions are emission hooks. */
#include "gtk3/gtk3.h"

#include "gtk3/paint.h"

SA_GTK3_EXPORT gboolean
spice_accel_gtk3_start(gboolean paint)
{
    if (gdk_display_get_default() == NULL) {
        return FALSE;
    }
    if (paint) {
        sa_paint_start();
    }
    return TRUE;
}

SA_GTK3_EXPORT void
spice_accel_gtk3_paint_counts(guint64 *paints, guint64 *left)
{
    const SaPaintCounts counts = sa_paint_counts();

    *paints = counts.paints;
    *left = counts.left;
}

SA_GTK3_EXPORT void
gtk_module_init(int *argc, char ***argv)
{
    spice_accel_gtk3_start(TRUE);
}
