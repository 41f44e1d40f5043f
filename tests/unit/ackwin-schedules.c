/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* A server that counts as spice-server does, a path with a delay and a client that acknowledges
 * when it likes, a hundred thousand steps a schedule: SaAckwin must agree with all of them at each.
 */
#include "ackwin-schedules.h"

#include "core/ackwin.h"

/* What lies between them, by time of arrival: a queue as long as a run may need. */
typedef enum What { MESSAGE, SET_ACK, ACK_SYNC, ACK } What;

typedef struct Event {
    What what;
    guint32 generation, window;
    gint64 at;
} Event;

typedef struct Sim {
    guint32 rtt, window;
    GQueue down, up; /* of Event */
    /* server, as spice-server does it */
    guint32 count; /* unsigned: an early ACK would wrap it */
    guint32 generation, client_generation;
    guint64 sent;       /* since SET_ACK, it included */
    guint64 acks_taken; /* of this generation */
    guint32 peak_count;
    /* path */
    guint64 acks_under_way; /* written after ACK_SYNC of the server's generation */
    /* client */
    SaAckwin win;
    guint32 to_ack; /* messages until the viewer emits its ACK */
    guint held;     /* ACKs the viewer emitted and the pacer holds */
    /* what the time at the limit is, the long way */
    GArray *ack_times; /* since ACK_SYNC, gint64 */
    gboolean at_limit;
    gint64 at_limit_us;
    guint64 stalls;
} Sim;

static void
put(GQueue *queue, What what, guint32 generation, guint32 window, gint64 at)
{
    Event *event = g_new(Event, 1);

    *event = (Event){what, generation, window, at};
    g_queue_push_tail(queue, event);
}

static Event *
arrived(GQueue *queue, gint64 now)
{
    Event *event = g_queue_peek_head(queue);

    return event && event->at <= now ? g_queue_pop_head(queue) : NULL;
}

static gboolean
may_send(const Sim *sim)
{
    return sim->count <= sim->window * 2;
}

static void
send_one(Sim *sim, gboolean set_ack, gint64 now)
{
    if (set_ack) {
        sim->generation++;
        sim->count = 0;
        sim->sent = 0;
        sim->acks_taken = 0;
        sim->acks_under_way = 0;
    }
    sim->count++;
    sim->sent++;
    sim->peak_count = MAX(sim->peak_count, sim->count);
    put(&sim->down, set_ack ? SET_ACK : MESSAGE, sim->generation, sim->window, now + sim->rtt / 2);
}

static void
server_reads(Sim *sim, gint64 now)
{
    Event *event;

    while ((event = arrived(&sim->up, now))) {
        if (event->what == ACK_SYNC) {
            sim->client_generation = event->generation;
        } else if (sim->client_generation == sim->generation) {
            sim->count -= sim->window;
            sim->acks_taken++;
            sim->acks_under_way--;
        }
        g_free(event);
    }
    /* wrapped, or beyond its limit */
    g_assert_cmpuint(sim->count, <=, 2 * sim->window + 1);
}

static void
write_held(Sim *sim, guint n, gint64 now)
{
    for (; n > 0; n--) {
        sim->held--;
        put(&sim->up, ACK, 0, 0, now + sim->rtt - sim->rtt / 2);
        if (sim->win.synced) {
            g_array_append_val(sim->ack_times, now);
            if (sim->win.generation == sim->generation)
                sim->acks_under_way++;
        }
        sa_ackwin_ack(&sim->win, now);
    }
}

/* Credit by the ACKs that are older than one round trip. */
static guint64
allowed_now(Sim *sim, gint64 now)
{
    guint64 effective = sim->ack_times->len;

    while (effective > 0 &&
           g_array_index(sim->ack_times, gint64, effective - 1) > now - (gint64)sim->rtt)
        effective--;
    /* three fill the window: a client that reads before it acknowledges never has more */
    g_assert_cmpuint(sim->ack_times->len - effective, <=, 4);
    return 2 * (guint64)sim->win.window + 1 + effective * sim->win.window;
}

