// Training, live: the page holds the parameters, Python takes the steps.
import { make, brief } from "./dom.js";
import { losses, boundary } from "./plot.js";

const GRID = 24;
const AT_ONCE = { xor: 5, moons: 1 }; // steps between two pictures

export class TrainingTab {
  constructor(app) {
    const { say } = app;
    this.app = app;
    const button = (word, action, more = {}) => make("button", { type: "button", text: say(word), "data-act": word, ...more, on: { click: action } });
    this.data = make("select", { "aria-label": say("data"), on: { change: () => this.begin() } }, make("option", { value: "xor", text: "XOR" }), make("option", { value: "moons", text: "moons" }));
    this.rate = make("input", { type: "number", className: "box-input", step: "any", min: 0, value: "0.2", "aria-label": say("rate") });
    this.play = button("train", () => this.#toggle(), { className: "main" });
    this.status = make("p", { role: "status", "data-status": "training" });
    this.error = make("pre", { className: "error", hidden: true, role: "alert" });
    this.loss = make("div");
    this.step = make("input", { type: "number", className: "box-input", min: 0, value: 0, "aria-label": say("open step") });
    this.point = make("input", { type: "number", className: "box-input", min: 0, value: 0, "aria-label": say("point") });
    this.plane = make("div", { className: "plane" });
    this.element = make("div", { className: "details" }, make("p", { text: say("training intro") }),
      make("div", { className: "row" }, make("label", {}, say("data"), this.data), make("label", {}, say("rate"), this.rate)),
      make("div", { className: "row" }, this.play, button("step one", () => this.#steps(1)), button("anew", () => this.begin())),
      this.status, this.error,
      make("div", { className: "row" }, button("open step", () => this.#open()), this.step, make("label", {}, say("point"), this.point)),
      make("h2", { text: say("loss") }), this.loss, make("h2", { text: say("boundary") }), this.plane);
  }

  open() {
    return this.history ? this.#draw() : this.begin();
  }

  async begin() {
    this.isRunning = false;
    this.losses = [];
    this.history = [];
    this.parameters = [];
    await this.#steps(0);
    await this.#open();
  }

  async #steps(count) {
    const request = { kind: "train", data: this.data.value, steps: count, grid: GRID, rate: this.rate.value || "0", parameters: this.parameters };
    const answer = await this.app.ask(request, 30);
    this.error.hidden = !answer.error;
    this.error.textContent = answer.error ?? "";
    if (answer.error) {
      this.isRunning = false;
      this.#label();
      return;
    }
    if (!this.history.length) this.history.push(answer.parameters);
    this.losses.push(...answer.losses);
    while (this.history.length < this.losses.length + 1) this.history.push(null); // between two pictures
    this.history[this.losses.length] = answer.parameters;
    this.parameters = answer.parameters;
    this.last = answer;
    this.#draw();
    document.body.dataset.answers = Number(document.body.dataset.answers ?? 0) + 1;
  }

  #draw() {
    const { say } = this.app;
    const steps = this.losses.length;
    this.loss.replaceChildren(losses(this.losses, say("loss")));
    this.plane.replaceChildren(boundary(this.last, say("boundary")));
    this.status.textContent = say("steps done", { steps, loss: brief(this.losses.at(-1) ?? "–"), right: this.last.right, all: this.last.points.length });
    this.step.value = this.step.max = steps;
    this.point.max = this.last.points.length - 1;
  }

  #label() {
    this.play.textContent = this.app.say(this.isRunning ? "pause" : "train");
  }

  async #toggle() {
    this.isRunning = !this.isRunning;
    this.#label();
    while (this.isRunning && this.app.mode === "training") await this.#steps(AT_ONCE[this.data.value]);
    this.isRunning = false;
    this.#label();
  }

  // The parameters of any step, also of one between two pictures: gone through again from the last known.
  async #open() {
    let known = Math.min(Math.max(Math.round(Number(this.step.value)), 0), this.losses.length);
    const asked = known;
    while (!this.history[known]) known -= 1;
    let parameters = this.history[known];
    const data = this.data.value;
    if (asked > known) {
      const answer = await this.app.ask({ kind: "train", data, rate: this.rate.value || "0", steps: asked - known, parameters }, 30);
      ({ parameters } = answer);
    }
    const point = Math.min(Math.max(Math.round(Number(this.point.value)), 0), this.last.points.length - 1);
    const answer = await this.app.ask({ kind: "train-open", data, parameters, point, faults: this.app.picture.faults() }, 30);
    if (!answer.error && this.app.mode === "training") this.app.picture.show(answer);
  }
}
