// The theme that a reader has chosen is the players', too; and cells run.
//
// A cell is a code block until somebody says Run: then it becomes an editor, Python is loaded, once for
// the page, and the program runs in a worker, where it can harm nothing.
(() => {
  const lang = document.documentElement.lang.slice(0, 2);
  const root = document.currentScript?.src ? new URL("./", document.currentScript.src) : null;
  const words = globalThis.MINIGRAD_WORDS?.[lang] ?? globalThis.MINIGRAD_WORDS?.en ?? {};
  const say = (key, fields = {}) => (words[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => fields[name]);
  const SECONDS = 20;
  const ROWS = 30; // of an editor, which scrolls

  // ---- themes ------------------------------------------------------------------------------------

  const darkness = matchMedia("(prefers-color-scheme: dark)");
  function theme() {
    const chosen = document.body.dataset.theme ?? "auto";
    const shown = chosen === "auto" ? (darkness.matches ? "dark" : "light") : chosen;
    for (const player of document.querySelectorAll("minigrad-player")) player.dataset.theme = shown;
  }
  new MutationObserver(theme).observe(document.body, { attributes: true, attributeFilter: ["data-theme"] });
  darkness.addEventListener("change", theme);
  theme();

  // ---- the contents: where a reader is, is in sight -------------------------------------------------

  const here = document.querySelector(".sidebar-tree .current-page");
  const contents = here?.closest(".sidebar-scroll");
  if (contents) {
    const lower = here.getBoundingClientRect().top - contents.getBoundingClientRect().top;
    if (lower > 0.8 * contents.clientHeight) contents.scrollTop += lower - contents.clientHeight / 3;
  }

  // ---- Python, once for the page -----------------------------------------------------------------

  let engine = null;
  let state = () => {}; // who hears how far Python is: the cell that runs
  function load() {
    engine ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL("../../engine.js", root); // one for all languages
      script.onload = () => resolve(new globalThis.MinigradEngine(say, (what) => state(what)));
      script.onerror = () => reject(new Error(say("broken")));
      document.head.append(script);
    });
    engine.catch(() => { engine = null; }); // so that another Run tries again
    return engine;
  }

  // ---- cells -------------------------------------------------------------------------------------

  function make(tag, fields = {}, ...children) {
    const element = Object.assign(document.createElement(tag), fields);
    element.append(...children);
    return element;
  }

  class Cell extends HTMLElement {
    connectedCallback() {
      if (this.go) return;
      this.classList.add("is-live");
      this.block = this.querySelector("div, pre");
      this.go = make("button", { type: "button", className: "is-main", textContent: `▶ ${say(this.dataset.chapter ? "check" : "run")}`, onclick: () => this.run() });
      this.stop = make("button", { type: "button", textContent: say("stop"), hidden: true, onclick: () => this.halt() });
      this.again = make("button", { type: "button", textContent: say("again"), hidden: true, onclick: () => this.reset() });
      this.status = make("span", { className: "mg-status" });
      this.status.setAttribute("role", "status");
      this.output = make("pre", { className: "mg-output", hidden: true });
      this.append(make("div", { className: "mg-bar" }, this.go, this.stop, this.again, this.status), this.output);
      if (this.dataset.chapter) this.edit(); // there is something to write, before there is something to run
    }

    get program() {
      return this.editor?.value ?? this.dataset.program;
    }

    get request() { // an exercise is graded, any other program runs
      const { chapter } = this.dataset;
      return chapter ? { kind: "chapter-check", chapter } : { kind: "session" };
    }

    edit() {
      if (this.editor) return;
      const lines = this.dataset.program.split("\n").length;
      this.editor = make("textarea", { value: this.dataset.program.trimEnd(), rows: Math.min(lines, ROWS), spellcheck: false, onkeydown: (event) => this.key(event) });
      this.editor.setAttribute("aria-label", say("program"));
      this.block.hidden = true;
      this.block.after(this.editor);
      this.again.hidden = false;
    }

    reset() {
      this.editor.remove();
      this.editor = null;
      this.block.hidden = false;
      this.again.hidden = this.output.hidden = true;
      if (this.dataset.chapter) this.edit();
      this.go.focus();
    }

    key(event) {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.run();
    }

    async halt() {
      (await engine)?.restart(say("stopped"));
    }

    async run() {
      this.edit();
      this.go.disabled = true;
      this.stop.hidden = false;
      const said = { loading: "loading", busy: "running" };
      state = (what) => { this.status.textContent = said[what] ? say(said[what]) : ""; };
      state("loading");
      try {
        this.show(await (await load()).ask({ ...this.request, lang, text: this.program }, SECONDS));
      } catch (error) {
        this.show({ error: error.message });
      } finally {
        this.go.disabled = false;
        this.stop.hidden = true;
        this.status.textContent = "";
        this.dataset.runs = Number(this.dataset.runs ?? 0) + 1;
      }
    }

    show({ error, printed, line }) {
      const why = error ? `${line ? `${say("line")} ${line}: ` : ""}${error}` : "";
      this.output.textContent = [printed, why].filter(Boolean).join("\n") || say("nothing");
      this.output.classList.toggle("is-error", Boolean(why));
      this.output.hidden = false;
    }
  }
  customElements.define("minigrad-cell", Cell);
})();
