/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Main and inputs connections, read only: what tells the session's end-to-end round trip, and when
 * keys were pressed.
 *
 * Signs of a round trip: messages that spice-server answers at once (read in 0.15):
 *  - main, the start-up test: PING 0, PING 0, PING 250 KiB; each is sent when the PONG of the one
 *    before has come (main-channel-client.cpp), so PONG written to PING read is a round trip. Later
 *    PINGs come from a timer and say nothing;
 *  - main, ATTACH_CHANNELS to CHANNELS_LIST (main-channel-client.cpp);
 *  - inputs, every fourth motion message (SPICE_INPUT_MOTION_ACK_BUNCH) to MOUSE_MOTION_ACK
 *    (inputs-channel.cpp).
 */
#pragma once

#include "client/tap.h"

extern const SaTapSink sa_watcher_sink;

gpointer sa_watcher_new(SaTap *tap);