static void
client_reads(Sim *sim, gint64 now)
{
    Event *event;

    while ((event = arrived(&sim->down, now))) {
        if (event->what == SET_ACK) {
            sa_ackwin_set_ack(&sim->win, event->generation, event->window, 14, now);
            g_array_set_size(sim->ack_times, 0);
            sim->at_limit = FALSE;
            /* held ACKs are out before ACK_SYNC is */
            write_held(sim, sim->held, now);
            sa_ackwin_ack_sync(&sim->win, event->generation, now);
            put(&sim->up, ACK_SYNC, event->generation, 0, now + sim->rtt - sim->rtt / 2);
            sim->to_ack = event->window;
        } else {
            gboolean was = sim->at_limit;

            sa_ackwin_message(&sim->win, 100, now);
            sim->at_limit = sim->win.received >= allowed_now(sim, now);
            sim->stalls += sim->at_limit && !was;
            if (--sim->to_ack == 0) {
                sim->held++;
                sim->to_ack = event->window;
            }
        }
        g_free(event);
    }
}

/* Both ends of the truth: what the server has done, what the client makes of it. */
static void
check_against_server(Sim *sim, gint64 now)
{
    guint64 credit = sa_ackwin_credit(&sim->win), full = 2 * (guint64)sim->window + 1;

    if (!sim->win.known)
        return;
    g_assert_cmpuint(sim->win.received, <=, credit);
    g_assert_cmpuint(sa_ackwin_in_flight(&sim->win), ==, credit - sim->win.received);
    g_assert_cmpuint(sim->win.received, <=, allowed_now(sim, now));
    g_assert_cmpuint(sa_ackwin_credit_left(&sim->win, now), ==,
                     allowed_now(sim, now) - sim->win.received);
    if (sim->win.generation != sim->generation)
        return; /* a newer SET_ACK is under way */
    g_assert_cmpuint(sim->sent - sim->win.received, <=, sa_ackwin_in_flight(&sim->win));
    g_assert_cmpuint(sim->count, ==, sim->sent - sim->acks_taken * sim->window);
    /* what it has been granted and not used, and what is still on its way to it */
    g_assert_cmpuint(credit - sim->sent, ==, full - sim->count + sim->acks_under_way * sim->window);
    g_assert_cmpuint(sa_ackwin_limit(&sim->win), ==, full);
}

typedef struct Schedule {
    const char *name;
    guint32 window, rtt;
    guint busy;      /* % of the steps in which the server sends at all */
    guint burst;     /* most messages it sends in one of them; 0: all it may */
    guint release;   /* % of the steps in which held ACKs are written */
    guint resend;    /* 1 in so many messages is a SET_ACK, 0: none but the first */
    gboolean greedy; /* nothing is held and the server sends all it may: always at the limit */
} Schedule;

static const Schedule schedules[] = {
    {"light", 20, 80, 20, 3, 50, 0, FALSE},
    {"busy", 20, 80, 90, 10, 50, 0, FALSE},
    {"held long", 20, 80, 90, 10, 1, 0, FALSE},
    {"wide", 40, 150, 60, 7, 10, 0, FALSE},
    {"short path", 20, 2, 50, 5, 20, 0, FALSE},
    {"long path", 40, 1001, 50, 5, 20, 0, FALSE},
    {"one", 1, 5, 70, 2, 30, 0, FALSE},
    {"many acks on their way", 1, 300, 95, 0, 100, 0, FALSE},
    {"set again", 20, 80, 60, 6, 20, 300, FALSE},
    {"set again often", 3, 40, 60, 6, 20, 9, FALSE},
    {"set again within a round trip", 40, 1000, 90, 20, 30, 50, FALSE},
    {"greedy", 20, 80, 100, 0, 100, 0, TRUE},
    {"greedy, set again", 20, 80, 100, 0, 100, 400, TRUE},
    {"greedy, wide", 40, 300, 100, 0, 100, 0, TRUE},
};

static void
server_acts(Sim *sim, const Schedule *s, GRand *rand, gint64 now)
{
    guint n;

    if ((guint)g_rand_int_range(rand, 0, 100) >= s->busy)
        return;
    n = s->burst ? (guint)g_rand_int_range(rand, 1, (gint32)s->burst + 1) : G_MAXUINT;
    for (; n > 0 && may_send(sim); n--)
        send_one(sim, s->resend && g_rand_int_range(rand, 0, (gint32)s->resend) == 0, now);
}

