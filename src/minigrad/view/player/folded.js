// A folded picture without a player, in the first `div` of an element. `given` has the levels by
// direction, and which boxes are open.

class Fold {
  constructor(main, given) {
    this.main = main;
    this.stage = main.querySelector("div");
    this.show(given, innerWidth < 640 && given.levels.TB ? "TB" : Object.keys(given.levels)[0]);
  }

  async show({ levels, open }, way) {
    const texts = JSON.parse(await inflated(levels[way]));
    this.boxes = new Boxes(texts, way, open, (element, change) => {
      inPlace(this.stage, element, () => {
        change();
        this.resize();
      });
    });
    this.stage.querySelector("svg").replaceWith(this.boxes.svg);
    const width = this.boxes.svg.viewBox.baseVal.width;
    this.scale = Math.min(1, Math.max(LEAST, this.stage.clientWidth / width)); // and it stays
    this.resize();
    this.main.dataset.ready = "yes";
  }

  resize() {
    const { width, height } = this.boxes.svg.viewBox.baseVal;
    this.boxes.svg.setAttribute("width", rounded(width * this.scale));
    this.boxes.svg.setAttribute("height", rounded(height * this.scale));
  }
}
