/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "scene.h"

/* Writes pixels as a binary PPM file. */
gboolean sa_picture_write(const SaPixels *pixels, const char *file, GError **error);

/* The geometry of the server's picture from texts as its options take them: "WxH", "WxH+X+Y" and
 * "X,Y"; NULL is the default. */
gboolean sa_picture_config(SaSceneConfig *config, const char *size, const char *area,
                           const char *box, GError **error);

/* Whether @damage touches a code. */
gboolean sa_picture_touches(const SaRect *damage, const SaFramecodePlace *place);
