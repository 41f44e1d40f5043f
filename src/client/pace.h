/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pacer of one display connection at work: keeps the ACKs that core/pacer.h says to hold, and
 * sends them when it says so. Its timer exists only while there is one to send.
 */
#pragma once

#include "client/tap.h"
#include "core/pacer.h"

typedef struct SaPace SaPace;

/* unread_us: asked when it matters how long the viewer's unread bytes will take it, us, -1:
 * unknown. */
typedef gint64 (*SaPaceBacklog)(gpointer data);

/* Both tap and window outlive it. latency_us: the latency= option. */
SaPace *sa_pace_new(SaTap *tap, SaAckwin *window, gint64 latency_us, SaPaceBacklog unread_us,
                    gpointer data);
/* Sends what is still kept, if the connection is still there. */
void sa_pace_free(SaPace *pace, gint64 now);

/* The server's message was counted in the window / the viewer wants to write an ACK (TRUE: kept) /
 * an ACK went to the kernel and was counted. */
void sa_pace_message(SaPace *pace, guint32 bytes, gint64 waited_us, gint64 now);
gboolean sa_pace_ack_emitted(SaPace *pace, gint64 now);
void sa_pace_ack_written(SaPace *pace, gint64 now);
/* Everything must be on its way now / a chance to send. */
void sa_pace_let_go(SaPace *pace, gint64 now);
void sa_pace_turn(SaPace *pace, gint64 now);

const SaPacer *sa_pace_pacer(const SaPace *pace);
