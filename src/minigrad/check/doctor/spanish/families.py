"""Slips that any operation can have, and numbers on the left of any operator, in Spanish."""

from __future__ import annotations

SPANISH: dict[str, str] = {}
_WORDS = {
    "addition": "la suma", "multiplication": "la multiplicación", "division": "la división",
    "subtraction": "la resta", "negation": "la negación",
    **{op: op for op in ("**", "tanh", "exp", "log", "relu", "sigmoid")},
}  # fmt: skip
_FAMILIES = {
    "{0} overwrites gradients": "{1} sobrescribe los gradientes",
    "Right until a Value goes into {0} and is used once more.": (
        "Bien hasta que un Value entra en {1} y se usa otra vez."
    ),
    "The rule of {0} sets gradients with =, which forgets what came before.": (
        "La regla de {1} pone los gradientes con =, que olvida lo que había antes."
    ),
    "Write += in the rule of {0}.": "Escribe += en la regla de {1}.",
    "{0} has no _backward": "{1} no tiene _backward",
    "No gradient gets past {0}.": "Ningún gradiente pasa de {1}.",
    "{0} forgets the gradient that comes in": "{1} olvida el gradiente que le llega",
    "{0} alone is right; inside something else it is wrong.": (
        "{1} por sí sola está bien; dentro de otra cosa está mal."
    ),
    "{0} gives its rule to the operand": "{1} da su regla al operando",
    "{0} of a leaf is right; what lies below its operand gets no gradient.": (
        "{1} de una hoja está bien; lo que hay bajo su operando no recibe gradiente."
    ),
    "{0} does not record its operands": "{1} no apunta sus operandos",
    "{0} returns a node without operands and rule": "{1} devuelve un nodo sin operandos ni regla",
    "{0} records one operand only": "{1} apunta un solo operando",
    "What lies below the right operand of {0} gets no gradient.": (
        "Lo que hay bajo el operando derecho de {1} no recibe gradiente."
    ),
    "{0} gives its right operand no gradient": "{1} no da gradiente a su operando derecho",
    "The gradient of the right operand of {0} stays 0.": (
        "El gradiente del operando derecho de {1} se queda en 0."
    ),
}
SPANISH |= {
    english.format(word): spanish.format(word, theirs)
    for english, spanish in _FAMILIES.items()
    for word, theirs in _WORDS.items()
}
SPANISH |= {
    "The function may be written, but out._backward = _backward is missing; or it only says "
    "pass.": (
        "La función puede estar escrita, pero falta out._backward = _backward; o solo dice pass."
    ),
    "Write it, and assign it to the node that the operation returns.": (
        "Escríbela, y asígnala al nodo que devuelve la operación."
    ),
    "A local derivative has to be multiplied by out.grad: that is the chain rule.": (
        "Una derivada local hay que multiplicarla por out.grad: es la regla de la cadena."
    ),
    "Multiply by out.grad.": "Multiplica por out.grad.",
    "self._backward = … replaces the operand's own rule, and the result has none.": (
        "self._backward = … reemplaza la regla del operando, y el resultado no tiene ninguna."
    ),
    "out._backward = _backward: the rule belongs to the result.": (
        "out._backward = _backward: la regla es del resultado."
    ),
    "The result is made without its operands, so that the pass ends there.": (
        "El resultado se hace sin sus operandos, así que la pasada acaba ahí."
    ),
    "Give the operands to the constructor of the result: (self,), or (self, other).": (
        "Da los operandos al constructor del resultado: (self,), o (self, other)."
    ),
    "The result knows its left operand alone, so that the pass never comes to the other.": (
        "El resultado solo conoce su operando izquierdo, así que la pasada nunca llega al otro."
    ),
    "Give both operands to the constructor of the result: (self, other).": (
        "Da los dos operandos al constructor del resultado: (self, other)."
    ),
    "The rule has a line for self, and none for other.": (
        "La regla tiene una línea para self, y ninguna para other."
    ),
    "The result is made from a number alone: it knows neither what it was made of, nor how a "
    "gradient goes back.": (
        "El resultado se hace de un número solo: no sabe de qué se hizo, ni cómo vuelve un "
        "gradiente."
    ),
    "Give the operands to the constructor, and write the rule: out._backward = _backward.": (
        "Da los operandos al constructor y escribe la regla: out._backward = _backward."
    ),
    "Add the line for other.grad.": "Añade la línea para other.grad.",
}
_LEFT = {
    "a number on the left of {0} is put on the right": (
        "un número a la izquierda de {0} se pone a la derecha"
    ),
    "2 {0} a gives a {0} 2.": "2 {0} a da a {0} 2.",
    "__{1}__(self, other) is called for other {0} self, in this order.": (
        "__{1}__(self, other) se llama para other {0} self, en este orden."
    ),
    "return Value(other) {0} self.": "return Value(other) {0} self.",
    "a number on the left of {0} loses the gradient": (
        "un número a la izquierda de {0} pierde el gradiente"
    ),
    "2 {0} a has the right value, and a.grad stays 0.": (
        "2 {0} a tiene el valor correcto, y a.grad se queda en 0."
    ),
    "__{1}__ computes with numbers and returns a Value without operands.": (
        "__{1}__ calcula con números y devuelve un Value sin operandos."
    ),
    "Compute with Values: return Value(other) {0} self.": (
        "Calcula con Values: return Value(other) {0} self."
    ),
    "a number on the left of {0} does not work": "un número a la izquierda de {0} no funciona",
    "2 {0} a is an error, though a {0} 2 works.": "2 {0} a es un error, aunque a {0} 2 funciona.",
    "Python asks the number first, and then the Value for __{1}__, which is not there.": (
        "Python pregunta primero al número, y luego al Value por __{1}__, que no está."
    ),
    "Write __{1}__.": "Escribe __{1}__.",
}
SPANISH |= {
    english.format(symbol, word): spanish.format(symbol, word)
    for english, spanish in _LEFT.items()
    for symbol, word in (
        ("+", "radd"), ("*", "rmul"), ("-", "rsub"), ("/", "rtruediv"), ("**", "rpow"),
    )
}  # fmt: skip
