// The camera: how large the picture is and which part of it one sees. The stage scrolls, so that
// a finger, a trackpad and a scroll bar work as everywhere; this adds zoom and dragging.

const READABLE = 0.8; // of its size: a picture that would have to be smaller is scrolled instead
const SMALLEST = 0.5; // the same on a phone, which is held close, and where a second direction to scroll is worse
const LARGEST = 2.4; // a small picture is made so large, no larger
const FARTHEST = [0.05, 6]; // by hand
const ZOOM = 1.25; // one press of a button or a key
const MARGIN = 24; // px around what is kept in sight
const TALLEST = 0.72; // of the window, where the player does not fill it

function cameraOf(stage, isFilling, signal, readable = READABLE) {
  let svg = null;
  let [width, height, scale] = [1, 1, 1];
  let mode = "auto"; // "auto": readable; "whole": all of it; "free": as somebody wants it
  let inSight = [];
  let isLooking = false; // or is about to

  const fitting = () => {
    const tall = isFilling ? stage.clientHeight : TALLEST * innerHeight;
    return [stage.clientWidth / width, tall / height];
  };

  function resize(next) {
    scale = next;
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
  }

  function fit() {
    if (!svg || mode === "free") return;
    const [across, down] = fitting();
    const whole = Math.min(LARGEST, across, down);
    const oneWay = stage.clientWidth < NARROW ? [SMALLEST, across] : [readable, across, down];
    const scrolled = Math.min(1, Math.max(...oneWay)); // it fits one way only
    resize(mode === "whole" || whole >= readable ? whole : scrolled);
    keep(inSight);
  }

  // Zoom by a factor; the point at (x, y) of the window, or the middle of the stage, stays put.
  function zoom(factor, x, y) {
    const frame = stage.getBoundingClientRect();
    x ??= frame.left + frame.width / 2;
    y ??= frame.top + frame.height / 2;
    const before = svg.getBoundingClientRect();
    mode = "free";
    resize(Math.min(Math.max(scale * factor, FARTHEST[0]), FARTHEST[1]));
    const after = svg.getBoundingClientRect();
    stage.scrollLeft += after.left + ((x - before.left) / before.width) * after.width - x;
    stage.scrollTop += after.top + ((y - before.top) / before.height) * after.height - y;
  }

  function pan(dx, dy) {
    stage.scrollLeft += dx;
    stage.scrollTop += dy;
  }

  // Scroll so that all these elements are seen; if they are too far apart, the last one. Once, when
  // everything has changed: measuring has the browser lay it all out. Not in a frame of its own: what
  // moves the slider in a frame would have this one painted twice.
  function keep(elements) {
    inSight = elements;
    if (!isLooking) queueMicrotask(look);
    isLooking = true;
  }

  function look() {
    isLooking = false;
    const elements = inSight;
    if (!elements.length || signal.aborted) return;
    if (stage.scrollWidth <= stage.clientWidth && stage.scrollHeight <= stage.clientHeight) return;
    const frame = stage.getBoundingClientRect();
    const boxes = elements.map((element) => element.getBoundingClientRect());
    const [wide, tall] = [stage.clientWidth - 2 * MARGIN, stage.clientHeight - 2 * MARGIN];
    const span = (list) => ({
      left: Math.min(...list.map((box) => box.left)),
      right: Math.max(...list.map((box) => box.right)),
      top: Math.min(...list.map((box) => box.top)),
      bottom: Math.max(...list.map((box) => box.bottom)),
    });
    let box = span(boxes);
    if (box.right - box.left > wide || box.bottom - box.top > tall) box = span(boxes.slice(-1));
    const [left, top] = [frame.left + MARGIN, frame.top + MARGIN];
    // No further than to where it begins: that is what one sees of a frame larger than the stage.
    if (box.right > left + wide) stage.scrollLeft += Math.min(box.right - wide, box.left) - left;
    else if (box.left < left) stage.scrollLeft -= left - box.left;
    if (box.bottom > top + tall) stage.scrollTop += Math.min(box.bottom - tall, box.top) - top;
    else if (box.top < top) stage.scrollTop -= top - box.top;
  }

  listen();
  return {
    fit,
    zoom,
    pan,
    keep,
    enlarge: () => zoom(ZOOM),
    reduce: () => zoom(1 / ZOOM),
    grow() { // the picture has another size: what was enlarged is so only as long as it is small
      [width, height] = [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height];
      if (mode === "free") resize(scale);
      else fit();
    },
    whole() {
      mode = mode === "whole" ? "auto" : "whole";
      fit();
    },
    forget() { // what somebody wanted to see of another picture
      mode = "auto";
    },
    hold(next) {
      svg = next;
      [width, height] = [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height];
      inSight = []; // of the picture before
      if (mode === "free") resize(scale);
      else fit();
      stage.replaceChildren(svg); // after measuring the stage, which it need not lay out for that
    },
  };

  // ---- wheel, mouse, fingers -------------------------------------------------------------------

  function listen() {
    // In a page that scrolls, the wheel is the page's, unless Ctrl is held or the player is in use.
    stage.addEventListener("wheel", (event) => {
      const isOurs = isFilling || event.ctrlKey || event.metaKey || stage.getRootNode().activeElement;
      if (!svg || !isOurs || event.shiftKey) return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      zoom(Math.exp(-event.deltaY * lines * 0.002), event.clientX, event.clientY);
    }, { passive: false, signal });

    let from = null; // where a mouse went down
    stage.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "touch" && event.button === 0) from = [event.clientX, event.clientY];
    }, { signal });
    stage.addEventListener("pointermove", (event) => {
      if (!from) return;
      const [dx, dy] = [from[0] - event.clientX, from[1] - event.clientY];
      if (!stage.classList.contains("is-dragged") && Math.hypot(dx, dy) < 4) return;
      stage.classList.add("is-dragged");
      stage.setPointerCapture(event.pointerId);
      pan(dx, dy);
      from = [event.clientX, event.clientY];
    }, { signal });
    for (const name of ["pointerup", "pointercancel"]) {
      stage.addEventListener(name, () => {
        from = null;
        stage.classList.remove("is-dragged");
      }, { signal });
    }

    let apart = 0; // two fingers
    const between = ([one, two]) => Math.hypot(one.clientX - two.clientX, one.clientY - two.clientY);
    stage.addEventListener("touchstart", (event) => {
      if (event.touches.length === 2) apart = between(event.touches);
    }, { passive: true, signal });
    stage.addEventListener("touchmove", (event) => {
      if (event.touches.length !== 2) return; // one finger scrolls
      event.preventDefault();
      const [one, two] = event.touches;
      const now = between(event.touches);
      zoom(now / apart, (one.clientX + two.clientX) / 2, (one.clientY + two.clientY) / 2);
      apart = now;
    }, { passive: false, signal });
  }
}
