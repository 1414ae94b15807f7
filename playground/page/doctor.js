// The doctor: somebody's class examined, the line marked in the editor.
import { make } from "./dom.js";
import { Program, bar } from "./program.js";

const SECONDS = 30;
const FIRST = `class Value:
    def __init__(self, data, _children=(), _op=''):
        self.data = data
        self.grad = 0.0
        self._prev = set(_children)
        self._op = _op
        self._backward = lambda: None

    def __add__(self, other):
        out = Value(self.data + other.data, (self, other), '+')
        def _backward():
            self.grad = out.grad
            other.grad = out.grad
        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other), '*')
        def _backward():
            self.grad = other.data * out.grad
            other.grad = self.data * out.grad
        out._backward = _backward
        return out

    def backward(self):
        topo = []
        visited = set()
        def build_topo(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build_topo(child)
                topo.append(v)
        build_topo(self)
        self.grad = 1.0
        for node in reversed(topo):
            node._backward()
`;

export class DoctorTab {
  constructor(app) {
    const { say } = app;
    this.app = app;
    this.program = new Program(say("engine"), { run: () => this.run(), changed: (text) => app.note({ text, values: {} }) });
    this.bar = bar(app, "diagnose", () => this.run());
    this.notice = make("p", { className: "remark", hidden: true, text: say("from link") });
    this.report = make("pre", { className: "report", role: "status" });
    this.element = make("div", { className: "details" }, make("p", { text: say("doctor intro") }), this.notice, this.program.element, this.bar.element,
      make("p", { className: "hint", text: say("run hint") }));
  }

  async open(asked) {
    this.app.side.replaceChildren(this.report);
    this.app.right(this.app.side);
    const isGiven = asked?.mode === "doctor" && typeof asked.text === "string";
    if (isGiven) {
      this.notice.hidden = Boolean(asked.isOwn);
      await this.program.set(asked.text);
    } else if (!this.program.text) await this.program.set(FIRST);
    this.app.state = { ...this.app.state, text: this.program.text, values: {} };
  }

  async run() {
    await this.program.ready;
    this.notice.hidden = true;
    const seed = crypto.getRandomValues(new Uint32Array(1))[0];
    const answer = await this.bar.during(this.app.ask({ kind: "doctor", text: this.program.text, seed }, SECONDS));
    const lines = answer.lines ?? [{ kind: "fault", text: answer.error }];
    this.report.replaceChildren(...lines.map(({ kind, text }) => make("span", { className: kind, text })));
    this.report.dataset.exit = answer.exit_code ?? 2;
    const found = (answer.findings ?? []).filter(({ line }) => line);
    this.program.mark(found.map(({ line, name, fix, kind }) => ({ line, message: `${name}. ${fix}`, severity: kind === "fault" ? "error" : "info" })));
    this.program.light(found.find(({ kind }) => kind === "fault")?.line);
    document.body.dataset.answers = Number(document.body.dataset.answers ?? 0) + 1;
  }
}
