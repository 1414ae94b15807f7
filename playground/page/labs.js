// The labs: the texts, engines and verdicts of `minigrad lab`; how far one is stays in this browser.
import { make, brief } from "./dom.js";
import { markdown } from "./markdown.js";
import { Program, bar } from "./program.js";
import { memory } from "./memory.js";

const SECONDS = 30;

export class LabsTab {
  constructor(app) {
    const { say } = app;
    this.app = app;
    this.element = make("div", { className: "details" });
    this.text = make("div", {});
    this.program = new Program(say("engine"), { run: () => this.check(), changed: (text) => this.#keep({ text }) });
    this.bar = bar(app, "lab check", () => this.check());
    this.result = make("div", { className: "details", role: "status" });
    const button = (word, action) => make("button", { type: "button", text: say(word), "data-act": word, on: { click: action } });
    this.bar.element.append(button("lab next", () => this.#next()), button("lab reset", () => this.#reset()), button("lab back", () => this.#list()));
  }

  open() {
    this.app.right(this.app.side);
    return this.lab ? this.#enter(this.lab) : this.#list();
  }

  #kept = (lab) => memory.get(`lab.${lab}`) ?? {};
  #keep(more) {
    memory.set(`lab.${this.lab}`, { ...this.#kept(this.lab), ...more });
  }

  async #list() {
    const { say } = this.app;
    this.lab = null;
    const { labs = [], error } = await this.app.ask({ kind: "labs" });
    if (this.app.mode !== "labs") return;
    this.element.replaceChildren(make("p", { text: error ?? say("labs intro") }), make("div", { className: "labs" }, labs.map(({ name, title }) =>
      make("button", { type: "button", "data-lab": name, on: { click: () => this.#enter(name) } },
        make("span", {}, make("strong", { text: name }), ` ${title}`), make("span", { className: "good", text: say(`state ${this.#kept(name).state ?? "open"}`) })))));
    this.app.side.replaceChildren();
  }

  async #enter(lab) {
    this.lab = lab;
    const kept = this.#kept(lab);
    const state = kept.state ?? "started";
    const found = await this.app.ask({ kind: "lab", lab, state, pages: kept.pages ?? 1 });
    if (this.app.mode !== "labs") return;
    this.engine = found.engine;
    await this.program.set(kept.text ?? found.engine);
    if (!kept.state) this.#keep({ state, pages: 1 });
    this.element.replaceChildren(this.program.element, this.bar.element, this.result);
    this.result.replaceChildren();
    this.#read(found.pages);
    this.pages = found.pages.length;
  }

  // The pages so far; the first asks for a hypothesis, to be written there.
  #read(pages) {
    const [first, ...rest] = pages.map(markdown);
    const notes = make("textarea", { rows: 4, className: "notes", "aria-label": this.app.say("hypothesis"), placeholder: this.app.say("hypothesis") });
    notes.value = this.#kept(this.lab).notes ?? "";
    notes.addEventListener("input", () => this.#keep({ notes: notes.value }));
    this.app.side.replaceChildren(first, notes, ...rest);
  }

  async #next() {
    const kept = this.#kept(this.lab);
    const found = await this.app.ask({ kind: "lab", lab: this.lab, state: kept.state ?? "started", pages: Math.min(this.pages + 1, 3) });
    if (found.pages.length === this.pages) {
      this.result.replaceChildren(make("p", { className: "remark", text: this.app.say("lab later") }));
      return;
    }
    this.pages = found.pages.length;
    this.#keep({ pages: this.pages });
    this.#read(found.pages);
    this.app.side.lastElementChild.scrollIntoView({ block: "start" });
  }

  async #reset() {
    this.#keep({ text: undefined, state: "started", seen: {} });
    await this.program.set(this.engine);
    this.result.replaceChildren();
  }

  async check() {
    const { say } = this.app;
    const { state = "started", seen = {} } = this.#kept(this.lab);
    const request = { kind: "lab-check", lab: this.lab, text: this.program.text, state, seen, pages: this.pages };
    const found = await this.bar.during(this.app.ask(request, SECONDS));
    // An engine may leave a graph of thousands of nodes behind, the freeing of which would end Python
    // at any moment: it is ended here, where nobody waits for it.
    this.app.engine.restart();
    if (found.error) {
      this.result.replaceChildren(make("pre", { className: "error", text: found.error }));
      return;
    }
    this.#keep({ state: found.state, seen: found.seen });
    this.result.dataset.state = found.state;
    this.result.dataset.engine = found.engine;
    const heads = ["experiment", "number", "yours", "whole"];
    const rows = found.rows.map((row) => make("tr", {}, make("td", { text: row.experiment }), make("td", { text: row.name }), make("td", { className: "bad", text: brief(row.yours) }), make("td", { className: "good", text: brief(row.whole) })));
    this.result.replaceChildren(...[
      make("p", { className: found.state === "repaired" ? "good" : "", text: found.where }),
      found.problem && make("pre", { className: "error", text: found.problem }),
      rows.length ? make("table", {}, make("thead", {}, make("tr", {}, heads.map((head) => make("th", { text: say(head), scope: "col" })))), make("tbody", {}, rows)) : null,
      make("p", { className: "hint", text: found.then }),
    ].filter(Boolean));
    document.body.dataset.answers = Number(document.body.dataset.answers ?? 0) + 1;
  }
}
