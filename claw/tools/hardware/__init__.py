"""Boards with pins: microcontrollers on a serial line, a Raspberry Pi's own
header. The libraries are an extra (hardware), loaded with the first call."""
