// The player: shows the frames of a play that Python worked out. It moves texts and classes about
// and never computes a derivative. No dependency, no network. page.py joins this file, after those
// beside it, into one module; `mount` is its door, <minigrad-player> (element.js) its front.

const STEP_MS = 900;
const NARROW = 640; // px: a player that is narrower runs from top to bottom

// Show a player in an element. `given` has
//   play      what frames.py made
//   pictures  { LR, TB }, one or both: an SVG element, SVG text, or the same deflated, in base64
//   levels    the same of a graph with boxes: the inside of each, as JSON, deflated, in base64;
//             open: the boxes that are open at first; asked: whether they are to stay so
//   narrow    { play, levels, open } to show instead where there is little room
//   lang      "en" or "es"; start, fault: where it opens; fill: whether it fills its element
//   link      a function of (frame, fault, open boxes) that returns an address for it, or nothing
//   chosen    a function that hears of the unit whose paths are shown, or of null
//   moved     a function that hears of the frame and the fault whenever they change
// `update` shows something else, at the same step and with the same fault if they are there; a play
// may lack the runs of faults, which `learn` adds. `destroy` leaves the element as it was.
export function mount(host, given) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [sheet()];
  const fitting = () => (given.narrow && host.clientWidth < NARROW ? { ...given, ...given.narrow } : given);
  const begin = (rest) => open(host, root, { ...fitting(), ...rest }, turn);
  let current = begin();

  function turn() { // a phone that is turned: the same pass of another play
    const { phase } = current.place();
    current.close();
    current = begin({ start: phase === "start" ? 0 : phase, fault: "" });
  }

  return {
    go: (frame, fault, open) => current.go(frame, fault, open),
    place: () => current.place(),
    choose: (unit) => current.choose(unit), // show the paths of a unit, or of none
    learn: (runs) => current.learn(runs),
    update(next) {
      const { frame, fault } = current.place();
      const before = given;
      const { play, pictures, levels, open, asked, narrow, ...rest } = before; // of what it shows no more
      given = { ...rest, start: frame, fault, ...next };
      const isPlain = [before, given].every((each) => !each.levels && !each.narrow);
      if (isPlain && before.lang === given.lang) return current.load(given);
      current.close();
      current = begin();
    },
    destroy() {
      current.close();
      root.replaceChildren();
      root.adoptedStyleSheets = [];
    },
  };
}

let shared = null;
function sheet() {
  if (!shared) {
    shared = new CSSStyleSheet();
    shared.replaceSync(STYLE);
  }
  return shared;
}

