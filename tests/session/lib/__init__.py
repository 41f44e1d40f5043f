# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the session tests share: processes, a display, viewers, the SPICE wire."""
