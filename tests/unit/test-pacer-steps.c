/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* What must never happen with ACKs, over more than a million random steps of a server that counts
 * as spice-server does, a path, a viewer and a tap that knows each ACK by its number: none early,
 * out of order, lost, sent twice, across generations or connections, or held beyond the limit; no
 * deadlock.
 */
#include "core/pacer.h"

#define STEPS 1500000u
#define MS    G_TIME_SPAN_MILLISECOND
#define SEC   G_TIME_SPAN_SECOND

typedef enum Kind { MESSAGE, SET_ACK, ACK, ACK_SYNC } Kind;

/* Something on its way, either direction. */
typedef struct Item {
    Kind kind;
    guint32 generation, window; /* SET_ACK, ACK_SYNC; of an ACK: as the viewer emitted it */
    guint64 number;             /* of an ACK, on its connection */
    guint32 connection;
} Item;

typedef struct Ack {
    guint64 number;
    guint32 generation, connection;
    gint64 emitted;
} Ack;

typedef struct World {
    GRand *rand;
    gint64 now;
    guint32 connection;
    /* server, as spice-server counts */
    guint32 count, generation, window, client_generation;
    guint64 sent;
    guint64 read_acks; /* number of the last ACK the server read */
    GQueue down, up;   /* Item* */
    /* viewer */
    guint32 viewer_window, viewer_generation, to_ack;
    guint64 emitted; /* ACKs of this connection */
    /* tap */
    SaAckwin win;
    SaPacer pacer;
    GQueue held;  /* Ack* that the pacer holds */
    GQueue going; /* Ack* that it let go and the socket has not taken */
    guint64 written;
    gint64 asked; /* us, when the tap last asked: it is late sometimes */
    gint pace;    /* us, most between two messages of this connection */
    /* seen */
    guint64 rules[SA_PACER_N_RULES], holds, passes, set_acks, connections, flushes, settled;
} World;

static gboolean
chance(World *w, guint of_1000)
{
    return (guint)g_rand_int_range(w->rand, 0, 1000) < of_1000;
}

static void
up(World *w, Kind kind, guint64 number, guint32 generation)
{
    Item *item = g_new0(Item, 1);

    *item = (Item){kind, generation, 0, number, w->connection};
    g_queue_push_tail(&w->up, item);
}

static void
down(World *w, Kind kind)
{
    Item *item = g_new0(Item, 1);

    *item = (Item){kind, w->generation, w->window, 0, w->connection};
    g_queue_push_tail(&w->down, item);
    w->count++;
    w->sent++;
}

static void
server_set_ack(World *w)
{
    static const guint32 windows[] = {1, 2, 3, 7, 20, 20, 20, 40, 40, 40, 300};

    w->window = windows[g_rand_int_range(w->rand, 0, G_N_ELEMENTS(windows))];
    w->generation++;
    w->count = 0;
    w->set_acks++;
    down(w, SET_ACK);
}

static gboolean
server_may_send(const World *w)
{
    return w->count <= 2 * w->window;
}

static void
server_read(World *w)
{
    g_autofree Item *item = g_queue_pop_head(&w->up);

    if (item == NULL)
        return;
    g_assert_cmpuint(item->connection, ==, w->connection);
    if (item->kind == ACK_SYNC) {
        w->client_generation = item->generation;
        return;
    }
    g_assert_cmpuint(item->number, ==, w->read_acks + 1); /* in order, none lost, none twice */
    w->read_acks = item->number;
    if (w->client_generation == w->generation) {
        /* never across generations, never early: the counter would wrap */
        g_assert_cmpuint(item->generation, ==, w->generation);
        g_assert_cmpuint(w->count, >=, w->window);
        w->count -= w->window;
    }
}

/* The socket takes what the tap has to write, sometimes not all of it. */
static void
tap_write(World *w, gboolean all)
{
    guint n = 0;

    while (w->going.length > 0 && (all || !chance(w, 200))) {
        g_autofree Ack *ack = g_queue_pop_head(&w->going);

        g_assert_cmpuint(ack->connection, ==, w->connection);
        g_assert_cmpuint(ack->number, <=, w->emitted); /* never early */
        up(w, ACK, ack->number, ack->generation);
        sa_ackwin_ack(&w->win, w->now);
        w->written++;
        n++;
    }
    if (n > 0)
        sa_pacer_acks_written(&w->pacer, n, w->now);
}

