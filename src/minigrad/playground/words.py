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
        "no request": "a request is an object with the field kind, got {found}.",
        "no such field": "a request of the kind {kind} has no such field; it may have {known}.",
        "field missing": "it is missing; a request of the kind {kind} needs it.",
        "no text field": "give a text, not {found}.",
        "long text": "it has {count} characters; {most} are read.",
        "no characters": "it has halves of characters in it (lone surrogates); write whole ones.",
        "no choice": "{found} is none of {known}.",
        "no whole": "give a whole number from {least} to {most}, not {found}.",
        "no number field": "{found} is no number; give one, or a text such as 1/3.",
        "not finite": "give a finite number, not {found}.",
        "too small": "give a number from {least} on, not {found}.",
        "too large": "the number is larger than all floats; write inf if that is meant.",
        "no list": "give a list, not {found}.",
        "long list": "it has {count} elements; {most} are read.",
        "no object": "give an object with names, not {found}.",
        "huge number": "a number with more digits than are read",
        "a list": "a list",
        "an object": "an object",
        "nothing": "nothing",
        "nested": "this is not JSON that can be read: it is nested too deeply.",
        "too much": "that was too much for this Python: too deep, or all of its memory; ask for "
        "less.",
        "no such name": "values.{name}: the expression has no {name}; leave it out.",
        "many operations": "text: it has {count} operations; {most} are the most here.",
        "range": "from {low} to {high}: the second number must be the larger one.",
        "graph is gone": "graph: another one has been shown since then; ask for it anew.",
        "parameters": "parameters: there are {count}, and this network has {needed}.",
        "no box": "answers.{unit}: there is no such box; there are {units}.",
        "notebook command": "A line that begins with % or ! is a command of notebooks; leave it "
        "out.",
        "prompt": "This was copied with its prompts (>>> or In [1]:); leave them out.",
        "micrograd": "Write import minigrad.compat.micrograd before it, and micrograd is here.",
        "graphviz": "There is no Graphviz here, and it needs none: end with the result, and its "
        "graph is shown.",
        "module": "Here are Python's own modules and minigrad, and no others.",
        "no input": "Nothing can be typed in while a program runs; write the number into it.",
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
        "no request": "una petición es un objeto con el campo kind, no {found}.",
        "no such field": "una petición de la clase {kind} no tiene ese campo; puede tener {known}.",
        "field missing": "falta; una petición de la clase {kind} lo necesita.",
        "no text field": "da un texto, no {found}.",
        "long text": "tiene {count} caracteres; se leen {most}.",
        "no characters": "tiene mitades de caracteres (sustitutos sueltos); escríbelos enteros.",
        "no choice": "{found} no es ninguno de {known}.",
        "no whole": "da un número entero de {least} a {most}, no {found}.",
        "no number field": "{found} no es un número; da uno, o un texto como 1/3.",
        "not finite": "da un número finito, no {found}.",
        "too small": "da un número a partir de {least}, no {found}.",
        "too large": "el número es mayor que todos los float; escribe inf si quieres eso.",
        "no list": "da una lista, no {found}.",
        "long list": "tiene {count} elementos; se leen {most}.",
        "no object": "da un objeto con nombres, no {found}.",
        "huge number": "un número con más cifras de las que se leen",
        "a list": "una lista",
        "an object": "un objeto",
        "nothing": "nada",
        "nested": "esto no es JSON que se pueda leer: está anidado demasiado.",
        "too much": "eso fue demasiado para este Python: demasiado profundo, o toda su memoria; "
        "pide menos.",
        "no such name": "values.{name}: la expresión no tiene {name}; quítalo.",
        "many operations": "text: tiene {count} operaciones; aquí caben {most}.",
        "range": "de {low} a {high}: el segundo número debe ser el mayor.",
        "graph is gone": "graph: desde entonces se ha mostrado otro; pídelo de nuevo.",
        "parameters": "parameters: hay {count}, y esta red tiene {needed}.",
        "no box": "answers.{unit}: no hay tal casilla; hay {units}.",
        "notebook command": "Una línea que empieza por % o ! es una orden de cuadernos; quítala.",
        "prompt": "Esto se copió con sus indicadores (>>> o In [1]:); quítalos.",
        "micrograd": "Escribe antes import minigrad.compat.micrograd, y aquí está micrograd.",
        "graphviz": "Aquí no hay Graphviz, ni hace falta: termina con el resultado, y se muestra "
        "su grafo.",
        "module": "Aquí están los módulos de Python y minigrad, y ninguno más.",
        "no input": "No se puede teclear nada mientras corre un programa; escribe el número en él.",
        "no value": "El programa se ejecutó, y no hay ningún Value que mostrar: termínalo con uno, "
        "como a*b en una línea propia.",
    },
}


def say(lang: str, key: str, **fields: object) -> str:
    """Return a phrase in a language."""
    return WORDS[lang][key].format(**fields)
