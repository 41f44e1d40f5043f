/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* A proportional font drawn from strokes with anti-aliasing, in integer arithmetic only, so that
 * every machine and compiler makes the same pixels. Covers printable ASCII except # $ & @ \ ^ ` { |
 * } ~; what is missing is drawn as a space. */
typedef struct SaFont SaFont;

/* Pixels to draw into, XRGB8888, and the part of them that may be touched. */
typedef struct {
    guint32 *pixels; /* of row 0, column 0 */
    gsize stride;    /* in pixels */
    gint left, top, right, bottom;
} SaCanvas;

/* A font whose capitals are 'cap_height' pixels high and whose strokes are 'weight' sixteenths of a
 * pixel wide. */
SaFont *sa_font_new(gint cap_height, gint weight);
void sa_font_free(SaFont *font);

/* Width in pixels of the first 'length' bytes of a text, -1 for all of it. */
gint sa_font_width(const SaFont *font, const gchar *text, gssize length);

/* Draws a text whose capitals have their top left corner at x, y; returns the x behind it. */
gint sa_font_draw(const SaFont *font, const SaCanvas *canvas, gint x, gint y, const gchar *text,
                  guint32 colour);

/* Fills a rectangle, as far as the canvas reaches. */
void
sa_canvas_fill(const SaCanvas *canvas, gint x, gint y, gint width, gint height, guint32 colour);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SaFont, sa_font_free)
