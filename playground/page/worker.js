// The worker: Pyodide, minigrad as it is in its package, and one function, answer_json. All files
// come from the page's own folder, or with the first message where the page is one file.
const PACKAGES = "/lib/python3.14/site-packages"; // engine.mjs has the same
const BEGIN = "import random; random.seed(); from minigrad.playground import answer_json; answer_json";
const HERE = "https://playground.invalid/"; // an address for what is in memory; nothing is asked of it
let answer = null;

async function unzipped(stream) {
  return new Uint8Array(await new Response(stream.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

async function fromFolder(base) {
  const get = async (name) => {
    const found = await fetch(new URL(name, base));
    if (!found.ok) throw new Error(`${name}: ${found.status}`);
    return found;
  };
  const packed = get("minigrad.json.gz").then((found) => unzipped(found.body));
  const snapshot = get("snapshot.bin.gz").then((found) => unzipped(found.body));
  const indexURL = new URL("pyodide/", base).href;
  const { loadPyodide } = await import(`${indexURL}pyodide.mjs`);
  // Made by this very Pyodide, when the folder was built; it starts in a third of the time.
  const python = await loadPyodide({ indexURL, packageBaseUrl: indexURL, jsglobals: Object.create(null), _loadSnapshot: await snapshot });
  return [python, await packed];
}

async function fromMemory(files) {
  const module = (name) => import(URL.createObjectURL(new Blob([files[name]], { type: "text/javascript" })));
  const types = { "pyodide.asm.wasm": "application/wasm", "python_stdlib.zip": "application/zip" };
  self.fetch = async (asked) => {
    const name = String(asked.url ?? asked).split("/").pop();
    if (!types[name]) throw new Error(`there is no network: ${name}`);
    return new Response(files[name], { headers: { "Content-Type": types[name] } });
  };
  const { default: createPyodideModule } = await module("pyodide.asm.mjs");
  const { loadPyodide } = await module("pyodide.mjs");
  const lockFileContents = new TextDecoder().decode(files["pyodide-lock.json"]);
  const python = await loadPyodide({ indexURL: HERE, packageBaseUrl: HERE, jsglobals: Object.create(null), createPyodideModule, lockFileContents });
  return [python, await unzipped(new Blob([files["minigrad.json.gz"]]).stream())];
}

// The package, as the files of that Python.
function install(python, packed) {
  const files = Object.entries(JSON.parse(new TextDecoder().decode(packed)));
  const folders = new Set(files.map(([name]) => name.slice(0, name.lastIndexOf("/"))));
  for (const folder of folders) python.FS.mkdirTree(`${PACKAGES}/${folder}`);
  for (const [name, text] of files) python.FS.writeFile(`${PACKAGES}/${name}`, new TextEncoder().encode(text));
}

async function start({ base, files }) {
  const from = performance.now();
  const [python, packed] = await (files ? fromMemory(files) : fromFolder(base));
  const loaded = performance.now() - from;
  install(python, packed);
  python.setStdin({ stdin: () => null }); // nobody can be asked: input() ends with EOFError
  answer = python.runPython(BEGIN);
  self.postMessage({ ready: { loaded, ready: performance.now() - from } });
}

self.onmessage = ({ data }) => {
  if (data.base || data.files) {
    start(data).catch((error) => self.postMessage({ broken: String(error) }));
    return;
  }
  const from = performance.now();
  try {
    const out = answer(data.request);
    self.postMessage({ id: data.id, out, ms: performance.now() - from });
  } catch (error) {
    self.postMessage({ id: data.id, fatal: String(error) }); // that Python is no more
  }
};
