"""What is said of how a file was loaded, or why it could not be, in Spanish.

Such a sentence comes out of the sandbox whole, with names and errors of the stranger's in it. So it
is known by its form; what stands in parentheses here is taken over, translated where it is such a
sentence itself.
"""

from __future__ import annotations

import re

FORMS = {
    r"left out: 1 statement that defines nothing": "omitido: 1 sentencia que no define nada",
    r"left out: (\d+) statements that define nothing": (
        "omitido: {0} sentencias que no definen nada"
    ),
    r"left out: (.*), and (\d+) more": "omitido: {0}, y {1} más",
    r"left out: (.*)": "omitido: {0}",
    r"not examined: (\d+) more of its files with such a class; --table examines a folder of "
    r"submissions": (
        "sin examinar: {0} más de sus archivos con una clase así; --table examina una carpeta de "
        "entregas"
    ),
    r"the class is in (.*)": "la clase está en {0}",
    r"other classes that could be examined: (.*)": "otras clases que se podrían examinar: {0}",
    r"only its definitions were loaded: (.*)": "solo se cargaron sus definiciones: {0}",
    r"it did not come to an end: time ran out while (.*)": (
        "no llegó al final: se acabó el tiempo mientras {0}"
    ),
    r"it did not come to an end while (.*)": "no llegó al final mientras {0}",
    r"it did not come to an end: (.*)": "no llegó al final: {0}",
    r"it says too much while (.*)": "dice demasiado mientras {0}",
    r"the process (.*) while (.*), before it could say anything": (
        "el proceso {0} mientras {1}, antes de poder decir nada"
    ),
    r"was killed by signal (\d+)": "fue terminado por la señal {0}",
    r"ended with code (\d+)": "acabó con el código {0}",
    r"what it answers cannot be understood while (.*) \((.*)\)": (
        "no se entiende lo que contesta mientras {0} ({1})"
    ),
    r"loading the file": "se cargaba el archivo",
    r"saying good-bye": "se despedía",
    r"running (.*)": "se ejecutaba {0}",
    r"an import takes long": "un import tarda mucho",
    r"(.*) takes long": "{0} tarda mucho",
    r"loading the file fails: (.*)": "cargar el archivo falla: {0}",
    r"loading the file ends the process: (.*)": "cargar el archivo termina el proceso: {0}",
    r"the file does not parse: (.*)": "el archivo no se puede analizar: {0}",
    r"(.*) does not parse: (.*)": "{0} no se puede analizar: {1}",
    r"it is nested too deeply": "está anidado a demasiada profundidad",
    r"the file cannot be read \((.*)\)": "el archivo no se puede leer ({0})",
    r"the file cannot be found \((.*)\)": "el archivo no se encuentra ({0})",
    r"the file is too large; the doctor reads up to (.*) bytes": (
        "el archivo es demasiado grande; el doctor lee hasta {0} bytes"
    ),
    r"the file has (.*) bytes, and (.*) are read at most": (
        "el archivo tiene {0} bytes, y se leen {1} como máximo"
    ),
    r"this is not an ordinary file; give the path of a \.py file": (
        "esto no es un archivo corriente; da la ruta de un archivo .py"
    ),
    r"this is neither a \.py file nor the name of a module": (
        "esto no es ni un archivo .py ni el nombre de un módulo"
    ),
    r"(.*); give the path of a \.py file, a notebook or a folder": (
        "{0}; da la ruta de un archivo .py, un cuaderno o una carpeta"
    ),
    r"there is no such file": "no existe tal archivo",
    r"no process can be started for it \((.*)\)": "no se puede iniciar un proceso para él ({0})",
    r"there is no class with operators in any file of the folder": (
        "no hay ninguna clase con operadores en los archivos de la carpeta"
    ),
    r"there is no class in it": "no hay ninguna clase en él",
    r"there is no class (\S+) in (\S+)": "no hay una clase {0} en {1}",
    r"there is no class in it \((.*)\)": "no hay ninguna clase en él ({0})",
    r"it has no operations that could be examined, such as \+ and \*": (
        "no tiene operaciones que se puedan examinar, como + y *"
    ),
    r"(\S+) has no backward\(\) yet; (.*)": "{0} no tiene backward() todavía; {1}",
    r"(\S+) has no gradient in an attribute called (\S+); (.*)": (
        "{0} no tiene gradiente en un atributo llamado {1}; {2}"
    ),
    r"(\S+) has no gradient in an attribute such as grad; (.*)": (
        "{0} no tiene gradiente en un atributo como grad; {1}"
    ),
    r"(\S+) has no (\S+); (.*)": "{0} no tiene {1}; {2}",
    r"(\S+) keeps its number in no attribute called (\S+); name it": (
        "{0} no guarda su número en un atributo llamado {1}; nómbralo"
    ),
    r"(\S+) keeps its number in no attribute such as data; name it": (
        "{0} no guarda su número en un atributo como data; nómbralo"
    ),
    r"(\S+) keeps a complex number in (\S+); numbers are real": (
        "{0} guarda un número complejo en {1}; los números son reales"
    ),
    r"(\S+) cannot be made from one number \((.*)\)": "{0} no se puede hacer de un número ({1})",
    r"(\S+) cannot be made from one number": "{0} no se puede hacer de un número",
    r"(\S+\(2\.5\)) does not come to an end": "{0} no termina nunca",
    r"\+ or \* of two (\S+)s does not come to an end": "+ o * de dos {0} no termina nunca",
    r"it has nothing else": "no tiene nada más",
    r"it has (operations .*|attributes .*|methods .*)": "tiene {0}",
    r"operations ([^;]*); (.*)": "operaciones {0}; {1}",
    r"attributes ([^;]*); (.*)": "atributos {0}; {1}",
    r"operations ([^;]*)": "operaciones {0}",
    r"attributes ([^;]*)": "atributos {0}",
    r"methods ([^;]*)": "métodos {0}",
    r"line (\d+) has (\S+), but the class that answers has not": (
        "la línea {0} tiene {1}, pero la clase que contesta no"
    ),
    r"results have no (\S+): either it is spoken to in a wrong way, or nothing works yet": (
        "los resultados no tienen {0}: o se le habla mal, o nada funciona todavía"
    ),
    r"every question ends alike, in (.*) \(line (\d+)\): either it is spoken to in a wrong way, or "
    r"nothing works yet": (
        "todas las preguntas acaban igual, en {0} (línea {1}): o se le habla mal, o nada funciona "
        "todavía"
    ),
    r"every question ends alike, in (.*): either it is spoken to in a wrong way, or nothing works "
    r"yet": (
        "todas las preguntas acaban igual, en {0}: o se le habla mal, o nada funciona todavía"
    ),
    r"(.*\)), ((?:\S+, )?(?:cell \d+, )?line \d+ \(.*\))": "{0}, {1}",
    r"(\S+\.\w+), (line \d+.*|cell \d+, .*)": "{0}, {1}",
    r"line (\d+) \((.*)\)": "línea {0} ({1})",
    r"cell (\d+), line (\d+) \((.*)\)": "celda {0}, línea {1} ({2})",
    r"line (\d+)(|: .*)": "línea {0}{1}",
    r"cell (\d+), line (\d+)(|: .*)": "celda {0}, línea {1}{2}",
    r"(\w+): (\S+) is not loaded for this": "{0}: {1} no se carga para esto",
    r"(\w+): (.*) is not there while the doctor looks": "{0}: {1} no está mientras el doctor mira",
    r"(\w+): writing a file elsewhere is not allowed while the doctor looks: (.*)": (
        "{0}: no se permite escribir un archivo en otro sitio mientras el doctor mira: {1}"
    ),
    r"(\w+): (\S+) elsewhere is not allowed while the doctor looks: (.*)": (
        "{0}: no se permite {1} en otro sitio mientras el doctor mira: {2}"
    ),
    r"(\w+): (.*) is not allowed while the doctor looks(.*)": (
        "{0}: no se permite {1} mientras el doctor mira{2}"
    ),
    r"its operations need a module: (.*)": "sus operaciones necesitan un módulo: {0}",
    r"it does not say why": "no dice por qué",
}


def in_spanish(sentence: str) -> str:
    """Return what is said of a file in Spanish; what is no such sentence stays as it is."""
    for form, spanish in FORMS.items():
        found = re.fullmatch(form, sentence, re.DOTALL)
        if found:
            return spanish.format(*map(in_spanish, found.groups()))
    return sentence
