// A folded picture: a click or Enter on a box opens it in place, and closes it again.
//
// Python drew every box's inside once, with all boxes in it closed. Opening one makes room for it:
// what was left of it stays left, what was above it stays above, so the picture stays calm. Only
// lengths are added here; nothing is laid out anew.

const SVG = "http://www.w3.org/2000/svg";
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
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// The picture of one box's inside, or of the whole: its units and arrows, and where they were drawn.
class Level {
  constructor(text, isFlat, fold) {
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    this.along = isFlat ? 0 : 1;
    this.fold = fold;
    this.size = [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height];
    this.group = make("g", {});
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
    for (const unit of this.units.filter(({ box }) => box !== undefined)) fold.listen(this, unit);
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
      unit.inside = this.fold.inside(unit.box);
      unit.title = unit.element.dataset.title;
      const paint = { class: "mg-frame", rx: 8, fill: "#f8f8fe", stroke: "#4a55a8" };
      const x = 8 + (unit.title.length * COLUMN) / 2;
      const text = { class: "mg-text", x, y: HEADING / 2 + 2, fill: "#1b1f24", stroke: "none" };
      unit.element.replaceChildren(make("rect", paint), make("text", text, unit.title), unit.inside.group);
    }
    unit.element.setAttribute("aria-expanded", unit.inside !== null);
  }
}

class Fold {
  constructor(main, given) {
    this.main = main;
    this.stage = main.querySelector("div");
    this.given = given;
    this.show(innerWidth < 640 && given.levels.TB ? "TB" : Object.keys(given.levels)[0]);
  }

  async show(way) {
    this.isFlat = way !== "TB";
    this.texts = await unpacked(this.given.levels[way]);
    this.root = this.inside("");
    for (const box of this.given.open) {
      const [level, unit] = this.find(this.root, box) ?? [];
      if (unit && !unit.inside) level.toggle(unit);
    }
    const still = this.stage.querySelector("svg");
    this.svg = make("svg", { class: "mg", role: "group", "font-size": 12 });
    this.svg.setAttribute("font-family", still.getAttribute("font-family"));
    this.paper = make("rect", { class: "mg-paper", fill: "#ffffff" });
    this.svg.append(this.paper, this.root.group);
    still.replaceWith(this.svg);
    const [width] = this.root.arrange();
    this.scale = Math.min(1, Math.max(LEAST, this.stage.clientWidth / width)); // and it stays
    this.arrange();
    this.main.dataset.ready = "yes";
  }

  inside(box) {
    return new Level(this.texts[box], this.isFlat, this);
  }

  find(level, box) {
    for (const unit of level.units) {
      if (unit.box === box) return [level, unit];
      const found = unit.inside && this.find(unit.inside, box);
      if (found) return found;
    }
    return null;
  }

  arrange() {
    const [width, height] = this.root.arrange();
    for (const [element, scale] of [[this.svg, this.scale], [this.paper, 1]]) {
      element.setAttribute("width", rounded(width * scale));
      element.setAttribute("height", rounded(height * scale));
    }
    this.svg.setAttribute("viewBox", `0 0 ${rounded(width)} ${rounded(height)}`);
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
      const before = element.getBoundingClientRect();
      level.toggle(unit);
      this.arrange();
      const after = element.getBoundingClientRect();
      this.stage.scrollLeft += after.left - before.left; // it stays where it was pressed
      this.stage.scrollTop += after.top - before.top;
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

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// On a page of its own; the playground imports the class alone.
const main = document.querySelector("main.still");
if (main) new Fold(main, JSON.parse(main.querySelector('script[type="application/json"]').textContent));
