// The playground's page: tabs, languages, themes, the address. Each tab is a module of its own; all of
// them ask the same engine, and none computes a derivative.
import { Engine } from "./engine.js";
import { Picture } from "./picture.js";
import { speaker, WORDS } from "./words.js";
import { make } from "./dom.js";
import * as address from "./address.js";
import { memory } from "./memory.js";
import { ExpressionTab } from "./expression.js";
import { PythonTab } from "./python.js";
import { DoctorTab } from "./doctor.js";
import { LabsTab } from "./labs.js";
import { TrainingTab } from "./training.js";
import { ExerciseTab } from "./exercise.js";

const TABS = { expression: ExpressionTab, python: PythonTab, doctor: DoctorTab, labs: LabsTab, training: TrainingTab, exercise: ExerciseTab };
const WIDE = 860; // px: two columns, as in play.css
const NARROW = 640; // px: a picture runs from top to bottom, as in the player
const isTab = (mode) => Object.hasOwn(TABS, mode ?? ""); // a link may say "constructor"
const find = (id) => document.getElementById(id);

class App {
  constructor() {
    const asked = address.read();
    const own = navigator.language.slice(0, 2) === "es" ? "es" : "en";
    this.lang = [asked.lang, memory.get("lang"), own].find((lang) => Object.hasOwn(WORDS, lang ?? ""));
    this.tabs = {};
    this.mode = "";
    this.state = {}; // what a link says: text, values, step, fault
    this.engine = new Engine((...words) => this.say(...words), (what, more) => this.#told(what, more));
    this.picture = new Picture(this);
    this.side = make("div", { className: "pad", hidden: true });
    find("right").append(this.picture.player, this.picture.other, this.side);
    this.picture.player.toggleAttribute("fill", innerWidth > WIDE); // on a phone it grows with the picture
    document.body.classList.toggle("embed", asked.embed);
    this.#theme(memory.get("theme"));
    find("lang").value = this.lang;
    find("lang").addEventListener("change", () => this.speak(find("lang").value));
    find("theme").addEventListener("click", () => this.#theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark", true));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => memory.get("theme") ?? this.#theme(null));
    addEventListener("hashchange", () => this.#follow());
    addEventListener("resize", () => { this.width = null; });
    this.#label();
    this.open(isTab(asked.mode) ? asked.mode : "expression", asked);
  }

  say = (key, fields) => speaker(this.lang)(key, fields);
  ask = (request, seconds) => this.engine.ask({ lang: this.lang, rankdir: this.way, ...request }, seconds);

  get way() {
    this.width ??= find("right").clientWidth; // measuring has the browser lay out everything
    return this.width < NARROW ? "TB" : "LR";
  }

  // ---- tabs ------------------------------------------------------------------------------------

  open(mode, asked = null) {
    this.mode = mode;
    document.body.classList.remove("is-old");
    this.tabs[mode] ??= new TABS[mode](this);
    for (const button of find("tabs").children) {
      button.setAttribute("aria-selected", button.dataset.mode === mode);
      button.tabIndex = button.dataset.mode === mode ? 0 : -1;
    }
    find("left").replaceChildren(this.tabs[mode].element);
    find("below").replaceChildren(...(this.tabs[mode].below ? [this.tabs[mode].below] : []));
    this.right();
    this.tabs[mode].open(asked);
  }

  // Show these on the right side, of the three things that can be there.
  right(...shown) {
    for (const element of [this.picture.player, this.picture.other, this.side]) {
      if (!shown.includes(element)) element.hidden = true;
    }
    if (shown.includes(this.side)) this.side.hidden = false;
  }

  // ---- the address -----------------------------------------------------------------------------

  address(more = {}, isEmbedded = false) {
    return address.write({ mode: this.mode, lang: this.lang, ...this.state, ...more }, isEmbedded);
  }

  link(isEmbedded) {
    return address.link({ mode: this.mode, lang: this.lang, ...this.state }, isEmbedded);
  }

  // The address follows when one rests: to change it takes long, and browsers count how often.
  note(state) {
    this.state = { ...this.state, ...state };
    clearTimeout(this.noting);
    this.noting = setTimeout(() => history.replaceState(null, "", this.address()), 300);
  }

  moved(step, fault) {
    this.note({ step, fault });
  }

  #follow() {
    const asked = address.read();
    if (!isTab(asked.mode)) return;
    if (asked.mode === this.mode && asked.text === (this.state.text ?? null)) return; // the player follows by itself
    this.open(asked.mode, asked);
  }

  // ---- language, theme, status -----------------------------------------------------------------

  speak(lang) {
    this.lang = lang;
    memory.set("lang", lang);
    const state = { mode: this.mode, ...this.state };
    this.tabs = {};
    this.#label();
    this.picture.listeners.clear();
    this.open(this.mode, { ...state, isOwn: true });
  }

  #label() {
    document.documentElement.lang = this.lang;
    for (const element of document.querySelectorAll("[data-say]")) element.textContent = this.say(element.dataset.say);
    find("theme").textContent = "◐";
    for (const name of ["title", "aria-label"]) find("theme").setAttribute(name, this.say("theme"));
    find("tabs").replaceChildren(...Object.keys(TABS).map((mode) =>
      make("button", { type: "button", role: "tab", text: this.say(`tab ${mode}`), "data-mode": mode, "aria-selected": mode === this.mode, on: { click: () => this.#changeTo(mode) } })));
    find("tabs").onkeydown = ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      const modes = Object.keys(TABS);
      if (!step) return;
      this.#changeTo(modes[(modes.indexOf(this.mode) + step + modes.length) % modes.length]);
      find("tabs").querySelector('[aria-selected="true"]').focus();
    };
  }

  #changeTo(mode) {
    if (mode === this.mode) return;
    this.state = {};
    this.open(mode);
    history.replaceState(null, "", this.address());
  }

  #theme(theme, isChosen = false) {
    if (isChosen) memory.set("theme", theme);
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = theme ?? (dark ? "dark" : "light");
  }

  #told(what, more) {
    const status = find("status");
    status.dataset.state = what;
    if (what !== "busy") status.textContent = this.say(what) + (what === "broken" ? ` ${more}` : "");
    if (what === "ready" && more) document.body.dataset.ready = Math.round(more.ready);
  }
}

globalThis.playground = new App();
