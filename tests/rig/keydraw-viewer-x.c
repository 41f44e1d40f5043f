/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keydraw-viewer-x.h"

#include <X11/XKBlib.h>
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/XShm.h>
#include <X11/extensions/XTest.h>
#include <X11/keysym.h>
#include <gio/gio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>

struct SaViewerX {
    Display *display;
    Window root;
    Window window;
    SaRect place; /* of the window, on the screen */
    gint width, height;
    KeyCode key;
};

struct SaViewerGrab {
    SaViewerX *x;
    XShmSegmentInfo segment;
    XImage *image;
    SaRect rect;
};

/* A window may go away between two requests; the request then simply has no result. */
static int
ignore_error(Display *display, XErrorEvent *event)
{
    return 0;
}

SaViewerX *
sa_viewer_x_open(const char *display, GError **error)
{
    SaViewerX *x = g_new0(SaViewerX, 1);
    const char *missing = NULL;
    int a, b, c, d;

    x->display = XOpenDisplay(display);
    if (!x->display) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "no X display %s", XDisplayName(display));
        g_free(x);
        return NULL;
    }
    XSetErrorHandler(ignore_error);
    x->root = DefaultRootWindow(x->display);
    x->width = DisplayWidth(x->display, DefaultScreen(x->display));
    x->height = DisplayHeight(x->display, DefaultScreen(x->display));
    x->key = XKeysymToKeycode(x->display, XK_a);
    if (!XTestQueryExtension(x->display, &a, &b, &c, &d))
        missing = "XTEST";
    else if (!XShmQueryExtension(x->display))
        missing = "MIT-SHM";
    else if (DefaultDepth(x->display, DefaultScreen(x->display)) != 24)
        missing = "24-bit colour";
    else if (!x->key)
        missing = "the letter a on its keyboard";
    if (missing) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED, "X display %s has no %s",
                    XDisplayName(display), missing);
        sa_viewer_x_close(x);
        return NULL;
    }
    return x;
}

void
sa_viewer_x_close(SaViewerX *x)
{
    if (!x)
        return;
    XCloseDisplay(x->display);
    g_free(x);
}

static gboolean
has_pid(SaViewerX *x, Window window, int pid)
{
    Atom type;
    int format;
    unsigned long n, after;
    unsigned char *data = NULL;
    gboolean same = FALSE;

    if (XGetWindowProperty(x->display, window, XInternAtom(x->display, "_NET_WM_PID", False), 0, 1,
                           False, XA_CARDINAL, &type, &format, &n, &after, &data) == Success &&
        data) {
        /* Xlib hands 32-bit items over as longs. */
        same = n == 1 && format == 32 && *(unsigned long *)(void *)data == (unsigned long)pid;
        XFree(data);
    }
    return same;
}

static gboolean
has_name(SaViewerX *x, Window window, const char *name)
{
    XClassHint hint = {0};
    char *title = NULL;
    gboolean same = FALSE;

    if (XFetchName(x->display, window, &title) && title) {
        same = strstr(title, name) != NULL;
        XFree(title);
    }
    if (XGetClassHint(x->display, window, &hint)) {
        same = same || (hint.res_name && strstr(hint.res_name, name)) ||
               (hint.res_class && strstr(hint.res_class, name));
        XFree(hint.res_name);
        XFree(hint.res_class);
    }
    return same;
}

/* Window managers wrap top-level windows in frames of their own, one or two deep. */
static void
search(SaViewerX *x, Window parent, int depth, int pid, const char *name, gint64 *best)
{
    Window root, up, *children = NULL;
    unsigned int n = 0, i;

    if (depth > 3 || !XQueryTree(x->display, parent, &root, &up, &children, &n))
        return;
    for (i = 0; i < n; i++) {
        XWindowAttributes attr;
        Window child;
        gint64 size;

        if (!XGetWindowAttributes(x->display, children[i], &attr) || attr.map_state != IsViewable ||
            attr.class != InputOutput)
            continue;
        size = (gint64)attr.width * attr.height;
        if (size > *best && (!pid || has_pid(x, children[i], pid)) &&
            (!name || has_name(x, children[i], name))) {
            *best = size;
            x->window = children[i];
            x->place = (SaRect){0, 0, attr.width, attr.height};
            XTranslateCoordinates(x->display, children[i], x->root, 0, 0, &x->place.x, &x->place.y,
                                  &child);
        }
        search(x, children[i], depth + 1, pid, name, best);
    }
    if (children)
        XFree(children);
}

gboolean
sa_viewer_x_find(SaViewerX *x, int pid, const char *name)
{
    gint64 best = 0;

    x->window = None;
    search(x, x->root, 0, pid, name, &best);
    return x->window != None;
}

gulong
sa_viewer_x_window(const SaViewerX *x, SaRect *place)
{
    *place = x->place;
    return x->window;
}

static gboolean
dark(const SaPixels *pixels, gint px, gint py)
{
    return (sa_pixels_get(pixels, px, py) >> 8 & 255) < 128;
}

/* The centres of the cells are black or white and some are black: worth a real look. */
static gboolean
likely(const SaPixels *pixels, const SaFramecodePlace *place)
{
    guint black = 0;
    gint i;

    for (i = 0; i < SA_FRAMECODE_COLUMNS * SA_FRAMECODE_ROWS; i++) {
        gint px = place->x + i % SA_FRAMECODE_COLUMNS * place->cell_width + place->cell_width / 2;
        gint py = place->y + i / SA_FRAMECODE_COLUMNS * place->cell_height + place->cell_height / 2;
        guint32 green = sa_pixels_get(pixels, px, py) >> 8 & 255;

        if (green > 80 && green < 176)
            return FALSE;
        black += green <= 80;
    }
    return black >= 4;
}

