/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes of small SPICE conversations, for tests of what watches them. All appenders take the
 * array to append to and return where their bytes start in it. */
#pragma once

#include <glib.h>

gsize bytes_u8(GByteArray *out, guint8 v);
gsize bytes_u16(GByteArray *out, guint16 v);
gsize bytes_u32(GByteArray *out, guint32 v);
gsize bytes_fill(GByteArray *out, guint8 v, gsize n);

/* Link message of a client / reply of a server with one word of common capabilities (bit 0
 * AUTH_SELECTION, 1 AUTH_SPICE, 2 AUTH_SASL, 3 MINI_HEADER) and no channel capabilities. */
gsize
bytes_link_message(GByteArray *out, guint32 connection_id, guint8 type, guint8 id, guint32 common);
gsize bytes_link_reply(GByteArray *out, guint32 error, guint32 common);
/* Mechanism and ticket, as a client answers the reply when both have AUTH_SELECTION. */
gsize bytes_ticket(GByteArray *out);
/* A message with the mini header; body may be NULL: zeros. */
gsize bytes_message(GByteArray *out, guint16 type, const void *body, gsize size);
gsize bytes_set_ack(GByteArray *out, guint32 generation, guint32 window);
gsize bytes_ack_sync(GByteArray *out, guint32 generation);
gsize bytes_ack(GByteArray *out);
