/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "link-config.h"

/* Moves packets between two TUN devices through a shaper a direction, on a thread of its own (with
 * a real-time priority where the system allows it). */

typedef struct SaLinkPump SaLinkPump;

/* The descriptors stay the caller's, as does @config; both must outlive the pump. The schedule of
 * rates starts now. */
SaLinkPump *sa_link_pump_start(const SaLinkConfig *config, int server_fd, int client_fd);

/* Stops the thread and returns the statistics as a JSON object (no newline); frees the pump. */
char *sa_link_pump_stop(SaLinkPump *pump);
