"""Faults of how a pass walks, and of what is kept between calls, in Spanish."""

from __future__ import annotations

SPANISH = {
    "no topological sort: a stack of nodes": "sin orden topológico: una pila de nodos",
    "Right for trees; wrong where ways of different lengths meet again.": (
        "Bien en árboles; mal donde se juntan caminos de distinta longitud."
    ),
    "The node that was put onto the stack last runs next, whether all of its users have run or "
    "not: it passes on a gradient that is still growing.": (
        "El último nodo apilado se ejecuta el siguiente, hayan acabado sus usuarios o no: pasa un "
        "gradiente que aún está creciendo."
    ),
    "the list of nodes stays empty": "la lista de nodos se queda vacía",
    "A function inside of backward() goes through the nodes, and puts none of them into the list "
    "that the loop runs over.": (
        "Una función dentro de backward() recorre los nodos, y no pone ninguno en la lista que el "
        "bucle recorre."
    ),
    "After the children of a node: topo.append(v).": (
        "Después de los hijos de un nodo: topo.append(v)."
    ),
    "subtraction has its operands the wrong way round": "la resta tiene los operandos al revés",
    "a - b gives b - a.": "a - b da b - a.",
    "The value of a - b is self.data - other.data, self with a plus and other with a minus.": (
        "El valor de a - b es self.data - other.data, self con más y other con menos."
    ),
    "return self + (-other).": "return self + (-other).",
    "a loop runs over a node instead of its operands": (
        "un bucle recorre un nodo en vez de sus operandos"
    ),
    "backward() ends in TypeError: '{0}' object is not iterable.": (
        "backward() acaba en TypeError: '{0}' object is not iterable."
    ),
    "A node is no list; what the loop is meant to run over is an attribute of it.": (
        "Un nodo no es una lista; lo que el bucle debe recorrer es un atributo suyo."
    ),
    "for child in v._prev, with the attribute that has the operands.": (
        "for child in v._prev, con el atributo que tiene los operandos."
    ),
    "a {0} stands where a Value is meant": "hay un {0} donde debe haber un Value",
    "An operation or backward() ends in AttributeError: '{0}' object has no attribute '{1}'.": (
        "Una operación o backward() acaba en AttributeError: '{0}' object has no attribute '{1}'."
    ),
    "The line asks a {0} for its {1}, which only a Value has: a name stands for something else "
    "than it is meant to.": (
        "La línea pide a un {0} su {1}, que solo un Value tiene: un nombre es otra cosa de lo que "
        "debe ser."
    ),
    "Follow the name back to where it is set, or put into a list.": (
        "Sigue el nombre hasta donde se asigna, o se pone en una lista."
    ),
    "operations give their rules to the operands": (
        "las operaciones dan sus reglas a los operandos"
    ),
    "One operation is right; what lies deeper gets no gradient.": (
        "Una operación está bien; lo que hay más abajo no recibe gradiente."
    ),
    "self._backward = … replaces the rules of operands, and results have none.": (
        "self._backward = … reemplaza las reglas de los operandos, y los resultados no tienen."
    ),
    "Write  {2}  instead of  {1}, and so in the other operations.": (
        "Escribe  {2}  en vez de  {1}, y así en las demás operaciones."
    ),
    "a rule gives None, and the pass wants gradients": (
        "una regla da None, y la pasada quiere gradientes"
    ),
    "backward() ends in TypeError: None cannot be taken apart.": (
        "backward() acaba en TypeError: None no se puede desempaquetar."
    ),
    "The pass takes what a rule returns apart, a gradient for each operand, and one rule has no "
    "return.": (
        "La pasada desempaqueta lo que devuelve una regla, un gradiente por operando, y una regla "
        "no tiene return."
    ),
    "Return the gradients, also if there is only one: return (g,).": (
        "Devuelve los gradientes, también si solo hay uno: return (g,)."
    ),
    "a rule gives a number, and the pass wants one for each operand": (
        "una regla da un número, y la pasada quiere uno por operando"
    ),
    "backward() ends in TypeError: a number cannot be taken apart.": (
        "backward() acaba en TypeError: un número no se puede desempaquetar."
    ),
    "The pass takes what a rule returns apart, a gradient for each operand, and this one returns "
    "the number itself.": (
        "La pasada desempaqueta lo que devuelve una regla, un gradiente por operando, y esta "
        "devuelve el número mismo."
    ),
    "With a comma: return (g,).": "Con una coma: return (g,).",
    "{0} sets gradients while the graph is built": (
        "{0} pone gradientes mientras se construye el grafo"
    ),
    "No gradient gets past {0}.": "Ningún gradiente pasa de {0}.",
    "When this line runs, the result has no gradient yet: that comes with backward().": (
        "Cuando esta línea se ejecuta, el resultado aún no tiene gradiente: llega con backward()."
    ),
    "Put it into a function _backward inside of {0}, and keep that: out._backward = _backward.": (
        "Ponla en una función _backward dentro de {0}, y guárdala: out._backward = _backward."
    ),
    "operations set gradients while the graph is built": (
        "las operaciones ponen gradientes mientras se construye el grafo"
    ),
    "All gradients are 0, or of an earlier pass.": (
        "Todos los gradientes son 0, o de una pasada anterior."
    ),
    "When these lines run, the result has no gradient yet: that comes with backward().": (
        "Cuando estas líneas se ejecutan, el resultado aún no tiene gradiente: llega con "
        "backward()."
    ),
    "Put them into a function _backward inside of each operation, and keep that: "
    "out._backward = _backward.": (
        "Ponlas en una función _backward dentro de cada operación, y guárdala: "
        "out._backward = _backward."
    ),
    "{0} keeps its gradients in a dict, under its operands": (
        "{0} guarda sus gradientes en un diccionario, bajo sus operandos"
    ),
    "Right with two operands; {0} of a Value with itself has one entry instead of two.": (
        "Bien con dos operandos; {0} de un Value consigo mismo tiene una entrada en vez de dos."
    ),
    "A dict has one entry for a key: where both operands are the same Value, the second "
    "entry replaces the first.": (
        "Un diccionario tiene una entrada por clave: si los dos operandos son el mismo Value, la "
        "segunda entrada sustituye a la primera."
    ),
    "Keep them in the order of the operands, in a tuple.": (
        "Guárdalos en el orden de los operandos, en una tupla."
    ),
    "{0} changes the number of its operand": "{0} cambia el número de su operando",
    "After {0} its operand has another number, and so has whoever uses it again.": (
        "Después de {0} su operando tiene otro número, y quien lo use de nuevo también."
    ),
    "An operation makes a new node; what it is given stays as it was.": (
        "Una operación hace un nodo nuevo; lo que se le da se queda como estaba."
    ),
    "Compute with a number of its own, and give that to the node that is made.": (
        "Calcula con un número aparte, y dáselo al nodo que se hace."
    ),
    "rules call the rules of their operands as well": (
        "las reglas llaman también a las de sus operandos"
    ),
    "The last operation is right; what lies deeper gets too much.": (
        "La última operación está bien; lo más hondo recibe demasiado."
    ),
    "Each rule goes on to its operands, and backward() calls every rule too: what they pass on is "
    "added more than once.": (
        "Cada regla sigue hasta sus operandos, y backward() también llama a todas: lo que pasan se "
        "suma más de una vez."
    ),
    "Take  {1}  and the like out of the rules: backward() calls each one, once.": (
        "Quita  {1}  y lo parecido de las reglas: backward() llama a cada una, una vez."
    ),
    "the walk ends at the operands of the result": (
        "el recorrido acaba en los operandos del resultado"
    ),
    "The function that lists the nodes lists operands, and does not go on to theirs.": (
        "La función que anota los nodos anota operandos, y no sigue hasta los de estos."
    ),
    "a default argument is kept from one call to the next": (
        "un argumento por defecto se conserva de una llamada a otra"
    ),
    "The first backward() is right, and later ones are not.": (
        "El primer backward() está bien, y los siguientes no."
    ),
    "Python makes a default once, when it reads the def: what a call puts into the list is still "
    "there in the next one.": (
        "Python hace el valor por defecto una vez, al leer el def: lo que una llamada pone en la "
        "lista sigue ahí en la siguiente."
    ),
    "Make it inside of the function:  {2}": "Hazlo dentro de la función:  {2}",
    "all Values share one list": "todos los Values comparten una lista",
    "The list is outside of the function, and keeps what earlier calls have put into it.": (
        "La lista está fuera de la función, y conserva lo que pusieron llamadas anteriores."
    ),
    "Begin anew:  {2}": "Empieza de nuevo:  {2}",
    "results do not ask for gradients": "los resultados no piden gradientes",
    "Leaves that are made with a switch for gradients have one; results have not.": (
        "Las hojas que se hacen con un interruptor de gradientes lo tienen; los resultados no."
    ),
    "Operations make their results without it, so that it is off there and rules stop.": (
        "Las operaciones hacen sus resultados sin él, así que ahí está apagado y las reglas paran."
    ),
    "Pass it on: out is made with it if an operand has it.": (
        "Pásalo: out se hace con él si un operando lo tiene."
    ),
}
