/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Adds /ackwin/schedule and /ackwin/held-relay. */
void add_ackwin_schedules(void);
