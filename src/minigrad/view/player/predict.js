// Predicting: a box for the guess, a verdict, and a score of first guesses.

const NEAR = 0.01; // of the right number: nobody is asked for five digits

function predictionOf(find, say, signal, onReveal) {
  const form = find("guess-form");
  const box = find("guess");
  const scored = new Map(); // by question: whether the first guess was right
  let asked = null; // { id, answer }

  function ask(question, label, isInUse) {
    asked = question;
    const hadFocus = form.contains(form.getRootNode().activeElement);
    form.hidden = !question;
    if (!question) {
      if (hadFocus) form.closest("main").focus({ preventScroll: true }); // or it would be nowhere
      return;
    }
    find("asks").textContent = label;
    box.value = "";
    tell("");
    if (isInUse && matchMedia("(pointer: fine)").matches) box.focus({ preventScroll: true });
  }

  function score(isRight) {
    if (!scored.has(asked.id)) scored.set(asked.id, isRight);
    const right = [...scored.values()].filter(Boolean).length;
    find("score").textContent = say("score", { right, asked: scored.size });
  }

  function tell(text, verdict = "") {
    find("verdict").textContent = text;
    find("verdict").dataset.verdict = verdict;
  }

  function reveal() { // without a guess, or after some: it counts as not known
    score(false);
    onReveal();
    tell("");
  }

  function check() {
    const guess = box.value.trim();
    if (!guess) return reveal();
    const isRight = agrees(guess, asked.answer);
    if (isRight === null) return tell(say("no number"), "wrong");
    score(isRight);
    if (!isRight) {
      tell(say("not that", { guess }), "wrong");
      return box.select();
    }
    onReveal();
    tell(say("that is it"), "right");
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    check();
  }, { signal });
  find("reveal").addEventListener("click", reveal, { signal });
  return { ask, check, tell, isGuessing: (target) => target === box && box.value !== "" };
}

// Whether a guess is the number that was asked for; null if it is no number at all.
function agrees(guess, answer) {
  const [mine, right] = [numberIn(guess), numberIn(answer)];
  if (mine === null) return null;
  if (Number.isNaN(right)) return Number.isNaN(mine);
  if (!Number.isFinite(right)) return mine === right; // every number is within a per cent of inf
  return Math.abs(mine - right) <= NEAR * Math.abs(right);
}

function numberIn(text) {
  const plain = text.replace("−", "-").replace(",", ".").toLowerCase();
  if (plain === "nan") return NaN;
  const endless = /^([+-]?)(inf|infinity|∞)$/.exec(plain);
  if (endless) return endless[1] === "-" ? -Infinity : Infinity;
  const parts = plain.split("/").map((part) => part.trim());
  const isNumber = (part) => part !== "" && Number.isFinite(Number(part));
  if (parts.length > 2 || !parts.every(isNumber)) return null;
  return parts.map(Number).reduce((one, other) => one / other);
}
