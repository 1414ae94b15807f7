// What is shown, as the fragment of the address: nothing of it goes to any server.
//
//   #mode=expression&text=a*b&v.a=2&v.b=3&step=4&fault=overwrite&lang=es
//
// `step` and `fault` are the player's own words for it.

export function read(hash = location.hash) {
  const fields = new URLSearchParams(hash.slice(1));
  const values = Object.create(null); // a name may be __proto__
  for (const [key, value] of fields) if (key.startsWith("v.")) values[key.slice(2)] = value;
  const step = /^\d+$/.test(fields.get("step") ?? "") ? Number(fields.get("step")) : null;
  return {
    mode: fields.get("mode"), text: fields.get("text"), values, step, fault: fields.get("fault") ?? "",
    lang: fields.get("lang"), embed: fields.has("embed"),
  };
}

export function write({ mode, text, values = {}, step, fault, lang }, isEmbedded = false) {
  const fields = new URLSearchParams({ mode });
  if (text) fields.set("text", text);
  for (const [name, value] of Object.entries(values)) fields.set(`v.${name}`, value);
  if (step !== null && step !== undefined) fields.set("step", step);
  if (fault) fields.set("fault", fault);
  if (lang && lang !== "en") fields.set("lang", lang);
  if (isEmbedded) fields.set("embed", "1");
  return `#${fields}`;
}

export const link = (state, isEmbedded) => location.href.split("#")[0] + write(state, isEmbedded);
