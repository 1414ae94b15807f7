// Programs: run on request alone, above all those that came with a link.
import { make } from "./dom.js";
import { Details } from "./details.js";
import { Program, bar } from "./program.js";
import { exportBox } from "./export.js";

const SECONDS = 20;
const FIRST = `from minigrad import Value

a = Value(2.0)
b = Value(3.0)
c = Value(4.0)
d = a * b + c
L = d * (a - c)
L
`;

export class PythonTab {
  constructor(app) {
    const { say } = app;
    this.app = app;
    this.program = new Program(say("program"), { run: () => this.run(), changed: (text) => this.#changed(text), pointed: (line) => this.#point(line) });
    this.bar = bar(app, "run", () => this.run());
    this.notice = make("p", { className: "remark", hidden: true, text: say("from link") });
    this.error = make("pre", { className: "error", role: "alert", hidden: true });
    this.printed = make("pre", { className: "code" });
    this.output = make("div", { hidden: true }, make("h2", { text: say("printed") }), this.printed);
    this.details = new Details(app, app.picture, (row) => this.program.light(row?.line));
    this.element = make("div", { className: "details" }, this.notice, this.program.element, this.bar.element,
      make("p", { className: "hint", text: say("run hint") }), this.error, this.output);
    this.below = make("div", { className: "details" }, this.details.element, exportBox(app, () => null, []));
  }

  async open(asked) {
    if (asked?.mode === "python" && typeof asked.text === "string") {
      this.notice.hidden = Boolean(asked.isOwn);
      this.place = { start: asked.step, fault: asked.fault };
      await this.program.set(asked.text);
      this.app.state = { ...this.app.state, text: asked.text, values: {} };
      if (asked.isOwn) this.run(); // one of ours, or what was on the page already
    } else if (!this.program.text) {
      await this.program.set(FIRST);
      this.run();
    } else if (this.answer) this.#show(this.answer);
  }

  #changed(text) {
    this.app.note({ text, values: {} });
  }

  async run() {
    await this.program.ready;
    this.notice.hidden = true;
    const text = this.program.text;
    this.app.note({ text, values: {} });
    const answer = await this.bar.during(this.app.ask({ kind: "python", text, faults: this.app.picture.faults(this.place) }, SECONDS));
    if (this.app.mode !== "python") return;
    this.program.mark(answer.error && answer.line ? [{ line: answer.line, message: answer.error }] : []);
    this.error.hidden = !answer.error;
    this.error.textContent = answer.error ? `${answer.line ? `${this.app.say("line", { line: answer.line })}: ` : ""}${answer.error}` : "";
    this.output.hidden = !answer.printed;
    this.printed.textContent = answer.printed ?? "";
    if (!answer.error) this.#show(answer);
    document.body.dataset.answers = Number(document.body.dataset.answers ?? 0) + 1;
  }

  #show(answer) {
    this.answer = answer;
    this.details.show(answer);
    this.app.picture.show(answer, this.place);
    this.place = undefined;
  }

  #point(line) {
    const row = line && this.answer?.rows.find((each) => each.line === line);
    this.app.picture.choose(row ? row.unit : null);
  }
}
