"""Import what the page asks for first, and run it once: the snapshot is taken after this."""

import json

from minigrad.playground import answer_json

for _lang in ("en", "es"):
    for _kind, _text in (("expression", "(a*b + c) * tanh(a - c)"), ("check", "a*b")):
        answer_json(json.dumps({"kind": _kind, "text": _text, "lang": _lang, "along": "a"}))
    answer_json(json.dumps({"kind": "labs", "lang": _lang}))
answer_json(json.dumps({"kind": "train", "steps": 1, "grid": 2}))
