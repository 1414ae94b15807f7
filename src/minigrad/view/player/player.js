// The player: shows the frames of a play that Python worked out. It moves texts and classes about
// and never computes a derivative. No dependency, no network.
//
// A field (a unit's data or grad) has a history: what it reads from which frame on. Going from one
// frame to another touches only the fields that change in between, so that scrubbing stays quick.

const STEP_MS = 900;
const MARGIN = 24; // px around what is kept in sight
const SMALLEST = 0.8; // of its size: a picture that is a little too wide is made to fit

export function mount(page, play) {
  const find = (name) => page.querySelector(`[data-player="${name}"]`);
  const svg = page.querySelector("svg.mg");
  const units = [...svg.querySelectorAll("[data-unit]")];
  const arrows = [...svg.querySelectorAll("[data-arrow]")];
  const fields = units.flatMap((unit) => [...unit.querySelectorAll(".mg-data, .mg-grad")]);
  const slider = find("slider");
  const state = { frame: 0, isBroken: false, isPredicting: false, isShown: true, timer: 0 };
  const runs = { right: timeline(play, play.right), broken: timeline(play, play.broken) };
  const run = () => (state.isBroken ? runs.broken : runs.right);
  let lit = [];

  // ---- one frame -----------------------------------------------------------------------------

  function write(key, at) {
    const [unit, isGrad] = [Math.floor(key / 2), key % 2 === 1];
    const entry = run().history[key].findLast(({ frame }) => frame <= at);
    const isHidden = state.isPredicting && !state.isShown && entry.frame === at && at > 0;
    const isWrong = Boolean(entry.wrong) && !isHidden;
    fields[key].textContent = isHidden ? `${isGrad ? "grad" : "data"} ?` : entry.text;
    fields[key].classList.toggle("is-wrong", isWrong);
    if (isGrad) units[unit].classList.toggle("is-wrong", isWrong);
    const [data, grad] = fields.slice(2 * unit, 2 * unit + 2).map((field) => field.textContent);
    units[unit].setAttribute("aria-label", `${play.units[unit].name}, ${data}, ${grad}`);
  }

  function show(next, isFresh = true) {
    const frames = run().frames;
    const from = state.frame;
    state.frame = Math.min(Math.max(next, 0), frames.length - 1);
    const frame = frames[state.frame];
    if (isFresh) state.isShown = !(state.isPredicting && frame.asked);
    const touched = new Set();
    for (let k = Math.min(from, state.frame); k <= Math.max(from, state.frame); k += 1) {
      for (const key of run().touched[k]) touched.add(key);
    }
    for (const key of touched) write(key, state.frame);
    light(frame);
    tell(frame);
  }

  function showAll() {
    for (let key = 0; key < 2 * units.length; key += 1) write(key, state.frame);
    show(state.frame, false);
  }

  function light(frame) {
    for (const [element, name] of lit) element.classList.remove(name);
    lit = [
      ...frame.units.map((k) => [units[k], "is-active"]),
      ...frame.arrows.map((k) => [arrows[k], "is-active"]),
    ];
    if (frame.target !== null) lit.push([units[frame.target], "is-target"]);
    for (const [element, name] of lit) element.classList.add(name);
    keepInSight(find("stage"), lit.map(([element]) => element).filter((e) => units.includes(e)));
  }

  function tell(frame) {
    const isAsked = !state.isShown;
    find("title").textContent = frame.title;
    find("text").textContent = isAsked ? frame.asked : frame.text;
    find("note").textContent = (isAsked ? frame.asked_note : frame.note) ?? "";
    if (!isAsked && page.ownerDocument.activeElement === find("reveal")) find("forward").focus();
    find("reveal").hidden = !isAsked;
    const last = run().frames.length - 1;
    slider.max = last;
    slider.value = state.frame;
    slider.setAttribute("aria-valuetext", `step ${state.frame} of ${last}, ${frame.title}`);
    find("count").textContent = `${state.frame} / ${last}`;
    page.dataset.phase = frame.phase;
    if (state.frame === last) pause();
  }

  function reveal() {
    state.isShown = true;
    for (const key of run().touched[state.frame]) write(key, state.frame);
    tell(run().frames[state.frame]);
  }

  // ---- playing -------------------------------------------------------------------------------

  function pause() {
    clearInterval(state.timer);
    state.timer = 0;
    page.dataset.playing = "no";
    find("play").setAttribute("aria-label", "Play");
    find("caption").setAttribute("aria-live", "polite");
  }

  function start() {
    if (state.frame === run().frames.length - 1) show(0);
    page.dataset.playing = "yes";
    find("play").setAttribute("aria-label", "Pause");
    find("caption").setAttribute("aria-live", "off"); // a reader could not keep up
    const pace = STEP_MS / Number(find("speed").value);
    state.timer = setInterval(() => (state.isShown ? show(state.frame + 1) : pause()), pace);
  }

  function go(to) {
    pause();
    show(to);
  }

  const actions = {
    first: () => go(0),
    back: () => go(state.frame - 1),
    play: () => (state.timer ? pause() : start()),
    forward: () => go(state.frame + 1),
    last: () => go(run().frames.length - 1),
    reveal,
  };
  for (const [name, action] of Object.entries(actions)) find(name).addEventListener("click", action);
  slider.addEventListener("input", () => go(Number(slider.value)));
  find("speed").addEventListener("change", () => {
    if (state.timer) {
      pause();
      start();
    }
  });

  const breaks = find("broken");
  breaks.addEventListener("change", () => {
    pause();
    state.isBroken = breaks.checked;
    page.dataset.rule = breaks.checked ? "=" : "+=";
    showAll();
  });
  const predicts = find("predict");
  predicts.addEventListener("change", () => {
    pause();
    state.isPredicting = predicts.checked;
    state.isShown = true; // what is there already is not asked for
    find("value").hidden = predicts.checked; // the heading would tell the end
    if (chosen !== null) list(play.units[chosen].paths);
    showAll();
  });

  const keys = {
    ArrowRight: actions.forward,
    ArrowLeft: actions.back,
    Home: actions.first,
    End: actions.last,
    " ": actions.play,
    Enter: () => (state.isShown ? undefined : reveal()),
    b: () => breaks.click(),
    p: () => predicts.click(),
  };
  page.ownerDocument.addEventListener("keydown", (event) => {
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    const isControl = event.target.closest("button, input, select, a");
    if (isControl && [" ", "Enter"].includes(event.key)) return; // the control's own business
    const hasArrows = event.target === slider || event.target === find("speed");
    if (hasArrows && /^(Arrow|Home|End)/.test(event.key)) return;
    event.preventDefault();
    action();
  });

  // ---- paths of a variable -------------------------------------------------------------------

  const users = play.units.map(() => []);
  play.arrows.forEach(([source, target], k) => users[source].push([target, k]));
  let chosen = null;

  function choose(unit) {
    if (unit === chosen) return;
    svg.querySelectorAll(".on-path").forEach((element) => element.classList.remove("on-path"));
    chosen = unit;
    svg.classList.toggle("has-path", unit !== null);
    find("paths").hidden = unit === null;
    if (unit === null) return;
    const reached = new Set([unit]);
    for (const k of reached) { // grows while it is read
      units[k].classList.add("on-path");
      for (const [target, arrow] of users[k]) {
        arrows[arrow].classList.add("on-path");
        reached.add(target);
      }
    }
    list(play.units[unit].paths);
  }

  function list(paths) {
    const secret = (text) => (state.isPredicting ? "?" : text);
    const head = `${paths.name}: gradient ${secret(paths.gradient)}, the sum of ${paths.count}`;
    find("paths-head").textContent = head;
    const rows = paths.terms.map(([product, factors, path]) => {
      const row = page.ownerDocument.createElement("tr");
      const texts = [secret(product), secret(factors), path];
      for (const text of texts) row.insertCell().textContent = text;
      return row;
    });
    find("paths-terms").replaceChildren(...rows);
  }

  units.forEach((unit, k) => {
    unit.addEventListener("pointerenter", () => choose(k));
    unit.addEventListener("focus", () => choose(k));
    unit.addEventListener("pointerleave", () => {
      const focused = units.indexOf(page.ownerDocument.activeElement);
      choose(focused < 0 ? null : focused);
    });
    unit.addEventListener("blur", () => choose(null));
  });

  const [width, height] = [svg.width.baseVal.value, svg.height.baseVal.value];
  function fit() {
    const smallest = find("fit").checked ? 0 : SMALLEST;
    const scale = Math.max(smallest, Math.min(1, find("stage").clientWidth / width));
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
  }
  page.ownerDocument.defaultView.addEventListener("resize", fit);
  find("fit").addEventListener("change", fit);

  fit();
  pause();
  showAll();
  page.dataset.ready = "yes";
}