function open(host, root, given, turn) {
  const isNarrow = () => host.clientWidth < NARROW;
  const wasNarrow = isNarrow();
  const say = speaker(given.lang);
  const template = document.createElement("template");
  template.innerHTML = markup(say, given.play); // constant: no label is in it
  root.replaceChildren(template.content);
  const main = root.querySelector("main");
  const find = (name) => main.querySelector(`[data-player="${name}"]`);
  const ending = new AbortController(); // of all listeners
  const { signal } = ending;
  const on = (name, kind, action) => find(name).addEventListener(kind, action, { signal });
  const slider = find("slider");
  const camera = cameraOf(find("stage"), Boolean(given.fill), signal, given.play.levels && LEAST);
  const prediction = predictionOf(find, say, signal, reveal);
  const list = pathList(find, say);
  const state = { frame: 0, fault: "", isPredicting: false, isShown: true, timer: 0 };
  const isInUse = () => root.activeElement !== null;
  let play = null;
  let runs = new Map(); // of the play, by the names of their faults
  let timelines = new Map(); // made when they are asked for
  let drawn = {}; // pictures by direction
  let picture = null;
  let direction = "";
  let chosen = null; // the unit whose paths are shown
  let boxes = null; // the boxes of the picture, if there are any
  let open = given.open ?? []; // those that are open
  let wished = open; // those that would be, if there is room

  function run() {
    if (!timelines.has(state.fault)) {
      const made = play.levels ? timelineOfBoxes(play, open, runs.get(state.fault)) : timeline(play, runs.get(state.fault));
      timelines.set(state.fault, made);
    }
    return timelines.get(state.fault);
  }

  // ---- one frame -------------------------------------------------------------------------------

  function write(key) {
    const entry = run().history[key].findLast(({ frame }) => frame <= state.frame);
    const isHidden = !state.isShown && entry.frame === state.frame && state.frame > 0;
    picture.write(key, entry, isHidden);
  }

  function show(next, isFresh = true) {
    const { frames, passed } = run();
    const from = state.frame;
    state.frame = Math.min(Math.max(next, 0), frames.length - 1);
    const frame = frames[state.frame];
    if (isFresh) state.isShown = !(state.isPredicting && frame.answer !== undefined);
    const [low, high] = [Math.min(from, state.frame), Math.max(from, state.frame)];
    const touched = new Set();
    for (let k = low; k <= high; k += 1) {
      for (const { key } of frames[k].changes) touched.add(key);
      if (frames[k].phase !== "backward") continue;
      for (const arrow of frames[k].arrows) picture?.pass(arrow, passed.get(arrow) <= state.frame);
    }
    if (picture) {
      for (const key of touched) write(key);
      picture.light(frame);
      const near = frame.units.length ? frame : frames[Math.min(state.frame + 1, frames.length - 1)];
      camera.keep([...near.targets, ...near.units].flatMap((k) => picture.units[k] ?? []));
    }
    tell(frame);
    if (isFresh) ask(frame);
  }

  function showAll() {
    if (picture) {
      for (let key = 0; key < 2 * play.units.length; key += 1) write(key);
      for (const arrow of play.arrows.keys()) {
        picture.pass(arrow, (run().passed.get(arrow) ?? Infinity) <= state.frame);
      }
    }
    show(state.frame, false);
  }

  function tell(frame) {
    const { title, text, note } = caption(play, frame, say, !state.isShown);
    find("title").textContent = title;
    find("text").textContent = text;
    find("note").textContent = note ?? "";
    const last = run().frames.length - 1;
    slider.max = last;
    slider.value = state.frame;
    slider.setAttribute("aria-valuetext", say("step of", { frame: state.frame, last, title }));
    find("count").textContent = `${state.frame} / ${last}`;
    main.dataset.phase = frame.phase;
    main.dataset.kind = frame.wrong?.length || frame.inside?.length ? "wrong" : frame.kind;
    const address = given.link?.(state.frame, state.fault, play.levels && open);
    find("link").hidden = !address;
    if (address) find("link").href = address;
    given.moved?.(state.frame, state.fault);
    if (state.frame === last) pause();
  }

  function ask(frame) {
    const question = { id: `${state.fault} ${state.frame}`, answer: frame.answer };
    prediction.tell("");
    prediction.ask(state.isShown ? null : question, caption(play, frame, say, true).asks, isInUse());
  }

  function reveal() {
    state.isShown = true;
    showAll();
    prediction.ask(null);
  }

  // ---- playing ---------------------------------------------------------------------------------

  function pause() {
    clearInterval(state.timer);
    state.timer = 0;
    label("no", "play", "polite");
  }

  function start() {
    if (state.frame === run().frames.length - 1) show(0);
    label("yes", "pause", "off"); // a reader could not keep up
    const pace = STEP_MS / Number(find("speed").value);
    state.timer = setInterval(() => (state.isShown ? show(state.frame + 1) : pause()), pace);
  }

  function label(isPlaying, word, live) {
    main.dataset.playing = isPlaying;
    for (const name of ["aria-label", "title"]) find("play").setAttribute(name, say(word));
    find("caption").setAttribute("aria-live", live);
  }

  function go(to, fault = state.fault, boxesOpen = open) {
    pause();
    if (fault !== state.fault) breakIt(fault);
    if (play.levels && boxesOpen.join() !== open.join()) openBoxes(boxesOpen);
    show(frameNumber(to));
  }

  // The number of a frame, or the one that a word stands for.
  function frameNumber(to) {
    const { frames } = run();
    if (to === "forward") return 1;
    if (to === "backward") return frames.findIndex(({ kind }) => kind === "seed");
    return to === "end" ? frames.length - 1 : Number(to);
  }

  // ---- switches --------------------------------------------------------------------------------

  let lastFault = "";
  let wanted = ""; // a fault that was chosen before its run was there

  function breakIt(fault) {
    pause();
    const isLast = state.frame === run().frames.length - 1;
    place(isLast ? Infinity : state.frame, fault);
    showAll();
    prediction.ask(null);
  }

  function predict(isOn) {
    pause();
    state.isPredicting = find("predict").checked = isOn;
    state.isShown = true; // what is there already is not asked for
    main.classList.toggle("is-predicting", isOn);
    find("value").hidden = isOn; // the heading would tell the end
    find("score").hidden = !isOn;
    prediction.ask(null);
    list.show(play, chosen, isOn);
    showAll();
  }

  function learn(more) {
    play.runs = [play.runs[0], ...more];
    runs = new Map(play.runs.map((run) => [run.name, run]));
    fillFaults(true);
    if (wanted) breakIt(wanted);
  }

  function fillFaults(isAll) {
    const names = [...find("fault").options].map(({ value }) => value);
    if (!isAll && play.runs.every(({ name }) => names.includes(name))) {
      find("fault").value = state.fault;
      return; // a play that lacks runs has what the one before had, until they are there
    }
    lastFault ||= play.runs[1]?.name ?? "";
    const survived = document.createElement("optgroup");
    survived.label = say("survived");
    find("fault").replaceChildren(find("fault").options[0]);
    for (const { name, says, rows } of play.runs.slice(1)) {
      const option = document.createElement("option");
      option.value = name;
      option.textContent = say(`fault ${name}`) ?? says;
      (rows ? find("fault") : survived).append(option);
    }
    if (survived.children.length) find("fault").append(survived);
    find("fault").value = state.fault;
  }

  // ---- boxes -----------------------------------------------------------------------------------

  // Somebody pressed a box: `change` opens it in the picture, or closes it.
  function press(element, change) {
    pause();
    const before = run();
    choose(null);
    picture.light(frameOf("start"));
    inPlace(find("stage"), element, () => {
      change();
      camera.grow();
    });
    wished = boxes.open();
    opened(wished);
    state.frame = sameFrame(state.frame, before, run());
    state.isShown = true;
    prediction.ask(null);
    showAll();
    camera.keep([element]); // one looks at the box, not at what the step is about
  }

  function opened(now) {
    open = now;
    timelines.clear();
    drawn[direction] = picture = pictureInBoxes();
  }

  function pictureInBoxes() {
    numberBoxes(boxes, play);
    const made = pictureOf(boxes.svg, play);
    made.units.forEach(follow);
    return made;
  }

  // Open just these: a link says which.
  function openBoxes(wanted) {
    state.frame = 0;
    open = wished = wanted;
    timelines.clear();
    if (!boxes) return;
    for (const box of boxes.open().toReversed()) if (!wanted.includes(box)) boxes.toggle(box);
    for (const box of wanted) if (!boxes.open().includes(box)) boxes.toggle(box);
    boxes.arrange();
    camera.grow();
    opened(boxes.open());
    showAll();
  }

  // ---- the paths of a variable -----------------------------------------------------------------

  function choose(unit) {
    if (unit === chosen || !picture) return;
    chosen = unit;
    given.chosen?.(unit);
    picture.choose(unit, unit === null ? [] : play.units[unit].terms ?? []);
    list.show(play, unit, state.isPredicting);
    find("info").classList.toggle("has-paths", unit !== null);
  }

  function single(way) {
    picture.single(way);
    list.single(way);
  }

  const followed = new WeakSet();

  function follow(unit, k) {
    if (followed.has(unit)) return;
    followed.add(unit);
    const listen = (kind, action) => unit.addEventListener(kind, action, { signal });
    listen("pointerenter", () => choose(k));
    listen("focus", () => choose(k));
    listen("click", () => unit.focus({ preventScroll: true }));
    listen("pointerleave", () => {
      const focused = picture.units.indexOf(root.activeElement);
      choose(focused < 0 ? null : focused);
    });
    listen("blur", () => choose(null));
  }

  // ---- buttons and keys ------------------------------------------------------------------------

  const actions = {
    first: () => go(0),
    back: () => go(state.frame - 1),
    play: () => (state.timer ? pause() : start()),
    forward: () => go(state.frame + 1),
    last: () => go(run().frames.length - 1),
    "zoom-in": camera.enlarge,
    "zoom-out": camera.reduce,
    fit: camera.whole,
    options: () => main.classList.toggle("has-options"),
  };
  const keys = {
    ArrowRight: actions.forward,
    ArrowLeft: actions.back,
    Home: actions.first,
    End: actions.last,
    " ": actions.play,
    "+": camera.enlarge,
    "=": camera.enlarge,
    "-": camera.reduce,
    0: camera.whole,
    Enter: () => (state.isShown ? undefined : prediction.check()),
    b: () => breakIt(state.fault ? "" : lastFault),
    p: () => predict(!state.isPredicting),
    Escape: () => main.focus({ preventScroll: true }),
  };
  const pans = { ArrowLeft: [-80, 0], ArrowRight: [80, 0], ArrowUp: [0, -80], ArrowDown: [0, 80] };

  function pressKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key, target } = event;
    if (prediction.isGuessing(target)) return; // the box's own business
    if (event.shiftKey && key in pans) {
      event.preventDefault();
      return camera.pan(...pans[key]);
    }
    const isControl = target.closest("button, input, select, a");
    if (target.matches("input:not([type])") && !/^(Arrow|Home|End)/.test(key)) return;
    if (isControl && [" ", "Enter"].includes(key)) return;
    const hasArrows = target === slider || target.matches("select");
    if (hasArrows && /^(Arrow|Home|End)/.test(key)) return;
    const isWay = chosen !== null && /^[1-6]$/.test(key) && Number(key) <= (play.units[chosen].terms?.length ?? 0);
    const action = isWay ? () => single(Number(key) - 1) : keys[key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  function wire() {
    for (const [name, action] of Object.entries(actions)) on(name, "click", action);
    on("slider", "input", () => go(Number(slider.value)));
    on("speed", "change", () => {
      if (!state.timer) return;
      pause();
      start();
    });
    on("fault", "change", () => breakIt(find("fault").value));
    on("predict", "change", () => predict(find("predict").checked));
    main.addEventListener("keydown", pressKey, { signal });
    list.table.addEventListener("pointerover", (event) => {
      const way = event.target.closest("tr").dataset.way;
      if (way !== undefined) single(Number(way));
    }, { signal });
    list.table.addEventListener("pointerleave", () => single(null), { signal });
  }

  // ---- the picture, in the direction that suits the width --------------------------------------

  async function turnPicture() {
    if (given.narrow && isNarrow() !== wasNarrow) return turn();
    const pictures = given.levels ?? given.pictures;
    const wide = main.clientWidth >= NARROW;
    const next = pictures[wide ? "LR" : "TB"] ? (wide ? "LR" : "TB") : Object.keys(pictures)[0];
    main.dataset.size = wide ? "wide" : "narrow";
    if (next === direction) return camera.fit();
    direction = next;
    const drawing = given.levels ? drawBoxes(next) : drawWhole(next);
    if (drawing) await drawing; // only then: a picture that needs no unpacking is there at once
    if (signal.aborted || direction !== next || !picture) return;
    camera.hold(picture.svg);
    showAll();
    main.dataset.ready = "yes";
  }

  function drawWhole(next) {
    const svg = drawn[next]?.svg ?? svgFrom(given.pictures[next]);
    if (!(svg instanceof Promise)) return hang(next, svg);
    const { pictures } = given;
    return svg.then((each) => {
      if (!signal.aborted && direction === next && given.pictures === pictures) hang(next, each);
    });
  }

  function hang(next, svg) {
    if (!drawn[next]) {
      drawn[next] = pictureOf(svg, play);
      drawn[next].units.forEach(follow);
    }
    choose(null);
    picture = drawn[next];
  }

  async function drawBoxes(next) {
    const texts = JSON.parse(await inflated(given.levels[next]));
    if (signal.aborted || direction !== next) return;
    choose(null);
    const before = run();
    const room = find("stage").clientWidth;
    boxes = pictureOfBoxes(texts, next, play, { open: wished, isFixed: given.asked, room, act: press });
    opened(boxes.open());
    state.frame = sameFrame(state.frame, before, run());
  }

  // Show a play: the first one, or another in its place. If nothing is different but the numbers in
  // its fields, the picture stays. The picture comes first: measuring it is cheap before the rest
  // has changed.
  function load(next) {
    const before = given.pictures?.[direction];
    const isSame = play !== null && next.play.units.length === play.units.length; // or so it seems
    const pointed = isSame ? chosen : null;
    choose(null);
    pause();
    given = next;
    play = given.play;
    runs = new Map(play.runs.map((run) => [run.name, run]));
    timelines = new Map();
    place(given.start, given.fault ?? "");
    if (picture && isAlike(before, given.pictures?.[direction])) {
      drawn = { [direction]: picture };
      picture.show(play);
      showAll();
    } else {
      [drawn, picture, direction] = [{}, null, ""];
      if (!isSame) camera.forget();
      turnPicture();
      if (!picture) showAll(); // it is being unpacked; the words are there already
    }
    choose(pointed);
    const title = play.title || say("a number");
    main.setAttribute("aria-label", say("player", { title }));
    find("name").textContent = title;
    find("value").textContent = ` = ${play.value}`;
    fillFaults(play.runs.length > 2);
    prediction.tell("");
    prediction.ask(null);
    if (state.isPredicting) show(state.frame);
  }

  function place(start, fault) {
    wanted = runs.has(fault) ? "" : fault;
    state.fault = find("fault").value = main.dataset.fault = wanted ? "" : fault;
    state.frame = Math.min(Math.max(frameNumber(start ?? 0), 0), run().frames.length - 1);
    state.isShown = true;
    if (state.fault) lastFault = state.fault;
  }

  if (given.play.levels && given.play.runs.length === 1) find("fault").parentNode.hidden = true; // too large
  wire();
  followTheme(host, main, signal);
  load(given); // now: a frame that is out of sight hears of no resizing
  predict(false);
  const watcher = new ResizeObserver(() => turnPicture());
  watcher.observe(main);
  if (given.fill) watcher.observe(find("stage"));
  return {
    go,
    place: () => ({ frame: state.frame, fault: state.fault, phase: run().frames[state.frame].phase }),
    choose: (unit) => choose(unit),
    load,
    learn,
    close() {
      ending.abort();
      watcher.disconnect();
      clearInterval(state.timer);
    },
  };
}

