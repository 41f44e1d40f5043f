/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Follows one SPICE connection that passes by: link phase, then messages of both sides, and the
 * server's count of unacknowledged messages. Shares no code with the client it is the witness of.
 *
 * The count is the server's rule (red-channel-client.cpp): a SET_ACK zeroes it and then counts as
 * 1, every message adds 1, an ACK takes the window off, but only once ACK_SYNC has echoed the
 * generation. It is kept from what has passed here, so it is a lower bound of the server's own. */

typedef struct SaFrames SaFrames;

typedef enum {
    SA_FRAMES_FROM_CLIENT,
    SA_FRAMES_FROM_SERVER,
} SaFramesSide;

SaFrames *sa_frames_new(void);
void sa_frames_free(SaFrames *frames);

/* The next bytes of a side, in any split. What is no SPICE, or SASL, is only counted. */
void sa_frames_feed(SaFrames *frames, SaFramesSide side, const guint8 *data, gsize size);

/* Appends a JSON object. */
void sa_frames_json(const SaFrames *frames, GString *out);
