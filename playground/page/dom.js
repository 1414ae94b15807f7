// Small helpers for making elements. Texts are only ever set as text.

export function make(name, given = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "on") for (const [kind, action] of Object.entries(value)) element.addEventListener(kind, action);
    else if (key === "text") element.textContent = value;
    else if (key in element && !key.startsWith("aria") && key !== "list") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function drawn(name, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

export const svgFrom = (text) =>
  document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);

export const brief = (x) => (typeof x === "number" ? String(Number(x.toPrecision(6))) : String(x ?? ""));

export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
