// The picture: writes fields, lights units and arrows, turns arrows around, colours paths. The SVG
// is Python's; what is added to it here is made of its own points.

const SVG = "http://www.w3.org/2000/svg";
const TAG = 10.5; // px, the letters of what a wrong grad should be
const DASH = 9; // px, where several paths share an arrow

function pictureOf(svg, play) {
  // By their numbers; of a graph with boxes some are not drawn.
  const units = [];
  const arrows = [];
  const fields = [];
  for (const unit of svg.querySelectorAll("[data-unit]")) {
    const k = Number(unit.dataset.unit);
    units[k] = unit;
    [fields[2 * k], fields[2 * k + 1]] = unit.querySelectorAll(":scope > :is(.mg-data, .mg-grad)");
  }
  for (const arrow of svg.querySelectorAll("[data-arrow]")) arrows[arrow.dataset.arrow] = arrow;
  svg.querySelectorAll(".mg-ways, .mg-tag").forEach((each) => each.remove()); // of another player
  const ways = new Map(); // by the group of arrows that they lie under, like a marker pen: each box has one
  const texts = []; // what each field reads
  const tags = new Map(); // by unit: what a wrong grad should be
  const isBack = arrows.map((arrow) => arrow.classList.contains("is-back"));
  let users = []; // of each unit: the units that use it, and the arrows there
  let lit = [];
  let chosen = [];

  // `entry` is what the history of the field says; with `isHidden` it is to be guessed.
  function write(key, entry, isHidden) {
    const [unit, isGrad] = [Math.floor(key / 2), key % 2 === 1];
    const right = isHidden ? undefined : entry.right;
    const text = `${isGrad ? "grad" : "data"} ${isHidden ? "?" : entry.text}`.trim();
    const reads = text + unlike(right);
    if (texts[key] === reads || !fields[key]) return;
    texts[key] = reads;
    fields[key].textContent = text;
    if (isGrad) {
      const { columns } = play.units[unit]; // of a play with boxes, those of data too
      condense(fields[key], text, (columns[1] ?? columns) * play.column);
      fields[key].classList.toggle("is-wrong", right !== undefined);
      units[unit].classList.toggle("is-wrong", right !== undefined);
      correct(unit, right);
    }
    const [data, grad] = [texts[2 * unit] ?? "", texts[2 * unit + 1] ?? ""];
    const name = `${play.units[unit].name}, ${data}, ${grad}`;
    units[unit].setAttribute("aria-label", name);
  }

  // A cell is as wide as the right numbers need; wrong ones may have more digits.
  function condense(field, text, width) {
    if (text.length * play.column <= width) {
      if (field.hasAttribute("textLength")) field.removeAttribute("textLength");
      return;
    }
    field.setAttribute("textLength", width);
    field.setAttribute("lengthAdjust", "spacingAndGlyphs");
  }

  // Under the corner of a wrong grad stands what it should be.
  function correct(unit, right) {
    tags.get(unit)?.remove();
    tags.delete(unit);
    if (right === undefined) return;
    const box = units[unit].querySelector(".mg-box");
    const at = (name) => Number(box.getAttribute(name));
    const width = (right.length + 2) * play.column * (TAG / 12) + 8;
    const [x, y] = [at("x") + at("width") - width + 4, at("y") + at("height") - 3];
    const tag = draw("g", { class: "mg-tag" });
    const text = draw("text", { class: "mg-right", x: x + width / 2, y: y + 8, "font-size": TAG, stroke: "none" });
    text.textContent = `≠ ${right}`;
    tag.append(draw("rect", { x, y, width, height: 15, rx: 3 }), text);
    units[unit].append(tag);
    tags.set(unit, tag);
  }

  function light(frame) {
    for (const [element, name] of lit) element.classList.remove(name);
    lit = frame.units.map((k) => [units[k], "is-active"]);
    for (const k of frame.arrows) lit.push([arrows[k], "is-active"]);
    for (const k of frame.targets) lit.push([units[k], "is-target"]);
    lit = lit.filter(([element]) => element);
    for (const [element, name] of lit) element.classList.add(name);
  }

  // An arrow that a gradient has gone along points the way it went.
  function pass(k, isPassed) {
    if (Boolean(isBack[k]) === isPassed || !arrows[k]) return;
    isBack[k] = isPassed;
    if (isPassed) turn(arrows[k]);
    arrows[k].classList.toggle("is-back", isPassed);
  }

  // ---- the paths of a variable: one colour each, dashes in turn where they share an arrow -------

  function choose(unit, terms) {
    for (const element of chosen) element.classList.remove("on-path");
    chosen = [];
    for (const group of ways.values()) group.replaceChildren();
    svg.classList.toggle("has-path", unit !== null);
    if (unit === null) return;
    const reached = new Set([unit]);
    for (const k of reached) { // grows while it is read
      chosen.push(units[k]);
      for (const [target, arrow] of users[k]) {
        chosen.push(arrows[arrow]);
        reached.add(target);
      }
    }
    chosen.push(...(units[unit]?.querySelectorAll(".mg-unit, .mg-arrow") ?? [])); // of an open box
    chosen = chosen.filter(Boolean);
    for (const element of chosen) element.classList.add("on-path");
    const sharing = new Map();
    terms.forEach(([, path], way) => {
      for (const arrow of path.filter((k) => arrows[k])) sharing.set(arrow, [...(sharing.get(arrow) ?? []), way]);
    });
    for (const [arrow, all] of sharing) under(arrow).append(...all.map((way, k) => stroke(arrow, way, k, all.length)));
  }

  function under(arrow) {
    const around = arrows[arrow].parentNode;
    if (!ways.has(around)) {
      ways.set(around, draw("g", { class: "mg-ways", fill: "none" }));
      around.before(ways.get(around));
    }
    return ways.get(around);
  }

  function stroke(arrow, way, turnOf, count) {
    const [tip] = arrows[arrow].querySelector(".mg-head").points;
    const d = `${arrows[arrow].querySelector(".mg-edge").getAttribute("d")}L${tip.x} ${tip.y}`;
    const path = draw("path", { class: `way-${way}`, "data-way": way, "data-along": arrow, d });
    if (count > 1) {
      path.setAttribute("stroke-dasharray", `${DASH} ${DASH * (count - 1)}`);
      path.setAttribute("stroke-dashoffset", -DASH * turnOf);
    }
    return path;
  }

  function single(way) { // null: all of them
    for (const path of [...ways.values()].flatMap((group) => [...group.children])) path.classList.toggle("is-faint", way !== null && path.dataset.way !== `${way}`);
  }

  // Another play with the same picture: what is written anew is written by its names.
  function show(next) {
    next.units.forEach(({ name }, k) => {
      if (name !== play.units[k].name) texts.fill("", 2 * k, 2 * k + 2);
    });
    play = next;
    users = play.levels ? usersInBoxes(play) : play.units.map(() => []);
    if (!play.levels) play.arrows.forEach(([source, target], k) => users[source].push([target, k]));
  }

  show(play);
  return { svg, units, show, write, light, pass, choose, single };
}

function draw(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// Give an arrow a second head, at its start, once. The first head says how long one is and which
// way the arrow runs; the line is made longer by it, because it ended where the head began.
function turn(arrow) {
  if (arrow.querySelector(".mg-back")) return;
  const edge = arrow.querySelector(".mg-edge");
  const [tip, one, two] = [...arrow.querySelector(".mg-head").points];
  const [dx, dy] = [tip.x - (one.x + two.x) / 2, tip.y - (one.y + two.y) / 2];
  const [sx, sy] = [(one.x - two.x) / 2, (one.y - two.y) / 2];
  const [x, y] = edge.getAttribute("d").slice(1).split(/[ C]/, 2).map(Number);
  const points = `${x},${y} ${x + dx + sx},${y + dy + sy} ${x + dx - sx},${y + dy - sy}`;
  arrow.append(
    draw("path", { class: "mg-edge mg-tail", d: `M${tip.x - dx} ${tip.y - dy}L${tip.x} ${tip.y}` }),
    draw("polygon", { class: "mg-back", points, stroke: "none" }),
  );
}
