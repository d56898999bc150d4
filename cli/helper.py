"""Being a helper of mount(8): ``mount.framefs SRC MNT [-sfnv] [-N ns] [-o opts] [-t type]``.

Its letters mean other things than ours (``-f`` is "fake" there), so they are translated first.
"""

from __future__ import annotations

from collections.abc import Sequence


def is_helper(name: str) -> bool:
    """Whether a program called ``name`` was started by mount(8), as mount.framefs or the like."""
    return name.startswith("mount.") and name != "mount.py"


def arguments(given: Sequence[str]) -> list[str] | None:
    """What mount(8) gives its helper, in the mount command's own terms.

    Returns:
        The arguments, or ``None`` where mount(8) only pretends to mount (``-f``).
    """
    translated: list[str] = []
    rest = iter(given)
    for argument in rest:
        if argument in ("-o", "-t", "-N"):
            value = next(rest, None)
            # -t repeats the type; mount(8) has entered the namespace of -N itself
            if argument == "-o":
                translated += [argument] if value is None else [argument, value]
        elif argument.startswith("-") and argument.strip("-sfnv") == "" and argument != "-":
            if "f" in argument:
                return None
            translated += [f"-{letter}" for letter in argument[1:] if letter in "sv"]
        else:
            translated.append(argument)
    return translated
