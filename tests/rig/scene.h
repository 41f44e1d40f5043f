/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "framecode.h"

/* The picture of the demo guest: a static page of text, a key box that changes with every key
 * press, and an area that moves. Every pixel is a function of the configuration, the activity, the
 * frame number and the number of key presses, so that what a client holds can be compared with what
 * it should be. */

typedef enum {
    SA_ACTIVITY_IDLE,   /* nothing moves; the page shows where the area would be */
    SA_ACTIVITY_BUSY,   /* a smooth moving gradient with three bits of noise in each colour */
    SA_ACTIVITY_HEAVY,  /* eight bits of noise: nothing compresses it */
    SA_ACTIVITY_SCROLL, /* a text that moves up one line a frame */
    SA_ACTIVITY_PHOTO,  /* a landscape that moves two pixels to the left a frame */
} SaActivity;

enum {
    SA_SCENE_BOX_SIZE = 96,
    SA_SCENE_MIN_WIDTH = 320,
    SA_SCENE_MIN_HEIGHT = 240,
    SA_SCENE_MAX_WIDTH = 3840,
    SA_SCENE_MAX_HEIGHT = 2160,
    SA_SCENE_MIN_AREA_WIDTH = 160, /* room for a code in each corner */
    SA_SCENE_MIN_AREA_HEIGHT = 96,
    SA_SCENE_CODES = 4, /* top left, top right, bottom left, bottom right */
};

typedef struct {
    gint x, y, width, height;
} SaRect;

typedef struct {
    gint width;
    gint height;
    SaRect area; /* of the activity; width 0: the default for this size */
    gint box_x;  /* key box; -1: the default for this size */
    gint box_y;
    guint32 seed;
    gint depth; /* 32, or 16: colours as a display of five bits each shows them */
} SaSceneConfig;

typedef struct SaScene SaScene;

/* "idle", "busy", ... to the activity; FALSE if there is no such name. */
gboolean sa_activity_parse(const gchar *name, SaActivity *activity);
const gchar *sa_activity_name(SaActivity activity);

/* Fills in the defaults: 1280x800 with an area of 640x480 at 624,160 gives the reference picture,
 * other sizes keep its proportions. FALSE, with an error that names the part, if it does not fit.
 */
gboolean sa_scene_config_complete(SaSceneConfig *config, GError **error);

/* 'config' must be complete. Free with sa_scene_free. Not thread-safe: some activities keep tables.
 */
SaScene *sa_scene_new(const SaSceneConfig *config);
void sa_scene_free(SaScene *scene);
const SaSceneConfig *sa_scene_config(const SaScene *scene);

/* The whole screen. 'pixels' are XRGB8888 with a zero top byte, 'stride' counts pixels. */
void sa_scene_draw(SaScene *scene, SaActivity activity, guint32 frame, guint32 keys,
                   guint32 *pixels, gsize stride);

/* Only the area, or only the key box, into the pixels of a whole screen. */
void sa_scene_draw_area(SaScene *scene, SaActivity activity, guint32 frame, guint32 *pixels,
                        gsize stride);
void sa_scene_draw_box(SaScene *scene, guint32 keys, guint32 *pixels, gsize stride);

/* Where the frame number (modulo 65536) is, in each corner of the area; only while it is not idle.
 */
SaFramecodePlace sa_scene_frame_code(const SaSceneConfig *config, guint corner);

/* Where the number of key presses (modulo 65536) is, at the top of the key box. */
SaFramecodePlace sa_scene_key_code(const SaSceneConfig *config);

/* Writes XRGB8888 pixels as a binary PPM file. */
gboolean sa_scene_write_ppm(const guint32 *pixels, gsize stride, gint width, gint height,
                            const gchar *path, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SaScene, sa_scene_free)
