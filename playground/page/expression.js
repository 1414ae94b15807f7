// Expressions: typed, their inputs dragged; the picture follows at once, the check when one rests.
import { make, brief, download } from "./dom.js";
import { Details } from "./details.js";
import { Lines } from "./lines.js";
import { curve } from "./plot.js";
import { exportBox } from "./export.js";

const RESTS = 250; // ms after the last change: then there is time for the check by differences
const RANGE = 10;

export class ExpressionTab {
  constructor(app) {
    const { say } = app;
    this.app = app;
    this.values = Object.create(null); // a name may be "constructor"
    this.gallery = make("select", { "aria-label": say("gallery"), on: { change: () => this.#example() } }, make("option", { value: "", text: say("choose") }));
    this.text = make("textarea", { rows: 3, spellcheck: false, id: "expression", "aria-label": say("expression"), autocapitalize: "off", on: { input: () => this.#typed() } });
    this.lines = new Lines(this.text, (line) => this.#point(line));
    this.error = make("pre", { className: "error", role: "alert", hidden: true });
    this.sliders = make("div", { className: "sliders" });
    this.plot = make("div", {});
    this.caption = make("p", { className: "hint" });
    this.details = new Details(app, app.picture, (row) => this.#light(row));
    this.element = make("div", { className: "details" },
      make("label", { className: "row" }, say("gallery"), this.gallery), this.lines.element,
      make("p", { className: "hint", text: say("expression hint") }), this.error, this.sliders, this.plot, this.caption);
    this.below = make("div", { className: "details" }, this.details.element, exportBox(app, (format) => this.#export(format)));
    app.picture.listeners.add((unit) => this.lines.light(this.units?.[unit]?.labelled ? this.units[unit].name : null));
    this.lines.read();
    this.examples = this.#load();
    this.along = "";
    this.isBusy = false;
    this.isAgain = false;
  }

  async #load() {
    const { examples } = await this.app.ask({ kind: "gallery" });
    for (const { name, title } of examples ?? []) this.gallery.append(make("option", { value: name, text: title }));
    return examples ?? [];
  }

  async open(asked) {
    const isGiven = asked?.mode === "expression" && typeof asked.text === "string";
    if (isGiven) {
      this.#set(asked.text, asked.values ?? {}, { start: asked.step, fault: asked.fault });
    } else if (this.text.value) {
      this.update();
    } else {
      const [first] = await this.examples;
      if (first && !this.text.value) this.#set(first.text, first.values, { start: null, fault: "" });
    }
  }

  async #example() {
    const found = (await this.examples).find(({ name }) => name === this.gallery.value);
    if (!found) return;
    if (found.kind !== "expression") return this.app.open(found.kind, { mode: found.kind, text: found.text, isOwn: true });
    this.#set(found.text, found.values, { start: 1e9, fault: found.fault });
  }

  #set(text, values, place) {
    this.text.value = text;
    this.text.rows = Math.min(Math.max(text.split("\n").length, 2), 8);
    this.values = Object.assign(Object.create(null), values);
    this.sliders.dataset.names = "";
    this.place = place;
    this.#typed();
  }

  #typed() {
    this.lines.read();
    this.update();
  }

  // One question at a time; the last one asked while it was away is asked next.
  async update() {
    if (this.isBusy) {
      this.isAgain = true;
      return;
    }
    this.isBusy = true;
    const from = performance.now();
    const request = { text: this.text.value, remembered: { ...this.values } }; // also of names that are gone for now
    const range = this.#range(this.along);
    const faults = this.app.picture.faults(this.place);
    const room = this.room?.text === request.text ? this.room.columns : []; // boxes do not shrink under a slider
    const answer = await this.app.ask({ kind: "expression", ...request, faults, room, along: this.along, ...range });
    this.isBusy = false;
    if (this.app.mode === "expression" && this.app.tabs.expression === this) this.#show(request, answer);
    this.app.stats?.push({ worker: answer.ms, total: performance.now() - from });
    document.body.dataset.answers = Number(document.body.dataset.answers ?? 0) + 1;
    if (this.isAgain) {
      this.isAgain = false;
      this.update();
    }
  }

  #show(request, answer) {
    this.error.hidden = !answer.error;
    this.error.textContent = answer.error ?? "";
    document.body.classList.toggle("is-old", Boolean(answer.error)); // what is shown is of the text before
    if (answer.error) return; // the picture stays as it was: one is still typing
    for (const row of answer.rows) this.values[row.name] ??= row.value;
    const names = answer.rows.map((row) => row.name);
    this.#slide(answer.rows);
    const checks = this.checks?.text === JSON.stringify(request) ? this.checks.rows : new Map();
    this.details.show(answer, checks);
    this.app.picture.show(answer, this.place);
    this.place = undefined;
    this.#plot(answer.plot);
    clearTimeout(this.resting);
    if (!checks.size) this.resting = setTimeout(() => this.#check(request, answer), RESTS);
    const units = (this.units = answer.player?.play.units ?? []);
    this.room = { text: request.text, columns: units.flatMap(({ dataColumns, columns }) => [dataColumns, columns]) };
    this.app.note({ text: request.text, values: Object.fromEntries(names.map((name) => [name, this.values[name]])) });
    if (!this.along && names.length) {
      this.along = names[0];
      this.update(); // with a plot from now on
    }
  }

  async #check(request, answer) {
    const found = await this.app.ask({ kind: "check", ...request });
    if (found.error || this.text.value !== request.text || this.isBusy) return;
    this.checks = { text: JSON.stringify(request), rows: new Map(found.rows.map((row) => [row.name, row])) };
    this.details.show(answer, this.checks.rows);
  }

  // ---- sliders ---------------------------------------------------------------------------------

  #range(name) {
    const reach = Math.max(RANGE, 2 * Math.abs(Number(this.ranges?.[name] ?? 0)));
    return Number.isFinite(reach) ? { from: -reach, to: reach } : {};
  }

  #slide(rows) {
    const names = rows.map((row) => row.name).join();
    if (this.sliders.dataset.names === names) return;
    this.sliders.dataset.names = names;
    this.ranges = Object.fromEntries(rows.map((row) => [row.name, row.value]));
    if (!rows.some((row) => row.name === this.along)) this.along = "";
    this.sliders.replaceChildren(...rows.map(({ name, value, unit }) => {
      const { from: min = -RANGE, to: max = RANGE } = this.#range(name);
      const range = make("input", { type: "range", min, max, step: "any", "aria-label": name });
      range.value = value;
      const number = make("input", { type: "number", step: "any", "aria-label": name });
      number.value = value;
      const take = (from, to) => {
        if (from.value === "") return;
        this.values[name] = from === range ? Number(Number(from.value).toFixed(2)) : Number(from.value);
        if (Math.abs(this.values[name]) > Number(range.max)) { // typed, and beyond: the slider and the plot follow
          this.ranges[name] = this.values[name];
          const { from: min, to: max } = this.#range(name);
          if (max) Object.assign(range, { min, max });
        }
        to.value = this.values[name];
        this.along = name;
        this.update();
      };
      range.addEventListener("input", () => take(range, number));
      number.addEventListener("input", () => take(number, range));
      range.addEventListener("keydown", (event) => { // step="any" would go by hundredths of the range
        const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        range.value = Number((Number(range.value) + (by * range.max) / 100).toFixed(2));
        take(range, number);
      });
      const row = make("div", { className: "slider", "data-name": name }, make("span", { className: "mono", text: name }), range, number);
      row.addEventListener("pointerenter", () => this.app.picture.choose(unit));
      row.addEventListener("pointerleave", () => this.app.picture.choose(null));
      return row;
    }));
  }

  // A line of the expression: its result, and whatever leads there from it.
  #point(line) {
    const name = line === null ? null : this.lines.nameOf(line);
    const unit = name === "" ? this.units.length - 1 : this.units?.findLastIndex((each) => each.labelled && each.name === name);
    this.app.picture.choose(name === null || !(unit >= 0) ? null : unit);
  }

  #light(row) {
    this.lines.light(row?.name ?? null);
    for (const slider of this.sliders.children) slider.classList.toggle("is-lit", row?.name === slider.dataset.name);
  }

  #plot(plot) {
    if (!plot) return;
    const label = this.app.say("plot", { name: plot.name, slope: brief(plot.slope) });
    this.plot.replaceChildren(curve(plot, label));
    this.caption.textContent = label;
  }

  async #export(format) {
    const found = await this.app.ask({ kind: "export", format, text: this.text.value, remembered: this.values }, 30);
    if (!found.error && !["minigrad", "micrograd", "pytorch"].includes(format)) download(found.file, found.type, found.text);
    return found;
  }
}
