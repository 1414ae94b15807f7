"""Faults in the rule of one operation, in Spanish."""

from __future__ import annotations

SPANISH = {
    "the exponent's gradient is wrong": "el gradiente del exponente está mal",
    "c = a ** b gives a the right gradient, and b a wrong one.": (
        "c = a ** b da a a el gradiente correcto, y a b uno equivocado."
    ),
    "The derivative of a**b by b is a**b * log(a); that of a power by its base is another one.": (
        "La derivada de a**b respecto a b es a**b * log(a); la de una potencia por su base es otra."
    ),
    "multiplication uses the wrong operand": "la multiplicación usa el operando equivocado",
    "For a * b, a gets a and b gets b.": "En a * b, a recibe a, y b recibe b.",
    "The derivative of a*b with respect to a is b: the *other* operand.": (
        "La derivada de a*b respecto a a es b: el *otro* operando."
    ),
    "self.grad += other.data * out.grad, and the other way round.": (
        "self.grad += other.data * out.grad, y lo mismo al revés."
    ),
    "multiplication uses the other operand's gradient": (
        "la multiplicación usa el gradiente del otro operando"
    ),
    "For a * b, both gradients are 0.": "En a * b, los dos gradientes son 0.",
    "The derivative of a*b with respect to a is b's *number*; its gradient is still 0 by then.": (
        "La derivada de a*b respecto a a es el *número* de b; su gradiente aún es 0 entonces."
    ),
    "the exponent is not lowered": "el exponente no baja",
    "a**2 at 3 gives 18 instead of 6.": "a**2 en 3 da 18 en vez de 6.",
    "The derivative of x**n is n * x**(n-1).": "La derivada de x**n es n * x**(n-1).",
    "self.grad += n * self.data ** (n - 1) * out.grad.": (
        "self.grad += n * self.data ** (n - 1) * out.grad."
    ),
    "the exponent is missing as a factor": "falta el exponente como factor",
    "a**2 at 3 gives 3 instead of 6.": "a**2 en 3 da 3 en vez de 6.",
    "Multiply by n.": "Multiplica por n.",
    "powers of negative numbers fail": "las potencias de números negativos fallan",
    "(-3)**2 is an error.": "(-3)**2 es un error.",
    "x**n by exp(n*log(x)) needs a logarithm, which negative numbers do not have.": (
        "x**n como exp(n*log(x)) necesita un logaritmo, que los números negativos no tienen."
    ),
    "Use Python's own self.data**n.": "Usa el self.data**n de Python.",
    "the divisor's gradient has the wrong sign": "el gradiente del divisor tiene mal el signo",
    "For a / b, the gradient of b has the wrong sign.": (
        "En a / b, el gradiente de b tiene mal el signo."
    ),
    "The derivative of a/b with respect to b is -a/b**2.": (
        "La derivada de a/b respecto a b es -a/b**2."
    ),
    "Write the minus.": "Escribe el menos.",
    "the divisor's gradient lacks the square": "al gradiente del divisor le falta el cuadrado",
    "For a / b, the gradient of b is wrong unless b is 1 or -1.": (
        "En a / b, el gradiente de b está mal salvo si b es 1 o -1."
    ),
    "Divide by other.data**2.": "Divide entre other.data**2.",
    "the divisor's gradient lacks the numerator": "al gradiente del divisor le falta el numerador",
    "For a / b, the gradient of b is the same whatever a is.": (
        "En a / b, el gradiente de b es el mismo sea cual sea a."
    ),
    "other.grad += -self.data / other.data**2 * out.grad.": (
        "other.grad += -self.data / other.data**2 * out.grad."
    ),
    "division throws the fraction away": "la división tira la fracción",
    "7 / 2 is 3.": "7 / 2 es 3.",
    "// rounds down; and so does a conversion to int.": (
        "// redondea hacia abajo, y también lo hace una conversión a int."
    ),
    "Use / and float(data).": "Usa / y float(data).",
    "numbers lose their fraction": "los números pierden su fracción",
    "Value(0.5) holds 0, and everything that is made of it is wrong.": (
        "Value(0.5) tiene 0, y todo lo que se hace con él está mal."
    ),
    "int(data) in the constructor, or an integer array below it.": (
        "int(data) en el constructor, o un array de enteros debajo."
    ),
    "Keep float(data).": "Guarda float(data).",
    "tanh's derivative is 1 - t": "la derivada de tanh es 1 - t",
    "Gradients through tanh are too small for t > 0 and too large for t < 0.": (
        "Los gradientes a través de tanh son muy pequeños si t > 0 y muy grandes si t < 0."
    ),
    "The derivative of tanh is 1 - t**2, with the square.": (
        "La derivada de tanh es 1 - t**2, con el cuadrado."
    ),
    "self.grad += (1 - t**2) * out.grad.": "self.grad += (1 - t**2) * out.grad.",
    "tanh's derivative uses the input": "la derivada de tanh usa la entrada",
    "Gradients through tanh are wrong, the more the larger the input.": (
        "Los gradientes a través de tanh están mal, tanto más cuanto mayor es la entrada."
    ),
    "In 1 - t**2, t is the *value* of tanh, not what went into it.": (
        "En 1 - t**2, t es el *valor* de tanh, no lo que entró."
    ),
    "Use the output: out.data.": "Usa la salida: out.data.",
    "exp's derivative uses the input": "la derivada de exp usa la entrada",
    "Gradients through exp are wrong.": "Los gradientes a través de exp están mal.",
    "exp is its own derivative: exp(x), not x.": "exp es su propia derivada: exp(x), no x.",
    "self.grad += out.data * out.grad.": "self.grad += out.data * out.grad.",
    "exp's derivative takes exp twice": "la derivada de exp toma exp dos veces",
    "Gradients through exp are far too large.": (
        "Los gradientes a través de exp son demasiado grandes."
    ),
    "out.data is exp(x) already, and exp is its own derivative.": (
        "out.data ya es exp(x), y exp es su propia derivada."
    ),
    "relu passes every gradient": "relu deja pasar todos los gradientes",
    "Gradients get past a relu whose input was negative.": (
        "Pasan gradientes por un relu cuya entrada era negativa."
    ),
    "Its derivative is 1 where the input was positive and 0 elsewhere.": (
        "Su derivada es 1 donde la entrada era positiva y 0 en el resto."
    ),
    "self.grad += (out.data > 0) * out.grad.": "self.grad += (out.data > 0) * out.grad.",
    "relu's derivative is its value": "la derivada de relu es su valor",
    "Gradients through relu are multiplied by its output.": (
        "Los gradientes a través de relu se multiplican por su salida."
    ),
    "The derivative is 0 or 1, not the value.": "La derivada es 0 o 1, no el valor.",
    "log's derivative uses the output": "la derivada de log usa la salida",
    "Gradients through log are wrong.": "Los gradientes a través de log están mal.",
    "The derivative of log(x) is 1/x, with x what went in.": (
        "La derivada de log(x) es 1/x, con x lo que entró."
    ),
    "self.grad += out.grad / self.data.": "self.grad += out.grad / self.data.",
    "log's derivative is the input": "la derivada de log es la entrada",
    "Gradients through log grow with the input.": (
        "Los gradientes a través de log crecen con la entrada."
    ),
    "The derivative of log(x) is 1/x, not x.": "La derivada de log(x) es 1/x, no x.",
    "sigmoid's derivative is 1 - s": "la derivada de sigmoid es 1 - s",
    "Gradients through sigmoid are too large.": (
        "Los gradientes a través de sigmoid son demasiado grandes."
    ),
    "The derivative of sigmoid is s * (1 - s): the factor s is missing.": (
        "La derivada de sigmoid es s * (1 - s): falta el factor s."
    ),
    "self.grad += out.data * (1 - out.data) * out.grad.": (
        "self.grad += out.data * (1 - out.data) * out.grad."
    ),
    "sigmoid's derivative uses the input": "la derivada de sigmoid usa la entrada",
    "Gradients through sigmoid are wrong, and even negative.": (
        "Los gradientes a través de sigmoid están mal, e incluso son negativos."
    ),
    "In s * (1 - s), s is the *value* of sigmoid, not what went into it.": (
        "En s * (1 - s), s es el *valor* de sigmoid, no lo que entró."
    ),
    "subtraction gives both operands the same sign": (
        "la resta da a los dos operandos el mismo signo"
    ),
    "For a - b, the gradient of b is 1 instead of -1.": (
        "En a - b, el gradiente de b es 1 en vez de -1."
    ),
    "The derivative of a - b with respect to b is -1.": "La derivada de a - b respecto a b es -1.",
    "other.grad -= out.grad.": "other.grad -= out.grad.",
    "negation forgets its sign on the way back": "la negación olvida su signo a la vuelta",
    "The gradient of -a is 1 instead of -1.": "El gradiente de -a es 1 en vez de -1.",
    "The derivative of -a is -1.": "La derivada de -a es -1.",
    "self.grad -= out.grad.": "self.grad -= out.grad.",
    "a Value in the exponent gets no gradient": "un Value en el exponente no recibe gradiente",
    "c = a ** b leaves b.grad at 0.": "c = a ** b deja b.grad en 0.",
    "The rule of ** knows one operand; an exponent that is a Value is another one.": (
        "La regla de ** conoce un operando; un exponente que es un Value es otro."
    ),
    "other.grad += out.data * math.log(self.data) * out.grad; or refuse a Value as exponent.": (
        "other.grad += out.data * math.log(self.data) * out.grad; o rechaza un Value ahí."
    ),
    "functions made in a loop all use the last rule": (
        "las funciones hechas en un bucle usan todas la última regla"
    ),
    "Values are right, but tanh, exp and log have relu's derivative.": (
        "Los valores están bien, pero tanh, exp y log tienen la derivada de relu."
    ),
    "A closure looks a name up when it runs, and by then the loop variable has its last value.": (
        "Una clausura busca un nombre cuando se ejecuta, y entonces la variable del bucle tiene su "
        "último valor."
    ),
    "Bind it when the function is made: def op(self, slope=slope).": (
        "Fíjalo al hacer la función: def op(self, slope=slope)."
    ),
}
