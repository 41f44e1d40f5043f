/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <spice.h>

/* Channels beside display and inputs, for tests of what passes them on. One of each per process;
 * they are told to stop before spice_server_destroy. */

/* A playback channel with a tone of 440 Hz at a tenth of full scale. */
void sa_playback_add(SpiceServer *server);
void sa_playback_stop(void);

/* A port channel named org.spice-accel.demo.0 that sends back what it gets. */
void sa_port_add(SpiceServer *server);
