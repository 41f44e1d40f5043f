/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "scene.h"

/* What of the moving area reaches the client, and when. Two views of the same pixels: the frame
 * number in each corner, and, since stock SPICE starves whole columns in between, a grid of cells
 * of 32x32 pixels of which a few pixels each are compared with what they were. Times are
 * microseconds on CLOCK_MONOTONIC. */

typedef struct SaWatch SaWatch;

/* @config must be complete. */
SaWatch *sa_watch_new(const SaSceneConfig *config);
void sa_watch_free(SaWatch *watch);

/* @pixels changed within @damage just now. */
void sa_watch_look(SaWatch *watch, const SaPixels *pixels, const SaRect *damage, gint64 now);

/* Only what comes from now on counts. */
void sa_watch_begin(SaWatch *watch, gint64 now);
/* Nothing counts from now on. */
void sa_watch_end(SaWatch *watch, gint64 now);

/* Appends a JSON object. @epoch is when frame 0 was, or would have been, painted; 0 if it is not
 * known, then there are no ages. */
void sa_watch_json(const SaWatch *watch, gint64 epoch, double fps, GString *out);
