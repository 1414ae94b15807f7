// A level: the picture of one box's inside, in which boxes can be open.
//
// Python drew every box's inside once, with all boxes in it closed. Opening one makes room for it:
// what was left of it stays left, what was above it stays above, so the picture stays calm. Only
// lengths are added here; nothing is laid out anew.

const HEAD = 7; // px, an arrow's head, as in svg.py
const HEADING = 24; // px, of a frame
const LEAST = 0.6; // how small a picture may be made so that it fits, and its numbers can be read
const COLUMN = 7.3; // px, of a character

// Return where a place goes if some stretches [from, to] have to grow, each by at least so much.
function spread(grown) {
  const places = [...new Set(grown.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  const extra = [];
  places.forEach((place, k) => {
    let most = k ? extra[k - 1] : 0;
    for (const { from, to, by } of grown) {
      if (to === place) most = Math.max(most, extra[places.indexOf(from)] + by);
    }
    extra.push(most);
  });
  return (x) => {
    const k = places.findIndex((place) => place > x);
    if (k < 0) return x + (extra.at(-1) ?? 0);
    if (k === 0) return x;
    const part = (x - places[k - 1]) / (places[k] - places[k - 1]);
    return x + extra[k - 1] + part * (extra[k] - extra[k - 1]);
  };
}

const numbers = (text) => text.match(/-?[\d.]+/g).map(Number);
const pairs = (list) => list.flatMap((x, k) => (k % 2 ? [] : [[x, list[k + 1]]]));
const rounded = (x) => Math.round(x * 100) / 100;

function make(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

class Level {
  constructor(text, isFlat, boxes) {
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    this.along = isFlat ? 0 : 1;
    this.boxes = boxes;
    this.size = [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height];
    this.group = make("g", { "font-family": svg.getAttribute("font-family"), "font-size": 12 });
    for (const child of [...svg.querySelector("g.mg-level").children]) {
      this.group.append(document.importNode(child, true));
    }
    this.units = [...this.group.querySelectorAll("[data-size]")].map((element) => ({
      element,
      at: numbers(element.getAttribute("transform")),
      size: numbers(element.dataset.size),
      box: element.dataset.box,
      closed: [...element.childNodes],
      inside: null,
    }));
    this.arrows = [...this.group.querySelectorAll("[data-ends]")].map((element) => ({
      element,
      ends: numbers(element.dataset.ends),
      points: pairs(numbers(element.querySelector(".mg-edge").getAttribute("d"))),
    }));
    this.digits = [...this.group.querySelectorAll("[data-tip]")].map((element) => ({
      element,
      arrow: Number(element.dataset.tip),
      at: [Number(element.getAttribute("x")), Number(element.getAttribute("y"))],
    }));
    for (const unit of this.units.filter(({ box }) => box !== undefined)) boxes.listen(this, unit);
  }

  // Put everything in its place; return how large the whole is.
  arrange() {
    const sizes = this.units.map((unit) => (unit.inside ? this.frame(unit) : unit.size));
    const maps = [0, 1].map((axis) =>
      spread(this.units.flatMap(({ at, size }, k) => {
        const by = sizes[k][axis] - size[axis];
        return by > 0 ? [{ from: at[axis], to: at[axis] + size[axis], by }] : [];
      })),
    );
    // Along the arrows a unit stays where its layer begins; across them, in the middle of its place.
    const corners = this.units.map(({ at, size }, k) =>
      [0, 1].map((axis) => {
        const [from, to] = [maps[axis](at[axis]), maps[axis](at[axis] + size[axis])];
        return axis === this.along ? from : (from + to - sizes[k][axis]) / 2;
      }),
    );
    this.units.forEach(({ element }, k) => {
      element.setAttribute("transform", `translate(${corners[k].map(rounded).join(" ")})`);
    });
    const tips = this.arrows.map((arrow) => this.lead(arrow, sizes, corners, maps));
    for (const { element, arrow, at } of this.digits) {
      element.setAttribute("x", rounded(at[0] + tips[arrow][0]));
      element.setAttribute("y", rounded(at[1] + tips[arrow][1]));
    }
    return [0, 1].map((axis) => maps[axis](this.size[axis]));
  }

  // Draw an arrow between its units, wherever they are now; return how far its tip has moved.
  lead({ element, ends, points }, sizes, corners, maps) {
    const { along } = this;
    const across = 1 - along;
    const [source, target] = ends;
    const middle = (k) => corners[k][across] + sizes[k][across] / 2;
    const offset = points.at(-1)[across] - this.units[target].at[across] - this.units[target].size[across] / 2;
    const moved = points.map((point) => [0, 1].map((axis) => maps[axis](point[axis])));
    // Where it ran level from its source, or level to its target, it still does.
    const last = points.length - 1;
    const isLevel = (k, end) => Math.abs(points[k][across] - points[end][across]) < 0.01;
    for (let k = 0; k < 2 || (k < last - 1 && isLevel(k, 0)); k += 1) moved[k][across] = middle(source);
    for (let k = last; k > last - 2 || (k > 1 && isLevel(k, last)); k -= 1) {
      moved[k][across] = middle(target) + offset;
    }
    moved[last][along] = corners[target][along] - HEAD;
    // It leaves its unit level, as far as the layer reaches that others have made wider.
    const start = [...moved[0]];
    start[along] = corners[source][along] + sizes[source][along];
    if (moved[0][along] - start[along] > 0.01) moved.unshift(start, start, moved[0]);
    else moved[0] = start;
    const text = moved.map((point) => point.map(rounded).join(" "));
    element.querySelectorAll(".mg-back, .mg-tail").forEach((each) => each.remove()); // see picture.js
    element.classList.remove("is-back");
    element.querySelector(".mg-edge").setAttribute("d", `M${text[0]}C${text.slice(1).join(" ")}`);
    const tip = [...moved.at(-1)];
    const head = [0, -HEAD / 2, HEAD / 2].map((side, k) => {
      const corner = [...tip];
      corner[across] += side;
      if (k === 0) corner[along] += HEAD;
      return corner.map(rounded).join(",");
    });
    element.querySelector(".mg-head").setAttribute("points", head.join(" "));
    return [0, 1].map((axis) => tip[axis] - points.at(-1)[axis]);
  }

  // Draw an open box around what is inside it; return its size.
  frame({ element, inside, title }) {
    const inner = inside.arrange();
    const size = [Math.max(inner[0], title.length * COLUMN + 16), inner[1] + HEADING];
    const [rect] = element.children;
    rect.setAttribute("width", size[0]);
    rect.setAttribute("height", size[1]);
    inside.group.setAttribute("transform", `translate(${(size[0] - inner[0]) / 2} ${HEADING})`);
    return size;
  }

  toggle(unit) {
    if (unit.inside) {
      unit.inside = null;
      unit.element.replaceChildren(...unit.closed);
    } else {
      unit.inside = this.boxes.inside(unit.box);
      unit.title = unit.element.dataset.title;
      const paint = { class: "mg-frame", rx: 8, fill: "#f8f8fe", stroke: "#4a55a8" };
      const x = 8 + (unit.title.length * COLUMN) / 2;
      const text = { class: "mg-text", x, y: HEADING / 2 + 2, fill: "#1b1f24", stroke: "none" };
      unit.element.replaceChildren(make("rect", paint), make("text", text, unit.title), unit.inside.group);
    }
    unit.element.setAttribute("aria-expanded", unit.inside !== null);
  }
}

// The whole picture: the levels that are open, in one another.
//
//   texts  the inside of each box, by its id; way: "LR" or "TB"; open: the boxes that are open
//   act    a function of the element of a box that somebody pressed, and of what is to be done
class Boxes {
  constructor(texts, way, open, act) {
    Object.assign(this, { texts, act, isFlat: way !== "TB" });
    this.root = this.inside("");
    this.paper = make("rect", { class: "mg-paper", fill: "#ffffff" });
    this.svg = make("svg", { class: "mg", role: "group" });
    this.svg.append(this.paper, this.root.group);
    for (const box of open) this.toggle(box);
    this.arrange();
  }

  inside(box) {
    return new Level(this.texts[box], this.isFlat, this);
  }

  // The ids of the open boxes, outer ones first.
  open(level = this.root) {
    const open = level.units.filter(({ inside }) => inside);
    return open.flatMap(({ box, inside }) => [box, ...this.open(inside)]);
  }

  // All levels that are drawn, by the id of their box.
  levels(box = "", level = this.root) {
    const open = level.units.filter(({ inside }) => inside);
    return [[box, level], ...open.flatMap((unit) => this.levels(unit.box, unit.inside))];
  }

  // Open a box, or close it, if it is drawn; `arrange` is to follow.
  toggle(box) {
    for (const [, level] of this.levels()) {
      const unit = level.units.find((each) => each.box === box);
      if (unit && box in this.texts) return level.toggle(unit);
    }
  }

  arrange() {
    const [width, height] = this.root.arrange().map(rounded);
    for (const element of [this.svg, this.paper]) {
      element.setAttribute("width", width);
      element.setAttribute("height", height);
    }
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    return width;
  }

  listen(level, unit) {
    const { element } = unit;
    if (!(unit.box in this.texts)) return;
    element.setAttribute("tabindex", 0);
    element.setAttribute("role", "button");
    element.setAttribute("aria-expanded", false);
    element.setAttribute("aria-label", element.dataset.title.slice(2));
    const act = (event) => {
      event.stopPropagation();
      event.preventDefault();
      this.act(element, () => {
        level.toggle(unit);
        this.arrange();
      });
      element.focus({ preventScroll: true });
    };
    element.addEventListener("click", (event) => {
      // Inside an open box only its heading closes it.
      const heading = unit.inside && element.querySelector(":scope > text").getBoundingClientRect();
      if (!heading || event.clientY <= heading.bottom + 4) act(event);
      else event.stopPropagation();
    });
    element.addEventListener("keydown", (event) => {
      if (event.target === element && ["Enter", " "].includes(event.key)) act(event);
    });
  }
}

// Do something to a picture in a stage that scrolls, so that the element stays where it is seen.
function inPlace(stage, element, change) {
  const before = element.getBoundingClientRect();
  change();
  const after = element.getBoundingClientRect();
  stage.scrollLeft += after.left - before.left;
  stage.scrollTop += after.top - before.top;
}