// The frames of one run, which fields each touches, and for each field what it reads when.
function timeline(play, backward) {
  const frames = [...play.forward, ...backward];
  const texts = play.units.flatMap((unit) => [unit.data, unit.grad]);
  const history = texts.map((text) => [{ frame: 0, text }]);
  const touched = frames.map((frame, k) =>
    frame.changes.map((change) => {
      const key = 2 * change.unit + (change.field === "grad" ? 1 : 0);
      history[key].push({ frame: k, text: change.text, wrong: change.wrong });
      return key;
    }),
  );
  return { frames, history, touched };
}

// Scroll so that all these elements are seen; if they are too far apart, the last one.
function keepInSight(stage, elements) {
  if (!elements.length) return;
  if (stage.scrollWidth <= stage.clientWidth && stage.scrollHeight <= stage.clientHeight) return;
  const frame = stage.getBoundingClientRect();
  const boxes = elements.map((element) => element.getBoundingClientRect());
  const [width, height] = [stage.clientWidth - 2 * MARGIN, stage.clientHeight - 2 * MARGIN];
  const span = (list) => ({
    left: Math.min(...list.map((box) => box.left)),
    right: Math.max(...list.map((box) => box.right)),
    top: Math.min(...list.map((box) => box.top)),
    bottom: Math.max(...list.map((box) => box.bottom)),
  });
  let box = span(boxes);
  if (box.right - box.left > width || box.bottom - box.top > height) box = span(boxes.slice(-1));
  const [left, top] = [frame.left + MARGIN, frame.top + MARGIN];
  if (box.right > left + width) stage.scrollLeft += box.right - left - width;
  if (box.left < left) stage.scrollLeft -= left - box.left;
  if (box.bottom > top + height) stage.scrollTop += box.bottom - top - height;
  if (box.top < top) stage.scrollTop -= top - box.top;
}

const payload = document.querySelector('script[data-player="play"]');
if (payload) mount(document.querySelector("main"), JSON.parse(payload.textContent));
