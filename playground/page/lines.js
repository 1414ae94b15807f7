// The lines of a textarea, which can be lit and pointed at: a copy of its text lies under it, letter
// under letter, a block for each line.
import { make } from "./dom.js";

const NAME = /[A-Za-z_]\w*/g;
const TARGET = /(?:^|;)\s*([A-Za-z_]\w*)\s*=(?!=)/g;

export class Lines {
  constructor(area, pointed) {
    this.area = area;
    this.copy = make("div", { className: "copy", "aria-hidden": "true" });
    this.element = make("div", { className: "lines" }, this.copy, area);
    area.addEventListener("scroll", () => { this.copy.scrollTop = area.scrollTop; });
    area.addEventListener("pointermove", ({ clientY }) => pointed(this.#at(clientY)));
    area.addEventListener("pointerleave", () => pointed(null));
  }

  #at(y) {
    const found = [...this.copy.children].findIndex((line) => y < line.getBoundingClientRect().bottom);
    return found < 0 ? null : found;
  }

  // What each line gives a name to, and which names it uses.
  read() {
    const texts = this.area.value.split("\n");
    this.lines = texts.map((text) => ({
      targets: [...text.matchAll(TARGET)].map(([, name]) => name),
      names: new Set(text.match(NAME)),
      isBlank: !text.trim(),
    }));
    while (this.copy.children.length > texts.length) this.copy.lastChild.remove();
    while (this.copy.children.length < texts.length) this.copy.append(make("div"));
    texts.forEach((text, k) => { this.copy.children[k].textContent = text || "\u200b"; });
    this.copy.scrollTop = this.area.scrollTop;
  }

  // The name of what a line gives: "" for the result, if it has none.
  nameOf(line) {
    const { targets, isBlank } = this.lines[line] ?? { isBlank: true };
    if (isBlank) return null;
    return targets.at(-1) ?? (line === this.lines.findLastIndex((each) => !each.isBlank) ? "" : null);
  }

  // Light the line that made something by this name, or those that use it; null: none.
  light(name) {
    const made = this.lines.filter(({ targets }) => targets.includes(name));
    const lit = made.length ? made : this.lines.filter(({ names }) => names.has(name));
    this.lines.forEach((line, k) => this.copy.children[k].classList.toggle("is-lit", lit.includes(line)));
  }
}
