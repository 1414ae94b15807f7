// Small plots: the result along a variable with its tangent, a loss, a boundary with points.
import { drawn, brief } from "./dom.js";

const WIDTH = 400;
const HEIGHT = 170;
const PAD = 26;

const finite = (numbers) => numbers.filter((x) => typeof x === "number" && Number.isFinite(x));

// Halves are subtracted where the difference of two numbers may be larger than all of them.
function frame(xs, ys) {
  let [low, high] = [Math.min(...finite(ys)), Math.max(...finite(ys))];
  const room = Math.max(1, Math.abs(low) / 10); // around a line that is flat
  if (!(low < high)) [low, high] = Number.isFinite(low) ? [low - room, high + room] : [-1, 1];
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  return {
    low, high, left, right,
    x: (x) => PAD + ((x / 2 - left / 2) / (right / 2 - left / 2 || 1)) * (WIDTH - 2 * PAD),
    y: (y) => HEIGHT - PAD - ((y / 2 - low / 2) / (high / 2 - low / 2)) * (HEIGHT - 2 * PAD),
  };
}

function paper(label) {
  const svg = drawn("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  return svg;
}

// A line through points; where a number is not finite, it is interrupted.
function path(points, at) {
  let text = "";
  let isOn = false;
  for (const [x, y] of points) {
    const isHere = typeof y === "number" && Number.isFinite(y);
    if (isHere) text += `${isOn ? "L" : "M"}${at.x(x).toFixed(1)} ${Math.min(Math.max(at.y(y), -1e4), 1e4).toFixed(1)}`;
    isOn = isHere;
  }
  return text;
}

function axes(svg, at) {
  svg.append(
    drawn("line", { class: "axis", x1: PAD, x2: WIDTH - PAD, y1: HEIGHT - PAD, y2: HEIGHT - PAD }),
    drawn("text", { x: PAD, y: HEIGHT - 9 }, brief(at.left)),
    drawn("text", { x: WIDTH - PAD, y: HEIGHT - 9, "text-anchor": "end" }, brief(at.right)),
    drawn("text", { x: 4, y: 15 }, brief(at.high)),
    drawn("text", { x: 4, y: HEIGHT - PAD - 3 }, brief(at.low)),
  );
}

export function curve({ at: here, result, slope, points }, label) {
  const svg = paper(label);
  const at = frame(points.map(([x]) => x), [...points.map(([, y]) => y), result]);
  axes(svg, at);
  svg.append(drawn("path", { class: "curve", d: path(points, at) }));
  if ([here, result, slope].every(Number.isFinite)) {
    // A fifth of the width to both sides, or as far as a steep one stays near the picture.
    const reach = Math.min(at.right / 5 - at.left / 5, slope ? Math.abs((at.high - at.low) / slope) : Infinity);
    const [[x1, y1], [x2, y2]] = [-reach, reach].map((by) => [at.x(here + by), at.y(result + slope * by)]);
    if ([x1, y1, x2, y2].every(Number.isFinite)) svg.append(drawn("line", { class: "tangent", x1, y1, x2, y2 }));
    svg.append(drawn("circle", { class: "here", cx: at.x(here), cy: at.y(result), r: 4.5 }));
  }
  return svg;
}

export function losses(numbers, label) {
  const svg = paper(label);
  const points = numbers.map((y, k) => [k, y]);
  const at = frame([0, Math.max(numbers.length - 1, 1)], [0, ...numbers]);
  axes(svg, at);
  svg.append(drawn("path", { class: "curve", d: path(points, at) }));
  return svg;
}

export function boundary({ grid, frame: [left, right, bottom, top], points }, label) {
  const size = 320;
  const svg = drawn("svg", { class: "plot", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": label });
  const cell = size / grid.length;
  for (const [row, scores] of grid.entries()) {
    for (const [k, given] of scores.entries()) {
      const score = { inf: Infinity, "-inf": -Infinity }[given] ?? given; // as JSON holds them
      if (score === "nan") continue; // on neither side
      const strength = Math.min(Math.abs(score), 1) * 0.45 + 0.05;
      const side = score > 0 ? "plus" : "minus";
      svg.append(drawn("rect", { class: `cell ${side}`, x: k * cell, y: row * cell, width: cell, height: cell, "shape-rendering": "crispEdges", "fill-opacity": strength.toFixed(2), stroke: "none" }));
    }
  }
  for (const [x, y, label_] of points) {
    const [cx, cy] = [((x - left) / (right - left)) * size, ((top - y) / (top - bottom)) * size];
    if (label_ > 0) svg.append(drawn("circle", { class: "plus", cx, cy, r: 5, "stroke-width": 1.5 }));
    else svg.append(drawn("rect", { class: "minus", x: cx - 4.5, y: cy - 4.5, width: 9, height: 9, "stroke-width": 1.5 }));
  }
  return svg;
}
