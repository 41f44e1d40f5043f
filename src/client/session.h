/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the connections of one SPICE session have in common: its number in this process and its
 * end-to-end round trip, the least over all of them.
 *
 * Connections belong together by the connection id of their link messages: 0 on the first main
 * connection, which is given the id by MAIN_INIT, and that id on all others (spice-protocol,
 * SpiceLinkMess; spice-server reds.cpp).
 */
#pragma once

#include "core/estimate.h"

typedef struct SaSession {
    /*< public, read only >*/
    guint number; /* from 1, in the order they appeared in this process */
    SaRoundTrip round_trip;
    gint64 key_time; /* us: the last key-down was written; 0: none yet */
    guint64 keys;    /* key-downs written */
    /*< private >*/
    guint refs;
    guint32 id;
    gboolean listed;
} SaSession;

/* A session not yet known by id; the caller's reference. */
SaSession *sa_session_new(void);
/* The session with this connection id, made when there is none; a new reference. */
SaSession *sa_session_find(guint32 id);
/* MAIN_INIT gave the session its id. Servers pick ids without asking each other: where two sessions
 * have the same one, connections that come from now on belong to the one identified last. */
void sa_session_identify(SaSession *session, guint32 id);
SaSession *sa_session_ref(SaSession *session);
void sa_session_unref(SaSession *session);
