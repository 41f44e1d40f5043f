/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Reproducible noise: a 64-bit linear congruential generator that is started anew for each row of
 * each frame, so that any row can be made without those before it. Its upper 48 bits are good
 * enough that no image coder compresses them. */

/* The state for a place in the picture. */
static inline guint64
sa_noise_start(guint32 seed, guint32 a, guint32 b)
{
    guint64 x =
        (guint64)seed << 32 ^ (guint64)a * 0x9e3779b97f4a7c15u ^ (guint64)b * 0xd6e8feb86659fd93u;

    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 29;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ x >> 32;
}

/* Steps the state; all 64 bits, of which the lowest 16 are weak. */
static inline guint64
sa_noise_step(guint64 *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state;
}

/* The next 31 random bits. */
static inline guint32
sa_noise_next(guint64 *state)
{
    return (guint32)(sa_noise_step(state) >> 33);
}
