/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* A 16-bit number as black and white cells: 8 columns by 5 rows. Row 0 holds the high byte, row 1
 * the low byte, most significant bit left, rows 2 to 4 a 24-bit check of the number. White is 1.
 *
 * A picture that is partly new and partly old, cut between columns, between rows or within a cell,
 * decodes to -1: a mixture of any two numbers up to 32 apart never passes the check, whatever
 * contiguous run of columns or rows is the other one's; a mixture of two arbitrary numbers passes
 * with a probability of 2^-24. Plain black, plain white and a blurred or grey cell are no code
 * either. Cells of 8x8 pixels survive JPEG at quality 5, and at half size at quality 10. */
enum {
    SA_FRAMECODE_COLUMNS = 8,
    SA_FRAMECODE_ROWS = 5,
};

typedef enum {
    SA_PIXELS_XRGB8888, /* 32-bit little-endian words, the top byte ignored: bytes B G R x */
    SA_PIXELS_XRGB1555, /* 16-bit words, five bits each, the top bit ignored */
    SA_PIXELS_RGB888,   /* bytes R G B, as in a PPM file */
} SaPixelFormat;

/* Pixels to read. They belong to the caller; nothing outside width x height is read. */
typedef struct {
    gconstpointer data; /* the first byte of the top row */
    gssize stride;      /* bytes from one row to the next */
    gint width;
    gint height;
    SaPixelFormat format;
} SaPixels;

/* Where a code is: its top left pixel and the size of one cell. */
typedef struct {
    gint x;
    gint y;
    gint cell_width;
    gint cell_height;
} SaFramecodePlace;

/* The 24-bit check of a number. */
guint32 sa_framecode_check(guint16 number);

/* Paints a number into XRGB8888 pixels, 'stride' being in pixels. The place must lie inside. The
 * shades of black and white differ between odd and even numbers, so that every pixel changes from
 * one number to the next: a server that sends only what changed is not helped by cells that stay.
 */
void
sa_framecode_draw(guint32 *pixels, gsize stride, const SaFramecodePlace *place, guint16 number);

/* The number at a place, or -1: no code there, torn, too blurred, or not inside the picture. */
gint sa_framecode_decode(const SaPixels *pixels, const SaFramecodePlace *place);

/* Red, green and blue of one pixel that lies inside, 8 bits each, as 0xRRGGBB. */
guint32 sa_pixels_get(const SaPixels *pixels, gint x, gint y);
