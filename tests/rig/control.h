/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "demo.h"

/* Reads commands, one a line, from stdin. A line that is no command is answered with an "error"
 * event. */
typedef struct SaControl SaControl;

/* 'on_quit' is called for "quit", and at the end of stdin if 'quit_on_eof'. */
SaControl *sa_control_new(SpiceServer *server, SaDemo *demo, gboolean quit_on_eof,
                          void (*on_quit)(gpointer data), gpointer data);
void sa_control_free(SaControl *control);
