/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "photo.h"

#include "noise.h"

/* Values and colours are in 256ths; a lattice repeats every SA_PHOTO_WIDTH pixels. */

static gint
lattice(guint32 seed, gint x, gint y, gint period)
{
    guint64 state = sa_noise_start(seed, (guint32)(x % period), (guint32)y);

    return (gint)(state >> 56);
}

/* Smooth noise with cells of the given size, 0 to 255; the size divides SA_PHOTO_WIDTH. */
static gint
smooth_noise(guint32 seed, gint x, gint y, gint cell)
{
    gint period = SA_PHOTO_WIDTH / cell;
    gint cx = x / cell;
    gint cy = y / cell;
    gint fx = x % cell * 256 / cell;
    gint fy = y % cell * 256 / cell;
    gint top;
    gint bottom;

    fx = fx * fx / 256 * (768 - 2 * fx) / 256;
    fy = fy * fy / 256 * (768 - 2 * fy) / 256;
    top = lattice(seed, cx, cy, period) * (256 - fx) + lattice(seed, cx + 1, cy, period) * fx;
    bottom =
        lattice(seed, cx, cy + 1, period) * (256 - fx) + lattice(seed, cx + 1, cy + 1, period) * fx;
    return (top * (256 - fy) + bottom * fy) / 65536;
}

/* Several sizes of noise on top of each other, 0 to 255. */
static gint
cloud(guint32 seed, gint x, gint y, gint cell, gint octaves)
{
    gint sum = 0;
    gint weight = 128;

    for (gint i = 0; i < octaves; i++) {
        sum += smooth_noise(seed + (guint32)i, x, y, cell) * weight;
        weight /= 2;
        cell /= 2;
    }
    return sum / 256;
}

static guint32
blend(guint32 a, guint32 b, gint amount)
{
    guint32 out = 0;

    amount = CLAMP(amount, 0, 256);
    for (gint shift = 0; shift < 24; shift += 8) {
        gint from = (gint)(a >> shift & 255);
        gint to = (gint)(b >> shift & 255);

        out |= (guint32)(from + (to - from) * amount / 256) << shift;
    }
    return out;
}

guint32 *
sa_photo_new(guint32 seed, gint height)
{
    guint32 *photo = g_new(guint32, (gsize)SA_PHOTO_WIDTH * height);
    gint sun_x = SA_PHOTO_WIDTH / 3;
    gint sun_y = height / 4;
    gint sun_radius = MAX(height / 14, 4);

    for (gint x = 0; x < SA_PHOTO_WIDTH; x++) {
        gint far_ridge = height * 45 / 100 + (cloud(seed + 100, x, 0, 384, 6) - 128) * height / 600;
        gint near_ridge =
            height * 62 / 100 + (cloud(seed + 200, x, 0, 192, 6) - 128) * height / 420;

        for (gint y = 0; y < height; y++) {
            guint32 *out = photo + (gsize)y * SA_PHOTO_WIDTH + x;

            if (y >= near_ridge) {
                gint grain = cloud(seed + 300, x, y * 2, 48, 5);
                gint depth = (y - near_ridge) * 256 / MAX(height - near_ridge, 1);

                *out =
                    blend(blend(0x18301c, 0x5a7d34, depth), 0xd8cf84, (grain - 60) * depth / 256);
            } else if (y >= far_ridge) {
                gint rock = cloud(seed + 400, x, y, 96, 5);

                *out = blend(0x3d4a63, 0x8d93a8, rock + (y - far_ridge) * 160 / height);
            } else {
                gint dx = x - sun_x;
                gint dy = y - sun_y;
                gint from_sun = dx * dx + dy * dy;
                gint haze = cloud(seed + 500, x, y * 3, 256, 6);

                *out = blend(0x3f78bd, 0xf3d9b5, y * 300 / MAX(far_ridge, 1));
                if (from_sun < sun_radius * sun_radius)
                    *out = 0xfff6d8;
                *out = blend(*out, 0xffffff, (haze - 110) * 3);
            }
        }
    }
    return photo;
}
