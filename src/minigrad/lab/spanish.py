"""The Spanish of what a learner reads inside engine.py and probe.py: the code is the same in both.

A row for each docstring, comment and word that is printed; the tests find what has no row.
"""

from __future__ import annotations

import re

# The experiments, which are functions of probe.py: their names stand in what it prints.
EXPERIMENTS = {
    "again": "otra_vez",
    "chain": "cadena",
    "deep": "profundo",
    "diamond": "diamante",
    "far": "lejos",
    "ladder": "escalera",
    "long": "larga",
    "near": "cerca",
    "neuron": "neurona",
    "origin": "origen",
    "short": "corta",
    "slope_at_half": "pendiente_en_un_medio",
    "square": "cuadrado",
    "training": "entreno",
    "twice": "dos_veces",
}

# What an experiment measured, where that is a word.
MEASURED = {
    "1st": "1.ª",
    "2nd": "2.ª",
    "3rd": "3.ª",
    "4th": "4.ª",
    "left": "izquierda",
    "right": "derecha",
    "tiny": "minúsculo",
}

_ROWS = {
    # engines
    '"""A small engine, and a whole one: `Value`, and what `backward()` needs."""': (
        '"""Un motor pequeño y sano: `Value`, y lo que necesita `backward()`."""'
    ),
    "One number.": "Un número.",
    "Write the expression as a tree, the result first.": (
        "Escribe la expresión como un árbol, el resultado primero."
    ),
    "'number'": "'número'",
    "Take some steps of gradient descent.": "Da unos pasos de descenso de gradiente.",
    """The seventh version in another style: a derivative is a number on an edge, not a function.

An operation stores, for each of its children, how strongly its result depends on that child.
`backward()` then needs no formula: it goes through `_prev` and `_local` and multiplies.
""": """La séptima versión en otro estilo: una derivada es un número en una arista, no una función.

Una operación guarda, para cada uno de sus hijos, cuánto depende de él su resultado. Así
`backward()` no necesita fórmulas: recorre `_prev` y `_local`, y multiplica.
""",
    """The seventh version, grown up a little, for the labs about what comes after it.

Three things are new here:

- `backward()` sorts with a stack of its own instead of recursion: depth is no problem.
- `backward()` clears the gradients of interior nodes first, so that a second call adds the same
  gradient to the leaves again, and nothing else.
- `descend` is a training loop. It sets the gradients of the parameters to zero before every pass.
""": """La séptima versión, un poco más crecida, para los labs sobre lo que viene después.

Hay tres cosas nuevas:

- `backward()` ordena con una pila propia en lugar de recursión: la profundidad no es problema.
- `backward()` limpia antes los gradientes de los nodos interiores, de modo que una segunda llamada
  suma a las hojas otra vez el mismo gradiente, y nada más.
- `descend` es un bucle de entrenamiento. Pone a cero los gradientes de los parámetros antes de
  cada pasada.
""",
    # what the chapters of the course add
    "# your turn": "# te toca",
    "How steep f is at x: up by so much for each step to the right.": (
        "Cuánto sube f en x por cada paso a la derecha."
    ),
    "Return all Values below a result, each once, and an arrow from each child to its result.": (
        "Da todos los Values bajo un resultado, cada uno una vez, y una flecha desde cada hijo."
    ),
    "Give each Value of the neuron its grad, from the result backwards.": (
        "Da su grad a cada Value de la neurona, desde el resultado hacia atrás."
    ),
    "Weights, a bias and tanh.": "Pesos, un sesgo y tanh.",
    "Several neurons that look at the same inputs.": "Varias neuronas que miran lo mismo.",
    "Layers, one after the other.": "Capas, una detrás de otra.",
    "Turn scores into shares: positive, and 1 in all.": (
        "Convierte puntuaciones en partes: positivas, y 1 en total."
    ),
    "Mix the values: most of those whose keys fit the query best.": (
        "Mezcla los valores: más de aquellos cuyas claves encajan mejor con la consulta."
    ),
    "Return the sum of x where x is positive, and of x/10 where it is not.": (
        "Da la suma de x donde x es positivo, y de x/10 donde no lo es."
    ),
    "Go to where the slope of f is 0, by the slope and the slope of the slope.": (
        "Va a donde la pendiente de f es 0, con la pendiente y la pendiente de la pendiente."
    ),
    "Return the mean gradient of all examples, from (sums of gradients, count) of each machine.": (
        "Da el gradiente medio de todos los ejemplos, de (sumas, cuántos) de cada máquina."
    ),
    # probes
    ": run me with  python probe.py": ": ejecútame con  python probe.py",
    "where every Value is used once.": "donde cada Value se usa una vez.",
    "where a and c are used twice.": "donde a y c se usan dos veces.",
    "b = a + a, the smallest case.": "b = a + a, el caso más pequeño.",
    "L = d + d*c with d = a*b: d is used twice, and once as part of something larger.": (
        "L = d + d*c con d = a*b: d se usa dos veces, una de ellas dentro de algo mayor."
    ),
    "Five steps down (w - 3)**2 from w = 0: each one halves the distance to 3.": (
        "Cinco pasos por (w - 3)**2 desde w = 0: cada uno reduce a la mitad la distancia a 3."
    ),
    "tanh(x) at 0, where its slope is 1.": "tanh(x) en 0, donde su pendiente es 1.",
    "The neuron of the lecture, o": "La neurona de la lección, o",
    "z = 3*x + 1, and backward() three times: x.grad after each.": (
        "z = 3*x + 1, y backward() tres veces: x.grad después de cada una."
    ),
    "The same for x + 1 + 1 + …, ten additions, and four calls.": (
        "Lo mismo para x + 1 + 1 + …, diez sumas, y cuatro llamadas."
    ),
    "b = a + a: two edges from one Value.": "b = a + a: dos aristas desde un mismo Value.",
    "b = a * a, the same with a product.": "b = a * a, lo mismo con un producto.",
    "x + 1 + 1 + …: the derivative is 1, however long it is.": (
        "x + 1 + 1 + …: la derivada es 1, por larga que sea."
    ),
    "Ten additions.": "Diez sumas.",
    "Five thousand.": "Cinco mil.",
    "The value of tanh, or the error that it raises.": "El valor de tanh, o el error que da.",
    "Far out, tanh is 1 on the right and -1 on the left.": (
        "Muy lejos, tanh es 1 a la derecha y -1 a la izquierda."
    ),
    "Close to 0, tanh(x) is x to nine digits and more.": (
        "Cerca de 0, tanh(x) es x, con nueve cifras y más."
    ),
    "# worked out by hand": "# calculado a mano",
    "Print a number with the digits that matter here.": (
        "Escribe un número con las cifras que aquí importan."
    ),
    "Write numbers by their names.": "Escribe números con sus nombres.",
    "Compare numbers but for rounding; an error is known by its name.": (
        "Compara números salvo redondeo; un error se conoce por su nombre."
    ),
    "Print what each experiment measured, and where that is wrong, what it should be.": (
        "Escribe lo que midió cada experimento y, si está mal, lo que debe ser."
    ),
    '"  ok"': '"  bien"',
    '"  WRONG"': '"  MAL"',
    '"should be"': '"debe ser"',
}


