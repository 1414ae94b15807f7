// The editor for programs: CodeMirror 6 with what a page for learners needs, and no more.
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { EditorView, Decoration, keymap, lineNumbers, highlightActiveLine, drawSelection } from "@codemirror/view";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting, HighlightStyle } from "@codemirror/language";
import { setDiagnostics, lintGutter } from "@codemirror/lint";
import { python } from "@codemirror/lang-python";
import { tags } from "@lezer/highlight";

const style = HighlightStyle.define([
  { tag: tags.keyword, class: "t-keyword" },
  { tag: tags.number, class: "t-number" },
  { tag: tags.string, class: "t-string" },
  { tag: tags.comment, class: "t-comment" },
]);

const light = StateEffect.define();
const lit = StateField.define({
  create: () => Decoration.none,
  update(marks, change) {
    let next = marks.map(change.changes);
    for (const effect of change.effects) {
      if (!effect.is(light)) continue;
      const line = effect.value;
      const isThere = line >= 1 && line <= change.state.doc.lines;
      const mark = Decoration.line({ class: "is-lit" });
      next = isThere ? Decoration.set([mark.range(change.state.doc.line(line).from)]) : Decoration.none;
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

// Make an editor in a shadow root, where CodeMirror needs no inline style.
export function edit(root, text, { changed, run, pointed, label }) {
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), indentOnInput(),
        indentUnit.of("    "), syntaxHighlighting(style), lintGutter(), lit, python(),
        EditorView.contentAttributes.of({ "aria-label": label }),
        keymap.of([
          { key: "Mod-Enter", run: () => (run(), true) },
          { key: "Escape", run: (where) => (where.contentDOM.blur(), true) }, // Tab indents: this is the way out
          ...defaultKeymap, ...historyKeymap, indentWithTab,
        ]),
        EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
        EditorView.domEventHandlers({
          // A browser that replaces a selection by itself keeps its look, by an inline style, which
          // the page's policy does not allow.
          beforeinput(event, where) {
            if (event.inputType !== "insertText" || !event.data || where.state.selection.main.empty) return false;
            where.dispatch(where.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
            event.preventDefault();
            return true;
          },
          mousemove(event, where) {
            const at = where.posAtCoords({ x: event.clientX, y: event.clientY });
            pointed(at === null ? null : where.state.doc.lineAt(at).number);
          },
          mouseleave: () => pointed(null),
        }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    set: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    focus: () => view.focus(),
    light: (line) => view.dispatch({ effects: light.of(line ?? 0) }),
    mark(findings) {
      const found = findings.filter(({ line }) => line >= 1 && line <= view.state.doc.lines).map(({ line, message, severity }) => {
        const { from, to } = view.state.doc.line(line);
        return { from, to, message, severity: severity ?? "error" };
      });
      view.dispatch(setDiagnostics(view.state, found));
    },
  };
}
