"""What a report says besides its rows, and what is known in general, in Spanish."""

from __future__ import annotations

SPANISH = {
    # ---- the report ------------------------------------------------------------------------------
    "No fault": "ningún fallo",
    "1 fault": "1 fallo",
    "{0} faults": "{0} fallos",
    "1 limit": "1 límite",
    "{0} limits": "{0} límites",
    "fault": "fallo",
    "limit": "límite",
    "note": "nota",
    "{0} probes": "{0} pruebas",
    "not there: {0}": "no están: {0}",
    "not examined: {0}": "sin examinar: {0}",
    "{0}: class {1}": "{0}: clase {1}",
    "Could not examine it: {0}.": "No se pudo examinar: {0}.",
    "Could not examine it to the end: {0}.": "No se pudo examinar hasta el final: {0}.",
    "1 other probe fails": "falla 1 prueba más",
    "{0} other probes fail": "fallan {0} pruebas más",
    "Which class, {0}?": "¿Qué clase, {0}?",
    "submission": "entrega",
    "verdict": "veredicto",
    "what": "qué",
    "faults": "fallos",
    "line": "línea",
    "limits": "límites",
    "same as": "igual que",
    "why not": "por qué no",
    "sound": "sano",
    "not examined": "sin examinar",
    "1 submission": "1 entrega",
    "{0} submissions": "{0} entregas",
    "{0} sound": "{0} sin fallos",
    "{0} with a fault": "{0} con algún fallo",
    "{0} not examined": "{0} sin examinar",
    "try": "prueba",
    "right": "correcto",
    "here": "aquí",
    "why": "por qué",
    "look at": "mira",
    "fix": "arreglo",
    "also": "también",
    "The same, with this fault switched on; choose “none” to see it done right.": (
        "Lo mismo, con este fallo activado; elige «ninguno» para verlo bien hecho."
    ),
    "The same, done right, step by step.": "Lo mismo, bien hecho, paso a paso.",
    "{0}": "{0}",
    "{0}: {1}": "{0}: {1}",
    "{0} reaches {1} twice: {3}": "{0} llega a {1} dos veces: {3}",
    "{0} reaches {1} {2} times: {3}": "{0} llega a {1} {2} veces: {3}",
    "{0}; your engine kept only one of them": "{0}; tu motor solo guardó una de ellas",
    "a.grad = {0} after one call, {1} after two; right: {2}": (
        "a.grad = {0} tras una llamada, {1} tras dos; correcto: {2}"
    ),
    "b.grad = {0} after the pass from c and the pass from b; right: 2.5": (
        "b.grad = {0} tras la pasada desde c y la pasada desde b; correcto: 2.5"
    ),
    "a second backward() gives the same gradients instead of adding to them": (
        "un segundo backward() da los mismos gradientes en vez de sumarse a ellos"
    ),
    "a.grad = {0} after zero_grad()": "a.grad = {0} después de zero_grad()",
    "{0} on a chain of {1} additions": "{0} en una cadena de {1} sumas",
    "a.grad = {0} on a chain of {1} additions": "a.grad = {0} en una cadena de {1} sumas",
    "tanh(1000) is nan": "tanh(1000) es nan",
    "{0} Values of 20 small graphs were still there until the collector ran": (
        "{0} Values de 20 grafos pequeños seguían ahí hasta que pasó el recolector"
    ),
    "{0} Values of 20 small graphs are never freed": (
        "{0} Values de 20 grafos pequeños no se liberan nunca"
    ),
    "relu'(0) = {0}": "relu'(0) = {0}",
    # ---- what is known in general ---------------------------------------------------------------
    "nodes do not run in topological order": "los nodos no se ejecutan en orden topológico",
    "A chain is right; where ways meet again, gradients are wrong.": (
        "Una cadena está bien; donde los caminos se juntan, los gradientes están mal."
    ),
    "A node's _backward runs before all of its users have run theirs, or more than once.": (
        "El _backward de un nodo se ejecuta antes que los de todos sus usuarios, o más de una vez."
    ),
    "Sort the nodes first, and run each _backward once, after those of all its users.": (
        "Ordena primero los nodos y ejecuta cada _backward una vez, después de los de sus usuarios."
    ),
    "the pass does not begin with 1": "la pasada no empieza con 1",
    "All gradients are {0} times what is right.": "Todos los gradientes son {0} veces lo correcto.",
    "The gradient of the result is {0}; the derivative of a thing by itself is 1.": (
        "El gradiente del resultado es {0}; la derivada de algo respecto a sí mismo es 1."
    ),
    "self.grad = 1.0 before the first _backward.": "self.grad = 1.0 antes del primer _backward.",
    "the value of {0} is wrong": "el valor de {0} está mal",
    "The number that comes out of {0} is another one, before any gradient.": (
        "El número que sale de {0} es otro, antes de cualquier gradiente."
    ),
    "The mistake is where the value is computed, not in the backward pass.": (
        "El error está donde se calcula el valor, no en la pasada hacia atrás."
    ),
    "Compute the value of the expression by hand, and compare with what {0} computes.": (
        "Calcula a mano el valor de la expresión y compáralo con lo que calcula {0}."
    ),
    "the gradient of {0} is wrong": "el gradiente de {0} está mal",
    "The value of {0} is right, and its gradient is not.": (
        "El valor de {0} está bien, y su gradiente no."
    ),
    "It is no slip that the catalogue has.": "No es un descuido que esté en el catálogo.",
    "Compare the derivative of {0}, times out.grad, with the rule; write it with +=.": (
        "Compara la derivada de {0}, por out.grad, con la regla; escríbela con +=."
    ),
    "the gradient of {0} does not fit its own values": (
        "el gradiente de {0} no encaja con sus propios valores"
    ),
    "{0} changes otherwise than its gradient says.": "{0} cambia de otro modo que su gradiente.",
    "What is right was found by differences: the values of {0} a little to both sides.": (
        "Lo correcto se halló por diferencias: los valores de {0} un poco a cada lado."
    ),
    "Differentiate what {0} computes, and write that times out.grad into its rule, by +=.": (
        "Deriva lo que calcula {0} y escribe eso por out.grad en su regla, con +=."
    ),
    "{0} is wrong because of one line": "{0} está mal por una sola línea",
    "Numbers that come from {0} are wrong.": "Los números que salen de {0} están mal.",
    "With this line written otherwise, and nothing else changed, they are right.": (
        "Con esta línea escrita de otro modo, y sin cambiar nada más, están bien."
    ),
    "the derivative of {0} is wrong": "la derivada de {0} está mal",
    "With the right derivative in this line, and nothing else changed, it is.": (
        "Con la derivada correcta en esta línea, y sin cambiar nada más, lo está."
    ),
    "{0} is wrong because of one line, too": "{0} también está mal por una sola línea",
    "Numbers that come from {0} are wrong, even if the other lines are mended.": (
        "Los números que salen de {0} están mal, aun con las otras líneas arregladas."
    ),
    "With the lines of the other findings mended, and this line written otherwise, they "
    "are right.": (
        "Con las líneas de los otros hallazgos arregladas, y esta escrita de otro modo, están bien."
    ),
    "the derivative of {0} is wrong, too": "la derivada de {0} también está mal",
    "The gradient of {0} is wrong, even if the other lines are mended.": (
        "El gradiente de {0} está mal, aun con las otras líneas arregladas."
    ),
    "With the lines of the other findings mended, and the right derivative in this line, "
    "it is right.": (
        "Con las líneas de los otros hallazgos arregladas, y la derivada correcta en esta, está "
        "bien."
    ),
    "Write  {2}  instead of  {1}": "Escribe  {2}  en vez de  {1}",
    "an expression ends in {0}": "una expresión acaba en {0}",
    "an expression does not come to an end": "una expresión no termina nunca",
    "it does not come to an end": "no termina nunca",
    "An expression of operations that the class has takes for ever.": (
        "Una expresión de operaciones que la clase tiene no termina nunca."
    ),
    "A loop does not end: what it waits for never changes, or comes back again and again.": (
        "Un bucle no acaba: lo que espera no cambia nunca, o vuelve una y otra vez."
    ),
    "Ask of the loop around this line what is to end it, and print that in each turn.": (
        "Pregunta al bucle que hay en torno a esta línea qué ha de acabarlo, e imprímelo en cada"
        " vuelta."
    ),
    "An expression of operations that the class has ends in {0}.": (
        "Una expresión con operaciones que la clase tiene acaba en {0}."
    ),
    "The message and the line are the engine's own.": "El mensaje y la línea son del propio motor.",
    "Run the line of this report by itself, and read the whole traceback.": (
        "Ejecuta sola la línea de este informe y lee el traceback entero."
    ),
    "gradients are wrong in a way that is not in the catalogue": (
        "los gradientes están mal de un modo que no está en el catálogo"
    ),
    "Every operation is right by itself; together they are not.": (
        "Cada operación está bien por sí sola; juntas no."
    ),
    "No fault of the catalogue gives these numbers.": "Ningún fallo del catálogo da estos números.",
    "Run the line of this report, and compare the gradient of each node with the right.": (
        "Ejecuta la línea de este informe y compara el gradiente de cada nodo con el correcto."
    ),
    "the engine refuses an expression": "el motor rechaza una expresión",
    "It raises an error of its own on ordinary operands.": (
        "Lanza un error propio con operandos corrientes."
    ),
    "A raise or an assert in the file says no.": "Un raise o un assert del archivo dice que no.",
    "If it need not, take the check out.": "Si no hace falta, quita la comprobación.",
}
