/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "framecode.h"

enum {
    BITS = SA_FRAMECODE_COLUMNS * SA_FRAMECODE_ROWS,
    /* Mean luminance of a cell's middle: between the two it is neither black nor white. Noise that
     * JPEG smears into a cell moves the mean of its middle by less than a quarter of the range. */
    DARK = 96,
    LIGHT = 160,
};

/* Chosen by search: with this constant no mixture of two numbers up to 32 apart passes the check.
 */
#define CHECK_SEED 0xdca6e146u

guint32
sa_framecode_check(guint16 number)
{
    guint32 x = number ^ CHECK_SEED;

    x *= 0x9e3779b1u;
    x ^= x >> 15;
    x *= 0x85ebca77u;
    x ^= x >> 13;
    x *= 0xc2b2ae3du;
    x ^= x >> 16;
    return x >> 8;
}

/* The number and its check, in reading order: bit 39 is the top left cell. */
static guint64
code_bits(guint16 number)
{
    return (guint64)number << 24 | sa_framecode_check(number);
}

void
sa_framecode_draw(guint32 *pixels, gsize stride, const SaFramecodePlace *place, guint16 number)
{
    guint64 bits = code_bits(number);
    guint32 dark = number & 1 ? 0x080808 : 0x000000;
    guint32 light = number & 1 ? 0xf7f7f7 : 0xffffff;

    for (gint row = 0; row < SA_FRAMECODE_ROWS * place->cell_height; row++) {
        guint32 *out = pixels + (gsize)(place->y + row) * stride + place->x;
        gint first = BITS - 1 - row / place->cell_height * SA_FRAMECODE_COLUMNS;

        for (gint column = 0; column < SA_FRAMECODE_COLUMNS; column++) {
            guint32 colour = bits >> (first - column) & 1 ? light : dark;

            for (gint i = 0; i < place->cell_width; i++)
                *out++ = colour;
        }
    }
}

guint32
sa_pixels_get(const SaPixels *pixels, gint x, gint y)
{
    const guint8 *row = (const guint8 *)pixels->data + y * pixels->stride;

    switch (pixels->format) {
    case SA_PIXELS_XRGB8888:
        return ((const guint32 *)(gconstpointer)row)[x] & 0xffffff;
    case SA_PIXELS_XRGB1555: {
        guint32 word = ((const guint16 *)(gconstpointer)row)[x];
        guint32 red = word >> 10 & 31;
        guint32 green = word >> 5 & 31;
        guint32 blue = word & 31;

        return (red << 3 | red >> 2) << 16 | (green << 3 | green >> 2) << 8 |
               (blue << 3 | blue >> 2);
    }
    case SA_PIXELS_RGB888:
        return (guint32)row[3 * x] << 16 | (guint32)row[3 * x + 1] << 8 | row[3 * x + 2];
    }
    return 0;
}

/* 0 or 1, or -1 where the middle of the cell is grey. Only the middle half of a cell, in each
 * direction, is looked at: the rim is where neighbours bleed in. */
static gint
decode_cell(const SaPixels *pixels, gint x, gint y, gint width, gint height)
{
    gint left = x + width / 4;
    gint right = x + width - width / 4;
    gint top = y + height / 4;
    gint bottom = y + height - height / 4;
    guint sum = 0;
    guint mean;

    for (gint py = top; py < bottom; py++) {
        for (gint px = left; px < right; px++) {
            guint32 rgb = sa_pixels_get(pixels, px, py);

            sum += 77 * (rgb >> 16 & 255) + 150 * (rgb >> 8 & 255) + 29 * (rgb & 255);
        }
    }
    mean = sum / 256 / (guint)((right - left) * (bottom - top));
    return mean < DARK ? 0 : mean > LIGHT ? 1 : -1;
}

gint
sa_framecode_decode(const SaPixels *pixels, const SaFramecodePlace *place)
{
    guint64 bits = 0;
    guint16 number;

    if (place->x < 0 || place->y < 0 || place->cell_width < 1 || place->cell_height < 1 ||
        place->cell_width > 64 || place->cell_height > 64 ||
        place->x > pixels->width - SA_FRAMECODE_COLUMNS * place->cell_width ||
        place->y > pixels->height - SA_FRAMECODE_ROWS * place->cell_height)
        return -1;
    for (gint i = 0; i < BITS; i++) {
        gint bit = decode_cell(pixels, place->x + i % SA_FRAMECODE_COLUMNS * place->cell_width,
                               place->y + i / SA_FRAMECODE_COLUMNS * place->cell_height,
                               place->cell_width, place->cell_height);

        if (bit < 0)
            return -1;
        bits = bits << 1 | (guint)bit;
    }
    number = (guint16)(bits >> 24);
    return bits == code_bits(number) ? number : -1;
}
