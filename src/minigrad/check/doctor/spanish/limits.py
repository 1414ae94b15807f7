"""Limits and notes, in Spanish."""

from __future__ import annotations

SPANISH = {
    "a second backward() counts old gradients again": (
        "un segundo backward() cuenta otra vez gradientes viejos"
    ),
    "Two calls of backward() give more than twice the gradient.": (
        "Dos llamadas a backward() dan más del doble del gradiente."
    ),
    "Interior nodes still hold the gradients of the first pass, and pass them on once more.": (
        "Los nodos interiores aún tienen los gradientes de la primera pasada, y los pasan otra vez."
    ),
    "Clear interior gradients before each pass, or call backward() once per graph.": (
        "Borra los gradientes interiores antes de cada pasada, o llama a backward() una vez por "
        "grafo."
    ),
    "a second backward() resets the result's gradient": (
        "un segundo backward() reinicia el gradiente del resultado"
    ),
    "A Value that is first inside a larger expression and then a result has gradient 1.": (
        "Un Value que primero está dentro de una expresión mayor y luego es resultado tiene "
        "gradiente 1."
    ),
    "self.grad = 1.0 replaces what an earlier pass had left there.": (
        "self.grad = 1.0 reemplaza lo que una pasada anterior dejó ahí."
    ),
    "Add 1 to what is there, or keep the gradients of a pass apart.": (
        "Suma 1 a lo que hay, o guarda aparte los gradientes de una pasada."
    ),
    "a second backward() adds nothing": "un segundo backward() no suma nada",
    "Gradients of two calls do not add up.": "Los gradientes de dos llamadas no se suman.",
    "Gradients are cleared before a pass, or the graph is gone after the first.": (
        "Los gradientes se borran antes de una pasada, o el grafo ya no está tras la primera."
    ),
    "If that is meant, say so in the docstring of backward(); if not, accumulate.": (
        "Si es a propósito, dilo en el docstring de backward(); si no, acumula."
    ),
    "zero_grad() does not clear gradients": "zero_grad() no borra los gradientes",
    "Gradients of one training step are still there in the next.": (
        "Los gradientes de un paso de entrenamiento siguen ahí en el siguiente."
    ),
    "The method exists, but gradients are as they were after it.": (
        "El método existe, pero los gradientes quedan como estaban."
    ),
    "Set grad to 0 for the node and everything below it.": (
        "Pon grad a 0 en el nodo y en todo lo que hay debajo."
    ),
    "deep graphs end in RecursionError": "los grafos profundos acaban en RecursionError",
    "A chain of a few thousand operations cannot be run backward.": (
        "Una cadena de unos miles de operaciones no se puede recorrer hacia atrás."
    ),
    "The sort calls itself once per level, and Python allows about a thousand calls.": (
        "La ordenación se llama a sí misma una vez por nivel, y Python permite unas mil llamadas."
    ),
    "Sort with a list as a stack.": "Ordena con una lista como pila.",
    "tanh overflows for large arguments": "tanh se desborda con argumentos grandes",
    "tanh(1000) is an error or nan.": "tanh(1000) es un error o nan.",
    "(e^2x - 1)/(e^2x + 1) computes e^2000 on the way.": (
        "(e^2x - 1)/(e^2x + 1) calcula e^2000 por el camino."
    ),
    "Use math.tanh.": "Usa math.tanh.",
    "not every exponent works": "no todos los exponentes funcionan",
    "a**b with a Value as exponent, or 0**0, is an error.": (
        "a**b con un Value como exponente, o 0**0, es un error."
    ),
    "The rule of ** is for constant exponents, and at 0 it divides by 0.": (
        "La regla de ** es para exponentes constantes, y en 0 divide entre 0."
    ),
    "d(a**b)/db is a**b * log(a); treat the exponent 0 by itself.": (
        "d(a**b)/db es a**b * log(a); trata aparte el exponente 0."
    ),
    "numbers are not wrapped": "los números no se envuelven",
    "a + 2 is an error, though a + Value(2) works.": (
        "a + 2 es un error, aunque a + Value(2) funciona."
    ),
    "The other operand may be a plain number, which has no data.": (
        "El otro operando puede ser un número sin más, que no tiene data."
    ),
    "other = other if isinstance(other, Value) else Value(other).": (
        "other = other if isinstance(other, Value) else Value(other)."
    ),
    "sum([…]) does not work": "sum([…]) no funciona",
    "sum([a, b]) is an error, though 2 + a works.": (
        "sum([a, b]) es un error, aunque 2 + a funciona."
    ),
    "sum begins with the int 0, which __radd__ refuses.": (
        "sum empieza con el int 0, que __radd__ rechaza."
    ),
    "Accept any number in __radd__.": "Acepta cualquier número en __radd__.",
    "-a does not work": "-a no funciona",
    "-a is an error, though a * -1 works.": "-a es un error, aunque a * -1 funciona.",
    "There is no __neg__.": "No hay __neg__.",
    "def __neg__(self): return self * -1.": "def __neg__(self): return self * -1.",
    "gradients are off unless they are asked for": "los gradientes están apagados si no se piden",
    "Gradients stay 0 for a Value that is made from its number alone.": (
        "Los gradientes se quedan en 0 para un Value hecho solo de su número."
    ),
    "requires_grad is False by default, as for PyTorch's tensors: here every Value is there for "
    "its gradient.": (
        "requires_grad es False por defecto, como en los tensores de PyTorch: aquí cada Value está "
        "por su gradiente."
    ),
    "requires_grad=True by default; or say requires_grad=True wherever a leaf is made.": (
        "requires_grad=True por defecto; o di requires_grad=True donde se haga una hoja."
    ),
    "a.grad = {0} for a Value that is made from its number alone": (
        "a.grad = {0} para un Value hecho solo de su número"
    ),
    "graphs wait for the garbage collector": "los grafos esperan al recolector de basura",
    "Memory grows until the collector runs, and the collector takes most of the time.": (
        "La memoria crece hasta que pasa el recolector, y el recolector se lleva casi todo el "
        "tiempo."
    ),
    "A _backward closure refers to its own node, or a recursive helper to itself: a cycle, which "
    "reference counting cannot free.": (
        "Una clausura _backward se refiere a su propio nodo, o una función recursiva a sí misma: "
        "un ciclo, que el conteo de referencias no puede liberar."
    ),
    "Keep local derivatives instead of closures, and sort without a nested function.": (
        "Guarda derivadas locales en vez de clausuras, y ordena sin una función anidada."
    ),
    "graphs are never freed": "los grafos no se liberan nunca",
    "Memory grows with every step, for ever.": "La memoria crece con cada paso, sin fin.",
    "Something outside of the graph, such as a list of all nodes, keeps every node alive.": (
        "Algo fuera del grafo, como una lista de todos los nodos, mantiene vivo cada nodo."
    ),
    "Let a node be held by its users alone.": "Que a un nodo lo sostengan solo sus usuarios.",
    "relu has slope 1 at 0": "relu tiene pendiente 1 en 0",
    "relu'(0) is 1 here; most libraries have 0.": (
        "relu'(0) es 1 aquí; casi todas las bibliotecas tienen 0."
    ),
    "At the kink any slope between 0 and 1 is right.": (
        "En el codo cualquier pendiente entre 0 y 1 es correcta."
    ),
    "Nothing to mend; > instead of >= gives the usual 0.": (
        "Nada que arreglar; > en lugar de >= da el 0 habitual."
    ),
}
