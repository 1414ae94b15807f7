// Exercises: fill in the gradients of a random graph; graded box by box, with the reason.
import { make, svgFrom } from "./dom.js";
import { memory } from "./memory.js";

const draw = () => crypto.getRandomValues(new Uint32Array(1))[0];

export class ExerciseTab {
  constructor(app) {
    const { say } = app;
    this.app = app;
    this.level = make("select", { "aria-label": say("level"), on: { change: () => this.pose() } }, [1, 2, 3].map((k) => make("option", { value: k, text: `${k}: ${say(`level ${k}`)}` })));
    this.level.value = memory.get("level") ?? 1;
    this.form = make("form", { className: "details", on: { submit: (event) => { event.preventDefault(); this.grade(); } } });
    this.score = make("p", { role: "status", "data-status": "exercise" });
    this.total = make("p", { className: "hint" });
    this.element = make("div", { className: "details" }, make("p", { text: say("exercise intro") }),
      make("div", { className: "row" }, make("label", {}, say("level"), this.level), make("button", { type: "button", text: say("another"), "data-act": "another", on: { click: () => this.pose() } })),
      this.form, this.score, this.total);
    this.#sum(0, 0);
  }

  open() {
    return this.posed ? this.#show() : this.pose();
  }

  async pose() {
    memory.set("level", Number(this.level.value));
    this.seed = draw();
    const posed = await this.app.ask({ kind: "exercise", level: Number(this.level.value), seed: this.seed });
    if (posed.error || this.app.mode !== "exercise") return;
    this.posed = posed;
    this.isGraded = false;
    this.score.textContent = "";
    this.#show();
  }

  #show() {
    const { say } = this.app;
    const { text, values, svg, boxes } = this.posed;
    const given = Object.entries(values).map(([name, x]) => `${name} = ${x}`).join(", ");
    this.inputs = new Map(boxes.map(({ unit, name }) => [unit, make("input", { className: "box-input", maxLength: 100, inputMode: "text", autocomplete: "off", "aria-label": `${say("your gradient")} ${name}`, "data-unit": unit })]));
    this.reasons = new Map(boxes.map(({ unit }) => [unit, make("td", { className: "words" })]));
    const rows = boxes.toReversed().map(({ unit, name, data }) =>
      make("tr", {}, make("td", { text: name }), make("td", { className: "value", text: data }), make("td", {}, this.inputs.get(unit)), this.reasons.get(unit)));
    const heads = [["node"], ["value"], ["your gradient"], ["verdict", "words"]];
    this.form.replaceChildren(make("h2", { className: "mono", text }), make("p", { className: "hint mono", text: given }),
      make("table", {}, make("thead", {}, make("tr", {}, heads.map(([head, className = ""]) => make("th", { text: say(head), className, scope: "col" })))), make("tbody", {}, rows)),
      make("div", { className: "row" }, make("button", { className: "main", text: say("grade"), "data-act": "grade" }),
        make("button", { type: "button", text: say("show it"), "data-act": "show it", on: { click: () => this.app.open("expression", { mode: "expression", text, values, step: 0, fault: "" }) } })));
    this.app.side.replaceChildren(make("div", { className: "still" }, svgFrom(svg)));
    this.app.right(this.app.side);
  }

  async grade() {
    const answers = Object.fromEntries([...this.inputs].map(([unit, input]) => [unit, input.value]));
    const found = await this.app.ask({ kind: "grade", level: Number(this.level.value), seed: this.seed, answers });
    if (found.error) {
      this.score.textContent = found.error;
      return;
    }
    for (const { unit, verdict, reason } of found.boxes) {
      const cell = this.reasons.get(unit);
      cell.textContent = verdict === "right" ? `✓ ${reason}` : `✗ ${reason}`;
      cell.className = verdict === "right" ? "words good" : "words bad";
      cell.dataset.verdict = verdict;
    }
    this.score.textContent = this.app.say("score", found);
    if (!this.isGraded) this.#sum(found.right, found.asked); // the first attempt counts
    this.isGraded = true;
  }

  #sum(right, asked) {
    const before = memory.get("score") ?? { right: 0, asked: 0 };
    const sum = { right: before.right + right, asked: before.asked + asked };
    if (asked) memory.set("score", sum);
    this.total.textContent = sum.asked ? this.app.say("total", sum) : "";
  }
}
