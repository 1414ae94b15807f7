"""What is said about an expression that is wrong, by language: the same keys and {fields} in each.

A mistake is an `ExpressionError` whose text is English, as all errors are; whoever speaks to a
person in another language asks `worded` for it.
"""

from __future__ import annotations

from .errors import ExpressionError

PHRASES: dict[str, dict[str, str]] = {
    "en": {
        "too long": "the expression has {count} characters; the limit is {limit}.",
        "unexpected": "unexpected {found}{hint}",
        "hint ^": "; a power is written with **",
        "hint .": "; a function is written tanh(x), not x.tanh() or math.tanh(x)",
        "hint =": "; numbers are compared with <, <=, > or >=",
        "hint [": "; several numbers are written softmax(a, b), without brackets of their own",
        "hint |": "; an absolute value is written abs(x)",
        "hint ²": "; a power is written x**2",
        "hint ³": "; a power is written x**3",
        "hint √": "; a root is written sqrt(x)",
        "hint ×": "; a product is written a*b",
        "hint ·": "; a product is written a*b",
        "hint ÷": "; a quotient is written a/b",
        "hint −": "; a minus is written -, the hyphen of the keyboard",
        "hint π": "; it is written pi",
        "hint letter": "; names have the letters a to z",
        "no operator": "an operator is missing before {token}",
        "word if": "there is no {token} here; a choice is written where(x > 0, a, b)",
        "word and": "there is no {token} here; of two comparisons write "
        "where(a > 0, where(b > 0, x, y), y)",
        "word or": "there is no {token} here; of two comparisons write "
        "where(a > 0, x, where(b > 0, x, y))",
        "instead": "write {words}",
        "no operand": "a number or a name is missing before {token}",
        "no operand before ;": "a number or a name is missing before this ';'",
        "nameless": "only the last statement may do without a name; write n = … here",
        "late target": "'{name} =' begins a statement, so a ; is missing before it (numbers are "
        "compared with < and >)",
        "function as target": "{name} is a function; give the result another name",
        "never closed": "this parenthesis is never closed",
        "comparison": "a comparison stands first in where(x > 0, a, b), once",
        "no such function": "there is no function {name}; {hint}",
        "did you mean": "did you mean {name}?",
        "there are": "there are {names}",
        "function alone": "{name} is a function: write {name}(…)",
        "not open": "this {token} has no open parenthesis to belong to",
        "no comparison": "where chooses by a comparison: where(x > 0, a, b)",
        "arguments": "{name} takes {count} arguments, got {got}",
        "one argument": "{name} takes 1 argument, got {got}",
        "ends early": "the expression ends where a number or a name is expected",
        "no value": "no value for {names}; add {remedy}.",
        "several": "{where}: here is room for one number, and softmax gives {count}; take one of "
        "them, as in softmax(a, b)[0], or their sum(…), mean(…), max(…).",
        "the result": "the result",
        "one already": "[{k}] takes one of several numbers, as in softmax(a, b)[0]; this is one "
        "already.",
        "beyond": "[{k}]: there are {count}, counted from [0] to [{last}].",
        "unused": "the expression has no {names}; leave out {remedy}.",
        "no graph": "{text} has no variable, so there is no graph; write one, such as a*2 with "
        "a=3.",
        "no text": "-: the standard input is no text; send it an expression.",
        "no option": "there is no option {option}; --help lists them.",
        "no assignment": "{text} is not of the form name=number, such as a=2; an "
        "expression with spaces or * stands in quotes.",
        "function as variable": "{name} is a function; give the variable another name.",
        "given twice": "{name} is given twice; give each variable once.",
        "no number": "{name}={text}: {quoted} is not a number; write {name}=0.5 or {name}=1/2, and "
        "the next variable after a space.",
        "no such variable": "--of {of}: the variables are {names}.",
    },
    "es": {
        "too long": "la expresión tiene {count} caracteres; el límite es {limit}.",
        "unexpected": "no se esperaba {found}{hint}",
        "hint ^": "; una potencia se escribe con **",
        "hint .": "; una función se escribe tanh(x), no x.tanh() ni math.tanh(x)",
        "hint =": "; los números se comparan con <, <=, > o >=",
        "hint [": "; varios números se escriben softmax(a, b), sin corchetes propios",
        "hint |": "; un valor absoluto se escribe abs(x)",
        "hint ²": "; una potencia se escribe x**2",
        "hint ³": "; una potencia se escribe x**3",
        "hint √": "; una raíz se escribe sqrt(x)",
        "hint ×": "; un producto se escribe a*b",
        "hint ·": "; un producto se escribe a*b",
        "hint ÷": "; un cociente se escribe a/b",
        "hint −": "; el menos se escribe -, el guion del teclado",
        "hint π": "; se escribe pi",
        "hint letter": "; los nombres tienen letras de la a a la z",
        "no operator": "falta un operador antes de {token}",
        "word if": "aquí no hay {token}; una elección se escribe where(x > 0, a, b)",
        "word and": "aquí no hay {token}; de dos comparaciones, escribe "
        "where(a > 0, where(b > 0, x, y), y)",
        "word or": "aquí no hay {token}; de dos comparaciones, escribe "
        "where(a > 0, x, where(b > 0, x, y))",
        "instead": "escribe {words}",
        "no operand": "falta un número o un nombre antes de {token}",
        "no operand before ;": "falta un número o un nombre antes de este ';'",
        "nameless": "solo la última instrucción puede ir sin nombre; escribe n = … aquí",
        "late target": "'{name} =' empieza una instrucción, así que falta un ; antes (los números "
        "se comparan con < y >)",
        "function as target": "{name} es una función; dale otro nombre al resultado",
        "never closed": "este paréntesis no se cierra nunca",
        "comparison": "una comparación va primero en where(x > 0, a, b), una sola vez",
        "no such function": "no hay ninguna función {name}; {hint}",
        "did you mean": "¿querías decir {name}?",
        "there are": "hay {names}",
        "function alone": "{name} es una función: escribe {name}(…)",
        "not open": "a este {token} no le corresponde ningún paréntesis abierto",
        "no comparison": "where elige por una comparación: where(x > 0, a, b)",
        "arguments": "{name} toma {count} argumentos, y aquí hay {got}",
        "one argument": "{name} toma 1 argumento, y aquí hay {got}",
        "ends early": "la expresión termina donde se espera un número o un nombre",
        "no value": "no hay valor para {names}; añade {remedy}.",
        "several": "{where}: aquí cabe un solo número, y softmax da {count}; toma uno de ellos, "
        "como en softmax(a, b)[0], o su sum(…), mean(…), max(…).",
        "the result": "el resultado",
        "one already": "[{k}] toma uno de varios números, como en softmax(a, b)[0]; este ya es uno "
        "solo.",
        "beyond": "[{k}]: hay {count}, contados de [0] a [{last}].",
        "unused": "la expresión no tiene {names}; quita {remedy}.",
        "no graph": "{text} no tiene ninguna variable, así que no hay grafo; escribe una, como a*2 "
        "con a=3.",
        "no text": "-: la entrada estándar no es texto; envíale una expresión.",
        "no option": "no hay ninguna opción {option}; --help las enumera.",
        "no assignment": "{text} no tiene la forma nombre=número, como a=2; una "
        "expresión con espacios o * va entre comillas.",
        "function as variable": "{name} es una función; dale otro nombre a la variable.",
        "given twice": "{name} aparece dos veces; da cada variable una vez.",
        "no number": "{name}={text}: {quoted} no es un número; escribe {name}=0.5 o {name}=1/2, y "
        "la variable siguiente después de un espacio.",
        "no such variable": "--of {of}: las variables son {names}.",
    },
}


class WordedError(ExpressionError):
    """A mistake that can be told in every language."""

    def __init__(self, key: str, place: str = "", **fields: object) -> None:
        self.key, self.place, self.fields = key, place, fields
        super().__init__(self.worded("en"))

    def __reduce__(self) -> tuple[type[ExpressionError], tuple[str]]:
        """Travel between processes as a plain one: its text is all that is asked for there."""
        return ExpressionError, (str(self),)

    def worded(self, lang: str) -> str:
        """Say it; what is a mistake's field may be a phrase itself, as a pair of key and fields."""
        said = {
            name: PHRASES[lang][x[0]].format(**x[1]) if isinstance(x, tuple) else x
            for name, x in self.fields.items()
        }
        return PHRASES[lang][self.key].format(**said) + self.place


def worded(error: Exception, lang: str) -> str:
    """Return what an error says: in that language, if it is a mistake."""
    return error.worded(lang) if isinstance(error, WordedError) else str(error)
