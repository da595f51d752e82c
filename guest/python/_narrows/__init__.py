"""The sandbox's own side of the interpreter. Programs need nothing from here directly."""