static void
tap_let_go(World *w, guint n)
{
    g_assert_cmpuint(n, <=, w->held.length);
    for (; n > 0; n--) {
        Ack *ack = g_queue_pop_head(&w->held);

        /* never beyond the limit, but for the tap's own lateness */
        g_assert_cmpint(w->now - ack->emitted, <=, SA_PACER_HOLD_MAX_US + (w->now - w->asked) + 1);
        g_queue_push_tail(&w->going, ack);
    }
}

static void
tap_ask(World *w)
{
    gint64 next;

    tap_let_go(w, sa_pacer_release(&w->pacer, w->now));
    w->asked = w->now;
    tap_write(w, FALSE);
    g_assert_cmpuint(w->pacer.held, ==, w->held.length);
    next = sa_pacer_next(&w->pacer, w->now);
    if (w->held.length == 0) {
        g_assert_cmpint(next, ==, -1);
    } else {
        /* a timer while an ACK is held, in the future, and not for ever */
        g_assert_cmpint(next, >, w->now);
        g_assert_cmpint(next, <=, w->now + SA_PACER_HOLD_MAX_US);
    }
}

static void
tap_flush(World *w)
{
    tap_let_go(w, sa_pacer_flush(&w->pacer, w->now));
    g_assert_cmpuint(w->held.length, ==, 0);
    tap_write(w, TRUE);
    w->flushes++;
}

static void
viewer_ack(World *w)
{
    guint64 number = ++w->emitted;

    if (sa_pacer_ack_emitted(&w->pacer, w->now)) {
        Ack *ack = g_new0(Ack, 1);

        *ack = (Ack){number, w->viewer_generation, w->connection, w->now};
        g_queue_push_tail(&w->held, ack);
        w->holds++;
    } else {
        /* it must not overtake one that waits */
        g_assert_cmpuint(w->held.length + w->going.length, ==, 0);
        up(w, ACK, number, w->viewer_generation);
        sa_ackwin_ack(&w->win, w->now);
        w->written++;
        w->passes++;
    }
}

static void
viewer_read(World *w)
{
    g_autofree Item *item = g_queue_pop_head(&w->down);
    guint32 bytes = (guint32)g_rand_int_range(w->rand, 20, 90000);

    if (item == NULL)
        return;
    if (item->kind == SET_ACK) {
        sa_ackwin_set_ack(&w->win, item->generation, item->window, 14, w->now);
    } else {
        sa_ackwin_message(&w->win, bytes, w->now);
    }
    sa_pacer_message(&w->pacer, bytes, chance(w, 100) ? g_rand_int_range(w->rand, 0, 50000) : 0,
                     w->now);
    if (w->to_ack > 0 && --w->to_ack == 0) {
        w->to_ack = w->viewer_window;
        viewer_ack(w);
    }
    if (item->kind == SET_ACK) {
        w->viewer_window = w->to_ack = item->window;
        tap_ask(w); /* between reading and answering there may be a while */
        tap_flush(w);
        w->viewer_generation = item->generation;
        up(w, ACK_SYNC, 0, item->generation);
        sa_ackwin_ack_sync(&w->win, item->generation, w->now);
    }
}

static void
forget(World *w)
{
    g_queue_clear_full(&w->down, g_free);
    g_queue_clear_full(&w->up, g_free);
    g_queue_clear_full(&w->held, g_free);
    g_queue_clear_full(&w->going, g_free);
    for (guint i = 0; i < SA_PACER_N_RULES; i++)
        w->rules[i] += w->pacer.released[i] + w->pacer.passed[i];
}

/* A connection dies in mid-hold, or migration swaps the sockets: another one, another pacer. */
static void
connect_anew(World *w)
{
    static const gint paces[] = {1000, 10000, 40000, 40000, 100000, 700000};
    gint64 rtt = chance(w, 100) ? 0 : g_rand_int_range(w->rand, 1, 200) * MS;

    forget(w);
    w->pace = paces[g_rand_int_range(w->rand, 0, G_N_ELEMENTS(paces))];
    w->connections++;
    w->connection++;
    w->generation = (guint32)g_rand_int_range(w->rand, 0, 3);
    w->client_generation = G_MAXUINT32;
    w->read_acks = w->emitted = w->written = 0;
    w->viewer_window = w->to_ack = w->viewer_generation = 0;
    sa_ackwin_init(&w->win);
    sa_pacer_init(&w->pacer, &w->win, chance(w, 300) ? 0 : SA_PACER_LATENCY_US);
    sa_ackwin_set_rtt(&w->win, rtt);
    sa_pacer_round_trip(&w->pacer, rtt);
    server_set_ack(w);
}

