"""Faults of a whole engine, in Spanish."""

from __future__ import annotations

SPANISH = {
    "nodes are listed before their operands, and the list is reversed": (
        "los nodos se anotan antes que sus operandos, y la lista se invierte"
    ),
    "A list that is filled on the way down begins with the result; reversed, it ends with it, so "
    "that all other rules run while their gradients are still 0.": (
        "Una lista que se llena al bajar empieza por el resultado; invertida, acaba en él, y las "
        "demás reglas corren mientras sus gradientes son todavía 0."
    ),
    "Append a node after its children, and keep reversed().": (
        "Añade un nodo después de sus hijos, y deja reversed()."
    ),
    "the gradient to begin with goes to something else": (
        "el gradiente con que empezar va a otra cosa"
    ),
    "backward() gives 1 to a name from outside of it, and not to the result that it was called "
    "on.": "backward() da el 1 a un nombre de fuera, y no al resultado sobre el que se llamó.",
    "self.grad = 1.0 in backward().": "self.grad = 1.0 en backward().",
    "leaves are given the gradient that the result should begin with": (
        "las hojas reciben el gradiente con que debería empezar el resultado"
    ),
    "Every leaf has the gradient 1, and the result has 0.": (
        "Cada hoja tiene el gradiente 1, y el resultado tiene 0."
    ),
    "The pass sets 1 where it ends, in nodes without operands, and whatever has arrived there is "
    "lost; the derivative that is 1 is that of the result by itself.": (
        "El paso pone 1 donde termina, en los nodos sin operandos, y lo que había llegado allí se "
        "pierde; la derivada que vale 1 es la del resultado respecto de sí mismo."
    ),
    "self.grad = 1.0 before the pass begins, and nothing where it ends.": (
        "self.grad = 1.0 antes de que empiece el paso, y nada donde termina."
    ),
    "the result's gradient is set after the loop": (
        "el gradiente del resultado se pone después del bucle"
    ),
    "The rules run while the result's gradient is still 0, and pass on 0; 1 comes too late.": (
        "Las reglas corren mientras el gradiente del resultado es todavía 0, y pasan 0; el 1 llega "
        "tarde."
    ),
    "self.grad = 1.0 before the loop that calls the rules.": (
        "self.grad = 1.0 antes del bucle que llama a las reglas."
    ),
    "the loop calls the rule of the result again and again": (
        "el bucle llama una y otra vez a la regla del resultado"
    ),
    "The last operands get their gradients several times; what lies deeper gets none.": (
        "Los operandos de la última operación reciben sus gradientes varias veces; lo más hondo, "
        "ninguno."
    ),
    "The loop goes through the nodes, and calls self._backward() instead of that of the node.": (
        "El bucle recorre los nodos, y llama a self._backward() en lugar de la del nodo."
    ),
    "the constructor does not keep the operands": "el constructor no guarda los operandos",
    "Operands are given to the constructor, and it keeps none: backward() finds no way on.": (
        "Los operandos se dan al constructor, y no guarda ninguno: backward() no puede seguir."
    ),
    "self._prev = set(_children) in __init__.": "self._prev = set(_children) en __init__.",
    "the function that sorts the graph is never called": (
        "nadie llama a la función que ordena el grafo"
    ),
    "A function inside of backward() fills the list of nodes, and nobody calls it: the list is "
    "empty.": (
        "Una función dentro de backward() llena la lista de nodos, y nadie la llama: la lista está "
        "vacía."
    ),
    "Call it before the loop: build(self).": "Llámala antes del bucle: build(self).",
    "nothing goes through the graph: backward() is the rule of one node": (
        "nada recorre el grafo: backward() es la regla de un solo nodo"
    ),
    "All gradients are 0; with b.grad = 1 set by hand, those of the last operands move.": (
        "Todos los gradientes son 0; con b.grad = 1 puesto a mano, se mueven los de los últimos "
        "operandos."
    ),
    "Every node's backward is its own rule, and nobody calls those of the others in turn.": (
        "El backward de cada nodo es su propia regla, y nadie llama por turno a las de los demás."
    ),
    "Call the rules _backward, and write a method backward(): sort all nodes below the result, "
    "set self.grad = 1.0, and call each rule from the result down.": (
        "Llama _backward a las reglas, y escribe un método backward(): ordena todos los nodos bajo "
        "el resultado, pon self.grad = 1.0, y llama a cada regla desde el resultado hacia abajo."
    ),
    "every operation overwrites gradients": "todas las operaciones sobrescriben los gradientes",
    "b = a + a gives 1 instead of 2; every Value that is used twice has a wrong gradient.": (
        "b = a + a da 1 en vez de 2; todo Value que se usa dos veces tiene mal el gradiente."
    ),
    "self.grad = … keeps the last contribution and throws the others away; the chain rule adds "
    "them up, one for each path.": (
        "self.grad = … guarda la última contribución y tira las demás; la regla de la cadena las "
        "suma, una por cada camino."
    ),
    "Write += instead of = wherever a _backward sets a gradient.": (
        "Escribe += en lugar de = donde un _backward pone un gradiente."
    ),
    "an operation with itself loses a contribution": (
        "una operación de algo consigo mismo pierde una contribución"
    ),
    "a + a and a * a are wrong, everything else is right.": (
        "a + a y a * a están mal, todo lo demás está bien."
    ),
    "Both old gradients are read before either is written: if the operands are the same object, "
    "the second write undoes the first.": (
        "Los dos gradientes se leen antes de escribir ninguno: si los operandos son el mismo "
        "objeto, la segunda escritura deshace la primera."
    ),
    "Two statements, one after the other: self.grad += …, then other.grad += ….": (
        "Dos sentencias, una tras otra: self.grad += …, luego other.grad += …."
    ),
    "a set of operands loses an edge": "un conjunto de operandos pierde una arista",
    "b = a + a gives 1 instead of 2, and a * a gives a.": (
        "b = a + a da 1 en vez de 2, y a * a da a."
    ),
    "A set holds each operand once, so that the second use of a is not there any more.": (
        "Un conjunto tiene cada operando una vez, así que el segundo uso de a ya no está."
    ),
    "Keep the operands in a tuple, in order, with repeats.": (
        "Guarda los operandos en una tupla, en orden y con repeticiones."
    ),
    "no topological sort: plain recursion": "sin orden topológico: recursión sin más",
    "A chain is right; where ways meet again, gradients come out too large.": (
        "Una cadena está bien; donde los caminos se juntan, los gradientes salen demasiado grandes."
    ),
    "Each way down runs a node's _backward again, with everything that has gathered in it by "
    "then.": (
        "Cada camino hacia abajo ejecuta otra vez el _backward de un nodo, con todo lo que se ha "
        "juntado en él hasta entonces."
    ),
    "Sort the nodes first; run each _backward once, after those of all its users.": (
        "Ordena primero los nodos; ejecuta cada _backward una vez, después de los de sus usuarios."
    ),
    "no topological sort: breadth first": "sin orden topológico: primero a lo ancho",
    "Right as long as all ways to a node are equally long.": (
        "Bien mientras todos los caminos a un nodo sean igual de largos."
    ),
    "A node runs when its first user has finished, not when all of them have: it passes on a "
    "gradient that is still growing.": (
        "Un nodo se ejecuta cuando ha acabado su primer usuario, no todos: pasa un gradiente que "
        "aún está creciendo."
    ),
    "A topological sort: a node after all of its users.": (
        "Un orden topológico: cada nodo después de todos sus usuarios."
    ),
    "nodes run in the order in which they are met": (
        "los nodos se ejecutan en el orden en que se encuentran"
    ),
    "Right for trees; wrong where a shared node is met early and used again later.": (
        "Bien en árboles; mal donde un nodo compartido se encuentra pronto y se usa más tarde."
    ),
    "Nodes are listed, or their rules run, on the way down: before all of their users were met.": (
        "Los nodos se anotan, o se ejecutan, al bajar: antes de haber pasado por todos sus usos."
    ),
    "Append a node after its children, and run the list from its end.": (
        "Añade un nodo después de sus hijos y recorre la lista desde el final."
    ),
    "the sorted list is run from the wrong end": "la lista ordenada se recorre al revés",
    "Only the operands of the last operation have a gradient.": (
        "Solo los operandos de la última operación tienen gradiente."
    ),
    "Leaves come first in the list: they run while their own gradients are still 0.": (
        "Las hojas van primero en la lista: se ejecutan cuando su gradiente aún es 0."
    ),
    "Run it backwards: for v in reversed(topo).": "Recórrela hacia atrás: for v in reversed(topo).",
    "shared nodes run more than once": "los nodos compartidos se ejecutan más de una vez",
    "Gradients behind a shared node come out too large.": (
        "Los gradientes detrás de un nodo compartido salen demasiado grandes."
    ),
    "Without a set of visited nodes the list holds a shared node once for every way to it.": (
        "Sin un conjunto de visitados, la lista tiene un nodo compartido una vez por camino."
    ),
    "Remember what has been visited.": "Recuerda lo que ya se ha visitado.",
    "the set of visited nodes begins anew in every call": (
        "el conjunto de visitados empieza de nuevo en cada llamada"
    ),
    "Each call of the function that sorts the graph makes a set of its own, so that nothing is "
    "ever found in it: the list holds a shared node once for every way to it.": (
        "Cada llamada de la función que ordena el grafo hace un conjunto propio, y nada se "
        "encuentra nunca en él: la lista tiene un nodo compartido una vez por camino."
    ),
    "Make the set once, before the function that sorts.": (
        "Haz el conjunto una vez, antes de la función que ordena."
    ),
    "shared nodes are put into the list more than once": (
        "los nodos compartidos se ponen en la lista más de una vez"
    ),
    "topo.append(v), and perhaps the loop above it, stands outside of the `if v not in visited`, "
    "so that it runs at every visit.": (
        "topo.append(v), y quizá el bucle de arriba, está fuera del `if v not in visited`, así "
        "que se ejecuta en cada visita."
    ),
    "Indent all that comes after the if, so that it belongs to it.": (
        "Indenta todo lo que sigue al if, para que sea parte de él."
    ),
    "nodes are taken for visited by their names": "los nodos se dan por visitados por su nombre",
    "The set of visited nodes holds labels or names, and nodes without one are all alike in it.": (
        "El conjunto de visitados tiene etiquetas o nombres, y los nodos sin nombre son todos "
        "iguales."
    ),
    "Keep the nodes themselves, or id(node), in the set.": (
        "Guarda en el conjunto los propios nodos, o id(node)."
    ),
    "the result has no gradient to begin with": "el resultado no tiene gradiente con que empezar",
    "All gradients are 0.": "Todos los gradientes son 0.",
    "Every contribution is a product with the gradient of the result, and that is still 0.": (
        "Cada contribución es un producto con el gradiente del resultado, que aún es 0."
    ),
    "Set self.grad = 1.0 before the first _backward: the derivative of a thing by itself is 1.": (
        "Pon self.grad = 1.0 antes del primer _backward: la derivada de algo respecto a sí mismo "
        "es 1."
    ),
    "gradients are cleared where the pass needs them": (
        "los gradientes se borran donde la pasada los necesita"
    ),
    "All gradients are 0, that of the result too, even if it was set by hand.": (
        "Todos los gradientes son 0, también el del resultado, aunque se pusiera a mano."
    ),
    "self.grad = 0, or a loop that clears every node, comes after the seed.": (
        "self.grad = 0, o un bucle que borra todos los nodos, viene después de la semilla."
    ),
    "Clear first, then set self.grad = 1.0: the derivative of a thing by itself.": (
        "Borra primero y luego pon self.grad = 1.0: la derivada de algo respecto a sí mismo."
    ),
    "an attribute hides the method backward()": "un atributo oculta el método backward()",
    "self.backward = … or out.backward = … gives a Value an attribute of that name, which wins "
    "over the method.": (
        "self.backward = … o out.backward = … da a un Value un atributo con ese nombre, que gana "
        "al método."
    ),
    "Call the rule otherwise: self._backward = lambda: None, and out._backward = _backward.": (
        "Llama a la regla de otro modo: self._backward = lambda: None, y out._backward = _backward."
    ),
    "{0} has a line too many": "a {0} le sobra una línea",
    "Without this line, and with nothing else changed, they are right.": (
        "Sin esta línea, y sin cambiar nada más, son correctos."
    ),
    "Leave out  {1}": "Omite  {1}",
    "lines behind a return never run": "las líneas detrás de un return nunca se ejecutan",
    "{0} is right by its value, and its gradient is not there.": (
        "El valor de {0} es correcto, y su gradiente no está."
    ),
    "A return ends the function at once; what stands behind it is never reached.": (
        "Un return termina la función en el acto; a lo que está detrás no se llega nunca."
    ),
    "Put  {1}  before  {2}": "Pon  {1}  delante de  {2}",
    "backward() does nothing": "backward() no hace nada",
    "All gradients stay as they are.": "Todos los gradientes se quedan como están.",
    "There is nothing in it yet: it sets no gradient and runs no rule.": (
        "Aún no hay nada dentro: no pone ningún gradiente ni ejecuta ninguna regla."
    ),
    "Set self.grad = 1.0, sort the nodes, and call _backward() of each from the result down.": (
        "Pon self.grad = 1.0, ordena los nodos y llama al _backward() de cada uno desde el "
        "resultado."
    ),
    "backward() runs no rule": "backward() no ejecuta ninguna regla",
    "The result's gradient is 1, and all others are 0.": (
        "El gradiente del resultado es 1, y todos los demás son 0."
    ),
    "No rule is called: the loop is missing, or the brackets are (v._backward alone calls "
    "nothing), or operations keep their rules under another name.": (
        "No se llama a ninguna regla: falta el bucle, o faltan los paréntesis (v._backward solo "
        "no llama a nada), o las operaciones guardan sus reglas con otro nombre."
    ),
    "for v in reversed(topo): v._backward(), by the name that operations set.": (
        "for v in reversed(topo): v._backward(), con el nombre que ponen las operaciones."
    ),
    "for v in reversed(topo): v._backward().": "for v in reversed(topo): v._backward().",
    "every node begins with the gradient 1, not the result alone": (
        "todo nodo empieza con el gradiente 1, no solo el resultado"
    ),
    "All gradients are 1, whatever the expression.": (
        "Todos los gradientes son 1, sea cual sea la expresión."
    ),
    "backward() calls itself for the operands, and its first line sets each of them to 1, over "
    "what has arrived there; the derivative that is 1 is that of the result by itself.": (
        "backward() se llama a sí mismo para los operandos, y su primera línea pone cada uno a 1, "
        "encima de lo que haya llegado; la derivada que vale 1 es la del resultado respecto de sí "
        "mismo."
    ),
    "Set self.grad = 1.0 once, for the result, outside of what is called again for each node.": (
        "Pon self.grad = 1.0 una vez, para el resultado, fuera de lo que se llama de nuevo para "
        "cada nodo."
    ),
    "backward() sorts the graph of something else": "backward() ordena el grafo de otra cosa",
    "The sort begins at a variable outside of the class instead of at self.": (
        "La ordenación empieza en una variable de fuera de la clase en vez de en self."
    ),
    "Begin at self: build(self).": "Empieza en self: build(self).",
    "backward() runs the rule of the result alone": (
        "backward() solo ejecuta la regla del resultado"
    ),
    "One operation is right; what lies deeper gets no gradient.": (
        "Una operación está bien; lo que hay más abajo no recibe gradiente."
    ),
    "self._backward() reaches the operands of the last operation, and nobody goes on from there.": (
        "self._backward() llega a los operandos de la última operación, y nadie sigue desde ahí."
    ),
    "Sort all nodes below the result, and call _backward() of each, from the result down.": (
        "Ordena todos los nodos bajo el resultado y llama al _backward() de cada uno, desde el "
        "resultado."
    ),
    "backward() goes two levels down": "backward() baja dos niveles",
    "Small expressions are right; what lies deeper gets no gradient.": (
        "Las expresiones pequeñas están bien; lo que hay más abajo no recibe gradiente."
    ),
    "The rule of the result and those of its operands run, and nobody goes on from there.": (
        "Se ejecutan la regla del resultado y las de sus operandos, y nadie sigue desde ahí."
    ),
}
