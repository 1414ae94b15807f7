"""Small problems to train on: points in the plane of two classes, and names.

    xs, ys = moons(100)          # also circles, spiral, xor
    words = names()              # or names("names.txt")

Points are pairs of floats, labels are -1 and +1 in turn; the same seed gives the same points.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from pathlib import Path

__all__ = ["POINTS", "circles", "moons", "names", "spiral", "xor"]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion is to show


Points = tuple[list[list[float]], list[int]]


def moons(count: int = 100, noise: float = 0.1, seed: int = 0) -> Points:
    """Return points on two half circles that grip each other: no straight line parts them."""

    def place(at: float, is_second: bool) -> tuple[float, float]:
        x, y = math.cos(math.pi * at), math.sin(math.pi * at)
        return (1.0 - x, 0.5 - y) if is_second else (x, y)

    return _blurred(count, noise, seed, place)


def circles(count: int = 100, noise: float = 0.1, seed: int = 0) -> Points:
    """Return points on a circle and on another one, half as wide, inside of it."""

    def place(at: float, is_second: bool) -> tuple[float, float]:
        radius = 0.5 if is_second else 1.0
        return radius * math.cos(2.0 * math.pi * at), radius * math.sin(2.0 * math.pi * at)

    return _blurred(count, noise, seed, place)


def spiral(count: int = 200, noise: float = 0.02, seed: int = 0) -> Points:
    """Return points on two arms that turn around each other one and a half times."""

    def place(at: float, is_second: bool) -> tuple[float, float]:
        angle, radius = 3.0 * math.pi * at + math.pi * is_second, 0.1 + 0.9 * at
        return radius * math.cos(angle), radius * math.sin(angle)

    return _blurred(count, noise, seed, place)


def xor(count: int = 100, noise: float = 0.2, seed: int = 0) -> Points:
    """Return points around the corners of a square; those across from each other are alike."""

    def place(at: float, is_second: bool) -> tuple[float, float]:
        x = -1.0 if at < 0.5 else 1.0
        return (x, -x) if is_second else (x, x)

    return _blurred(count, noise, seed, place)


POINTS: dict[str, Callable[..., Points]] = {
    "moons": moons, "circles": circles, "spiral": spiral, "xor": xor
}  # fmt: skip


def _blurred(
    count: int, noise: float, seed: int, place: Callable[[float, bool], tuple[float, float]]
) -> Points:
    """Put points of both classes in turn at places from 0 to 1, and blur them."""
    if count < 2:
        raise ValueError(f"count={count}: there are two classes; ask for at least 2 points.")
    if not 0.0 <= noise < math.inf:
        raise ValueError(f"noise={noise}: give a number from 0 on.")
    rng = random.Random(seed)
    last = max(count // 2 - 1, 1)
    points = []
    for k in range(count):
        x, y = place(min(k // 2 / last, 1.0), k % 2 == 1)
        points.append([rng.gauss(x, noise), rng.gauss(y, noise)])
    return points, [1 if k % 2 else -1 for k in range(count)]


def names(path: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the lines of a file that are not empty; without one, a few names to begin with."""
    if path is None:
        return _NAMES.split()
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        raise ValueError(
            f"{path} is not UTF-8 text; give a file with a name on each line."
        ) from None
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise ValueError(f"{path} has no name in it; put one on each line.")
    return found


_NAMES = """
ada adele agnes alan alba albert alice alma alonso amalia amanda amelie amir ana andrea angela
anita anna anton ariel arthur asa astrid aurora bella ben benita bernard bianca boris brenda bruno
camila carla carlos carmen celia chiara clara claude cora daniel daria david delia diana diego dora
edgar edith elena eli elisa ella elmar elsa emil emilia emma enzo erik erika esme esther eva fabian
felix fiona flora frida gabriel gemma george gloria greta hanna hannes hector heidi helena henri
hugo ida igor ilse ines ingrid irene iris isabel ivan ivo jakob jana jasmin joana joel johan jonas
julia julian karin karl katja kira klara lara laura lea lena leo leon leonora lia lina linus lisa
livia lorena lotte louis lucas lucia luisa luna magda maia manuel mara marco maria marian marina
mario marta martin mateo matilda max maya mia michael mila milan mina mira miriam moira mona nadia
nahla naomi natalia nela nick nicolas nina noah noel nora norma odette olaf olga oliver olivia
oscar otto pablo paola paul paula pedro petra pia rafael ramona raul rebecca rita robert romana
rosa ruben ruth samira samuel sara selma serena silvia simon sofia sonia stella susan sven tamara
tania teo teresa tessa theodor thomas tilda tina tobias tomas ulla uma ursula valentin vera victor
vincent viola walter wanda wilma xenia yara yasmin yvonne zara zita zoe
"""
