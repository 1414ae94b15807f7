"""Faults of identity and state, and crashes, in Spanish."""

from __future__ import annotations

SPANISH = {
    "a method of the class is replaced by a rule": "una regla sustituye un método de la clase",
    "An operation ends in AttributeError: attribute {0} is read-only.": (
        "Una operación acaba en AttributeError: attribute {0} is read-only."
    ),
    "With __slots__, out.{0} = … would hide the method {0}, and Python refuses that.": (
        "Con __slots__, out.{0} = … ocultaría el método {0}, y Python no lo permite."
    ),
    "Keep the rule under a name of its own, out._backward, which is in __slots__ too.": (
        "Guarda la regla con un nombre propio, out._backward, que también esté en __slots__."
    ),
    "isinstance does not get a thing and a class": "isinstance no recibe una cosa y una clase",
    "An operation ends in TypeError: isinstance expected 2 arguments, got {0}.": (
        "Una operación acaba en TypeError: isinstance expected 2 arguments, got {0}."
    ),
    "The text of an assert, or another class, stands inside of its brackets; or the thing before "
    "them.": (
        "El texto de un assert, u otra clase, está dentro de sus paréntesis; o la cosa, delante."
    ),
    'isinstance(n, Value); assert isinstance(n, (int, float)), "text"; several classes as one '
    "tuple.": (
        'isinstance(n, Value); assert isinstance(n, (int, float)), "texto"; varias clases como una '
        "tupla."
    ),
    "something is None where a Value is meant": "algo es None donde se quiere un Value",
    "None stands where a number is meant": "hay None donde se espera un número",
    "An operation or backward() ends in TypeError: no {0} for None.": (
        "Una operación o backward() acaba en TypeError: no hay {0} para None."
    ),
    "What is changed or computed with here was never given a number, such as a gradient that "
    "begins as None.": (
        "A lo que aquí se cambia o se usa nunca se le dio un número, como a un gradiente que "
        "empieza en None."
    ),
    "Begin with a number, 0.0 for a gradient; or ask first whether it is None.": (
        "Empieza con un número, 0.0 para un gradiente; o pregunta antes si es None."
    ),
    "An operation or backward() ends in AttributeError: None has no {0}.": (
        "Una operación o backward() acaba en AttributeError: None no tiene {0}."
    ),
    "The line asks None for its {0}: an operand, a parent or an argument that was never set, or "
    "that not every node has.": (
        "La línea pide a None su {0}: un operando, un padre o un argumento que nunca se puso, o "
        "que no tienen todos los nodos."
    ),
    "Look where it is set, and leave the line out where there is none: if x is not None.": (
        "Mira dónde se pone, y omite la línea donde no hay ninguno: if x is not None."
    ),
    "isinstance has its arguments the wrong way round": "isinstance tiene los argumentos al revés",
    "An operation ends in TypeError: isinstance() arg 2 must be a type.": (
        "Una operación acaba en TypeError: isinstance() arg 2 must be a type."
    ),
    "isinstance asks whether the first argument is of the kind that the second one names.": (
        "isinstance pregunta si el primer argumento es de la clase que nombra el segundo."
    ),
    "isinstance(other, Value): the thing first, then the class.": (
        "isinstance(other, Value): primero la cosa, después la clase."
    ),
    "{0} is a Value where its number is meant": "{0} es un Value donde se quiere su número",
    "An operation ends in TypeError: numbers and Values are mixed.": (
        "Una operación acaba en TypeError: se mezclan números y Values."
    ),
    "The line computes with self.data, a number, and with {0}, which is a Value here and has no "
    "operator that could help.": (
        "La línea calcula con self.data, un número, y con {0}, que aquí es un Value y no tiene un "
        "operador que ayude."
    ),
    "Use the number on both sides: {0}.data.": "Usa el número en ambos lados: {0}.data.",
    "self.{0} is not the argument {0}": "self.{0} no es el argumento {0}",
    "An operation ends in AttributeError: there is no attribute {0}.": (
        "Una operación acaba en AttributeError: no hay un atributo {0}."
    ),
    "{0} is an argument of the function, a variable of its own, and nothing that self has.": (
        "{0} es un argumento de la función, una variable propia, y nada que tenga self."
    ),
    "Write {0}.data instead of self.{0}.": "Escribe {0}.data en lugar de self.{0}.",
    "a number is wrapped, and the wrapped one thrown away": (
        "un número se envuelve, y lo envuelto se tira"
    ),
    "other if isinstance(other, Value) else Value(other) makes a Value, and the line does not "
    "keep it.": (
        "other if isinstance(other, Value) else Value(other) hace un Value, y la línea no lo "
        "guarda."
    ),
    "Keep it: other = other if isinstance(other, Value) else Value(other).": (
        "Guárdalo: other = other if isinstance(other, Value) else Value(other)."
    ),
    "the logarithm for the exponent's gradient fails": (
        "falla el logaritmo del gradiente del exponente"
    ),
    "(-3)**2 ends in an error.": "(-3)**2 acaba en un error.",
    "The derivative of a**n by n has log(a) in it, which negative numbers do not have; it is "
    "worked out even if n is a plain number.": (
        "La derivada de a**n respecto a n contiene log(a), que los números negativos no tienen; se "
        "calcula aunque n sea un número corriente."
    ),
    "Work it out only if the exponent is a Value, and the base is above 0.": (
        "Calcúlala solo si el exponente es un Value, y la base es mayor que 0."
    ),
    # ---- state ----------------------------------------------------------------------------------
    "equal numbers are taken for the same node": "números iguales se toman por el mismo nodo",
    "Gradients are lost where two Values happen to have the same number.": (
        "Se pierden gradientes donde dos Values tienen por azar el mismo número."
    ),
    "__eq__ and __hash__ compare data, so that a set of visited nodes merges distinct ones.": (
        "__eq__ y __hash__ comparan data, así que un conjunto de visitados junta nodos distintos."
    ),
    "Leave equality and hash as they are (identity), or keep id(node) in the set.": (
        "Deja la igualdad y el hash como son (identidad), o guarda id(node) en el conjunto."
    ),
    "a += b changes a itself": "a += b cambia el propio a",
    "After c = a; c += b, a has changed too, and its history is lost.": (
        "Después de c = a; c += b, a también ha cambiado, y su historia se ha perdido."
    ),
    "__iadd__ changes the node in place; the graph needs a new one.": (
        "__iadd__ cambia el nodo en su sitio; el grafo necesita uno nuevo."
    ),
    "Leave __iadd__ out: Python then writes a = a + b.": (
        "Quita __iadd__: Python escribe entonces a = a + b."
    ),
    "an operation keeps what its rule needs in its operands": (
        "una operación guarda en sus operandos lo que su regla necesita"
    ),
    "Right as long as every Value is used once; the second use of one changes the first.": (
        "Bien mientras cada Value se use una vez; el segundo uso cambia el primero."
    ),
    "A slope, an operation or a user that is written into an operand is replaced when that one is "
    "used again.": (
        "Una pendiente, una operación o un usuario que se escribe en un operando se reemplaza "
        "cuando este se usa otra vez."
    ),
    "Write it into the result, or into its rule: out, not self and other.": (
        "Escríbelo en el resultado, o en su regla: en out, no en self y other."
    ),
    "a result that is used elsewhere gets no backward pass": (
        "un resultado que se usa en otra parte no tiene pasada hacia atrás"
    ),
    "backward() does nothing on a Value that is also part of a larger expression.": (
        "backward() no hace nada en un Value que también es parte de una expresión mayor."
    ),
    "Users are counted when the graph is built, and the pass waits for users that it never "
    "visits.": (
        "Los usuarios se cuentan al construir el grafo, y la pasada espera a usuarios que nunca "
        "visita."
    ),
    "Count the users below the result only, when backward() is called.": (
        "Cuenta solo los usuarios bajo el resultado, cuando se llama a backward()."
    ),
    "return Value(other) ** self, where ** takes a Value as exponent.": (
        "return Value(other) ** self, donde ** acepta un Value como exponente."
    ),
    # ---- crashes --------------------------------------------------------------------------------
    "an operation returns nothing": "una operación no devuelve nada",
    "{0} is None.": "{0} es None.",
    "A function without return gives None.": "Una función sin return da None.",
    "End it with return out.": "Acábala con return out.",
    "an operation returns a plain number": "una operación devuelve un número sin más",
    "{0} is of type {1}, which has no gradient.": "{0} es de tipo {1}, que no tiene gradiente.",
    "What comes out of an operation has to be a Value that knows its operands.": (
        "Lo que sale de una operación tiene que ser un Value que conoce sus operandos."
    ),
    "Return the node: out = Value(…, (self,)), with a _backward.": (
        "Devuelve el nodo: out = Value(…, (self,)), con un _backward."
    ),
    "{0} is not imported": "{0} no está importado",
    "An operation ends in NameError.": "Una operación acaba en NameError.",
    "The file uses {0} and does not import it.": "El archivo usa {0} y no lo importa.",
    "Write import {0} at the top of the file.": "Escribe import {0} al principio del archivo.",
    "a number is recorded as an operand": "un número queda apuntado como operando",
    "backward() ends in AttributeError: '{0}' object has no attribute '{1}'.": (
        "backward() acaba en AttributeError: '{0}' object has no attribute '{1}'."
    ),
    "The result has a plain number among its operands, and the pass looks for operands of that.": (
        "El resultado tiene un simple número entre sus operandos, y la pasada busca los operandos "
        "de ese."
    ),
    "Record Values only: (self,) where the other operand is a number.": (
        "Apunta solo Values: (self,) donde el otro operando es un número."
    ),
    "{1} is called on a plain number": "{1} se llama sobre un simple número",
    "self.data is a number, and numbers have no method {1}.": (
        "self.data es un número, y los números no tienen método {1}."
    ),
    "Use math.{1}(…) for numbers, or call {1}() on the Value.": (
        "Usa math.{1}(…) para números, o llama a {1}() del Value."
    ),
    "{0} is used before it is set": "{0} se usa antes de tener valor",
    "An operation ends in UnboundLocalError.": "Una operación acaba en UnboundLocalError.",
    "A function that assigns to {0} has a {0} of its own, and the line reads it first; += reads "
    "it too.": (
        "Una función que asigna a {0} tiene un {0} propio, y la línea lo lee antes; += también lo "
        "lee."
    ),
    "Set {0} before this line; with = if += is the first that it has.": (
        "Da valor a {0} antes de esta línea; con = si += es lo primero que tiene."
    ),
    "there is no {0}": "no existe {0}",
    "The name {0} is not known where it is used: misspelt, or defined elsewhere.": (
        "El nombre {0} no se conoce donde se usa: mal escrito, o definido en otra parte."
    ),
    "Look at the line, and define {0} or spell it as it is defined.": (
        "Mira la línea, y define {0} o escríbelo como está definido."
    ),
    "a rule is None": "una regla es None",
    "backward() ends in TypeError: 'NoneType' object is not callable.": (
        "backward() acaba en TypeError: 'NoneType' object is not callable."
    ),
    "out._backward = _backward() calls the rule at once and keeps what it returns, None; or leaves "
    "have None for a rule.": (
        "out._backward = _backward() llama a la regla enseguida y guarda lo que devuelve, None; o "
        "las hojas tienen None como regla."
    ),
    "Without the brackets: out._backward = _backward; and lambda: None for leaves.": (
        "Sin los paréntesis: out._backward = _backward; y lambda: None para las hojas."
    ),
    "Values cannot be put into a set": "los Values no se pueden poner en un conjunto",
    "backward() ends in TypeError: unhashable type.": (
        "backward() acaba en TypeError: unhashable type."
    ),
    "A class with an __eq__ of its own, such as a dataclass, has no __hash__ any more.": (
        "Una clase con un __eq__ propio, como una dataclass, ya no tiene __hash__."
    ),
    "Leave __eq__ out (in a dataclass: eq=False), or keep id(node) in the set.": (
        "Quita __eq__ (en una dataclass: eq=False), o guarda id(node) en el conjunto."
    ),
    "a number meets an operation that takes Values only": (
        "un número llega a una operación que solo acepta Values"
    ),
    "An operation ends in AttributeError: '{0}' object has no attribute '{1}'.": (
        "Una operación acaba en AttributeError: '{0}' object has no attribute '{1}'."
    ),
    "One operation is made of another, with a number (such as -a of a * -1), and that one does not "
    "wrap numbers.": (
        "Una operación se hace con otra y un número (como -a con a * -1), y esa no los envuelve."
    ),
    "In that one: other = other if isinstance(other, Value) else Value(other).": (
        "En esa: other = other if isinstance(other, Value) else Value(other)."
    ),
    "a number's own method is called by its name": (
        "se llama por su nombre a un método propio del número"
    ),
    "An operation ends in an error that speaks of NotImplementedType.": (
        "Una operación acaba en un error que habla de NotImplementedType."
    ),
    "self.data.__add__(other) gives NotImplemented where the number does not know what to do with "
    "a Value; only the operator + then asks the other side.": (
        "self.data.__add__(other) da NotImplemented cuando el número no sabe qué hacer con un "
        "Value; solo el operador + pregunta entonces al otro lado."
    ),
    "Use the operator, and numbers on both sides: self.data + other.data.": (
        "Usa el operador, con números a ambos lados: self.data + other.data."
    ),
    "a rule looks for an operand that is not recorded": (
        "una regla busca un operando que no está registrado"
    ),
    "An operation with a number ends in ValueError or IndexError.": (
        "Una operación con un número acaba en ValueError o IndexError."
    ),
    "The rule takes two operands, and a number is not recorded as one; or a set holds the operand "
    "of a * a once.": (
        "La regla toma dos operandos, y un número no se registra como tal; o un conjunto guarda "
        "una sola vez el operando de a * a."
    ),
    "Wrap numbers, other = Value(other), before they are recorded; keep operands in a tuple, in "
    "order, with repeats.": (
        "Envuelve los números, other = Value(other), antes de registrarlos; guarda los operandos "
        "en una tupla, en orden y con repeticiones."
    ),
    "a rule is given to a plain number": "se da una regla a un simple número",
    "The result is still a number where its rule is set; the node is made later.": (
        "El resultado es todavía un número donde se fija su regla; el nodo se hace después."
    ),
    "Make the node first: out = Value(…, (self, other)); then out._backward = _backward.": (
        "Haz primero el nodo: out = Value(…, (self, other)); luego out._backward = _backward."
    ),
    "a Value stands where its number is meant": "hay un Value donde se quiere su número",
    "An operation ends in TypeError: must be real number, not {0}.": (
        "Una operación acaba en TypeError: must be real number, not {0}."
    ),
    "math.exp and the like take numbers.": "math.exp y similares toman números.",
    "Give them the number: math.exp(self.data).": "Dales el número: math.exp(self.data).",
    "a function stands where a number is meant": "hay una función donde se quiere un número",
    "An operation or backward() ends in TypeError: no {0} for 'function'.": (
        "Una operación o backward() acaba en TypeError: no hay {0} para 'function'."
    ),
    "What is computed with here was set to a function: a rule that is kept under the gradient's "
    "name, or a method that nobody called.": (
        "A aquello con lo que aquí se calcula se le puso una función: una regla guardada con el "
        "nombre del gradiente, o un método que nadie llamó."
    ),
    "Keep the rule as out._backward = _backward, and leave the gradient a number.": (
        "Guarda la regla como out._backward = _backward, y deja que el gradiente sea un número."
    ),
    "a method stands where a number is meant": "hay un método donde se quiere un número",
    "An operation or backward() ends in TypeError: no {0} for 'method'.": (
        "Una operación o backward() acaba en TypeError: no hay {0} para 'method'."
    ),
    "What is changed here is a method of the class: misspelt, or meant to be called.": (
        "Lo que se cambia aquí es un método de la clase: mal escrito, o había que llamarlo."
    ),
    "Write self.grad += … for a gradient; with brackets if the method is to be called.": (
        "Escribe self.grad += … para un gradiente; con paréntesis si hay que llamar al método."
    ),
    "a gradient that begins as a whole number cannot become a fraction": (
        "un gradiente que empieza como número entero no puede volverse fracción"
    ),
    "An operation ends in a type error: cannot cast from float64 to {0}.": (
        "Una operación acaba en un error de tipo: no se puede convertir de float64 a {0}."
    ),
    "An array of whole numbers, as np.zeros_like makes it of whole numbers, takes no fraction by "
    "+=.": (
        "Un array de enteros, como el que np.zeros_like hace de enteros, no admite fracciones con "
        "+=."
    ),
    "Begin with fractions: np.zeros_like(data, dtype=float), or 0.0.": (
        "Empieza con fracciones: np.zeros_like(data, dtype=float), o 0.0."
    ),
    "a node has no {1}": "un nodo no tiene {1}",
    "Something is used that not every node has: misspelt, or not set in the constructor.": (
        "Se usa algo que no todos los nodos tienen: mal escrito, o no puesto en el constructor."
    ),
    "Set self.{1} in __init__, or spell it as it is there.": (
        "Pon self.{1} en __init__, o escríbelo como está ahí."
    ),
    "an operation has a number on the left of {0}, which does not work": (
        "una operación tiene un número a la izquierda de {0}, que no funciona"
    ),
    "An operation ends in TypeError: no {0} for a number and a {1}.": (
        "Una operación acaba en TypeError: no hay {0} para un número y un {1}."
    ),
    "Python asks the number first, and then the Value for its reflected method, which is not "
    "there.": (
        "Python pregunta primero al número, y luego al Value por su método reflejado, que no está."
    ),
    "Write __radd__, __rmul__, __rsub__ or __rtruediv__; or put the Value on the left.": (
        "Escribe __radd__, __rmul__, __rsub__ o __rtruediv__; o pon el Value a la izquierda."
    ),
    "an operation uses {0}, which is not there": "una operación usa {0}, que no está",
    "An operation ends in TypeError: no {0} for {1}.": (
        "Una operación acaba en TypeError: no hay {0} para {1}."
    ),
    "One operation is made of another, as a - b of a + (-b), and the class does not have that "
    "one.": "Una operación se hace con otra, como a - b con a + (-b), y la clase no tiene esa.",
    "Write the method of {0} too, or compute without it.": (
        "Escribe también el método de {0}, o calcula sin él."
    ),
    "{0}() is called with other arguments than it takes": (
        "{0}() se llama con otros argumentos que los que acepta"
    ),
    "An operation or backward() ends in TypeError: {0}() {1}.": (
        "Una operación o backward() acaba en TypeError: {0}() {1}."
    ),
    "A function takes other arguments than those that it is given.": (
        "Una función acepta otros argumentos que los que recibe."
    ),
    "Compare the line of the call with the def.": "Compara la línea de la llamada con el def.",
    "an operation calls itself for ever": "una operación se llama a sí misma sin fin",
    "RecursionError on a small expression.": "RecursionError en una expresión pequeña.",
    "The method is made of an operation that is made of the method, such as -a of -a.": (
        "El método se hace con una operación que se hace con el método, como -a con -a."
    ),
    "Make one of them of something else: def __neg__(self): return self * -1.": (
        "Haz una de las dos con otra cosa: def __neg__(self): return self * -1."
    ),
}
