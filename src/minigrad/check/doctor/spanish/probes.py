"""The names of the probes in Spanish, by their parts."""

from __future__ import annotations

import re

_PROBES = {
    "mul with zero": "mul con cero",
    "mul of large numbers": "mul de números grandes",
    "add to zero": "add a cero",
    "two leaves of the same number": "dos hojas con el mismo número",
    "diamond": "rombo",
    "shared": "compartido",
    "shared result": "resultado compartido",
    "ladder": "escalera",
    "ladder of products": "escalera de productos",
    "short and long way": "camino corto y largo",
    "long way first": "primero el camino largo",
    "short way first": "primero el camino corto",
    "eight levels": "ocho niveles",
    "neuron": "neurona",
    "reused tanh": "tanh reutilizado",
    "a result inside a larger graph": "un resultado dentro de un grafo mayor",
    "whole numbers": "números enteros",
    "times in place": "producto en su sitio",
    "in place": "en su sitio",
    "relu at zero": "relu en cero",
    "seeded by hand": "sembrado a mano",
    "second backward": "segundo backward",
    "two results": "dos resultados",
    "depth": "profundidad",
    "tanh far out": "tanh muy lejos",
    "power of zero": "potencia de cero",
    "power of a Value": "potencia con un Value",
    "sum of a list": "suma de una lista",
    "minus a": "menos a",
    "made from the number alone": "hecho solo de su número",
    "memory": "memoria",
    "pow half": "pow un medio",
    "pow of a negative number": "pow de un número negativo",
}
_PARTS = {
    r" below a sum$": " bajo una suma",
    r" below$": " bajo un producto",
    r" above ": " sobre ",
    r", right$": ", a la derecha",
    r" at ": " en ",
    r" a number$": " y un número",
    r" a fraction$": " y una fracción",
    r" to itself$": " consigo mismo",
    r" twice$": " dos veces",
    r"^number ": "número ",
}


def probe_name(name: str) -> str:
    """Return the Spanish name of a probe."""
    if name in _PROBES:
        return _PROBES[name]
    for part, theirs in _PARTS.items():
        name = re.sub(part, theirs, name)
    return name
