"""What explanations and broken passes say, by language: the same keys and {fields} in each."""

from __future__ import annotations

PHRASES: dict[str, dict[str, str]] = {
    "en": {
        "path": "path",
        "paths": "paths",
        "more path": "more path",
        "more paths": "more paths",
        "about": "about {number} {things}",
        "no path": "{variable}: no path leads to {result}, so the gradient is 0",
        "swapped": " (the other way there is: swap the two)",
        "head": "{variable}: {gradient}, the sum of {paths} to {result}",
        "title": "gradient of {result} with respect to {variable}",
        "title of result": "gradient of the result with respect to {variable}",
        "in all": "{paths} in all",
        "more": "… {count} more …",
        "way": "path",
        "locals": "local derivatives",
        "product": "product",
    },
    "es": {
        "path": "camino",
        "paths": "caminos",
        "more path": "camino más",
        "more paths": "caminos más",
        "about": "unos {number} {things}",
        "no path": "{variable}: ningún camino lleva a {result}, así que el gradiente es 0",
        "swapped": " (al revés sí lo hay: intercámbialos)",
        "head": "{variable}: {gradient}, la suma de {paths} hasta {result}",
        "title": "gradiente de {result} respecto de {variable}",
        "title of result": "gradiente del resultado respecto de {variable}",
        "in all": "{paths} en total",
        "more": "… {count} más …",
        "way": "camino",
        "locals": "derivadas locales",
        "product": "producto",
    },
}
# The English of a fault stands in its row, in faults.py.
FAULTS_IN_SPANISH = {
    "overwrite": "= en lugar de += en todas las operaciones",
    "overwrite_add": "= en lugar de += en +",
    "overwrite_mul": "= en lugar de += en *",
    "overwrite_tanh": "= en lugar de += en tanh",
    "same_object": "= en lugar de += donde los dos operandos son el mismo Value",
    "forward_order": "los nodos corren desde las hojas hacia el resultado",
    "breadth_first": "sin orden topológico: los nodos corren nivel por nivel, según aparecen",
    "insertion_order": "sin orden topológico: un nodo corre en cuanto se encuentra al bajar",
    "plain_recursion": "recursión simple: un nodo corre otra vez cada vez que se encuentra",
    "set_prev": "_prev es un conjunto: un operando usado dos veces cuenta una",
    "missing_seed": "nadie pone a 1 el grad del resultado",
    "seed_zero": "el grad del resultado se pone a 0 en lugar de 1",
    "stale_interior": "un segundo backward() empieza con los grads interiores del primero",
    "zeroing": "backward() pone antes todos los grads a cero: nada se acumula entre llamadas",
    "mul_own": "se toma a como derivada de a*b respecto de a",
    "pow_not_lowered": "se toma n * x**n como derivada de x**n",
    "div_sign": "la derivada de a/b respecto de b tiene el signo cambiado",
    "wrong_sub": "se toma 1 como derivada de a-b respecto de b",
    "tanh_linear": "se toma 1 - t en lugar de 1 - t**2 como derivada de tanh",
    "exp_input": "se toma x como derivada de exp(x)",
    "relu_always": "se toma 1 en todas partes como derivada de relu",
}


def check_language(lang: str, what: str) -> str:
    """Return the language, or say which ones there are."""
    if lang not in PHRASES:
        raise ValueError(f"{what}: lang={lang!r}; choose of {', '.join(PHRASES)}.")
    return lang
