// A play over boxes: a step is a box that is closed, or nodes that are alike. Python wrote down the
// smallest steps and which stretch of them each unit is; here those of a closed box are joined.

// The steps of a box by which it could be opened stand between its first and its last one, so where
// one is in the play is the same whatever is open: `place` counts the smallest steps that are done.
function timelineOfBoxes(play, open, run) {
  const isOpen = new Set(open);
  const around = new Map(play.units.flatMap((unit) => (unit.box ? [[unit.box, unit]] : [])));
  const isDrawn = ({ level }) => !level || (isOpen.has(level) && isDrawn(around.get(level)));
  const isUnit = (unit) => isDrawn(unit) && !isOpen.has(unit.box);
  const drawn = new Set(play.units.flatMap((unit, k) => (isUnit(unit) ? [k] : [])));
  const steps = [...drawn].filter((k) => play.units[k].from < play.units[k].to);
  steps.sort((a, b) => play.units[a].from - play.units[b].from);
  const into = arrowsInto(play);
  const number = play.backward.length;
  const frames = [frameOf("start", { place: 0 })];
  for (const k of steps) {
    const { from, to, data } = play.units[k];
    const answer = data.includes("…") ? undefined : data;
    const worked = play.units.flatMap((unit, n) =>
      unit.from < unit.to && from < unit.to && unit.to <= to ? [{ key: 2 * n, text: unit.data }] : []);
    frames.push(frameOf("forward box", {
      phase: "forward", place: to, units: [k], arrows: into[k], changes: worked, text: data, answer }));
  }
  const grads = play.units.map(() => "0");
  const rights = play.units.map(() => undefined);
  const set = ([unit, text, right]) => {
    grads[unit] = text;
    rights[unit] = right;
    return { key: 2 * unit + 1, text, right };
  };
  const root = steps.at(-1);
  if (run.first) {
    frames.push(frameOf("again", { phase: "backward", place: number + 0.3, changes: run.first.map(set) }));
  }
  const changes = (run.seed ?? play.seed).map(set);
  const [seed, right] = [grads[root], grads[root] === "1" ? undefined : "1"];
  frames.push(frameOf("seed", { phase: "backward", place: number + 0.5, units: [root], changes, seed, right }));
  const done = run.rows ?? play.backward;
  for (const k of steps.toReversed()) {
    const { from, to } = play.units[k];
    const rows = done.slice(from, to).reverse().flat();
    const targets = [...new Set(rows.map(([unit]) => unit))].filter((unit) => drawn.has(unit) && unit !== k);
    targets.sort((a, b) => a - b);
    const before = targets.map((unit) => grads[unit]);
    const changes = rows.map(set);
    const after = targets.map((unit) => grads[unit] + unlike(rights[unit]));
    frames.push(frameOf("backward box", {
      phase: "backward", place: 2 * number + 1 - from, units: [k], arrows: into[k], targets, before, after, changes }));
  }
  if (run.kept) {
    frames.push(frameOf("kept", { phase: "backward", place: 2 * number + 1.5, changes: run.kept.map(set) }));
  }
  const wrong = run.wrong ?? [];
  const shown = new Set([...drawn].map((k) => play.units[k]));
  const outwards = ({ level }) => (level ? [around.get(level), ...outwards(around.get(level))] : []);
  const inside = wrong.flatMap(([unit]) => outwards(play.units[unit]).filter((each) => shown.has(each)));
  frames.push(frameOf("end", {
    place: 2 * number + 2,
    units: [root],
    wrong: wrong.filter(([unit]) => drawn.has(unit)),
    inside: [...new Set(inside)].map(nameOf),
    survived: Boolean(run.name) && !run.rows,
    changes: wrong.map(set),
  }));
  return indexed({ ...play, units: play.units.map((unit) => (unit.from < unit.to ? { data: "" } : unit)) }, frames);
}

// The frame of another timeline in which one is as far, or that has what is shown among other things.
function sameFrame(frame, before, after) {
  if (!frame) return 0;
  const { place } = before.frames[frame - 1];
  return after.frames.findIndex((each) => each.place > place);
}