# What the probes of the chapters call their numbers, where that is more than code; longer phrases
# stand before those that are a part of them.
_NUMBERS = {
    "slope of a share of 1/4 by its score": "pendiente de una parte de 1/4 según su puntuación",
    "slope of the mix by a value": "pendiente de la mezcla según un valor",
    "arrows that point to the result": "flechas que apuntan al resultado",
    "nodes of": "nodos de",
    "arrows of": "flechas de",
    "elsewhere": "en otra parte",
    "passes on to": "reparte a",
    "of the neuron": "de la neurona",
    "times that the compiler watched": "veces que observó el compilador",
    "times that d*c ran": "veces que se ejecutó d*c",
    "times that d ran": "veces que se ejecutó d",
    "d ran after d*c": "d se ejecutó después de d*c",
    "diamond": "diamante",
    "after backward() no.": "tras backward() n.º",
    "after two passes of": "tras dos pasadas de",
    "at the end": "al final",
    "after four steps in one call": "tras cuatro pasos en una llamada",
    "after step": "tras el paso",
    "share of one of two scores of -1000": "parte de una de dos puntuaciones de -1000",
    "share of 3000 before 0": "parte de 3000 antes de 0",
    "share of 3000 after 0": "parte de 3000 después de 0",
    "share of one of two scores of 1000": "parte de una de dos puntuaciones de 1000",
    "share ": "parte ",
    " of 1 : 2 : 5": " de 1 : 2 : 5",
    "slope of": "pendiente de",
    "slope at": "pendiente en",
    "compiled, total at": "compilada, total en",
    "total at": "total en",
    " at ": " en ",
    "output on": "salida para",
    ", both 3": ", los dos 3",
    "of two, after two steps": "de dos, tras dos pasos",
    "mix with nine to a key, first": "mezcla con nueve por clave, primero",
    "parameters of": "parámetros de",
    "Values among them": "Values entre ellos",
    "mix, first number": "mezcla, primer número",
    "mix, second number": "mezcla, segundo número",
    ", one step": ", un paso",
    ", two steps": ", dos pasos",
    ", six steps": ", seis pasos",
    " from ": " desde ",
    "examples, first": "ejemplos, primero",
    "examples, second": "ejemplos, segundo",
    "examples, third": "ejemplos, tercero",
    "examples": "ejemplos",
}


def number_in(name: str, lang: str) -> str:
    """Return what a probe calls a number, in a language."""
    if lang == "es":
        for english, spanish in _NUMBERS.items():
            name = name.replace(english, spanish)
    return name


def in_language(source: str, lang: str) -> str:
    """Return an engine with its docstrings, comments and words in a language."""
    if lang == "es":
        for english, spanish in _ROWS.items():
            source = source.replace(english, spanish)
    return source


def translated(source: str, lang: str) -> str:
    """Return a program of a lab with its texts in a language, and its experiments' names."""
    source = in_language(source, lang)
    if lang == "es":
        for english, spanish in MEASURED.items():
            source = source.replace(f'"{english}"', f'"{spanish}"')
        names = "|".join(EXPERIMENTS)
        source = re.sub(rf"\b({names})\b", _in_spanish, source)
    return source


def experiment(name: str, lang: str) -> str:
    """Return the name of an experiment, or of what one measured, in a language."""
    return (EXPERIMENTS | MEASURED).get(name, name) if lang == "es" else name


def _in_spanish(found: re.Match[str]) -> str:
    return EXPERIMENTS[found[0]]
