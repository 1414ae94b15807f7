// The little of Markdown that the labs' texts use, as elements; no text becomes markup.
import { make } from "./dom.js";

function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)/).filter(Boolean).map((part) => {
    if (part.startsWith("`") && part.length > 2) return make("code", { text: part.slice(1, -1) });
    if (part.startsWith("**") && part.length > 4) return make("strong", { text: part.slice(2, -2) });
    if (part.startsWith("*") && part.length > 2) return make("em", { text: part.slice(1, -1) });
    return part;
  });
}

const cells = (line) => line.replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

export function markdown(text) {
  const found = [];
  const lines = text.split("\n");
  for (let k = 0; k < lines.length; ) {
    const line = lines[k];
    if (line.startsWith("```")) {
      const end = lines.indexOf("```", k + 1);
      found.push(make("pre", {}, make("code", { text: lines.slice(k + 1, end).join("\n") })));
      k = end + 1;
    } else if (/^#{1,4} /.test(line)) {
      found.push(make(line.startsWith("# ") ? "h2" : "h3", {}, inline(line.replace(/^#+ /, ""))));
      k += 1;
    } else if (line.startsWith("|")) {
      const rows = [];
      for (; k < lines.length && lines[k].startsWith("|"); k += 1) if (!/^\|[-:| ]+\|$/.test(lines[k])) rows.push(cells(lines[k]));
      const row = (name) => (each) => make("tr", {}, each.map((cell) => make(name, {}, inline(cell))));
      found.push(make("table", {}, make("thead", {}, row("th")(rows[0])), make("tbody", {}, rows.slice(1).map(row("td")))));
    } else if (/^([-*]|\d+\.) /.test(line)) {
      const isOrdered = /^\d/.test(line);
      const items = [];
      for (; k < lines.length && (/^([-*]|\d+\.) /.test(lines[k]) || /^ +\S/.test(lines[k])); k += 1) {
        if (/^\s/.test(lines[k])) items.push(`${items.pop()} ${lines[k].trim()}`);
        else items.push(lines[k].replace(/^([-*]|\d+\.) /, ""));
      }
      found.push(make(isOrdered ? "ol" : "ul", {}, items.map((item) => make("li", {}, inline(item)))));
    } else if (line.trim()) {
      const part = [];
      for (; k < lines.length && lines[k].trim() && !/^(```|#|\||[-*] |\d+\. )/.test(lines[k]); k += 1) part.push(lines[k]);
      if (!part.length) part.push(lines[k++]);
      found.push(make("p", {}, inline(part.join(" "))));
    } else k += 1;
  }
  return make("div", { className: "text" }, found);
}