/* With the decoder idle and everybody at work messages flow: nothing is deadlocked. */
static void
settle(World *w)
{
    guint64 goal = w->sent + 3 * (guint64)w->window + 3;
    gint64 until = w->now + 120 * SEC;

    sa_pacer_local_backlog(&w->pacer, 0, 0);
    while (w->sent < goal) {
        gint64 next;

        while (w->up.length > 0)
            server_read(w);
        while (server_may_send(w) && w->sent < goal)
            down(w, MESSAGE);
        while (w->down.length > 0)
            viewer_read(w);
        tap_ask(w);
        tap_write(w, TRUE);
        next = sa_pacer_next(&w->pacer, w->now);
        w->now = next < 0 ? w->now + MS : next;
        tap_ask(w);
        g_assert_cmpint(w->now, <, until);
    }
    w->settled++;
}

static void
step(World *w)
{
    guint what = (guint)g_rand_int_range(w->rand, 0, 1000);
    gint64 next;

    if (what < 330) {
        for (guint n = (guint)g_rand_int_range(w->rand, 1, 60); n > 0 && server_may_send(w); n--)
            down(w, MESSAGE);
    } else if (what < 660) {
        for (guint n = (guint)g_rand_int_range(w->rand, 1, 8); n > 0 && w->down.length > 0; n--) {
            w->now += g_rand_int_range(w->rand, 0, w->pace);
            viewer_read(w);
            tap_ask(w);
        }
    } else if (what < 860) {
        server_read(w);
    } else if (what < 900) {
        tap_write(w, FALSE);
    } else if (what < 950) {
        /* nothing but time: the timer fires, or is late */
        next = sa_pacer_next(&w->pacer, w->now);
        if (next >= 0 && chance(w, 700))
            w->now = next;
        else
            w->now += g_rand_int_range(w->rand, 0, chance(w, 20) ? 20 * SEC : 100 * MS);
        tap_ask(w);
    } else if (what < 970) {
        sa_pacer_local_backlog(&w->pacer, g_rand_int_range(w->rand, -10000, 200000),
                               chance(w, 300) ? g_rand_int_range(w->rand, 0, 600000) : 0);
        tap_ask(w);
    } else if (what < 985) {
        sa_pacer_round_trip(&w->pacer, g_rand_int_range(w->rand, 0, 300) * MS);
    } else if (what < 988) {
        sa_pacer_set_enabled(&w->pacer, chance(w, 800));
        tap_ask(w);
    } else if (what < 992) {
        tap_flush(w); /* MIGRATE_FLUSH_MARK, MIGRATE_DATA */
    } else if (what < 994) {
        server_set_ack(w);
    } else if (what < 996) {
        connect_anew(w);
    } else if (what < 999) {
        settle(w);
    }
}

static void
test_steps(void)
{
    World w = {.rand = g_rand_new_with_seed((guint32)g_test_rand_int()), .now = 1};

    connect_anew(&w);
    for (guint i = 0; i < STEPS; i++)
        step(&w);
    settle(&w);
    forget(&w);
    g_test_message("%" G_GUINT64_FORMAT " holds, %" G_GUINT64_FORMAT " passes, %" G_GUINT64_FORMAT
                   " SET_ACKs, %" G_GUINT64_FORMAT " connections, %" G_GUINT64_FORMAT " settled",
                   w.holds, w.passes, w.set_acks, w.connections, w.settled);
    for (guint i = 0; i < SA_PACER_N_RULES; i++) {
        g_test_message("%s: %" G_GUINT64_FORMAT, sa_pacer_rule_name(i), w.rules[i]);
        g_assert_cmpuint(w.rules[i], >, 0); /* or the steps test less than they say */
    }
    g_assert_cmpuint(w.holds, >, 10000);
    g_assert_cmpuint(w.passes, >, 10000);
    g_rand_free(w.rand);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pacer-steps/steps", test_steps);
    return g_test_run();
}
