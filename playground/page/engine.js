// Python in a worker. The worker starts from a blob, so that the page's policy is its own: no program
// that runs in it reaches beyond the folder of the page.
//
// ask(request, seconds) resolves with the answer, or with { error } if time ran out or that Python
// died; then a new one is started by itself. Nothing is lost by it, for no request leans on another.

export class Engine {
  constructor(say, told) {
    this.say = say;
    this.told = told; // hears of "loading", "ready", "busy", "broken"
    this.waiting = new Map();
    this.next = 0;
    this.start();
  }

  start() {
    this.told("loading");
    this.ready = this.#open();
    this.ready.catch((error) => this.told("broken", String(error.message ?? error)));
  }

  async #open() {
    const inside = globalThis.MINIGRAD_FILES; // of the page that is one file
    const base = new URL("./", location.href).href;
    const code = inside ? await inside.text("worker.js") : await (await fetch(new URL("worker.js", base))).text();
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const worker = new Worker(url); // no module: those do not start from file://
    this.worker = worker;
    const begun = new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => {
        if (data.ready) resolve(data.ready);
        else if (data.broken) reject(new Error(data.broken));
        else this.#heard(data);
      };
      worker.onerror = (event) => reject(new Error(event.message || "the worker did not start"));
    });
    worker.postMessage(inside ? { files: await inside.all() } : { base });
    this.marks = await begun;
    URL.revokeObjectURL(url);
    this.told("ready", this.marks);
  }

  #heard({ id, out, ms, fatal }) {
    const waits = this.waiting.get(id);
    if (!waits) return;
    this.waiting.delete(id);
    clearTimeout(waits.timer);
    if (fatal) {
      this.restart();
      waits.resolve({ error: this.say("died") });
    } else {
      if (!this.waiting.size) this.told("ready", this.marks);
      waits.resolve({ ms, ...JSON.parse(out) });
    }
  }

  // End Python and start it anew; whoever waits hears why.
  restart(why) {
    this.worker?.terminate();
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const { resolve, timer } of waiting) {
      clearTimeout(timer);
      resolve({ error: why ?? this.say("died") });
    }
    this.start();
  }

  ask(request, seconds = 10) {
    return new Promise((resolve) => {
      const id = (this.next += 1);
      this.waiting.set(id, { resolve });
      const send = () => {
        const waits = this.waiting.get(id);
        if (!waits) return; // somebody has ended that Python meanwhile
        waits.timer = setTimeout(() => this.restart(this.say("too long", { seconds })), seconds * 1000);
        this.told("busy");
        this.worker.postMessage({ id, request: JSON.stringify(request) });
      };
      this.ready.then(send, (error) => {
        this.waiting.delete(id);
        resolve({ error: `${this.say("broken")} ${error.message}` });
      });
    });
  }
}
