// The right side: the player, or a picture whose boxes open, or a still one; and who points at what.
import "./player.js";
import { Fold } from "./fold.js";
import { FAULTS } from "./faults.js";
import { brief, make, svgFrom } from "./dom.js";

const RESTS = 300; // ms after the last change

export class Picture {
  constructor(app) {
    this.app = app;
    this.player = make("minigrad-player");
    this.other = make("div", { className: "pad", hidden: true });
    this.listeners = new Set(); // of the unit that is pointed at
  }

  show(answer, { start, fault } = {}) {
    const { app } = this;
    const isPlayed = Boolean(answer.player);
    this.player.hidden = !isPlayed;
    this.other.hidden = isPlayed;
    app.right(this.player, this.other);
    if (isPlayed) {
      const given = {
        ...answer.player,
        lang: app.lang,
        link: (step, fault) => app.address({ step, fault }),
        chosen: (unit) => this.listeners.forEach((listen) => listen(unit)),
        moved: (step, fault) => app.moved(step, fault),
      };
      if (start !== undefined && start !== null) given.start = start;
      if (fault !== undefined) given.fault = fault;
      // It opens at its end, where the gradients are, and stays there while numbers change; else it
      // stays at its step.
      const place = this.player.player?.place();
      const isAtEnd = !place || this.mode !== app.mode || (!place.fault && place.frame === this.end);
      if (given.start === undefined && isAtEnd) given.start = 1e9;
      if (this.mode !== app.mode) given.fault ??= "";
      const { forward, runs } = answer.player.play;
      this.end = forward.length + runs[0].rows.length + 2;
      this.mode = app.mode;
      this.player.update(given);
      this.#rest(answer.player.graph);
      return;
    }
    const { svg, words } = answer.folded ?? answer.still;
    const stage = make("div", { className: "still" }, make("div", {}, svgFrom(svg)));
    this.other.replaceChildren(make("h2", { text: `${answer.title} = ${brief(answer.value)}` }), make("p", { className: "hint", text: words }), stage);
    if (answer.folded) new Fold(stage, answer.folded);
  }

  // The faults that the request for what comes next has to play at once: the one that is shown.
  faults(place) {
    const fault = place?.fault ?? this.player.player?.place().fault;
    return FAULTS.includes(fault) ? [fault] : []; // a link may say anything
  }

  // Those of all others take as long as the rest together, so they come when one rests.
  #rest(graph) {
    clearTimeout(this.resting);
    if (graph === undefined) return;
    this.resting = setTimeout(async () => {
      const { runs } = await this.app.ask({ kind: "faults", graph });
      if (runs && graph === this.graph) this.player.player?.learn(runs);
    }, RESTS);
    this.graph = graph;
  }

  choose(unit) {
    this.player.player?.choose(unit ?? null);
  }
}