// The theme is that of `data-theme` on the element or around it, else the system's. In a notebook's
// frame ("host") it is that of the notebook, which cannot be asked: where it is dark, its style makes
// the frame a pixel higher.
function followTheme(host, main, signal) {
  const isHosted = document.documentElement.dataset.theme === "host";
  const dark = matchMedia(isHosted ? "(height: 621px) or (height: 381px)" : "(prefers-color-scheme: dark)");
  const set = () => {
    const around = host.closest('[data-theme="dark"], [data-theme="light"]');
    main.dataset.theme = around?.dataset.theme ?? (dark.matches ? "dark" : "light");
  };
  dark.addEventListener("change", set, { signal });
  const watcher = new MutationObserver(set);
  const filter = { attributes: true, attributeFilter: ["data-theme"], subtree: true };
  watcher.observe(document.documentElement, filter);
  signal.addEventListener("abort", () => watcher.disconnect());
  set();
}

// An SVG from what stands for it: an element, its text, or (later) its text deflated, in base64.
function svgFrom(thing) {
  if (thing instanceof Element) return thing;
  if (!thing.startsWith("<")) return inflated(thing).then(svgFrom);
  return document.importNode(new DOMParser().parseFromString(thing, "image/svg+xml").documentElement, true);
}

// Whether two pictures, as texts, are the same but for what the player writes into their fields.
function isAlike(one, other) {
  const [bare, same] = [one, other].map((each) =>
    typeof each === "string" && each.startsWith("<") && each.replace(/(<text class="mg-(?:data|grad)"[^>]*>)[^<]*/g, "$1"));
  return Boolean(bare) && bare === same;
}

function speaker(lang) {
  const words = WORDS[lang] ?? WORDS.en;
  return (key, fields = {}) => words[key]?.replace(/\{(\w+)\}/g, (_, name) => fields[name]);
}