gboolean
sa_viewer_x_locate(SaViewerX *x, const SaSceneConfig *scene, gint *left, gint *top)
{
    SaFramecodePlace key = sa_scene_key_code(scene);
    SaFramecodePlace at = key;
    SaRect rect = {MAX(x->place.x, 0), MAX(x->place.y, 0), 0, 0};
    SaViewerGrab *grab;
    SaPixels pixels;
    gboolean found = FALSE;

    rect.width = MIN(x->place.x + x->place.width, x->width) - rect.x;
    rect.height = MIN(x->place.y + x->place.height, x->height) - rect.y;
    if (rect.width < SA_FRAMECODE_COLUMNS * key.cell_width ||
        rect.height < SA_FRAMECODE_ROWS * key.cell_height)
        return FALSE;
    grab = sa_viewer_grab_new(x, &rect, NULL);
    if (grab && sa_viewer_grab_take(grab, &pixels)) {
        for (at.y = 0; !found && at.y <= rect.height - SA_FRAMECODE_ROWS * key.cell_height;
             at.y++) {
            for (at.x = 0; !found && at.x <= rect.width - SA_FRAMECODE_COLUMNS * key.cell_width;
                 at.x++) {
                /* Shifted by a pixel or two it decodes as well: the corner is where the first cell
                 * begins. */
                found = likely(&pixels, &at) && sa_framecode_decode(&pixels, &at) >= 0;
            }
        }
    }
    if (found) {
        gint column, row;

        /* The loops went one step on, each; and coming from above and from the left the hit is
         * early by what decoding forgives. The first cell is black (for the first 32768 presses)
         * and lies on white: its corner is where it turns dark. */
        at.x = MAX(at.x - 1, 0);
        at.y = MAX(at.y - 1, 0);
        column = at.x + key.cell_width / 2;
        row = at.y + key.cell_height / 2;
        while (at.y < row && !dark(&pixels, column, at.y))
            at.y++;
        while (at.x < column && !dark(&pixels, at.x, row))
            at.x++;
        *left = rect.x + at.x - key.x;
        *top = rect.y + at.y - key.y;
    }
    sa_viewer_grab_free(grab);
    return found;
}

void
sa_viewer_x_focus(SaViewerX *x, gint left, gint top)
{
    XRaiseWindow(x->display, x->window);
    XSetInputFocus(x->display, x->window, RevertToPointerRoot, CurrentTime);
    XTestFakeMotionEvent(x->display, DefaultScreen(x->display), left, top, 0);
    XSync(x->display, False);
}

void
sa_viewer_x_key(SaViewerX *x)
{
    XTestFakeKeyEvent(x->display, x->key, True, 0);
    XTestFakeKeyEvent(x->display, x->key, False, 0);
    XFlush(x->display);
}

SaViewerGrab *
sa_viewer_grab_new(SaViewerX *x, const SaRect *rect, GError **error)
{
    SaViewerGrab *grab = g_new0(SaViewerGrab, 1);
    int screen = DefaultScreen(x->display);

    grab->x = x;
    grab->rect = *rect;
    grab->segment.shmid = -1;
    if (rect->x < 0 || rect->y < 0 || rect->x + rect->width > x->width ||
        rect->y + rect->height > x->height) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                    "%dx%d at %d,%d is not on the screen of %dx%d", rect->width, rect->height,
                    rect->x, rect->y, x->width, x->height);
        sa_viewer_grab_free(grab);
        return NULL;
    }
    grab->image = XShmCreateImage(x->display, DefaultVisual(x->display, screen), 24, ZPixmap, NULL,
                                  &grab->segment, (unsigned)rect->width, (unsigned)rect->height);
    if (grab->image && grab->image->bits_per_pixel == 32 && grab->image->byte_order == LSBFirst &&
        grab->image->red_mask == 0xff0000)
        grab->segment.shmid =
            shmget(IPC_PRIVATE, (gsize)grab->image->bytes_per_line * (gsize)rect->height,
                   IPC_CREAT | 0600);
    if (grab->segment.shmid >= 0) {
        grab->segment.shmaddr = shmat(grab->segment.shmid, NULL, 0);
        if (grab->segment.shmaddr != (void *)-1) {
            grab->image->data = grab->segment.shmaddr;
            grab->segment.readOnly = False;
            XShmAttach(x->display, &grab->segment);
            XSync(x->display, False);
        } else {
            grab->segment.shmaddr = NULL;
        }
        /* Gone with the last process that has it attached. */
        shmctl(grab->segment.shmid, IPC_RMID, NULL);
    }
    if (!grab->segment.shmaddr) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED,
                            "no shared image of 32-bit pixels");
        sa_viewer_grab_free(grab);
        return NULL;
    }
    return grab;
}

void
sa_viewer_grab_free(SaViewerGrab *grab)
{
    if (!grab)
        return;
    if (grab->segment.shmaddr) {
        XShmDetach(grab->x->display, &grab->segment);
        XSync(grab->x->display, False);
        shmdt(grab->segment.shmaddr);
    }
    if (grab->image) {
        grab->image->data = NULL;
        XDestroyImage(grab->image);
    }
    g_free(grab);
}

gboolean
sa_viewer_grab_take(SaViewerGrab *grab, SaPixels *pixels)
{
    if (!XShmGetImage(grab->x->display, grab->x->root, grab->image, grab->rect.x, grab->rect.y,
                      AllPlanes))
        return FALSE;
    pixels->data = grab->image->data;
    pixels->stride = grab->image->bytes_per_line;
    pixels->width = grab->rect.width;
    pixels->height = grab->rect.height;
    pixels->format = SA_PIXELS_XRGB8888;
    return TRUE;
}
