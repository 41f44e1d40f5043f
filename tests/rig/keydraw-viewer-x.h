/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "scene.h"

/* A viewer's window on an X display, seen from outside: its pixels as they are on the screen, and
 * keys as from a keyboard. Needs the extensions XTEST and MIT-SHM and a TrueColor screen of 32 bits
 * a pixel. */

typedef struct SaViewerX SaViewerX;

/* @display NULL: $DISPLAY. */
SaViewerX *sa_viewer_x_open(const char *display, GError **error);
void sa_viewer_x_close(SaViewerX *x);

/* Looks for the largest visible top-level window; of process @pid unless 0, with @name in its title
 * or class unless NULL. FALSE: there is none now. */
gboolean sa_viewer_x_find(SaViewerX *x, int pid, const char *name);

/* Looks for the key code of the scene within the window; then the guest's picture of that size
 * begins at *@left,
 * *@top of the screen. FALSE: not there now, or scaled. */
gboolean sa_viewer_x_locate(SaViewerX *x, const SaSceneConfig *scene, gint *left, gint *top);

/* Gives the window the focus and puts the pointer at a place on the screen. */
void sa_viewer_x_focus(SaViewerX *x, gint left, gint top);

/* Presses and releases a letter key. */
void sa_viewer_x_key(SaViewerX *x);

/* A part of the screen that is read again and again. */
typedef struct SaViewerGrab SaViewerGrab;

SaViewerGrab *sa_viewer_grab_new(SaViewerX *x, const SaRect *rect, GError **error);
void sa_viewer_grab_free(SaViewerGrab *grab);

/* Reads it now. The pixels stay valid until the next call or the end of the grab. */
gboolean sa_viewer_grab_take(SaViewerGrab *grab, SaPixels *pixels);

/* The window's id, and its place on the screen. */
gulong sa_viewer_x_window(const SaViewerX *x, SaRect *place);
