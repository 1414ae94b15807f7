"""What the playground's answers say, in every language: the same keys, the same {fields}."""

from __future__ import annotations

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "outside": "{what} = {result}: there is no such real number, so the result is nan, and so "
        "is all that is worked out with it.",
        "pole": "{what} = {result}: a division by zero, or its like. The result is infinite, and "
        "the gradients through it are infinite or nan.",
        "overflow": "{what} = {result}: the true number is larger than 1.8e308, the largest that "
        "a float can hold (overflow).",
        "undetermined": "{what} = {result}: with infinite numbers this could be anything, so it "
        "is nan.",
        "steep": "{what}: its slope by {by} is {local} here, so gradients that come through it "
        "are infinite or nan.",
        "saturated": "{what} is saturated: its slope is {local}, so next to no gradient comes "
        "through.",
        "dead": "{what} is 0 and flat: no gradient comes through. A neuron that is always here "
        "learns nothing.",
        "no text": "Write an expression, such as a*b + c.",
        "right": "right",
        "empty": "not filled in",
        "no number": "write a number, such as -0.5 or 1/2",
        "by fault": "this is what comes out if {fault}",
        "one path": "this is one path of {paths}: {equation}",
        "local only": "this is the local derivative alone; multiply it by the gradient of {user}",
        "sign": "the size is right, the sign is not: {equation}",
        "so it is": "{equation}",
        "seed": "the derivative of a number with respect to itself is 1",
        "missing": "{where} has no {functions}; write the expression with what it has.",
        "python arithmetic": "{where} has Python's own numbers, and {what}, or its slope, is none "
        "of them (a division by zero, an overflow or a complex number); give other numbers.",
        "renamed": "Other names here, because Python, this program or an input has them: {names}",
        "recursion": "its backward pass calls itself for every operation",
        "not reached": "the result does not depend on {name}",
        "no variable": "{text} = {result}: there is no variable in it, so there is no graph. Write "
        "one, such as a*2.",
        "press": "Press **Check**, under the editor: it runs `probe.py` on your engine.",
        "and press": "and press **Check**",
        "then press": "press **Check**",
        "then hypothesis": "Next: think of a hypothesis; the next page says what to break.",
        "then started": "Next: break it as the second page says, and check again.",
        "then broken": "Next: compare with your hypothesis, find the cause and repair the engine. "
        "The next page has the answers.",
        "then repaired": "Next: read the lesson on the last page, and try another lab.",
        "then partial": "Next: the rows above are still wrong. Find what they have in common.",
        "then other": "Next: compare your change with the second page, or take the engine as it "
        "was.",
        "then failed": "Next: mend it, or take the engine as it was.",
        "no value": "The program ran, and there is no Value to show: end it with one, such as "
        "a*b on a line of its own.",
    },
    "es": {
        "outside": "{what} = {result}: no existe tal número real, así que el resultado es nan, y "
        "también todo lo que se calcula con él.",
        "pole": "{what} = {result}: una división por cero, o algo parecido. El resultado es "
        "infinito, y los gradientes que pasan por él son infinitos o nan.",
        "overflow": "{what} = {result}: el número verdadero es mayor que 1.8e308, el mayor que "
        "cabe en un float (desbordamiento).",
        "undetermined": "{what} = {result}: con números infinitos podría ser cualquier cosa, así "
        "que es nan.",
        "steep": "{what}: su pendiente respecto de {by} es aquí {local}, así que los gradientes "
        "que pasan por él son infinitos o nan.",
        "saturated": "{what} está saturada: su pendiente es {local}, así que casi ningún gradiente "
        "pasa.",
        "dead": "{what} es 0 y plana: no pasa ningún gradiente. Una neurona que está siempre aquí "
        "no aprende nada.",
        "right": "correcto",
        "no text": "Escribe una expresión, por ejemplo a*b + c.",
        "empty": "sin rellenar",
        "no number": "escribe un número, como -0.5 o 1/2",
        "by fault": "esto es lo que sale si {fault}",
        "one path": "este es un camino de {paths}: {equation}",
        "local only": "esta es solo la derivada local; multiplícala por el gradiente de {user}",
        "sign": "el tamaño es correcto, el signo no: {equation}",
        "so it is": "{equation}",
        "seed": "la derivada de un número respecto de sí mismo es 1",
        "missing": "{where} no tiene {functions}; escribe la expresión con lo que tiene.",
        "python arithmetic": "{where} tiene los números de Python, y {what}, o su pendiente, no es "
        "ninguno de ellos (división por cero, desbordamiento o número complejo); da otros números.",
        "renamed": "Otros nombres aquí, porque ya los tiene Python, este programa o una entrada: "
        "{names}",
        "recursion": "su pasada hacia atrás se llama a sí misma por cada operación",
        "not reached": "el resultado no depende de {name}",
        "no variable": "{text} = {result}: no hay ninguna variable, así que no hay grafo. Escribe "
        "una, como a*2.",
        "press": "Pulsa **Comprobar**, debajo del editor: ejecuta `probe.py` con tu motor.",
        "and press": "y pulsa **Comprobar**",
        "then press": "pulsa **Comprobar**",
        "then hypothesis": "Ahora: piensa una hipótesis; la página siguiente dice qué romper.",
        "then started": "Ahora: rómpelo como dice la segunda página y comprueba otra vez.",
        "then broken": "Ahora: compáralo con tu hipótesis, busca la causa y repara el motor. La "
        "página siguiente trae las respuestas.",
        "then repaired": "Ahora: lee la lección en la última página y prueba otro lab.",
        "then partial": "Ahora: las filas de arriba siguen mal. Busca qué tienen en común.",
        "then other": "Ahora: compara tu cambio con la segunda página, o toma el motor como "
        "estaba.",
        "then failed": "Ahora: corrígelo, o toma el motor como estaba.",
        "no value": "El programa se ejecutó, y no hay ningún Value que mostrar: termínalo con uno, "
        "como a*b en una línea propia.",
    },
}


def say(lang: str, key: str, **fields: object) -> str:
    """Return a phrase in a language."""
    return WORDS[lang][key].format(**fields)
