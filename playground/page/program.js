// An editor for programs, with its bar: CodeMirror, loaded when it is first needed, in a shadow root
// (its styles are adopted there, so that the page's policy needs no exception).
import { make } from "./dom.js";

const STYLE = `
.cm-editor { font-size: 14px; background: var(--paper); color: var(--ink); max-height: 60vh; }
.cm-editor.cm-focused { outline: 2px solid var(--lit) !important; }
.cm-scroller { overflow: auto; font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace !important; }
.cm-gutters { background: var(--soft) !important; color: inherit !important; border: 0 !important; }
.cm-activeLine { background: color-mix(in srgb, var(--lit) 9%, transparent) !important; }
.cm-cursor { border-color: var(--ink) !important; }
.cm-selectionBackground { background: color-mix(in srgb, var(--lit) 30%, transparent) !important; }
.cm-line.is-lit { background: var(--glow) !important; }
.cm-tooltip { background: var(--paper) !important; color: var(--ink); border: 1px solid var(--line) !important; max-width: 60ch; }
.t-keyword { color: var(--lit); font-weight: 600; } .t-number { color: var(--grad); }
.t-string { color: var(--good); } .t-comment { opacity: .7; font-style: italic; }
`;

export class Program {
  constructor(label, { run = () => {}, changed = () => {}, pointed = () => {} }) {
    this.element = make("div", { className: "code-box" });
    const root = this.element.attachShadow({ mode: "open" });
    this.ready = import("./editor.js").then(({ edit }) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      this.editor = edit(root, "", { changed: (text) => this.isSetting || changed(text), run, pointed, label });
      root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
      return this.editor;
    });
  }

  get text() {
    return this.editor?.text() ?? "";
  }

  async set(text) {
    const editor = await this.ready;
    this.isSetting = true;
    editor.set(text);
    editor.mark([]);
    this.isSetting = false;
  }

  mark = (findings) => this.editor?.mark(findings);
  light = (line) => this.editor?.light(line);
}

// Buttons of a program: run it, or stop what runs.
export function bar(app, words, run) {
  const { say } = app;
  const go = make("button", { type: "button", className: "main", text: say(words), "data-act": "run", on: { click: run } });
  const stop = make("button", { type: "button", text: say("stop"), "data-act": "stop", disabled: true, on: { click: () => app.engine.restart(say("stopped")) } });
  return {
    element: make("div", { className: "row" }, go, stop),
    async during(work) {
      go.disabled = true;
      stop.disabled = false;
      try {
        return await work;
      } finally {
        go.disabled = false;
        stop.disabled = true;
      }
    },
  };
}
