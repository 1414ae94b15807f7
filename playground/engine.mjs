// The engine in Pyodide, for Node: what build.py takes the snapshot of, and what the tests ask.
//
//   node engine.mjs snapshot SITE     writes SITE/snapshot.bin.gz
//   node engine.mjs answer SITE       answers requests, a line of JSON each, until the input ends
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import zlib from "node:zlib";
import { pathToFileURL } from "node:url";

const [, , what, site] = process.argv;
const folder = path.resolve(site, "pyodide");
const { loadPyodide } = await import(pathToFileURL(path.join(folder, "pyodide.mjs")));
const PACKAGES = "/lib/python3.14/site-packages"; // worker.js has the same

async function start(options) {
  const python = await loadPyodide({ indexURL: `${folder}/`, ...options });
  const files = JSON.parse(zlib.gunzipSync(fs.readFileSync(path.join(site, "minigrad.json.gz"))));
  for (const folder of new Set(Object.keys(files).map(path.posix.dirname))) python.FS.mkdirTree(`${PACKAGES}/${folder}`);
  for (const [name, text] of Object.entries(files)) python.FS.writeFile(`${PACKAGES}/${name}`, text);
  return python;
}

if (what === "snapshot") {
  const python = await start({ _makeSnapshot: true });
  // Once through what every page needs, so that it is imported; the globals stay empty.
  python.runPython(fs.readFileSync(path.join(site, "warm.py"), "utf8"));
  const snapshot = python.makeMemorySnapshot();
  fs.writeFileSync(path.join(site, "snapshot.bin.gz"), zlib.gzipSync(snapshot, { level: 9 }));
  console.log(JSON.stringify({ bytes: snapshot.length }));
  process.exit(0);
}

const snapshot = path.join(site, "snapshot.bin.gz");
const options = fs.existsSync(snapshot)
  ? { _loadSnapshot: new Uint8Array(zlib.gunzipSync(fs.readFileSync(snapshot))) }
  : {};
const python = await start(options);
const answer = python.runPython("import random; random.seed(); from minigrad.playground import answer_json; answer_json");
// At once, for what is only queued is lost when all ends; a pipe takes as much as it has room for.
function put(text) {
  let rest = Buffer.from(`${text}\n`);
  while (rest.length) {
    try {
      rest = rest.subarray(fs.writeSync(1, rest));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}
for await (const line of readline.createInterface({ input: process.stdin })) {
  try {
    put(answer(line));
  } catch (error) {
    put(JSON.stringify({ fatal: String(error).slice(0, 300) }));
    process.exit(1);
  }
}
process.exit(0);
