/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The public functions; everything else is hidden (-fvisibility=hidden, spice-accel.map). */
#pragma once

#define SA_EXPORT __attribute__((visibility("default")))
