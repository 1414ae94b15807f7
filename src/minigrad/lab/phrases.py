"""What the commands say, in every language: the same keys, with the same {fields}, in each."""

from __future__ import annotations

from ..core.names import readable

PHRASES: dict[str, dict[str, str]] = {
    "en": {
        "labs": "Labs: break a small engine, see which tests still pass, repair it",
        "lab": "lab",
        "about": "what you break",
        "how far": "how far",
        "open": "open",
        "begun": "begun",
        "is broken": "begun: broken",
        "done": "done",
        "progress": "{done} of {all} done.",
        "how to start": "Start with: minigrad lab break {name}",
        "how to go on": "Go on with: minigrad lab check {name}",
        "all done": "You have done them all.",
        "versions": "Value, as the lessons grow it",
        "doctor": "the doctor says",
        "no backward": "no backward() yet",
        "faults": "fault: {faults}",
        "no fault": "no fault",
        "limits": "limits: {count}",
        "version": "version",
        "new": "what is new",
        "how to read": "Read one with: minigrad lab versions {number}   (--diff for what changed)",
        "made": "{folder} is ready: engine.py, probe.py and LAB.md.",
        "kept": "Your engine.py is now {name}.",
        "first": "Next: write your hypothesis into {folder}/LAB.md, then run minigrad lab next.",
        "hypothesis next": (
            "Next: write your hypothesis into LAB.md; then minigrad lab next {name} says what to "
            "break."
        ),
        "after LAB.md": (
            "When you have, run `minigrad lab next`: it brings BREAK.md, which says what to change."
        ),
        "after BREAK.md": (
            "Is it as you thought? When `minigrad lab check` has seen it broken, look for the\n"
            "cause yourself. `minigrad lab next` brings ANSWERS.md."
        ),
        "page": "{file} is ready.",
        "not broken yet": (
            "The answers come when engine.py is broken as BREAK.md says, and minigrad lab check "
            "{name} has seen it."
        ),
        "all pages": "You have all the pages of {name}: LAB.md, BREAK.md and ANSWERS.md.",
        "started": "{name}: engine.py is still whole.",
        "started next": "Next: break it as BREAK.md says, and run minigrad lab check again.",
        "broken": "{name}: broken, just as it should be.",
        "broken next": (
            "Next: compare with your hypothesis, find the cause and repair engine.py. "
            "minigrad lab next\nbrings the answers; minigrad lab check says when it is whole."
        ),
        "repaired": "{name}: finished. You broke it, you saw it, and you repaired it.",
        "seen": "What you saw while it was broken:",
        "repaired next": (
            "Next: read the lesson in ANSWERS.md (minigrad lab next), and try another lab."
        ),
        "partial": "{name}: partly repaired. {mended} of {all} wrong numbers are right again.",
        "partial next": "Next: the rows above are still wrong. Find what they have in common.",
        "other": "{name}: engine.py has changed, but not in the way of this lab.",
        "other next": (
            "Next: compare your change with BREAK.md, or start over with minigrad lab reset."
        ),
        "failed": "{name}: engine.py does not run.",
        "failed next": "Next: mend it, or start over with minigrad lab reset.",
        "experiment": "experiment",
        "yours": "yours",
        "whole": "whole",
        "as asked": "broken as asked",
        "reset": "engine.py is whole again.",
        "in line": "(engine.py, line ",
        "too long": "it was still running after {seconds} s; is there a loop that never ends?",
        "died": "the process that ran it died ({code}) before it could answer.",
        "missing": "there is no engine.py in {folder}; minigrad lab reset brings it back.",
        "no lab": "there is no lab {name!r}; the labs are {labs}.",
        "no language": "there is no text in {code!r}; the languages are {langs}.",
        "not empty": "{folder} exists and is not empty; name another folder, or add --force.",
        "not a folder": "{folder} is a file; name a folder.",
        "no lab here": (
            "{folder} is not the folder of a lab (it has no .lab.json); name one, "
            "or start with minigrad lab break accumulate."
        ),
        "not begun": (
            "lab {folder} has not been begun here; start it with minigrad lab break {folder}, "
            "or name its folder."
        ),
        "many labs": "there are several labs here ({folders}); name one of them.",
        "damaged": (
            "{folder}/.lab.json is damaged; start again: minigrad lab break LAB {folder} --force."
        ),
        # The exercises of the course.
        "course": "The course: a chapter, an exercise",
        "chapter": "chapter",
        "chapter about": "what it is about",
        "answer begun": "begun",
        "answer done": "solved",
        "start a chapter": "Start with: minigrad lab start {number}",
        "go on with a chapter": "Go on with: minigrad lab check {number}",
        "course done": "You have solved them all.",
        "chapter made": "{folder} is ready: engine.py and EXERCISE.md.",
        "chapter first": (
            "Next: do in {folder}/engine.py what EXERCISE.md asks, then run minigrad lab check "
            "{number}."
        ),
        "answer open": "Chapter {number}: not written yet.",
        "answer open next": (
            "Next: write that in {folder}/engine.py, then run minigrad lab check {number}."
        ),
        "answer failed": "Chapter {number}: engine.py does not run.",
        "answer failed next": (
            "Next: mend it, or start over with minigrad lab reset {number}, which keeps yours."
        ),
        "answer wrong": "Chapter {number}: not yet. Numbers wrong: {wrong} of {count}.",
        "answer wrong next": (
            "Next: try again; minigrad lab next {number} brings a solution to compare with."
        ),
        "answer solved": "Chapter {number}: solved. All {count} numbers are right.",
        "answer solved next": "Next: the next chapter, minigrad lab start {after}.",
        "answer solved last next": "That was the last exercise of the course.",
        "answer reset": "engine.py is as it was at the start.",
        "still open": "Still to be written in engine.py: line {lines}.",
        "name missing": "there is no `{name}` in engine.py, and the exercise asks for it.",
        "hint": "Hint:",
        "hint None": (
            "Something is None where a number, a Value or a list was expected. A function without "
            "`return` gives None; so do methods that change a list, such as `reverse`."
        ),
        "hint NoneCalled": (
            "None was called where a function was expected. A rule is stored without parentheses: "
            "`out._backward = _backward`."
        ),
        "hint Value": (
            "A Value stands where a plain number is needed. Its number is in `data`, and its "
            "gradient in `grad`."
        ),
        "hint NameError": (
            "Python does not know this name in engine.py. Is it spelled as where it was made, with "
            "the same capital letters? What you typed elsewhere is not in the file."
        ),
        "hint RecursionError": (
            "A function calls itself without an end. When has it nothing left to do? There it must "
            "stop."
        ),
        "number": "number",
        "right": "right",
        "solution": "{file} is ready: one way to write it. Compare it with yours.",
        "no solution yet": (
            "The solution comes when minigrad lab check {number} has looked at an answer of yours."
        ),
        "no chapter": (
            "there is no chapter {name!r}; they are 1 to {last}: minigrad lab course lists them."
        ),
        "chapter not begun": (
            "chapter {number} has not been begun here; start it with minigrad lab start {number}, "
            "or name its folder."
        ),
        "chapter damaged": (
            "{folder}/.chapter.json is damaged; start again: minigrad lab start CHAPTER {folder} "
            "--force."
        ),
    },
    "es": {
        "labs": "Labs: rompe un motor pequeño, mira qué pruebas aún pasan, repáralo",
        "lab": "lab",
        "about": "qué vas a romper",
        "how far": "cómo vas",
        "open": "por empezar",
        "begun": "empezado",
        "is broken": "empezado: roto",
        "done": "hecho",
        "progress": "{done} de {all} hechos.",
        "how to start": "Empieza con: minigrad lab break {name}",
        "how to go on": "Sigue con: minigrad lab check {name}",
        "all done": "Los has hecho todos.",
        "versions": "Value, tal como crece en las lecciones",
        "doctor": "el doctor dice",
        "no backward": "todavía sin backward()",
        "faults": "fallo: {faults}",
        "no fault": "ningún fallo",
        "limits": "límites: {count}",
        "version": "versión",
        "new": "qué hay de nuevo",
        "how to read": "Lee una con: minigrad lab versions {number}   (--diff muestra qué cambió)",
        "made": "{folder} está lista: engine.py, probe.py y LAB.md.",
        "kept": "Tu engine.py ahora se llama {name}.",
        "first": "Ahora: escribe tu hipótesis en {folder}/LAB.md y ejecuta minigrad lab next.",
        "hypothesis next": (
            "Ahora: escribe tu hipótesis en LAB.md; después, minigrad lab next {name} dice qué "
            "romper."
        ),
        "after LAB.md": (
            "Cuando lo tengas, ejecuta `minigrad lab next`: trae BREAK.md, que dice qué cambiar."
        ),
        "after BREAK.md": (
            "¿Es lo que pensabas? Cuando `minigrad lab check` lo haya visto roto, busca tú la\n"
            "causa. `minigrad lab next` trae ANSWERS.md, con las respuestas."
        ),
        "page": "{file} está lista.",
        "not broken yet": (
            "Las respuestas llegan cuando engine.py esté roto como dice BREAK.md y "
            "minigrad lab check {name} lo haya visto."
        ),
        "all pages": "Ya tienes todas las páginas de {name}: LAB.md, BREAK.md y ANSWERS.md.",
        "started": "{name}: engine.py sigue intacto.",
        "started next": (
            "Ahora: rómpelo como dice BREAK.md y ejecuta otra vez minigrad lab check."
        ),
        "broken": "{name}: roto, justo como debe estar.",
        "broken next": (
            "Ahora: compáralo con tu hipótesis, busca la causa y repara engine.py. "
            "minigrad lab next\ntrae las respuestas; minigrad lab check dice cuándo está intacto."
        ),
        "repaired": "{name}: terminado. Lo rompiste, lo viste y lo reparaste.",
        "seen": "Lo que viste mientras estaba roto:",
        "repaired next": (
            "Ahora: lee la lección en ANSWERS.md (minigrad lab next) y prueba otro lab."
        ),
        "partial": (
            "{name}: reparado en parte. De {all} números equivocados, {mended} ya están bien."
        ),
        "partial next": ("Ahora: las filas de arriba siguen mal. Busca qué tienen en común."),
        "other": "{name}: engine.py ha cambiado, pero no de la manera que pide este lab.",
        "other next": (
            "Ahora: compara tu cambio con BREAK.md, o vuelve a empezar con minigrad lab reset."
        ),
        "failed": "{name}: engine.py no funciona.",
        "failed next": "Ahora: corrígelo, o vuelve a empezar con minigrad lab reset.",
        "experiment": "experimento",
        "yours": "el tuyo",
        "whole": "intacto",
        "as asked": "roto como se pide",
        "reset": "engine.py está intacto otra vez.",
        "in line": "(engine.py, línea ",
        "too long": "seguía en marcha después de {seconds} s; ¿hay un bucle que no termina?",
        "died": "el proceso que lo ejecutaba murió ({code}) antes de responder.",
        "missing": "no hay ningún engine.py en {folder}; minigrad lab reset lo devuelve.",
        "no lab": "no hay ningún lab {name!r}; los labs son {labs}.",
        "no language": "no hay textos en {code!r}; los idiomas son {langs}.",
        "not empty": "{folder} ya existe y no está vacía; elige otra carpeta o añade --force.",
        "not a folder": "{folder} es un archivo; indica una carpeta.",
        "no lab here": (
            "{folder} no es la carpeta de un lab (no tiene .lab.json); indica una, "
            "o empieza con minigrad lab break accumulate."
        ),
        "not begun": (
            "el lab {folder} no está empezado aquí; empiézalo con minigrad lab break {folder}, "
            "o indica su carpeta."
        ),
        "many labs": "aquí hay varios labs ({folders}); indica uno de ellos.",
        "damaged": (
            "{folder}/.lab.json está dañado; vuelve a empezar: "
            "minigrad lab break LAB {folder} --force."
        ),
        # Los ejercicios del curso.
        "course": "El curso: un capítulo, un ejercicio",
        "chapter": "capítulo",
        "chapter about": "de qué trata",
        "answer begun": "empezado",
        "answer done": "resuelto",
        "start a chapter": "Empieza con: minigrad lab start {number}",
        "go on with a chapter": "Sigue con: minigrad lab check {number}",
        "course done": "Los has resuelto todos.",
        "chapter made": "{folder} está lista: engine.py y EXERCISE.md.",
        "chapter first": (
            "Ahora: haz en {folder}/engine.py lo que pide EXERCISE.md y ejecuta minigrad lab check "
            "{number}."
        ),
        "answer open": "Capítulo {number}: aún sin escribir.",
        "answer open next": (
            "Ahora: escríbelo en {folder}/engine.py y ejecuta minigrad lab check {number}."
        ),
        "answer failed": "Capítulo {number}: engine.py no funciona.",
        "answer failed next": (
            "Ahora: corrígelo, o vuelve a empezar con minigrad lab reset {number}, que guarda el "
            "tuyo."
        ),
        "answer wrong": "Capítulo {number}: todavía no. Números equivocados: {wrong} de {count}.",
        "answer wrong next": (
            "Ahora: prueba otra vez; minigrad lab next {number} trae una solución para comparar."
        ),
        "answer solved": "Capítulo {number}: resuelto. Los {count} números están bien.",
        "answer solved next": "Ahora: el capítulo siguiente, minigrad lab start {after}.",
        "answer solved last next": "Este era el último ejercicio del curso.",
        "answer reset": "engine.py está como al principio.",
        "still open": "Falta por escribir en engine.py: línea {lines}.",
        "name missing": "no hay ningún `{name}` en engine.py, y el ejercicio lo pide.",
        "hint": "Pista:",
        "hint None": (
            "Algo es None donde se esperaba un número, un Value o una lista. Una función sin "
            "`return` da None; también los métodos que cambian una lista, como `reverse`."
        ),
        "hint NoneCalled": (
            "Se llamó a None donde se esperaba una función. Una regla se guarda sin paréntesis: "
            "`out._backward = _backward`."
        ),
        "hint Value": (
            "Hay un Value donde hace falta un número corriente. Su número está en `data`, y su "
            "gradiente en `grad`."
        ),
        "hint NameError": (
            "Python no conoce este nombre en engine.py. ¿Está escrito como donde se creó, con las "
            "mismas mayúsculas? Lo que tecleaste en otra parte no está en el archivo."
        ),
        "hint RecursionError": (
            "Una función se llama a sí misma sin fin. ¿Cuándo no le queda nada que hacer? Ahí debe "
            "parar."
        ),
        "number": "número",
        "right": "correcto",
        "solution": "{file} está lista: una manera de escribirlo. Compárala con la tuya.",
        "no solution yet": (
            "La solución llega cuando minigrad lab check {number} haya visto una respuesta tuya."
        ),
        "no chapter": (
            "no hay ningún capítulo {name!r}; van del 1 al {last}: minigrad lab course los enumera."
        ),
        "chapter not begun": (
            "el capítulo {number} no está empezado aquí; empiézalo con minigrad lab start "
            "{number}, o indica su carpeta."
        ),
        "chapter damaged": (
            "{folder}/.chapter.json está dañado; vuelve a empezar: minigrad lab start CAPÍTULO "
            "{folder} --force."
        ),
    },
}


def say(lang: str, phrase: str, **fields: object) -> str:
    """Return a phrase in a language."""
    shown = {k: x if isinstance(x, int) else readable(x) for k, x in fields.items()}
    return PHRASES[lang][phrase].format(**shown)
