// Frames: a run, which Python wrote as rows of a few texts, spelled out. No number is computed here:
// what a grad was before a step is what the frame before had left.
//
// A frame says which units and arrows are lit and which fields change. A field is a unit's data
// (2 * unit) or grad (2 * unit + 1), and has a history: what it reads from which frame on.

function timeline(play, run) {
  const into = play.units.map(() => []);
  play.arrows.forEach(([, target], k) => into[target].push(k));
  const frames = [frameOf("start"), ...play.forward.map((row) => forwardFrame(row, into))];
  const grads = play.units.map(() => "0");
  const set = (unit, text, right) => {
    grads[unit] = text;
    return { key: 2 * unit + 1, text, right };
  };
  if (run.first) {
    const changes = run.first.map(([unit, text]) => set(unit, text));
    frames.push(frameOf("again", { phase: "backward", changes }));
  }
  frames.push(seedFrame(play, run, set));
  const taken = new Set();
  for (const row of run.rows ?? play.runs[0].rows) {
    frames.push(backwardFrame(play, row, grads, taken, set));
  }
  if (run.kept) {
    const changes = run.kept.map(([unit, text]) => set(unit, text));
    frames.push(frameOf("kept", { phase: "backward", changes }));
  }
  const wrong = run.wrong ?? [];
  frames.push(
    frameOf("end", {
      units: [play.units.length - 1],
      wrong,
      survived: Boolean(run.name) && !run.rows,
      changes: wrong.map(([unit, text, right]) => set(unit, text, right)),
    }),
  );
  return indexed(play, frames);
}

function frameOf(kind, rest = {}) {
  return { kind, phase: kind, units: [], targets: [], arrows: [], changes: [], ...rest };
}

function forwardFrame([unit, head, text], into) {
  const arrows = into[unit];
  const changes = [{ key: 2 * unit, text }];
  return frameOf("forward", { units: [unit], arrows, changes, head, answer: text });
}

function seedFrame(play, run, set) {
  const root = play.units.length - 1;
  const begins = new Map(run.begins ?? [[root, "1"]]);
  const seed = begins.get(root) ?? "0";
  const right = seed === "1" ? undefined : "1";
  const units = run.first ? play.units.keys() : [root]; // a second pass clears what the first left
  const changes = [...units].map((unit) =>
    set(unit, begins.get(unit) ?? "0", unit === root ? right : undefined),
  );
  return frameOf("seed", { phase: "backward", units: [root], changes, seed, right });
}

function backwardFrame(play, row, grads, taken, set) {
  const [arrow, contribution, after, right, local, replaces] = row;
  const [operand, node, slope] = play.arrows[arrow];
  const told = {
    contribution,
    after,
    answer: after,
    right: right || undefined,
    local: local || slope,
    should: local ? slope : undefined,
    replaces: Boolean(replaces),
    grad: grads[node],
    before: grads[operand],
    twice: taken.has(arrow),
  };
  taken.add(arrow);
  const changes = [set(operand, after, right || undefined)];
  return frameOf("backward", { units: [node], targets: [operand], arrows: [arrow], changes, ...told });
}

// What each field reads when, which fields each frame touches, and when each arrow is first gone
// back along: so that going from one frame to another touches only what is different.
function indexed(play, frames) {
  const history = play.units.flatMap((unit) => [
    [{ frame: 0, text: unit.data }],
    [{ frame: 0, text: "0" }],
  ]);
  const passed = new Map();
  frames.forEach((frame, k) => {
    for (const { key, text, right } of frame.changes) history[key].push({ frame: k, text, right });
    if (frame.phase !== "backward") return;
    for (const arrow of frame.arrows) if (!passed.has(arrow)) passed.set(arrow, k);
  });
  return { frames, history, passed };
}

// ---- what a frame says -----------------------------------------------------------------------

const nameOf = (unit) => unit.short ?? unit.name;
const ownerOf = (unit) => (unit.labelled ? nameOf(unit) : `(${nameOf(unit)})`);
const bracketed = (text) => (text.startsWith("-") ? `(${text})` : text);

// The title, the line in large letters, and a note; with `isAsked` what is to be guessed is a "?".
function caption(play, frame, say, isAsked) {
  const unit = play.units[frame.units[0]];
  switch (frame.kind) {
    case "forward":
      return {
        title: say("forward title", { name: nameOf(unit) }),
        text: frame.head + (isAsked ? "?" : frame.answer),
        note: unit.stale ? say("stale") : undefined,
        asks: frame.head.split(": ").pop(),
      };
    case "seed": {
      const text = `${ownerOf(unit)}.grad = ${frame.seed}`;
      return { title: say("seed title"), text: text + unlike(frame.right), note: say("seed note") };
    }
    case "backward":
      return backwardCaption(play, frame, say, isAsked);
    case "forward box":
    case "backward box":
      return boxCaption(play, frame, say, isAsked);
    case "end": {
      const list = frame.wrong.map(([k, text, right]) => ownerOf(play.units[k]) + ` ${text}${unlike(right)}`);
      if (list.length) return { title: say("wrong title"), text: play.levels ? few(list, 8) : list.join(", ") };
      if (frame.inside?.length) return { title: say("inside title"), text: few(frame.inside, 8) };
      const key = frame.survived ? "survived" : "end";
      return { title: say(`${key} title`), text: say(play.levels && !frame.survived ? "boxes text" : `${key} text`) };
    }
    default: // start, again, kept
      return {
        title: say(`${frame.kind} title`),
        text: say(`${frame.kind} text`),
        note: startNote(play, say),
      };
  }
}

function startNote(play, say) {
  if (play.units.some(({ stale }) => stale)) return say("stale some");
  return play.levels ? say("boxes note", play) : undefined;
}

const unlike = (right) => (right === undefined ? "" : ` ≠ ${right}`);

function backwardCaption(play, frame, say, isAsked) {
  const [node, operand] = [play.units[frame.units[0]], play.units[frame.targets[0]]];
  const grad = `${ownerOf(operand)}.grad`;
  const secret = (text) => (isAsked ? "?" : text);
  const sum = `${grad}: ${frame.before} + ${secret(bracketed(frame.contribution))} = ${secret(frame.after)}`;
  const text = frame.replaces ? `${grad} = ${secret(frame.after)}` : sum;
  const fields = { ...frame, contribution: secret(frame.contribution) };
  let note = say(node.byHand ? "by hand" : "reason", fields);
  if (frame.right !== undefined && !isAsked) note += `; ${complaint(frame, say)}`;
  if (node.stale) note += `; ${say("stale")}`;
  return {
    title: say("backward title", { name: nameOf(node), operand: nameOf(operand) }),
    text: text + (isAsked ? "" : unlike(frame.right)),
    note,
    asks: `${grad} =`,
  };
}

function complaint(frame, say) {
  if (frame.replaces && frame.before !== "0") return say("lost", frame);
  if (frame.should !== undefined) return say("should", { local: frame.should });
  return say(frame.twice ? "twice" : "wrong already");
}
