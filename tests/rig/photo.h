/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

enum {
    SA_PHOTO_WIDTH = 1536,
};

/* A picture that a coder takes for a photograph: smooth sky with clouds, two ridges with hard
 * edges, a textured foreground. SA_PHOTO_WIDTH pixels wide and endless to both sides. Returns
 * XRGB8888 pixels, to be freed with g_free. Integer arithmetic only. */
guint32 *sa_photo_new(guint32 seed, gint height);
