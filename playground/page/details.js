// What stands under an expression or a program: the table of gradients, remarks, paths.
import { make, brief } from "./dom.js";

// Where differences are infinite or nan they tell nothing: that is no mistake of the gradient.
const MARKS = { good: { className: "good", text: "✓" }, bad: { className: "bad", text: "✗" }, hint: { className: "hint", text: "?" } };

export class Details {
  constructor(app, picture, pointed = () => {}) {
    this.app = app;
    this.picture = picture;
    this.pointed = pointed; // hears of the row that is pointed at
    this.table = make("table");
    this.more = make("p", { className: "hint" });
    this.remarks = make("div", { role: "status" });
    this.paths = make("ul", { className: "explain" });
    this.box = make("details", { open: true }, make("summary", { text: app.say("explain") }), this.paths);
    this.element = make("div", { className: "details", hidden: true }, this.remarks, this.table, this.more, this.box);
    this.rows = [];
    picture.listeners.add((unit) => this.light(unit));
  }

  show(answer, checks = new Map()) {
    const { say } = this.app;
    this.element.hidden = false;
    this.rows = answer.rows;
    const heads = [say("variable"), say("value"), say("gradient"), ...(checks.size ? [say("differences"), say("check")] : [])];
    const body = answer.rows.map((row) => {
      const check = checks.get(row.name);
      const told = check && [make("td", { text: brief(check.differences) }), make("td", { ...MARKS[check.ok ? "good" : /^unknown/.test(check.verdict) ? "hint" : "bad"], title: check.verdict })];
      const tr = make("tr", { tabIndex: 0 },
        make("td", { text: row.name }), make("td", { className: "value", text: brief(row.value) }),
        make("td", { className: "grad", text: brief(row.grad), title: String(row.grad) }), told ?? (checks.size ? [make("td"), make("td")] : []));
      const enter = () => { this.picture.choose(row.unit); this.pointed(row); };
      const leave = () => { this.picture.choose(null); this.pointed(null); };
      for (const kind of ["pointerenter", "focus"]) tr.addEventListener(kind, enter);
      for (const kind of ["pointerleave", "blur"]) tr.addEventListener(kind, leave);
      return tr;
    });
    this.table.replaceChildren(make("thead", {}, make("tr", {}, heads.map((text) => make("th", { text, scope: "col" })))), make("tbody", {}, body));
    this.more.hidden = !answer.more;
    this.more.textContent = answer.more ? say("more rows", { count: answer.more }) : "";
    this.remarks.replaceChildren(...answer.remarks.map(({ text }) => make("p", { className: "remark", text })));
    this.paths.replaceChildren(...answer.explain.map((text) => make("li", { text })));
    this.box.hidden = !answer.explain.length;
  }

  light(unit) {
    for (const [k, tr] of [...this.table.querySelectorAll("tbody tr")].entries()) {
      tr.classList.toggle("is-lit", unit !== null && this.rows[k]?.unit === unit);
    }
    this.pointed(unit === null ? null : this.rows.find((row) => row.unit === unit) ?? null, true);
  }
}
