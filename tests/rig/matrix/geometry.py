# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the key box and the moving area are, and all seeds: new ones for each pair, so that no
result rests on one position in the server's 32-pixel columns or anybody's tiles."""
import random

SIZE = (1280, 800)
AREA = (640, 480)
BOX = 96
REFERENCE = {'size': '1280x800', 'area': '640x480+624+160', 'box': '64,176'}


def draw(run_seed, pair, reference=False):
    """The same for the same run and pair, whatever ran before."""
    rand = random.Random('%d %s' % (run_seed, pair))
    place = dict(REFERENCE)
    if not reference:
        while True:
            x, y = rand.randint(0, SIZE[0] - AREA[0]), rand.randint(0, SIZE[1] - AREA[1])
            bx, by = rand.randint(0, SIZE[0] - BOX), rand.randint(0, SIZE[1] - BOX)
            apart = bx + BOX <= x or x + AREA[0] <= bx or by + BOX <= y or y + AREA[1] <= by
            if apart and (x % 32 or y % 32):
                break
        place['area'] = '%dx%d+%d+%d' % (*AREA, x, y)
        place['box'] = '%d,%d' % (bx, by)
    place['seed'] = rand.randint(1, 2**31 - 1)
    place['jitter_seed'] = rand.randint(1, 2**31 - 1)
    return place


def masks(place):
    """(of the moving area, of the key box) as X, Y, WIDTH, HEIGHT."""
    size, x, y = place['area'].split('+')
    width, height = size.split('x')
    bx, by = place['box'].split(',')
    return (int(x), int(y), int(width), int(height)), (int(bx), int(by), BOX, BOX)
