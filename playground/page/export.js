// Take it with you: files, code, a link, an element for another page.
import { make } from "./dom.js";

const FILES = ["svg", "html", "json"];
const CODE = { minigrad: "minigrad", micrograd: "micrograd", pytorch: "PyTorch" };

// `made` returns the answer for a format.
export function exportBox(app, made, formats = [...FILES, ...Object.keys(CODE)]) {
  const { say } = app;
  const shown = make("div", { className: "details", hidden: true });
  const put = (title, text) => {
    const area = make("textarea", { className: "share", rows: Math.min(text.split("\n").length, 16), readOnly: true, value: text, "aria-label": title });
    const copied = make("p", { className: "hint", role: "status", text: `${title}: ${say("copy")}` });
    shown.hidden = false;
    shown.replaceChildren(copied, area);
    area.focus();
    area.select();
    navigator.clipboard?.writeText(text).then(() => { copied.textContent = `${title}: ${say("copied")}`; }, () => {});
  };
  const button = (text, action, name) => make("button", { type: "button", text, "data-export": name, on: { click: action } });
  const take = async (format) => {
    const found = await made(format);
    if (found.error) {
      shown.hidden = false;
      shown.replaceChildren(make("pre", { className: "error", text: found.error }));
    } else if (format in CODE) put(CODE[format], found.text);
  };
  const frame = () => `<iframe src="${app.link(true).replaceAll("&", "&amp;").replaceAll('"', "&quot;")}" width="100%" height="620" title="minigrad"></iframe>`;
  return make("details", {}, make("summary", { text: say("export") }),
    make("div", { className: "row" },
      button(say("share"), () => put(say("share"), app.link()), "link"),
      button(say("embed"), () => put(say("embed"), frame()), "embed"),
      formats.map((format) => button(CODE[format] ?? format.toUpperCase(), () => take(format), format))),
    shown);
}
