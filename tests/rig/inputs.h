/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "demo.h"

/* Keyboard, mouse and tablet of the demo guest. One set per process. */
void sa_inputs_add(SpiceServer *server, SaDemo *demo);