// By unit: the arrows that lead to it; from a port inside a box also those that lead to the box.
function arrowsInto(play) {
  const into = play.units.map(() => []);
  const ports = portsOf(play);
  const withFeeds = (arrow) => [arrow, ...(ports.get(arrow) ?? []).flatMap(withFeeds)];
  play.arrows.forEach(([, target], k) => into[target].push(...withFeeds(k)));
  return into.map((arrows) => [...new Set(arrows)]);
}

// By an arrow from a port: the arrows outside the box that bring the same.
function portsOf(play) {
  const found = new Map();
  for (const { ends, arrows, feeds } of Object.values(play.levels)) {
    ends.forEach(([source], k) => {
      if (source < feeds.length) found.set(arrows + k, feeds[source]);
    });
  }
  return found;
}

// By unit: what uses it, and the arrow there. What is used outside its box leads to the box first.
function usersInBoxes(play) {
  const users = play.units.map(() => []);
  const ports = portsOf(play);
  const sources = (arrow) =>
    ports.has(arrow) ? ports.get(arrow).flatMap(sources) : [play.arrows[arrow][0]];
  play.arrows.forEach(([, target], k) => {
    for (const source of new Set(sources(k))) users[source].push([target, k]);
  });
  const box = new Map(play.units.flatMap((unit, k) => (unit.box ? [[unit.box, k]] : [])));
  play.units.forEach(({ level }, k) => {
    if (level && !users[k].some(([target]) => play.units[target].level === level)) users[k].push([box.get(level)]);
  });
  return users;
}

function boxCaption(play, frame, say, isAsked) {
  const unit = play.units[frame.units[0]];
  const name = nameOf(unit);
  const notes = [];
  if (unit.box) notes.push(say("box note", { nodes: unit.nodes }));
  else if (unit.data.includes("…")) notes.push(say("alike note", { nodes: unit.nodes }));
  if (unit.stale) notes.push(say("stale"));
  const note = notes.join("; ");
  if (frame.kind === "forward box") {
    const head = unit.head ?? `${name} = `;
    return { title: say("forward title", { name }), text: head + (isAsked ? "?" : frame.text), note, asks: head };
  }
  const operands = frame.targets.map((k) => play.units[k]);
  const texts = operands.map((each, k) => `${ownerOf(each)}.grad: ${frame.before[k]} → ${frame.after[k]}`);
  const operand = few(operands.map(nameOf), 4) || "–";
  return { title: say("backward title", { name, operand }), text: few(texts, 2), note };
}

// The picture has them all.
const few = (list, most) => [...list.slice(0, most), ...(list.length > most ? ["…"] : [])].join(", ");

// The picture, in a direction. Where it would have to be too small, boxes that nobody asked for are
// closed, the innermost first, as long as that helps.
function pictureOfBoxes(texts, way, play, { open, isFixed, room, act }) {
  const boxes = new Boxes(texts, way, open, act);
  const depth = (box) => {
    const { level } = play.units.find((unit) => unit.box === box);
    return level ? depth(level) + 1 : 0;
  };
  const least = Math.max(room / LEAST, 1.1 * boxes.root.size[0]);
  while (!isFixed && boxes.open().length && boxes.svg.viewBox.baseVal.width > least) {
    const open = boxes.open();
    const deepest = Math.max(...open.map(depth));
    open.filter((box) => depth(box) === deepest).forEach((box) => boxes.toggle(box));
    boxes.arrange();
  }
  return boxes;
}

// Number what is drawn, as the play does.
function numberBoxes(boxes, play) {
  for (const [box, level] of boxes.levels()) {
    const { units, arrows } = play.levels[box];
    level.units.forEach(({ element }, k) => {
      if (units[k] === null) return;
      element.dataset.unit = units[k];
      if (!element.hasAttribute("tabindex")) element.setAttribute("tabindex", 0);
    });
    level.arrows.forEach(({ element }, k) => (element.dataset.arrow = arrows + k));
  }
}
