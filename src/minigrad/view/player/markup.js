// What is in a player. The icons are drawn, because fonts often lack these signs; every text comes
// from the words, and what a label says is only ever set as text.

const ICONS = {
  first: "M2 2h2v10H2zM12 2v10L5 7z",
  back: "M10 2v10L3 7z",
  play: "M3 1v12l9-6z",
  pause: "M3 1h3v12H3zM8 1h3v12H8z",
  forward: "M4 2v10l7-5z",
  last: "M10 2h2v10h-2zM2 2v10l7-5z",
  "zoom-in": "M6 2h2v4h4v2H8v4H6V8H2V6h4z",
  "zoom-out": "M2 6h10v2H2z",
  fit: "M1 1h5v2H3v3H1zM8 1h5v5h-2V3H8zM1 8h2v3h3v2H1zM11 8h2v5H8v-2h3z",
  link: "M6 3h5v5H9.4V5.7L4.7 10.4 3.6 9.3 8.3 4.6H6zM2 5h2v1.5H3.5v4h4V10H9v2H2z",
  options: "M2 5.8h2.4v2.4H2zM5.8 5.8h2.4v2.4H5.8zM9.6 5.8H12v2.4H9.6z",
};
const icon = (name) =>
  `<svg class="icon icon-${name}" viewBox="0 0 14 14" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`;

function markup(say, play) {
  const kind = play.levels ? (play.runs.length > 1 ? "box " : "large ") : ""; // no faults, no paths
  const button = (name, words, icons = icon(name)) =>
    `<button type="button" data-player="${name}" aria-label="${say(words)}" title="${say(words)}">${icons}</button>`;
  return `<main tabindex="-1" role="region" data-playing="no">
<header><h1><span data-player="name"></span><span data-player="value"></span></h1>
<div class="options" data-player="option-list">
<label class="fault"><span>${say("fault")}</span><select data-player="fault">
<option value="">${say("no fault")}</option></select></label>
<label><input type="checkbox" role="switch" data-player="predict"> ${say("predict")}</label>
<output class="score" data-player="score"></output>
<label>${say("speed")} <select data-player="speed"><option value="1">1×</option>
<option value="3">3×</option><option value="10">10×</option></select></label>
</div></header>
<div class="bar" role="toolbar" aria-label="${say("step")}">
${button("first", "first")}${button("back", "back")}
${button("play", "play", icon("play") + icon("pause"))}
${button("forward", "forward")}${button("last", "last")}
<input type="range" data-player="slider" min="0" max="0" value="0" step="1" aria-label="${say("step")}">
<span class="count" data-player="count"></span>
<span class="zoom">${button("zoom-out", "zoom out")}${button("zoom-in", "zoom in")}${button("fit", "fit")}</span>
<a class="link" data-player="link" aria-label="${say("link")}" title="${say("link")}">${icon("link")}</a>
${button("options", "options")}
</div>
<div class="info" data-player="info">
<section class="caption" data-player="caption" aria-live="polite" aria-label="${say("this step")}">
<p data-player="title"></p>
<p class="text" data-player="text"></p>
<p class="note" data-player="note"></p>
<form data-player="guess-form" hidden><label><span data-player="asks"></span>
<input data-player="guess" aria-label="${say("guess")}" placeholder="${say("guess")}" autocomplete="off" inputmode="text" size="10">
</label><button data-player="check">${say("check")}</button>
<button type="button" data-player="reveal">${say("reveal")}</button></form>
<p class="verdict" data-player="verdict" role="status"></p>
</section>
<section class="paths" aria-live="polite" aria-label="${say("paths")}">
<p class="invitation" data-player="invitation">${say(`${kind}invitation`)}</p>
<div data-player="paths" hidden><p data-player="paths-head"></p>
<table><tbody data-player="paths-terms"></tbody></table></div>
</section>
</div>
<div class="stage" data-player="stage" role="group" aria-label="${say("stage")}"></div>
<p class="hint">${say(`${kind}hint`)}</p>
</main>`;
}
