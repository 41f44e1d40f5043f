/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Main and inputs connections, read only: what tells the session's end-to-end round trip, and when
 * keys were pressed.
 *
 * Signs of a round trip: messages that spice-server answers at once (read in 0.15):
 *  - main, ATTACH_CHANNELS to CHANNELS_LIST (main-channel-client.cpp);
 *  - inputs, every fourth motion message (SPICE_INPUT_MOTION_ACK_BUNCH) to MOUSE_MOTION_ACK
 *    (inputs-channel.cpp).
 * PING is no such sign: the start-up test sends its three at once, later ones come from a timer.
 */
#pragma once

#include "client/tap.h"

extern const SaTapSink sa_watcher_sink;

gpointer sa_watcher_new(SaTap *tap);