static void
test_schedule(gconstpointer data)
{
    const Schedule *s = data;
    g_autoptr(GRand) rand = g_rand_new_with_seed(20240229 + s->window * 7919 + s->rtt);
    Sim sim = {.rtt = s->rtt, .window = s->window};
    gint64 first_limit = 0, now = 1;

    sim.client_generation = G_MAXUINT32;
    sim.ack_times = g_array_new(FALSE, FALSE, sizeof(gint64));
    sa_ackwin_init(&sim.win);
    sa_ackwin_set_rtt(&sim.win, s->rtt);
    send_one(&sim, TRUE, now);
    for (; now <= 100000; now++) {
        sim.at_limit_us += sim.at_limit;
        if (sim.at_limit && sim.win.received < allowed_now(&sim, now))
            sim.at_limit = FALSE;
        server_reads(&sim, now);
        server_acts(&sim, s, rand, now);
        client_reads(&sim, now);
        if (sim.held && (guint)g_rand_int_range(rand, 0, 100) < s->release)
            write_held(&sim, s->greedy ? sim.held : 1, now);
        check_against_server(&sim, now);
        if (now % 7 == 0)
            g_assert_cmpint(sa_ackwin_at_limit_us(&sim.win, now), ==, sim.at_limit_us);
        if (s->greedy && sim.win.known) {
            g_assert_cmpuint(sa_ackwin_credit_left(&sim.win, now), ==, 0);
            first_limit = first_limit ? first_limit : now;
        }
    }
    now--;
    if (s->greedy)
        g_assert_cmpint(sim.at_limit_us, ==, now - first_limit);
    g_assert_cmpint(sa_ackwin_at_limit_us(&sim.win, now), ==, sim.at_limit_us);
    g_assert_cmpuint(sim.win.stalls, ==, sim.stalls);
    /* the run was one: messages, ACKs and SET_ACKs as the schedule has it */
    g_assert_cmpuint(sim.win.total_messages, >, 500);
    g_assert_cmpuint(sim.win.total_acks, >, s->resend == 9 ? 0 : 100);
    g_assert_cmpint(sim.win.total_set_acks > 1, ==, s->resend > 0);
    g_queue_clear_full(&sim.down, g_free);
    g_queue_clear_full(&sim.up, g_free);
    g_array_unref(sim.ack_times);
}

/* A relay that reads on and passes nothing: no ACK ever comes, and the server stops by itself. */
static void
test_held_relay(gconstpointer data)
{
    guint32 window = GPOINTER_TO_UINT(data);
    Sim sim = {.rtt = 80, .window = window, .client_generation = G_MAXUINT32};
    guint seen = 0;
    Event *event;

    sa_ackwin_init(&sim.win);
    sa_ackwin_set_rtt(&sim.win, 80);
    send_one(&sim, TRUE, 1);
    while (may_send(&sim))
        send_one(&sim, FALSE, 1);
    while ((event = arrived(&sim.down, 1000))) {
        seen++;
        if (event->what == SET_ACK)
            sa_ackwin_set_ack(&sim.win, event->generation, event->window, 14, 1000);
        else
            sa_ackwin_message(&sim.win, 100, 1000);
        g_assert_cmpuint(sa_ackwin_in_flight(&sim.win), ==, g_queue_get_length(&sim.down));
        g_free(event);
    }
    g_assert_cmpuint(seen, ==, 2 * window + 1);
    g_assert_cmpuint(sim.peak_count, ==, 2 * window + 1);
    g_assert_cmpuint(sa_ackwin_limit(&sim.win), ==, seen);
    g_assert_cmpuint(sa_ackwin_credit(&sim.win), ==, seen);
    g_assert_cmpuint(sa_ackwin_credit_left(&sim.win, 1000), ==, 0);
    g_assert_cmpuint(sim.win.peak_in_flight, ==, seen - 1);
    g_assert_cmpuint(sim.win.stalls, ==, 1);
}

static void
add_case(const char *group, const char *name, gconstpointer data, GTestDataFunc func)
{
    g_autofree char *path = g_strdup_printf("/ackwin/%s/%s", group, name);

    g_test_add_data_func(g_strdelimit(path, " ", '-'), data, func);
}

void
add_ackwin_schedules(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(schedules); i++)
        add_case("schedule", schedules[i].name, &schedules[i], test_schedule);
    add_case("held-relay", "1", GUINT_TO_POINTER(1), test_held_relay);
    add_case("held-relay", "20", GUINT_TO_POINTER(20), test_held_relay);
    add_case("held-relay", "40", GUINT_TO_POINTER(40), test_held_relay);
}
